"""The chart of one claim: the claimed figure beside what was measured, one bar a text, on one scale a panel.

What has no speed is drawn as what it is: an empty, hatched row with the reason's word. Numbers come from the claim's
report; nothing is judged here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokassay.reports.charts.style import BLUE as OWN
from tokassay.reports.charts.style import SKY as LEFT_OUT
from tokassay.reports.charts.style import VERMILION as CLAIMED

SPAN = 12.0  # greatest over least from which an axis is logarithmic
WIDTH, ROW, HEAD = 5.4, 0.27, 0.95  # inches: narrow enough that a phone shows the words
UNITS = {"ratio": "times {against}", "mb_s": "MB/s", "ids_s": "million ids a second", "load_ms": "ms"}


@dataclass(frozen=True)
class Bar:
    """One row: what was measured with its interval, or the word for why there is nothing."""

    name: str
    own: bool
    median: float | None = None
    low: float = 0.0
    high: float = 0.0
    word: str = ""


@dataclass
class Block:
    """Figures that are measured by the same cells: their claimed values over one set of bars."""

    bars: list[Bar]
    claimed: list[tuple[str, float, float]] = field(default_factory=list)  # name, low, high


@dataclass
class Panel:
    """Blocks of one unit, on one axis."""

    label: str
    blocks: dict[tuple[Any, ...], Block] = field(default_factory=dict)

    @property
    def bars(self) -> list[Bar]:
        return [bar for block in self.blocks.values() for bar in block.bars]

    @property
    def claimed(self) -> list[tuple[str, float, float]]:
        return [one for block in self.blocks.values() for one in block.claimed]

    @property
    def values(self) -> list[float]:
        """Every number that is drawn."""
        drawn = [value for bar in self.bars if bar.median is not None for value in (bar.low, bar.median, bar.high)]
        return [*drawn, *(end for _, low, high in self.claimed for end in (low, high))]

    @property
    def logarithmic(self) -> bool:
        positive = [value for value in self.values if value > 0]
        return bool(positive) and max(positive) / min(positive) > SPAN


def panels(report: Mapping[str, Any]) -> list[Panel]:
    """The panels of a report, one a unit, in the order of its figures; figures with the same cells share a block."""
    made: dict[str, Panel] = {}
    for figure in report["figures"]:
        claimed = figure["claimed"]
        low = claimed["value"] if claimed["value"] is not None else claimed["low"]
        if low is None or figure["kind"] not in UNITS or not figure["cells"]:
            continue
        cells = figure["cells"]
        label = UNITS[figure["kind"]].format(against=figure["against"])
        key = tuple((cell["text"], cell["vocabulary"]) for cell in cells)
        block = made.setdefault(label, Panel(label)).blocks.setdefault(key, Block([bar(cell) for cell in cells]))
        block.claimed.append((figure["name"], low, claimed["high"] or low))
    return list(made.values())


def bar(cell: Mapping[str, Any]) -> Bar:
    """The row of one cell."""
    measured = cell["measured"]
    if measured is None:
        return Bar(cell["text"], cell["own"], word="void" if cell["outcome"] == "void" else "not measured")
    return Bar(cell["text"], cell["own"], measured["median"], measured["low"], measured["high"])


def caption(report: Mapping[str, Any], found: Sequence[Panel]) -> str:
    """What the chart shows, in words made from its data."""
    parts = []
    for panel in found:
        medians = [bar.median for bar in panel.bars if bar.median is not None]
        said = ", ".join(between(exactly(low), exactly(high)) for _, low, high in panel.claimed)
        if medians:
            ends = between(short(min(medians)), short(max(medians)))
            parts.append(f"{panel.label}: claimed {said}, measured {ends}")
        else:
            parts.append(f"{panel.label}: claimed {said}, nothing measured")
    scale = "; logarithmic scale where a panel says so" if any(panel.logarithmic for panel in found) else ""
    return f"{report['about']['vendor']}: {'; '.join(parts)}. Bars are medians, whiskers the interval{scale}."


def between(low: str, high: str) -> str:
    """One number, or two with the word between."""
    return low if low == high else f"{low} to {high}"


def short(value: float) -> str:
    """Three significant digits, with separators from a thousand on."""
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 else f"{value:.3g}"


def exactly(value: float) -> str:
    """A stated number as it was stated, with separators from a thousand on."""
    return f"{value:,.10g}"


def draw(paths: Sequence[Path], report: Mapping[str, Any]) -> str:
    """Draw the chart into every path (.svg or .png) and return its caption; "" and no file without a panel. OSError."""
    found = panels(report)
    if not found:
        return ""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({
        "svg.hashsalt": "tokassay", "svg.fonttype": "none", "font.size": 9, "font.family": "sans-serif",
        "hatch.linewidth": 0.5,
    }):
        heights = [HEAD + ROW * (len(panel.bars) + len(panel.claimed)) for panel in found]
        figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
        rows = figure.subplots(len(found), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
        for (axes,), panel in zip(rows, found, strict=True):
            _panel(axes, panel)
        for path in paths:
            metadata = {"Date": None, "Title": caption(report, found)} if path.suffix == ".svg" else None
            figure.savefig(path, dpi=160, metadata=metadata, facecolor="white")
    return caption(report, found)


def _panel(axes: Any, panel: Panel) -> None:
    """Claimed rows first, then one row a text."""
    names: list[str] = []
    if panel.logarithmic:
        axes.set_xscale("log")
        low = min(value for value in panel.values if value > 0)
        axes.set_xlim(low / 2.5, max(panel.values) * 4)
        floor = low / 2.5
    else:
        axes.set_xlim(0, max([*panel.values, 1e-9]) * 1.3)
        floor = 0.0
    for block in panel.blocks.values():
        below = len(names) + len(block.claimed) + len(block.bars) - 0.6
        for name, low, high in block.claimed:
            left, right = (low, high) if high > low else (floor, low)
            row = len(names)
            names.append(f"claimed: {shortened(name)}")
            axes.barh(row, right - left, left=left, height=0.62, color="white", edgecolor=CLAIMED, hatch="////", lw=1.2)
            axes.plot([low, low], [row, below], color=CLAIMED, lw=0.8, ls=":")
            _words(axes, high, row, exactly(low) if low == high else f"{exactly(low)}–{exactly(high)}", CLAIMED)
        for bar in block.bars:
            names.append(bar.name)
            _bar(axes, len(names) - 1, bar, floor)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel(panel.label + (" (logarithmic)" if panel.logarithmic else ""), fontsize=8)
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="x", alpha=0.25)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _bar(axes: Any, row: int, bar: Bar, floor: float) -> None:
    """What was measured with its whiskers, or a hatched row with the word for why there is nothing."""
    if bar.median is None:
        across = axes.get_yaxis_transform()
        axes.barh(row, 1.0, left=0.0, height=0.62, color="none", edgecolor="#999999", hatch="xxxx", lw=0.6, alpha=0.35,
                  transform=across)
        axes.text(0.5, row, bar.word, transform=across, va="center", ha="center", fontsize=8, color="#333333",
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5})
        return
    axes.barh(row, bar.median - floor, left=floor, height=0.62, color=OWN if bar.own else LEFT_OUT)
    error = [[max(bar.median - bar.low, 0)], [max(bar.high - bar.median, 0)]]
    axes.errorbar(bar.median, row, xerr=error, color="#222222", lw=1, capsize=2.5)
    _words(axes, bar.high, row, short(bar.median), "#222222")


def _words(axes: Any, x: float, row: int, text: str, colour: str) -> None:
    axes.annotate(text, (x, row), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8, color=colour)


def shortened(name: str, most: int = 24) -> str:
    """A name that leaves room for the bars."""
    return name if len(name) <= most else f"{name[: most - 1].rstrip()}…"
