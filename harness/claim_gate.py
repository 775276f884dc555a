"""The check before any speed of a claim is believed, in two parts, both kept in the store.

*Proofs* are bench's own: engine and baselines pass its gate suite by the entry point that is timed, or have no speed.
They are made here first, so that what they take is not taken for the time of a text. An *audit* of the engine on the
short corpora of the gate finds what it does wrong in every domain, with bytes, ids and a command for each.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tokassay.engines.roster import load_roster
from tokassay.harness.audit import Progress, Request, audit
from tokassay.harness.bench import contestant
from tokassay.harness.claims import Claim
from tokassay.harness.divergences import FAILED
from tokassay.harness.domains import DOMAINS
from tokassay.harness.load import Loaded
from tokassay.harness.proof import Gate
from tokassay.harness.store import Store
from tokassay.harness.suites import CorpusRequest, Suite, load_suite

SHOWN = 12  # divergences that a claim's page names; the rest are counted


def prove(
    claim: Claim, vocabularies: Mapping[str, Loaded], *, suite: str, store: Path, roster: tuple[Path, ...],
    say: Callable[[str], None],
) -> None:
    """Ask for the proofs that bench will ask for, so that it finds them in the store. InputError for no such suite."""
    assert claim.here is not None
    engines = load_roster(*roster)
    kept = Store(store)
    more = [word for path in roster for word in ("--roster", str(path))]
    gate = Gate(kept, engines, load_suite(suite), diff=more)
    with closing(kept), closing(gate):
        for asked, loaded in vocabularies.items():
            for name in claim.engines:
                who = contestant(name, engines)
                if loaded.contract.algorithm in who.spec.algorithms:
                    say(f"proving {name} on the gate suite, {loaded.name}, {claim.here.entry}")
                    gate.prove(who, asked, loaded, claim.here.entry, claim.here.threads)


def run_audit(
    claim: Claim, vocabularies: Sequence[str], *, store: Path, roster: tuple[Path, ...], jobs: int, progress: Progress
) -> dict[str, Any]:
    """Audit the claim's engine: `passed` (no document failed in the neutral domain), `documents`, `failed`, by domain
    in `verdicts`, `divergences`, `more` that are not among them, `run`, `corpora` and `command`. Raises InputError and
    OracleFailure."""
    assert claim.here is not None
    suite = suite_of(claim, vocabularies)
    request = Request(suite, store, command_of(claim, suite, roster), roster=roster, jobs=jobs)
    outcome = audit(request, progress)
    return {
        "run": outcome.run, "corpora": [one.spec for one in suite.corpora], "command": request.command,
        **found(store, outcome.run, claim.here.engine),
    }


def suite_of(claim: Claim, vocabularies: Sequence[str]) -> Suite:
    """The claim's corpora for its engine alone."""
    assert claim.here is not None
    corpora = tuple(CorpusRequest(spec, ("encode",), ("off",)) for spec in claim.here.audit)
    return Suite("claim", claim.summary, tuple(vocabularies), (claim.here.engine,), corpora)


def command_of(claim: Claim, suite: Suite, roster: Sequence[Path]) -> str:
    """The audit that does the same."""
    assert claim.here is not None
    words = ["tokassay", "audit", "--engine", claim.here.engine]
    words += [word for name in suite.vocabularies for word in ("--vocab", name)]
    words += [word for one in suite.corpora for word in ("--corpus", one.spec)]
    more = [word for path in roster for word in ("--roster", str(path))]
    return shlex.join([*words, "--operation", "encode", "--specials", "off", *more])


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
        "where": f"audit, {row['corpus']}", "vocabulary": row["contract"], "domain": row["domain"],
        "explanation": row["explanation"], "command": row["command"], "verdict": row["verdict"],
        "against": row["against"], "operation": row["operation"], "documents": row["documents"], "first": row["first"],
        "input": row["input"], "token": row["token"], "got": got, "expected": expected, "stage": row["stage"],
    }
