"""Reader of SentencePiece model files: pieces with scores and types, and what their trainer and normalizer say.

The file is a protocol buffer (sentencepiece_model.proto). Its wire format is a row of fields, each a tag and a value,
which takes a page to read; so no library does. Unknown fields are passed over, as every reader of the format does.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from math import isfinite
from typing import Any

from tokassay.harness.contract import BPE_SCORES, UNIGRAM
from tokassay.harness.errors import InputError
from tokassay.harness.parsed import Parsed
from tokassay.harness.vocabulary import Settled, Vocabulary

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
TYPES = ("", "normal", "unknown", "control", "user-defined", "unused", "byte")
MODELS = ("", UNIGRAM, BPE_SCORES, "word", "char")
SPACE = "\u2581".encode()
UNKNOWN_SURFACE = " \u2047 ".encode()
LONGEST = 8000  # bytes of a piece that sentencepiece loads, less one
REFETCH = "the file is damaged or of another format: fetch it again and compare its SHA-256"
Value = int | bytes


@dataclass(frozen=True)
class Piece:
    """One piece: its bytes, its score (a 32-bit float), and its type (NORMAL to BYTE)."""

    text: bytes
    score: float
    kind: int


@dataclass(frozen=True)
class SentencePieces(Vocabulary):
    """A vocabulary of pieces, in the order of their ids. `tokens` are the surfaces of normal, user-defined and byte
    pieces (U+2581 is a space); of a surface that is a byte and a piece, it is the piece."""

    pieces: tuple[Piece, ...] = ()
    charsmap: bytes = field(default=b"", repr=False)
    unknown_surface: bytes = UNKNOWN_SURFACE

    def canonical(self) -> bytes:
        """Lines `P <id> <type> <score as 8 hex digits of its bits> <hex>` by id, then `C <SHA-256>` of the character
        map where there is one, then `U <hex>` of what an unknown id decodes to."""
        lines = [
            f"P {number} {TYPES[piece.kind]} {struct.pack('>f', piece.score).hex()} {piece.text.hex()}\n"
            for number, piece in enumerate(self.pieces)
        ]
        lines += [f"C {sha256(self.charsmap).hexdigest()}\n"] if self.charsmap else []
        return "".join([*lines, f"U {self.unknown_surface.hex()}\n"]).encode("ascii")

    def ids(self) -> dict[int, bytes]:
        """id -> bytes: surfaces, the byte of a byte piece, the text of a control or unknown piece."""
        return {number: surface(piece) for number, piece in enumerate(self.pieces)}

    def reaches(self, token: bytes) -> bool:
        """True: by scores nothing is told of a token alone."""
        return True


def surface(piece: Piece) -> bytes:
    """The bytes that a piece stands for."""
    if piece.kind == BYTE:
        return bytes([int(piece.text[3:5], 16)])
    return piece.text if piece.kind in (UNKNOWN, CONTROL) else piece.text.replace(SPACE, b" ")


def parse(data: bytes, where: str) -> Parsed:
    """A model file. Raises InputError with the byte offset for what is damaged or sentencepiece does not load; names
    what is not modelled."""
    read = _Read(where)
    for number, value, at in _fields(data, where):
        if number == 1:
            read.piece(_message(value, where, at), at)
        elif number in _SPECS:
            read.spec(number, _message(value, where, at), at)
    return read.parsed(len(data))


class _Read:
    """What has been read of a file."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.pieces: list[Piece] = []
        self.places: list[int] = []
        self.said: dict[str, Value] = {}
        self.at: dict[str, int] = {}
        self.unmodelled: list[str] = []

    def piece(self, message: tuple[bytes, int], at: int) -> None:
        text, score, kind = b"", 0.0, NORMAL
        for number, value, place in _fields(*self._inside(message)):
            if number == 1 and isinstance(value, bytes):
                text = value
            elif number == 2 and isinstance(value, int):
                score = struct.unpack("<f", struct.pack("<I", value))[0]
            elif number == 3 and isinstance(value, int):
                kind = value
            elif number in (1, 2, 3):
                raise self.damaged(f"piece {len(self.pieces)}: field {number} is of another kind", place)
        if kind not in range(NORMAL, BYTE + 1):
            self.unmodelled.append(f"pieces[{len(self.pieces)}].type: {kind}")
            kind = NORMAL
        self.pieces.append(Piece(text, score, kind))
        self.places.append(at)

    def spec(self, number: int, message: tuple[bytes, int], at: int) -> None:
        for each, value, place in _fields(*self._inside(message)):
            name = _SPECS[number].get(each)
            if name is not None:
                kind = bytes if name in _TEXTS else int
                if not isinstance(value, kind):
                    raise self.damaged(f"{name} is of another kind", place)
                self.said[name], self.at[name] = value, place

    def _inside(self, message: tuple[bytes, int]) -> tuple[bytes, str, int]:
        return message[0], self.where, message[1]

    def damaged(self, problem: str, at: int) -> InputError:
        return InputError(problem, where=f"{self.where}: byte {at}", remedy=REFETCH)

    def flag(self, name: str, default: bool) -> bool:
        return bool(self.said.get(name, default))

    def text(self, name: str, default: bytes = b"") -> bytes:
        value = self.said.get(name, default)
        assert isinstance(value, bytes)
        return value

    def parsed(self, size: int) -> Parsed:
        kind = int(self.said.get("model_type", 1))
        model = MODELS[kind] if 0 < kind < len(MODELS) else f"type {kind}"
        if not self.pieces:
            raise self.damaged("no pieces: not a SentencePiece model, or cut off", size)
        self._check(model)
        charsmap = self.text("precompiled_charsmap")
        if charsmap:
            self._check_charsmap(charsmap)
        if self.text("denormalizer"):
            self.unmodelled.append("denormalizer_spec: text is changed after decoding")
        if model not in (UNIGRAM, BPE_SCORES):
            self.unmodelled.append(f"trainer_spec.model_type: {model}")
        parsed = Parsed(unmodelled=self.unmodelled, byte_policy="replace-each-byte")
        parsed.settled = Settled(self._vocabulary(charsmap), model, False)
        parsed.normalizer = "charsmap" if charsmap else "none"
        parsed.add_prefix_space = self.flag("add_dummy_prefix", True)
        parsed.byte_fallback = self.flag("byte_fallback", False)
        parsed.whitespace = tuple(
            word
            for word, on in (
                ("collapse", self.flag("remove_extra_whitespaces", True)),
                ("literal", not self.flag("escape_whitespaces", True)),
                ("suffix", self.flag("treat_whitespace_as_suffix", False)),
            )
            if on
        )
        parsed.unknown = next((n for n, piece in enumerate(self.pieces) if piece.kind == UNKNOWN), None)
        counts = Counter(TYPES[piece.kind] for piece in self.pieces)
        parsed.notes.append(
            ", ".join(f"{counts[name]:,} {name}" for name in TYPES if counts[name])
            + " pieces; control pieces are never made from text" * bool(counts["control"])
        )
        return parsed

    def _vocabulary(self, charsmap: bytes) -> SentencePieces:
        tokens: dict[bytes, int] = {}
        for wanted in ((NORMAL, USER_DEFINED), (BYTE,)):
            for number, piece in enumerate(self.pieces):
                if piece.kind in wanted:
                    tokens.setdefault(surface(piece), number)
        return SentencePieces(
            tokens, None, {}, tuple(self.pieces), charsmap, self.text("unk_surface", UNKNOWN_SURFACE)
        )

    def _check(self, model: str) -> None:
        """What sentencepiece refuses to load (model_interface.cc), by the piece at which it does."""
        fallback = self.flag("byte_fallback", False)
        known: set[tuple[bool, bytes]] = set()
        for number, (piece, at) in enumerate(zip(self.pieces, self.places, strict=True)):
            text, kind = piece.text, piece.kind
            if text == b"\0" and kind == UNUSED:
                continue
            # A unigram model may have a control piece and a normal one of the same text.
            key = model != BPE_SCORES and kind in (UNKNOWN, CONTROL, BYTE), text
            byte = kind == BYTE and text in _BYTE_TEXTS
            problem = (
                "has no text" if not text
                else "holds a NUL" if b"\0" in text
                else f"is longer than {LONGEST - 1} bytes" if len(text) >= LONGEST
                else "is there twice" if key in known
                else f"has the score {piece.score}" if model == UNIGRAM and not isfinite(piece.score)
                else "is a byte piece, and byte_fallback is not set" if kind == BYTE and not fallback
                else "is a byte piece, and names no byte" if kind == BYTE and not byte
                else ""
            )  # fmt: skip
            if problem:
                raise self.damaged(f"piece {number} ({text[:40]!r}) {problem}", at)
            if not isfinite(piece.score) and len(self.unmodelled) < 3:
                self.unmodelled.append(f"pieces[{number}].score: {piece.score}")
            known.add(key)
        kinds = Counter(piece.kind for piece in self.pieces)
        if kinds[UNKNOWN] > 1 or not (kinds[UNKNOWN] or fallback):
            raise self.damaged(f"{kinds[UNKNOWN]} unknown pieces, and there must be one", self.places[-1])
        if fallback and len({piece.text for piece in self.pieces if piece.kind == BYTE}) < 256:
            raise self.damaged("byte_fallback is set, and not every byte has a piece", self.at["byte_fallback"])
        if model == UNIGRAM and not kinds[NORMAL]:
            raise self.damaged("no normal pieces", self.places[-1])

    def _check_charsmap(self, blob: bytes) -> None:
        size = int.from_bytes(blob[:4], "little")
        # Units of four bytes, in blocks of 256 of them; behind them texts, each ended by a NUL.
        if len(blob) <= 4 or size < 1024 or size % 1024 or size >= len(blob) - 4 or blob[-1]:
            raise self.damaged("precompiled_charsmap is not whole", self.at["precompiled_charsmap"])


_BYTE_TEXTS = frozenset(b"<0x%02X>" % byte for byte in range(256))
# The fields that are read, by message and number.
_SPECS: Mapping[int, Mapping[int, str]] = {
    2: {3: "model_type", 24: "treat_whitespace_as_suffix", 35: "byte_fallback", 44: "unk_surface"},
    3: {2: "precompiled_charsmap", 3: "add_dummy_prefix", 4: "remove_extra_whitespaces", 5: "escape_whitespaces"},
    5: {2: "denormalizer"},
}
_TEXTS = ("unk_surface", "precompiled_charsmap", "denormalizer")


def _message(value: Value, where: str, at: int) -> tuple[bytes, int]:
    """(the bytes of a message, where they begin)."""
    if not isinstance(value, bytes):
        raise InputError("a number in place of a message", where=f"{where}: byte {at}", remedy=REFETCH)
    return value, at


def _fields(data: bytes, where: str, base: int = 0) -> Iterator[tuple[int, Value, int]]:
    """(number, value, offset of the value in the file) of a message that begins at `base`: bytes of what has a length,
    the bits of anything else. Raises InputError."""
    at = 0

    def damaged(problem: str) -> InputError:
        return InputError(problem, where=f"{where}: byte {base + at}", remedy=REFETCH)

    def varint() -> int:
        nonlocal at
        value = 0
        for shift in range(0, 70, 7):
            if at >= len(data):
                raise damaged("the file ends in the middle of a number")
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise damaged("a number of more than ten bytes")

    while at < len(data):
        tag = varint()
        number, wire = tag >> 3, tag & 7
        if number == 0 or wire not in _WIDTHS:
            raise damaged(f"not a field: number {number}, wire type {wire}")
        if wire == 0:
            start = at
            yield number, varint(), base + start
            continue
        width = _WIDTHS[wire](varint)
        if at + width > len(data):
            raise damaged(f"field {number} has {width:,} bytes, and {len(data) - at:,} are left")
        value = data[at : at + width]
        start, at = at, at + width
        yield number, value if wire == 2 else int.from_bytes(value, "little"), base + start


_WIDTHS: dict[int, Callable[[Callable[[], int]], Any]] = {
    0: lambda _: 0, 1: lambda _: 8, 2: lambda varint: varint(), 5: lambda _: 4,
}  # fmt: skip
