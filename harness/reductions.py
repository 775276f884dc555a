"""The divergences of an audit made minimal, each in a little time, and written beside them into the store."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tokassay.engines.roster import EngineSpec
from tokassay.harness.differ import Side
from tokassay.harness.divergences import Divergence, Witness
from tokassay.harness.explain import NOT_ISOLATED
from tokassay.harness.minimal import Minimal, minimize
from tokassay.harness.store import Store

# One divergence has the seconds that were asked for, all together this many times that: a suite with a hundred
# divergences is a suite with one cause, and its user waits.
ALL = 12
IDS = ("encode", "encode_batch")  # operations whose answer is ids
REDUCED = frozenset({"differ", "crash", "error", "timeout", "oom"})  # flaky ones cannot be replayed


def reduce_all(
    found: Sequence[Divergence],
    store: Store,
    run: str,
    *,
    roster: Mapping[str, EngineSpec],
    options: Sequence[str],
    seconds: float,
    note: Callable[[str], None],
    step: Callable[[str], None],
) -> None:
    """Reduce the failing divergences in their order and write a row for each that has a document of its own.

    One that ids do not show has a row where it turns out to be another one. `found` are in the order of their
    ordinals. With `seconds` 0 none is reduced, and the rows hold the documents alone. `options` are those of the
    command line that a command of this audit needs besides engines, vocabulary and document; `step` is told which
    divergence is next, `note` what was left undone.
    """
    deadline = time.monotonic() + ALL * seconds
    late = 0
    first: dict[tuple[Any, ...], int] = {}  # what makes two divergences one in hindsight -> the earlier one's ordinal
    traced: dict[tuple[str, ...], int] = {}  # contract, policy, engine, verdict, stage -> the first one with decisions
    # First what decisions show: what is but inferred may be one of these. What ids do not show comes last: it may be
    # one that they show, and is not asked for by itself.
    for ordinal, divergence in sorted(
        enumerate(found), key=lambda pair: (not _of_ids(pair[1]), not pair[1].signature.startswith("traced"))
    ):
        witness = divergence.witness
        if witness is None or divergence.verdict not in REDUCED:
            continue
        minimal = None
        shown = _of_ids(divergence)
        like = None
        stage = str(divergence.detail.get("stage", ""))
        key = divergence.contract, witness.specials, divergence.engine, divergence.verdict, stage
        if divergence.signature.startswith("traced"):
            traced.setdefault(key, ordinal)
        elif divergence.signature == f"inferred {stage}":
            # It says no more than the stage: a path that the trace does not take, of a fault that it shows elsewhere.
            like = traced.get(key)
        alone = shown and like is None and not divergence.signature.endswith(NOT_ISOLATED)
        words = ["--vocab", divergence.contract, *options, *(["--specials"] if witness.specials == "on" else [])]
        if alone and time.monotonic() < deadline:
            step(f"reducing {divergence.engine}, {divergence.verdict}")
            minimal = minimize(
                (witness.left, witness.right), witness.loaded, witness.document, roster=roster, seconds=seconds,
                operation=witness.operation if witness.operation in IDS else "encode", options=words,
            )  # fmt: skip
            if minimal.reduced.interrupted:  # by Ctrl-C, which is the whole audit's
                raise KeyboardInterrupt
        elif alone and seconds:
            late += 1
        for cause in _causes(divergence, witness, minimal):
            one = first.setdefault(cause, ordinal)
            like = one if one != ordinal and like is None else like
        if shown or like is not None:
            store.insert("reduction", {"run": run, "ordinal": ordinal, **_row(witness, minimal), "like": like})
    if late:
        words = ["tokassay", "reduce", "--store", str(store.path), *options, "--divergence", f"{run}.NUMBER"]
        note(f"{late} divergences were not reduced, as {ALL * seconds:g} s were up; to do it: {shlex.join(words)}")


def _of_ids(divergence: Divergence) -> bool:
    """Whether ids show it, which are all that a reduction asks for: wrong spans may be those of wrong ids."""
    witness, stage = divergence.witness, divergence.detail.get("stage")
    if witness is None or witness.operation in IDS:
        return True
    return divergence.verdict == "differ" and stage not in ("decode", "offsets")


def _causes(divergence: Divergence, witness: Witness, minimal: Minimal | None) -> Iterator[tuple[Any, ...]]:
    """What two divergences of an engine share if they are one: the smallest document, the one change of a contract that
    explains it, or how the process ended where some of a block's documents were not isolated."""
    who = divergence.contract, witness.specials, divergence.engine, divergence.verdict
    yield *who, divergence.signature.removesuffix(f" / {NOT_ISOLATED}")
    if minimal is None or minimal.reduced.outcome != "reduced":
        return
    yield *who, minimal.reduced.document
    if len(minimal.changes) == 1:
        change = minimal.changes[0]
        yield *who, change.engine, change.field, change.new


def _row(witness: Witness, minimal: Minimal | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "outcome": "not asked",
        "left": witness.left.name,
        "right": witness.right.name,
        "specials": witness.specials,
        "operation": witness.operation,
        "document": witness.document,
        **dict.fromkeys(("minimal", "signature", "stage", "explanation", "command"), ""),
        **dict.fromkeys(("changes", "got", "expected"), "[]"),
        **dict.fromkeys(("tries", "ns", "complete"), 0),
    }
    if minimal is None:
        return row
    done = minimal.reduced
    row.update(outcome=done.outcome, tries=done.tries, ns=int(done.seconds * 1e9), complete=int(done.complete))
    if done.outcome != "reduced":
        return row
    row.update(
        minimal=done.document.hex(),
        signature=done.signature or "",
        changes=json.dumps([change.sentence for change in minimal.changes]),
        got=_answer(minimal.seen.left),
        expected=_answer(minimal.seen.right),
        command=minimal.command,
    )
    if minimal.found is not None:
        row.update(stage=minimal.found.stage, explanation=minimal.found.sentence)
    return row


def _answer(side: Side) -> str:
    return json.dumps(list(side.ids) if side.outcome == "ids" else [f"{side.outcome} {side.detail}".strip()])
