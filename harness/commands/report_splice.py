"""`tokassay report splice`: generated sentences and tables between markers in Markdown, from committed data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from tokassay.harness.commands.options import Json, Roster, print_json


def splice(
    files: Annotated[list[Path], typer.Argument(help="Markdown files with <!-- tokassay:NAME --> markers.")],
    check: Annotated[bool, typer.Option("--check", help="Change nothing; exit 1 where a stretch is not true.")] = False,
    bench: Annotated[Path | None, typer.Option(help="The bench that speeds are taken from, a file of --json.")] = None,
    roster: Roster = None,
    as_json: Json = False,
) -> None:
    """Write between markers what the data say: the roster, known divergences, our own faults, speeds.

    Without --bench, speeds are those of docs/data/bench.json, seen from the file's folder or from within docs.

    Exit codes: 0 written, or with --check all is true; 1 with --check where a stretch is not what the data say; 2 wrong
    use, and where no file has a marker.
    """
    from tokassay.engines.roster import load_roster
    from tokassay.harness.errors import AGREED, MISMATCH, InputError, writing
    from tokassay.harness.site_sources import bench_beside, gathered, read_bench
    from tokassay.reports.splice import Facts
    from tokassay.reports.splice import splice as made_anew

    sources = gathered(load_roster(*(roster or ())))
    rows: list[dict[str, Any]] = []
    for path in files:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"cannot be read: {reason}", where=str(path), remedy="name a Markdown file") from None
        data = bench or bench_beside(path)
        seen = made_anew(text, Facts(sources, read_bench(data) if data is not None else {}), str(path))
        if seen.stale and not check:
            with writing(str(path)):
                path.write_text(seen.text, encoding="utf-8", newline="\n")
        rows.append({"file": str(path), "stretches": seen.stretches, "stale": list(seen.stale)})
    if not any(row["stretches"] for row in rows):
        raise InputError(
            "no marker in it",
            where=", ".join(map(str, files)),
            remedy="write <!-- tokassay:roster --><!-- /tokassay -->",
        )
    code = MISMATCH if check and any(row["stale"] for row in rows) else AGREED
    if as_json:
        print_json({"files": rows, "check": check, "exit_code": code})
    else:
        for row in rows:
            for stale in row["stale"]:
                typer.echo(f"{row['file']}:{stale} is {'not what the data say' if check else 'written'}")
        typer.echo(f"{sum(row['stretches'] for row in rows)} stretches in {len(rows)} files")
    raise typer.Exit(code)
