"""Lines over a common x: panels of at most six engines each, so that every line can be followed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from matplotlib.axes import Axes
from tokassay.reports.charts.chart import gid
from tokassay.reports.charts.sheet import Key, Panel, Sheet, scale, sheet, width
from tokassay.reports.charts.style import DASHES, INK, MARKERS, PAPER, SERIES, SMALL, logarithmic, tick

MOST = 6  # lines in a panel
HEIGHT = 2.0


@dataclass(frozen=True)
class Curve:
    """A line: points by ascending x, each with the interval of y or nan. `hollow` are places of points drawn hollow."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    hollow: frozenset[int] = frozenset()


def parts(count: int, most: int = MOST) -> list[range]:
    """Ranges over so many lines: as few as there can be of at most `most`, about equally long."""
    panels = max(1, -(-count // most))
    edges = [round(at * count / panels) for at in range(panels + 1)]
    return [range(a, b) for a, b in pairwise(edges)]


def curves(
    title: str, groups: Sequence[tuple[str, Sequence[Curve]]], *, x_label: str, y_label: str,
    x_log: bool | None = None, y_log: bool | None = None, x_name: Callable[[float], str] = tick,
    x_places: Sequence[float] | None = None, zero: bool = True, keys: Sequence[Key] = (), split: int = MOST,
) -> tuple[Sheet, list[tuple[Axes, str, list[Curve]]]]:
    """Draw groups of lines, a heading each; what is asked of an axis as None is decided by the values.
    Returns the sheet, and for each panel its axes, heading and lines."""
    flat = [curve for _, own in groups for curve in own]
    xs = [x for curve in flat for x in curve.x]
    values = [y for curve in flat for each in (curve.y, curve.low, curve.high) for y in each if y == y]
    x_log = logarithmic(xs) if x_log is None else x_log
    y_log = logarithmic(values) if y_log is None else y_log
    places, panels = [], []
    for heading, own in groups:
        for number, part in enumerate(parts(len(own), split)):
            some = [own[at] for at in part]
            words = (
                heading if len(own) <= split else f"{heading} ({part.start + 1} to {part.stop} of {len(own)})".strip()
            )
            if not number or len(own) > split:
                panels.append(Panel(HEIGHT, words, [_key(at, curve) for at, curve in enumerate(some)], x_label))
                places.append((words, some))
    bottom, top = reach(values, y_log, zero)
    left = max(width([tick(value) for value in _labels(bottom, top, y_log)]), 0.2) + 0.12
    made = sheet(
        title, [_with(panel, y_label) for panel in panels], left=left, right=width([x_name(max(xs))]) / 2 + 0.02,
        keys=keys,
    )
    for axes, (_, some) in zip(made.axes, places, strict=True):
        low, high = min(xs), max(xs)
        if x_log:
            room = (high / low) ** 0.04 if high > low else 2.0
            scale(axes, "x", low / room, high * room, log=True, name=x_name)
        else:
            room = (high - low) * 0.04 or 0.5
            scale(axes, "x", low - room, high + room, log=False, name=x_name)
        if x_places is not None:
            axes.set_xticks(list(x_places), [x_name(value) for value in x_places])
        scale(axes, "y", bottom, top, log=y_log)
        for at, curve in enumerate(some):
            draw(axes, at, curve)
    return made, [(axes, *place) for axes, place in zip(made.axes, places, strict=True)]


def _with(panel: Panel, y_label: str) -> Panel:
    return Panel(panel.height, f"{panel.heading}: {y_label}" if panel.heading else y_label, panel.keys, panel.x_label)


def reach(values: Sequence[float], log: bool, zero: bool = True) -> tuple[float, float]:
    """The range of an axis: from 0 unless it is logarithmic or not to begin there, with some room."""
    low, high = min(values), max(values)
    if log:
        return low / 1.4, high * 1.4
    if zero and low >= 0:
        return 0.0, high * 1.08 or 1.0
    room = (high - low) * 0.1 or abs(high) * 0.1 or 0.5
    return low - room, high + room


def _labels(bottom: float, top: float, log: bool) -> list[float]:
    from matplotlib.ticker import MaxNLocator
    from tokassay.reports.charts.style import ticks

    if log:
        return ticks(bottom, top)
    return [float(value) for value in MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(bottom, top)]


def style(at: int) -> tuple[str, str, object]:
    """Colour, marker and dashes of a line by its place: no two of a panel share any."""
    return SERIES[at % len(SERIES)], MARKERS[at % len(MARKERS)], DASHES[at % len(DASHES)]


def _key(at: int, curve: Curve) -> Key:
    colour, marker, dash = style(at)
    return Key(curve.name, colour, marker, dash)


def draw(axes: Axes, at: int, curve: Curve) -> None:
    """One line with its intervals and points."""
    colour, marker, dash = style(at)
    bounds = [(x, low, high) for x, low, high in zip(curve.x, curve.low, curve.high, strict=True)
              if low == low and high == high]  # fmt: skip
    if bounds:
        gap = float("nan")
        axes.plot([place for x, _, _ in bounds for place in (x, x, gap)],
                  [place for _, low, high in bounds for place in (low, high, gap)],
                  color=colour, lw=1.0, marker="_", ms=4, mew=1.0, zorder=2.5)  # fmt: skip
    axes.plot(curve.x, curve.y, color=colour, ls=dash, lw=1.5, zorder=3, gid=gid("line", curve.name))
    for place, (x, y) in enumerate(zip(curve.x, curve.y, strict=True)):
        axes.plot(
            [x], [y], marker, color=PAPER if place in curve.hollow else colour, mec=INK, mew=0.6, ms=5, zorder=4,
            gid=gid("point", curve.name, f"{x:g}"),
        )


def note(axes: Axes, text: str, x: float, y: float, align: str = "left") -> None:
    """Words inside of a plot, at a place in fractions of it."""
    axes.annotate(text, (x, y), xycoords="axes fraction", fontsize=SMALL, color=INK, ha=align, va="top")
