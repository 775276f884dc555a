"""Trends over nights: speeds of each cell, and verdicts of each run, with the steps marked."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Any

import pandas as pd
from tokassay.reports.charts.chart import Chart, NoData, frame, gid, styled
from tokassay.reports.charts.series import Curve, curves, draw, parts, reach
from tokassay.reports.charts.sheet import Panel, scale, sheet, width
from tokassay.reports.charts.style import INK, figure, interval, name_of
from tokassay.reports.words import VERDICTS

NAME, VERDICTS_NAME = "trend", "trend-verdicts"
DAY = 86400.0
Step = tuple[str, str, str]  # started, engine, cell


@styled()
def trend(
    found: pd.DataFrame | Iterable[dict[str, Any]], steps: Collection[Step] | None = None, *, unit: str = "MB/s"
) -> Chart:
    """Rows `started` (ISO 8601), `engine`, `cell`, `value`, `low`, `high`, one a run; `steps` are the rows at which a
    step was found. None: those whose interval does not meet that of the run before. Raises NoData, ReportError."""
    table = frame(found, NAME, "started", "engine", "cell", "value", low=None, high=None, ours=False)
    for column in ("value", "low", "high"):
        table[column] = pd.to_numeric(table[column])
    table = table[table["value"].notna()].sort_values("started", kind="stable").reset_index(drop=True)
    if table["started"].nunique() < 2:
        raise NoData("two runs at least have to be measured")
    table["at"] = [day(started) for started in table["started"]]
    table["step"] = (
        _apart(table)
        if steps is None
        else [(row["started"], row["engine"], row["cell"]) in set(steps) for _, row in table.iterrows()]
    )
    groups, said = [], []
    for cell in dict.fromkeys(table["cell"]):
        own = table[table["cell"].eq(cell)]
        order = own.groupby("engine", sort=False)["value"].last().sort_values(ascending=False)
        lines = []
        for engine in order.index:
            line = own[own["engine"].eq(engine)]
            lines.append(
                Curve(
                    name_of(str(engine), bool(line["ours"].any())), line["at"].tolist(), line["value"].tolist(),
                    line["low"].tolist(), line["high"].tolist(),
                )
            )
            for place in range(1, len(line)):
                row, before = line.iloc[place], line.iloc[place - 1]
                if row["step"]:
                    said.append(
                        f"{engine}, {cell}: a step on {row['started'][:10]} from "
                        f"{interval(before['value'], before['low'], before['high'])} to "
                        f"{interval(row['value'], row['low'], row['high'])} {unit}, "
                        f"{figure(row['value'] / before['value'])} times."
                    )
        groups.append((str(cell), lines))
    runs = table["started"].nunique()
    head = (
        f"{runs} runs from {table['started'].min()[:10]} to {table['started'].max()[:10]}, "
        f"{len(table.groupby(['engine', 'cell']))} series."
    )
    made, panels = curves(
        "Speed over runs", groups, x_label="day of the run; triangle and ring: a step", y_label=unit, x_log=False,
        x_name=date, x_places=_places(table["at"]),
    )
    labels = [name_of(str(engine), bool(ours)) for engine, ours in zip(table["engine"], table["ours"], strict=True)]
    stepped = table.assign(label=labels)[table["step"]]
    cells = [cell for cell, lines in groups for _ in parts(len(lines))]
    for cell, (axes, _, drawn) in zip(cells, panels, strict=True):
        top = axes.get_ylim()[1]
        here = stepped[stepped["cell"].astype(str).eq(cell) & stepped["label"].isin([curve.name for curve in drawn])]
        for _, row in here.iterrows():
            axes.axvline(row["at"], color=INK, lw=0.9, ls=(0, (3, 2)), zorder=1)
            axes.plot([row["at"]], [row["value"]], "o", mfc="none", mec=INK, mew=1.3, ms=11, zorder=6)
            axes.plot(
                [row["at"]], [top], "v", color=INK, ms=7, clip_on=False, zorder=6,
                gid=gid("step", cell, row["engine"], row["started"]),
            )
    if not said:
        said.append("No step was found.")
    return Chart(
        NAME, "Speed over runs", " ".join([head, *said]),
        f"Lines: {unit} over {runs} runs in {len(groups)} cells, {int(table['step'].sum())} steps marked.",
        table[["started", "engine", "cell", "value", "low", "high", "step"]], made.figure,
    )


@styled()
def trend_verdicts(found: pd.DataFrame | Iterable[dict[str, Any]]) -> Chart:
    """Rows `started`, `verdict`, `documents` (alike ones are added up): a panel a verdict, as counts differ by powers
    of ten. Raises NoData, ReportError."""
    table = frame(found, VERDICTS_NAME, "started", "verdict", "documents")
    made = table.groupby(["started", "verdict"])["documents"].sum().unstack(fill_value=0).sort_index()
    if len(made) < 2:
        raise NoData("two runs at least have to be in the store")
    xs = [day(str(started)) for started in made.index]
    nothing = [float("nan")] * len(xs)
    found_verdicts = [v for v in VERDICTS if v in made and made[v].any()]
    most = float(made[found_verdicts].to_numpy().max())
    drawn = sheet(
        "Verdicts over runs", [Panel(0.75, verdict) for verdict in found_verdicts],
        left=width([f"{most * 1.2:,.0f}", "100"]) + 0.12, right=0.36,
    )
    for verdict, axes in zip(found_verdicts, drawn.axes, strict=True):
        scale(
            axes, "y", *reach([0.0, float(made[verdict].max())], False), log=False, most=3,
            name=lambda value: f"{value:,.0f}" if value == round(value) else "",
        )
        room = (max(xs) - min(xs)) * 0.04 or 0.5
        axes.set_xlim(min(xs) - room, max(xs) + room)
        places = _places(pd.Series(xs))
        axes.set_xticks(places, [date(value) for value in places])
        draw(axes, 0, Curve(verdict, xs, [float(v) for v in made[verdict]], nothing, nothing))
    first, last = made.iloc[0], made.iloc[-1]
    said = [f"{v}: {int(first[v]):,} in the first run, {int(last[v]):,} in the last." for v in found_verdicts]
    long = made[found_verdicts].reset_index().melt("started", var_name="verdict", value_name="documents")
    return Chart(
        VERDICTS_NAME, "Verdicts over runs",
        f"{len(made)} runs from {str(made.index[0])[:10]} to {str(made.index[-1])[:10]}. " + " ".join(said),
        f"A line a verdict over {len(made)} runs: {', '.join(found_verdicts)}.", long, drawn.figure,
    )


def _apart(table: pd.DataFrame) -> list[bool]:
    """Whether the interval of a row does not meet that of the row before of its engine and cell."""
    before: dict[tuple[str, str], Any] = {}
    found = []
    for _, row in table.iterrows():
        key = (row["engine"], row["cell"])
        last = before.get(key)
        found.append(last is not None and bool(row["low"] > last["high"] or row["high"] < last["low"]))
        before[key] = row
    return found


def day(started: str) -> float:
    """Days since 1970 of a time in ISO 8601; UTC where it names no zone."""
    moment = datetime.fromisoformat(started.replace("Z", "+00:00"))
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() / DAY


def date(value: float) -> str:
    """The day of such a number: 2026-11-30."""
    return datetime.fromtimestamp(value * DAY, UTC).strftime("%Y-%m-%d")


def _places(values: pd.Series[float]) -> list[float]:
    """Days to be named at the axis: the first and the last, and one between if they are far apart."""
    low, high = float(values.min()), float(values.max())
    if date(low) == date(high):
        return [low]
    return [low, (low + high) / 2, high] if high - low >= 2 else [low, high]
