"""Steps in a cell's speed over time: change points that are larger than the noise.

Binary segmentation (Scott and Knott 1974; Vostrikova 1981) with a rank test at each place: of all ways to cut a series
in two, the one is taken whose standardized Wilcoxon statistic is the greatest, and it is a step only if that maximum is
rarer than `ALPHA` among random orders of the same numbers. The test looks at ranks alone, so it holds for noise of any
shape, and its null distribution depends on the length alone. Then both parts are searched. docs/NIGHTLY.md says how
often it errs, and how soon it sees a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

ALPHA = 0.01  # how often a series without a step is said to have one
LEAST = 0.02  # a smaller change is none, however sure it is
SHORTEST = 3  # points on either side of a step: one odd night is none
ORDERS = 4999  # random orders that a null distribution is made of
LONGEST = 400  # points that are looked at: the newest
SEED = 20261130


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
    cuts = sorted(_cuts(logs, 0, alpha, least))
    ends = [*[at for at, _ in cuts], len(logs)]
    found = []
    for number, (at, p) in enumerate(cuts):
        begin = ends[number - 1] if number else 0
        before = float(np.exp(np.median(logs[begin:at])))
        after = float(np.exp(np.median(logs[at : ends[number + 1]])))
        found.append(Step(at + skipped, before, after, after / before, p))
    return found


def _cuts(logs: npt.NDArray[np.float64], offset: int, alpha: float, least: float) -> list[tuple[int, float]]:
    """The places of the steps of a stretch, counted from the series' beginning, each with its p."""
    if len(logs) < 2 * SHORTEST:
        return []
    scores = _scores(_ranks(logs)[None, :])[0]
    best = int(np.argmax(scores))
    at = best + SHORTEST
    null = _null(len(logs))
    p = float((1 + np.count_nonzero(null >= scores[best] - 1e-9)) / (1 + len(null)))
    change = abs(float(np.median(logs[at:]) - np.median(logs[:at])))
    if p > alpha or change < np.log1p(least):
        return []
    left, right = _cuts(logs[:at], offset, alpha, least), _cuts(logs[at:], offset + at, alpha, least)
    return [*left, (offset + at, p), *right]


def _ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Ranks from 1; equal values share the mean of theirs. shape (n,)."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2.0)[inverse], dtype=np.float64)


def _scores(ranks: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """|z| of the Wilcoxon rank sum of each first part. ranks (m, n) -> (m, n - 2 SHORTEST + 1)."""
    n = ranks.shape[1]
    size = np.arange(SHORTEST, n - SHORTEST + 1)
    sums = np.cumsum(ranks, axis=1)[:, size - 1]
    return np.asarray(np.abs(sums - size * (n + 1) / 2) / np.sqrt(size * (n - size) * (n + 1) / 12))


@lru_cache(maxsize=LONGEST)
def _null(n: int) -> npt.NDArray[np.float64]:
    """The best score of each of ORDERS random orders of n numbers; the same in every process. shape (ORDERS,)."""
    draws = np.random.default_rng([SEED, n])
    ranks = draws.permuted(np.tile(np.arange(1.0, n + 1), (ORDERS, 1)), axis=1)
    return np.asarray(_scores(ranks).max(axis=1))
