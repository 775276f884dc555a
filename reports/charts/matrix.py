"""Squares in rows and columns, each with a sign or number and a shade; further columns go into a panel below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.patches import Rectangle
from tokassay.reports.charts.chart import gid
from tokassay.reports.charts.series import parts
from tokassay.reports.charts.sheet import PAD, Key, Panel, Sheet, names, rows, sheet
from tokassay.reports.charts.style import INK, ON_FILL, PAPER, SMALL, WIDTH, measure, wrap

HEAD = 1.2  # inches at most of a column's name, written upwards


@dataclass(frozen=True)
class Square:
    """`text` stands in it; `fill` is its colour (None: the paper's), `hatch` its hatching."""

    text: str
    fill: str | None = None
    hatch: str | None = None


def matrix(
    title: str, lines: Sequence[str], columns: Sequence[str], squares: Mapping[tuple[str, str], Square], *,
    shown: Mapping[str, str] | None = None, keys: Sequence[Key] = (), heading: str = "",
) -> Sheet:
    """A sheet of squares; `shown` renames lines. A pair that is not in `squares` stays empty."""
    labels = names([(shown or {}).get(line, line) for line in lines])
    widest = max((measure(square.text, SMALL)[0] for square in squares.values()), default=0.2) + 0.1
    inside = WIDTH - 2 * PAD - labels.width
    most = max(1, min(len(columns), int(inside / max(widest, 0.3))))
    split = parts(len(columns), most)
    heads = {column: wrap(column, HEAD, SMALL, most=2) for column in columns}
    above = max(measure(word, SMALL)[0] for head in heads.values() for word in head) + 0.08
    height = max(labels.row, 0.26)
    panels = [
        Panel(height * len(lines), heading if not number else "", axis=False, above=above)
        for number in range(len(split))
    ]
    wide = max(len(part) for part in split)
    made = sheet(
        title, panels, left=labels.width, right=max(0.0, inside - wide * max(widest, inside / wide * 0.999, 0.3)),
        keys=keys,
    )
    for axes, part in zip(made.axes, split, strict=True):
        rows(axes, labels)
        axes.grid(False)
        axes.spines["bottom"].set_visible(False)
        axes.set_xlim(-0.5, wide - 0.5)
        axes.set_xticks([])
        for x, column in enumerate(columns[at] for at in part):
            axes.annotate(
                "\n".join(heads[column]), (x, 1), xycoords=("data", "axes fraction"), xytext=(0, 4), rotation=90,
                textcoords="offset points", fontsize=SMALL, color=INK, ha="center", va="bottom", linespacing=1.0,
                annotation_clip=False,
            )
            for y, line in enumerate(lines):
                square = squares.get((line, column))
                if square is not None:
                    axes.add_patch(
                        Rectangle(
                            (x - 0.46, y - 0.46), 0.92, 0.92, fc=square.fill or PAPER, ec=INK, lw=0.5,
                            hatch=square.hatch, gid=gid("square", line, column), clip_on=False,
                        )
                    )
                    axes.text(
                        x, y, square.text, fontsize=SMALL, ha="center", va="center_baseline", zorder=3,
                        color=ON_FILL if square.fill else INK,
                    )
    return made
