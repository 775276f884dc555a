"""Nights: two in a row ask nothing twice, a broken engine turns one red, a killed one goes on; budgets; the units."""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tokassay.engines.roster import load_roster
from tokassay.harness import nightly, selfdiff
from tokassay.harness.budget import Budget
from tokassay.harness.cli import main
from tokassay.harness.errors import InputError
from tokassay.harness.lanes import Lanes
from tokassay.harness.nightly import STAGES, WORST, At, Nights, Plan, worst
from tokassay.harness.suites import CorpusRequest, Suite

ROOT = Path(__file__).resolve().parents[2]
PLANTED = ROOT / "tests" / "engines" / "planted" / "planted.toml"
TEXTS = ["hello world", "a ~ and more", "naïve 日本語"]
SKIPPED = ("--skip", "fetch", "--skip", "install", "--skip", "self", "--skip", "bench")


def roster(path: Path, fault: str) -> Path:
    """A roster with one engine, `victim`, that is tiktoken with a planted fault; `honest` is none."""
    table = PLANTED.read_text("utf-8").split("\n\n")[1]
    table = table.replace("[honest]", "[victim]").replace('fault = "honest"', f'fault = "{fault}"')
    path.write_text(table.replace('adapter = "', f'adapter = "{PLANTED.parent}/'), encoding="utf-8")
    return path


# ---- real nights, in small


def test_two_nights_and_a_broken_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second night asks no unchanged row again; an engine that broke turns the third red, its divergence named."""
    monkeypatch.chdir(tmp_path)
    texts = tmp_path / "texts.jsonl"
    texts.write_text("\n".join(json.dumps({"text": text}) for text in TEXTS), encoding="utf-8")
    suite = tmp_path / "tiny.toml"
    suite.write_text(
        'engines = ["tiktoken"]\noperations = ["encode", "decode"]\n[[corpus]]\nspec = "specials"\n', encoding="utf-8"
    )

    def night(name: str, fault: str) -> tuple[int, dict[str, Any]]:
        words = ["nightly", "--dir", "work", "--suite", str(suite), "--corpus", f"{texts}@jsonl", "--night", name]
        words += ["--engine", "tiktoken", "--engine", "victim", "--roster", str(roster(tmp_path / "r.toml", fault))]
        with pytest.raises(SystemExit) as end:
            main([*words, *SKIPPED, "--skip", "report", "--jobs", "1", "--json"])
        return int(end.value.code or 0), json.loads(capsys.readouterr().out)

    code, first = night("one", "honest")
    assert code == 0 and first["baseline"] is None and first["accepted"]
    assert "no night before this one" in " ".join(first["stages"][5]["said"])
    code, second = night("two", "honest")
    assert code == 0 and second["baseline"] == "one"
    store = tmp_path / "work" / "tokassay.sqlite"
    with sqlite3.connect(store) as db:
        rows = db.execute("SELECT reused, documents FROM v_cell WHERE run = ?", (second["run"],)).fetchall()
        assert db.execute("SELECT COUNT(*) FROM result WHERE run = ?", (second["run"],)).fetchone() == (0,)
    assert all(reused for reused, _ in rows)
    assert sum(documents for _, documents in rows) == 2 * 2 * len(TEXTS)  # engines x operations x documents
    code, third = night("three", "one_byte")
    assert code == 1 and not third["accepted"] and third["baseline"] == "two"
    said = " ".join(third["stages"][5]["said"])
    assert "new divergence: victim under gpt2, differ" in said
    judged = json.loads((tmp_path / "work" / "nights" / "three" / "gate.json").read_text("utf-8"))
    assert {row["engine"] for row in judged["new"]} == {"victim"}
    assert sum(cell["worse"] for cell in judged["cells"] if cell["engine"] == "tiktoken") == 0
    assert judged["asked"]["again"] == {} and 2 * judged["asked"]["reused"] == len(rows)  # tiktoken's
    for name in ("gate.xml", "gate.sarif", "night.log", "night.json"):
        assert (tmp_path / "work" / "nights" / "three" / name).is_file()


# ---- stages


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Stages that do nothing but note that they were called, and end as the test says."""
    told: dict[str, Any] = {"calls": [], "codes": {}, "raise": None}

    def stage(name: str) -> Callable[[At], tuple[int, list[str]]]:
        def act(at: At) -> tuple[int, list[str]]:
            told["calls"].append(name)
            if told["raise"] == name:
                raise KeyboardInterrupt
            if name == "audit":
                at.night.run = f"run of {at.night.id}"
            if name == "gate":
                before = at.nights.baseline(at.night)
                at.night.baseline = before.id if before else None
            return told["codes"].get(name, 0), [f"{name} was here"]

        return act

    for name in STAGES:
        monkeypatch.setitem(STAGES, name, stage(name))
    yield told


def go(nights: Nights, plan: Plan, name: str | None = None) -> nightly.Night:
    return nightly.run(nights, nights.begin(plan, name), plan)


def test_a_killed_night_goes_on_where_it_stopped(tmp_path: Path, stages: dict[str, Any]) -> None:
    nights, plan = Nights(tmp_path), Plan()
    stages["raise"] = "self"
    with pytest.raises(KeyboardInterrupt):
        go(nights, plan)
    assert stages["calls"] == ["fetch", "install", "audit", "self"]
    stages["raise"], stages["calls"] = None, []
    night = go(nights, plan)
    assert stages["calls"] == ["self", "bench", "gate", "report"]
    assert [one.stage for one in night.stages] == list(STAGES) and night.finished and night.exit_code == 0
    assert len(nights.all()) == 1
    log = (nights.home(night.id) / "night.log").read_text("utf-8")
    assert log.count("audit: exit code 0") == 1 and "goes on with self" in log
    assert re.search(r"^\S+ self: exit code 0, \d+\.\d s\n\S+   self was here$", log, re.MULTILINE)
    stages["calls"] = []
    again = go(nights, plan)
    assert again.id != night.id and again.baseline == night.id and len(stages["calls"]) == len(STAGES)


def test_a_night_of_its_name_is_not_done_twice(tmp_path: Path, stages: dict[str, Any]) -> None:
    nights, plan = Nights(tmp_path), Plan()
    go(nights, plan, "n")
    stages["calls"] = []
    assert go(nights, plan, "n").exit_code == 0 and stages["calls"] == []
    with pytest.raises(InputError, match="begun with other options"):
        go(nights, Plan(suite="smoke"), "n")


def test_what_is_not_settled_is_asked_again_and_all_after_it(tmp_path: Path, stages: dict[str, Any]) -> None:
    nights, plan = Nights(tmp_path), Plan()
    stages["codes"] = {"bench": 5}
    assert go(nights, plan, "n").exit_code == 5
    stages["codes"], stages["calls"] = {}, []
    assert go(nights, plan, "n").exit_code == 0 and stages["calls"] == ["bench", "gate", "report"]


def test_the_exit_code_is_the_worst_in_the_stated_order() -> None:
    assert WORST == (1, 5, 2, 3, 4, 0)
    assert worst([]) == 0 and worst([0, 4, 3]) == 3 and worst([0, 5, 1, 2]) == 1 and worst([2, 4]) == 2
    assert worst([-9, 0]) == worst([143]) == 5


def test_known_mismatches_are_the_gates_to_judge(tmp_path: Path, stages: dict[str, Any]) -> None:
    """The first night is decided by its audit; from the second on only by what is new."""
    nights, plan = Nights(tmp_path), Plan()
    stages["codes"] = {"audit": 1, "self": 1}
    first = go(nights, plan, "1")
    assert first.exit_code == 1 and first.accepted
    second = go(nights, plan, "2")
    assert second.exit_code == 0 and second.accepted and second.baseline == "1"
    assert [one.stage for one in second.stages if not one.counts] == ["audit", "self"]
    stages["codes"] = {"audit": 1, "gate": 1}
    assert [go(nights, plan, name).baseline for name in ("3", "4")] == ["2", "2"]  # a red night is no baseline
    stages["codes"] = {"audit": 1}
    nights.accept("3")
    assert go(nights, plan, "5").baseline == "3"
    stages["codes"] = {"audit": 4}
    assert go(nights, plan, "6").exit_code == 4  # that nothing was verified is never known


def test_skipped_stages_are_told_and_others_are_not_skipped(
    tmp_path: Path, stages: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["nightly", "--dir", str(tmp_path / "w"), "--skip", "fetch", "--skip", "bench", "--json"])
    night = json.loads(capsys.readouterr().out)
    assert end.value.code == 0 and "fetch" not in stages["calls"] and "bench" not in stages["calls"]
    assert [one["said"] for one in night["stages"] if one["stage"] in ("fetch", "bench")] == [["left out"]] * 2
    for words, said in (
        (["--skip", "audit"], "cannot be left out"),
        (["--suite", "none"], "no suite named none"),
        (["--accept", "none"], "no night 'none'"),
        (["--night", "../x"], "cannot name a folder"),
    ):
        with pytest.raises(SystemExit) as end:
            main(["nightly", "--dir", str(tmp_path / "w"), *words])
        assert end.value.code == 2 and said in capsys.readouterr().err


def test_a_night_waits_for_the_commands_of_a_killed_one(tmp_path: Path) -> None:
    """The lock goes to the command that runs, so that it is held for as long as any of the two lives."""
    nights, lock = Nights(tmp_path), tmp_path / ".lock"
    with nightly.alone(lock, lambda _: None) as held:
        assert held is not None
        sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1.5)"], pass_fds=(held,))
    said: list[str] = []
    begun = time.monotonic()
    with nightly.alone(lock, said.append):
        assert sleeper.poll() is not None or time.monotonic() - begun > 1
    sleeper.wait()
    assert said == ["another night is at work in this folder; waiting for it"] and nights.all() == []


def test_what_is_fetched_is_neither_built_in_nor_a_path(tmp_path: Path) -> None:
    corpora = [CorpusRequest(spec, (), ()) for spec in ("battery", "fuzz:30", "kjv", f"{tmp_path}", "x@lines", "runs")]
    assert nightly.catalogued(corpora) == ["kjv"]
    assert nightly.texts_of("--vocab gpt2 --text english,code --size 1 --text cjk") == ["english", "code", "cjk"]


def test_a_bench_is_stored_once(tmp_path: Path) -> None:
    report = {"started": "a", "finished": "b", "command": "c", "tokassay": "0", "exit_code": 0, "cells": []}
    name = nightly.kept(tmp_path / "s.sqlite", report)
    assert nightly.kept(tmp_path / "s.sqlite", report) == name == report["id"]
    with sqlite3.connect(tmp_path / "s.sqlite") as db:
        assert db.execute("SELECT id FROM v_bench").fetchall() == [(name,)]


# ---- all engines, and their time


def lanes_of(*engines: str) -> list[str]:
    suite = Suite("t", "", ("gpt2",), engines, (CorpusRequest("battery", ("encode",), ("off",)),))
    return [spec.name for spec in Lanes(suite, (PLANTED,), None, {}, 1).engines]


def test_all_and_installed_stand_for_engines() -> None:
    """The project's own environment has these five; others have environments, which a test's cache is without."""
    here = ["dat-bpe", "dat-greedy", "tiktoken", "tokenizers", "sentencepiece"]
    assert lanes_of("installed")[:5] == here and "gigatoken" not in lanes_of("installed")
    assert lanes_of("all") == list(load_roster(PLANTED))  # those that cannot be asked are rows with the reason
    assert lanes_of("tiktoken", "installed")[:2] == ["tiktoken", "dat-bpe"]
    suite = Suite("t", "", ("gpt2",), ("all",), (CorpusRequest("battery", ("encode",), ("off",)),))
    assert any("gigatoken cannot be asked: not installed" in note for note in Lanes(suite, (), None, {}, 1).notes)


def test_an_engine_whose_time_is_over_is_a_row_and_is_asked_next_time(run_audit: Callable) -> None:
    documents = [b"hello", b"world"]
    late = run_audit("tiktoken", "dat-bpe", documents=documents, operations=("encode", "decode"), engine_s=0.0)
    assert late.outcome.exit_code == 4 and late.outcome.verdicts == {"unsupported": 8}
    (reason,) = {row["reason"] for row in late.rows("SELECT * FROM v_reason WHERE run = ?")}
    assert reason.startswith("time: the engine's 0 minutes")
    whole = run_audit("tiktoken", "dat-bpe", documents=documents, operations=("encode", "decode"))
    assert whole.outcome.verdicts == {"match": 8}
    assert not any(row["reused"] for row in whole.rows("SELECT * FROM v_cell WHERE run = ?"))
    # What is known needs no time.
    again = run_audit("tiktoken", "dat-bpe", documents=documents, operations=("encode", "decode"), engine_s=0.0)
    assert again.outcome.verdicts == {"match": 8}


def test_an_engines_time_ends_inside_of_a_block(run_audit: Callable) -> None:
    """Which document of a block hangs is not searched for when the time is over: a row that is asked again."""
    documents = [b"before", b"has TRIGGER in it", b"after", b"more"]
    late = run_audit("hangs", documents=documents, operations=("encode", "decode"), engine_s=1e-9)
    assert late.verdicts("hangs") == late.verdicts("hangs", "decode") == {"unsupported": 4}
    (reason,) = {row["reason"] for row in late.rows("SELECT * FROM v_reason WHERE run = ?")}
    assert reason.startswith("time: the engine's ") and not late.divergences("hangs")
    rows = late.rows("SELECT * FROM result WHERE run = ?")
    assert {(row["digest"], row["expected"], row["ids"], row["ns"]) for row in rows} == {("", "", 0, 0)}
    whole = run_audit("hangs", documents=documents)
    assert whole.verdicts("hangs") == {"match": 3, "timeout": 1}
    assert not any(row["reused"] for row in whole.rows("SELECT * FROM v_cell WHERE run = ?"))


def test_a_block_that_comes_to_its_end_is_kept_though_the_time_is_over(run_audit: Callable) -> None:
    """Else a slow engine would never get past its first block."""
    run = run_audit("is-slow", documents=[b"hello", b"world"], operations=("encode", "decode"), engine_s=1e-9)
    assert run.verdicts("is-slow") == {"match": 2} and run.verdicts("is-slow", "decode") == {"unsupported": 2}


def test_an_engine_whose_time_is_over_is_a_row_against_itself_too() -> None:
    suite = Suite("t", "", ("gpt2",), ("dat-bpe",), (CorpusRequest("mine", ("encode",), ("off",)),))
    lanes = Lanes(suite, (), None, {}, 1)
    corpora = [(name, lambda _: [("document", b"hello")]) for name in ("one", "two")]
    try:
        rows = selfdiff.run(lanes, lanes.vocabularies(), corpora, budget=Budget(1e-9))
    finally:
        lanes.close()
    # The first way that was begun is brought to its end; all that was not is said once a corpus.
    words = [("one", "same"), ("one", "unsupported"), ("two", "unsupported")]
    assert [(row.corpus, row.verdict) for row in rows] == words
    assert all(row.detail.startswith("time: ") for row in rows[1:])


def test_a_budget_is_an_engines_own() -> None:
    budget = Budget(1.0)
    budget.spend("slow", "gpt2", 0.6)
    assert not budget.against("slow", "gpt2")
    budget.spend("slow", "cl100k", 0.6)
    assert "minutes of this run were over" in budget.against("slow", "gpt2")
    assert not budget.against("fast", "gpt2") and not Budget().against("slow", "gpt2")


def test_a_budget_may_be_for_a_vocabulary() -> None:
    budget = Budget(None, 60.0)
    budget.spend("slow", "gpt2", 61)
    assert budget.against("slow", "gpt2") == "time: the engine's 1 minutes for this vocabulary were over"
    assert not budget.against("slow", "cl100k") and not budget.against("fast", "gpt2")


def test_a_slow_engine_is_told_by_its_own_rate_on_that_vocabulary() -> None:
    budget = Budget()
    assert not budget.against("slow", "gpt2", 1.0), "its rate is not known: it is asked"
    budget.measure("slow", "gpt2", 100_000, 4_000_000_000)  # the first call builds its tables
    budget.measure("slow", "gpt2", 50_000, 200_000_000)
    budget.measure("slow", "gpt2", 100_000, 500_000_000)
    budget.measure("slow", "gpt2", 7_999, 0)  # the clock did not go on: nothing is known by it
    reason = budget.against("slow", "gpt2", 1.0)
    assert reason.startswith("time: ") and "0.25 MB/s at best, on 50,000 bytes of real text" in reason
    assert not budget.against("slow", "gpt2") and not budget.against("slow", "gpt2", 0.25)
    assert not budget.against("slow", "cl100k", 1.0)


# ---- what a user copies

UNITS = ROOT / "docs" / "nightly"


def unit(name: str) -> configparser.ConfigParser:
    found = configparser.ConfigParser(interpolation=None, strict=False)
    found.optionxform = str  # type: ignore[assignment,method-assign]
    found.read(UNITS / name)
    return found


def test_the_timer_starts_the_service() -> None:
    service, timer = unit("tokassay-nightly.service"), unit("tokassay-nightly.timer")
    assert service["Service"]["Type"] == "oneshot" and " nightly " in service["Service"]["ExecStart"] + " "
    assert timer["Timer"]["OnCalendar"] and timer["Timer"]["Persistent"] == "true"
    assert timer["Install"]["WantedBy"] == "timers.target"
    assert timer["Timer"].get("Unit", "tokassay-nightly.service") == "tokassay-nightly.service"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here; the structure is tested above")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    """As a user copies them, with a program that is there in the place of the one that is to be installed."""
    for path in UNITS.glob("tokassay-nightly.*"):
        text = re.sub(r"^ExecStart=\S+", f"ExecStart={sys.executable}", path.read_text("utf-8"), flags=re.MULTILINE)
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    command = ["systemd-analyze", "verify", "--user", *map(str, sorted(tmp_path.iterdir()))]
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert "tokassay" not in done.stderr, done.stderr


def test_the_workflow_is_whole() -> None:
    flow = yaml.safe_load((UNITS / "github-actions.yml").read_text("utf-8"))
    on = flow[True]  # YAML 1.1 reads the key `on` as true
    assert on["schedule"][0]["cron"] and "workflow_dispatch" in on
    (job,) = flow["jobs"].values()
    assert job["timeout-minutes"] <= 360  # a hosted runner's limit
    uses = [step["uses"] for step in job["steps"] if "uses" in step]
    assert uses and all(re.fullmatch(r"[\w./-]+@v\d+(\.\d+){0,2}", each) for each in uses)
    runs = " ".join(step.get("run", "") for step in job["steps"])
    assert "tokassay nightly" in runs and "--github" in runs
    # The store is what the next night is held to, so it must be kept whatever the night found.
    kept = [step for step in job["steps"] if "cache/save" in step.get("uses", "")]
    assert kept and all("always()" in step["if"] for step in kept)


@pytest.mark.parametrize(("words", "said"), [(["--engine", "tiktokn"], "did you mean tiktoken?"),
                                             (["--vocab", "gpt2", "--vocab", "nosuch"], "encoding and no file is call"),
                                             (["--vocab", "nosuch@greedy-longest"], "no file is called 'nosuch'"),
                                             (["--corpus", "batery"], "did you mean battery"),
                                             (["--bench", "--text english,nosuch"], "no kind of text is called nosuch"),
                                             (["--bench", "--text 'english"], "close what is quoted")])
def test_wrong_use_is_told_before_anything_is_fetched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.setattr(nightly, "run", lambda *_: pytest.fail("the first stage was begun"))
    with pytest.raises(SystemExit) as end:
        main(["nightly", "--dir", str(tmp_path), *words])
    assert end.value.code == 2 and said in capsys.readouterr().err
    assert not (tmp_path / "nights").exists()


def test_names_that_are_known_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.tiktoken").write_text("")
    (tmp_path / "own.txt").write_text("")
    begun: list[Plan] = []

    def begin(_: Nights, plan: Plan, name: str | None = None) -> None:
        begun.append(plan)
        raise InputError("planted", remedy="none")

    monkeypatch.setattr(Nights, "begin", begin)
    monkeypatch.chdir(tmp_path)
    names = ("gpt2", "r50k", "gpt2@greedy-longest", "own.tiktoken")
    specs = ("battery", "fuzz:9", "kjv", "own.txt", "own.txt@lines")
    given = [*(("--vocab", name) for name in names), *(("--corpus", spec) for spec in specs)]
    words = [word for pair in given for word in pair]
    with pytest.raises(SystemExit):
        main(["nightly", "--dir", "work", *words, "--bench", "--text english,docs-16 --vocab gpt2"])
    assert [len(plan.vocabularies) for plan in begun] == [4] and len(begun[0].corpora) == 5
