"""What the size of dat-bpe's pretoken cache does: the same text with caches of 2^8 to 2^20 entries, and without one.

Each size is a contestant of an ordinary bench: fresh processes in turns, ids verified in every timed call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokassay.engines.roster import EngineSpec
from tokassay.harness.bench import Contestant
from tokassay.harness.hosts import find_spec
from tokassay.harness.rates import EXACT
from tokassay.reports.knee import knee as rule

OPTION = "cache_bits"
BITS = (0, *range(8, 21))  # 0: no cache at all
ENTRY_BYTES = 32  # engines/dat_bpe/csrc/cache.h
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


def knee(cell: Mapping[str, Any], sweep: Mapping[str, Any]) -> int | None:
    """The bits of the smallest cache with 95 % of the best median; None without a figure."""
    found = zip(sweep["points"], speeds(cell), strict=True)
    medians = {point["bits"]: speed["median"] for point, speed in found if point["bits"] and speed}
    return rule(medians) if medians else None


def draw(path: Path, report: Mapping[str, Any]) -> tuple[list[Path], list[str]]:
    """Draw the report's sweep: into `path` (.svg or .png), or, of several vocabularies and entry points, each into a
    file beside it that is named after them. Returns the files, and why something has none. Raises OSError."""
    from tokassay.reports.charts.gallery import draw as gallery
    from tokassay.reports.charts.sources import Sources

    drawn = gallery(Sources(benches=[report]), only=["cache"])
    made = []
    for chart in drawn.charts:
        name = chart.name.removeprefix("cache-")
        place = path if len(drawn.charts) == 1 else path.with_stem(f"{path.stem}-{name}")
        place.write_bytes(chart.png() if path.suffix == ".png" else chart.svg().encode())
        made.append(place)
    return made, [reason for _, reason in drawn.absent]
