"""The bench's gate, states and order, on planted engines whose id of a byte is its value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from tokassay.engines.client import Unsupported
from tokassay.engines.roster import EngineSpec, load_roster
from tokassay.harness.bench import (
    PIECE,
    PLAIN,
    STATES,
    Cell,
    Contestant,
    NoReference,
    Reference,
    Result,
    contestant,
    opener,
    relabelled,
    run_cell,
)
from tokassay.harness.bench_load import LoadRow, run_load
from tokassay.harness.errors import InputError
from tokassay.harness.load import Loaded, load_vocabulary
from tokassay.harness.rates import percentile
from tokassay.harness.texts import Half, Text, load_text

A, B = b"first..." + b"cold text " * 700, b"second.." + b"warm text " * 900
Cells = Callable[..., dict[str, Result]]


@pytest.fixture(scope="module")
def roster() -> dict[str, EngineSpec]:
    return load_roster(Path(__file__).parents[1] / "engines" / "planted" / "speedy.toml", base=None)


@pytest.fixture(scope="module")
def gpt2() -> Loaded:
    return load_vocabulary("gpt2")


@pytest.fixture
def bench(roster: dict[str, EngineSpec], gpt2: Loaded, tmp_path: Path) -> Cells:
    """bench(engine, ..., entry=, repeat=, states=, references=) -> results by state."""

    def run(
        *names: str, entry: str = "whole", references: tuple[str, ...] = ("none",), **options: Any
    ) -> dict[str, Result]:
        text = Text("test", "a test's", (), (), Half(A), Half(B))
        logged = [
            Contestant(name, roster[name], {"log": str(tmp_path / "log"), "as": f"{name}{place}"})
            for place, name in enumerate(names)
        ]
        open_one = opener(roster)
        reference = Reference([contestant(name, roster) for name in references], open_one)
        results = run_cell(Cell(gpt2, text, entry), logged, open_one=open_one, reference=reference, **options)
        return {result.state: result for result in results}

    return run


def log(tmp_path: Path) -> list[list[str]]:
    """Name, process and what happened, in order."""
    return [line.split(" ", 2) for line in (tmp_path / "log").read_text("utf-8").splitlines()]


# -- the gate ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", ["whole", "documents-list", "batch-flat", "batch-list"])
def test_the_control_is_exact_in_every_entry(bench: Cells, entry: str) -> None:
    results = bench("none", entry=entry, repeat=1)
    for state in ("cold", "warm"):
        (row,) = results[state].rows
        assert row.exact, row
        speed = row.speed(len(results[state].half.data))
        assert speed is not None and speed.median > 0


@pytest.mark.parametrize(
    ("fault", "entry", "detail"),
    [
        ("wrong", "whole", "document 0 of 1 (of 1 that differ), token 2: 115, should be 114"),
        ("wrong", "documents-list", "document 0 of 2 (of 2 that differ), token 2: 115, should be 114"),
        # 7,008 bytes, the last of them a space.
        ("wrong-when-timed", "whole", "document 0 of 1 (of 1 that differ), token 7007: 33, should be 32"),
        ("drops-last", "whole", "document 0 of 1 (of 1 that differ), token 7007: the end, should be 32"),
        ("wrong-border", "batch-flat", "document 0 of 2 (of 2 that differ), token 4095: the end, should be"),
    ],
)
def test_a_wrong_id_has_no_speed(bench: Cells, fault: str, entry: str, detail: str) -> None:
    """Not even one that is wrong only while it is timed, or whose ids are right but for a border."""
    results = bench(fault, "none", entry=entry, repeat=2, states=("cold",))
    wrong, right = results["cold"].rows
    assert (wrong.verdict, wrong.cpu_ns, wrong.ratio) == ("void", [], None)
    assert wrong.detail.startswith(detail)
    assert wrong.speed(1) is None
    assert right.exact and len(right.cpu_ns) == 2
    assert right.ratio is None  # the void one is no rival


def test_wrong_only_when_warm_is_void_only_there(bench: Cells) -> None:
    results = bench("wrong-when-warm", repeat=1)
    assert results["cold"].rows[0].exact
    assert results["warm"].rows[0].verdict == "void"


@pytest.mark.parametrize("fault", ["later-list", "later-buffer", "generator"])
def test_a_lazy_object_has_no_speed(bench: Cells, fault: str) -> None:
    (row,) = bench(fault, repeat=1, states=("cold",))["cold"].rows
    assert row.verdict == "void" and not row.cpu_ns
    assert "TypeError" in row.detail


@pytest.mark.parametrize(
    ("fault", "verdict", "detail"),
    [
        ("raises", "void", "ValueError: planted"),
        ("dies", "crash", "SIGABRT"),
        ("dies-loading", "crash", "SIGABRT"),
        ("no-list", "error", "must give lists"),
    ],
)
def test_who_falls_has_a_verdict_and_stops_nobody(bench: Cells, fault: str, verdict: str, detail: str) -> None:
    entry = "documents-list" if fault == "no-list" else "whole"
    fallen, right = bench(fault, "none", entry=entry, repeat=2, states=("cold",))["cold"].rows
    assert fallen.verdict == verdict and detail in fallen.detail
    assert len(right.cpu_ns) == 2


def test_where_nothing_can_verify_there_is_no_speed(bench: Cells) -> None:
    (row,) = bench("none", references=("dies-loading", "dies-loading"), repeat=1, states=("cold",))["cold"].rows
    assert row.verdict == "unverified" and "SIGABRT" in row.detail and not row.cpu_ns


def test_the_second_reference_stands_in(bench: Cells) -> None:
    result = bench("none", references=("dies-loading", "none"), repeat=1, states=("cold",))["cold"]
    assert result.rows[0].exact
    assert result.source == "none 1.0"


@pytest.mark.parametrize("kind", ["letters", "spaces", "ideographs"])
def test_merging_alone_is_a_reference_for_what_is_one_pretoken(gpt2: Loaded, kind: str) -> None:
    """By tiktoken itself, whose scan of a text of this size still works; it stands in last, and for such text only."""
    engines = load_roster()
    open_one = opener(engines)
    tiktoken, piece = (contestant(name, engines) for name in ("tiktoken", PIECE))
    text = load_text(kind, 3_000)
    right = Reference([tiktoken], open_one).expected(gpt2, text.a, False)
    alone = Reference([], open_one, piece).expected(gpt2, text.a, False)
    assert (alone.digest, alone.source) == (right.digest, f"{PIECE} 0.14.0")
    assert Reference([tiktoken], open_one, piece).expected(gpt2, text.a, False).source == "tiktoken 0.14.0"
    with pytest.raises(NoReference):
        Reference([], open_one, piece).expected(gpt2, Half(b"two words"), False)


def test_the_oracle_is_the_reference_for_the_longest_match(gpt2: Loaded) -> None:
    """Which tiktoken does not compute; for byte-pair encoding it is never asked."""
    engines = load_roster()
    open_one = opener(engines)
    tiktoken, plain = (contestant(name, engines) for name in ("tiktoken", PLAIN))
    reference = Reference([tiktoken], open_one, plain=plain)
    greedy = load_vocabulary("gpt2@greedy-longest")
    text = Text("test", "a test's", (), (), Half(A), Half(B))
    for entry in ("whole", "documents-list", "batch-flat", "batch-list"):
        (result,) = run_cell(
            Cell(greedy, text, entry), [contestant("dat-greedy", engines)], open_one=open_one, reference=reference,
            states=("cold",), repeat=1,
        )
        assert result.rows[0].exact, result.rows[0]
        assert result.source.startswith("oracle ")
    assert reference.expected(gpt2, text.a, False).source == "tiktoken 0.14.0"
    with pytest.raises(NoReference):
        Reference([tiktoken], open_one).expected(greedy, text.a, False)


def test_the_oracle_is_the_reference_over_pieces() -> None:
    """And not tokenizers, which would be believed first: it has no file here, and other arithmetic where it has one."""
    engines = load_roster()
    tokenizers, plain = (contestant(name, engines) for name in ("tokenizers", PLAIN))
    folder = Path(str(files("tokassay.fixtures").joinpath("vectors", "files")))
    pieces = load_vocabulary(folder / "ties.model")
    text = Text("test", "a test's", (), (), Half(b"ooooo o"), Half(b"oo.ooo"))
    (result,) = run_cell(
        Cell(pieces, text, "whole"), [contestant("sentencepiece", engines)], open_one=opener(engines),
        reference=Reference([tokenizers], opener(engines), plain=plain), states=("cold",), repeat=1,
    )
    assert result.rows[0].exact and result.source.startswith("oracle ")


# -- states and order -------------------------------------------------------------------------------------


def test_warm_is_timed_on_other_text_after_the_cold_one_in_the_same_process(bench: Cells, tmp_path: Path) -> None:
    results = bench("none", repeat=1)
    (load, cold, warm) = log(tmp_path)
    assert (load[2], cold[2][:8], warm[2][:8]) == ("load", "first...", "second..")
    assert load[1] == cold[1] == warm[1]
    assert results["cold"].half.data != results["warm"].half.data
    assert results["cold"].digest != results["warm"].digest
    chunks = [{half.data[i : i + 64] for i in range(0, len(half.data) - 64)} for half in (Half(A), Half(B))]
    assert not chunks[0] & chunks[1]


def test_replay_is_measured_only_where_asked_and_on_the_first_text_again(bench: Cells, tmp_path: Path) -> None:
    results = bench("none", repeat=1, states=("replay",))
    assert list(results) == ["replay"]
    assert [line[2][:8] for line in log(tmp_path)] == ["load", "first...", "second..", "first..."]
    assert STATES == ("cold", "first", "warm", "replay")


def test_engines_take_turns_each_time_in_a_fresh_process(bench: Cells, tmp_path: Path) -> None:
    bench("none", "slow", "window", repeat=3, states=("cold",))
    loads = [line for line in log(tmp_path) if line[2] == "load"]
    assert [line[0] for line in loads] == ["none0", "slow1", "window2"] * 3
    assert len({line[1] for line in loads}) == 9


def test_the_slower_one_is_behind_the_faster(bench: Cells) -> None:
    """Not a figure: the planted engine does work that the other does not, on the same bytes."""
    slow, fast = bench("slow", "none", repeat=3, states=("cold",))["cold"].rows
    assert slow.ratio is not None and fast.ratio is not None
    assert slow.ratio.median < 1 < fast.ratio.median
    assert (slow.ratio_to, fast.ratio_to) == ("none", "slow")


# -- loading ----------------------------------------------------------------------------------------------


def test_load_is_measured_with_the_first_hundred_bytes(roster: dict[str, EngineSpec], gpt2: Loaded) -> None:
    open_one = opener(roster)
    who = [contestant(name, roster) for name in ("none", "wrong", "dies-loading")]
    rows = run_load(
        gpt2, Half(A[:100]), who, open_one=open_one, reference=Reference(who[:1], open_one), repeat=2
    )
    assert [row.verdict for row in rows] == ["exact", "void", "crash"]
    assert len(rows[0].load_ns) == len(rows[0].first_cpu_ns) == 2
    assert [row.to_json()["ms"] is None for row in rows] == [False, True, True]
    assert [row.to_json()["cpu_ms_p95"] is None for row in rows] == [False, True, True]
    assert {row.state for row in rows} == {"warm"}


def test_cold_and_warm_take_turns(roster: dict[str, EngineSpec], gpt2: Loaded, tmp_path: Path) -> None:
    """Before each cold load the engine's process has started, and is given the paths that it will read."""
    seen: list[list[str]] = []

    def before(paths: Any) -> None:
        with (tmp_path / "log").open("a", encoding="utf-8") as out:
            out.write("- - dropped\n")
        seen.append([Path(path).name for path in paths])

    who = [Contestant("none", roster["none"], {"log": str(tmp_path / "log")})]
    rows = run_load(
        gpt2, Half(A[:100]), who, open_one=opener(roster), open_cold=opener(roster, before_load=before), repeat=2,
        reference=Reference([contestant("none", roster)], opener(roster)),
    )
    assert [(row.engine, row.state, row.verdict, len(row.load_ns)) for row in rows] == [
        ("none", "cold", "exact", 2), ("none", "warm", "exact", 2)]
    assert [line[2] for line in log(tmp_path) if line[2] in ("dropped", "load")] == ["dropped", "load", "load"] * 2
    assert {"vocab.tiktoken", "tokenizer.json"} <= set(seen[0]) and len(seen) == 2


def test_what_cannot_be_cold_has_no_cold_figure(roster: dict[str, EngineSpec], gpt2: Loaded) -> None:
    def kept(paths: Any) -> None:
        raise Unsupported("vocab.tiktoken stays in the page cache")

    who = [contestant("none", roster)]
    cold, warm = run_load(
        gpt2, Half(A[:100]), who, open_one=opener(roster), open_cold=opener(roster, before_load=kept), repeat=2,
        reference=Reference(who, opener(roster)),
    )
    assert (cold.verdict, cold.detail) == ("unsupported", "vocab.tiktoken stays in the page cache")
    assert (cold.to_json()["ms"], warm.verdict) == (None, "exact")


def test_a_percentile_is_the_nearest_rank() -> None:
    """By the definition of the nearest rank: the ceil(share * n)-th of the sorted values."""
    values = [float(value) for value in range(1, 21)]
    assert (percentile(values, 0.95), percentile(values, 0.5), percentile(values[:7], 0.95)) == (19.0, 10.0, 7.0)
    assert percentile([3.0, 1.0, 2.0], 0.95) == 3.0
    assert percentile([5.0], 0.0) == 5.0


def test_load_and_first_call_are_added() -> None:
    row = LoadRow("a", load_ns=[2_000_000], load_cpu_ns=[1_000_000], first_ns=[500_000], first_cpu_ns=[250_000])
    assert (row.total_ms(cpu=False), row.total_ms(cpu=True)) == ([2.5], [1.25])


# -- contestants ------------------------------------------------------------------------------------------


def test_one_engine_under_two_names(roster: dict[str, EngineSpec]) -> None:
    written = ("none", "again=none", "none#2", "none", "b=none==1.2")
    roster = {"none": replace(roster["none"], accepts=("level",), requirement="planted==1.2")}
    made = relabelled([contestant(one, roster) for one in written])
    assert [one.label for one in made] == ["none", "again", "none#2", "none#3", "b"]
    assert {one.spec.name for one in made} == {"none"}
    one = contestant("fast=none[level=avx2]", roster)
    assert (one.label, one.options) == ("fast", {"level": "avx2"})


@pytest.mark.parametrize("written", ["wrong=none", "wrong#2=none", "none=none[level=avx2]"])
def test_a_label_is_no_other_engines_name(roster: dict[str, EngineSpec], written: str) -> None:
    """Reports, history and the gate know a row by its label alone: `wrong` would have the speed of `none`."""
    roster = {**roster, "none": replace(roster["none"], accepts=("level",))}
    with pytest.raises(InputError) as caught:
        contestant(written, roster)
    assert "is the name of" in str(caught.value) and caught.value.where == "--engines" and caught.value.remedy


def test_the_order_is_drawn_by_the_seed(bench: Cells, tmp_path: Path) -> None:
    bench("none", "window", repeat=6, states=("cold",), seed=1)
    loads = [line[0] for line in log(tmp_path) if line[2] == "load"]
    rounds = list(zip(loads[::2], loads[1::2], strict=True))
    assert {tuple(sorted(one)) for one in rounds} == {("none0", "window1")} and len(set(rounds)) == 2


def test_options_are_written_after_the_name(roster: dict[str, EngineSpec]) -> None:
    accepts = ("cache_bits", "fast", "level")
    roster = {"none": replace(roster["none"], accepts=accepts)}
    made = contestant("none[cache_bits=0,fast=true,level=avx2]", roster)
    assert (made.label, made.spec.name) == ("none[cache_bits=0,fast=true,level=avx2]", "none")
    assert made.options == {"cache_bits": 0, "fast": True, "level": "avx2"}
    for wrong in ("none[level=1", "none[level]", "none[a=1]", "none[level=1,level=1]", "nobody"):
        with pytest.raises(InputError):
            contestant(wrong, roster)


def test_an_engine_without_the_entry_is_unsupported(
    roster: dict[str, EngineSpec], gpt2: Loaded, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.py"
    bare.write_text(
        Path(roster["none"].adapter).read_text("utf-8").replace('entries = ("whole", ', 'entries = ('), "utf-8"
    )
    open_one = opener(roster)
    text = Text("test", "a test's", (), (), Half(A), Half(B))
    who = [Contestant("bare", replace(roster["none"], adapter=bare))]
    reference = Reference([contestant("none", roster)], open_one)

    def with_spec(one: Contestant, loaded: Loaded) -> Any:
        return opener({one.spec.name: one.spec})(one, loaded)

    (result,) = run_cell(
        Cell(gpt2, text, "whole"), who, open_one=with_spec, reference=reference, states=("cold",), repeat=1
    )
    assert result.rows[0].verdict == "unsupported", result.rows[0]
