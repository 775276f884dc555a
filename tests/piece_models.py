"""SentencePiece models for tests: written field by field, or trained by sentencepiece itself."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

import sentencepiece

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM, BPE, WORD, CHAR = range(1, 5)
Row = tuple[str, float, int]
HEAD: list[Row] = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL)]
BYTES: list[Row] = [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]


def varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])


def field(number: int, value: bytes | float | bool) -> bytes:
    """One field: bytes with their length, a float in four bytes, an int (or flag) as a varint."""
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3) + varint(int(value))


def model(
    rows: Sequence[Row], kind: int = BPE, *, fallback: bool = False, suffix: bool = False, prefix: bool = True,
    collapse: bool = False, charsmap: bytes = b"", more: bytes = b"",
) -> bytes:  # fmt: skip
    """The bytes of a model file with these pieces."""
    pieces = b"".join(
        field(1, field(1, text.encode()) + field(2, float(score)) + field(3, of)) for text, score, of in rows
    )
    trainer = field(3, kind) + field(35, fallback) + field(24, suffix)
    normalizer = field(1, b"test") + field(3, prefix) + field(4, collapse) + field(5, True)
    normalizer += field(2, charsmap) if charsmap else b""
    return pieces + field(2, trainer) + field(3, normalizer) + more


@cache
def trained(**options: Any) -> bytes:
    """A model trained on a few sentences of its own (`options` are the trainer's; tuples for lists)."""
    sentences = [
        "hello world, it is a good day", "\u65e5\u672c\u8a9e\u306e\u6587\u7ae0\u3067\u3059",
        "na\u00efve caf\u00e9 (na\u00efvet\u00e9), 100% of 2,5 \u00b5m", "the theme of the thesis is there",
        "\u043f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440", "one two three, four five six; good mood",
    ] * 20  # fmt: skip
    options = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences), model_writer=writer, minloglevel=2, hard_vocab_limit=False,
        num_threads=1, **options,
    )  # fmt: skip
    return writer.getvalue()
