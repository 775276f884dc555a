"""Cache sweep: speed over the number of entries of the pretoken cache, with the processor's own caches and the knee."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
from tokassay.reports.charts.chart import Chart, NoData, frame, gid, one, slug, styled
from tokassay.reports.charts.series import Curve, curves, style
from tokassay.reports.charts.style import EXACT, INK, SMALL, SOFT, WIDTH, figure, measure, superscript
from tokassay.reports.knee import knee

NAME = "cache"


@styled()
def cache(found: pd.DataFrame | Iterable[dict[str, Any]], *, processor: Mapping[str, int] | None = None) -> Chart:
    """Rows of one vocabulary and entry point: `text`, `state`, `bits` (log2 of entries; 0: no cache), `memory` (bytes),
    `verdict`, `mb_s`, and if there are `mb_s_low`, `mb_s_high`, `vocab`, `entry`. `processor`: L1d, L2, L3 -> bytes, or
    columns of these names. The knee is the smallest cache with 95 % of the best median. Raises NoData, ReportError."""
    table = frame(
        found, NAME, "text", "state", "bits", "memory", "verdict", "mb_s", mb_s_low=None, mb_s_high=None, vocab="",
        entry="",
    )
    where = [str(one(table, column, NAME)) for column in ("vocab", "entry")]
    if processor is None:
        processor = {level: int(table[level].iloc[0]) for level in ("L1d", "L2", "L3") if level in table}
    exact = table["verdict"].eq(EXACT)
    for column in ("mb_s", "mb_s_low", "mb_s_high"):
        table[column] = pd.to_numeric(table[column]).where(exact)
    sized = table[(table["bits"] > 0) & table["mb_s"].notna()]
    if sized["bits"].nunique() < 2:
        raise NoData("caches of two sizes at least have to be measured (bench --cache-sweep)")
    groups, said, marks = [], [], {}
    for state in dict.fromkeys(sized["state"]):
        lines = []
        for text in dict.fromkeys(sized["text"]):
            own = sized[sized["text"].eq(text) & sized["state"].eq(state)].sort_values("bits")
            if own.empty:
                continue
            lines.append(
                Curve(
                    text, own["bits"].tolist(), own["mb_s"].tolist(), own["mb_s_low"].tolist(),
                    own["mb_s_high"].tolist(),
                )
            )
            bits = knee(dict(zip(own["bits"], own["mb_s"], strict=True)))
            without = table[table["text"].eq(text) & table["state"].eq(state) & table["bits"].eq(0)]["mb_s"].dropna()
            marks[state, text] = (bits, float(without.iloc[0]) if len(without) else math.nan)
            speed = figure(float(own.loc[own["bits"].eq(bits), "mb_s"].iloc[0]))
            alone = f", against {figure(float(without.iloc[0]))} without a cache" if len(without) else ""
            said.append(f"{text}, {state}: the knee is at 2{superscript(bits)} entries with {speed} MB/s{alone}.")
        groups.append((state, lines))
    title = "Pretoken cache: " + ", ".join(word for word in where if word)
    entry_bytes = float((sized["memory"] / 2.0 ** sized["bits"]).iloc[0])
    made, panels = curves(
        title.rstrip(": "), groups,
        x_label=f"entries of {entry_bytes:g} bytes; diamond: the knee; dotted: without a cache",
        y_label="MB of input a second", x_log=False, y_log=False, x_name=lambda value: f"2{superscript(round(value))}",
        x_places=[bits for bits in sorted(set(sized["bits"])) if bits % 2 == 0 or sized["bits"].nunique() < 8],
    )
    for axes, heading, drawn in panels:
        state = heading.partition(" (")[0]
        low, high = axes.get_xlim()
        for at, curve in enumerate(drawn):
            bits, level = marks[state, curve.name]
            colour = style(at)[0]
            axes.plot(
                [bits], [curve.y[list(curve.x).index(bits)]], "D", color=colour, mec=INK, mew=1.4, ms=8, zorder=5,
                gid=gid("knee", state, curve.name),
            )
            if level == level:
                axes.axhline(level, color=colour, ls=(0, (1, 2)), lw=1.1)
        taken = low
        top = axes.get_ylim()[1]
        for level_name, size in sorted(processor.items(), key=lambda item: item[1]):
            x = math.log2(size / entry_bytes)
            if low <= x <= high:
                axes.axvline(x, color=SOFT, lw=0.9)
                words = f"{level_name}: {_memory(size)}"
                # Beside its line at the foot of the plot; the one after it stands higher if there is no room.
                wide = measure(words, SMALL)[0] / (axes.get_position().width * WIDTH)
                inches = wide * (high - low)
                left = x + inches + 0.02 * (high - low) > high
                row = 0 if (x - inches if left else x) > taken else 1
                taken = max(taken, x if left else x + inches * 1.05)
                axes.annotate(
                    words, (x, 0.03 + 0.085 * row), xycoords=("data", "axes fraction"), fontsize=SMALL, color=INK,
                    xytext=(-3 if left else 3, 0), textcoords="offset points", ha="right" if left else "left",
                    va="bottom",
                )
        axes.set_ylim(0, top)
    return Chart(
        slug(NAME, *where), title.rstrip(": "), " ".join(said),
        f"Lines: speed over the size of the cache, {len(marks)} series, the knee of each marked.",
        table[["text", "state", "bits", "memory", "verdict", "mb_s", "mb_s_low", "mb_s_high"]], made.figure,
    )


def _memory(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"
