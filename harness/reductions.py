"""The divergences of an audit made minimal, each in a little time, and written beside them into the store."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tokassay.engines.roster import EngineSpec
from tokassay.harness.differ import Side
from tokassay.harness.divergences import FAILED, Divergence
from tokassay.harness.explain import NOT_ISOLATED, TIMED
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
    traced: dict[tuple[str, ...], int] = {}  # who, and the stage -> the first one with decisions
    # What ids do not show comes last: it may be one that they show, and is not asked for by itself.
    for ordinal, divergence in sorted(enumerate(found), key=lambda pair: _place(pair[1])):
        witness, who, stage = divergence.witness, _who(divergence), str(divergence.detail.get("stage", ""))
        like = first.get((*who, _name(divergence)))
        if witness is None or divergence.verdict not in REDUCED:
            # One that comes and goes, or whose documents were not looked at: by its name it may be a steady one.
            if like is not None and divergence.verdict in FAILED:
                store.insert("reduction", {"run": run, "ordinal": ordinal, **_row(divergence, None), "like": like})
            continue
        minimal = None
        shown = _of_ids(divergence)
        if divergence.signature.startswith("traced"):
            traced.setdefault((*who, stage), ordinal)
        elif like is None and _name(divergence) == f"inferred {stage}":
            # It says no more than the stage: a path that the trace does not take, of a fault that it shows elsewhere.
            like = traced.get((*who, stage))
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
        for cause in _causes(divergence, minimal):
            one = first.setdefault(cause, ordinal)
            like = one if one != ordinal and like is None else like
        if shown or like is not None:
            store.insert("reduction", {"run": run, "ordinal": ordinal, **_row(divergence, minimal), "like": like})
    if late:
        words = ["tokassay", "reduce", "--store", str(store.path), *options, "--divergence", f"{run}.NUMBER"]
        note(f"{late} divergences were not reduced, as {ALL * seconds:g} s were up; to do it: {shlex.join(words)}")


def _of_ids(divergence: Divergence) -> bool:
    """Whether ids show it, which are all that a reduction asks for: wrong spans may be those of wrong ids."""
    witness, stage = divergence.witness, divergence.detail.get("stage")
    if witness is None or witness.operation in IDS:
        return True
    return divergence.verdict == "differ" and stage not in ("decode", "offsets")


def _place(divergence: Divergence) -> tuple[bool, ...]:
    """Before what may be another one, what it may be."""
    return (
        not _of_ids(divergence), divergence.verdict == "flaky", divergence.signature.endswith(TIMED),
        not divergence.signature.startswith("traced"),
    )


def _who(divergence: Divergence) -> tuple[str, ...]:
    """What two divergences have in common that may be one: contract, special tokens, engine, verdict."""
    verdict = "differ" if divergence.verdict == "flaky" else divergence.verdict
    return divergence.contract, divergence.specials, divergence.engine, verdict


def _name(divergence: Divergence) -> str:
    """The signature without how the document was asked."""
    return divergence.signature.removesuffix(f" / {NOT_ISOLATED}").removesuffix(TIMED)


def _causes(divergence: Divergence, minimal: Minimal | None) -> Iterator[tuple[Any, ...]]:
    """What two divergences of an engine share if they are one: the name, the smallest document, or the one change of a
    contract that explains it."""
    who = _who(divergence)
    yield *who, _name(divergence)
    if minimal is None or minimal.reduced.outcome != "reduced":
        return
    yield *who, minimal.reduced.document
    if len(minimal.changes) == 1:
        change = minimal.changes[0]
        yield *who, change.engine, change.field, change.new


def _row(divergence: Divergence, minimal: Minimal | None) -> dict[str, Any]:
    witness = divergence.witness
    row: dict[str, Any] = {
        "outcome": "not asked",
        "left": divergence.engine if witness is None else witness.left.name,
        "right": divergence.against if witness is None else witness.right.name,
        "specials": divergence.specials,
        "operation": "encode" if witness is None else witness.operation,
        "document": b"" if witness is None else witness.document,
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
