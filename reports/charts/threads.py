"""Thread scaling: how many times as fast with more threads, beside the ideal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from tokassay.reports.charts.chart import Chart, NoData, frame, one, slug, styled
from tokassay.reports.charts.series import Curve, curves
from tokassay.reports.charts.style import EXACT, INK, figure, interval, name_of

NAME = "threads"


@styled()
def threads(found: pd.DataFrame | Iterable[dict[str, Any]]) -> Chart:
    """Rows of one vocabulary, entry point and text: `engine`, `threads`, `verdict`, `gain` (speed by wall time over
    that of one thread) and, if there are, `low`, `high`, `ours`, `vocab`, `entry`, `text`. A row of one thread need not
    be given. Raises NoData, ReportError."""
    table = frame(
        found, NAME, "engine", "threads", "verdict", "gain", low=None, high=None, ours=False, vocab="", entry="",
        text="",
    )
    where = [str(one(table, column, NAME)) for column in ("vocab", "entry", "text")]
    lost = table[~table["verdict"].eq(EXACT)]
    table = table[table["verdict"].eq(EXACT)].copy()
    for column in ("gain", "low", "high"):
        table[column] = pd.to_numeric(table[column])
    table = table[table["gain"].notna()]
    if not (table["threads"] > 1).any():
        raise NoData("nothing was measured with more than one thread (bench --threads 1,2)")
    order = table[table["threads"] > 1].groupby("engine", sort=False)["gain"].max().sort_values(ascending=False)
    lines, said = [], []
    for engine in order.index:
        own = table[table["engine"].eq(engine) & (table["threads"] > 1)].sort_values("threads")
        name = name_of(str(engine), bool(own["ours"].any()))
        lines.append(
            Curve(
                name, [1, *own["threads"]], [1.0, *own["gain"]], [float("nan"), *own["low"]],
                [float("nan"), *own["high"]],
            )
        )
        last = own.iloc[-1]
        gain = interval(last["gain"], last["low"], last["high"])
        said.append(
            f"{engine} is {gain} times as fast with {int(last['threads'])} threads as with one, "
            f"{figure(100 * last['gain'] / last['threads'])} % of the ideal."
        )
    if len(lost):
        said.append(
            "Without a figure: " + ", ".join(f"{r['engine']} ({r['verdict']})" for _, r in lost.iterrows()) + "."
        )
    title = "Thread scaling: " + ", ".join(word for word in where if word)
    counts = sorted({1, *(int(value) for value in table["threads"])})
    made, panels = curves(
        title.rstrip(": "), [("", lines)], x_label="threads", y_label="times one thread, wall time",
        x_log=counts[-1] > 30, x_places=counts if len(counts) <= 6 else None, x_name=lambda value: f"{value:g}",
    )
    for axes, _, _ in panels:
        low, high = axes.get_ylim()
        axes.plot([1, counts[-1]], [1, counts[-1]], color=INK, lw=0.9, ls=(0, (1, 2)), zorder=2, gid="ideal")
        axes.set_ylim(low, max(high, counts[-1] * 1.12))
        axes.annotate(
            "ideal", (counts[-1], counts[-1]), xytext=(-6, 1), textcoords="offset points", fontsize=8, color=INK,
            ha="right", va="bottom",
        )
    return Chart(
        slug(NAME, *where), title.rstrip(": "), " ".join(said),
        f"Lines: gain of {len(lines)} engines over the number of threads, up to {counts[-1]}, beside the ideal.",
        pd.concat([table, lost])[["engine", "threads", "verdict", "gain", "low", "high"]].reset_index(drop=True),
        made.figure,
    )
