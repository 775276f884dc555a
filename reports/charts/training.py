"""Training time over the size of the corpus, and whether the merges are the reference's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from tokassay.reports.charts.chart import Chart, NoData, frame, styled
from tokassay.reports.charts.series import Curve, curves
from tokassay.reports.charts.sheet import Key
from tokassay.reports.charts.style import INK, figure, listed, logarithmic, size

NAME = "training"


@styled()
def training(found: pd.DataFrame | Iterable[dict[str, Any]]) -> Chart:
    """Rows `trainer`, `bytes` (of the corpus), `seconds`, `equal` (whether its merges are the reference's; None: not
    compared) and, if there are, `low`, `high` (seconds), `merges`. A point with other merges, or that was not compared,
    is hollow. Raises NoData, ReportError."""
    table = frame(found, NAME, "trainer", "bytes", "seconds", equal=None, low=None, high=None, merges=None)
    table = table[table["seconds"].notna()].reset_index(drop=True)
    if table.empty:
        raise NoData("nothing was trained")
    for column in ("seconds", "low", "high"):
        table[column] = pd.to_numeric(table[column])
    lines, said = [], []
    order = table.sort_values(["bytes", "seconds"]).groupby("trainer", sort=False)["seconds"].max().sort_values()
    for trainer in order.index:
        own = table[table["trainer"].eq(trainer)].sort_values("bytes").reset_index(drop=True)
        right = [value is True or value == 1 for value in own["equal"]]
        lines.append(
            Curve(
                str(trainer), own["bytes"].tolist(), own["seconds"].tolist(), own["low"].tolist(),
                own["high"].tolist(), frozenset(at for at, equal in enumerate(right) if not equal),
            )
        )
        last = own.iloc[-1]
        unknown = int(own["equal"].isna().sum())
        counts = ((len(right) - sum(right) - unknown, "with other merges"), (unknown, "not compared"))
        words = listed([f"{count} of {len(right)} {what}" for count, what in counts if count])
        words = words or "all with the reference's merges"
        said.append(f"{trainer}: {figure(last['seconds'])} s for {size(last['bytes'])}, {words}.")
    x_log = logarithmic(table["bytes"])
    made, _ = curves(
        "Training time", [("", lines)], x_label="bytes of the corpus" + (" (logarithmic)" if x_log else ""),
        y_label="seconds", x_name=size,
        keys=[Key("same merges", INK, "o"), Key("other merges, or not compared", INK, "o", hollow=True)],
    )
    return Chart(
        NAME, "Training time", " ".join(said),
        f"Lines: seconds of training over bytes of the corpus for {len(lines)} trainers.",
        table[["trainer", "bytes", "seconds", "low", "high", "equal"]], made.figure,
    )
