"""The search corpora: what each promises, by tables and decoders that are not its own."""

from __future__ import annotations

import base64
import re
import unicodedata
from collections import Counter
from functools import cache
from importlib.resources import files

import pytest
from tokassay.corpora import added, around, borders, collisions, runs, versions
from tokassay.corpora.document import CorpusError
from tokassay.corpora.open import open_corpus
from tokassay.corpora.tuples import REPRESENTATIVES


@cache
def tokens() -> dict[bytes, int]:
    lines = files("tokassay.fixtures").joinpath("vocab", "r50k_base.tiktoken").read_bytes().splitlines()
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines)}


@pytest.mark.parametrize("spec", ["around", "versions:40", "borders:40", "added:40", "runs:300", "collisions:66"])
def test_documents_have_names_of_their_own_and_reasons_and_come_again(spec: str) -> None:
    once, again = (list(open_corpus(spec, tokens=tokens()).documents()) for _ in range(2))
    assert once == again
    assert len({document.name for document in once}) == len(once)
    assert all(document.reason for document in once)


@pytest.mark.parametrize("spec", ["versions", "borders", "added", "collisions"])
def test_what_is_drawn_depends_on_seed_and_number_alone(spec: str) -> None:
    few = {d.name: d.data for d in open_corpus(f"{spec}:20", seed=3, tokens=tokens()).documents()}
    more = {d.name: d.data for d in open_corpus(f"{spec}:60", seed=3, tokens=tokens()).documents()}
    other = {d.data for d in open_corpus(f"{spec}:20", seed=4, tokens=tokens()).documents()}
    assert few.items() <= more.items()
    assert set(few.values()) != other


def test_around_has_every_class_beside_every_contraction() -> None:
    made = {document.data for document in around.documents()}
    for _, data in REPRESENTATIVES:
        for suffix in ("'s", "'T", "'re", "'Ve", "'m", "'lL", "'D", "'ſ"):
            assert {data + suffix.encode(), suffix.encode() + data} <= made
        for digits in ("1", "123", "1234"):
            assert {data + digits.encode(), digits.encode() + data, data + digits.encode() + data} <= made


def test_contractions_are_all_cases_of_the_seven() -> None:
    found = around.contractions()
    known = [each for each in found if re.fullmatch("'(?:s|t|re|ve|m|ll|d)", each, re.IGNORECASE | re.ASCII)]
    assert len(known) == 4 * 2 + 3 * 4
    assert len(found) == len(set(found))


def test_versions_are_the_code_points_that_two_tables_class_differently() -> None:
    """Held to Python's own table, whichever version it has: what that has assigned or not must be among the labels."""
    found = versions.runs()
    own = unicodedata.unidata_version
    for first, last, said in found:
        assert first <= last and len(set(said)) > 1
        if own.startswith("15.0"):
            assert {unicodedata.category(chr(point)) for point in (first, last)} == {said[0][:2]}
        elif own.startswith("14."):  # what 15.0 brought is not assigned yet; nothing else changed since
            assert unicodedata.category(chr(first)) in ("Cn", said[0][:2])
    points = {point for first, last, _ in found for point in range(first, last + 1)}
    # Of each version's additions, one that its own announcement names.
    assert {0x2FFC, 0x31EF, 0x2EBF0, 0x1C89, 0x10D40, 0x323B0} <= points
    assert not {ord("a"), 0xAC00, 0x4E00, 0x20} & points


def test_every_run_of_them_is_seen_between_letters_digits_and_spaces() -> None:
    made = {document.data for document in versions.documents(0, 0)}
    for first, last, _ in versions.runs():
        for point in (first, last):
            for form in ("a{}", "{}a", "12{}34", "{}'s", " {}", "{} "):
                assert form.replace("{}", chr(point)).encode() in made


def test_the_cut_of_a_text_is_its_longest_tokens() -> None:
    held = {b"a": 0, b"ab": 1, b"abc": 2, b"bc": 3, b"d": 4}
    assert borders.cut(b"abcabdbcx", held) == [b"abc", b"ab", b"d", b"bc", b"x"]
    assert b"".join(borders.cut(b"\xffhello world", tokens())) == b"\xffhello world"


def test_borders_are_real_text_nearly() -> None:
    """Most of what is in a document is in the sample as it stands; and every change is made now and then."""
    changes: Counter[str] = Counter()
    for document in borders.documents(400, 0, tokens()):
        changes.update(document.reason.partition(": ")[2].split(", "))
        assert len(document.data) < 2000
    assert set(changes) - {""} == {change.__name__ for change in borders.CHANGES}


def test_added_tokens_stand_beside_every_class() -> None:
    made = {document.data for document in open_corpus("added:0", specials=("<|x|>", "[Y]")).documents()}
    for _, data in REPRESENTATIVES:
        assert {data + b"<|x|>", b"<|x|>" + data, b"[Y]" + data + b"[Y]"} <= made
    assert {b"<|x|> [Y]", b"[Y]\n<|x|>", "é<|x|>日".encode(), b"  <|x|>\t", b"<|x|>|x|>"} <= made
    assert added.BLANKS[0] == " "


def test_runs_reach_their_lengths() -> None:
    longest = {name: 0 for name, _ in REPRESENTATIVES}
    for document in runs.documents(5000):
        name = document.name.split()[1]
        longest[name] = max(longest[name], len(document.data))
    assert all(4090 <= size <= 4120 for size in longest.values())
    assert runs.run(b"ab", 7) == b"ababab" and runs.run(b"abc", 1) == b"abc"


@pytest.mark.parametrize("near", collisions.NEARS, ids=lambda near: near.__name__)
def test_near_collisions_are_near(near: collisions.Near) -> None:
    """What the kind says is equal is equal."""
    for k in range(60):
        draws = collisions.Draws("test", 0, k)
        known = collisions.word(draws)
        other = near(known, draws)
        if near is collisions.last_letter:
            assert known[:-1] == other[:-1]
        elif near in (collisions.anagram, collisions.halves):
            assert sorted(known) == sorted(other)
        elif near is collisions.padded:
            assert other.rstrip(b"\0") == known
        elif near is collisions.wrapped:
            assert (len(other) - len(known)) % 256 == 0 and other.startswith(known)
        elif near is collisions.words_of_eight and len(known) >= 16:
            assert known != other
            fold = [known[i] ^ known[i + 8] for i in range(8)]
            assert fold == [other[i] ^ other[i + 8] for i in range(8)]
        else:
            assert abs(len(known) - len(other)) == 0 or near is collisions.longer


def test_every_kind_of_near_collision_comes_in_turn() -> None:
    names = [document.name.split()[-1] for document in collisions.documents(22, 0)]
    assert names == [near.__name__ for near in collisions.NEARS] * 2


def test_what_needs_a_vocabulary_says_so() -> None:
    with pytest.raises(CorpusError) as caught:
        open_corpus("borders:10")
    assert caught.value.remedy == "name a vocabulary"


@pytest.mark.parametrize("spec", ["around:3", "versions:-1", "borders:0", "added:x", "runs:0", "collisions:0"])
def test_a_wrong_argument_is_told(spec: str) -> None:
    with pytest.raises(CorpusError) as caught:
        open_corpus(spec, tokens=tokens())
    assert caught.value.where == spec and caught.value.remedy
