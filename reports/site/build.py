"""Writes the site: every kind of page, the downloads, and a list of what was written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from tokassay.reports.downloads import Download, write_downloads
from tokassay.reports.errors import ReportError
from tokassay.reports.site import (
    claims,
    corpora,
    divergences,
    engines,
    figures,
    known,
    matrix,
    overview,
    runs,
    scoreboard,
)
from tokassay.reports.site.model import Site
from tokassay.reports.site.parts import Cell, Link, Section, table
from tokassay.reports.site.shell import Page, render
from tokassay.reports.words import counted
from tokassay.reports.write import _put

KINDS = (overview, scoreboard, matrix, figures, engines, corpora, divergences, known, claims, runs)
DATA = "data"
LABELS = {"csv": "CSV", "parquet": "Parquet", "json": "JSON"}
LIST = "site.json"
SCHEMA = "tokassay.site/1"


def build_site(site: Site, out: Path, more: Sequence[tuple[str, str]] = ()) -> list[Path]:
    """Write the site into `out` and return its files, in the order they were written. `more` are further links of the
    navigation, as (name, place).

    Files that an earlier build listed there and that are no part of it any more are removed; nothing else is touched.
    Raises ReportError for a store that cannot be read or a folder that cannot be written.
    """
    made_of = (
        f"{counted(len(site.runs), 'audit')}, {counted(len(site.benches), 'bench', 'benches')} and "
        f"{counted(sum(map(len, site.claims.values())), 'claim run')}"
    )
    written: list[Path] = []
    try:
        out.mkdir(parents=True, exist_ok=True)
        before = listed(out)
        made = write_downloads(site.frames, out / DATA)
        written += [out / DATA / name for each in made for _, name, _ in each.files]
        for page in (*(page for kind in KINDS for page in kind.pages(site)), *downloads(made)):
            path = out / page.path
            path.parent.mkdir(parents=True, exist_ok=True)
            _put(path, render(page, site.sources.version, made_of, more))
            written.append(path)
        names = sorted(path.relative_to(out).as_posix() for path in written)
        _put(
            out / LIST,
            json.dumps({"schema": SCHEMA, "tokassay": site.sources.version, "files": names}, indent=1) + "\n",
        )
        for name in before - set(names):
            (out / name).unlink(missing_ok=True)
    except OSError as error:
        raise ReportError(
            f"cannot be written ({error.strerror or error})", where=str(out), remedy="give another folder with --out"
        ) from None
    return [*written, out / LIST]


def listed(out: Path) -> set[str]:
    """The files that an earlier build says it wrote, of those that lie in `out` and end as ours do."""
    try:
        names = json.loads((out / LIST).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    root = out.resolve()
    return {
        str(name)
        for name in names
        if str(name).endswith((".html", ".csv", ".parquet", ".json"))
        and (root / str(name)).resolve().is_relative_to(root)
    }


def downloads(made: list[Download]) -> Iterator[Page]:
    """downloads.html."""
    rows: list[tuple[Cell, ...]] = []
    for each in made:
        files = [Link(f"{LABELS[kind]}, {size:,} bytes", f"{DATA}/{name}") for kind, name, size in each.files]
        rows.append((each.view, each.rows, *files))
    yield Page(
        "downloads.html",
        "Downloads",
        "page.html.j2",
        {
            "lead": [
                "Every view of the stores that this site is made from. Columns are described in docs/FORMATS.md.",
                "In CSV, what a spreadsheet would take for a formula has a ' before it; elsewhere it is as stored.",
            ],
            "sections": [
                Section(
                    "Tables",
                    tables=[table("Views, as files", ("view", "rows", *LABELS.values()), rows)],
                    empty="No store was given.",
                )
            ],
        },
    )
