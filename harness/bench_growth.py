"""Whether time grows with the input: crafted texts at two sizes, nanoseconds a byte of each, and the memory it took."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tokassay.harness.bench import COLD, WHOLE, Barred, Cell, Contestant, Opener, Reference, Result, run_cell
from tokassay.harness.load import Loaded
from tokassay.harness.rates import Spread
from tokassay.harness.texts import load_text

SMALL, LARGE, MOST = 64_000, 16_000_000, 80_000_000
# Each text with its larger size, in bytes. Words that never repeat fill a cache, and tables that grow: more of them.
CRAFTED = (
    ("letters", LARGE), ("spaces", LARGE), ("ideographs", LARGE), ("colliding", LARGE), ("unique", LARGE),
    ("unique", MOST),
)


@dataclass
class GrowthRow:
    """One engine on one crafted text: ns a byte at the small and at the large size, None where it is not exact."""

    kind: str
    engine: str
    verdicts: dict[int, str] = field(default_factory=dict)
    details: dict[int, str] = field(default_factory=dict)
    ns_byte: dict[int, Spread | None] = field(default_factory=dict)
    peak: dict[int, int] = field(default_factory=dict)

    @property
    def growth(self) -> float | None:
        """Time a byte at the large size over that at the small one, of medians."""
        figures = [self.ns_byte[size] for size in sorted(self.ns_byte)]
        small, large = figures if len(figures) == 2 else (None, None)
        return large.median / small.median if small and large and small.median else None

    def to_json(self) -> dict[str, Any]:
        return {
            "text": self.kind,
            "engine": self.engine,
            "growth": round(self.growth, 4) if self.growth is not None else None,
            "sizes": [
                {
                    "bytes": size,
                    "verdict": self.verdicts[size],
                    "detail": self.details[size],
                    "ns_byte": figure.to_json() if figure else None,
                    "peak_bytes": self.peak.get(size, 0),
                }
                for size, figure in sorted(self.ns_byte.items())
            ],
        }


def run_growth(
    loaded: Loaded,
    contestants: Sequence[Contestant],
    *,
    open_one: Opener,
    reference: Reference,
    kinds: Sequence[tuple[str, int]] = CRAFTED,
    small: int = SMALL,
    repeat: int = 3,
    barred: Mapping[str, Barred] | None = None,
    tick: Callable[[str], None] = lambda _: None,
) -> list[GrowthRow]:
    """Each kind at `small` and at its own size in bytes, whole, cold: a row a kind, size and engine."""
    rows: list[GrowthRow] = []
    for kind, large in kinds:
        own = [GrowthRow(kind, who.label) for who in contestants]
        for size in (small, large):
            cell = Cell(loaded, load_text(kind, size), WHOLE)
            (result,) = run_cell(
                cell, contestants, open_one=open_one, reference=reference, states=(COLD,), repeat=repeat,
                barred=barred, tick=tick,
            )
            _take(own, result, size)
            reference.forget()
        rows += own
    return rows


def _take(rows: list[GrowthRow], result: Result, size: int) -> None:
    """Put a result's figures at their size."""
    for row, one in zip(rows, result.rows, strict=True):
        row.verdicts[size], row.details[size] = one.verdict, one.detail
        calls = one.per_call(len(result.half.data))
        row.ns_byte[size] = calls
        row.peak[size] = one.peak_bytes
