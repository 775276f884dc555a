"""One block through one engine and one operation: measured, held to the expectation, every document given a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tokassay.engines.client import HostFailure, Unsupported
from tokassay.engines.frames import pack_buffer
from tokassay.harness.ask import Answer, Asker, failure
from tokassay.harness.blocks import Block
from tokassay.harness.compare import OTHER, REJECT, Output, differing
from tokassay.harness.expect import Expected
from tokassay.harness.explain import TIMED, process_finding
from tokassay.harness.store import Result

EXPLAINED = 200  # failing documents explained in a block; an oracle trace took 0.4 to 1.2 ms a document
DECLARED_SHOWN = 24  # declared differences explained in a block: one is shown, and all have the same reason

Likeness = tuple[int, ...]
# (index in the block, the engine's output or None for a declared difference) -> the row's detail
Explainer = Callable[[int, Output | None], Any]


@dataclass(frozen=True)
class Held:
    """What a block is held to: the engine's own contract, and the audit's; they may differ by declared variants."""

    own: Expected
    asked: Expected

    def declared(self, operation: str) -> npt.NDArray[np.bool_]:
        """Documents whose right answer under the engine's own variants is not the audit's. shape (n,)."""
        none = np.zeros(self.own.block.documents, dtype=np.bool_)
        # Where all variants say the same, both are one expectation.
        if self.own is self.asked or operation == "decode":
            return none
        if self.own.row("ids").digest == self.asked.row("ids").digest:
            return none
        return np.asarray((self.own.leaves() != self.asked.leaves()).any(axis=1))


def what_of(operation: str, offset_unit: str) -> str:
    """Which expectation an operation is held to."""
    return {"decode": "texts", "offsets": f"spans-{offset_unit}"}.get(operation, "ids")


def judge(
    asker: Asker,
    operation: str,
    block: Block,
    held: Held,
    result: Result,
    *,
    offset_unit: str,
    explain: Explainer,
) -> None:
    """Fill `result` with the block's digest, times and verdicts. Verdict counts add up to the block's documents."""
    what = what_of(operation, offset_unit)
    result.expected = held.own.row(what).digest
    try:
        answer = asker.measure(operation, block)
    except Unsupported as error:
        result.verdicts, result.rows = {"unsupported": block.documents}, [[-1, "unsupported", str(error)]]
        return
    result.digest, result.ids = answer.digest, answer.ids
    result.ns, result.cpu_ns, result.host_ns, result.hash_ns = (
        answer.ns,
        answer.cpu_ns,
        answer.host_ns,
        answer.hash_ns,
    )
    verdicts = failures(block, answer.failures)
    if answer.digest != result.expected:
        _differences(asker, operation, block, held.own.output(what), answer, verdicts, explain)
        if answer.digest == "" and answer.output is not None:
            out = answer.output
            result.digest = out.digest(block.lengths)
    status = answer.output.status if answer.output is not None else None
    if status is None and answer.rejects:
        status = held.own.output(what).status  # the digests are equal, so the statuses are
    for i in np.flatnonzero(status == REJECT) if status is not None else ():
        verdicts.setdefault(int(i), ("reject", ""))
    explained = 0
    for i in np.flatnonzero(held.declared(operation)):
        if int(i) not in verdicts:
            explained += 1
            verdicts[int(i)] = ("declared", explain(int(i), None) if explained <= DECLARED_SHOWN else "")
    result.rows = [[i, verdict, detail] for i, (verdict, detail) in sorted(verdicts.items())]
    for verdict, _ in verdicts.values():
        result.verdicts[verdict] = result.verdicts.get(verdict, 0) + 1
    if len(verdicts) < block.documents:
        result.verdicts["match"] = block.documents - len(verdicts)


def failures(block: Block, found: dict[int, tuple[str, str]]) -> dict[int, tuple[str, Any]]:
    """Failed documents' verdicts with findings as details: the document itself is the evidence."""
    return {
        i: (verdict, process_finding(verdict, why, block.document(i) if n < EXPLAINED else b"").detail())
        for n, (i, (verdict, why)) in enumerate(found.items())
    }


def _differences(
    asker: Asker,
    operation: str,
    block: Block,
    expected: Output,
    answer: Answer,
    verdicts: dict[int, tuple[str, Any]],
    explain: Explainer,
) -> None:
    """Find the differing documents in the timed call's own output, and measure again to tell `differ` from `flaky`."""
    if answer.output is None:
        try:
            answer.output = asker.kept()
        except HostFailure as error:
            asker.discard()
            verdicts.update({i: failure(error) for i in range(block.documents)})
            return
    if answer.digest and answer.output.digest(block.lengths) != answer.digest:
        lie = ("error", "the host's digest is not that of the output it kept")
        verdicts.update(dict.fromkeys(range(block.documents), lie))
        return
    wrong = [int(i) for i in differing(answer.output, expected) if int(i) not in verdicts]
    wrong = [i for i in wrong if answer.output.status[i] != OTHER]
    unmodelled = [i for i in wrong if expected.status[i] == OTHER]
    verdicts.update(dict.fromkeys(unmodelled, ("unsupported", "the oracle does not model this document's contract")))
    wrong = [i for i in wrong if i not in verdicts]
    if not wrong:
        return
    again = _again(asker, operation, block)
    kinds = [likeness(answer.output, expected, i) for i in wrong]
    examined = examine(kinds)
    shown = np.array([wrong[n] for n in examined], dtype=np.int64)
    untimed = _untimed(asker, operation, block, shown)
    alike: dict[Likeness, str] = {}
    for place, n in enumerate(examined):
        i = wrong[n]
        detail: Any = explain(i, answer.output)
        if detail and untimed is not None and np.array_equal(untimed.of(place), expected.of(i)):
            detail["explanation"] += "; asked again outside of the timed call, these documents alone, it is right"
            detail["signature"] += TIMED
        if detail:
            alike.setdefault(kinds[n], detail["signature"])
        verdicts[i] = ("differ", detail)
    for n, i in enumerate(wrong):
        known = alike.get(kinds[n])
        detail = verdicts[i][1] if i in verdicts else {"signature": known} if known else ""
        repeats = again is not None and not np.array_equal(again.of(i), expected.of(i))
        if again is not None and again.status[i] != expected.status[i]:
            repeats = True
        verdicts[i] = ("differ" if repeats else "flaky", detail)


def likeness(output: Output, expected: Output, i: int) -> Likeness:
    """What two documents must share to be laid to one fault without a look: both statuses, and both ids at the first
    place where they are not the same (-1: none is left)."""
    got, right = output.of(i), expected.of(i)
    shared = min(len(got), len(right))
    unlike = np.flatnonzero(got[:shared] != right[:shared])
    at = int(unlike[0]) if len(unlike) else shared
    ids = (int(row[at]) if at < len(row) else -1 for row in (got, right))
    return int(output.status[i]), int(expected.status[i]), *ids


def examine(kinds: list[Likeness]) -> list[int]:
    """Which of a block's failing documents are looked at: EXPLAINED of them, the first of each kind before the second
    of any, and in the block's order."""
    seen: Counter[Likeness] = Counter()
    nth = []
    for kind in kinds:
        nth.append(seen[kind])
        seen[kind] += 1
    return sorted(sorted(range(len(kinds)), key=nth.__getitem__)[:EXPLAINED])


def _untimed(asker: Asker, operation: str, block: Block, picked: npt.NDArray[np.int64]) -> Output | None:
    """The picked documents asked by themselves outside of any timed call; None where the host did not survive it."""
    try:
        return asker.again(operation, pack_buffer(*block.select(picked)))
    except HostFailure:
        asker.discard()
        return None


def _again(asker: Asker, operation: str, block: Block) -> Output | None:
    """The same timed call a second time; None where the host did not survive it."""
    try:
        answer = asker.measure(operation, block)
        return answer.output or asker.kept()
    except HostFailure:
        asker.discard()
        return None
