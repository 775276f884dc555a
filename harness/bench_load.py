"""How long it takes to be ready: load a vocabulary in a fresh process and encode the first hundred bytes.

Cold: the vocabulary's files are out of the page cache, and come from the disk. Warm: they are in it. Importing the
engine's package is in neither figure (it is the interpreter's), the loading of the vocabulary is in both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tokassay.engines.client import HostFailure
from tokassay.harness.bench import (
    COLD,
    WARM,
    Barred,
    Contestant,
    NoReference,
    Opener,
    Reference,
    first_difference,
    op_of,
)
from tokassay.harness.compare import Output
from tokassay.harness.load import Loaded
from tokassay.harness.rates import EXACT, UNVERIFIED, VOID, percentile, spread
from tokassay.harness.texts import Half

FIRST = 100  # bytes
TAIL = 0.95


@dataclass
class LoadRow:
    """One engine's samples, one a repetition: wall and CPU nanoseconds of `load` and of the first call after it.

    `state`: whether its files were in the page cache (`warm`) or not (`cold`).
    """

    engine: str
    state: str = WARM
    verdict: str = EXACT
    detail: str = ""
    load_ns: list[int] = field(default_factory=list)
    load_cpu_ns: list[int] = field(default_factory=list)
    first_ns: list[int] = field(default_factory=list)
    first_cpu_ns: list[int] = field(default_factory=list)

    def total_ms(self, cpu: bool) -> list[float]:
        """Milliseconds of both together, one a repetition."""
        load, first = (self.load_cpu_ns, self.first_cpu_ns) if cpu else (self.load_ns, self.first_ns)
        return [(a + b) / 1e6 for a, b in zip(load, first, strict=True)]

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = dict(vars(self))
        exact = self.verdict == EXACT and bool(self.load_ns)
        for name, cpu in (("ms", False), ("cpu_ms", True)):
            values = self.total_ms(cpu)
            row[name] = spread(values).to_json() if exact else None
            row[f"{name}_p95"] = float(f"{percentile(values, TAIL):.5g}") if exact else None
        return row


def run_load(
    loaded: Loaded,
    half: Half,
    contestants: Sequence[Contestant],
    *,
    open_one: Opener,
    reference: Reference,
    open_cold: Opener | None = None,
    repeat: int = 7,
    barred: Mapping[str, Barred] | None = None,
    tick: Callable[[str], None] = lambda _: None,
) -> list[LoadRow]:
    """Every contestant `repeat` times in turns: a row each, warm. `half` is the text whose ids the first call gives.

    `open_cold` opens one whose files are out of the page cache: with it each turn is a cold load and then a warm one,
    which finds what the cold one has read, and there is a cold row before each warm one.
    """
    ways = [(COLD, open_cold)] if open_cold else []
    turns = [(who, state, way) for who in contestants for state, way in (*ways, (WARM, open_one))]
    rows = [LoadRow(who.label, state) for who, state, _ in turns]
    for row in rows:
        if bar := (barred or {}).get(row.engine):
            row.verdict, row.detail = bar.verdict, bar.detail
    try:
        right = reference.expected(loaded, half, False)
    except NoReference as error:
        for row in rows:
            row.verdict, row.detail = UNVERIFIED, str(error)
        return rows
    for _ in range(repeat):
        for (who, _, open_way), row in zip(turns, rows, strict=True):
            tick(who.label)
            if row.verdict != EXACT:
                continue
            try:
                with open_way(who, loaded, (op_of("whole"), half.body(False))) as host:
                    told = host.first
                    if told.digest[0] != right.digest:
                        kept = Output.from_frames(host.kept())
                        row.verdict, row.detail = VOID, first_difference(told, kept, right.output)
                        continue
                    row.load_ns.append(host.load_ns)
                    row.load_cpu_ns.append(host.load_cpu_ns)
                    row.first_ns.append(told.ns[0])
                    row.first_cpu_ns.append(told.cpu_ns[0])
            except HostFailure as error:
                row.verdict, row.detail = error.verdict, error.detail
    return rows
