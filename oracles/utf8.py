"""Well-formed UTF-8, by Table 3-7 of the Unicode Standard (chapter 3.9, D92; RFC 3629 says the same).

All offsets and widths are in bytes. Nothing here decodes: this stage only says where a code point stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Table 3-7, a row a line: the allowed range of each byte of a sequence.
TABLE_3_7: tuple[tuple[tuple[int, int], ...], ...] = (
    ((0x00, 0x7F),),
    ((0xC2, 0xDF), (0x80, 0xBF)),
    ((0xE0, 0xE0), (0xA0, 0xBF), (0x80, 0xBF)),
    ((0xE1, 0xEC), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xED, 0xED), (0x80, 0x9F), (0x80, 0xBF)),
    ((0xEE, 0xEF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF0, 0xF0), (0x90, 0xBF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF1, 0xF3), (0x80, 0xBF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF4, 0xF4), (0x80, 0x8F), (0x80, 0xBF), (0x80, 0xBF)),
)

# Possessive: a run is never given back, and a long one must not pile up places to go back to.
_WELL_FORMED_RUN = re.compile(
    b"(?:"
    + b"|".join(
        b"".join(b"[\\x%02x-\\x%02x]" % (low, high) for low, high in row) + (b"++" if len(row) == 1 else b"")
        for row in TABLE_3_7
    )
    + b")++"
)


def _fit(data: bytes, offset: int) -> tuple[int, bool]:
    """(bytes at `offset` that fit the row of their lead, whether the row is then complete); (0, False) for no
    lead."""
    lead = data[offset]
    for row in TABLE_3_7:
        if row[0][0] <= lead <= row[0][1]:
            fit = 1
            while fit < len(row) and offset + fit < len(data):
                low, high = row[fit]
                if not low <= data[offset + fit] <= high:
                    break
                fit += 1
            return fit, fit == len(row)
    return 0, False


def sequence_width(data: bytes, offset: int) -> int:
    """Width (1 to 4) of the well-formed sequence that starts at `offset`, or 0 if none starts there."""
    fit, complete = _fit(data, offset)
    return fit if complete else 0


def maximal_subpart(data: bytes, offset: int) -> int:
    """Width of the maximal subpart (Unicode 3.9, D93b) of the ill-formed sequence at `offset`: at least 1.

    It is the longest run of bytes there that begins some well-formed sequence; otherwise the one byte.
    """
    return max(1, _fit(data, offset)[0])


def proposed_width(lead: int) -> int:
    """The width that the lead byte alone suggests; 1 for a byte that leads nothing. Only ever a proposal."""
    for row in TABLE_3_7:
        if row[0][0] <= lead <= row[0][1]:
            return len(row)
    return 1


def runs(data: bytes) -> Iterator[tuple[int, int, bool]]:
    """(start, end, well_formed) of the maximal well-formed runs and of what lies between them, in order.

    A byte is in a well-formed run if, reading from the left, a well-formed sequence starts at it or covers
    it; the offsets between runs are those where none starts.
    """
    at = 0
    while at < len(data):
        found = _WELL_FORMED_RUN.search(data, at)
        start, end = found.span() if found else (len(data), len(data))
        if at < start:
            yield at, start, False
        if start < end:
            yield start, end, True
        at = end


def first_ill_formed(data: bytes) -> int | None:
    """Offset of the first byte where no well-formed sequence starts; None if the whole is well-formed."""
    for start, _, well_formed in runs(data):
        if not well_formed:
            return start
    return None
