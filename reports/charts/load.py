"""Load time: a vocabulary opened in a fresh process and a first call, half of the times and 95 % of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from tokassay.reports.charts.chart import Chart, NoData, frame, gid, one, slug, styled
from tokassay.reports.charts.sheet import Key, Panel, beside, names, rows, scale, sheet, width
from tokassay.reports.charts.style import BLUE, EXACT, INK, ORANGE, OURS, figure, logarithmic, name_of
from tokassay.reports.charts.throughput import absent

NAME = "load"
STATES = {"cold": (BLUE, "s", "cold: files not in the page cache"), "warm": (ORANGE, "o", "warm: files in it")}


@styled()
def load(found: pd.DataFrame | Iterable[dict[str, Any]]) -> Chart:
    """Rows of one vocabulary: `engine`, `state` (cold, warm), `verdict`, `p50`, `p95` (milliseconds) and, if there are,
    `vocab`, `ours`, `detail`. Raises NoData, ReportError."""
    table = frame(found, NAME, "engine", "state", "verdict", "p50", "p95", vocab="", ours=False, detail="")
    vocab = str(one(table, "vocab", NAME))
    exact = table["verdict"].eq(EXACT)
    for column in ("p50", "p95"):
        table[column] = pd.to_numeric(table[column]).where(exact)
    if not table["p50"].notna().any():
        raise NoData("no load time was measured with right ids")
    engines = [str(engine) for engine in table.groupby("engine", sort=False)["p50"].min().sort_values().index]
    states = [state for state in STATES if table["state"].eq(state).any()]
    shown = [name_of(engine, bool(table.loc[table["engine"].eq(engine), "ours"].any())) for engine in engines]
    labels = names(shown)
    row_height = max(labels.row, 0.17 * len(states) + 0.1)
    values = [value for column in ("p50", "p95") for value in table[column].dropna()]
    log = logarithmic(values)
    title = f"Load and first call: {vocab}".rstrip(": ")
    made = sheet(
        title,
        [Panel(row_height * len(engines), x_label="milliseconds, wall time" + (" (logarithmic)" if log else ""))],
        left=labels.width,
        right=width([figure(value) for value in table["p50"].dropna()]) + 0.08,
        keys=[
            *(Key(STATES[state][2], STATES[state][0], STATES[state][1]) for state in states),
            Key("from the median to 95 %", INK, "|", "-"),
        ],
    )
    (axes,) = made.axes
    rows(axes, labels)
    scale(axes, "x", min(values) / 1.3 if log else 0, max(values) * (1.3 if log else 1.05), log=log)
    said = []
    for y, engine in enumerate(engines):
        words = []
        for number, state in enumerate(states):
            own = table[table["engine"].eq(engine) & table["state"].eq(state)]
            at = y + (number - (len(states) - 1) / 2) * 0.4
            if own.empty or own.iloc[0]["p50"] != own.iloc[0]["p50"]:
                absent(axes, at, state, engine, "not asked" if own.empty else str(own.iloc[0]["verdict"]), 0.34)
                continue
            row, (colour, marker, _) = own.iloc[0], STATES[state]
            if row["p95"] == row["p95"]:
                axes.plot([row["p50"], row["p95"]], [at, at], color=INK, lw=1.1, zorder=2)
                axes.plot([row["p95"]], [at], "|", color=INK, ms=6, mew=1.2, zorder=2)
            axes.plot(
                [row["p50"]], [at], marker, color=colour, mec=INK, mew=0.7, ms=5.5, zorder=3,
                gid=gid("dot", state, engine),
            )
            beside(axes, at, figure(row["p50"]))
            tail = f" (95 %: {figure(row['p95'])})" if row["p95"] == row["p95"] else ""
            words.append(f"{figure(row['p50'])} ms {state}{tail}")
        said.append(f"{engine}: {', '.join(words)}." if words else f"{engine} has no figure.")
    if table["ours"].any():
        said.append(f"{OURS} marks an engine of this project.")
    return Chart(
        slug(NAME, vocab), title, "Median of fresh processes, milliseconds of wall time. " + " ".join(said),
        f"Dots{' on a logarithmic axis' if log else ''}: load times of {len(engines)} engines, {' and '.join(states)}.",
        table[["engine", "state", "verdict", "p50", "p95", "detail"]], made.figure,
    )
