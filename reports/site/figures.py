"""Charts as figures of a page: drawn of the newest audit and of the benches, with caption, words and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from tokassay.reports.charts.chart import Chart
from tokassay.reports.charts.gallery import draw
from tokassay.reports.charts.sources import Sources
from tokassay.reports.site.model import Site
from tokassay.reports.site.parts import Cell, Figure, Link, Section, table
from tokassay.reports.site.shell import Page, inert, slug

FIRST = ("pipeline", "coverage", "throughput")  # kinds of the overview
BENCH = ("throughput", "states", "documents", "threads", "load", "ladder", "cache")
ROOM, CELL = 120_000, 48  # bytes for the charts of a page, and of a cell of their tables


def figures(site: Site, only: Sequence[str] = ()) -> list[Figure]:
    """The charts of the newest audit, of all benches and nights; of these kinds, or all that have data."""
    return [figure_of(chart) for chart in draw(sources_of(site), only).charts]


def bench_figures(report: dict[str, Any]) -> list[Figure]:
    """The charts of one bench."""
    return fitting([figure_of(chart) for chart in draw(Sources(benches=[report]), BENCH).charts])


def sources_of(site: Site) -> Sources:
    """What charts are drawn from, of a site."""
    return Sources(
        site.runs[0].frames if site.runs else None,
        pd.DataFrame(nights(site), columns=["started", "verdict", "documents"]),
        [bench.report for bench in reversed(site.benches)],
        [vector.stage for vector in site.sources.vectors],
    )


def nights(site: Site) -> Iterator[tuple[str, str, int]]:
    """(began, verdict, documents) of every audit, oldest first."""
    for run in reversed(site.runs):
        counts = run.frames.verdicts.groupby("verdict")["documents"].sum()
        for verdict, documents in counts.items():
            yield str(run.tables.run["started"]), str(verdict), int(documents)


def figure_of(chart: Chart) -> Figure:
    """A chart with its numbers."""
    rows = [[plain(value) for value in row] for row in chart.table.itertuples(index=False)]
    numbers = table(chart.title, list(map(str, chart.table.columns)), rows)
    return Figure(inert(chart.svg()), chart.alt, chart.caption, numbers)


def plain(value: Any) -> Cell:
    """A value of a frame as a cell: what is missing is left blank."""
    if pd.isna(value):
        return None
    if isinstance(value, float):
        return f"{value:.4g}"
    return int(value) if pd.api.types.is_integer(value) else str(value)


def pages(site: Site) -> Iterator[Page]:
    """A page a chart, and their list: charts.html."""
    drawn = draw(sources_of(site))
    for chart in drawn.charts:
        yield Page(
            page_of(chart), chart.title, "page.html.j2", {"sections": [Section("Chart", figures=[figure_of(chart)])]}
        )
    rows = ((Link(chart.title, page_of(chart)), chart.caption) for chart in drawn.charts)
    yield Page(
        "charts.html",
        "Charts",
        "page.html.j2",
        {
            "lead": ["Each chart has its numbers in a table beside it, and says in words what is to be seen."],
            "sections": [
                Section("All charts", tables=[table("Charts", ("chart", "what is to be seen"), rows)], empty="None."),
                Section("Not drawn", facts=[(name, reason) for name, reason in drawn.absent], empty="All are drawn."),
            ],
        },
    )


def page_of(chart: Chart) -> str:
    """Where a chart's page is."""
    return f"charts/{slug(chart.name)}.html"


def fitting(found: Sequence[Figure], most: int = ROOM) -> list[Figure]:
    """The first of these that have room on a page beside what else is there."""
    shown, room = [], most
    for figure in found:
        cells = 0 if figure.table is None else len(figure.table.rows) * len(figure.table.columns)
        room -= len(figure.svg) + CELL * cells
        if room < 0:
            break
        shown.append(figure)
    return shown


def first(site: Site) -> Section:
    """The overview's charts, and where all are."""
    one_each = [figure for name in FIRST for figure in figures(site, [name])[:1]]
    return Section("Charts", figures=fitting(one_each), links=[Link("All charts", "charts.html")])
