"""First fit worked out by hand: t = BASE[s] + c, the least b from 1 on, one free slot at the end."""

from __future__ import annotations

import struct

import pytest
from tokassay.oracles.firstfit import file_bytes, first_fit


def filled(arrays: tuple[list[int], list[int], list[int]]) -> dict[int, tuple[int, int, int]]:
    """Slot -> (BASE, CHECK, VALUES), the free ones left out."""
    return {i: row for i, row in enumerate(zip(*arrays, strict=True)) if row != (0, -1, -1)}


@pytest.mark.parametrize("order", ["depth", "levels"])
def test_three_tokens(order: str) -> None:
    """a and b are 98 and 99 from b = 1. Below a, b would be 99 from 1, which is taken, and is 100 from 2."""
    arrays = first_fit({b"a": 7, b"b": 8, b"ab": 9}, order)
    assert filled(arrays) == {0: (1, -1, -1), 98: (2, 0, 7), 99: (0, 0, 8), 100: (0, 98, 9)}
    assert [len(row) for row in arrays] == [102] * 3


def test_the_two_orders_where_they_differ() -> None:
    """Below a (98) x is 121 from 1. By depth the y below it comes next and is 122 from 1, so that b's x is 123 from 3;
    by levels b's x comes next and is 122 from 2, so that the y is 123 from 2."""
    tokens = {b"axy": 0, b"bx": 1}
    assert filled(first_fit(tokens)) == {
        0: (1, -1, -1), 98: (1, 0, -1), 99: (3, 0, -1), 121: (1, 98, -1), 122: (0, 121, 0), 123: (0, 99, 1),
    }
    assert filled(first_fit(tokens, "levels")) == {
        0: (1, -1, -1), 98: (1, 0, -1), 99: (2, 0, -1), 121: (2, 98, -1), 122: (0, 99, 1), 123: (0, 121, 0),
    }


def test_no_tokens_and_all_bytes() -> None:
    assert first_fit({}) == ([0, 0], [-1, -1], [-1, -1])
    base, check, values = first_fit({bytes([byte]): 255 - byte for byte in range(256)})
    assert (base, check) == ([1] + [0] * 257, [-1] + [0] * 256 + [-1])
    assert values == [-1, *range(255, -1, -1), -1]


def test_the_file() -> None:
    assert file_bytes([1, 0], [-1, 0], [-1, 5]) == b"CRAY" + struct.pack("<8i", 2, 2, 1, 0, -1, 0, -1, 5)


def test_an_order_that_is_none() -> None:
    with pytest.raises(ValueError, match="use depth or levels"):
        first_fit({}, "breadth")
