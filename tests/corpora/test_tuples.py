"""The alphabet of class tuples: every representative is what its name says, by Python's own tables and decoder."""

from __future__ import annotations

import re
import unicodedata

import pytest
from tokassay.corpora.corpus import content
from tokassay.corpora.document import CorpusError
from tokassay.corpora.open import open_corpus
from tokassay.corpora.tuples import CORE, REPRESENTATIVES, representatives, tuple_name

BYTES = dict(REPRESENTATIVES)
# name -> general category, of the representatives that are one well-formed character.
CATEGORIES = {
    "small": "Ll", "s": "Ll", "l": "Ll", "r": "Ll", "e": "Ll", "v": "Ll", "t": "Ll", "m": "Ll", "d": "Ll",
    "capital-S": "Lu", "capital": "Lu", "capital-L": "Lu", "small-two": "Ll", "capital-two": "Lu", "long-s": "Ll",
    "title": "Lt", "modifier-letter": "Lm", "ideograph": "Lo", "hangul": "Lo", "kana": "Lo",
    "mark": "Mn", "spacing-mark": "Mc", "enclosing-mark": "Me",
    "digit": "Nd", "arabic-digit": "Nd", "letter-number": "Nl", "superscript": "No", "fraction": "No",
    "apostrophe": "Po", "quote": "Pf", "period": "Po", "slash": "Po", "kana-dot": "Po", "underscore": "Pc",
    "dollar": "Sc", "emoji": "So", "replacement": "So",
    "space": "Zs", "NBSP": "Zs", "ideographic-space": "Zs", "line-separator": "Zl",
    "newline": "Cc", "return": "Cc", "tab": "Cc", "vertical-tab": "Cc", "NEL": "Cc", "NUL": "Cc", "DEL": "Cc",
    "ZWJ": "Cf", "BOM": "Cf", "private": "Co", "unassigned": "Cn",
}  # fmt: skip
LEADS = {"lead-2": 2, "lead-2-other": 2, "lead-3": 3, "lead-3-E0": 3, "lead-3-ED": 3, "lead-4": 4, "lead-4-F4": 4}
CONTINUATIONS = {"continuation-letter": "L", "continuation-number": "N", "continuation-other": "PS"}
NEVER = {"C0": 0xC0, "C1": 0xC1, "F5": 0xF5, "FF": 0xFF}
CUT = {"cut-3": 3, "cut-4": 4}


def value_of(data: bytes) -> int:
    """The number that a sequence would stand for if its lead byte alone were believed."""
    if len(data) == 1:
        return data[0]
    found = data[0] & (0x7F >> len(data))
    for byte in data[1:]:
        found = found << 6 | byte & 0x3F
    return found


def byte_character(byte: int) -> str:
    """GPT-2's byte alphabet, as its release makes it."""
    kept = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    moved = [each for each in range(256) if each not in kept]
    return chr(byte) if byte in kept else chr(256 + moved.index(byte))


def test_there_are_enough_and_no_two_alike() -> None:
    assert CORE >= 40
    assert len(REPRESENTATIVES) == len(BYTES) == len(set(BYTES.values()))
    assert all(1 <= len(data) <= 4 for data in BYTES.values())


@pytest.mark.parametrize("name", CATEGORIES)
def test_a_character_has_the_category_of_its_name(name: str) -> None:
    (character,) = BYTES[name].decode()
    assert unicodedata.category(character) == CATEGORIES[name]


def test_white_space_is_what_python_splits_at() -> None:
    white = {name for name in CATEGORIES if BYTES[name].decode().isspace()}
    assert white == {
        "space", "NBSP", "ideographic-space", "line-separator", "newline", "return", "tab", "vertical-tab", "NEL",
    }


def test_the_letters_of_contractions_are_all_there() -> None:
    letters = set("".join(("s", "t", "re", "ve", "m", "ll", "d")))
    assert letters <= {data.decode() for data in BYTES.values() if data.isalpha() and len(data) == 1}
    # The one letter outside ASCII whose simple case folding is one of them.
    assert re.fullmatch("s", BYTES["long-s"].decode(), re.IGNORECASE)
    assert BYTES["long-s"].decode().upper() == "S"


@pytest.mark.parametrize("name", [name for name in BYTES if name not in CATEGORIES])
def test_what_is_no_character_is_ill_formed_alone(name: str) -> None:
    with pytest.raises(UnicodeDecodeError):
        BYTES[name].decode()


@pytest.mark.parametrize("name", LEADS)
def test_a_lead_begins_a_character_of_that_length(name: str) -> None:
    wanted = LEADS[name]
    assert any(
        len(character.encode()) == wanted and character.encode().startswith(BYTES[name])
        for character in map(chr, (*range(0x80, 0xD800), *range(0xE000, 0x110000)))
    )


@pytest.mark.parametrize("name", CONTINUATIONS)
def test_a_continuation_has_that_class_in_the_byte_alphabet(name: str) -> None:
    (byte,) = BYTES[name]
    assert byte & 0xC0 == 0x80
    assert unicodedata.category(byte_character(byte))[0] in CONTINUATIONS[name]


def test_bytes_that_no_sequence_has() -> None:
    used = {byte for each in (*range(0xD800), *range(0xE000, 0x110000)) for byte in chr(each).encode()}
    for name, byte in NEVER.items():
        assert BYTES[name] == bytes((byte,)) and byte not in used


@pytest.mark.parametrize("name", CUT)
def test_a_cut_sequence_goes_on(name: str) -> None:
    data = BYTES[name]
    assert any(len((data + bytes((byte,))).decode("utf-8", "ignore")) == 1 for byte in range(0x80, 0xC0))
    assert len(data) == CUT[name] - 1


@pytest.mark.parametrize("name", ["surrogate", "surrogate-low"])
def test_a_surrogate_half(name: str) -> None:
    half = ord(BYTES[name].decode("utf-8", "surrogatepass"))
    assert 0xDC00 <= half <= 0xDFFF if name.endswith("low") else 0xD800 <= half <= 0xDBFF


def test_overlong_forms_and_what_is_too_great() -> None:
    assert (value_of(BYTES["overlong"]), len(BYTES["overlong"])) == (0, 3)
    assert (value_of(BYTES["overlong-2"]), len(BYTES["overlong-2"])) == (0, 2)
    assert value_of(BYTES["above"]) == 0x110000


def test_every_representative_has_its_test() -> None:
    others = {"surrogate", "surrogate-low", "overlong", "overlong-2", "above"}
    assert {*CATEGORIES, *LEADS, *CONTINUATIONS, *NEVER, *CUT} | others == set(BYTES)


def test_the_core_has_every_kind() -> None:
    """The first 48 hold each general category group, each length of lead and each class of continuation."""
    core = {name for name, _ in REPRESENTATIVES[:CORE]}
    for kinds in (CATEGORIES, LEADS, CONTINUATIONS, CUT):
        some = {kind for name, kind in kinds.items() if name in core}
        missing = set(kinds.values()) - some
        assert missing <= {"Pc", "Sc", "Zl", "Co", "Me"}, kinds


def test_over_the_first_few() -> None:
    documents = list(open_corpus("classes:2/5").documents())
    names = [name for name, _ in REPRESENTATIVES[:5]]
    assert len(documents) == 25
    assert documents[7].name == f"classes {names[1]} {names[2]}" == f"classes {tuple_name(7, 2, names)}"
    assert documents[7].data == BYTES[names[1]] + BYTES[names[2]]
    assert content(open_corpus(f"classes:2/{len(REPRESENTATIVES)}")) == content(open_corpus("classes:2"))


@pytest.mark.parametrize("spec", ["classes:2/0", "classes:2/1000", "classes:2/x", "classes:0", "classes:2/"])
def test_a_wrong_number_is_told(spec: str) -> None:
    with pytest.raises(CorpusError) as caught:
        open_corpus(spec)
    assert caught.value.where == spec or caught.value.where.startswith("classes")
    assert caught.value.remedy
    assert len(representatives()) == len(REPRESENTATIVES)
