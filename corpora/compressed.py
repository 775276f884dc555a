"""Reads the data file of bible(1): a table of offsets, and blocks as compress(1) makes them (LZW of 9 to 16 bits).

The head is 64 bytes of text, then big-endian u32: at 0x58 the number of blocks, then where each begins, and the end.
Codes are taken from the least significant bit on, in groups of eight; a group that is begun is passed over where the
width changes or the table is cleared.
"""

from __future__ import annotations

import struct
from itertools import pairwise

MAGIC = b"EC02Compressed Data File"
COUNT = 0x58
FIRST_BITS, MOST_BITS, CLEAR = 9, 16, 256


def unpacked(data: bytes) -> bytes:
    """The text of the file. Raises ValueError for a file of another form."""
    if not data.startswith(MAGIC):
        raise ValueError("not a data file of bible(1)")
    (count,) = struct.unpack_from(">I", data, COUNT)
    offsets = struct.unpack_from(f">{count + 1}I", data, COUNT + 4)
    return b"".join(unlzw(data[start:end]) for start, end in pairwise(offsets))


def unlzw(data: bytes) -> bytes:
    """One block, without the three bytes that begin a file of compress(1). Raises ValueError where it is damaged."""
    table = [bytes([value]) for value in range(256)] + [b""]
    bits, at, begun = FIRST_BITS, 0, 0  # `at` counts bits; `begun` is where the groups of this width begin
    before = b""
    out: list[bytes] = []
    while at + bits <= 8 * len(data):
        first = at >> 3
        code = int.from_bytes(data[first : first + 4], "little") >> (at & 7) & (1 << bits) - 1
        at += bits
        if code == CLEAR:
            at, bits = _next_group(at, begun, bits), FIRST_BITS
            begun = at
            del table[257:]
            before = b""
            continue
        if code < len(table):
            entry = table[code]
        elif code == len(table) and before:
            entry = before + before[:1]
        else:
            raise ValueError(f"code {code} at bit {at - bits} is none")
        out.append(entry)
        if before and len(table) < 1 << MOST_BITS:
            table.append(before + entry[:1])
            if len(table) == 1 << bits and bits < MOST_BITS:
                at, bits = _next_group(at, begun, bits), bits + 1
                begun = at
        before = entry
    return b"".join(out)


def _next_group(at: int, begun: int, bits: int) -> int:
    """Where the next group of eight codes begins."""
    return begun + -(-(at - begun) // (8 * bits)) * 8 * bits
