"""Which difference of two engines is resolvable: an exact test on ratios that are paired by round, and its interval.

In each round both engines run once, one soon after the other, in an order that is drawn. If neither is the faster, a
round's ratio r would be 1/r in the other order, and both orders were equally likely: the signs of the logarithms are
fair coins, whatever the sizes are, and whatever slowed the machine for one round or for all. That is all that the
signed-rank test of Wilcoxon (1945) needs; it is exact for any number of rounds. Its interval, by Hodges and Lehmann
(1963), holds every factor that the test does not reject. The percentile bootstrap of the median, which is usual here,
is not: at 7 rounds it calls 125 of 1,000 equal pairs unequal (`bootstrap` is here so that a test can show it).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median

LEVEL = 0.05  # how often a pair of equal engines may be called unequal
FEWEST = 6  # rounds: with fewer the rarest outcome is likelier than LEVEL, so that nothing is resolved


@dataclass(frozen=True)
class Interval:
    """The median and the bounds of what is compatible with the samples; `resolved`: 1 (no difference) is not."""

    median: float
    low: float
    high: float
    resolved: bool

    def to_json(self) -> dict[str, float | bool]:
        """Rounded to five significant digits."""
        return {name: value if name == "resolved" else float(f"{value:.5g}") for name, value in vars(self).items()}


def ratio_interval(ratios: Sequence[float], level: float = LEVEL) -> Interval:
    """Of at least one positive ratio, one a round. With fewer than FEWEST rounds: least and greatest, not resolved."""
    logs = [math.log(ratio) for ratio in ratios]
    middle = median(ratios)
    cut = critical(len(logs), level)
    if cut < 0:
        return Interval(middle, min(ratios), max(ratios), False)
    averages = sorted((a + b) / 2 for i, a in enumerate(logs) for b in logs[i:])
    low, high = averages[cut], averages[-1 - cut]
    resolved = low > 0 or high < 0
    # From some thirty rounds on the median may lie outside of what the test allows; it is shown, so it is held in.
    return Interval(middle, min(math.exp(low), middle), max(math.exp(high), middle), resolved)


@lru_cache
def critical(rounds: int, level: float = LEVEL) -> int:
    """The greatest sum of ranks of one sign that is rejected, on both sides together at most `level`; -1: none is."""
    ways = [1]  # ways[s]: subsets of 1..n with the sum s, each as likely as any other
    for rank in range(1, rounds + 1):
        longer = ways + [0] * rank
        for total, count in enumerate(ways):
            longer[total + rank] += count
        ways = longer
    below, cut = 0, -1
    for total, count in enumerate(ways):
        below += count
        if 2 * below > level * 2**rounds:
            break
        cut = total
    return cut


def median_interval(values: Sequence[float], level: float = LEVEL) -> tuple[float, float]:
    """Order statistics that hold the median with at least 1 - `level`, whatever the distribution; of fewer than
    FEWEST values the least and the greatest, which hold it less often."""
    ranked, size = sorted(values), len(values)
    below, drop = 0, -1
    for count in range(size // 2 + 1):
        below += math.comb(size, count)
        if 2 * below > level * 2**size:
            break
        drop = count
    drop = max(drop, 0)
    return ranked[drop], ranked[-1 - drop]


def deviation(values: Sequence[float]) -> float:
    """Median absolute deviation from the median, in the values' unit."""
    middle = median(values)
    return median(abs(value - middle) for value in values)


def bootstrap(values: Sequence[float], draws: random.Random, times: int = 1000, level: float = LEVEL) -> Interval:
    """The percentile bootstrap of the median of ratios: too narrow for few rounds, and used for no verdict."""
    found = sorted(median(draws.choices(values, k=len(values))) for _ in range(times))
    edge = int(times * level / 2)
    low, high = found[edge], found[-1 - edge]
    return Interval(median(values), low, high, low > 1 or high < 1)


def orders(names: int, rounds: int, seed: int | str) -> list[list[int]]:
    """For each round the places 0..names-1 in an order drawn by `seed`, every order as likely as any other."""
    draws = random.Random(seed)
    return [draws.sample(range(names), names) for _ in range(rounds)]
