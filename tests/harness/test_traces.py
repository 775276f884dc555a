"""A trace in words: the faults are those of Unicode Table 3-7."""

from __future__ import annotations

import pytest
from tokassay.harness.traces import fault, row


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (b"\xe0@yp", "e0 leads 3 bytes, and byte 2 must be a0-bf but is 40"),
        (b"\xe1@yp", "e1 leads 3 bytes, and byte 2 must be 80-bf but is 40"),
        (b"\xe1\x80@", "e1 leads 3 bytes, and byte 3 must be 80-bf but is 40"),
        (b"\xed\xa0\x80", "ed leads 3 bytes, and byte 2 must be 80-9f but is a0"),
        (b"\xf0\x80\x80\x80", "f0 leads 4 bytes, and byte 2 must be 90-bf but is 80"),
        (b"\xf4\x90\x80\x80", "f4 leads 4 bytes, and byte 2 must be 80-8f but is 90"),
        (b"\xf1\x80\x80", "f1 leads 4 bytes, and the document ends after 3"),
        (b"\xc2", "c2 leads 2 bytes, and the document ends after 1"),
        (b"\x89\x88\x81\xab", "89 is a continuation byte, and no lead byte claims it"),
        (b"\xc0\x80", "c0 would begin an overlong form"),
        (b"\xf5\x80", "f5 never occurs in UTF-8"),
        (b"\xff", "ff never occurs in UTF-8"),
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
        "89 is a continuation byte, and no lead byte claims it: taken alone, it stands for U+012B ī, class Ll (letter)"
    )
    replaced = row(scan(0, 3, 2, 0xE1, "So"), b"\xe1\x80@", "replace").meaning
    assert replaced.endswith("2 byte(s) become U+FFFD, class So (symbol)")


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
    assert row({**merge, "offset": 5, "position": 2}, document).offset == 7
    piece = {"stage": "pretokenize", "offset": 5, "start": 5, "end": 11, "rule": "letters"}
    assert (row(piece, document).meaning, row(piece, document).path) == ("the piece [ world]", "letters")
    lookup = {"stage": "lookup", "offset": 5, "start": 5, "end": 11, "id": 995}
    assert row(lookup, document).meaning == "[ world] is token 995"
    classify = {"stage": "classify", "offset": 0, "accepted": 1, "class": "L"}
    assert row(classify, document).meaning == "L (letter)"
