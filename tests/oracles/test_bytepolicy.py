"""Byte policies, against the interpreter's `replace` handler and by small examples."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokassay.oracles.bytepolicy import ALPHABET, POLICIES, prefixed, scan
from tokassay.oracles.classes import VERSIONS, classes
from tokassay.oracles.errors import Reject, Unsupported

BYTES = st.lists(
    st.one_of(st.binary(max_size=4), st.text(max_size=3).map(lambda text: text.encode("utf-8", "ignore"))), max_size=8
).map(b"".join)


@pytest.mark.parametrize("version", VERSIONS)
def test_continuation_bytes_are_37_letters_6_numbers_21_others(version: str) -> None:
    table = classes(version)
    kinds = [table.category(ord(ALPHABET[byte]))[0] for byte in range(0x80, 0xC0)]
    assert (kinds.count("L"), kinds.count("N"), len(kinds) - kinds.count("L") - kinds.count("N")) == (37, 6, 21)


def test_alphabet_is_one_to_one_over_printable_characters() -> None:
    assert len(set(ALPHABET.values())) == 256
    assert ALPHABET[ord("A")] == "A" and ALPHABET[0x20] == "Ġ" and ALPHABET[0x0A] == "Ċ" and ALPHABET[0xAD] == "Ń"
    assert not any(character.isspace() for character in ALPHABET.values())


@given(BYTES)
def test_replace_is_the_interpreters(data: bytes) -> None:
    scanned = scan(data, "replace")
    assert scanned.text == data.decode("utf-8", "replace")
    assert scanned.data == scanned.text.encode()


@given(BYTES)
def test_replace_each_byte_has_one_for_each_escaped_byte(data: bytes) -> None:
    escaped = data.decode("utf-8", "surrogateescape")
    expected = "".join("\ufffd" if "\udc80" <= each <= "\udcff" else each for each in escaped)
    assert scan(data, "replace-each-byte").text == expected


@given(BYTES)
def test_byte_alphabet_keeps_the_bytes_and_names_each(data: bytes) -> None:
    scanned = scan(data, "byte-alphabet")
    assert scanned.data == data
    escaped = data.decode("utf-8", "surrogateescape")
    expected = [ALPHABET[ord(each) - 0xDC00] if "\udc80" <= each <= "\udcff" else each for each in escaped]
    assert scanned.text == "".join(expected)
    starts = scanned.starts
    if starts is not None:
        pieces = [data[low:high] for low, high in itertools.pairwise(starts)]
        assert pieces == [each.encode("utf-8", "surrogateescape") for each in escaped]


@given(BYTES)
def test_reject_names_the_first_bad_byte(data: bytes) -> None:
    try:
        expected = len(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        with pytest.raises(Reject) as caught:
            scan(data, "reject", base=100)
        assert caught.value.offset == 100 + error.start
    else:
        assert len(scan(data, "reject").text) == expected


@given(BYTES, st.sampled_from(["replace", "replace-each-byte"]))
def test_replaced_bytes_lead_back_to_the_document(data: bytes, policy: str) -> None:
    scanned = scan(data, policy, base=7)
    ends = [7]
    at = 0
    for character in scanned.text:
        width = len(character.encode())
        low, high = scanned.document_span(at, at + width)
        assert low == ends[-1]
        ends.append(high)
        at += width
    assert ends[-1] == 7 + len(data)


def test_a_part_of_a_replacement_widens_to_the_whole() -> None:
    scanned = scan(b"a\xe2\x80b", "replace")
    assert scanned.data == b"a\xef\xbf\xbdb"
    assert scanned.document_span(0, 1) == (0, 1)
    assert scanned.document_span(1, 2) == (1, 3)
    assert scanned.document_span(2, 5) == (1, 4)
    assert scanned.document_span(3, 4) == (1, 3)


@pytest.mark.parametrize("data", [b"ab", b"\xffb"])
def test_prefix_has_an_empty_span(data: bytes) -> None:
    scanned = prefixed(scan(data, "byte-alphabet", base=3), " ")
    assert scanned.data == b" " + data
    assert scanned.document_span(0, 1) == (3, 3)
    assert scanned.document_span(0, 2) == (3, 4)
    assert scanned.document_span(2, 3) == (4, 5)


def test_unknown_policy_is_refused_by_name() -> None:
    with pytest.raises(Unsupported, match="'cesu-8'"):
        scan(b"", "cesu-8")
    assert all(scan(b"ab", policy).text == "ab" for policy in POLICIES)
