"""Divergences by stage: how many each engine has whose first differing decision is of that stage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from tokassay.reports.charts.chart import Chart, NoData, frame, styled
from tokassay.reports.charts.matrix import Square, matrix
from tokassay.reports.charts.style import ORANGE, OURS, listed, name_of, shade
from tokassay.reports.words import counted

NAME = "stages"
STAGES = ("special", "normalize", "scan", "classify", "pretokenize", "merge", "lookup")
UNTRACED = "not traced"


@styled()
def stages(found: pd.DataFrame | Iterable[dict[str, Any]]) -> Chart:
    """Rows of divergences: `engine`, `stage` ('' where none was found) and, if there are, `verdict`, `documents`,
    `ours`. Declared differences count apart. Raises NoData, ReportError."""
    table = frame(found, NAME, "engine", "stage", verdict="differ", documents=1, ours=False)
    table["stage"] = table["stage"].fillna("").replace("", UNTRACED)
    declared = table["verdict"].eq("declared")
    split = table.assign(declared=declared.astype(int), failing=(~declared).astype(int))
    made = (
        split.groupby(["engine", "stage"], sort=False)
        .agg(failing=("failing", "sum"), declared=("declared", "sum"), documents=("documents", "sum"))
        .reset_index()
    )
    if made.empty:
        raise NoData("there is no divergence")
    columns = [*STAGES, *sorted(set(made["stage"]) - {*STAGES, UNTRACED})]
    columns += [UNTRACED] if made["stage"].eq(UNTRACED).any() else []
    order = made.groupby("engine", sort=False)["failing"].sum().sort_values(ascending=False, kind="stable")
    engines = [str(engine) for engine in order.index]
    most = max(int(made["failing"].max()), 1)
    squares = {(engine, column): Square("·") for engine in engines for column in columns}
    for _, row in made.iterrows():
        failing, said = int(row["failing"]), int(row["declared"])
        text = (str(failing) if failing else "") + (f"({said})" if said else "")
        squares[str(row["engine"]), str(row["stage"])] = Square(
            text, shade(0.25 + 0.55 * failing / most, ORANGE) if failing else None
        )
    ours = {str(engine) for engine in table.loc[table["ours"].astype(bool), "engine"]}
    title = "Divergences by stage"
    drawn = matrix(
        title, engines, columns, squares, shown={e: name_of(e, e in ours) for e in engines},
        heading="divergences; declared ones in brackets",
    )
    totals = made.groupby("stage", sort=False)[["failing", "declared"]].sum()
    words = [
        f"{int(totals.loc[s, 'failing'])} at {s}" if s != UNTRACED else f"{int(totals.loc[s, 'failing'])} not traced"
        for s in columns
        if s in totals.index and totals.loc[s, "failing"]
    ]
    fails, said_so = int(totals["failing"].sum()), int(totals["declared"].sum())
    whose = f"{counted(fails, 'divergence')} of {counted(int((order > 0).sum()), 'engine')}"
    caption = [whose + (f": {listed(words)}." if words else ".")]
    if said_so:
        caption.append(f"{counted(said_so, 'more difference')} declared.")
    if order.iloc[0]:
        caption.append(f"{order.index[0]} has the most, {int(order.iloc[0])}.")
    if ours:
        caption.append(f"{OURS} marks an engine of this project.")
    return Chart(
        NAME, title, " ".join(caption),
        f"Squares: {len(engines)} engines by {len(columns)} stages; {fails} divergences and {said_so} declared.", made,
        drawn.figure,
    )
