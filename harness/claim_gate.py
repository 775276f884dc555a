"""The check before any speed of a claim is believed: the gate suite, on the claim's engine and vocabularies.

It is an ordinary audit into the given store, so that what was asked before is not asked again.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokassay.harness.audit import Progress, Request, audit
from tokassay.harness.claims import Claim
from tokassay.harness.divergences import FAILED
from tokassay.harness.domains import DOMAINS
from tokassay.harness.store import Store
from tokassay.harness.suites import CorpusRequest, Suite, load_suite

SUITE = "gate"
SHOWN = 12  # divergences that a claim's page names; the rest are counted


def run_gate(
    claim: Claim, vocabularies: Sequence[str], *, store: Path, roster: tuple[Path, ...], jobs: int, progress: Progress
) -> dict[str, Any]:
    """Audit the claim's engine: `passed` (no document failed in the neutral domain), `documents`, `failed`, by domain
    in `verdicts`, `divergences`, `run`, `corpora` and `command`. Raises InputError and OracleFailure."""
    assert claim.here is not None
    suite = suite_of(claim, vocabularies)
    request = Request(suite, store, command_of(claim, suite, roster), roster=roster, jobs=jobs, narrowed_from=SUITE)
    outcome = audit(request, progress)
    return {
        "run": outcome.run, "corpora": [one.spec for one in suite.corpora], "command": request.command,
        **found(store, outcome.run, claim.here.engine),
    }


def suite_of(claim: Claim, vocabularies: Sequence[str]) -> Suite:
    """The gate suite for this engine, or the corpora that the claim's file names in place of it."""
    assert claim.here is not None
    whole = load_suite(SUITE)
    corpora = tuple(CorpusRequest(spec, ("encode",), ("off",)) for spec in claim.here.gate) or tuple(
        replace(one, specials=("off",)) for one in whole.corpora
    )
    return replace(whole, vocabularies=tuple(vocabularies), engines=(claim.here.engine,), corpora=corpora, chosen=True)


def command_of(claim: Claim, suite: Suite, roster: Sequence[Path]) -> str:
    """The audit that does the same."""
    assert claim.here is not None
    words = ["tokassay", "audit", "--suite", SUITE, "--engine", claim.here.engine]
    words += [word for name in suite.vocabularies for word in ("--vocab", name)]
    if claim.here.gate:
        words += [word for one in suite.corpora for word in ("--corpus", one.spec)] + ["--operation", "encode"]
    return shlex.join([*words, "--specials", "off", *(word for path in roster for word in ("--roster", str(path)))])


def found(store: Path, run: str, engine: str) -> dict[str, Any]:
    """What the run's rows say of an engine."""
    opened = Store(store)
    try:
        rows = opened.db.execute(
            "SELECT domain, verdict, SUM(documents) FROM v_verdict WHERE run = ? AND engine = ? GROUP BY 1, 2",
            (run, engine),
        ).fetchall()
        names = (
            "verdict", "contract", "against", "operation", "corpus", "domain", "documents", "first", "input", "token",
            "got", "expected", "stage", "explanation", "command",
        )
        divergences = [
            dict(zip(names, row, strict=True))
            for row in opened.db.execute(
                f"SELECT {', '.join(names)} FROM v_divergence WHERE run = ? AND engine = ? ORDER BY ordinal",
                (run, engine),
            )
        ]
    finally:
        opened.close()
    verdicts: dict[str, Counter[str]] = {domain: Counter() for domain in DOMAINS}
    for domain, verdict, documents in rows:
        verdicts[domain][verdict] += documents
    failing = [one for one in divergences if one["verdict"] in FAILED]
    failed = {domain: sum(counts[one] for one in FAILED) for domain, counts in verdicts.items()}
    return {
        "passed": not failed["neutral"] and bool(verdicts["neutral"]["match"]),
        "documents": sum(sum(counts.values()) for counts in verdicts.values()),
        "failed": failed,
        "verdicts": {domain: dict(counts) for domain, counts in verdicts.items() if counts},
        "more": max(0, len(failing) - SHOWN),
        "divergences": [_divergence(one) for one in failing[:SHOWN]],
    }


def _divergence(row: dict[str, Any]) -> dict[str, Any]:
    got, expected = (json.loads(row[name]) for name in ("got", "expected"))
    return {
        "where": f"gate, {row['corpus']}", "vocabulary": row["contract"], "domain": row["domain"],
        "explanation": row["explanation"], "command": row["command"], "verdict": row["verdict"],
        "against": row["against"], "operation": row["operation"], "documents": row["documents"], "first": row["first"],
        "input": row["input"], "token": row["token"], "got": got, "expected": expected, "stage": row["stage"],
    }
