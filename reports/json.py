"""The one object that `--json` of audit and report prints; its schema is templates/audit.schema.json."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from tokassay.reports.matrix import to_json
from tokassay.reports.read import Frames
from tokassay.reports.tables import Divergence, Minimal, Tables, build
from tokassay.reports.words import VERDICTS

SCHEMA = "tokassay.audit/1"


def schema(name: str = "audit") -> str:
    """The JSON Schema (draft 2020-12) of the object that `audit`, `bench` or `claim` prints, as text."""
    return files("tokassay.reports").joinpath(f"templates/{name}.schema.json").read_text(encoding="utf-8")


def _nonzero(counts: dict[str, int]) -> dict[str, int]:
    return {verdict: count for verdict, count in counts.items() if count}


def _divergence(found: Divergence) -> dict[str, Any]:
    names = (
        "ordinal",
        "signature",
        "verdict",
        "contract",
        "engine",
        "against",
        "operation",
        "corpus",
        "domain",
        "documents",
        "first",
    )
    return {
        **{name: getattr(found, name) for name in names},
        "input": found.data.hex(),
        "token": found.token,
        "got": found.got,
        "expected": found.expected,
        "stage": found.stage,
        "explanation": found.explanation,
        "command": found.command,
        "minimal": None if found.minimal is None else _minimal(found.minimal),
    }


def _minimal(found: Minimal) -> dict[str, Any]:
    names = ("outcome", "stage", "explanation", "changes", "got", "expected", "tries", "seconds", "complete", "command")
    values = {name: getattr(found, name) for name in names}
    return {"input": found.data.hex(), "from_bytes": found.size, "like": found.like, **values}


def audit_object(frames: Frames, report: Sequence[Path] = (), tables: Tables | None = None) -> dict[str, Any]:
    """A run as plain JSON values. `report` are the files written for it; `tables` saves deriving them again.

    Counts that are zero are left out of verdict objects. Times are nanoseconds, and no benchmark.
    """
    t = build(frames) if tables is None else tables
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in t.coverage.to_dict("records"):
        cells.setdefault((str(row["engine"]), str(row["version"])), []).append(
            {
                "contract": str(row["contract"]),
                "corpus": str(row["corpus"]),
                "domain": str(row["domain"]),
                "operation": str(row["operation"]),
                "documents": int(row["documents"]),
                "bytes": int(row["bytes"]),
                "blocks": int(row["blocks"]),
                "reused": int(row["reused"]),
                "verdicts": _nonzero({v: int(row[v]) for v in VERDICTS}),
                "command": t.command(row),
            }
        )
    return {
        "schema": SCHEMA,
        "run": str(t.run["id"]),
        "suite": str(t.run["suite"]),
        "seed": int(t.run["seed"]),
        "jobs": int(t.run["jobs"]),
        "command": str(t.run["command"]),
        "started": str(t.run["started"]),
        "finished": None if t.run["finished"] is None else str(t.run["finished"]),
        "tokassay": str(t.run["tokassay"]),
        "exit_code": t.run["exit_code"],
        "outcome": {
            "kind": t.banner.kind,
            "headline": t.banner.headline,
            "sentence": t.banner.sentence,
            "notes": t.banner.notes,
        },
        "sum_check": {
            "ok": t.check.ok,
            "expected": t.check.expected,
            "blocks": t.check.blocks,
            "counted": t.check.counted,
            "terms": t.check.terms,
            "problems": t.check.problems,
        },
        "verdicts": _nonzero(t.totals),
        "contracts": [
            {
                "name": c.name,
                "label": c.label,
                "digest": c.digest,
                "core_digest": c.core,
                "core": c.core_body,
                "variants": c.variants,
            }
            for c in t.contracts
        ],
        "engines": [
            {
                "name": e.name,
                "version": e.version,
                "requirement": e.requirement,
                "python": e.python,
                "platform": e.platform,
                "limits": e.limits,
                "contracts": e.contracts,
                "verdicts": _nonzero(e.totals),
                "corpora": {name: _nonzero(counts) for name, counts in e.corpora.items()},
                "cells": cells[(e.name, e.version)],
            }
            for e in t.engines
        ],
        "corpora": t.corpora,
        "matrix": to_json(t.matrix),
        "divergences": [_divergence(d) for d in sorted(t.failing + t.declared + t.folded, key=lambda d: d.ordinal)],
        "digests": [
            {
                **{
                    k: str(row[k])
                    for k in (
                        "contract",
                        "corpus",
                        "domain",
                        "operation",
                        "entry_point",
                        "modifiers",
                        "engine",
                        "state",
                    )
                },
                "blocks": int(row["blocks"]),
                "digest": str(row["digest"]),
                "expected": str(row["expected"]),
            }
            for row in t.digests.to_dict("records")
        ],
        "reasons": [vars(reason) for reason in t.reasons],
        "notes": t.notes,
        "times": [
            {
                "engine": str(row["engine"]),
                "operation": str(row["operation"]),
                "call_ns": int(row["call"]),
                "cpu_ns": int(row["cpu"]),
                "prepare_ns": int(row["prepare"]),
                "hash_ns": int(row["hash"]),
            }
            for row in t.times.to_dict("records")
        ],
        "environment": frames.run["environment"],
        "report": [str(path) for path in report],
    }
