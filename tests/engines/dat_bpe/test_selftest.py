"""The self-test holds, is as large as is claimed, and finds what is planted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import numpy
import pytest
from tokassay.engines.dat_bpe import _core
from tokassay.engines.dat_bpe.selftest import points, profile, tables, vocabularies
from tokassay.engines.dat_bpe.selftest.__main__ import all_checks, main
from tokassay.engines.dat_bpe.selftest.checks import Check, equal, none_of, outcomes

LEAST = 1690


def failures(*prefixes: str) -> list[str]:
    return [each.name for each in outcomes(all_checks(list(prefixes))) if each.problem]


@pytest.fixture
def fresh() -> Iterator[None]:
    """No table that another test read, and none that this one planted."""
    caches = (profile.profile_of, vocabularies._lists, vocabularies._pairs, vocabularies._pair_of, vocabularies._words)
    for each in caches:
        each.cache_clear()
    yield
    for each in caches:
        each.cache_clear()


@pytest.mark.parametrize(
    "group", ["unicode", "nfc", "bytes", "vocabulary/gpt2", "vocabulary/cl100k", "vocabulary/o200k", "ids"])
def test_every_check_holds(group: str) -> None:
    assert failures(group) == []


def test_there_are_as_many_as_stated_and_no_name_twice() -> None:
    names = Counter(check.name for check in all_checks([]))
    assert names.total() >= LEAST
    assert max(names.values()) == 1
    assert sum(not name.startswith("ids/") for name in names) >= LEAST


def test_a_changed_category_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    true = _core.general_categories

    def wrong(unicode: int) -> bytes:
        found = bytearray(true(unicode))
        if unicode == 2:
            found[0x3042] = _core.CATEGORIES.index("Ll")
            found[0x2028] &= 31
        return bytes(found)

    monkeypatch.setattr(_core, "general_categories", wrong)
    assert failures("unicode/15") == []
    assert failures("unicode/16.0") == ["unicode/16.0/category/Lo/U+3000", "unicode/16.0/White_Space/plane 0"]


def test_a_changed_class_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    true = _core.classes
    monkeypatch.setattr(_core, "classes", lambda unicode, values: [
        tables.OTHER if value == 0x661 else found for value, found in zip(values, true(unicode, values), strict=True)])
    assert failures("unicode/17.0/class") == [
        f"unicode/17.0/class {bit}/U+0000" for bit in (tables.NUMBER, tables.OTHER)]


def test_a_changed_alphabet_scan_or_normal_form_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    alphabet, scan, normalize = _core.byte_characters(), _core.scan, _core.normalize
    alphabet[0xAD], alphabet[0xAE] = alphabet[0xAE], alphabet[0xAD]
    monkeypatch.setattr(_core, "byte_characters", lambda: alphabet)
    # A surrogate that is taken for a character.
    monkeypatch.setattr(_core, "scan", lambda text: (
        [0xD800, *scan(text[3:])] if text[:3] == b"\xed\xa0\x80" else scan(text)))
    monkeypatch.setattr(_core, "normalize", lambda text, unicode: (
        (text, []) if text == "\u212b".encode() else normalize(text, unicode)))
    assert failures("bytes") == ["bytes/AD", "bytes/AE", "bytes/lead ED"]
    assert failures("nfc") == [f"nfc/{version}/U+2100" for version in tables.VERSIONS]


def planted(monkeypatch: pytest.MonkeyPatch, section: str, at: int, change: int) -> None:
    """One byte of a section of gpt2's profile is changed."""
    true = profile.block_of
    name = profile.SECTIONS.index(section)

    def wrong(vocabulary: str) -> bytes:
        block = bytearray(true(vocabulary))
        place = int(numpy.frombuffer(block[104 + 16 * name : 112 + 16 * name], numpy.uint64)[0])
        block[place + at] ^= change
        return bytes(block)

    monkeypatch.setattr(profile, "block_of", wrong)


@pytest.mark.parametrize(("section", "groups"), [
    ("text", {"found"}), ("ids", {"found"}), ("values", {"walk"}), ("nodes", {"walk"}), ("shorter", {"joined"}),
    ("splits", {"joined"}), ("flags", {"joined"}), ("two", {"two"}),
])
def test_a_changed_table_is_found(fresh: None, monkeypatch: pytest.MonkeyPatch, section: str, groups: set[str]) -> None:
    held = profile.profile_of("gpt2").sections[section]
    size = held.dtype.itemsize
    # A row that is in use: the table's middle, or the first from there on that is not "none".
    usable = (held != profile.NONE) & ((held > 0) | (section != "nodes"))
    row = len(held) // 2 + int(numpy.argmax(usable[len(held) // 2 :]))
    profile.profile_of.cache_clear()
    planted(monkeypatch, section, row * size, 1)
    found = failures("vocabulary/gpt2")
    assert found
    assert {name.split("/")[2] for name in found} <= groups | {"merged"}
    assert {name.split("/")[2] for name in found} >= groups


def test_a_wrong_pair_is_found(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The merged token of one pair, then its right part: whatever reads it, several checks see it."""
    slots = profile.profile_of("gpt2").sections["pairs"]
    slot = next(i for i in range(len(slots) // 2, len(slots)) if slots[i] != 2**64 - 1)
    profile.profile_of.cache_clear()
    planted(monkeypatch, "pairs", 8 * slot + 4, 1)
    assert "vocabulary/gpt2/joined/search" in failures("vocabulary/gpt2/joined")


@pytest.mark.parametrize(("section", "check"), [("filter", "joined/search"), ("words", "words"), ("cuts", "cuts")])
def test_a_bit_that_is_missing_is_found(fresh: None, monkeypatch: pytest.MonkeyPatch, section: str, check: str) -> None:
    held = profile.profile_of("gpt2").sections[section]
    word = next(i for i in range(len(held) // 2, len(held)) if held[i] != 0)
    bit = int(held[word]).bit_length() - 1
    profile.profile_of.cache_clear()
    planted(monkeypatch, section, 8 * word + bit // 8, 1 << (bit % 8))
    assert any(name.startswith(f"vocabulary/gpt2/{check}") for name in failures("vocabulary/gpt2"))


def test_an_encoder_that_gives_other_ids_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    true = points.encoder
    monkeypatch.setattr(points, "encoder", lambda name, way: true("cl100k_base" if way == "avx2" else name, way))
    found = failures("ids/avx2", "ids/scalar")
    assert "ids/avx2/gpt2/kjv" in found
    assert "ids/avx2/fixed/bd9b9ae9" in found
    assert not any(name.startswith("ids/scalar") for name in found)


def test_a_check_that_raises_has_failed() -> None:
    def broken() -> str:
        raise ValueError("no table")

    assert [(each.name, each.problem) for each in outcomes([Check("a", broken), Check("b", lambda: "")])] == [
        ("a", "ValueError: no table"), ("b", "")]
    assert none_of([]) == equal(1, 1) == ""
    assert none_of([1, 2]).startswith("2 wrong")


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["bytes", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["checks"], report["failed"]) == (320, [])
    assert main(["bytes/lead", "--list"]) == 0
    assert len(capsys.readouterr().out.split("\n")) == 65
    assert main(["nothing"]) == 2
    monkeypatch.setattr(_core, "byte_characters", lambda: [0] * 256)
    assert main(["bytes/41"]) == 1
    assert "bytes/41: 0, not 65" in capsys.readouterr().out
