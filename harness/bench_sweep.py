"""What the size of dat-bpe's pretoken cache does: the same text with caches of 2^8 to 2^20 entries, and without one.

Each size is a contestant of an ordinary bench: fresh processes in turns, ids verified in every timed call.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokassay.engines.roster import EngineSpec
from tokassay.harness.bench import Contestant
from tokassay.harness.hosts import find_spec
from tokassay.harness.rates import EXACT

OPTION = "cache_bits"
BITS = (0, *range(8, 21))  # 0: no cache at all
ENTRY_BYTES = 32  # engines/dat_bpe/csrc/cache.h
KNEE = 0.95
PROCESSOR = Path("/sys/devices/system/cpu/cpu0/cache")


def points(roster: Mapping[str, EngineSpec], engine: str = "dat-bpe") -> list[Contestant]:
    """The engine with each size."""
    spec = find_spec(engine, roster)
    return [Contestant(f"2^{bits}" if bits else "none", spec, {OPTION: bits}) for bits in BITS]


def describe(who: Sequence[Contestant]) -> dict[str, Any]:
    """The report's `sweep`: what is varied, the points in order, and the processor's own caches in bytes."""
    rows = [{"engine": one.label, "bits": bits_of(one), "bytes": memory(bits_of(one))} for one in who]
    return {"option": OPTION, "points": rows, "processor": processor_caches()}


def bits_of(who: Contestant) -> int:
    """log2 of its number of entries; 0: no cache."""
    return int(who.options[OPTION])


def memory(bits: int) -> int:
    """Bytes of a cache; none of no cache."""
    return ENTRY_BYTES << bits if bits else 0


def processor_caches(root: Path = PROCESSOR) -> dict[str, int]:
    """L1d, L2, L3 -> bytes, as Linux tells them; those that it does not tell are left out."""
    found: dict[str, int] = {}
    for folder in sorted(root.glob("index*")):
        try:
            level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        if kind != "Instruction" and size.endswith("K"):
            found[f"L{level}" + ("d" if kind == "Data" else "")] = int(size[:-1]) << 10
    return found


def speeds(cell: Mapping[str, Any]) -> list[dict[str, float] | None]:
    """The spread of megabytes a second of each point of a cell of the report, None where its ids were not right."""
    return [row["mb_s"] if row["verdict"] == EXACT else None for row in cell["engines"]]


def chart(path: Path, report: Mapping[str, Any]) -> None:
    """The sweep drawn: speed over entries, a line a text and state, the knees marked. Raises OSError."""
    from tokassay.reports.charts import Line, Mark, lines

    sweep = report["sweep"]
    made = []
    for cell in report["cells"]:
        found = dict(zip((point["bits"] for point in sweep["points"]), speeds(cell), strict=True))
        name = ", ".join((cell["vocab"], cell["text"], cell["state"]))
        x = [bits for bits, speed in found.items() if bits and speed]
        rows = [speed for bits, speed in found.items() if bits and speed]
        made.append(
            Line(
                name, x, [row["median"] for row in rows], [row["min"] for row in rows], [row["max"] for row in rows],
                mark=knee(cell, sweep), level=(found.get(0) or {}).get("median"), dashed=cell["state"] != "warm",
            )
        )
    caches = sweep["processor"].items()
    marks = [Mark(math.log2(size / ENTRY_BYTES), f"{level}: {size >> 10:,} KiB") for level, size in caches]
    lines(
        path, made, marks, title="Pretoken cache: speed over its number of entries",
        x_label="entries (32 bytes each)", y_label="MB of input a second of CPU time",
        note="diamond: the smallest cache with 95 % of the best median; dotted: without a cache",
    )


def knee(cell: Mapping[str, Any], sweep: Mapping[str, Any]) -> int | None:
    """The bits of the smallest cache with 95 % of the best median; None without a figure."""
    medians = {
        point["bits"]: speed["median"]
        for point, speed in zip(sweep["points"], speeds(cell), strict=True)
        if point["bits"] and speed
    }
    best = max(medians.values(), default=0.0)
    return min((bits for bits, median in medians.items() if median >= KNEE * best), default=None)
