"""First-fit packing of tokens into a double array, by the words of its description: b = 1, 2, 3, … until all fit."""

from __future__ import annotations

import struct
from collections.abc import Mapping

FREE = -1
ORDERS = ("depth", "levels")


def first_fit(tokens: Mapping[bytes, int], order: str = "depth") -> tuple[list[int], list[int], list[int]]:
    """(BASE, CHECK, VALUES) of tokens (bytes -> id, none empty), with one free slot at the end.

    The root is slot 0. `order` says which state is placed next: `depth`, a state and then all below its first
    child, as the compiler of xerv-crayon 5.7.16 does (its two files come out byte for byte); `levels`, all
    states of one depth before those of the next. Quadratic in the number of slots.
    """
    if order not in ORDERS:
        raise ValueError(f"order {order!r}: use {' or '.join(ORDERS)}")
    base, check, values = [0], [FREE], [FREE]
    taken = bytearray([1]) + bytearray(512)  # the root's slot is nobody's child; all past the last slot are free
    waiting = [(0, _trie(tokens))]
    while waiting:
        state, node = waiting.pop(0 if order == "levels" else -1)
        values[state] = node.value
        children = sorted(node.children)
        if not children:
            continue
        least, *others = children
        b = 1
        while taken[b + least] or any(taken[b + byte] for byte in others):
            b += 1
        base[state] = b
        for row, fill in ((base, 0), (check, FREE), (values, FREE)):
            row.extend([fill] * (b + children[-1] + 1 - len(row)))
        taken.extend(bytes(len(base) + 512 - len(taken)))
        for byte in children:
            check[b + byte] = state
            taken[b + byte] = 1
        below = [(b + byte, node.children[byte]) for byte in children]
        waiting.extend(below if order == "levels" else reversed(below))
    return [*base, 0], [*check, FREE], [*values, FREE]


def file_bytes(base: list[int], check: list[int], values: list[int]) -> bytes:
    """The arrays as a CRAY file, version 2."""
    count = len(base)
    return b"CRAY" + struct.pack(f"<II{3 * count}i", 2, count, *base, *check, *values)


class _Node:
    def __init__(self) -> None:
        self.children: dict[int, _Node] = {}
        self.value = FREE


def _trie(tokens: Mapping[bytes, int]) -> _Node:
    root = _Node()
    for token, number in tokens.items():
        node = root
        for byte in token:
            node = node.children.setdefault(byte, _Node())
        node.value = number
    return root
