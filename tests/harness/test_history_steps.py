"""Steps in synthetic series with known steps and with none: how often it errs and what it sees, with fixed seeds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from tokassay.harness.steps import SHORTEST, steps

Noise = Callable[[np.random.Generator, int], npt.NDArray[np.float64]]

# Factors around 1: even noise of 2 %, noise with far outliers, and a machine that is in one of two moods.
SHAPES: dict[str, Noise] = {
    "normal": lambda draws, n: np.exp(draws.normal(0, 0.02, n)),
    "heavy": lambda draws, n: np.exp(0.015 * draws.standard_t(2, n)),
    "moods": lambda draws, n: np.exp(np.where(draws.random(n) < 0.3, -0.06, 0) + draws.normal(0, 0.01, n)),
}


def found(shape: str, seed: int, series: int, change: Callable[[int], float], nights: int = 30) -> list[list[int]]:
    """Where steps are seen in each of some series, whose level at a night is `change(night)`."""
    draws = np.random.default_rng(seed)
    levels = np.array([100 * change(night) for night in range(nights)])
    return [[step.at for step in steps(levels * SHAPES[shape](draws, nights))] for _ in range(series)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("nights", [14, 30, 60])
def test_no_step_is_seen_where_there_is_none(shape: str, nights: int) -> None:
    """At most 1 % of series by design; 20 of 1,000 is three standard errors above that."""
    seen = found(shape, 1, 1000, lambda _: 1.0, nights)
    assert sum(bool(each) for each in seen) <= 20


@pytest.mark.parametrize(("shape", "least"), [("normal", 198), ("heavy", 180), ("moods", 198)])
def test_a_slow_down_of_a_tenth_is_seen_after_seven_nights(shape: str, least: int) -> None:
    seen = found(shape, 2, 200, lambda night: 0.9 if night >= 23 else 1.0)
    assert sum(bool(each) for each in seen) >= least
    assert sum(any(abs(at - 23) <= 1 for at in each) for each in seen) >= 0.8 * least


@pytest.mark.parametrize("shape", SHAPES)
def test_what_came_and_was_mended_is_two_steps(shape: str) -> None:
    seen = found(shape, 3, 100, lambda night: 0.9 if 10 <= night < 20 else 1.0)
    assert sum(len(each) == 2 and abs(each[0] - 10) <= 2 and abs(each[1] - 20) <= 2 for each in seen) >= 75


def test_a_step_says_where_and_how_large() -> None:
    draws = np.random.default_rng(4)
    levels = np.where(np.arange(30) < 12, 100.0, 80.0)
    (step,) = steps(levels * np.exp(draws.normal(0, 0.005, 30)))
    assert step.at == 12
    assert step.before == pytest.approx(100, rel=0.01) and step.after == pytest.approx(80, rel=0.01)
    assert step.ratio == pytest.approx(0.8, rel=0.01) and 0 < step.p <= 0.005


def test_two_steps_down_are_both_seen() -> None:
    draws = np.random.default_rng(5)
    levels = np.repeat([100.0, 80.0, 60.0], 12)
    assert [step.at for step in steps(levels * np.exp(draws.normal(0, 0.005, 36)))] == [12, 24]


def test_one_odd_night_and_a_small_change_are_no_steps() -> None:
    draws = np.random.default_rng(6)
    quiet = 100 * np.exp(draws.normal(0, 0.002, 30))
    odd = quiet.copy()
    odd[20] *= 0.5
    assert steps(odd) == []
    small = quiet * np.where(np.arange(30) < 15, 1.0, 0.985)
    assert steps(small) == []
    assert [step.at for step in steps(small, least=0.01)] == [15]  # so the step is there to be seen


def test_short_flat_and_repeated() -> None:
    assert steps([]) == steps([100.0]) == steps([100.0] * (2 * SHORTEST - 1)) == []
    assert steps([100.0] * 40) == []
    jump = [100.0] * 12 + [50.0] * 12
    assert steps(jump) == steps(jump)
    assert [step.at for step in steps(jump)] == [12]


def test_only_the_newest_nights_are_looked_at_and_places_count_from_the_first() -> None:
    draws = np.random.default_rng(7)
    values = 100 * np.exp(draws.normal(0, 0.005, 400))
    values[370:] *= 0.8
    values[:50] *= 0.5
    assert [step.at for step in steps(values)] == [370]
