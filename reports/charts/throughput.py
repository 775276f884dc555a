"""Throughput by engine and corpus: MB of input a second, and only of calls whose ids were right."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from tokassay.reports.charts.chart import Chart, NoData, frame, gid, one, slug, styled
from tokassay.reports.charts.sheet import Panel, beside, names, rows, scale, sheet, width
from tokassay.reports.charts.style import (
    BLUE,
    EXACT,
    INK,
    OURS,
    PAPER,
    SKY,
    SMALL,
    figure,
    hatch,
    interval,
    listed,
    logarithmic,
    name_of,
)

NAME = "throughput"


@styled()
def throughput(found: pd.DataFrame | Iterable[dict[str, Any]]) -> Chart:
    """Rows of one vocabulary, entry point, state and number of threads: `text`, `engine`, `verdict`, `mb_s`, and if
    there are: `mb_s_low`, `mb_s_high`, `vocab`, `entry`, `state`, `threads`, `detail`, `ours`, and the ratio to another
    engine: `ratio`, `ratio_low`, `ratio_high`, `ratio_to`, `resolved`. A row whose verdict is not `exact` has no bar,
    whatever its figures say. Raises NoData, ReportError."""
    table = frame(
        found, NAME, "text", "engine", "verdict", vocab="", entry="", state="", threads=1, detail="", ours=False,
        mb_s=None, mb_s_low=None, mb_s_high=None, ratio=None, ratio_low=None, ratio_high=None, ratio_to=None,
        resolved=None,
    )
    exact = table["verdict"].eq(EXACT)
    for column in ("mb_s", "mb_s_low", "mb_s_high"):
        table[column] = pd.to_numeric(table[column]).where(exact)
    if not table["mb_s"].notna().any():
        raise NoData("no cell is exact: there is no speed to draw")
    where = [one(table, column, NAME) for column in ("vocab", "entry", "state", "threads")]
    texts, engines = list(dict.fromkeys(table["text"])), ranked(table)
    shown = {engine: name_of(engine, bool(table.loc[table["engine"].eq(engine), "ours"].any())) for engine in engines}
    labels = names([shown[engine] for engine in engines])
    logs = {text: logarithmic(own["mb_s"].dropna()) for text, own in table.groupby("text")}
    title = "Throughput" + (f": {place(where)}" if place(where) else "")
    made = sheet(
        title, [Panel(labels.row * len(engines), text, x_label=unit(logs[text], where[3])) for text in texts],
        left=labels.width,
        right=max(width([figure(value) for value in table["mb_s"].dropna()]), 0.3) + 0.08,
    )
    for text, axes in zip(texts, made.axes, strict=True):
        rows(axes, labels)
        own = table[table["text"].eq(text)]
        speed_axis(axes, own, logs[text])
        by_engine = {str(row["engine"]): row for row in own.to_dict("records")}
        for y, engine in enumerate(engines):
            if engine in by_engine:
                _row(axes, y, text, engine, by_engine[engine], logs[text])
            else:
                absent(axes, y, text, engine, "not asked")
    kept = ["text", "engine", "verdict", "mb_s", "mb_s_low", "mb_s_high", "detail"]
    return Chart(
        slug(NAME, *where[:3], *([f"{where[3]} threads"] if where[3] != 1 else [])),
        title,
        caption(table, texts, [str(text) for text in texts if logs[text]]),
        f"{'Dots on logarithmic axes and bars' if any(logs.values()) else 'Bars'}: speed of {len(engines)} engines on "
        f"{len(texts)} kinds of text; {int(exact.sum())} of {len(table)} cells have a speed.",
        table[kept].reset_index(drop=True),
        made.figure,
    )


def unit(log: bool, threads: int) -> str:
    """What a speed's axis is of: one thread is measured by CPU time, several by wall time."""
    return f"MB of input a second of {'CPU' if threads == 1 else 'wall'} time" + (", logarithmic" if log else "")


def speed_axis(axes: Axes, own: pd.DataFrame, log: bool) -> None:
    """The x axis of the speeds of some rows and their intervals, from 0 unless it is logarithmic."""
    figures = [value for column in ("mb_s", "mb_s_low", "mb_s_high") for value in own[column].dropna()] or [0.0, 1.0]
    scale(axes, "x", min(figures) / 1.3 if log else 0, max(figures) * (1.15 if log else 1.04) or 1, log=log)


def ranked(table: pd.DataFrame) -> list[str]:
    """Engines by the median of their speeds, fastest first; those without a speed last, as they came."""
    order = table.groupby("engine", sort=False)["mb_s"].median().sort_values(ascending=False, kind="stable")
    return [str(engine) for engine in order.index]


def place(where: list[Any]) -> str:
    """Vocabulary, entry point, state and threads in words."""
    vocab, entry, state, threads = where
    words = [str(word) for word in (vocab, entry, state) if word]
    return ", ".join([*words, *([f"{threads} threads"] if threads != 1 else [])])


def _row(axes: Axes, y: int, text: str, engine: str, row: Any, log: bool) -> None:
    if row["verdict"] != EXACT or row["mb_s"] != row["mb_s"]:
        absent(axes, y, text, engine, str(row["verdict"]))
        return
    colour, value, edges = (BLUE if row["ours"] else SKY), row["mb_s"], (row["mb_s_low"], row["mb_s_high"])
    if log:
        axes.plot(
            [value], [y], "D" if row["ours"] else "o", color=colour, mec=INK, mew=0.7, ms=6, zorder=5,
            gid=gid("dot", text, engine),
        )
    else:
        axes.add_patch(Rectangle((0, y - 0.32), value, 0.64, fc=colour, ec=INK, lw=0.6, gid=gid("bar", text, engine)))
    whisker(axes, y, *edges)
    beside(axes, y, figure(value))


def whisker(axes: Axes, y: float, low: float, high: float) -> None:
    """An interval on a row; nothing where there is none."""
    if low == low and high == high:
        gap, half = math.nan, 0.13
        x, heights = [low, low, gap, low, high, gap, high, high], [-half, half, gap, 0, 0, gap, -half, half]
        axes.plot([low, high], [y, y], color=PAPER, lw=2.6, zorder=3.5, solid_capstyle="butt")
        axes.plot(x, [y + at for at in heights], color=INK, lw=1.1, zorder=4, solid_capstyle="butt")


def absent(axes: Axes, y: float, text: str, engine: str, verdict: str, high: float = 0.64) -> None:
    """What stands where a speed would: a hatched mark of fixed width, `high` rows high, and the word."""
    axes.add_patch(
        Rectangle(
            (0.005, y - high / 2), 0.07, high, fc=PAPER, ec=INK, lw=0.6, hatch=hatch(verdict), zorder=3,
            transform=axes.get_yaxis_transform(), gid=gid("absent", text, engine),
        )
    )
    axes.annotate(
        verdict, (0.095, y), xycoords=("axes fraction", "data"), fontsize=SMALL, color=INK, va="center_baseline"
    )


def caption(table: pd.DataFrame, texts: list[str], logs: list[str]) -> str:
    """The first on each text and by how much, and what has no speed."""
    said = []
    for text in texts:
        own = table[table["text"].eq(text) & table["mb_s"].notna()].sort_values("mb_s", ascending=False, kind="stable")
        if own.empty:
            said.append(f"On {text} no engine has a speed.")
            continue
        first = own.iloc[0]
        sentence = f"On {text}, {first['engine']} gives {speed(first)}"
        if len(own) > 1:
            second = own.iloc[1]
            sentence += f"; next is {second['engine']} with {speed(second)}{against(first, second)}"
        said.append(sentence + ".")
    others = table[~table["verdict"].eq(EXACT)]["verdict"].value_counts()
    if len(others):
        words = ", ".join(f"{count} {verdict}" for verdict, count in sorted(others.items()))
        said.append(f"{int(others.sum())} of {len(table)} cells have no speed: {words}.")
    else:
        said.append(f"All {len(table)} cells were verified.")
    if len(texts) > 1:
        said.append("Each text has an axis of its own.")
    if logs:
        said.append(f"The axis of {listed(logs)} is logarithmic, so speeds there are dots and not bars.")
    if table["ours"].any():
        said.append(f"{OURS} marks an engine of this project.")
    return " ".join(said)


def against(first: Any, second: Any) -> str:
    """How the first compares with the second: by the ratio that the bench has of the two, paired by round, or else by
    their speeds and intervals."""
    if first["ratio_to"] == second["engine"] and first["ratio"] == first["ratio"]:
        low, high, resolved = first["ratio_low"], first["ratio_high"], first["resolved"]
        apart = bool(low > 1 or high < 1)
        words = f"; the ratio is {interval(first['ratio'], low, high)}"
        if apart and resolved is not None and resolved == resolved and not resolved:
            return words + ", of too few rounds to tell them apart"
    else:
        apart = not first["mb_s_low"] <= second["mb_s_high"]
        words = f"; the quotient of the medians is {first['mb_s'] / second['mb_s']:.2f}"
    return words if apart else words + ", so that which is faster is not resolvable"


def speed(row: Any) -> str:
    """`421 MB/s (401–461)`."""
    words = interval(row["mb_s"], row["mb_s_low"], row["mb_s_high"]).split(" ", 1)
    return " ".join([words[0], "MB/s", *words[1:]])
