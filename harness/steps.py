"""Steps in a cell's speed over time: change points that are larger than the noise.

Binary segmentation (Scott and Knott 1974; Vostrikova 1981) with a rank test: of all ways to cut a series in two, the
one is taken whose standardized Wilcoxon statistic is the greatest. Where no cut is sure, all ways to take a stretch out
of the middle are looked at in the same way (the segments of Olshen and others 2004), so that a fault that came and was
mended is two steps. A best cut or stretch counts if it is rarer than ALPHA / 2 among random orders of the same numbers.
Then each part is searched. The test looks at ranks alone, so it holds for noise of any shape, and its null distribution
depends on the length alone. docs/NIGHTLY.md says how often it errs, and how soon it sees a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

ALPHA = 0.01  # how often a series without a step is said to have one, at most
LEAST = 0.02  # a smaller change is none, however sure it is
SHORTEST = 3  # points on either side of a step: one odd night is none
ORDERS = 1999  # random orders that a null distribution is made of
LONGEST = 120  # points that are looked at: the newest
AT_ONCE = 100  # random orders that are scored together
SEED = 20261130

Floats = npt.NDArray[np.float64]
Cut = tuple[int, float]  # place, p


@dataclass(frozen=True)
class Step:
    """Between points `at` - 1 and `at` the level changes. `before` and `after` are medians in the series' unit, `ratio`
    is after / before, `p` the share of random orders whose best cut is at least as good."""

    at: int
    before: float
    after: float
    ratio: float
    p: float


def steps(values: Sequence[float], *, alpha: float = ALPHA, least: float = LEAST) -> list[Step]:
    """The steps of a series of positive numbers, in order. Fewer than six points have none."""
    skipped = max(0, len(values) - LONGEST)
    logs = np.log(np.asarray(values[skipped:], dtype=np.float64))
    cuts = _cuts(logs, 0, alpha, least)
    places = [0, *(at for at, _ in cuts), len(logs)]
    levels = [float(np.exp(np.median(logs[a:b]))) for a, b in pairwise(places) if b > a]
    return [
        Step(at + skipped, before, after, after / before, p)
        for (at, p), before, after in zip(cuts, levels, levels[1:], strict=False)
    ]


def _cuts(logs: Floats, offset: int, alpha: float, least: float) -> list[Cut]:
    """The places of the steps of a stretch, counted from the series' beginning, in order."""
    for stretches in (False, True):
        found = _best(logs, stretches, alpha, least)
        if found is not None:
            places, p = found
            edges = [0, *places, len(logs)]
            parts = [_cuts(logs[a:b], offset + a, alpha, least) for a, b in pairwise(edges)]
            return sorted([*((offset + at, p) for at in places), *(cut for part in parts for cut in part)])
    return []


def _best(logs: Floats, stretches: bool, alpha: float, least: float) -> tuple[list[int], float] | None:
    """The best cut in two, or the best stretch within: its edges and p; None where it is not sure, or too small."""
    begins, ends = _places(len(logs), stretches)
    if not len(begins):
        return None
    scores = _scores(_ranks(logs)[None, :], begins, ends)[0]
    best = int(np.argmax(scores))
    null = _null(len(logs), stretches)
    p = float((1 + np.count_nonzero(null >= scores[best] - 1e-9)) / (1 + len(null)))
    inside = np.zeros(len(logs), np.bool_)
    inside[begins[best] : ends[best]] = True
    change = abs(float(np.median(logs[inside]) - np.median(logs[~inside])))
    if p > alpha / 2 or change < np.log1p(least):
        return None
    return [int(at) for at in (begins[best], ends[best]) if 0 < at < len(logs)], p


def _places(n: int, stretches: bool) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Beginning and end of each first part, or of each stretch that touches neither end; none is too short."""
    if not stretches:
        ends = np.arange(SHORTEST, n - SHORTEST + 1)
        return np.zeros_like(ends), ends
    first, last = np.meshgrid(np.arange(SHORTEST, n), np.arange(n - SHORTEST + 1), indexing="ij")
    fits = last - first >= SHORTEST
    return first[fits], last[fits]


def _ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values share the mean of theirs. shape (n,)."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2.0)[inverse], dtype=np.float64)


def _scores(ranks: Floats, begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> Floats:
    """|z| of the Wilcoxon rank sum of each stretch against the rest. ranks (m, n) -> (m, len(begins))."""
    n = ranks.shape[1]
    sums = np.concatenate([np.zeros((len(ranks), 1)), np.cumsum(ranks, axis=1)], axis=1)
    size = ends - begins
    return np.asarray(
        np.abs(sums[:, ends] - sums[:, begins] - size * (n + 1) / 2) / np.sqrt(size * (n - size) * (n + 1) / 12)
    )


@lru_cache(maxsize=2 * LONGEST)
def _null(n: int, stretches: bool) -> Floats:
    """The best score of each of ORDERS random orders of n numbers; the same in every process. shape (ORDERS,)."""
    draws = np.random.default_rng([SEED, n, stretches])
    places = _places(n, stretches)
    best = []
    for begin in range(0, ORDERS, AT_ONCE):
        tiles = np.tile(np.arange(1.0, n + 1), (min(AT_ONCE, ORDERS - begin), 1))
        best.append(_scores(draws.permuted(tiles, axis=1), *places).max(axis=1))
    return np.concatenate(best)
