"""Class tuples at length: all agree, a planted fault does not, and an interrupted search goes on."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokassay.corpora.tuples import CORE, REPRESENTATIVES
from tokassay.engines.dat_bpe import Encoder, _core
from tokassay.harness import cli
from tokassay.harness.errors import InputError
from tokassay.harness.tuples import FAMILIES, Asked, Encode, Journal, Search, digest_of_all


def wrong_on(pattern: bytes) -> Encode:
    """GPT-2's encoder, but for documents that hold some bytes: there the last two ids change places."""
    encoder = Encoder.load("gpt2")

    def encode(buffer: memoryview, offsets: Any) -> Any:
        values, edges = encoder.encode_buffer(buffer, offsets)
        held, at = bytes(buffer), -1
        while (at := held.find(pattern, at + 1)) >= 0:
            row = int(np.searchsorted(offsets, at, side="right")) - 1
            if at + len(pattern) <= offsets[row + 1]:
                values[edges[row + 1] - 2 : edges[row + 1]] = values[edges[row + 1] - 2 : edges[row + 1]][::-1].copy()
        return values, edges

    return encode


@pytest.mark.parametrize("family", FAMILIES)
def test_three_classes_in_every_family(family: str) -> None:
    search = Search(family, Asked(3, CORE))
    found = search.stretch(0)
    assert (search.stretches, found.tuples, found.differ) == (1, CORE**3, 0)


@pytest.mark.parametrize("family", ["gpt2", "cl100k"])
def test_four_classes(family: str) -> None:
    search = Search(family, Asked(4, CORE, threads=2))
    found = [search.stretch(each) for each in range(search.stretches)]
    assert sum(each.tuples for each in found) == search.total == CORE**4
    assert sum(each.differ for each in found) == 0


def test_the_tables_are_held_to_the_oracle_first() -> None:
    search = Search("gpt2", Asked(4, 12))
    assert search.verify() == 12 + 12**2 + 12**3 + 5000
    search.products._pieces[b"as"] = (1, 1)
    search.products._expected.clear()
    with pytest.raises(InputError) as caught:
        search.verify()
    assert caught.value.exit_code == 5
    assert "6173" in caught.value.remedy


def test_one_wrong_tuple_of_many_is_found_and_named() -> None:
    """Four classes in a row, one cut sequence among them: 1 of 65,536 tuples."""
    names = dict(REPRESENTATIVES)
    planted = names["ideograph"] + names["s"] + names["small"] + names["modifier-letter"]
    search = Search("gpt2", Asked(4, 16), encode=wrong_on(planted))
    found = [search.stretch(each) for each in range(search.stretches)]
    (shown,) = [each for stretch in found for each in stretch.shown]
    assert sum(each.differ for each in found) == 1
    assert (shown.names, shown.hex) == ("ideograph s small modifier-letter", planted.hex())
    assert shown.expected == Encoder.load("gpt2").encode_list(planted)
    assert shown.got[-2:] == shown.expected[-2:][::-1]


def test_instructions_and_threads_change_nothing() -> None:
    digests = {
        digest_of_all([Search("o200k", Asked(3, 20, level, threads)).stretch(0)])
        for level, threads in (("scalar", 1), (_core.LEVELS[_core.best_level()], 1), (None, 2))
    }
    assert len(digests) == 1


def test_a_search_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    search = Search("cl100k", Asked(4, 6))
    whole = [search.stretch(each) for each in range(search.stretches)]
    for each in whole[:2]:
        Journal(path).add(each)
    with path.open("a") as handle:
        handle.write('{"key": "' + search.key)  # a line that was cut off
    journal = Journal(path)
    assert [each.digest for each in journal.read(search).values()] == [each.digest for each in whole[:2]]
    journal.add(whole[2])  # on a line of its own
    assert sorted(Journal(path).read(search)) == [0, 1, 2]
    other = Search("cl100k", Asked(4, 7))
    assert journal.read(other) == {}
    assert other.key != search.key != Search("qwen2", Asked(4, 6)).key


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as caught:
        cli.main(["tuples", *words])
    return int(str(caught.value.code))


def test_the_command_says_what_it_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["2", "--family", "gpt2", "--representatives", "10", "--journal", str(tmp_path / "journal")]
    assert run(*words) == 0
    assert "100 tuples of 2 over 10 representatives: all agree; 110 asked of the oracle" in capsys.readouterr().out
    assert run(*words) == 0
    assert "; 1 of 1 stretches from the journal" in capsys.readouterr().out
    assert run(*words, "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)["families"]
    assert (row["reused"], row["tuples"], row["differ"]) == (1, 100, 0)


@pytest.mark.parametrize(
    "words", [["7"], ["0"], ["2", "--family", "gpt3"], ["2", "--representatives", "1000"], ["2", "--vocab", "gpt3"]]
)
def test_wrong_use_is_told_in_a_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*words) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"tuples": 3}, "3 tuples, where such a stretch has 1,000"),
        ({"tuples": "x"}, 'tuples is "x"'),
        ({"tuples": True}, "tuples is true"),
        ({"digest": None}, "digest is null"),
        ({"digest": "ab"}, 'digest is "ab"'),
        ({"differ": 5}, "0 shown of 5 that differ"),
        ({"first": 1}, "stretch 1 of 1"),
        ({"shown": [3], "differ": 1}, "not an object with names"),
        ({"more": 1}, "a field 'more'"),
        ({"schema": "another/1"}, "not a line of a journal"),
    ],
)
def test_a_damaged_line_of_a_journal_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], told: str
) -> None:
    journal = tmp_path / "journal"
    words = ["3", "--family", "gpt2", "--representatives", "10", "--journal", str(journal)]
    journal.write_text(json.dumps({**asdict(Search("gpt2", Asked(3, 10)).stretch(0)), **change}) + "\n")
    before = journal.read_bytes()
    assert run(*words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), journal.read_bytes()) == ("", 1, before)
    assert told in err and f"{journal}, line 1: " in err and "delete that line, or name another journal" in err


def test_a_line_without_a_digest_is_refused(tmp_path: Path) -> None:
    row = asdict(Search("gpt2", Asked(2, 5)).stretch(0))
    del row["digest"]
    (tmp_path / "journal").write_text(json.dumps(row))
    with pytest.raises(InputError, match="no digest"):
        Journal(tmp_path / "journal")


@pytest.mark.parametrize("data", [b"shopping list\nmilk", b"milk", b"\xff\xfe\n", b"[]\n", b"\n", b"[" * 100_000])
def test_what_is_no_journal_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    assert run("1", "--family", "gpt2", "--journal", str(path)) == 2
    assert path.read_bytes() == data
    assert "line 1: not a line of a journal of tuples; " in capsys.readouterr().err


def test_a_journal_is_a_regular_file_in_a_folder_that_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (tmp_path, Path("/dev/null"), tmp_path / "none" / "journal"):
        assert run("1", "--family", "gpt2", "--journal", str(path)) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("stretches", "told"), [(0, "no stretch was done yet"), (1, "run the same command to go on")])
def test_an_interrupted_search_says_whether_something_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, stretches: int, told: str
) -> None:
    one = Search.stretch

    def stretch(search: Search, first: int, *rest: Any) -> Any:
        if first == stretches:
            raise KeyboardInterrupt
        return one(search, first, *rest)

    monkeypatch.setattr(Search, "stretch", stretch)
    journal = str(tmp_path / "journal")
    assert run("4", "--family", "gpt2", "--representatives", "3", "--journal", journal) == 130
    assert capsys.readouterr().err == f"tokassay: interrupted; {told}\n"
