"""Rankings by hand: only over common cells, with coverage; who shares none is ranked apart."""

from __future__ import annotations

from typing import Any

import pytest
from tokassay.harness.bench_rank import rankings

SIZE = 1_000_000


def cell(text: str, **speeds: float | None) -> dict[str, Any]:
    """A cell in which each engine had this many MB/s in each of seven rounds; None: void."""
    rows = [
        {
            "engine": engine, "verdict": "exact" if speed else "void",
            "cpu_ns": [int(SIZE * 1000 / speed)] * 7 if speed else [],
            "ns": [int(SIZE * 1000 / speed / 4)] * 7 if speed else [],
            "mb_s": {"median": speed} if speed else None, "wall_mb_s": {"median": 4 * speed} if speed else None,
        }
        for engine, speed in speeds.items()
    ]
    return {"vocab": "v", "entry": "whole", "state": "warm", "threads": 1, "domain": "neutral", "text": text,
            "engines": rows}


def test_a_ranking_is_over_what_all_ranked_engines_verified() -> None:
    cells = [cell("english", a=100.0, b=50.0), cell("code", a=4.0, b=18.0), cell("cjk", a=None, b=900.0)]
    (made,) = rankings(cells, ["b"])
    assert made["cells"] == ["english", "code"] and made["unverified"] == [] and not made["apart"]
    # sqrt(50 * 18) = 30 and sqrt(100 * 4) = 20: what b did alone does not count
    assert [(row["engine"], row["mb_s"]) for row in made["engines"]] == [("b", 30.0), ("a", 20.0)]
    assert [(row["verified"], row["asked"], row["ours"]) for row in made["engines"]] == [(3, 3, True), (2, 3, False)]
    first, second = made["engines"]
    assert first["ratio"] is None and second["ratio"]["median"] == pytest.approx(2 / 3, rel=1e-4)
    assert second["ratio"]["resolved"]


def test_the_ratio_is_to_the_first_and_paired_by_round() -> None:
    cells = [cell("english", a=10.0, b=20.0), cell("code", a=10.0, b=80.0)]
    (made,) = rankings(cells, [])
    assert [row["engine"] for row in made["engines"]] == ["b", "a"]
    ratio = made["engines"][1]["ratio"]
    assert ratio == {"median": 0.25, "low": 0.25, "high": 0.25, "resolved": True}  # 1 / sqrt(2 * 8)


def test_who_shares_no_cell_is_ranked_apart_and_empties_nothing() -> None:
    cells = [cell("english", a=10.0, b=20.0, c=None, d=None), cell("code", a=10.0, b=20.0, c=None, d=None),
             cell("bytes", a=None, b=None, c=99.0, d=None)]
    main, apart = rankings(cells, ["d"])
    assert (main["cells"], [row["engine"] for row in main["engines"]]) == (["english", "code"], ["b", "a"])
    assert (apart["cells"], [row["engine"] for row in apart["engines"]]) == (["bytes"], ["c"])
    assert apart["apart"] and not main["apart"]
    assert main["unverified"] == [{"engine": "d", "verified": 0, "asked": 3, "ours": True}]
    assert apart["unverified"] == []


def test_cells_of_another_state_or_number_of_threads_are_another_ranking() -> None:
    one, cold, two = (cell("english", a=10.0, b=20.0) for _ in range(3))
    cold["state"], two["threads"] = "cold", 2
    made = rankings([one, cold, two], [])
    assert [(each["state"], each["threads"]) for each in made] == [("warm", 1), ("cold", 1), ("warm", 2)]
    assert [each["engines"][0]["mb_s"] for each in made] == [20.0, 20.0, 80.0]  # with threads: of wall time


def test_where_nobody_verified_anything_there_is_a_ranking_of_nobody() -> None:
    (made,) = rankings([cell("english", a=None)], [])
    assert (made["cells"], made["engines"], made["unverified"][0]["engine"]) == ([], [], "a")
