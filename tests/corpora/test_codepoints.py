"""codepoints and repeats: what they must hold, by Python's own Unicode tables and by counting."""

from __future__ import annotations

import unicodedata

from tokassay.corpora.open import open_corpus

# Runs of one category with more than 2,000 code points, in UnicodeData.txt written as First and Last: three of each.
LONG = (
    (0x3400, 0x4DBF), (0x4E00, 0xA014), (0xAC00, 0xD7A3), (0x13460, 0x143FA), (0x17000, 0x18CFF), (0x20000, 0x33479),
)


def test_every_code_point_that_python_knows_is_there() -> None:
    """Python's tables are older or newer than ours by its release: what it calls assigned must not be missing."""
    held = {int(document.name.split()[1], 16) for document in open_corpus("codepoints").documents()}
    known = {
        point for point in range(0x110000)
        if unicodedata.category(chr(point)) not in ("Cn", "Co", "Cs")
        and not any(first <= point <= last for first, last in LONG)
    }
    missing = known - held
    assert not {point for point in missing if unicodedata.unidata_version <= "17.0.0"}
    assert all(any(first <= point <= last for point in held) for first, last in LONG)
    assert not any(0xD800 <= point < 0xE000 for point in held)


def test_each_stands_behind_a_space_a_letter_and_a_digit() -> None:
    documents = {document.name: document.data.decode() for document in open_corpus("codepoints").documents()}
    assert documents["codepoints 1FAE8"] == " \U0001fae8!a\U0001fae81\U0001fae8"
    assert documents["codepoints 0041"] == " A!aA1A"


def test_repeats_are_odd_and_even_behind_each_lead() -> None:
    texts = {document.data.decode() for document in open_corpus("repeats").documents()}
    assert {"n" + "o" * count for count in range(2, 10)} <= texts
    assert {"oo", " oo", "\u25c6oo", "  ", "........", "一" * 3} <= texts
