"""One picture of the pipeline: from a document to ids, and how many divergences are known at each stage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle
from tokassay.reports.charts.chart import Chart, NoData, frame, gid, styled
from tokassay.reports.charts.sheet import PAD
from tokassay.reports.charts.stages import STAGES
from tokassay.reports.charts.style import (
    BLUE,
    INK,
    ON_FILL,
    ORANGE,
    PAPER,
    SKY,
    SMALL,
    SOFT,
    TEXT,
    TITLE,
    WIDTH,
    listed,
    measure,
    shade,
    wrap,
)

NAME = "pipeline"
WHAT = {
    "document": "bytes, never assumed to be UTF-8", "special": "texts of added tokens are found",
    "normalize": "NFC, where the contract has it", "scan": "bytes to code points, by byte policy",
    "classify": "each code point's general category", "pretokenize": "the pattern cuts pieces",
    "merge": "a piece's bytes to symbols, rank by rank", "lookup": "a symbol's id",
    "ids": "numbers, and nothing else is compared",
}
BOX, GAP = 0.42, 0.16  # inches
KINDS = {"vectors": (BLUE, None, "frozen vectors"), "store": (ORANGE, "////", "divergences in the store")}


@styled()
def pipeline(found: pd.DataFrame | Iterable[dict[str, Any]]) -> Chart:
    """Rows `stage`, `source` (`vectors`: frozen inputs with the right ids; `store`: divergences of a run), `count`.
    Stages that are none of an encoder's (`decode`, `process`, ...), and '' for what was not traced, are named in the
    caption. Raises NoData, ReportError."""
    table = frame(found, NAME, "stage", "source", "count")
    table["stage"] = table["stage"].fillna("")  # as CSV has what was not traced
    made = table.groupby(["source", "stage"], sort=False)["count"].sum().reset_index()
    if not made["count"].sum():
        raise NoData("no divergence is known")
    counts = {(str(r["source"]), str(r["stage"])): int(r["count"]) for _, r in made.iterrows()}
    sources = [source for source in KINDS if any(key[0] == source for key in counts)]
    most = max([counts.get((source, stage), 0) for source in sources for stage in STAGES] + [1])
    places = list(WHAT)
    height = 2 * PAD + 0.62 + len(places) * (BOX + GAP)
    left, right = PAD, 2.62
    room = WIDTH - PAD - right - 0.18 - measure(f"{most:,}", SMALL)[0]
    figure = Figure(figsize=(WIDTH, height), facecolor=PAPER)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(height, 0)
    axes.text(PAD, PAD, "From a document to ids", fontsize=TITLE, color=INK, va="top", fontweight="bold")
    x = PAD
    for source in sources:
        colour, hatch, words = KINDS[source]
        axes.add_patch(Rectangle((x, PAD + 0.3), 0.26, 0.1, fc=colour, ec=INK, lw=0.6, hatch=hatch))
        axes.text(x + 0.32, PAD + 0.35, words, fontsize=SMALL, color=INK, va="center_baseline")
        x += 1.75
    for place, stage in enumerate(places):
        top = PAD + 0.6 + place * (BOX + GAP)
        ends = stage in ("document", "ids")
        axes.add_patch(
            FancyBboxPatch(
                (left, top), right - left, BOX, boxstyle="round,pad=0,rounding_size=0.06",
                fc=PAPER if not ends else shade(0.35, SKY), ec=INK, lw=0.8, gid=gid("stage", stage),
            )
        )
        axes.text(
            left + 0.08, top + 0.055, stage, fontsize=TEXT, color=ON_FILL if ends else INK, va="top",
            fontweight="bold",
        )
        lines = wrap(WHAT[stage], right - left - 0.16, 8.0, most=1)
        axes.text(
            left + 0.08, top + BOX - 0.05, lines[0], fontsize=SMALL, color=ON_FILL if ends else SOFT, va="bottom"
        )
        if place + 1 < len(places):
            axes.add_patch(
                FancyArrowPatch(
                    (0.5, top + BOX), (0.5, top + BOX + GAP), arrowstyle="-|>", color=INK, lw=0.9,
                    mutation_scale=7, shrinkA=0, shrinkB=0,
                )
            )
        if not ends:
            thick = BOX / len(KINDS)
            for number, source in enumerate(sources):
                count = counts.get((source, stage), 0)
                colour, hatch, _ = KINDS[source]
                wide = room * count / most
                at = top + (BOX - thick * len(sources)) / 2 + number * thick
                if count:
                    axes.add_patch(
                        Rectangle(
                            (right + 0.12, at + 0.03), wide, thick - 0.06, fc=colour, ec=INK, lw=0.6, hatch=hatch,
                            gid=gid("count", source, stage),
                        )
                    )
                axes.text(
                    right + 0.12 + (wide + 0.06 if count else 0), at + thick / 2, f"{count:,}", fontsize=SMALL,
                    color=INK, va="center_baseline",
                )
    said = []
    for source in sources:
        total = sum(count for (own, _), count in counts.items() if own == source)
        traced = [f"{counts[source, stage]:,} at {stage}" for stage in STAGES if counts.get((source, stage))]
        others = [
            f"{count:,} {f'at {stage}' if stage else 'without a stage'}"
            for (own, stage), count in counts.items()
            if own == source and stage not in STAGES and count
        ]
        said.append(f"{total:,} {KINDS[source][2]}: {listed(traced + others)}.")
    return Chart(
        NAME, "From a document to ids", " ".join(said),
        "Nine boxes from document to ids, the stages between them with the number of divergences known at each.", made,
        figure,
    )
