"""`tokassay report charts`: every chart that a store and a bench have data for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from tokassay.harness.commands.options import Json, print_json

if TYPE_CHECKING:
    import pandas as pd


def charts(
    store: Annotated[
        Path | None, typer.Option(help="The store of an audit; tokassay.sqlite if it is there and nothing is given.")
    ] = None,
    run: Annotated[
        str | None, typer.Option(help="A run of the store, or the beginning of its id; default the last.")
    ] = None,
    bench: Annotated[
        list[Path] | None, typer.Option(help="What `tokassay bench --json` printed; more for a trend.")
    ] = None,
    rows: Annotated[
        list[str] | None, typer.Option(help="CHART=FILE: rows of a chart as CSV or JSON, docs/CHARTS.md.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help="Charts to draw, by name; default all.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for NAME.svg, NAME.png and NAME.csv.")] = Path("charts"),
    as_json: Json = False,
) -> None:
    """Draw the charts of docs/CHARTS.md into a folder: SVG, PNG, and the same data as CSV.

    A chart without data is not drawn and is named with the reason. Exit codes: 0 something was drawn, 2 wrong use,
    4 nothing was.
    """
    from tokassay.harness.errors import AGREED, NOTHING
    from tokassay.reports.charts.gallery import draw
    from tokassay.reports.charts.sources import Sources, from_store

    if store is None and not bench and not rows and Path("tokassay.sqlite").is_file():
        store = Path("tokassay.sqlite")
    sources = from_store(store, run) if store is not None else Sources()
    sources.benches += [read_bench(path) for path in bench or ()]
    sources.benches.sort(key=lambda report: str(report.get("started", "")))
    sources.vectors = stages_of_vectors()
    sources.rows = dict(read_rows(one) for one in rows or ())
    names = [name for one in only or () for name in one.split(",") if name]
    drawn = draw(sources, names)
    made = [(chart, chart.save(out)) for chart in drawn.charts]
    code = AGREED if made else NOTHING
    if as_json:
        print_json({
            "charts": [
                {"name": chart.name, "title": chart.title, "caption": chart.caption, "alt": chart.alt,
                 "files": [str(path) for path in paths]}
                for chart, paths in made
            ],
            "absent": [{"name": name, "reason": reason} for name, reason in drawn.absent],
            "exit_code": code,
        })  # fmt: skip
    else:
        for chart, paths in made:
            typer.echo(f"{chart.title}: {paths[0]}\n  {chart.caption}")
        for name, reason in drawn.absent:
            typer.echo(f"not drawn: {name}: {reason}")
    raise typer.Exit(code)


def read_bench(path: Path) -> dict[str, object]:
    """A report from a file. Raises InputError, ReportError."""
    from tokassay.reports.charts.sources import parse

    return dict(parse(_text(path, "--bench"), str(path)))


def read_rows(given: str) -> tuple[str, pd.DataFrame]:
    """Rows of a chart from `CHART=FILE`. Raises InputError."""
    import io
    import json

    import pandas as pd
    from tokassay.harness.errors import InputError
    from tokassay.reports.charts.gallery import KINDS

    name, _, file = given.partition("=")
    if name not in KINDS or not file:
        raise InputError(f"{given} is not CHART=FILE", where="--rows", remedy=f"charts are {', '.join(KINDS)}")
    text = _text(Path(file), "--rows")
    try:
        table = pd.DataFrame(json.loads(text)) if file.endswith(".json") else pd.read_csv(io.StringIO(text))
    except ValueError as error:
        raise InputError(
            f"cannot be read as rows: {error}", where=file,
            remedy="give CSV with a line of column names, or a JSON list of objects",
        ) from error
    return name, table


def stages_of_vectors() -> list[str]:
    """The stage of every frozen vector; '' of one that names none."""
    import json
    from importlib.resources import files

    folder = files("tokassay.fixtures").joinpath("vectors")
    found = sorted((file for file in folder.iterdir() if file.name.endswith(".json")), key=lambda file: file.name)
    return [str(vector.get("stage", "")) for file in found for vector in json.loads(file.read_text("utf-8"))["vectors"]]


def _text(path: Path, option: str) -> str:
    from tokassay.harness.errors import InputError

    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot be read: {error}", where=f"{option} {path}", remedy="name a file that is there"
        ) from error
