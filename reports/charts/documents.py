"""Speed over the size of documents: one text, cut into documents of 16 bytes to 64 kB."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from tokassay.reports.charts.chart import Chart, NoData, frame, one, slug, styled
from tokassay.reports.charts.series import Curve, curves
from tokassay.reports.charts.style import EXACT, figure, interval, name_of, size
from tokassay.reports.charts.throughput import place, ranked

NAME = "documents"


@styled()
def documents(found: pd.DataFrame | Iterable[dict[str, Any]]) -> Chart:
    """Rows of one vocabulary, entry point, state and number of threads: `text`, `engine`, `verdict`, `mb_s`, `bytes`,
    `documents` and, if there are, `mb_s_low`, `mb_s_high`, `ours` and the four. A document's size is the mean of its
    cell: bytes over documents. Raises NoData, ReportError."""
    table = frame(
        found, NAME, "text", "engine", "verdict", "mb_s", "bytes", "documents", vocab="", entry="", state="",
        threads=1, ours=False, mb_s_low=None, mb_s_high=None,
    )
    where = [one(table, column, NAME) for column in ("vocab", "entry", "state", "threads")]
    table["size"] = table["bytes"] / table["documents"]
    lost = table[~table["verdict"].eq(EXACT)]
    table = table[table["verdict"].eq(EXACT)].copy()
    for column in ("mb_s", "mb_s_low", "mb_s_high"):
        table[column] = pd.to_numeric(table[column])
    if table["size"].nunique() < 2:
        raise NoData("documents of two sizes at least have to be measured (bench --text docs-16,docs-256,...)")
    engines = ranked(table)
    lines, said = [], []
    for engine in engines:
        own = table[table["engine"].eq(engine)].sort_values("size")
        name = name_of(engine, bool(own["ours"].any()))
        lines.append(
            Curve(name, own["size"].tolist(), own["mb_s"].tolist(), own["mb_s_low"].tolist(), own["mb_s_high"].tolist())
        )
        first, last = own.iloc[0], own.iloc[-1]
        if len(own) > 1:
            said.append(
                f"{engine}: {_speed(first)} at {size(first['size'])} a document, "
                f"{_speed(last)} at {size(last['size'])}, "
                f"{figure(last['mb_s'] / first['mb_s'])} times."
            )
    if len(lost):
        words = ", ".join(f"{row['engine']} {row['verdict']} on {row['text']}" for _, row in lost.iterrows())
        said.append(f"Without a speed: {words}.")
    title = f"Speed over the size of documents: {place(where)}".rstrip(": ")
    made, _ = curves(
        title, [("", lines)], x_label="bytes of a document, mean (logarithmic)", x_log=True,
        y_label="MB of input a second", x_name=size,
    )
    kept = ["engine", "text", "size", "mb_s", "mb_s_low", "mb_s_high"]
    return Chart(
        slug(NAME, *where[:3], *([f"{where[3]} threads"] if where[3] != 1 else [])),
        title,
        "The same text, cut into documents of different sizes. " + " ".join(said),
        f"Lines: speed over document size for {len(engines)} engines, from {size(table['size'].min())} to "
        f"{size(table['size'].max())}.",
        pd.concat([table, lost])[[*kept, "verdict"]].reset_index(drop=True),
        made.figure,
    )


def _speed(row: Any) -> str:
    return interval(row["mb_s"], row["mb_s_low"], row["mb_s_high"]) + " MB/s"
