"""Two engines on one document: both answers and traces, where they part first, and what of a contract explains it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tokassay.engines.roster import EngineSpec
from tokassay.harness.cause import Change, changes
from tokassay.harness.contract import Contract
from tokassay.harness.differ import Difference, Side, difference, same
from tokassay.harness.errors import AGREED, MISMATCH, NOTHING
from tokassay.harness.hosts import Target, target
from tokassay.harness.load import Loaded
from tokassay.harness.question import Engines
from tokassay.harness.sidebyside import SideBySide, side_by_side, to_json
from tokassay.harness.sides import ask_side, stand_in


@dataclass(frozen=True)
class Compared:
    """What two targets did with a document. `found` is None where they gave the same, or where one cannot take part;
    `changes` are the single parts of a contract that would make their answers one."""

    document: bytes
    vocabulary: str
    targets: tuple[Target, Target]
    sides: tuple[Side, Side]
    stand_ins: tuple[Side | None, Side | None]
    found: Difference | None
    changes: tuple[Change, ...]

    @property
    def compared(self) -> bool:
        """Whether both took part."""
        return "unsupported" not in (self.sides[0].outcome, self.sides[1].outcome)

    @property
    def exit_code(self) -> int:
        """0 the same, 1 they differ, 4 nothing was compared."""
        return NOTHING if not self.compared else AGREED if same(*self.sides) else MISMATCH

    @cached_property
    def beside(self) -> SideBySide:
        """Both traces, aligned."""
        return side_by_side(self.document, *self.sides, self.stand_ins)

    def sentences(self, traces: bool = True) -> list[str]:
        """In words: the same or not, the first differing decision and how it is known, what would explain it by
        contract. With `traces`, a decision that differs though the ids are the same is told too."""
        if not self.compared:
            return ["nothing was compared: a side cannot take part"]
        if self.found is None:
            parted = self.beside.sentence if traces else ""
            stage = "" if self.beside.first is None else self.beside.pairs[self.beside.first].stage
            return [f"first differing decision, without effect: {stage}: {parted}", "same ids"] if parted else ["same"]
        known = self.found.known
        if self.found.through:
            known += f" through {' and '.join(self.found.through)}"
        told = [f"first differing decision ({known}): {self.found.stage}: {self.found.sentence}"]
        return told + [f"by contract: {change.sentence}" for change in self.changes]

    def to_json(self) -> dict[str, Any]:
        """The object of `trace --against --json`, without the command (docs/FORMATS.md)."""
        value = to_json(self.beside)
        for side, each in zip(value["sides"], self.targets, strict=True):
            side["contract"] = each.contract.digest
        return {
            **value,
            "vocabulary": self.vocabulary,
            "same": same(*self.sides) if self.compared else None,
            "difference": None if self.found is None else self.found.to_json(),
            "changes": [change.to_json() for change in self.changes],
            "sentences": self.sentences(),
            "exit_code": self.exit_code,
        }


def compare(
    names: tuple[str, str],
    loaded: Loaded,
    contract: Contract,
    roster: Mapping[str, EngineSpec],
    document: bytes,
    *,
    always: bool = True,
    causes: bool = True,
) -> Compared:
    """Ask two targets, written as on the command line, and compare. `contract` is the one asked for.

    Oracles that stand in are asked only where the sides differ, unless `always`; what of a contract would explain the
    difference is not looked for without `causes`. Raises InputError for a name.
    """
    targets = target(names[0], contract, roster), target(names[1], contract, roster)
    a, b = (ask_side(each, loaded, document, roster=roster) for each in targets)
    compared = "unsupported" not in (a.outcome, b.outcome)
    differ = compared and not same(a, b)
    others: tuple[Side | None, Side | None] = (None, None)
    if differ or always:
        left, right = (stand_in(t, side, loaded, document, roster) for t, side in zip(targets, (a, b), strict=True))
        others = left, right
    found = difference(a, b, document, others, loaded.vocabulary.tokens.__contains__) if differ else None
    known = by_contract(targets, (a, b), loaded, document, roster) if differ and causes else []
    return Compared(document, loaded.contract.vocabulary, targets, (a, b), others, found, tuple(known))


def by_contract(
    targets: tuple[Target, Target],
    sides: tuple[Side, Side],
    loaded: Loaded,
    document: bytes,
    roster: Mapping[str, EngineSpec],
) -> list[Change]:
    """The single changes of a contract that explain a difference.

    What the other side declares is told as it is. Anything else could fit one document by chance: both sides are then
    asked for the probes too (question.py), and only what fits these is told.
    """
    fitting = changes(sides, targets, loaded, document)
    if not fitting or all(_declared(change, targets) for change in fitting):
        return fitting
    with Engines(*targets, loaded, document, roster=roster) as question:
        question.probe()
        evidence = list(question.evidence)
    return changes(sides, targets, loaded, document, evidence)


def _declared(change: Change, targets: tuple[Target, Target]) -> bool:
    """Whether a change is what the other side's contract says."""
    other = targets[1] if change.engine == targets[0].name else targets[0]
    return bool(getattr(other.contract, change.field) == change.new)
