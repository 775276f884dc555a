"""Growth and two threads, on planted engines whose id of a byte is its value."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from tokassay.engines.roster import EngineSpec, load_roster
from tokassay.harness import bench_threads
from tokassay.harness.bench import Cell, Opener, Reference, contestant, opener
from tokassay.harness.bench_growth import GrowthRow, run_growth
from tokassay.harness.bench_threads import ThreadsRow, cut_in_two, run_threads
from tokassay.harness.load import Loaded, load_vocabulary
from tokassay.harness.rates import spread
from tokassay.harness.texts import Half, Text


@pytest.fixture(scope="module")
def roster() -> dict[str, EngineSpec]:
    return load_roster(Path(__file__).parents[1] / "engines" / "planted" / "speedy.toml", base=None)


@pytest.fixture(scope="module")
def gpt2() -> Loaded:
    return load_vocabulary("gpt2")


def test_growth_is_of_two_sizes_and_only_of_exact_ids(roster: dict[str, EngineSpec], gpt2: Loaded) -> None:
    open_one = opener(roster)
    who = [contestant(name, roster) for name in ("none", "wrong")]
    rows = run_growth(
        gpt2, who, open_one=open_one, reference=Reference(who[:1], open_one), repeat=1,
        kinds=(("letters", 9_000), ("unique", 8_000)), small=900,
    )
    assert [(row.kind, row.engine) for row in rows] == [
        ("letters", "none"), ("letters", "wrong"), ("unique", "none"), ("unique", "wrong")
    ]
    assert [row.growth is None for row in rows] == [False, True, False, True]
    assert rows[1].verdicts == {900: "void", 9_000: "void"}
    assert rows[0].peak[9_000] > 1 << 20
    assert [[size["bytes"] for size in row.to_json()["sizes"]] for row in rows[1:3]] == [[900, 9_000], [900, 8_000]]


def test_growth_is_time_a_byte_over_time_a_byte() -> None:
    row = GrowthRow("letters", "a", ns_byte={64: spread([2.0]), 16_000: spread([3.0])})
    assert row.growth == 1.5
    assert GrowthRow("letters", "a", ns_byte={64: spread([2.0]), 16_000: None}).growth is None


def test_threads_and_processes_are_verified_alike(
    roster: dict[str, EngineSpec], gpt2: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_threads, "LEAD_NS", 300_000_000)
    cpu = min(os.sched_getaffinity(0))
    opened: list[tuple[int, tuple[int, ...]]] = []

    def opener_on(threads: int, cpus: Sequence[int]) -> Opener:
        opened.append((threads, tuple(cpus)))
        return opener(roster, threads=threads, cpus=cpus)

    text = Text("test", "a test's", (), (), Half(b"some words " * 2_000), Half(b""))
    who = [contestant(name, roster) for name in ("none", "wrong-border")]
    reference = Reference(who[:1], opener(roster))
    rows = run_threads(
        Cell(gpt2, text, "batch-flat"), who, opener_on=opener_on, reference=reference, cpus=(cpu, cpu), repeat=1
    )
    assert reference.sources == {"none 1.0"}
    assert [row.verdict for row in rows] == ["exact", "void"]
    assert [len(times) for times in (rows[0].one, rows[0].threads, rows[0].processes)] == [1, 1, 1]
    assert rows[1].gains() is None and rows[1].to_json()["ratio"] is None
    assert opened[:4] == [(1, (cpu,)), (2, (cpu, cpu)), (1, (cpu,)), (1, (cpu,))]


def test_gains_are_of_wall_time_in_the_same_repetition() -> None:
    row = ThreadsRow("a", "whole", one=[100, 200], threads=[50, 125], processes=[50, 100])
    gains = row.gains()
    assert gains is not None
    threads, processes, ratio = gains
    assert (threads.max, threads.min) == (2.0, 1.6)
    assert (processes.median, ratio.min, ratio.max) == (2.0, 0.8, 1.0)


def test_both_halves_are_the_whole() -> None:
    whole = Half(b"0123456789" * 2_000, 4096)
    first, second = cut_in_two(whole)
    assert first.data + second.data == whole.data
    assert first.borders[-1] in whole.borders and second.document == 4096
