"""Loaded hosts of one engine for many small questions: one is asked, others stand by, and a death costs the one that
died."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from types import TracebackType

from tokassay.engines.client import Host, HostFailure, HostMemory, HostTimeout
from tokassay.engines.roster import EngineSpec
from tokassay.harness.differ import Side
from tokassay.harness.hosts import ORACLE, Target, open_host
from tokassay.harness.load import Loaded
from tokassay.harness.reduce import OutOfTime
from tokassay.harness.sides import answered, failed, traced

# Limits while reducing. The documents are small, and what hangs or grows without end does so under any limit; every
# proposal that is still interesting costs the whole of it.
TIMEOUT_S = 2.0  # a busy machine takes most of that to fill the memory allowed
MEMORY_MB = 1024
SPARES = 2  # opened ahead once a host has died; a start with load took 0.2 to 0.5 s on GPT-2


class HostPool:
    """Hosts of `target`, opened when they are needed. Not for two threads at once.

    `operation` is `encode` or `encode_batch`. `timeout_s` and `memory_mb` lower the engine's own limits, never raise
    them; None keeps them. The oracle keeps its own in any case, up to `deadline` (of time.monotonic): what it says of
    megabytes takes minutes, and that is no fault. It has `TIMEOUT_S` even then.
    """

    def __init__(
        self,
        target: Target,
        loaded: Loaded,
        roster: Mapping[str, EngineSpec],
        *,
        operation: str = "encode",
        timeout_s: float | None = TIMEOUT_S,
        memory_mb: int | None = MEMORY_MB,
        deadline: float | None = None,
    ) -> None:
        spec = target.spec
        limited = replace(
            spec,
            timeout_s=min(spec.timeout_s, timeout_s or spec.timeout_s),
            memory_mb=min(spec.memory_mb, memory_mb or spec.memory_mb),
        )
        self.target, self.operation = target, operation
        self._loaded, self._roster = loaded, {**roster, spec.name: limited}
        self._tokens = loaded.vocabulary.ids()
        self._side = Side(target.name, variants=target.variants)
        self._host: Host | None = None
        self._spares: deque[Future[Host]] = deque()
        self._deadline = deadline if spec.name == ORACLE else None
        self._opener = ThreadPoolExecutor(SPARES, thread_name_prefix="spare")
        self.deaths = 0

    def __enter__(self) -> HostPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ask(self, document: bytes, *, tokens: bool = True) -> Side:
        """What the engine does with a document; its decisions are left out, and without `tokens` all but ids. Never
        raises for what it does, but OutOfTime where the oracle did not answer by the deadline."""
        try:
            host = self._ready()
            if self._deadline is not None:
                left = max(TIMEOUT_S, self._deadline - time.monotonic())
                host.timeout_s = min(self.target.spec.timeout_s, left)
            token = self._tokens.get if tokens else None
            return answered(self._side, host, document, token, self.operation)
        except HostFailure as error:
            if isinstance(error, HostTimeout) and self._deadline is not None and time.monotonic() > self._deadline:
                self.fresh()
                raise OutOfTime from None
            if self._host is not None and not self._host.alive:
                self._died()
            return failed(self._side, error)
        except BaseException:
            self._drop()
            raise

    def trace(self, side: Side, document: bytes) -> Side:
        """`side`, which is `ask`'s answer, with the engine's decisions; as it is where the engine says no word."""
        try:
            told = traced(side, self._ready(), document)
        except HostFailure:
            return side
        except BaseException:
            self._drop()
            raise
        if self._host is not None and not self._host.alive:
            self._died()
        return told

    def fresh(self) -> None:
        """The next question goes to a host that nobody has asked yet."""
        if self._host is not None:
            self._host.close()
            self._host = None

    def _drop(self) -> None:
        """End a host whose question was broken off (Ctrl-C): it may still answer that one."""
        if self._host is not None:
            self._host.kill()
            self._host = None

    def close(self) -> None:
        """End all hosts."""
        self.fresh()
        self._opener.shutdown(wait=True, cancel_futures=True)
        while self._spares:
            spare = self._spares.popleft()
            if not spare.cancelled() and spare.exception() is None:
                spare.result().close()

    def _ready(self) -> Host:
        if self._host is None:
            self._host = self._spares.popleft().result() if self._spares else self._open()
            if not self._side.version:
                self._side = replace(self._side, version=str(self._host.hello().get("version", "")))
        return self._host

    def _open(self) -> Host:
        name, contract = self.target.spec.name, self.target.contract
        try:
            return open_host(name, self._loaded, contract, roster=self._roster)
        except HostMemory:
            # It does not even load in so little: that says nothing about the document.
            self._roster = {**self._roster, name: replace(self._roster[name], memory_mb=self.target.spec.memory_mb)}
            return open_host(name, self._loaded, contract, roster=self._roster)

    def _died(self) -> None:
        self.deaths += 1
        self.fresh()
        if self.target.spec.name != ORACLE:
            while len(self._spares) < SPARES:
                self._spares.append(self._opener.submit(self._open))
