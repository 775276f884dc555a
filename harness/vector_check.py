"""Engines held to vectors. A known divergence that is gone fires like a new one, so that what is known stays true."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packaging.version import InvalidVersion, Version
from tokassay.engines.environments import installed
from tokassay.engines.roster import EngineSpec
from tokassay.harness.answers import Answer
from tokassay.harness.cases import load_for, vocabulary_of
from tokassay.harness.errors import AGREED, MISMATCH, NOTHING
from tokassay.harness.hosts import ORACLE, Target, find_spec, target
from tokassay.harness.load import Loaded, NotFetched
from tokassay.harness.probe import Probed, probe_all, within
from tokassay.harness.vectors import Recorded, Vector

MATCH, KNOWN, HEALED, CHANGED, DIFFER, UNSUPPORTED = "match", "known", "healed", "changed", "differ", "unsupported"
FIRES = (HEALED, CHANGED, DIFFER)
# An answer that is known not to come is waited for so long: time enough to see that it comes now.
LATE_S = 20.0
# How long one engine is asked: one that hangs on every long document would take an hour otherwise.
ENGINE_S = 300.0


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
    engine_s: float | None = ENGINE_S,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Checked]:
    """Every vector and engine, a row each. One host serves the vectors of one vocabulary and contract.

    `timeout_s` is the limit for one document, and `engine_s` for all of one engine (None: no limit); the oracle has
    its own. What is not asked for want of time, or of a vocabulary that is not fetched, is `unsupported`.
    """
    loaded: dict[str, Loaded | NotFetched] = {}
    groups: dict[tuple[str, str, str, str, float], list[tuple[Vector, Target]]] = {}
    rows: list[Checked] = []
    for vector in vectors:
        name = vocabulary_of(vector)
        if name not in loaded:
            try:
                loaded[name] = load_for(vector)
            except NotFetched as error:
                loaded[name] = error
        read = loaded[name]
        if isinstance(read, NotFetched):
            for engine in engines:
                spec = find_spec(re.split("[:@]", engine)[0], roster, where="tokassay vectors")
                reason = f"{read}: {read.remedy}"
                rows.append(Checked(vector, spec.name, spec.pinned, UNSUPPORTED, reason=reason))
            continue
        asked = vector.asked_of(read.contract)
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
    spent: dict[str, float] = {}
    # Short documents first: what an engine has no time for is then what is long.
    for key in sorted(groups, key=lambda key: max(len(vector.document) for vector, _ in groups[key])):
        engine, name, _, operation, _ = key
        members = sorted(groups[key], key=lambda member: len(member[0].document))
        tell(f"{engine}, {name}: {len(members)} vectors")
        read, begun = loaded[name], time.monotonic()
        assert isinstance(read, Loaded)
        left = None if engine_s is None or engine == ORACLE else begun + engine_s - spent.get(engine, 0.0)
        documents = [vector.document for vector, _ in members]
        probed = probe_all(members[0][1], read, documents, roster=roster, operation=operation, deadline=left)
        spent[engine] = spent.get(engine, 0.0) + time.monotonic() - begun
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
