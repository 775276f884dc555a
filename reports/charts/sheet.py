"""The sheet that a chart is drawn on: a title, keys, and panels one below the other, with room for every label.

Widths are measured, so that nothing overlaps and nothing is cut off, whatever the names are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, NullLocator
from tokassay.reports.charts.style import (
    GRID,
    INK,
    PAPER,
    SMALL,
    SOFT,
    TEXT,
    TITLE,
    WIDTH,
    measure,
    tick,
    ticks,
    wrap,
)

PAD = 0.12  # inches at every edge
LINE = 0.165  # of a line of text
SWATCH = 0.26  # of a key's sample


@dataclass(frozen=True)
class Key:
    """An entry of a key: a sample and its words. `marker` and `dash` are matplotlib's; `hatch` makes a box of it."""

    label: str
    colour: str = INK
    marker: str = ""
    dash: Any = ""
    hatch: str | None = None
    hollow: bool = False


@dataclass(frozen=True)
class Panel:
    """One plot: `height` inches without its labels; `above` inches are kept for column names."""

    height: float
    heading: str = ""
    keys: Sequence[Key] = ()
    x_label: str = ""
    axis: bool = True
    above: float = 0.0


@dataclass
class Sheet:
    """A figure and its axes, one a panel."""

    figure: Figure
    axes: list[Axes] = field(default_factory=list)


def sheet(title: str, panels: Sequence[Panel], *, left: float, right: float = 0.0, keys: Sequence[Key] = ()) -> Sheet:
    """An empty sheet; `left` and `right` are inches kept for labels beside the plots."""
    inside = WIDTH - 2 * PAD
    lines = wrap(title, inside, TITLE, bold=True)
    headings = [wrap(panel.heading, inside, TEXT, bold=True) if panel.heading else [] for panel in panels]
    flows = [flow(panel.keys, inside) for panel in panels]
    top = flow(keys, inside)
    x_labels = [wrap(panel.x_label, inside - left, SMALL) if panel.x_label else [] for panel in panels]
    height = 2 * PAD + len(lines) * (LINE + 0.02) + 0.08 + _rows(top)
    for panel, heading, own, under in zip(panels, headings, flows, x_labels, strict=True):
        height += len(heading) * LINE + 0.06 + _rows(own) + panel.above + panel.height
        height += (0.24 if panel.axis else 0.04) + len(under) * LINE + 0.1
    made = Sheet(Figure(figsize=(WIDTH, height), facecolor=PAPER))
    at = PAD
    for line in lines:
        _write(made.figure, PAD, at, line, TITLE, INK, bold=True)
        at += LINE + 0.02
    at += 0.08
    at = _keys(made.figure, top, at)
    for panel, heading, own, under in zip(panels, headings, flows, x_labels, strict=True):
        for line in heading:
            _write(made.figure, PAD, at, line, TEXT, INK, bold=True)
            at += LINE
        at = _keys(made.figure, own, at + 0.06) + panel.above
        axes = made.figure.add_axes(
            (
                (PAD + left) / WIDTH, 1 - (at + panel.height) / height, (WIDTH - 2 * PAD - left - right) / WIDTH,
                panel.height / height,
            )
        )
        plain(axes)
        made.axes.append(axes)
        at += panel.height + (0.24 if panel.axis else 0.04)
        for line in under:
            _write(made.figure, PAD + left, at, line, SMALL, SOFT)
            at += LINE
        at += 0.1
    return made


def _write(figure: Figure, x: float, y: float, text: str, points: float, colour: str, bold: bool = False) -> None:
    wide, high = figure.get_size_inches()
    figure.text(
        x / wide, 1 - y / high, text, fontsize=points, color=colour, va="top", fontweight="bold" if bold else "normal"
    )


def flow(keys: Sequence[Key], inside: float) -> list[list[tuple[float, Key, list[str]]]]:
    """Keys in rows of at most `inside` inches: x, the key, its words in lines."""
    rows: list[list[tuple[float, Key, list[str]]]] = []
    x = inside + 1
    for key in keys:
        words = wrap(key.label, inside - SWATCH - 0.06, SMALL, most=2)
        wide = SWATCH + 0.06 + max(measure(word, SMALL)[0] for word in words) + 0.16
        if x + wide - 0.16 > inside:
            rows.append([])
            x = 0.0
        rows[-1].append((x, key, words))
        x += wide
    return rows


def _rows(rows: list[list[tuple[float, Key, list[str]]]]) -> float:
    return sum(LINE * max(len(words) for _, _, words in row) for row in rows) + (0.08 if rows else 0.0)


def _keys(figure: Figure, rows: list[list[tuple[float, Key, list[str]]]], at: float) -> float:
    wide, high = figure.get_size_inches()
    for row in rows:
        for x, key, words in row:
            middle, start = 1 - (at + 0.065) / high, (PAD + x) / wide
            if key.hatch is not None:
                figure.add_artist(
                    Rectangle(
                        (start, middle - 0.045 / high), SWATCH / wide, 0.09 / high, ec=INK, lw=0.7, fc=key.colour,
                        hatch=key.hatch, transform=figure.transFigure,
                    )
                )
            else:
                ends = [start, start + SWATCH / 2 / wide, start + SWATCH / wide]
                figure.add_artist(
                    Line2D(
                        ends, [middle] * 3, color=key.colour, ls=key.dash or "none", marker=key.marker, markevery=[1],
                        ms=5, mec=INK, mew=0.6, mfc=PAPER if key.hollow else key.colour, lw=1.4,
                        transform=figure.transFigure,
                    )
                )
            for number, word in enumerate(words):
                _write(figure, PAD + x + SWATCH + 0.06, at + number * LINE, word, SMALL, INK)
        at += LINE * max(len(words) for _, _, words in row)
    return at + (0.08 if rows else 0.0)


def plain(axes: Axes) -> None:
    """Axes in the colours of the sheet, with a light grid and no box."""
    axes.set_facecolor("none")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(SOFT)
    axes.tick_params(colors=SOFT, labelsize=SMALL, length=3, width=0.7, pad=2)
    axes.grid(True, color=GRID, lw=0.6)
    axes.set_axisbelow(True)


def scale(axes: Axes, which: str, low: float, high: float, *, log: bool, name: Any = tick, most: int = 5) -> None:
    """Set an axis, `x` or `y`, to a range, with labels that fit."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    if log:
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        axis.set_major_locator(FixedLocator(ticks(low, high, most)))
        axis.set_minor_locator(NullLocator())
    else:
        axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: str(name(value))))
    axis.set_minor_formatter(NullFormatter())
    (axes.set_xlim if which == "x" else axes.set_ylim)(low, high)


@dataclass(frozen=True)
class Names:
    """Names of rows in lines, and the inches that they and a row take."""

    lines: list[list[str]]
    width: float
    row: float


def names(found: Sequence[str], most: float = 1.5) -> Names:
    """Names at the left of rows: at most `most` inches, two lines each."""
    lines = [wrap(one, most, TEXT, most=2) for one in found]
    width = max((measure(line, TEXT)[0] for each in lines for line in each), default=0.0)
    return Names(lines, width + 0.1, 0.09 + LINE * max((len(each) for each in lines), default=1))


def rows(axes: Axes, found: Names) -> None:
    """Rows from the top at y = 0, 1, ..., with their names."""
    count = len(found.lines)
    axes.set_ylim(count - 0.5, -0.5)
    axes.set_yticks(range(count), ["\n".join(each) for each in found.lines], fontsize=TEXT, color=INK)
    axes.tick_params(axis="y", length=0, pad=4)
    axes.grid(False, axis="y")


def beside(axes: Axes, y: float, text: str) -> None:
    """Words at the right of a row."""
    axes.annotate(
        text, (1, y), xycoords=("axes fraction", "data"), xytext=(5, 0), textcoords="offset points", fontsize=SMALL,
        color=INK, va="center_baseline", annotation_clip=False,
    )


def width(words: Sequence[str], points: float = SMALL) -> float:
    """Inches of the widest of some lines."""
    return max((measure(word, points)[0] for word in words), default=0.0)
