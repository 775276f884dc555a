"""Liars in a bench: each has no speed, or only the one that its text and state are named with."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tokassay.engines.client import Measured
from tokassay.engines.roster import EngineSpec, load_roster
from tokassay.harness import bench_run, cli, proof
from tokassay.harness.bench import Cell, Contestant, Reference, Result, contestant, fault, opener, run_cell
from tokassay.harness.compare import Output
from tokassay.harness.load import Loaded, load_vocabulary
from tokassay.harness.texts import Half, Text
from tokassay.reports.json import schema

PLANTED = Path(__file__).parents[1] / "engines" / "planted" / "liars.toml"
CPU = str(min(os.sched_getaffinity(0)))
TEXT = Text(
    "test", "a test's", (), (), Half(b"first, cold words of one kind. " * 300), Half(b"other, warm words. " * 500)
)
GATE = """
vocabularies = ["gpt2"]
[[corpus]]
spec = "classes:1"
[[corpus]]
spec = "lengths:260"
"""
Bench = Callable[..., dict[str, Result]]


@pytest.fixture(scope="module")
def roster() -> dict[str, EngineSpec]:
    return load_roster(PLANTED)


@pytest.fixture(scope="module")
def gpt2() -> Loaded:
    return load_vocabulary("gpt2")


@pytest.fixture
def bench(roster: dict[str, EngineSpec], gpt2: Loaded, tmp_path: Path) -> Bench:
    """bench(engine, entry=, states=, repeat=, threads=): the timed part alone, without the gate. By state."""

    def run(name: str, entry: str = "whole", threads: int = 1, **options: Any) -> dict[str, Result]:
        who = Contestant(name, roster[name], {"log": str(tmp_path / "log")})
        results = run_cell(
            Cell(gpt2, TEXT, entry, threads), [who], open_one=opener(roster, threads=threads), repeat=1,
            reference=Reference([contestant("tiktoken", roster)], opener(roster)), **options,
        )
        return {result.state: result for result in results}

    return run


def calls(tmp_path: Path) -> list[list[tuple[str, str]]]:
    """For each process, in order: what each call was handed (by digest), and whether it had seen it before."""
    processes: dict[str, list[tuple[str, str]]] = {}
    for line in (tmp_path / "log").read_text("utf-8").splitlines():
        process, *what = line.split()
        if what != ["load"]:
            processes.setdefault(process, []).append((what[0], what[1]))
    return list(processes.values())


# -- caught by the digest of the timed output itself --------------------------------------------------------------


def test_who_returns_early_and_finishes_in_a_thread_has_no_speed(bench: Bench) -> None:
    """The ids are copied as the clock stops: what a thread writes later is in no digest."""
    (row,) = bench("finishes-later", states=("cold",))["cold"].rows
    assert (row.verdict, row.cpu_ns) == ("void", [])
    assert "token 0: 0, should be " in row.detail


def test_work_that_other_threads_go_on_with_is_no_work_saved(gpt2: Loaded, roster: dict[str, EngineSpec]) -> None:
    """Right ids, but a fifth and more of the time of the call was spent by others when it had returned."""
    cell = Cell(gpt2, TEXT, "whole")
    reference = Reference([contestant("tiktoken", roster)], opener(roster))
    right = reference.expected(gpt2, TEXT.a, False)

    def told(late_ns: int) -> Measured:
        return Measured(
            "whole", [1], [50_000_000], 0, 0, 1, 0, [], 0, [right.digest], right.digest, [], "ndarray", 1, [late_ns]
        )

    host: Any = None  # it is not asked
    who = contestant("honest", roster)
    assert fault(cell, who, TEXT.a, told(9_000_000), host, reference) == ""
    assert "other threads went on working" in fault(cell, who, TEXT.a, told(11_000_000), host, reference)


def test_who_is_right_on_the_second_call_only_has_no_speed_in_any_state(bench: Bench) -> None:
    results = bench("right-on-second", states=("cold", "warm"))
    assert {state: result.rows[0].verdict for state, result in results.items()} == {"cold": "void", "warm": "void"}
    (row,) = bench("right-on-second", states=("warm",))["warm"].rows  # whose first pass nobody asked for
    assert row.verdict == "void" and "in the pass before it (cold): document 0 of 1" in row.detail


def test_the_small_call_before_the_first_pass_is_verified_too(bench: Bench, tmp_path: Path) -> None:
    (row,) = bench("right-on-second", states=("first",))["first"].rows
    assert row.verdict == "void" and "(a small call)" in row.detail
    (row,) = bench("honest", states=("first",))["first"].rows
    assert row.exact and [len(one) for one in calls(tmp_path)] == [1, 2]  # the liar fell with its first


def test_each_number_of_threads_is_verified_by_itself(bench: Bench) -> None:
    assert bench("wrong-in-threads", "batch-flat", states=("cold",))["cold"].rows[0].exact
    (row,) = bench("wrong-in-threads", "batch-flat", threads=2, states=("cold",))["cold"].rows
    assert row.verdict == "void"


def test_decoding_is_held_to_the_documents(bench: Bench) -> None:
    (row,) = bench("honest", "decode", states=("cold",))["cold"].rows
    assert row.exact and row.form == "bytes"
    (row,) = bench("splits", "decode", states=("cold",))["cold"].rows
    assert row.verdict == "void" and "the ids that it decodes, its own, are not the reference's" in row.detail
    (row,) = bench("decodes-wrong", "decode", states=("cold",))["cold"].rows
    assert row.verdict == "void" and "document 0 of 3" in row.detail


def test_files_are_written_before_the_clock_and_read_in_it(bench: Bench, tmp_path: Path) -> None:
    (row,) = bench("honest", "file", states=("cold",))["cold"].rows
    assert row.exact, row
    documents = len(TEXT.a.borders) - 1
    size = len(TEXT.a.data) + (documents - 1) * len(b"\x1e<|document|>\x1e")
    assert (tmp_path / "log").read_text("utf-8").split()[3:5] == ["file", str(size)]


# -- caught by which documents are timed --------------------------------------------------------------------------


@pytest.mark.parametrize("lie", ["caches", "replay-only"])
def test_nothing_is_timed_that_the_process_has_seen_unless_replay_is_named(
    bench: Bench, tmp_path: Path, lie: str
) -> None:
    """A cache of documents wins nothing in the states that are measured by default."""
    results = bench(lie, states=("cold", "first", "warm"))
    assert all(result.rows[0].exact for result in results.values())
    processes = calls(tmp_path)
    assert len(processes) == 2  # one for cold and warm, one for first
    assert {seen for process in processes for _, seen in process} == {"new"}
    (tmp_path / "log").unlink()
    results = bench(lie, states=("replay",))
    assert list(results) == ["replay"] and results["replay"].state == "replay"
    assert [[seen for _, seen in process] for process in calls(tmp_path)] == [["new", "new", "seen"]]
    assert results["replay"].half.sha256 == TEXT.a.sha256


# -- caught by the gate -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("liars")
    (folder / "tiny.toml").write_text(GATE, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    with pytest.raises(SystemExit) as stop:
        cli.main([
            "bench", "--vocab", "gpt2", "--text", "unique", "--size", "0.01", "--repeat", "1", "--cpu", CPU, "--proof",
            "tiny.toml", "--roster", str(PLANTED), "--json", *arguments,
        ])
    return int(stop.value.code or 0), json.loads(capsys.readouterr().out)


def test_who_is_wrong_on_long_pieces_has_no_speed(
    bench: Bench, workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right on every text of real words, so that no digest of a timed output shows it."""
    assert bench("long-piece", states=("cold",))["cold"].rows[0].exact
    # As if the suite of these tests had all that a gate suite has: only then there is a ranking.
    monkeypatch.setattr(bench_run, "lacking", lambda suite: ())
    code, report = run(capsys, "--engine", "long-piece,honest", "--entry", "whole")
    jsonschema.validate(report, json.loads(schema("bench")))
    assert code == 0
    for cell in report["cells"]:
        liar, honest = cell["engines"]
        assert (liar["verdict"], liar["mb_s"], liar["cpu_ns"], liar["proved"]) == ("void", None, [], "")
        assert "lengths:260: lengths letters 201: differ" in liar["detail"] and "should be" in liar["detail"]
        assert (honest["verdict"], honest["proved"]) == ("exact", "neutral")
    proofs = {one["engine"]: one for one in report["proofs"]}
    assert not proofs["long-piece"]["passed"] and proofs["honest"]["passed"]
    assert [row["engine"] for one in report["ranking"] for row in one["engines"]] == ["honest", "honest"]
    # The command that it shows does show it.
    command = proofs["long-piece"]["command"].split()
    assert command[:3] == ["tokassay", "diff", "long-piece"] and command == report["cells"][0]["engines"][0][
        "command"].split()
    with pytest.raises(SystemExit) as stop:
        cli.main(command[1:])
    assert stop.value.code == 1


def test_a_second_bench_proves_nothing_again(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(capsys, "--engine", "honest", "--entry", "whole")[1]

    def refused(*_: Any) -> None:
        raise AssertionError("asked again")

    monkeypatch.setattr(proof, "run_block", refused)
    second = run(capsys, "--engine", "other=honest", "--entry", "whole")[1]
    assert [one["reused"] for one in second["proofs"]] == [True]
    assert second["proofs"][0]["key"] == first["proofs"][0]["key"]
    assert second["cells"][0]["engines"][0]["engine"] == "other"
    code, told = run(capsys, "--engine", "honest", "--entry", "batch-flat")  # another entry point is another proof
    assert (code, told["error"]) == (5, "AssertionError: asked again")


def test_a_wrong_output_in_a_block_is_of_the_outputs_own(gpt2: Loaded) -> None:
    """`decoded` by hand: what decoding must give are the documents, cut where the text is."""
    from tokassay.harness.bench import Expected, decoded

    half = Half(b"ab" * 5000)
    made = decoded(half, Expected("", Output.__new__(Output), "who"))
    assert [made.output.of(i).tobytes() for i in range(3)] == [half.data[:4096], half.data[4096:8192], half.data[8192:]]
