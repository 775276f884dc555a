"""Series over powers of two, drawn into one file: what `tokassay bench --cache-sweep --figure` makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# Dark enough on white, and told apart by those who see fewer colours (Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


@dataclass(frozen=True)
class Line:
    """One series over powers of two: `x` are the exponents; `mark` is the x of a diamond; `level` a value without an x,
    drawn as a dotted line."""

    name: str
    x: Sequence[int]
    y: Sequence[float]
    least: Sequence[float]
    greatest: Sequence[float]
    mark: int | None = None
    level: float | None = None
    dashed: bool = False


@dataclass(frozen=True)
class Mark:
    """A place on the x axis with a name."""

    x: float
    name: str


def lines(
    path: Path, series: Sequence[Line], marks: Sequence[Mark] = (), *, title: str, x_label: str, y_label: str, note: str
) -> None:
    """Draw series over powers of two into `path` (.svg or .png). The same numbers give the same SVG. Raises OSError."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, MultipleLocator

    with matplotlib.rc_context({"svg.hashsalt": "tokassay", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(8.0, 4.8), layout="constrained")
        axes = figure.add_subplot()
        names = list(dict.fromkeys(line.name.rpartition(",")[0] for line in series))
        for line in series:
            colour = COLOURS[names.index(line.name.rpartition(",")[0]) % len(COLOURS)]
            axes.plot(line.x, line.y, "--" if line.dashed else "-", color=colour, label=line.name, marker=".", lw=1.4)
            axes.fill_between(line.x, line.least, line.greatest, color=colour, alpha=0.12, lw=0)
            if line.mark is not None:
                axes.plot([line.mark], [line.y[list(line.x).index(line.mark)]], "D", color=colour, ms=6)
            if line.level is not None:
                axes.axhline(line.level, color=colour, ls=":", lw=1, alpha=0.7)
        low = min((min(line.x) for line in series if line.x), default=0)
        high = max((max(line.x) for line in series if line.x), default=1)
        for mark in marks:
            if low <= mark.x <= high:
                axes.axvline(mark.x, color="#888888", lw=0.8)
                axes.annotate(mark.name, (mark.x, 0.02), xycoords=("data", "axes fraction"), rotation=90, fontsize=7,
                              color="#555555", xytext=(2, 0), textcoords="offset points")
        axes.set(title=title, xlabel=x_label, ylabel=y_label)
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(MultipleLocator(2))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"$2^{{{value:.0f}}}$"))
        axes.grid(alpha=0.25)
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0, frameon=False)
        figure.text(0.01, -0.03, note, fontsize=7, color="#444444")
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(path, dpi=120, metadata=metadata, bbox_inches="tight")
