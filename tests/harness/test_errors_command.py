"""Bad input with `--json`: the object on standard output says what the line on standard error says."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tokassay.harness import history
from tokassay.harness.cli import main
from tokassay.harness.errors import InputError
from tokassay.harness.store import Store
from tokassay.reports.opening import VIEWS

WRONG = (["diff", "no-such-engine", "oracle", "--text", "a"], ["bench", "--text", "nonsense"])


@pytest.mark.parametrize("words", WRONG, ids=["diff", "bench"])
def test_an_error_is_an_object_only_with_json(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as plain:
        main(words)
    out, err = capsys.readouterr()
    assert (plain.value.code, out) == (2, "")
    with pytest.raises(SystemExit) as told:
        main([*words, "--json"])
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert told.value.code == found["exit_code"] == 2
    assert found["schema"] == "tokassay.error/1"
    assert printed.err == err
    for field in ("error", "where", "remedy"):
        assert found[field] and found[field] in err


@pytest.mark.parametrize(
    ("words", "where", "said"),
    [
        (["bench", "--nosuch"], "tokassay bench", "--nosuch"),
        (["nosuch"], "tokassay", "nosuch"),
        (["bench", "--repeat", "x"], "tokassay bench", "--repeat"),
        (["bench", "--repeat", "0"], "tokassay bench", "--repeat"),
        (["profile", "build"], "tokassay profile build", "NAME|FILE"),
        (["diff", "oracle", "oracle", "oracle"], "tokassay diff", "oracle"),
    ],
)
def test_what_the_parser_refuses_is_one_object_too(
    words: list[str], where: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as plain:
        main(words)
    out, err = capsys.readouterr()
    assert (plain.value.code, out) == (2, "") and "Usage: tokassay" in err
    with pytest.raises(SystemExit) as told:
        main([*words, "--json"])
    printed = capsys.readouterr()
    found = json.loads(printed.out)  # fails where there is a second object
    assert told.value.code == found["exit_code"] == 2 and found["schema"] == "tokassay.error/1"
    assert said in found["error"] and found["where"] == where and found["remedy"] == f"see {where} --help"
    assert printed.err == err


def test_help_and_a_command_that_returns_are_no_errors(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["bench", "--help"], ["--version"], ["vocab", "list", "--json"]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        printed = capsys.readouterr()
        assert ended.value.code == 0 and printed.out and "tokassay.error" not in printed.out


@pytest.mark.parametrize("verb", [["history"], ["gate", "--baseline", "last"]], ids=["history", "gate"])
def test_a_foreign_store_is_named_and_no_mismatch(
    verb: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its version, a table and the views' names are a store's, its columns are not: that shows at the first query."""
    path = tmp_path / "foreign.sqlite"
    views = "".join(f"CREATE VIEW {view} AS SELECT id FROM run;" for view in VIEWS)
    with closing(sqlite3.connect(path)) as db:
        db.executescript(f"CREATE TABLE run (id TEXT); {views} PRAGMA user_version = 1;")
    with pytest.raises(SystemExit) as told:
        main([*verb, "--store", str(path), "--json"])
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert (told.value.code, found["exit_code"], found["where"]) == (5, 5, str(path))
    assert "Traceback" not in printed.err and printed.err.count("\n") == 1


def test_a_fault_of_ours_does_not_read_as_other_ids(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python's own exit code for an exception is 1, which says that ids differ."""

    def broken(_: Path) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(history, "reading", broken)
    with pytest.raises(SystemExit) as told:
        main(["history", "--json"])
    printed = capsys.readouterr()
    assert told.value.code == json.loads(printed.out)["exit_code"] == 5
    assert "Traceback" in printed.err and "ZeroDivisionError: planted" in printed.err


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "theirs.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.executescript("CREATE TABLE bench (x);")
    before = path.read_bytes()
    with pytest.raises(InputError, match="a database of something else"):
        Store(path)
    assert path.read_bytes() == before


def test_a_hostile_name_in_an_error_does_nothing_to_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a\x1b[31m\u202eb.sqlite"
    with pytest.raises(SystemExit):
        main(["history", "--store", str(file)])
    told = capsys.readouterr().err
    assert "a\\u{1B}[31m\\u{202E}b.sqlite: there is no store here" in told
    assert "\x1b" not in told and "\u202e" not in told
