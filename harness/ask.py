"""Asking a host for one block: the timed call, its own output, and which document brought it down.

A dead, hung or garbled host is a verdict of the document that did it. It is found by stepping: the block's documents
are asked one at a time in a fresh host, which needs one new host for each culprit, where halving needs one a level
(and, for a hang, one time limit a level). Where no single document does it, the failure depends on the block:
`flaky`, never a guess.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from tokassay.engines.client import KINDS, Host, HostError, HostFailure, HostTimeout, Unsupported
from tokassay.engines.frames import pack_buffer
from tokassay.harness.blocks import Block, offsets_of
from tokassay.harness.compare import OTHER, Output, joined

BATCHES = ("encode_batch", "batch_flat", "batch_list", "encode_files", "whole")  # may share out among threads
# How long culprits of an engine are isolated, over all contracts and blocks, and how many of a block at least. Others
# get the block's own verdict, marked as not isolated. A start and load took 0.2 to 0.5 s on GPT-2, so a
# minute is over a hundred culprits: an engine that dies of a byte that is everywhere has shown by then what it dies of.
ISOLATING_S = 60.0
LEAST_CULPRITS = 3
# Where an engine's time on a vocabulary has an end, one call may go past it by so much: js-tiktoken was waited for for
# 2 minutes at a block of long pieces from which it does not come back.
LEAST_CALL_S = 10.0
UNLISTED = "as the first ones of this block"  # a host lists the first hundred errors of a block


@dataclass
class Answer:
    """What one engine did with one block. `failures` maps an index in the block to (verdict, detail)."""

    digest: str
    ids: int
    rejects: int
    ns: int
    cpu_ns: int
    host_ns: int
    hash_ns: int
    output: Output | None = None
    failures: dict[int, tuple[str, str]] = field(default_factory=dict)


def failure(error: HostFailure) -> tuple[str, str]:
    """Verdict and detail of a host's failure."""
    if isinstance(error, HostError) and error.kind == "MemoryError":
        return "oom", str(error)
    return error.verdict, error.detail


def errors_of(errors: list[tuple[int, str, str]]) -> dict[int, tuple[str, str]]:
    """Verdicts of the exceptions that a host reports by document: (index, type, message)."""
    return {i: ("oom" if kind == "MemoryError" else "error", f"{kind}: {message}") for i, kind, message in errors}


class TimeOver(Exception):
    """The engine's time was over before it was known which documents of a block bring it down; the message says which
    time."""


@dataclass
class Isolating:
    """The seconds that isolating culprits has taken: one for all askers of an engine."""

    spent_s: float = 0.0


class Asker:
    """One engine under one contract: a host that is replaced when it dies.

    `open_host()` gives a loaded host; `stop()` ends it. Not for two threads at once.
    """

    def __init__(
        self, open_host: Callable[[], Host], *, threads: int = 1, isolating: Isolating | None = None
    ) -> None:
        self._open = open_host
        self._host: Host | None = None
        self.threads = threads
        self.least = LEAST_CULPRITS
        self.form = ""  # the type that documents are handed over as; "": the usual one
        self.over: Callable[[], str] = str  # why the engine's time is over; "" while it has some
        self.left_s: Callable[[], float | None] = lambda: None  # how long one call may take at most; None: as ever
        self.restarts = -1
        self._isolating = isolating or Isolating()

    @property
    def host(self) -> Host:
        if self._host is None:
            self._host = self._open()
            self.restarts += 1
        return self._host

    def discard(self) -> None:
        """End the host, if there is one: the next question starts a fresh one."""
        if self._host is not None:
            self._host.close()
            self._host = None

    stop = discard

    def measure(self, operation: str, block: Block) -> Answer:
        """The block's timed call; on a failure of the host, document by document. Raises Unsupported, and TimeOver
        where the engine's time ends before the last document has been asked alone. The block's own call has its whole
        time limit, so that a slow engine gets on from run to run, unless `left_s` says otherwise."""
        try:
            return self._measure(operation, block.body)
        except Unsupported:
            raise
        except HostFailure as error:
            self.discard()
            return self._step(operation, block, error)

    def _measure(self, operation: str, body: bytes) -> Answer:
        left_s = self.left_s()
        limit_s = None if left_s is None else min(self.host.timeout_s, max(left_s, LEAST_CALL_S))
        reply = self.host.measure(
            body, operation, threads=self._threads(operation), form=self.form, timeout_s=limit_s
        )
        answer = Answer(
            reply.digest[-1],
            reply.ids,
            reply.rejects,
            sum(reply.ns),
            sum(reply.cpu_ns),
            reply.prepare_ns + reply.hash_ns,
            reply.hash_ns,
        )
        if reply.error_count:
            answer.failures = errors_of(reply.errors)
            answer.output = self.kept()
            for i in np.flatnonzero(answer.output.status == OTHER):
                answer.failures.setdefault(int(i), ("error", UNLISTED))
        return answer

    def _threads(self, operation: str) -> int:
        return self.threads if operation in BATCHES else 1

    def kept(self) -> Output:
        """The output of the last timed call itself."""
        return Output.from_frames(self.host.kept())

    def again(self, operation: str, body: bytes) -> Output:
        """The same documents asked outside of any timed call."""
        reply = self.host.encode(body, operation, threads=self._threads(operation), form=self.form)
        return Output.from_frames(reply.output)

    def _step(self, operation: str, block: Block, first: HostFailure) -> Answer:
        """Every document by itself, in order, in a fresh host."""
        kind = KINDS[operation]
        empty = np.zeros(0, np.uint8) if kind == "texts" else np.zeros(0, np.uint32)
        none = Output(np.array([OTHER], np.uint8), np.zeros(1, np.uint64), empty, kind)
        parts: list[Output] = []
        answer = Answer("", 0, 0, 0, 0, 0, 0)
        used = 0
        start = time.monotonic()
        end = start + ISOLATING_S - self._isolating.spent_s
        for i in range(block.documents):
            # A package that needs the square of a piece's length had 233 timeouts in one block, and 2 minutes for each.
            if over := self.over():
                raise TimeOver(over)
            if used >= self.least and time.monotonic() > end:
                verdict, detail = failure(first)
                answer.failures[i] = (
                    verdict,
                    f"not isolated, as the block fails and {used} documents before it did: {detail}",
                )
                parts.append(none)
                continue
            document = block.document(i)
            try:
                one = self._measure(operation, pack_buffer(document, offsets_of(np.array([len(document)], np.uint64))))
                parts.append(one.output or self.kept())
                answer.ids += one.ids
                answer.rejects += one.rejects
                answer.ns += one.ns
                answer.cpu_ns += one.cpu_ns
                answer.host_ns += one.host_ns
                answer.hash_ns += one.hash_ns
                if one.failures:
                    answer.failures[i] = one.failures[0]
            except HostFailure as error:
                used += 1
                self.discard()
                answer.failures[i] = failure(error)
                parts.append(none)
        self._isolating.spent_s += time.monotonic() - start
        # A block that ran out of time, and whose documents together take longer than that, is slow and nothing else.
        slow = isinstance(first, HostTimeout) and answer.ns + answer.host_ns >= self.host.timeout_s * 1e9
        if not answer.failures and not slow:
            verdict, detail = failure(first)
            answer.failures = dict.fromkeys(
                range(block.documents),
                ("flaky", f"the block as a whole: {verdict} ({detail}); no document of it alone does it again"),
            )
        answer.output = joined(parts)
        return answer
