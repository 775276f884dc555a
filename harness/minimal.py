"""A divergence made minimal and explained: the smallest document, both answers, the first cause, and how to see it
again."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tokassay.engines.roster import EngineSpec
from tokassay.harness.cause import Change, changes, stand_in
from tokassay.harness.differ import Difference, difference
from tokassay.harness.errors import AGREED, MISMATCH, NOTHING
from tokassay.harness.hosts import Target
from tokassay.harness.load import Loaded
from tokassay.harness.pieces import view
from tokassay.harness.pool import TIMEOUT_S
from tokassay.harness.question import Engines, Seen
from tokassay.harness.reduce import OutOfTime, Progress, Reduced, reduce

SHOWN = 64 << 10  # bytes of the smallest document that a command line can still carry


@dataclass(frozen=True)
class Minimal:
    """What a reduction came to. `seen` are the answers to the smallest document (to the document itself where there is
    no difference, or a flaky one), `found` the first differing decision, `changes` the single changes of a contract
    that would explain it, `command` what shows it."""

    reduced: Reduced
    seen: Seen
    found: Difference | None = None
    changes: list[Change] = field(default_factory=list)
    command: str = ""

    @property
    def exit_code(self) -> int:
        """0 they agree, 1 they differ or are flaky, 4 nothing was compared."""
        if self.reduced.outcome == "not asked":
            return NOTHING
        if self.reduced.outcome != "agree":
            return MISMATCH
        return NOTHING if "unsupported" in (self.seen.left.outcome, self.seen.right.outcome) else AGREED

    def to_json(self) -> dict[str, Any]:
        """The object of `tokassay reduce --json` (docs/FORMATS.md)."""
        return {
            "schema": "tokassay.reduce/1",
            **self.reduced.to_json(),
            "text": view(self.reduced.document),
            "left": self.seen.left.to_json(),
            "right": self.seen.right.to_json(),
            "difference": None if self.found is None else self.found.to_json(),
            "changes": [change.to_json() for change in self.changes],
            "command": self.command,
            "exit_code": self.exit_code,
        }


def minimize(
    targets: tuple[Target, Target],
    loaded: Loaded,
    document: bytes,
    *,
    roster: Mapping[str, EngineSpec],
    seconds: float,
    anything: bool = False,
    operation: str = "encode",
    timeout_s: float | None = None,
    options: Sequence[str] = (),
    progress: Progress = lambda _: None,
) -> Minimal:
    """Reduce a document on which two engines differ, and explain what is left.

    `timeout_s` is the limit of one answer while reducing (default: pool.TIMEOUT_S). `options` are those of the command
    line that name vocabulary and contract, for the command that shows the result.
    """
    with Engines(
        *targets, loaded, document, roster=roster, operation=operation, timeout_s=timeout_s or TIMEOUT_S,
        deadline=time.monotonic() + seconds,
    ) as question:
        done = reduce(document, question, seconds=seconds, anything=anything, progress=progress)
        seen = question.unseen()
        try:  # who interrupts does not wait for explanations
            if done.outcome != "not asked":
                seen = question.look(done.document)
                if not done.interrupted:
                    question.probe()
        except KeyboardInterrupt:
            done.interrupted = True
        except OutOfTime:
            done.complete = False
        evidence = list(question.evidence)
    if done.outcome != "reduced":
        return Minimal(done, seen)
    known: list[Change] = []
    found = seen.difference
    try:
        if not done.interrupted:
            known = changes((seen.left, seen.right), targets, loaded, done.document, evidence)
            found = _explained(seen, known, targets, loaded, done.document)
    except KeyboardInterrupt:
        done.interrupted = True
    return Minimal(done, seen, found, known, _command(targets, options, done.document))


def _explained(
    seen: Seen, known: list[Change], targets: tuple[Target, Target], loaded: Loaded, document: bytes
) -> Difference | None:
    """The difference; where it is inferred and one change of a contract explains it, through that contract's oracle."""
    if seen.difference is None or seen.difference.known == "traced" or not known:
        return seen.difference
    change = known[0]
    changed = 0 if change.engine == targets[0].name else 1
    sides = seen.left, seen.right
    other = stand_in(change, sides[1 - changed], targets[changed], loaded, document)
    if other is None or sides[changed].decisions is None:
        return seen.difference
    stand_ins = (None, other) if changed == 0 else (other, None)
    return difference(*sides, document, stand_ins) or seen.difference


def _command(targets: tuple[Target, Target], options: Sequence[str], document: bytes) -> str:
    if len(document) > SHOWN:
        return ""
    words = ["tokassay", "diff", *(target.name for target in targets), *options, "--hex", document.hex()]
    return shlex.join(words)
