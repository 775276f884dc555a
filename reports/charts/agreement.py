"""Agreement against speed: engines that give other ids than the reference, how often, and how fast."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from tokassay.reports.charts.chart import Chart, NoData, frame, gid, one, slug, styled
from tokassay.reports.charts.series import reach
from tokassay.reports.charts.sheet import Key, Panel, scale, sheet, width
from tokassay.reports.charts.style import INK, MARKERS, OURS, SERIES, figure, interval, logarithmic, name_of, tick

NAME = "agreement"
SHARES = {"documents": "documents with the reference's ids", "boundaries": "the reference's token ends that are kept"}


@styled()
def agreement(found: pd.DataFrame | Iterable[dict[str, Any]]) -> Chart:
    """Rows of one corpus: `engine`, `mb_s`, `documents` or `boundaries` or both (shares equal to the reference's, 0 to
    1), and if there are `mb_s_low`, `mb_s_high`, `reference`, `corpus`, `ours`. Speeds here are of ids that differ:
    no benchmark, and said so. Raises NoData, ReportError."""
    table = frame(
        found, NAME, "engine", "mb_s", mb_s_low=None, mb_s_high=None, documents=None, boundaries=None,
        reference="the reference", corpus="", ours=False,
    )
    for column in ("mb_s", "mb_s_low", "mb_s_high", *SHARES):
        table[column] = pd.to_numeric(table[column])
    shares = [share for share in SHARES if (table[share].notna() & table["mb_s"].notna()).any()]
    if not shares:
        raise NoData("no engine has both a speed and a share that is equal")
    reference, corpus = str(one(table, "reference", NAME)), str(one(table, "corpus", NAME))
    table = table.sort_values("mb_s", ascending=False, kind="stable").reset_index(drop=True)
    values = [value for column in ("mb_s", "mb_s_low", "mb_s_high") for value in table[column].dropna()]
    log = logarithmic(values)
    bottom, top = reach(values, log)
    title = "Agreement against speed" + (f": {corpus}" if corpus else "")
    looks = [(SERIES[at % len(SERIES)], MARKERS[at % len(MARKERS)]) for at in range(len(table))]
    shown = [name_of(str(row["engine"]), bool(row["ours"])) for _, row in table.iterrows()]
    made = sheet(
        title,
        [
            Panel(
                2.1, "MB of input a second" + (" (logarithmic)" if log else ""), x_label=f"per cent of {SHARES[share]}"
            )
            for share in shares
        ],
        left=width([tick(value) for value in (bottom, top, 100, 500)]) + 0.12,
        right=0.16,
        keys=[Key(name, *look) for name, look in zip(shown, looks, strict=True)],
    )
    for share, axes in zip(shares, made.axes, strict=True):
        least = float(table[share].min())
        scale(
            axes, "x", 0 if least < 0.5 else 100 * least - 100 * (1 - least) * 0.1 - 0.2,
            103 if least < 0.5 else 100 + max(100 * (1 - least) * 0.1, 0.2), log=False,
        )
        scale(axes, "y", bottom, top, log=log)
        for look, (_, row) in zip(looks, table.iterrows(), strict=True):
            if row[share] == row[share] and row["mb_s"] == row["mb_s"]:
                x = 100 * row[share]
                if row["mb_s_low"] == row["mb_s_low"]:
                    axes.plot(
                        [x, x], [row["mb_s_low"], row["mb_s_high"]], color=INK, lw=1.0, marker="_", ms=4, zorder=2.5
                    )
                axes.plot(
                    [x], [row["mb_s"]], look[1], color=look[0], mec=INK, mew=0.7, ms=7, zorder=3, clip_on=False,
                    gid=gid("dot", share, row["engine"]),
                )
    said = []
    for _, row in table.iterrows():
        words = [f"{percent(row[share])} % of {share}" for share in shares if row[share] == row[share]]
        if words and row["mb_s"] == row["mb_s"]:
            speed = interval(row["mb_s"], row["mb_s_low"], row["mb_s_high"])
            told = "the reference" if row["engine"] == reference else f"{' and '.join(words)} as {reference} has them"
            said.append(f"{row['engine']}: {told}, at {speed} MB/s.")
    said.append("A speed of ids that differ is of other work, and ranks nothing.")
    if table["ours"].any():
        said.append(f"{OURS} marks an engine of this project.")
    return Chart(
        slug(NAME, corpus) if corpus else NAME, title, " ".join(said),
        f"Dots: speed of {len(table)} engines over the share of {' and of '.join(shares)} equal to {reference}'s.",
        table[["engine", "mb_s", "mb_s_low", "mb_s_high", *shares]], made.figure,
    )


def percent(share: float) -> str:
    """A share in per cent; 100 only where all are equal."""
    return "100" if share == 1 else figure(min(100 * share, 99.9)) if share < 0.999 else f"{int(share * 100000) / 1000}"
