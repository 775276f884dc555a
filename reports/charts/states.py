"""Cold against warm: the first pass of a fresh process beside a pass over other text of the same kind afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from tokassay.reports.charts.chart import Chart, NoData, frame, gid, one, slug, styled
from tokassay.reports.charts.sheet import Key, Panel, beside, names, rows, sheet, width
from tokassay.reports.charts.style import BLUE, EXACT, INK, ORANGE, OURS, SOFT, listed, logarithmic, name_of
from tokassay.reports.charts.throughput import absent, place, ranked, speed_axis, unit, whisker

NAME = "states"
MARKS = {
    "cold": (BLUE, "s", "cold: first pass of a process"), "warm": (ORANGE, "o", "warm: after other text of the kind"),
}


@styled()
def states(found: pd.DataFrame | Iterable[dict[str, Any]]) -> Chart:
    """Rows of one vocabulary, entry point and number of threads, as `throughput` takes them, with the states `cold` and
    `warm`; others are left out. Raises NoData, ReportError."""
    table = frame(
        found, NAME, "text", "engine", "state", "verdict", "mb_s", vocab="", entry="", threads=1, ours=False,
        mb_s_low=None, mb_s_high=None,
    )
    table = table[table["state"].isin(MARKS)].reset_index(drop=True)
    exact = table["verdict"].eq(EXACT)
    for column in ("mb_s", "mb_s_low", "mb_s_high"):
        table[column] = pd.to_numeric(table[column]).where(exact)
    wide = table.pivot_table(index=["text", "engine"], columns="state", values="mb_s", sort=False)
    if not set(MARKS) <= set(wide) or wide.dropna().empty:
        raise NoData("no cell was measured both cold and warm (bench --state cold,warm)")
    where = [one(table, "vocab", NAME), one(table, "entry", NAME), "", one(table, "threads", NAME)]
    texts, engines = list(dict.fromkeys(table["text"])), ranked(table)
    labels = names([name_of(e, bool(table.loc[table["engine"].eq(e), "ours"].any())) for e in engines])
    logs = {text: logarithmic(own["mb_s"].dropna()) for text, own in table.groupby("text")}
    gains = wide["warm"] / wide["cold"]
    title = f"Cold against warm: {place(where)}".rstrip(": ")
    height = max(labels.row, 0.33)
    made = sheet(
        title,
        [
            Panel(height * len(engines), text, x_label=f"{unit(logs[text], where[3])}; ×: warm over cold")
            for text in texts
        ],
        left=labels.width, right=width([f"×{value:.2f}" for value in gains.dropna()]) + 0.08,
        keys=[Key(words, colour, marker) for colour, marker, words in MARKS.values()],
    )
    for text, axes in zip(texts, made.axes, strict=True):
        rows(axes, labels)
        speed_axis(axes, table[table["text"].eq(text)], logs[text])
        for y, engine in enumerate(engines):
            _row(axes, y, text, engine, table[table["text"].eq(text) & table["engine"].eq(engine)])
            gain = gains.get((text, engine), float("nan"))
            if gain == gain:
                beside(axes, y, f"×{gain:.2f}")
    said = []
    for text in texts:
        own = (
            gains[text].dropna().sort_values(ascending=False) if text in gains.index.get_level_values(0) else gains[:0]
        )
        if len(own):
            said.append(f"On {text}, warm over cold: " + listed([f"{e} {value:.2f}" for e, value in own.items()]) + ".")
    if len(texts) > 1:
        said.append("Each text has an axis of its own.")
    lost = int((~exact).sum())
    if lost:
        said.append(f"{lost} of {len(table)} cells have no speed.")
    if table["ours"].any():
        said.append(f"{OURS} marks an engine of this project.")
    return Chart(
        slug(NAME, *where[:2], *([f"{where[3]} threads"] if where[3] != 1 else [])),
        title,
        " ".join(said),
        f"Pairs of dots{' on logarithmic axes' if any(logs.values()) else ''}: cold and warm speed of {len(engines)} "
        f"engines on {len(texts)} kinds of text.",
        table[["text", "engine", "state", "verdict", "mb_s", "mb_s_low", "mb_s_high"]],
        made.figure,
    )


def _row(axes: Any, y: int, text: str, engine: str, own: pd.DataFrame) -> None:
    speeds = {str(row["state"]): row for _, row in own.iterrows() if row["mb_s"] == row["mb_s"]}
    if not speeds:
        absent(axes, y, text, engine, str(own.iloc[0]["verdict"]) if len(own) else "not asked")
        return
    if len(speeds) == 2:
        axes.plot([row["mb_s"] for row in speeds.values()], [y, y], color=SOFT, lw=1.0, ls=(0, (2, 1.5)), zorder=2)
    for state, row in speeds.items():
        colour, marker, _ = MARKS[state]
        at = y + (-0.17 if state == "cold" else 0.17)
        whisker(axes, at, row["mb_s_low"], row["mb_s_high"])
        axes.plot(
            [row["mb_s"]], [at], marker, color=colour, mec=INK, mew=0.7, ms=5, zorder=5,
            gid=gid("dot", state, text, engine),
        )
