"""Opening a store: what is wrong, where, and the remedy; and that nothing is written."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokassay.reports.errors import ReportError
from tokassay.reports.read import read_run
from tokassay.reports.tables import build


def refused(path: Path, run: str | None = None) -> ReportError:
    with pytest.raises(ReportError) as caught:
        read_run(path, run)
    assert caught.value.where and caught.value.remedy and caught.value.exit_code == 2
    assert str(path) in caught.value.where
    return caught.value


def test_no_store(tmp_path: Path) -> None:
    assert "no store" in str(refused(tmp_path / "none.sqlite"))


def test_not_a_store(tmp_path: Path) -> None:
    path = tmp_path / "text.sqlite"
    path.write_text("this is a text of some length, and no database at all\n" * 40, encoding="utf-8")
    assert "not a readable store" in str(refused(path))


def test_a_database_of_others(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "notes.sqlite") as db:
        db.execute("CREATE TABLE note (text TEXT)")
    assert "no store" in str(refused(tmp_path / "notes.sqlite"))


def test_another_schema(scenario: Callable[[str], Path]) -> None:
    path = scenario("agreed")
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 9")
    assert "schema version 9" in str(refused(path))


def test_a_missing_view(scenario: Callable[[str], Path]) -> None:
    path = scenario("agreed")
    with sqlite3.connect(path) as db:
        db.execute("DROP VIEW v_divergence")
    assert "v_divergence" in str(refused(path))


def test_runs_by_id_by_beginning_and_by_age(builder: Callable[[], Any]) -> None:
    store = builder()
    for run, started in (("aa11", "2026-01-02"), ("aa22", "2026-01-01"), ("bb33", "2026-01-01")):
        store.run = run
        store.begin(started=started)
    path = store.close()
    assert read_run(path).run["id"] == "aa11"
    assert read_run(path, "aa22").run["id"] == "aa22"
    assert read_run(path, "b").run["id"] == "bb33"
    assert "2 runs begin with 'aa'" in str(refused(path, "aa"))
    assert "no run 'zz'" in str(refused(path, "zz"))


def test_an_empty_store(builder: Callable[[], Any]) -> None:
    assert "holds no run" in str(refused(builder().close()))


def test_the_store_is_left_as_it_was(scenario: Callable[[str], Path]) -> None:
    path = scenario("failing")
    before = path.read_bytes()
    build(read_run(path))
    assert path.read_bytes() == before


def test_broken_json_is_named(scenario: Callable[[str], Path]) -> None:
    path = scenario("agreed")
    with sqlite3.connect(path) as db:
        db.execute("UPDATE divergence SET got = '[1,' WHERE ordinal = 1")
    with pytest.raises(ReportError) as caught:
        build(read_run(path))
    assert "divergence 1, got" in caught.value.where
