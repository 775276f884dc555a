"""Speed ladder: what each optimization gains, as the time without it over the time with all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from matplotlib.patches import Rectangle
from tokassay.reports.charts.chart import Chart, NoData, frame, gid, one, slug, styled
from tokassay.reports.charts.sheet import Panel, beside, names, rows, scale, sheet, width
from tokassay.reports.charts.style import BLUE, EXACT, INK, ORANGE, interval
from tokassay.reports.charts.throughput import absent, place, whisker

NAME = "ladder"


@styled()
def ladder(found: pd.DataFrame | Iterable[dict[str, Any]]) -> Chart:
    """Rows of one vocabulary, entry point and state: `text`, `switch`, `verdict`, `gain` (time without over time with
    all), `low`, `high`, and if there are `vocab`, `entry`, `state`. Raises NoData, ReportError."""
    table = frame(found, NAME, "text", "switch", "verdict", "gain", low=None, high=None, vocab="", entry="", state="")
    exact = table["verdict"].eq(EXACT)
    for column in ("gain", "low", "high"):
        table[column] = pd.to_numeric(table[column]).where(exact)
    if not table["gain"].notna().any():
        raise NoData("no switch has a figure (bench --ablation)")
    where = [one(table, column, NAME) for column in ("vocab", "entry", "state")]
    order = table.groupby("switch", sort=False)["gain"].median().sort_values(ascending=False, kind="stable")
    switches, texts = [str(switch) for switch in order.index], list(dict.fromkeys(table["text"]))
    labels = names(switches)
    values = [value for column in ("gain", "low", "high") for value in table[column].dropna()]
    title = f"What each optimization gains: {place([*where, 1])}".rstrip(": ")
    made = sheet(
        title,
        [
            Panel(labels.row * len(switches), text, x_label="time without it over time with all; above 1 it pays")
            for text in texts
        ],
        left=labels.width,
        right=width([f"×{value:.2f}" for value in table["gain"].dropna()]) + 0.08,
    )
    said = []
    for text, axes in zip(texts, made.axes, strict=True):
        rows(axes, labels)
        scale(axes, "x", min(0.9, min(values) * 0.97), max(1.1, max(values) * 1.03), log=False)
        axes.axvline(1, color=INK, lw=1, zorder=2)
        own: dict[str, Any] = {str(row["switch"]): row for row in table[table["text"].eq(text)].to_dict("records")}
        for y, switch in enumerate(switches):
            if switch not in own or own[switch]["gain"] != own[switch]["gain"]:
                absent(axes, y, text, switch, str(own[switch]["verdict"]) if switch in own else "not asked")
                continue
            row = own[switch]
            start = min(1.0, row["gain"])
            axes.add_patch(
                Rectangle(
                    (start, y - 0.3), abs(row["gain"] - 1), 0.6, fc=BLUE if row["gain"] >= 1 else ORANGE, ec=INK,
                    lw=0.6, zorder=2.5, hatch=None if row["gain"] >= 1 else "////", gid=gid("bar", text, switch),
                )
            )
            whisker(axes, y, row["low"], row["high"])
            beside(axes, y, f"×{row['gain']:.2f}")
        known = [row for row in own.values() if row["gain"] == row["gain"]]
        if known:
            best = max(known, key=lambda row: float(row["gain"]))
            above = sum(row["low"] > 1 for row in known)
            gain = interval(best["gain"], best["low"], best["high"])
            said.append(
                f"On {text} the most is gained by {best['switch']}: {gain} times; "
                f"{above} of {len(known)} have all of their interval above 1."
            )
    return Chart(
        slug(NAME, *where), title, " ".join(said),
        f"Bars from 1: gain of {len(switches)} optimizations on {len(texts)} kinds of text.",
        table[["text", "switch", "verdict", "gain", "low", "high"]], made.figure,
    )
