"""The precompiled character map of a SentencePiece model: rules "these bytes become those", longest match first.

    u32 LE        size of the double array in bytes
    double array  Darts-clone's, units of u32 LE
    texts         what the rules make, each ended by a NUL; a rule's value is the offset of its text

A unit of Darts-clone holds a label (bits 0-7, and bit 31 set in a leaf), whether a leaf stands below it (bit 8), and an
offset (bits 10-30, times 256 if bit 9 is set). From the unit at i, byte c leads to j = i ^ offset ^ c if the label of j
is c; a leaf at i ^ offset has the value in bits 0-30. No text of the map is looked at twice.
"""

from __future__ import annotations

import struct
from array import array

from tokassay.oracles.errors import OracleError

RULES = 32  # of the rules that begin at a place, so many of the shortest are looked at (normalizer.h)


class Charsmap:
    """A map; `blob` is the model's precompiled_charsmap. Raises OracleError where it is not whole."""

    def __init__(self, blob: bytes) -> None:
        size = struct.unpack_from("<I", blob)[0] if len(blob) > 4 else 0
        if not size or size % 4 or 4 + size >= len(blob) or blob[-1]:
            raise OracleError("the character map is not whole", where="precompiled_charsmap", remedy="fetch it again")
        self._units = array("I", struct.unpack_from(f"<{size // 4}I", blob, 4))
        self._texts = blob[4 + size :]

    def longest(self, data: bytes, at: int) -> tuple[int, bytes] | None:
        """(bytes taken, what they become) of the longest rule that begins at `at`; None where none does."""
        units = self._units
        place, unit = 0, units[0]
        width, value, rules = 0, -1, 0
        place ^= _offset(unit)
        for end in range(at, len(data)):
            place ^= data[end]
            if place >= len(units):
                break
            unit = units[place]
            if unit & 0x800000FF != data[end]:
                break
            place ^= _offset(unit)
            if unit >> 8 & 1 and place < len(units):
                width, value, rules = end + 1 - at, units[place] & 0x7FFFFFFF, rules + 1
                if rules == RULES:
                    break
        if not width or value >= len(self._texts):
            return None
        return width, self._texts[value : self._texts.index(0, value)]

    def begins(self, text: bytes) -> bool:
        """Whether some rule begins with `text`."""
        place = _offset(self._units[0])
        for byte in text:
            place ^= byte
            if place >= len(self._units) or self._units[place] & 0x800000FF != byte:
                return False
            place ^= _offset(self._units[place])
        return True


def _offset(unit: int) -> int:
    return (unit >> 10) << ((unit & 0x200) >> 6)
