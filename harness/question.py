"""What a reduction asks: do two engines still differ in the same way, or does a command still end as it did?"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from tokassay.engines.roster import EngineSpec
from tokassay.harness.differ import Difference, Side, difference, same
from tokassay.harness.domains import domain_of
from tokassay.harness.errors import InputError
from tokassay.harness.explain import TRACED
from tokassay.harness.hosts import ORACLE, Target, oracle_spec
from tokassay.harness.load import Loaded
from tokassay.harness.pool import MEMORY_MB, TIMEOUT_S, HostPool
from tokassay.harness.reduce import LONG

EVIDENCE, SHORT = 128, 256  # documents kept as evidence, and their most bytes
# What contracts are told apart by: contractions, digits, white space, marks, cases, ill-formed bytes.
PROBES = (
    b"it's IT'S", b"12345678", b"a  b \n\n c", b" x\t\r\n y", b"HelloWORLD fooBar", b"foo/bar!!\n/", b"x\n\ny",
    b"'sss...",
    "na\u00efve e\u0301 \u304b\u3099".encode(), b"a\x80b", b"\xe0@yp \xff\xfe", b"a \xc3",
)  # fmt: skip


@dataclass(frozen=True)
class Seen:
    """Both answers to one document, and how they differ; `difference` is None where they do not, or where a side cannot
    take part."""

    left: Side
    right: Side
    difference: Difference | None


class Engines:
    """Do two engines differ on a document, and how?

    A document of another domain than `document`'s, or of a wider one, is not asked: engines that are one on text may
    well be two on other bytes, and that would be another divergence. Where a side cannot be traced, the oracle under
    its variants speaks for it, if it gives the same ids. `deadline` is HostPool's. A context manager: leaving it ends
    the hosts.
    """

    def __init__(
        self,
        left: Target,
        right: Target,
        loaded: Loaded,
        document: bytes,
        *,
        roster: Mapping[str, EngineSpec],
        operation: str = "encode",
        timeout_s: float | None = TIMEOUT_S,
        memory_mb: int | None = MEMORY_MB,
        deadline: float | None = None,
    ) -> None:
        self.loaded, self.domain = loaded, domain_of(document)
        self._roster = roster
        self._timeout_s, self._memory_mb, self._deadline = timeout_s, memory_mb, deadline
        self._stack = ExitStack()
        self._pools = [
            self._pool(each, operation if operation in each.spec.operations else "encode") for each in (left, right)
        ]
        self._stand_ins: dict[str, HostPool] = {}
        # Further documents and what both said of them: they tell a cause from what fits by chance.
        self.evidence: deque[tuple[bytes, Side, Side]] = deque(maxlen=EVIDENCE)

    def __enter__(self) -> Engines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def __call__(self, document: bytes) -> str | None:
        """The signature of the difference on a document, None where there is none."""
        answers = self.ask(document)
        if answers is None:
            return None
        a, b = answers
        if same(a, b) or "unsupported" in (a.outcome, b.outcome):
            return None
        if len(document) > TRACED and (a.outcome, b.outcome) == ("ids", "ids"):
            return LONG
        found = self._differ(a, b, document)
        return None if found is None else found.signature

    def ask(self, document: bytes) -> tuple[Side, Side] | None:
        """Both answers, which are kept as evidence; None for a document of a wider domain."""
        if domain_of(document) > self.domain:
            return None
        # Of megabytes, tokens and their places take longer than the answer, and are only looked at in the end.
        a, b = (pool.ask(document, tokens=len(document) <= TRACED) for pool in self._pools)
        if len(document) <= SHORT:
            self.evidence.append((document, a, b))
        return a, b

    def fresh(self) -> None:
        """Fresh hosts of the engines. The oracle's is kept: its answers depend on the document alone, and it loads
        slowest."""
        for pool in self._pools:
            if pool.target.spec.name != ORACLE:
                pool.fresh()

    def probe(self) -> None:
        """Add the probes to the evidence, those of no wider domain."""
        for document in PROBES:
            self.ask(document)

    def unseen(self) -> Seen:
        """Both sides, not asked."""
        a, b = (Side(pool.target.name, variants=pool.target.variants, outcome="not asked") for pool in self._pools)
        return Seen(a, b, None)

    def look(self, document: bytes) -> Seen:
        """Both sides with their decisions, and how they differ."""
        a, b = (self._traced(pool, pool.ask(document), document) for pool in self._pools)
        if "unsupported" in (a.outcome, b.outcome):
            return Seen(a, b, None)
        return Seen(a, b, self._differ(a, b, document))

    def _differ(self, a: Side, b: Side, document: bytes) -> Difference | None:
        a, b = (self._traced(pool, side, document) for pool, side in zip(self._pools, (a, b), strict=True))
        others = [self._stand_in(pool, side, document) for pool, side in zip(self._pools, (a, b), strict=True)]
        vocabulary = self.loaded.vocabulary
        known = vocabulary.tokens.__contains__
        return difference(a, b, document, (others[0], others[1]), is_token=known, reaches=vocabulary.reaches)

    def _traced(self, pool: HostPool, side: Side, document: bytes) -> Side:
        if side.outcome != "ids" or side.decisions is not None or len(document) > TRACED:
            return side
        return pool.trace(side, document)

    def _stand_in(self, pool: HostPool, side: Side, document: bytes) -> Side | None:
        """The oracle under the variants of a side that is not traced in full, where it gives the same ids."""
        contract = pool.target.contract
        # Held to the oracle of its own contract, an engine that differs is one for which no oracle speaks.
        if side.outcome != "ids" or side.complete or contract.algorithm == "opaque" or len(document) > TRACED:
            return None
        if any(other.target.spec.name == ORACLE and other.target.contract == contract for other in self._pools):
            return None
        if contract.digest not in self._stand_ins:
            oracle = Target(f"{ORACLE}:{pool.target.variants}", oracle_spec(), contract)
            self._stand_ins[contract.digest] = self._pool(oracle, "encode")
        speaker = self._stand_ins[contract.digest]
        other = speaker.ask(document)
        return self._traced(speaker, other, document) if other.ids == side.ids else None

    def _pool(self, target: Target, operation: str) -> HostPool:
        return self._stack.enter_context(
            HostPool(
                target, self.loaded, self._roster, operation=operation, timeout_s=self._timeout_s,
                memory_mb=self._memory_mb, deadline=self._deadline,
            )
        )  # fmt: skip


class Command:
    """Does a command still end as it should? It gets the path of a file that holds the document as its last argument.

    `status` is the exit status that is interesting, or "timeout"; a process ended by signal N has status -N. Raises
    InputError for another status. `ended` says how the last one ended. What a command starts is ended with it.
    """

    def __init__(self, words: Sequence[str], status: str = "0", timeout_s: float = 60.0, name: str = "") -> None:
        self._words, self._status, self._timeout_s = list(words), known_status(status), timeout_s
        self._folder = tempfile.TemporaryDirectory(prefix="tokassay-reduce-")
        self._path = Path(self._folder.name) / (name or "document")
        self.ended = ""

    def __enter__(self) -> Command:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    def __call__(self, document: bytes) -> str | None:
        self._path.write_bytes(document)
        quiet = subprocess.DEVNULL  # a pipe would be waited for as long as a child of the command's holds it open
        try:
            process = subprocess.Popen(
                [*self._words, str(self._path)], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
            )
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            remedy = "give a command that can be run, with its arguments: --run './check.sh'"
            raise InputError(f"{self._words[0]}: {reason}", where="--run", remedy=remedy) from None
        try:
            status = str(process.wait(self._timeout_s))
        except subprocess.TimeoutExpired:
            status = "timeout"
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.ended = self._how(status)
        return f"exit status {status}" if status == self._status else None

    def _how(self, status: str) -> str:
        if status == "timeout":
            return f"not within {self._timeout_s:g} s"
        number = -int(status)
        if number <= 0:
            return f"status {status}"
        known = number in {each.value for each in signal.Signals}
        return f"signal {signal.Signals(number).name if known else number} ({status})"

    def fresh(self) -> None:
        """Every question starts a process of its own."""


def known_status(status: str) -> str:
    """An exit status that a process can have, as `Command` tells them. Raises InputError."""
    if status == "timeout":
        return status
    if re.fullmatch("-?[0-9]{1,3}", status) is None or not -64 <= int(status) <= 255:
        remedy = "give a number from 0 to 255, -N for signal N, or timeout"
        raise InputError(f"{status!r} is no exit status", where="--status", remedy=remedy)
    return str(int(status))
