"""Columns and where they differ, against a comparison of plain lists."""

import hashlib
import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tokassay.harness.compare import IDS, OTHER, REJECT, Output, differing, joined, leaves

documents = st.lists(
    st.one_of(st.lists(st.integers(0, 3), max_size=4), st.sampled_from([REJECT, OTHER])),
    min_size=6,
    max_size=6,
)


def output(rows: list[list[int] | int]) -> Output:
    status = np.array([IDS if isinstance(r, list) else r for r in rows], np.uint8)
    ids = [r if isinstance(r, list) else [] for r in rows]
    return Output(
        status, np.array([len(r) for r in ids], np.uint64), np.array([i for row in ids for i in row], np.uint32)
    )


@given(documents, documents)
def test_differing_is_what_lists_say(a: list[list[int] | int], b: list[list[int] | int]) -> None:
    assert differing(output(a), output(b)).tolist() == [i for i in range(6) if a[i] != b[i]]


def test_a_token_moved_over_a_border_is_seen() -> None:
    assert differing(output([[1, 2], [3], [9]]), output([[1], [2, 3], [9]])).tolist() == [0, 1]


@given(documents)
def test_values_of_a_document(rows: list[list[int] | int]) -> None:
    out = joined([output(rows[:2]), output(rows[2:])])
    assert [out.of(i).tolist() for i in range(6)] == [r if isinstance(r, list) else [] for r in rows]


def test_leaves_are_those_of_the_definition() -> None:
    """DESIGN's definition written out with struct: bytes, status, number of ids, ids."""
    got = leaves(np.array([5, 1], np.uint64), output([[31373, 7], REJECT]))
    first = hashlib.sha256(struct.pack("<QBIII", 5, 0, 2, 31373, 7)).digest()
    second = hashlib.sha256(struct.pack("<QBI", 1, 1, 0)).digest()
    assert got == first + second
