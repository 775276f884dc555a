"""The inference of a bench: levels of published tables, A/A by simulation, the power it has."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import product

import pytest
from tokassay.harness.resample import (
    bootstrap,
    critical,
    deviation,
    median_interval,
    orders,
    ratio_interval,
)

Noise = Callable[[random.Random, int], list[float]]
ROUNDS = 7


# -- three shapes of noise: what one engine's time is multiplied by at each of 2 n successive moments ----------------


def lognormal(draws: random.Random, moments: int) -> list[float]:
    """Every call 5 % up or down."""
    return [math.exp(draws.gauss(0, 0.05)) for _ in range(moments)]


def spikes(draws: random.Random, moments: int) -> list[float]:
    """2 %, and every fifth call is hit by something that takes 5 % to a hundred times the call (Pareto, no mean)."""
    return [
        math.exp(draws.gauss(0, 0.02)) + (0.05 * draws.paretovariate(0.8) if draws.random() < 0.2 else 0)
        for _ in range(moments)
    ]


def drift(draws: random.Random, moments: int) -> list[float]:
    """A machine that slows down by 1 % a call, with autocorrelated load on top (0.9 from call to call)."""
    load, found = 0.0, []
    for moment in range(moments):
        load = 0.9 * load + draws.gauss(0, 0.05)
        found.append(math.exp(0.01 * moment + load))
    return found


SHAPES: tuple[Noise, ...] = (lognormal, spikes, drift)


def compared(noise: Noise, seed: int, rounds: int = ROUNDS, slower: float = 1.0) -> list[float]:
    """Ratios of a bench of two engines, the second `slower` times as slow, in the order that a bench draws."""
    moments = iter(noise(random.Random(seed), 2 * rounds))
    found = []
    for order in orders(2, rounds, seed):
        took = {place: next(moments) * (slower if place else 1.0) for place in order}
        found.append(took[1] / took[0])
    return found


@pytest.mark.parametrize("rounds", [7, 15])
@pytest.mark.parametrize("noise", SHAPES)
def test_an_engine_is_not_told_from_itself(noise: Noise, rounds: int) -> None:
    """A/A: seeds 0 to 999, fixed before anything was run."""
    same = sum(not ratio_interval(compared(noise, seed, rounds)).resolved for seed in range(1000))
    assert same >= 930


def test_in_a_fixed_order_drift_is_taken_for_a_difference() -> None:
    """What the drawn order is for: A B A B on a machine that slows down by 1 % a call makes B the slower."""
    wrong = 0
    for seed in range(200):
        draws = random.Random(seed)
        times = [math.exp(0.01 * moment + draws.gauss(0, 0.005)) for moment in range(2 * ROUNDS)]
        wrong += ratio_interval([b / a for a, b in zip(times[::2], times[1::2], strict=True)]).resolved
    assert wrong > 100


def test_the_percentile_bootstrap_does_not_hold_its_level() -> None:
    """Why it is not used: of 1,000 equal pairs it may call 70 unequal, and calls more."""
    unequal = sum(
        bootstrap(compared(lognormal, seed), random.Random(seed), 300).resolved for seed in range(1000)
    )
    assert unequal > 70


@pytest.mark.parametrize(("noise", "rounds", "least"), [
    (lognormal, 7, 700), (lognormal, 15, 950), (spikes, 7, 350), (spikes, 15, 750), (drift, 7, 500), (drift, 15, 900),
])
def test_a_slow_down_of_ten_percent_is_seen(noise: Noise, rounds: int, least: int) -> None:
    """The power, and on the right side; docs/METHODOLOGY.md has the figures."""
    seen = [ratio_interval(compared(noise, seed, rounds, slower=1.1)) for seed in range(1000)]
    assert sum(one.resolved and one.low > 1 for one in seen) >= least
    assert sum(one.resolved and one.high < 1 for one in seen) <= 25  # half of the level


# -- exactness ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rounds", "published"),
    # Two-sided, 5 %: the table in Wilcoxon & Wilcox (1964), as in every textbook.
    [(5, -1), (6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (11, 10), (12, 13), (13, 17), (14, 21), (15, 25), (20, 52),
     (25, 89)],
)
def test_critical_values_are_the_published_ones(rounds: int, published: int) -> None:
    assert critical(rounds) == published


def test_the_level_is_exact_by_counting_all_signs() -> None:
    """128 equally likely outcomes of seven rounds with these sizes: at most 5 % of them are resolved."""
    sizes = (0.001, 0.02, 0.03, 0.05, 0.08, 0.2, 3.0)
    resolved = sum(
        ratio_interval([math.exp(sign * size) for sign, size in zip(signs, sizes, strict=True)]).resolved
        for signs in product((-1, 1), repeat=7)
    )
    assert resolved == 6  # sums of ranks 0, 1, 2 on either side: 2 * 3 of 128 = 4.7 %


def test_fewer_than_six_rounds_resolve_nothing() -> None:
    made = ratio_interval([2.0, 3.0, 2.5, 2.2, 2.1])
    assert (made.median, made.low, made.high, made.resolved) == (2.2, 2.0, 3.0, False)
    assert ratio_interval([2.0, 3.0, 2.5, 2.2, 2.1, 2.4]).resolved


def test_an_interval_contains_its_median_and_turns_over_with_the_ratio() -> None:
    draws = random.Random(5)
    for size in (6, 7, 11, 15, 31, 60):
        values = [math.exp(draws.gauss(0.02, 0.1)) for _ in range(size)]
        made, turned = ratio_interval(values), ratio_interval([1 / value for value in values])
        assert made.low <= made.median <= made.high
        assert (turned.low, turned.high) == pytest.approx((1 / made.high, 1 / made.low))
        assert turned.resolved == made.resolved
    assert not ratio_interval([1.0] * 9).resolved


def test_the_interval_of_a_median_is_of_order_statistics() -> None:
    """Binomial: of 9 values the second and the eighth hold the median in 96.1 % (Conover 1999, table A3)."""
    values = [float(value) for value in (5, 3, 9, 1, 7, 2, 8, 4, 6)]
    assert median_interval(values) == (2.0, 8.0)
    assert median_interval(values[:7]) == (1.0, 9.0)
    assert median_interval([4.0]) == (4.0, 4.0)
    assert deviation([1.0, 2.0, 4.0, 8.0, 100.0]) == 3.0


def test_orders_are_drawn_by_their_seed() -> None:
    made = orders(3, 600, 1)
    assert made == orders(3, 600, 1) != orders(3, 600, 2)
    counts = {tuple(order): made.count(order) for order in made}
    assert len(counts) == 6 and min(counts.values()) > 60
