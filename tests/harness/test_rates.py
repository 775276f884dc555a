"""Ratios, spreads and means, by hand."""

from __future__ import annotations

import pytest
from tokassay.harness.rates import Row, compare, geometric_mean, spread


def row(engine: str, *cpu_ns: int) -> Row:
    return Row(engine, cpu_ns=list(cpu_ns), ns=list(cpu_ns))


def test_a_speed_is_megabytes_a_second() -> None:
    made = row("a", 10_000_000, 20_000_000, 40_000_000).speed(8_000_000)
    assert made is not None
    assert (made.median, made.min, made.max) == (400.0, 200.0, 800.0)
    calls = row("a", 1_000, 3_000, 2_000).per_call(10)
    assert calls is not None and calls.median == 200


def test_without_exact_ids_there_is_no_speed() -> None:
    one = row("a", 10, 20)
    one.fail("void", "document 3")
    assert one.speed(100) is None and one.per_call(1) is None
    assert (one.cpu_ns, one.ns, one.exact) == ([], [], False)
    assert not Row("never asked").exact


def test_ratios_are_paired_by_repetition_and_to_the_best_exact_rival() -> None:
    ours, best, slow, wrong = row("ours", 10, 20, 40), row("best", 20, 30, 60), row("slow", 90, 90, 90), row("wrong", 1)
    wrong.fail("void", "")
    compare([ours, best, slow, wrong])
    assert ours.ratio_to == "best" and ours.ratio is not None
    # 20/10, 30/20, 60/40
    assert (ours.ratio.median, ours.ratio.low, ours.ratio.high) == pytest.approx((1.5, 1.5, 2.0))
    assert not ours.ratio.resolved  # three rounds resolve nothing
    assert best.ratio_to == slow.ratio_to == "ours"
    assert best.ratio is not None and best.ratio.median == pytest.approx(2 / 3)
    assert wrong.ratio is None


def test_alone_there_is_no_ratio() -> None:
    one = row("a", 5)
    compare([one])
    assert one.ratio is None and one.ratio_to == ""


def test_means_and_spreads() -> None:
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert geometric_mean([]) is None
    assert spread([3, 1, 2]).to_json() == {"median": 2.0, "min": 1.0, "max": 3.0, "mad": 1.0, "low": 1.0, "high": 3.0}


def test_several_threads_are_compared_by_wall_time() -> None:
    one, other = row("one", *[10] * 7), row("other", *[20] * 7)
    one.ns, other.ns = [30] * 7, [15] * 7
    compare([one, other], wall=True)
    assert one.ratio is not None and (one.ratio.median, one.ratio.resolved) == (0.5, True)
    compare([one, other])
    assert one.ratio.median == 2.0
