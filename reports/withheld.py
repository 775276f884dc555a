"""A bench's report as it may be shown: a speed stands only where the report itself says that the ids were right.

Bench writes no other; a file and a row of a store can be edited. Every reader of reports goes through here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

EXACT = "exact"
FIGURES = ("mb_s", "wall_mb_s", "ns_call", "ratio", "ratio_to")
TIMES = ("cpu_ns", "ns")


def withheld(report: Mapping[str, Any]) -> dict[str, Any]:
    """The report without figures of rows that are not exact, or that are and whose gate suite was not passed; these
    become `void`. Where anything was taken away, `ranking` and `means`, which are made of the figures, are too."""
    failed = {
        (one.get("engine"), one.get("vocab"), one.get("entry"), one.get("threads", 1), one.get("domain"))
        for one in report.get("proofs") or () if not one.get("passed")
    }
    taken, cells = False, []
    for cell in report.get("cells") or ():
        rows = []
        for row in cell.get("engines") or ():
            place = (row["engine"], cell.get("asked"), cell.get("entry"), cell.get("threads", 1), cell.get("domain"))
            proved = row.get("proved", cell.get("domain")) == cell.get("domain") and place not in failed
            if row["verdict"] == EXACT and not proved:
                row = {**row, "verdict": "void", "detail": "the report has no passed proof for it"}
            if row["verdict"] != EXACT and any(row.get(name) for name in (*FIGURES, *TIMES)):
                taken = True
                row = {**row, **{name: None for name in FIGURES if name in row}, **{n: [] for n in TIMES if n in row}}
            rows.append(row)
        cells.append({**cell, "engines": rows})
    if not taken:
        return dict(report)
    for cell in cells:  # nor is a ratio to what has no speed
        void = {row["engine"] for row in cell["engines"] if row["verdict"] != EXACT}
        cell["engines"] = [
            {**row, "ratio": None, "ratio_to": None} if row.get("ratio_to") in void else row for row in cell["engines"]
        ]
    made = [name for name in ("ranking", "means") if name in report]
    return {**report, "cells": cells, **{name: [] for name in made}}
