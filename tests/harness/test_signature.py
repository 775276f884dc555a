"""Signatures: what makes two divergences one, on decisions whose stage and classes are known."""

from __future__ import annotations

from typing import Any

import pytest
from tokassay.harness.signature import Cause, around, ending, traced
from tokassay.oracles.decisions import first_difference


def scan(offset: int, width: int, value: int, name: str, path: str = "well-formed") -> dict[str, Any]:
    place = {"stage": "scan", "offset": offset, "path": path, "proposed": width, "accepted": width}
    return {**place, "value": value, "class": name, "next": offset + width}


def piece(start: int, end: int, rule: str) -> dict[str, Any]:
    return {"stage": "pretokenize", "offset": start, "path": "split", "start": start, "end": end, "rule": rule}


def lookup(start: int, end: int, identity: int) -> dict[str, Any]:
    return {"stage": "lookup", "offset": start, "path": "part", "start": start, "end": end, "id": identity}


def special(start: int, end: int, identity: int) -> dict[str, Any]:
    return {"stage": "special", "offset": start, "path": "", "start": start, "end": end, "id": identity}


SCANS = [scan(0, 1, 0x61, "Ll"), scan(1, 1, 0x31, "Nd"), scan(2, 1, 0x20, "S")]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ([scan(0, 2, 0xE9, "Ll")], [scan(0, 1, 0xC3, "Lu", "ill-formed")],
         "traced scan well-formed / ill-formed"),
        ([scan(0, 2, 0xE9, "Ll")], [scan(0, 2, 0xE9, "Cn")], "traced classify well-formed / well-formed (L | O)"),
        ([scan(0, 2, 0xE9, "Ll")], [scan(0, 2, 0xE9, "Lu")], "traced classify well-formed / well-formed (Ll | Lu)"),
        ([scan(0, 1, 255, "L", "ill-formed a")], [scan(0, 1, 255, "So", "ill-formed b")],
         "traced scan ill-formed a / ill-formed b (L | O)"),
        ([*SCANS, piece(0, 1, "1")], [*SCANS, piece(0, 2, "2")], "traced pretokenize 1 / 2 (L | N)"),
        ([*SCANS, piece(0, 3, "1")], [*SCANS, piece(0, 2, "1")], "traced pretokenize 1 / 1 (N | S)"),
        ([lookup(0, 1, 5)], [lookup(0, 1, 6)], "traced id map"),
        ([lookup(0, 2, 5)], [lookup(0, 1, 6)], "traced lookup"),
        ([special(1, 5, 9)], [], "traced special found / -"),
        ([special(7, 9, 8)], [special(1, 5, 9), special(7, 9, 8)], "traced special - / found"),
        ([special(1, 3, 8)], [special(1, 5, 9)], "traced special shorter / longer"),
    ],
)  # fmt: skip
def test_causes(left: list[dict[str, Any]], right: list[dict[str, Any]], expected: str) -> None:
    found = first_difference(left, right)
    assert found is not None
    assert str(traced(found, right)) == expected


def test_a_cause_has_no_place_and_no_value() -> None:
    """The same fault further on, on another letter: one cause."""
    one = first_difference([scan(0, 2, 0xE9, "Ll")], [scan(0, 2, 0xE9, "Cn")])
    other = first_difference([scan(9, 3, 0x1C89, "Lo")], [scan(9, 3, 0x1C89, "Cn")])
    assert one is not None and other is not None
    assert traced(one, []) == traced(other, [])


def test_classes_around_a_cut() -> None:
    assert around(SCANS, 0) == ("", "L")
    assert around(SCANS, 1) == ("L", "N")
    assert around(SCANS, 3) == ("S", "")


def test_endings_without_figures() -> None:
    assert ending("crash", "SIGSEGV") == "crash SIGSEGV"
    assert ending("error", "ValueError: at 17\nmore") == "error ValueError: at 00"
    quoted = [ending("error", f"RuntimeError: no token {text}") for text in ('"\u4ed6"', "'a b'", "`\\n`")]
    assert quoted == ["error RuntimeError: no token \u2026"] * 3
    assert ending("error", "E: can't take 'x', it isn't one") == "error E: can't take \u2026, it isn't one"
    assert ending("timeout", "no reply within 1 s") == ending("timeout", "CPU time used up") == "timeout"
    assert str(Cause("ended", "process", ("crash SIGSEGV", "ids"))) == "ended process crash SIGSEGV / ids"
