"""Class tuples at length: all agree, a planted fault does not, and an interrupted search goes on."""

from __future__ import annotations

import json
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
    journal = Journal(tmp_path / "folder" / "journal")
    search = Search("cl100k", Asked(4, 6))
    whole = [search.stretch(each) for each in range(search.stretches)]
    for each in whole[:2]:
        journal.add(each)
    with journal.path.open("a") as handle:
        handle.write('{"key": "' + search.key)  # a line that was cut off
    assert sorted(journal.read(search.key)) == [0, 1]
    assert journal.read("another") == {}
    assert [each.digest for each in journal.read(search.key).values()] == [each.digest for each in whole[:2]]
    assert Search("cl100k", Asked(4, 7)).key != search.key != Search("qwen2", Asked(4, 6)).key


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as caught:
        cli.main(["tuples", *words])
    return int(str(caught.value.code))


def test_the_command_says_what_it_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["2", "--family", "gpt2", "--representatives", "10", "--journal", str(tmp_path / "journal")]
    assert run(*words) == 0
    assert "100 tuples of 2 over 10 representatives: all agree; 110 asked of the oracle" in capsys.readouterr().out
    assert run(*words, "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)["families"]
    assert (row["reused"], row["tuples"], row["differ"]) == (1, 100, 0)


@pytest.mark.parametrize(
    "words", [["7"], ["0"], ["2", "--family", "gpt3"], ["2", "--representatives", "1000"], ["2", "--vocab", "gpt3"]]
)
def test_wrong_use_is_told_in_a_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*words) == 2
    assert capsys.readouterr().err.count("\n") == 1
