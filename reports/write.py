"""Writes a run's report: index.html, audit.md, audit.json, coverage.csv, divergences.csv, matrix.csv."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tokassay.reports.downloads import inert
from tokassay.reports.errors import INFRASTRUCTURE, ReportError
from tokassay.reports.html import render_html
from tokassay.reports.json import audit_object
from tokassay.reports.markdown import render_markdown
from tokassay.reports.matrix import csv_frame, require_full
from tokassay.reports.read import Frames, read_run
from tokassay.reports.tables import Tables, build

NAMES = ("index.html", "audit.md", "audit.json", "coverage.csv", "divergences.csv", "matrix.csv")


def _put(path: Path, text: str) -> None:
    """Write beside and rename, so that a reader never sees half a page."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(text, encoding="utf-8", newline="\n")
    beside.replace(path)


def coverage_csv(tables: Tables) -> str:
    """`Tables.coverage` with a `command` column that asks for the row again."""
    table = tables.coverage.assign(command=[tables.command(row) for row in tables.coverage.to_dict("records")])
    return str(table.to_csv(index=False))


def divergences_csv(frames: Frames) -> str:
    """v_divergence as it is: input in hex, ids as JSON lists. Spreadsheets must not run it: see `downloads.inert`."""
    table = frames.divergences.drop(columns="run")
    for name in ("signature", "first", "explanation", "command", "engine", "against", "corpus", "contract"):
        table[name] = table[name].map(inert)
    return str(table.to_csv(index=False))


def matrix_csv(tables: Tables) -> str:
    """One row a cell of the matrix; names and reasons made harmless for spreadsheets."""
    return str(csv_frame(tables.matrix).map(inert).to_csv(index=False))


def write_report(store_path: Path, run_id: str | None, out_dir: Path) -> list[Path]:
    """Write the report of a run (the last one for None) and return the files written, in the order of NAMES.

    Raises ReportError: exit code 2 for a store or folder that cannot be used; 5 when a finished run's verdicts do not
    add up to engines x documents x operations, or a cell of its matrix has none. In the second case the files are
    written all the same, and say so.
    """
    frames = read_run(Path(store_path), run_id)
    tables = build(frames)
    out = Path(out_dir)
    paths = [out / name for name in NAMES]
    try:
        out.mkdir(parents=True, exist_ok=True)
        _put(paths[0], render_html(tables))
        _put(paths[1], render_markdown(tables))
        _put(paths[2], json.dumps(audit_object(frames, paths, tables), ensure_ascii=True, indent=1) + "\n")
        _put(paths[3], coverage_csv(tables))
        _put(paths[4], divergences_csv(frames))
        _put(paths[5], matrix_csv(tables))
    except OSError as error:
        raise ReportError(
            f"cannot be written ({error.strerror or error})", where=str(out), remedy="give another folder with --out"
        ) from None
    require_sum(tables, str(store_path), paths[0])
    require_full(tables.matrix, tables.check, f"{store_path}, run {tables.run['id']}", paths[0])
    return paths


def require_sum(tables: Tables, where: str, page: Path | None = None) -> None:
    """Raise ReportError (exit code 5) when a finished run's verdict counts do not add up."""
    if tables.check.ok or tables.run["finished"] is None:
        return
    first = f" First gap: {tables.check.problems[0]}." if tables.check.problems else ""
    raise ReportError(
        f"{tables.check.sentence}{first}",
        where=f"{where}, run {tables.run['id']}",
        remedy=f"see {page} for every gap" if page else "rebuild its report with `tokassay report` for every gap",
        exit_code=INFRASTRUCTURE,
    )
