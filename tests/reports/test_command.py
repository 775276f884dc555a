"""`tokassay report`, as a user runs it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tokassay.harness.cli import main


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["report", *map(str, words)])
    shown = capsys.readouterr()
    return int(caught.value.code or 0), shown.out, shown.err


def test_report(scenario: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--store", scenario("failing"), "--out", tmp_path / "r")
    assert code == 0
    assert "2 of 3 engines failed" in " ".join(out.split())
    assert (tmp_path / "r" / "index.html").is_file()


def test_json(scenario: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "5f0c", "--store", scenario("agreed"), "--out", tmp_path / "r", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["run"] == "5f0c1d2e3a4b"
    assert Path(found["report"][0]).name == "index.html"


def test_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--store", tmp_path / "none.sqlite")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "tokassay audit" in err


def test_a_bad_sum(scenario: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario("agreed")
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM run_result WHERE rowid = 3")
    code, out, err = run(capsys, "--store", path, "--out", tmp_path / "r")
    assert code == 5
    assert "do not add up" in err and "do not add up" in out
