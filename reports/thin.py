"""A bench whose builds were proved on less than a gate suite has: what stands beside its figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokassay.reports.visible import visible
from tokassay.reports.words import listed


def thin(report: Mapping[str, Any]) -> str:
    """One sentence on the report of a bench whose suite lacks kinds of documents that a gate suite has; "" for others,
    and for reports that are older than the field."""
    gate = report.get("gate") or {}
    if not gate.get("lacks"):
        return ""
    lacks = listed([str(kind) for kind in gate["lacks"]])
    suite = visible(str(gate["suite"]))
    return f"Checked on the suite {suite} only, which lacks {lacks}, or has few of them: no ranking is made of it."
