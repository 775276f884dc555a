"""Corpus volumes: bytes and documents of each corpus, by domain."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from tokassay.reports.charts.chart import Chart, NoData, frame, gid, styled
from tokassay.reports.charts.sheet import Key, Panel, names, rows, scale, sheet
from tokassay.reports.charts.style import BLUE, GREEN, GRID, INK, ORANGE, figure, logarithmic, size, tick
from tokassay.reports.words import DOMAINS, counted

NAME = "volumes"
MARKS = dict(zip(DOMAINS, ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^")), strict=True))
WORDS = {"neutral": "neutral", "unicode": "differs between Unicode versions", "bytes": "not well-formed UTF-8"}


@styled()
def volumes(found: pd.DataFrame | Iterable[dict[str, Any]]) -> Chart:
    """Rows `corpus`, `domain`, `bytes`, `documents`, one for each part of a corpus and domain; alike ones are added up.
    Raises NoData, ReportError."""
    table = frame(found, NAME, "corpus", "domain", "bytes", "documents")
    made = table.groupby(["corpus", "domain"], sort=False)[["bytes", "documents"]].sum().reset_index()
    made = made[made["documents"] > 0].reset_index(drop=True)
    if made.empty:
        raise NoData("no corpus has a document")
    totals = made.groupby("corpus", sort=False)[["bytes", "documents"]].sum().sort_values("bytes", ascending=False)
    corpora = [str(corpus) for corpus in totals.index]
    labels = names(corpora, 1.6)
    domains = [domain for domain in MARKS if made["domain"].eq(domain).any()]
    # A corpus of empty documents has no bytes, and no place on a logarithmic axis: it stands at its edge.
    logs = {what: logarithmic(made.loc[made[what] > 0, what]) for what in ("bytes", "documents")}
    height = max(labels.row, 0.1 * len(domains) + 0.06)
    panels = [
        Panel(height * len(corpora), what, x_label="logarithmic" if logs[what] else "")
        for what in ("bytes", "documents")
    ]
    drawn = sheet(
        "Volumes of the corpora", panels, left=labels.width, right=0.2,
        keys=[Key(WORDS[domain], *MARKS[domain]) for domain in domains],
    )
    for axes, what in zip(drawn.axes, ("bytes", "documents"), strict=True):
        rows(axes, labels)
        least = max(float(made.loc[made[what] > 0, what].min()) if (made[what] > 0).any() else 1.0, 1.0)
        scale(
            axes, "x", least / 2 if logs[what] else 0, max(float(made[what].max()), 1) * (1.6 if logs[what] else 1.05),
            log=logs[what], name=size if what == "bytes" else tick, most=4,
        )
        for y, corpus in enumerate(corpora):
            axes.axhline(y, color=GRID, lw=0.6, zorder=0)
            for number, domain in enumerate(domains):
                own = made[made["corpus"].eq(corpus) & made["domain"].eq(domain)]
                if len(own):
                    at = y + (number - (len(domains) - 1) / 2) * 0.16
                    value = max(float(own.iloc[0][what]), axes.get_xlim()[0])
                    axes.plot(
                        [value], [at], MARKS[domain][1], color=MARKS[domain][0], mec=INK, mew=0.6, ms=4.5, zorder=3,
                        gid=gid("dot", what, corpus, domain), clip_on=False,
                    )
    by_domain = made.groupby("domain")[["bytes", "documents"]].sum()
    caption = (
        f"{len(corpora)} corpora, {int(totals['documents'].sum()):,} documents, {size(float(totals['bytes'].sum()))}. "
        + "; ".join(
            f"{domain}: {counted(int(row['documents']), 'document')}, {size(float(row['bytes']))}"
            for domain, row in by_domain.loc[domains].iterrows()
        )
        + f". The largest is {corpora[0]} with {size(float(totals.iloc[0]['bytes']))}, "
        f"{figure(100 * float(totals.iloc[0]['bytes']) / max(float(totals['bytes'].sum()), 1))} % of all bytes."
    )
    return Chart(
        NAME, "Volumes of the corpora", caption,
        f"Dots: bytes and documents of {len(corpora)} corpora in {len(domains)} domains.", made, drawn.figure,
    )
