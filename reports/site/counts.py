"""Verdicts as tables whose rows add up: what every document was answered with, by contract and operation."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from tokassay.reports.cells import in_order
from tokassay.reports.site.parts import Cell, Link, Table, table
from tokassay.reports.words import FAILING, VERDICTS


def verdicts(caption: str, cells: pd.DataFrame, by: str, page: Callable[[str], str]) -> Table:
    """A row for each `by` (engine or corpus), contract and operation: documents of all domains, and their verdicts.

    `page` says where the page of a `by` is. Verdicts that nobody gave have no column, but for match and differ.
    """
    shown = [verdict for verdict in VERDICTS if verdict in ("match", "differ") or int(cells[verdict].sum())]
    keys = [by, "label", "core", "version", "operation", "run", "page"]
    rows: list[tuple[Cell, ...]] = []
    if len(cells):
        added = cells.groupby(keys, sort=False, as_index=False)[["documents", *shown]].sum()
        for row in in_order(added, [by, "label", "core", "operation", "run"]).to_dict("records"):
            first = Link(str(row[by]), page(str(row[by])))
            told = (str(row["label"]), str(row["version"]), str(row["operation"]), int(row["documents"]))
            counts = (int(row[verdict]) for verdict in shown)
            rows.append((first, *told, *counts, Link(str(row["run"]), str(row["page"]))))
    columns = (by, "contract", "version", "operation", "documents", *shown, "run")
    alarms = [verdict for verdict in shown if verdict in FAILING]
    return table(caption, columns, rows, more=Link("every count", "downloads.html") if rows else None, alarms=alarms)
