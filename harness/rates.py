"""Figures of a bench: what the samples of a cell come to, and the ratio of two engines, paired by repetition."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tokassay.harness.resample import Interval, deviation, median_interval, ratio_interval

EXACT, VOID, UNVERIFIED = "exact", "void", "unverified"


@dataclass(frozen=True)
class Spread:
    """Of some numbers: median, least and greatest, median absolute deviation, and the bounds of the median."""

    median: float
    min: float
    max: float
    mad: float
    low: float
    high: float

    def to_json(self) -> dict[str, float]:
        """Rounded to five significant digits."""
        return {name: float(f"{value:.5g}") for name, value in vars(self).items()}


def spread(values: Sequence[float]) -> Spread:
    """The spread of at least one value."""
    return Spread(median(values), min(values), max(values), deviation(values), *median_interval(values))


def percentile(values: Sequence[float], share: float) -> float:
    """The least of the values that at least `share` of them do not exceed (nearest rank); at least one value."""
    return sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]


@dataclass
class Row:
    """One engine in one cell and state. `verdict`: `exact`, `void`, or why there is no figure.

    `cpu_ns` and `ns` have one entry a repetition: CPU time of all threads and wall time of the timed call. `peak_bytes`
    is the most memory that its process ever had resident, `steady_bytes` what it has after its calls, in a pass of its
    own; `allocations` are the blocks of Python's allocator that a call left, None where they are not counted.
    `command` shows what is wrong, where that is known; `proved` is the domain in which its build passed the gate suite.
    """

    engine: str
    verdict: str = EXACT
    detail: str = ""
    form: str = ""
    cpu_ns: list[int] = field(default_factory=list)
    ns: list[int] = field(default_factory=list)
    peak_bytes: int = 0
    steady_bytes: int = 0
    allocations: int | None = None
    ratio_to: str = ""
    ratio: Interval | None = None
    command: str = ""
    proved: str = ""

    @property
    def exact(self) -> bool:
        """Whether every timed call gave the reference's ids: only then there is a speed."""
        return self.verdict == EXACT and bool(self.cpu_ns)

    def fail(self, verdict: str, detail: str, command: str = "") -> None:
        """No figure, and what is to be said instead. The times are dropped: nothing can show them."""
        self.verdict, self.detail, self.command = verdict, detail, command
        self.cpu_ns.clear()
        self.ns.clear()
        self.peak_bytes = self.steady_bytes = 0
        self.allocations, self.ratio, self.ratio_to = None, None, ""

    def speed(self, size: int, *, wall: bool = False) -> Spread | None:
        """Megabytes (10^6 bytes) of input a second of CPU or of wall time; None without exact ids."""
        return spread([size * 1000 / max(one, 1) for one in self.times(wall)]) if self.exact else None

    def times(self, wall: bool) -> list[int]:
        """Nanoseconds a repetition: CPU time, or wall time."""
        return self.ns if wall else self.cpu_ns

    def per_call(self, documents: int) -> Spread | None:
        """Nanoseconds of CPU time a document; None without exact ids."""
        return spread([one / documents for one in self.cpu_ns]) if self.exact else None


def compare(rows: Sequence[Row], *, wall: bool = False) -> None:
    """Give every exact row its ratio to the best other exact one: above 1 it is the faster.

    The best is the one with the least median of CPU time (`wall`: of wall time, which is what several threads are for).
    The ratio is that of the two times of each repetition, and of these the median: what slowed the machine for one
    round slowed both.
    """
    exact = [row for row in rows if row.exact]
    for row in exact:
        rivals = [other for other in exact if other is not row]
        row.ratio, row.ratio_to = None, ""
        if rivals:
            best = min(rivals, key=lambda other: median(other.times(wall)))
            row.ratio_to = best.engine
            pairs = zip(best.times(wall), row.times(wall), strict=True)
            row.ratio = ratio_interval([max(theirs, 1) / max(own, 1) for theirs, own in pairs])


def geometric_mean(values: Iterable[float]) -> float | None:
    """Of positive numbers; None of none."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else None


def row_json(row: Row, size: int, documents: int) -> dict[str, Any]:
    """The row as it stands in the report."""
    figures = {"mb_s": row.speed(size), "wall_mb_s": row.speed(size, wall=True), "ns_call": row.per_call(documents)}
    return {
        "engine": row.engine,
        "verdict": row.verdict,
        "detail": row.detail,
        "command": row.command,
        "proved": row.proved,
        "form": row.form,
        "cpu_ns": row.cpu_ns,
        "ns": row.ns,
        "peak_bytes": row.peak_bytes,
        "steady_bytes": row.steady_bytes,
        "allocations": row.allocations,
        **{name: figure.to_json() if figure else None for name, figure in figures.items()},
        "ratio_to": row.ratio_to or None,
        "ratio": row.ratio.to_json() if row.ratio else None,
    }
