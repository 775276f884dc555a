"""Reads a CRAY file (Crayon's double array, version 2) as a vocabulary of `greedy-longest`; plain Python and numpy.

A file holds no texts: a token's bytes are read off the way from its slot to the root. This reader shares nothing with
dat-greedy, so that a fault of either shows.
"""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt
from tokassay.harness.contract import GREEDY
from tokassay.harness.errors import InputError
from tokassay.harness.parsed import Parsed, missing_byte
from tokassay.harness.vocabulary import Settled, Vocabulary

MAGIC = b"CRAY"
UNKNOWN = 1  # what Crayon emits for a byte at which no token starts
BYTES = np.arange(256)


def parse(data: bytes, where: str) -> Parsed:
    """The tokens that a walk from the root can find. Raises InputError for what is no whole file."""
    tokens = _tokens(*_arrays(data, where), where)
    vocabulary = Vocabulary(tokens, None, {})
    parsed = Parsed(Settled(vocabulary, GREEDY, False), byte_policy="raw")
    byte = missing_byte(tokens)
    if byte is not None:
        parsed.unknown = UNKNOWN
        parsed.notes.append(
            f"byte 0x{byte:02x} has no token: a byte at which none starts is id {UNKNOWN} and lost, by Crayon's rule"
        )
    return parsed


Slots = npt.NDArray[np.int64]


def _arrays(data: bytes, where: str) -> tuple[Slots, Slots, Slots]:
    if len(data) < 12:
        raise _refuse("shorter than its header", where)
    version, count = struct.unpack_from("<II", data, 4)
    if version != 2:
        raise _refuse(f"version {version}, and 2 is the one that is known", where)
    if not 0 < count < 2**31 or len(data) != 12 + 12 * count:
        raise _refuse(f"{len(data)} bytes do not hold {count} slots", where)
    rows = np.frombuffer(data, "<i4", offset=12).astype(np.int64).reshape(3, count)
    return rows[0], rows[1], rows[2]


def _tokens(base: Slots, check: Slots, values: Slots, where: str) -> dict[bytes, int]:
    """All valued states by a walk of every branch, a level at a time; ids ascend."""
    found: dict[int, bytes] = {}
    level: dict[int, bytes] = {0: b""}
    while level:
        below: dict[int, bytes] = {}
        for state, text in level.items():
            if values[state] >= 0 and state > 0:
                number = int(values[state])
                if number in found:
                    raise InputError(f"id {number} stands for two tokens", where=where, remedy="build the file again")
                found[number] = text
            steps = base[state] + BYTES
            steps = steps[(steps > 0) & (steps < len(check))]
            for step in steps[check[steps] == state].tolist():
                below[step] = text + bytes([step - int(base[state])])
        level = below
    return {found[number]: number for number in sorted(found)}


def _refuse(problem: str, where: str) -> InputError:
    return InputError(f"not a whole CRAY file: {problem}", where=where, remedy="build or fetch the file again")
