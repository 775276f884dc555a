"""The chart of one claim: the claimed figures over what was measured, a row a text, and one scale a unit.

What has no speed is drawn as what it is. Numbers come from the claim's report; nothing is judged here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from tokassay.reports.charts.chart import Chart, NoData, gid, slug, styled
from tokassay.reports.charts.sheet import Key, Panel, beside, names, rows, scale, sheet, width
from tokassay.reports.charts.style import BLUE, INK, PAPER, SKY, VERMILION, logarithmic
from tokassay.reports.charts.throughput import absent, whisker
from tokassay.reports.visible import visible
from tokassay.reports.words import exactly, short

NAME = "claim"
UNITS = {"ratio": "times {against}", "mb_s": "MB/s", "ids_s": "million ids a second", "load_ms": "ms"}
CLAIMED, OWN, LEFT_OUT = "claimed", "own", "left out"


@dataclass(frozen=True)
class Kind:
    """How a kind of row is drawn: a bar with edge and hatching, or a marker where the axis is logarithmic."""

    words: str
    colour: str
    face: str
    edge: str
    hatch: str
    marker: str

    def key(self, bar: bool) -> Key:
        """Its entry of the key, as a bar or as a dot."""
        return Key(self.words, self.face, hatch=self.hatch) if bar else Key(self.words, self.colour, self.marker)


KINDS = {
    CLAIMED: Kind("claimed", VERMILION, PAPER, VERMILION, "////", "D"),
    OWN: Kind("a text of the vendor's own kind", BLUE, BLUE, INK, "", "o"),
    LEFT_OUT: Kind("a kind that the vendor left out", SKY, SKY, INK, "....", "s"),
}


@dataclass(frozen=True)
class Row:
    """A claimed figure, from `low` to `high` where it is a range, or what was measured on a text: a median with its
    interval, or the word for why there is nothing."""

    kind: str
    name: str
    median: float | None
    low: float | None
    high: float | None
    word: str = ""

    @property
    def said(self) -> str:
        """Its figure in words; "" without one."""
        if self.kind == CLAIMED:
            return _ends(self.low, self.high, exactly, "–")
        return "" if self.median is None else short(self.median)


@dataclass(frozen=True)
class Unit:
    """What is on one axis: blocks of rows, each the claimed figures and then the texts that they are held to."""

    label: str
    blocks: list[list[Row]]

    @property
    def rows(self) -> list[Row]:
        return [row for block in self.blocks for row in block]

    @property
    def values(self) -> list[float]:
        """Every number that is drawn."""
        found = (value for row in self.rows for value in (row.low, row.median, row.high))
        return [value for value in found if value is not None]

    @property
    def logarithmic(self) -> bool:
        return logarithmic(self.values)


@styled()
def claim(report: Mapping[str, Any]) -> Chart:
    """The chart of the report of a claim that was run (schema `tokassay.claim/1`). Raises NoData where no figure with
    a number has a cell."""
    found = units(report)
    if not found:
        raise NoData("no figure with a number was asked for")
    every = [row for unit in found for row in unit.rows]
    labels = [names([_label(row) for row in unit.rows]) for unit in found]
    title = f"Claimed and measured: {visible(report['about']['vendor'])}"
    made = sheet(
        title,
        [
            Panel(one.row * len(one.lines), unit.label, x_label="logarithmic" if unit.logarithmic else "")
            for unit, one in zip(found, labels, strict=True)
        ],
        left=max(one.width for one in labels), right=width([row.said for row in every]) + 0.08,
        keys=[
            kind.key(not all(unit.logarithmic for unit in found))
            for name, kind in KINDS.items() if any(row.kind == name and row.said for row in every)
        ],
    )
    for unit, one, axes in zip(found, labels, made.axes, strict=True):
        rows(axes, one)
        _draw(axes, unit)
    texts = [row for row in every if row.kind != CLAIMED]
    return Chart(
        slug(NAME, report["claim"]), title, caption(report, found),
        f"Rows: {len(every) - len(texts)} claimed figures over what was measured; "
        f"{sum(row.median is not None for row in texts)} of {len(texts)} texts have a figure.",
        pd.DataFrame(
            [
                (unit.label, row.kind, row.name, row.median, row.low, row.high, row.word)
                for unit in found for row in unit.rows
            ],
            columns=["unit", "kind", "name", "median", "low", "high", "word"],
        ),
        made.figure,
    )


def units(report: Mapping[str, Any]) -> list[Unit]:
    """The units of a report, in the order of its figures; figures that are measured by the same cells share a block."""
    made: dict[str, dict[tuple[Any, ...], list[Row]]] = {}
    for figure in report["figures"]:
        claimed, cells = figure["claimed"], figure["cells"]
        low = claimed["value"] if claimed["value"] is not None else claimed["low"]
        if low is None or figure["kind"] not in UNITS or not cells:
            continue
        label = visible(UNITS[figure["kind"]].format(against=figure["against"]))
        key = tuple((cell["text"], cell["vocabulary"]) for cell in cells)
        block = made.setdefault(label, {}).setdefault(key, [_measured(cell) for cell in cells])
        place = sum(row.kind == CLAIMED for row in block)
        block.insert(place, Row(CLAIMED, visible(figure["name"]), None, low, claimed["high"] or low))
    return [Unit(label, list(blocks.values())) for label, blocks in made.items()]


def _measured(cell: Mapping[str, Any]) -> Row:
    kind, name, found = OWN if cell["own"] else LEFT_OUT, visible(cell["text"]), cell["measured"]
    if found is None:
        return Row(kind, name, None, None, None, "void" if cell["outcome"] == "void" else "not measured")
    return Row(kind, name, found["median"], found["low"], found["high"])


def _label(row: Row) -> str:
    return f"claimed: {row.name}" if row.kind == CLAIMED else row.name


def caption(report: Mapping[str, Any], found: Sequence[Unit]) -> str:
    """What the chart shows, in words made from its data."""
    parts = []
    for unit in found:
        medians = [row.median for row in unit.rows if row.median is not None]
        said = ", ".join(_ends(row.low, row.high, exactly, " to ") for row in unit.rows if row.kind == CLAIMED)
        measured = f"measured {_ends(min(medians), max(medians), short, ' to ')}" if medians else "nothing measured"
        parts.append(f"{unit.label}: claimed {said}, {measured}")
    words = f"{visible(report['about']['vendor'])}: {'; '.join(parts)}. Medians, with the interval as whiskers."
    return words + (" Where an axis is logarithmic there are dots." if any(unit.logarithmic for unit in found) else "")


def _ends(low: Any, high: Any, figure: Any, between: str) -> str:
    """One number, or two."""
    ends = dict.fromkeys((figure(low), figure(high)))
    return between.join(ends)


def _draw(axes: Axes, unit: Unit) -> None:
    log, low, high = unit.logarithmic, min(unit.values), max(unit.values)
    scale(axes, "x", low / 1.3 if log else 0, high * (1.3 if log else 1.04) or 1, log=log)
    y = 0
    for block in unit.blocks:
        below = y + len(block) - 0.6
        for row in block:
            ends = [end for end in dict.fromkeys((row.low, row.high)) if end is not None]
            if row.kind == CLAIMED:
                # Down to the texts that it is held to.
                for at in ends:
                    axes.plot([at, at], [y, below], color=VERMILION, lw=0.9, ls=":", zorder=2)
            elif row.median is None:
                absent(axes, y, f"{unit.label} {y}", row.name, row.word)
            else:
                whisker(axes, y, ends[0], ends[-1])
                ends = [row.median]
            if ends:
                _mark(axes, y, ends, KINDS[row.kind], log, gid(row.kind, unit.label, y, row.name))
                beside(axes, y, row.said)
            y += 1


def _mark(axes: Axes, y: int, ends: list[float], kind: Kind, log: bool, named: str) -> None:
    """A bar from 0 or between two ends; on a logarithmic axis, where a bar's length would mean nothing, dots."""
    if log:
        axes.plot(
            ends, [y] * len(ends), kind.marker, ls="-", color=kind.colour, mec=INK, mew=0.7, ms=6, lw=2, zorder=5,
            gid=named,
        )
    else:
        start = ends[0] if len(ends) > 1 else 0.0
        axes.add_patch(
            Rectangle(
                (start, y - 0.32), ends[-1] - start, 0.64, fc=kind.face, ec=kind.edge, lw=0.7, hatch=kind.hatch,
                gid=named,
            )
        )
