"""SentencePiece's model file, read by the oracle's own parser (the harness has another; a test compares them).

The file is a protocol buffer, sentencepiece_model.proto: a row of fields, each a tag (number << 3 | wire type) and a
value. What is not said has the default that the .proto names.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tokassay.oracles.errors import OracleError, Unsupported

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM, BPE = 1, 2
UNKNOWN_SURFACE = " \u2047 ".encode()  # what an unknown id decodes to where the trainer was not told otherwise


@dataclass(frozen=True)
class Model:
    """What a model file says. `pieces` are (bytes, score, type) by id; `charsmap` is b"" where there is none."""

    pieces: tuple[tuple[bytes, float, int], ...]
    kind: int = UNIGRAM
    byte_fallback: bool = False
    suffix: bool = False  # treat_whitespace_as_suffix
    unknown_surface: bytes = UNKNOWN_SURFACE
    charsmap: bytes = b""
    prefix: bool = True  # add_dummy_prefix
    collapse: bool = True  # remove_extra_whitespaces
    escape: bool = True  # escape_whitespaces


def read_model(path: Path) -> Model:
    """The model in a file. Raises OracleError where the file is no protocol buffer, Unsupported for a text that is
    changed after decoding."""
    data = path.read_bytes()
    try:
        return parse(data)
    except (IndexError, struct.error) as error:
        raise OracleError(f"not a whole model: {error}", where=str(path), remedy="fetch the file again") from None


def parse(data: bytes) -> Model:
    """The model in the bytes of a file."""
    pieces: list[tuple[bytes, float, int]] = []
    said: dict[str, object] = {}
    for number, value in _fields(data):
        if number == 1 and isinstance(value, bytes):
            piece: dict[int, bytes | int] = dict(_fields(value))
            text = piece.get(1, b"")
            score = struct.unpack("<f", struct.pack("<I", _number(piece, 2, 0)))[0]
            pieces.append((text if isinstance(text, bytes) else b"", score, _number(piece, 3, NORMAL)))
        elif number == 2 and isinstance(value, bytes):
            for field, each in _fields(value):
                if field in _TRAINER:
                    name, kind = _TRAINER[field]
                    said[name] = kind(each)
        elif number == 3 and isinstance(value, bytes):
            for field, each in _fields(value):
                if field in _NORMALIZER:
                    name, kind = _NORMALIZER[field]
                    said[name] = kind(each)
        elif number == 5 and isinstance(value, bytes) and dict(_fields(value)).get(2):
            raise Unsupported("a denormalizer is not modelled", where="model: denormalizer_spec")
    return Model(tuple(pieces), **said)  # type: ignore[arg-type]


_TRAINER = {3: ("kind", int), 35: ("byte_fallback", bool), 24: ("suffix", bool), 44: ("unknown_surface", bytes)}
_NORMALIZER = {2: ("charsmap", bytes), 3: ("prefix", bool), 4: ("collapse", bool), 5: ("escape", bool)}


def _number(piece: dict[int, bytes | int], field: int, default: int) -> int:
    value = piece.get(field, default)
    return value if isinstance(value, int) else default


def _fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """(number, value) of a message: bytes of what has a length, the bits of anything else."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        wire = tag & 7
        value: bytes | int
        if wire == 0:
            value, at = _varint(data, at)
        elif wire == 2:
            width, at = _varint(data, at)
            value, at = data[at : at + width], at + width
            if at > len(data):
                raise IndexError("a field ends behind the file")
        elif wire in (1, 5):
            width = 8 if wire == 1 else 4
            value, at = int.from_bytes(data[at : at + width], "little"), at + width
            if at > len(data):
                raise IndexError("a number ends behind the file")
        else:
            raise IndexError(f"wire type {wire}")
        yield tag >> 3, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
