"""`tokassay history`: what came and went between runs, each cell's speeds, and where their steps are."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tokassay.harness.cli import main
from tokassay.harness.store import Store


def add_run(store: Store, number: int, *signatures: str, suite: str = "s", finished: bool = True) -> str:
    """A run that has one divergence for each signature; its one row is of one document."""
    engine = "x"
    run, when = f"{number:012x}", f"2026-11-{number:02}T02:00:00+00:00"
    store.insert("run", {
        "id": run, "started": when, "finished": when if finished else None, "suite": suite, "command": "tokassay audit",
        "seed": 0, "jobs": 1, "exit_code": 1 if signatures else 0, "tokassay": "0.1.0", "environment": {},
    })  # fmt: skip
    store.insert("contract", {"digest": "d", "core": "c", "name": "gpt2", "body": "{}"}, keep=True)
    build = dict.fromkeys(("requirement", "lock", "adapter", "host", "python", "platform"), "")
    store.insert("build", {"digest": engine, "engine": engine, "version": "1", **build, "limits": {}}, keep=True)
    result = store.insert("result", {
        "key": f"{number}", "run": run, "contract": "d", "operation": "encode", "entry_point": "e", "build": engine,
        "oracle": "o", "block": "b", "modifiers": {}, "digest": "", "expected": "", "ids": 0, "ns": 0, "cpu_ns": 0,
        "host_ns": 0, "hash_ns": 0, "verdicts": {"differ" if signatures else "match": 1}, "rows": [],
    })  # fmt: skip
    store.insert("run_result", {
        "run": run, "corpus": "c", "domain": "neutral", "ordinal": 0, "documents": 1, "bytes": 1, "engine": engine,
        "result": result, "reused": 0,
    })  # fmt: skip
    for ordinal, signature in enumerate(signatures):
        store.insert("divergence", {
            "run": run, "ordinal": ordinal, "signature": signature, "verdict": "differ", "contract": "gpt2",
            "engine": engine, "against": "oracle", "operation": "encode", "corpus": "c", "domain": "neutral",
            "documents": 1, "first": "f", "input": "ff", "token": 0, "got": "[]", "expected": "[]", "stage": "merge",
            "explanation": f"because of {signature}\u202e", "command": "tokassay diff",
        })  # fmt: skip
    return run


def add_bench(store: Store, number: int, mb_s: float, version: str = "1", **changes: Any) -> None:
    row = {"engine": "x", "verdict": "exact", "cpu_ns": [1], "ns": [1],
           "mb_s": {"median": mb_s, "low": mb_s * 0.99, "high": mb_s * 1.01}}  # fmt: skip
    cell = {"vocab": "gpt2", "text": "english", "sha256": "s", "entry": "whole", "state": "warm", "threads": 1,
            "engines": [row], **changes}  # fmt: skip
    when = f"2026-11-30T{number // 60:02}:{number % 60:02}:00"
    store.add_bench({
        "id": f"{number:012x}", "started": when, "finished": when, "command": "tokassay bench", "tokassay": "0.1.0",
        "exit_code": 0, "machine": {"cpu": "p", "cpu_features": [], "cores": 2, "usable_cores": 2},
        "engines": [{"engine": "x", "version": version}], "cells": [cell],
    })  # fmt: skip


def history(path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    with pytest.raises(SystemExit) as end:
        main(["history", "--store", str(path), *words, "--json"])
    return int(end.value.code or 0), json.loads(capsys.readouterr().out)


def test_what_came_and_went(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run is held to the one before it of its suite; an interrupted one is shown and held to nothing."""
    path = tmp_path / "s.sqlite"
    store = Store(path)
    ids = [
        add_run(store, 1, "merge"), add_run(store, 2, "other", suite="t"), add_run(store, 3, finished=False),
        add_run(store, 4, "merge", "scan"), add_run(store, 5, "scan"), add_run(store, 6),
    ]  # fmt: skip
    code, found = history(path, capsys)
    assert code == 0 and found["schema"] == "tokassay.history/1"
    rows = {run["id"]: run for run in found["runs"]}
    assert list(rows) == ids

    def names(run: str, word: str) -> list[str]:
        return [row["signature"] for row in rows[run][word]]

    assert [names(run, "new") for run in ids] == [[], [], [], ["scan"], [], []]
    assert [names(run, "healed") for run in ids] == [[], [], [], [], ["merge"], ["scan"]]
    assert rows[ids[3]]["compared_with"] == ids[0] and rows[ids[1]]["compared_with"] is None
    assert rows[ids[2]]["finished"] is None and rows[ids[5]]["verdicts"] == {"match": 1}
    assert rows[ids[0]]["asked"] == {"reused": 0, "new": 1, "for_time": 0, "again": {}}


def test_narrowed_to_an_engine_and_to_the_last(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.sqlite"
    store = Store(path)
    for number in range(1, 6):
        add_run(store, number, *(["merge"] if number == 3 else []))
    _, found = history(path, capsys, "--last", "2")
    assert [run["id"] for run in found["runs"]] == [f"{number:012x}" for number in (4, 5)]
    assert [row["signature"] for row in found["runs"][0]["healed"]] == ["merge"]  # held to a run that is not shown
    _, found = history(path, capsys, "--engine", "y")
    assert not any(run["new"] or run["healed"] or run["verdicts"] for run in found["runs"])


def test_speeds_and_their_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.sqlite"
    store = Store(path)
    draws = random.Random(3)
    for number in range(20):
        slow = number >= 12
        add_bench(store, number, (80 if slow else 100) * draws.uniform(0.99, 1.01), "2" if slow else "1")
    code, found = history(path, capsys)
    (line,) = found["series"]
    assert code == 0 and not found["runs"]
    assert (line["engine"], line["vocab"], line["text"], len(line["points"])) == ("x", "gpt2", "english", 20)
    (step,) = line["steps"]
    assert step["bench"] == f"{12:012x}" and step["versions"] == ["1", "2"]
    assert step["ratio"] == pytest.approx(0.8, rel=0.02)
    for option in ("--engine", "--vocab", "--text"):
        assert history(path, capsys, option, "another")[1]["series"] == []


def test_another_text_or_machine_is_another_series(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.sqlite"
    store = Store(path)
    add_bench(store, 1, 100)
    add_bench(store, 2, 100, sha256="another")
    add_bench(store, 3, 100, engines=[{"engine": "x", "verdict": "void", "mb_s": None}])  # no speed, no point
    assert [len(line["points"]) for line in history(path, capsys)[1]["series"]] == [1, 1]


def test_tables_hide_nothing_and_show_nothing_hidden(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.sqlite"
    store = Store(path)
    add_run(store, 1)
    add_run(store, 2, "merge")
    for number in range(12):
        add_bench(store, number, 100 + number % 3 if number < 6 else 60 + number % 3)
    with pytest.raises(SystemExit) as end:
        main(["history", "--store", str(path)])
    printed = capsys.readouterr().out
    assert end.value.code == 0
    assert "new: x under gpt2, differ: because of merge\\u{202E}" in printed and "\u202e" not in printed
    assert "step at bench 000000000006" in printed


def test_an_empty_store_is_not_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.sqlite"
    Store(path).close()
    assert history(path, capsys)[0] == 4
    with pytest.raises(SystemExit) as end:
        main(["history", "--store", str(tmp_path / "none")])
    assert end.value.code == 2


def test_a_damaged_bench_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.sqlite"
    store = Store(path)
    add_bench(store, 7, 100)
    store.db.execute("UPDATE bench SET report = '{'")
    code, found = history(path, capsys)
    assert code == 2 and found["where"].startswith(f"bench {7:012x} of ") and found["remedy"]


def test_a_speed_without_a_passed_proof_is_no_point(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.sqlite"
    store = Store(path)
    add_bench(store, 1, 100)
    store.db.execute("""UPDATE bench SET report = json_set(report, '$.proofs', json('[{"engine": "x", "entry": "whole",
                        "threads": 1, "passed": false}]'))""")
    assert history(path, capsys)[1]["series"] == []
