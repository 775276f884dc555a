"""Domains: the three kinds of document, by the Unicode tables of the tree."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokassay.harness.domains import BYTES, NEUTRAL, UNICODE, changing, domain_of, domains_of, renormalizing


@pytest.mark.parametrize(
    ("document", "domain"),
    [
        (b"", NEUTRAL),
        (b"plain", NEUTRAL),
        ("naïve 日本語".encode(), NEUTRAL),
        ("\U000105c0".encode(), UNICODE),  # TODHRI LETTER A, new in Unicode 16.0
        ("\U0002ebf0".encode(), UNICODE),  # CJK extension I, new in 15.1
        (b"\xff", BYTES),
        (b"\xe0@yp", BYTES),
        (b"\xc0\x80", BYTES),  # overlong NUL
        (b"\xed\xa0\x80", BYTES),  # a surrogate
        (b"\xf4\x90\x80\x80", BYTES),  # above U+10FFFF
        ("é".encode()[:1], BYTES),
    ],
)
def test_each_kind(document: bytes, domain: int) -> None:
    assert domain_of(document) == domain


def test_nothing_assigned_long_ago_changes() -> None:
    """Python 3.11 knows Unicode 14: what it has assigned stays, but for a few re-classified."""
    table = changing()
    assert not table[:128].any()
    assert not table[0x4E00:0x9FFD].any()
    assigned = [c for c in range(0x110000) if unicodedata.category(chr(c)) != "Cn"]
    # Only re-classified ones remain: a handful, where thousands were added.
    assert int(table[assigned].sum()) < 50
    assert 4000 < int(table.sum()) < 20000


@given(st.lists(st.one_of(st.binary(max_size=6), st.text(max_size=4).map(str.encode)), max_size=8))
def test_a_chunk_is_judged_as_its_documents(documents: list[bytes]) -> None:
    """Also where two ill-formed neighbours make a well-formed whole."""
    offsets = np.cumsum([0, *map(len, documents)]).astype(np.uint64)
    assert domains_of(b"".join(documents), offsets).tolist() == [domain_of(d) for d in documents]


def test_halves_of_a_character_are_ill_formed() -> None:
    offsets = np.array([0, 1, 2], dtype=np.uint64)
    assert domains_of("é".encode(), offsets).tolist() == [BYTES, BYTES]


def test_what_a_normalizer_learned_after_unicode_3_2() -> None:
    """Python knows what 3.2 had assigned, and what 14.0 tells a normalizer: of what came between, the table says so."""
    versions, table = renormalizing()
    later = sum(1 << versions.index(one) for one in versions[versions.index("4.0") : versions.index("14.0") + 1])
    young = [code for code in range(0x110000) if unicodedata.ucd_3_2_0.category(chr(code)) == "Cn"]
    tells = {
        code for code in young
        if unicodedata.combining(chr(code)) or unicodedata.decomposition(chr(code))[:1] not in ("", "<")
    }
    assert {code for code in young if table[code] & later} >= tells
    assert len(tells) > 500 and ord("\U00010f4c") in tells
    # Nor is all news: a block with what everybody has asks for no second oracle.
    assert int((table & later > 0).sum()) < 1500 and not (table[[ord(each) for each in "eé\u0302한"]] & later).any()
