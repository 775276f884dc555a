"""A trace in words: the faults are those of Unicode Table 3-7."""

from __future__ import annotations

import pytest
from tokassay.harness.traces import extent, fault, row


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (b"\xe0@yp", "E0 leads three bytes, but the next byte, 40, is no continuation (80-BF)"),
        (b"\xe1@yp", "E1 leads three bytes, but the next byte, 40, is no continuation (80-BF)"),
        (b"\xe1\x80@", "E1 leads three bytes, but the third byte, 40, is no continuation (80-BF)"),
        (b"\xe0\x80\x80", "E0 leads three bytes, but the next byte, 80, is none of A0-BF: an overlong form"),
        (b"\xed\xa0\x80", "ED leads three bytes, but the next byte, A0, is none of 80-9F: a surrogate"),
        (b"\xf0\x80\x80\x80", "F0 leads four bytes, but the next byte, 80, is none of 90-BF: an overlong form"),
        (b"\xf4\x90\x80\x80", "F4 leads four bytes, but the next byte, 90, is none of 80-8F: above U+10FFFF"),
        (b"\xf1\x80\x80", "F1 leads four bytes, but the document ends after three"),
        (b"\xc2", "C2 leads two bytes, but the document ends after one"),
        (b"\x89\x88\x81\xab", "89 is a continuation byte (80-BF), and no lead byte claims it"),
        (b"\xc0\x80", "C0 would lead an overlong form, and never occurs in UTF-8"),
        (b"\xf5\x80", "F5 never occurs in UTF-8"),
        (b"\xff", "FF never occurs in UTF-8"),
    ],
)
def test_why_a_byte_is_ill_formed(document: bytes, words: str) -> None:
    assert fault(document, 0) == words


def scan(offset: int, proposed: int, accepted: int, value: int, kind: str) -> dict[str, object]:
    return {
        "stage": "scan",
        "offset": offset,
        "path": "some way",
        "proposed": proposed,
        "accepted": accepted,
        "value": value,
        "class": kind,
        "next": offset + accepted,
    }


def test_a_scan_of_an_ill_formed_byte() -> None:
    # 89 stands for U+012B in GPT-2's byte alphabet: it is the 43rd (from 0) byte that is not printable Latin-1.
    shown = row(scan(0, 1, 1, 0x89, "Ll"), b"\x89\x88", "byte-alphabet")
    assert (shown.offset, shown.bytes, shown.width, shown.path, shown.next) == (0, "89", "1/1", "some way", "1")
    assert shown.meaning == (
        "89 is a continuation byte (80-BF), and no lead byte claims it: 89 stands alone, "
        "as U+012B ī of the byte alphabet, class Ll (letter)"
    )
    replaced = row(scan(0, 3, 2, 0xE1, "So"), b"\xe1\x80@", "replace").meaning
    assert replaced.endswith("E1 80 stand for U+FFFD, class So (symbol)")


def test_a_scan_of_a_well_formed_sequence() -> None:
    shown = row(scan(1, 3, 3, 0x2603, "So"), "a☃".encode(), "byte-alphabet")
    assert shown.meaning == "[☃] U+2603, class So (symbol)"
    assert row(scan(0, 1, 1, 0x20, "S"), b" ").meaning == "[ ] U+0020, class S (white space)"


def test_the_later_stages() -> None:
    document = b"hello world"
    merge = {
        "stage": "merge",
        "offset": 0,
        "left": b"he".hex(),
        "right": b"ll".hex(),
        "rank": 7,
        "position": 0,
    }
    assert row(merge, document).meaning == "[he] + [ll] -> [hell], rank 7"
    assert row(merge, document).bytes == "68 65 6c 6c"
    # A merge's position is within its piece.
    within = {**merge, "offset": 5, "position": 1, "left": b"wo".hex(), "right": b"rl".hex()}
    assert row(within, document).offset == 6
    # What a replacement brought in is not in the document.
    assert extent({**within, "left": "efbf", "right": "bd"}, document) == (5, 5)
    piece = {"stage": "pretokenize", "offset": 5, "start": 5, "end": 11, "rule": "letters"}
    assert (row(piece, document).meaning, row(piece, document).path) == ("the piece [ world]", "letters")
    lookup = {"stage": "lookup", "offset": 5, "start": 5, "end": 11, "id": 995}
    assert row(lookup, document).meaning == "[ world] is token 995"
    classify = {"stage": "classify", "offset": 0, "accepted": 1, "class": "L"}
    assert row(classify, document).meaning == "L (letter)"


def test_a_space_that_is_put_before_the_text() -> None:
    put = {"stage": "normalize", "offset": 0, "path": "prefix space", "start": 0, "end": 0}
    assert row(put, b"a").meaning == "a space is put before the text"
    space = {**scan(0, 1, 1, 0x20, "S"), "next": 0}
    assert row(space, b"a").meaning == "[ ] put before the text, class S (white space)"
    assert row({**put, "path": "nfc", "end": 3}, "e\u0301".encode()).meaning == "[e\u0301] is changed"


def test_who_told_a_record() -> None:
    lookup = {"stage": "lookup", "offset": 0, "start": 0, "end": 1, "id": 64, "inferred": "oracle:reject@16.0"}
    assert (row(lookup, b"a").inferred, row(lookup, b"a").meaning) == ("oracle:reject@16.0", "[a] is token 64")
