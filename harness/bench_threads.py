"""What two threads gain, beside two processes that have nothing to do with each other, in one run.

Three forms of the same work take turns: one process on one processor; one process with two threads on two; and two
processes, each with one thread on a processor of its own and half of the text, started at one reading of the clock.
Wall time is what counts here: of the two processes, from the common start to the later end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from tokassay.engines.client import Host, HostFailure, Measured
from tokassay.harness.bench import Barred, Cell, Contestant, NoReference, Opener, Reference, op_of
from tokassay.harness.rates import EXACT, UNVERIFIED, VOID, Spread, spread
from tokassay.harness.texts import Half

LEAD_NS = 1_000_000_000  # from sending the requests to their common start; 16 MB cross the pipe in a fraction of it


@dataclass
class ThreadsRow:
    """One engine: wall nanoseconds of the three forms, one a repetition."""

    engine: str
    entry: str
    verdict: str = EXACT
    detail: str = ""
    one: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)
    processes: list[int] = field(default_factory=list)

    def gains(self) -> tuple[Spread, Spread, Spread] | None:
        """Of threads, of processes (both over one thread), and the first over the second; None without exact ids."""
        if self.verdict != EXACT or not self.processes:
            return None
        gain = [a / b for a, b in zip(self.one, self.threads, strict=True)]
        apart = [a / b for a, b in zip(self.one, self.processes, strict=True)]
        return spread(gain), spread(apart), spread([b / a for a, b in zip(self.threads, self.processes, strict=True)])

    def to_json(self) -> dict[str, Any]:
        gains = self.gains()
        named = zip(("gain_threads", "gain_processes", "ratio"), gains or (None,) * 3, strict=True)
        return {**vars(self), **{name: gain.to_json() if gain else None for name, gain in named}}


def run_threads(
    cell: Cell,
    contestants: Sequence[Contestant],
    *,
    opener_on: Callable[[int, Sequence[int]], Opener],
    reference: Reference,
    cpus: tuple[int, int],
    repeat: int = 7,
    barred: Mapping[str, Barred] | None = None,
    tick: Callable[[str], None] = lambda _: None,
) -> list[ThreadsRow]:
    """`opener_on(threads, cpus)` gives what opens a host. The text is half `a`, and its two halves are cut in its
    middle: their ids together are asked for as texts of their own."""
    whole = cell.text.a
    halves = cut_in_two(whole)
    rows = [ThreadsRow(who.label, cell.entry) for who in contestants]
    for row in rows:
        if bar := (barred or {}).get(row.engine):
            row.verdict, row.detail = bar.verdict, bar.detail
    try:
        right = [reference.expected(cell.loaded, one, cell.cut).digest for one in (whole, *halves)]
    except NoReference as error:
        for row in rows:
            row.verdict, row.detail = UNVERIFIED, str(error)
        return rows
    for _ in range(repeat):
        for who, row in zip(contestants, rows, strict=True):
            tick(who.label)
            if row.verdict == EXACT:
                try:
                    _round(cell, who, row, (whole, *halves), right, opener_on, cpus)
                except HostFailure as error:
                    row.verdict, row.detail = error.verdict, error.detail
    return rows


def cut_in_two(whole: Half) -> tuple[Half, Half]:
    """Both halves of a text, cut between two of its documents."""
    middle = whole.borders[len(whole.borders) // 2]
    return Half(whole.data[:middle], whole.document), Half(whole.data[middle:], whole.document)


def _round(
    cell: Cell,
    who: Contestant,
    row: ThreadsRow,
    texts: tuple[Half, Half, Half],
    right: list[str],
    opener_on: Callable[[int, Sequence[int]], Opener],
    cpus: tuple[int, int],
) -> None:
    op = op_of(cell.entry)
    bodies = [text.body(cell.cut) for text in texts]
    with opener_on(1, cpus[1:])(who, cell.loaded) as host:
        one = host.measure(bodies[0], op)
    with opener_on(2, cpus)(who, cell.loaded) as host:
        both = host.measure(bodies[0], op, threads=2)
    with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        hosts = [stack.enter_context(opener_on(1, (cpu,))(who, cell.loaded)) for cpu in cpus]
        start = time.perf_counter_ns() + LEAD_NS
        asked = [pool.submit(_at, host, body, op, start) for host, body in zip(hosts, bodies[1:], strict=True)]
        apart = [future.result() for future in asked]
    for told, digest in zip((one, both, *apart), (right[0], right[0], *right[1:]), strict=True):
        if told.digest[0] != digest:
            row.verdict, row.detail = VOID, "the ids of a timed call are not the reference's"
            return
    row.one.append(one.ns[0])
    row.threads.append(both.ns[0])
    row.processes.append(max(told.ns[0] for told in apart))


def _at(host: Host, body: bytes, op: str, start: int) -> Measured:
    return host.measure(body, op, start_ns=start)

