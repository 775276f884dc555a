"""Engines held to vectors. A known divergence that is gone fires like a new one, so that what is known stays true."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packaging.version import InvalidVersion, Version
from tokassay.engines.environments import installed
from tokassay.engines.roster import EngineSpec
from tokassay.harness.answers import Answer
from tokassay.harness.cases import load_for, vocabulary_of
from tokassay.harness.errors import AGREED, MISMATCH, NOTHING
from tokassay.harness.hosts import ORACLE, Target, target
from tokassay.harness.load import Loaded
from tokassay.harness.probe import Probed, probe_all, within
from tokassay.harness.vectors import Recorded, Vector

MATCH, KNOWN, HEALED, CHANGED, DIFFER, UNSUPPORTED = "match", "known", "healed", "changed", "differ", "unsupported"
FIRES = (HEALED, CHANGED, DIFFER)
# An answer that is known not to come is waited for so long: time enough to see that it comes now.
LATE_S = 20.0


@dataclass(frozen=True)
class Checked:
    """One engine on one vector. `match` and `known` are as expected; `healed`, `changed` and `differ` fire."""

    vector: Vector
    engine: str
    version: str
    verdict: str
    answer: Answer | None = None
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "vector": self.vector.id, "engine": self.engine, "version": self.version, "verdict": self.verdict,
            "answer": None if self.answer is None else self.answer.to_json(), "reason": self.reason,
        }

    def told(self) -> str:
        """What there is to do, for a verdict that fires; else the reason."""
        got = "" if self.answer is None else self.answer.told()
        if self.verdict == HEALED:
            return f"now gives the right answer: tokassay vectors record {self.vector.id} {self.engine}"
        if self.verdict == CHANGED:
            return f"still wrong, but otherwise than recorded: {got}"
        return f"gives {got}, right is {self.vector.expected.told()}" if self.verdict == DIFFER else self.reason


def exit_code(rows: Sequence[Checked]) -> int:
    """1 where something fires, 4 where nothing was verified, else 0."""
    if any(row.verdict in FIRES for row in rows):
        return MISMATCH
    return AGREED if any(row.verdict != UNSUPPORTED for row in rows) else NOTHING


def usual(roster: Mapping[str, EngineSpec]) -> list[str]:
    """Who is asked where nobody is named: the oracle, and every engine that is installed at its pinned version."""
    return [ORACLE, *(name for name, spec in roster.items() if installed(spec))]


def check(
    vectors: Sequence[Vector],
    engines: Sequence[str],
    roster: Mapping[str, EngineSpec],
    *,
    timeout_s: float | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Checked]:
    """Every vector and engine, a row each. One host serves the vectors of one vocabulary and contract."""
    loaded: dict[str, Loaded] = {}
    groups: dict[tuple[str, str, str, str, float], list[tuple[Vector, Target]]] = {}
    rows: list[Checked] = []
    for vector in vectors:
        name = vocabulary_of(vector)
        if name not in loaded:
            loaded[name] = load_for(vector)
        asked = vector.asked_of(loaded[name].contract)
        for engine in engines:
            found = target(engine, asked, roster, where="tokassay vectors")
            known = expected_of(vector, found.spec.name, found.spec.pinned)
            late = known is not None and known.outcome == "timeout"
            found = within(found, min(timeout_s or LATE_S, LATE_S) if late else timeout_s)
            reason = vector.holds_for(found.contract)
            if vector.operation not in found.spec.operations:
                reason = f"the engine has no {vector.operation}"
            if not installed(found.spec):
                who = re.split("[:@]", engine)[0]  # with its version, where one was asked for
                reason = f"{who} is not installed; run: tokassay engines install {who}"
            if reason:
                rows.append(Checked(vector, found.spec.name, found.spec.pinned, UNSUPPORTED, reason=reason))
            else:
                key = engine, name, found.contract.digest, vector.operation, found.spec.timeout_s
                groups.setdefault(key, []).append((vector, found))
    for (engine, name, _, operation, _), members in groups.items():
        tell(f"{engine}, {name}: {len(members)} vectors")
        documents = [vector.document for vector, _ in members]
        probed = probe_all(members[0][1], loaded[name], documents, roster=roster, operation=operation)
        rows += [judged(vector, found, one) for (vector, found), one in zip(members, probed, strict=True)]
    order = {vector.id: n for n, vector in enumerate(vectors)}
    return sorted(rows, key=lambda row: (order[row.vector.id], row.engine, row.version))


def judged(vector: Vector, engine: Target, probed: Probed) -> Checked:
    """The verdict on an answer: by the vector, and by what is recorded of this engine up to this version."""
    name = engine.spec.name
    version = engine.spec.pinned or probed.says
    if probed.answer is None:
        return Checked(vector, name, version, UNSUPPORTED, reason=probed.reason)
    last = expected_of(vector, name, version)
    right = vector.right(probed.answer)
    if last is None or vector.right(last):
        verdict = MATCH if right else DIFFER
    else:
        verdict = HEALED if right else KNOWN if last.same(probed.answer) else CHANGED
    return Checked(vector, name, version, verdict, probed.answer)


def expected_of(vector: Vector, engine: str, version: str) -> Answer | None:
    """The newest recorded answer up to this version; None where there is none."""
    try:
        limit = Version(version)
    except InvalidVersion:
        return None
    before: list[Recorded] = [one for one in vector.of(engine) if Version(one.version) <= limit]
    return before[-1].answer if before else None
