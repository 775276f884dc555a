"""`tokassay report`: a run's report again, from the store; and its group: the site, a look at it, the splices.

`tokassay report` and `tokassay report RUN` mean `tokassay report show`: a word that is no command of the group is a
run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from tokassay.harness.commands.report_build import build
from tokassay.harness.commands.report_charts import charts
from tokassay.harness.commands.report_serve import serve
from tokassay.harness.commands.report_splice import splice
from typer.core import TyperGroup


class Group(TyperGroup):
    """A group whose first word may be left out."""

    default = "show"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default before what names no command; the ids of runs are hex, and no command's name is."""
        named = bool(args) and (args[0] in self.commands or args[0] == "--help")
        return super().parse_args(ctx, args if named else [self.default, *args])


app = typer.Typer(
    cls=Group, help="Show a run again (`tokassay report [RUN]`); build, draw, serve and splice what stores hold."
)
app.command("build")(build)
app.command("charts")(charts)
app.command("serve")(serve)
app.command("splice")(splice)


@app.command("show")
def show(
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
        broken.told = True
        raise broken
