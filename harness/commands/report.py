"""`tokassay report`: build the report of a run again, from the store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def report(
    run: Annotated[
        str | None, typer.Argument(help="A run's id, or the beginning of it; the last run when left out.")
    ] = None,
    store: Annotated[Path, typer.Option(help="The store that `tokassay audit` wrote.")] = Path("tokassay.sqlite"),
    out: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("report"),
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object on standard output instead of tables.")
    ] = False,
) -> None:
    """Write index.html, audit.md, audit.json and CSV files for a run, and print it.

    Exit codes: 0 the report was written (whatever it says), 2 wrong use, 5 the run's verdicts do not add up.
    """
    import json
    import sys

    from rich.console import Console
    from tokassay.reports.errors import ReportError
    from tokassay.reports.json import audit_object
    from tokassay.reports.read import read_run
    from tokassay.reports.tables import build
    from tokassay.reports.terminal import print_report
    from tokassay.reports.write import NAMES, write_report

    frames = read_run(store, run)
    broken: ReportError | None = None
    try:
        paths = write_report(store, str(frames.run["id"]), out)
    except ReportError as error:
        if not (out / NAMES[0]).is_file():
            raise
        # The files are there and say what is missing; show it here too, then fail.
        broken, paths = error, [out / name for name in NAMES]
    if as_json:
        json.dump(audit_object(frames, paths), sys.stdout, ensure_ascii=True)
        sys.stdout.write("\n")
    else:
        print_report(Console(), build(frames), paths)
    if broken is not None:
        raise broken
