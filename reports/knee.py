"""The knee of a cache sweep, in one place for the chart and the tables."""

from __future__ import annotations

from collections.abc import Mapping

KNEE = 0.95  # of the best median: what more entries add beyond it is not worth their memory


def knee(medians: Mapping[int, float]) -> int:
    """The bits (log2 of entries) of the smallest cache with KNEE of the best median. `medians`, of one at least: bits
    -> megabytes a second; 0 bits, no cache at all, is not among them."""
    best = max(medians.values())
    return min(bits for bits, median in medians.items() if median >= KNEE * best)
