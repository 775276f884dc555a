"""Two sides of one document: what differs first, how that is known, and how tokens are set side by side."""

from __future__ import annotations

import pytest
from tokassay.harness.differ import Side, aligned, difference, same

# GPT-2 on 89 88 81 ab: the right ids, and made-up ones that take 88 81 as one unit.
RIGHT = Side(
    "a",
    ids=(231, 230, 223, 104),
    tokens=(b"\x89", b"\x88", b"\x81", b"\xab"),
    spans=((0, 1), (1, 2), (2, 3), (3, 4)),
)
WRONG = Side("b", ids=(231, 9, 104), tokens=(b"\x89", b"\x88\x81", b"\xab"), spans=((0, 1), (1, 3), (3, 4)))
DOCUMENT = b"\x89\x88\x81\xab"


def test_equal_sides_have_no_difference() -> None:
    assert same(RIGHT, RIGHT)
    assert difference(RIGHT, RIGHT, DOCUMENT) is None
    refused = Side("c", outcome="reject")
    assert difference(refused, Side("d", outcome="reject", detail="in other words"), DOCUMENT) is None


def test_the_first_differing_token_without_a_trace_is_inferred() -> None:
    found = difference(RIGHT, WRONG, DOCUMENT)
    assert found is not None
    assert (found.token, found.known) == (1, "inferred")


def test_a_token_over_the_end_of_a_traced_piece_is_laid_to_the_pretokenizer() -> None:
    decisions = (
        {"stage": "pretokenize", "start": 0, "end": 1, "rule": "letters", "offset": 0},
        {"stage": "pretokenize", "start": 1, "end": 2, "rule": "others", "offset": 1},
    )
    left = Side("a", ids=(0, 1), tokens=(b"a", b"b"), spans=((0, 1), (1, 2)), decisions=decisions)
    right = Side("b", ids=(2,), tokens=(b"ab",), spans=((0, 2),))
    for found in (difference(left, right, b"ab"), difference(right, left, b"ab")):
        assert found is not None
        assert (found.token, found.stage, found.known) == (0, "pretokenize", "inferred")


@pytest.mark.parametrize("outcome", ["reject", "crash", "timeout", "oom", "error"])
def test_a_side_without_ids_is_the_difference(outcome: str) -> None:
    found = difference(RIGHT, Side("b", outcome=outcome, detail="SIGSEGV"), DOCUMENT)
    assert found is not None
    assert found.token is None
    assert f"b: {outcome} (SIGSEGV)" in found.sentence


def test_a_rejection_names_the_first_ill_formed_byte() -> None:
    left = Side("a", ids=(64,), tokens=(b"a\xff",), spans=((0, 2),))
    found = difference(left, Side("b", outcome="reject"), b"a\xff")
    assert found is not None
    assert (found.stage, found.known) == ("scan", "inferred")
    assert "ff at offset 1" in found.sentence


def test_tokens_that_begin_together_share_a_row() -> None:
    assert aligned(RIGHT, WRONG) == [(0, 0), (1, 1), (2, None), (3, 2)]
    assert aligned(WRONG, RIGHT) == [(0, 0), (1, 1), (None, 2), (2, 3)]


def test_rows_by_index_without_spans() -> None:
    assert aligned(Side("a", ids=(1, 2), tokens=(None, None)), WRONG) == [(0, 0), (1, 1), (None, 2)]
