"""GGUF files that hold a SentencePiece model: the model file is rebuilt from what `vocab_gguf` reads.

llama.cpp writes a model's pieces, scores and types as they are, and has no flag for byte fallback: there is one where
there are byte pieces.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from tokassay.harness.errors import InputError
from tokassay.harness.vocab_spm import BYTE, REFETCH

# tokenizer.ggml.model -> SentencePiece's model type, and whether white space is collapsed where the file does not say.
MODELS = {"llama": (2, False), "t5": (1, True)}


def rebuilt(values: Mapping[str, Any], where: str) -> bytes:
    """A SentencePiece model file that says what the key-values of a GGUF file do. Raises InputError."""
    tokens, scores, types = (_column(values, name, where) for name in ("tokens", "scores", "token_type"))
    if not len(tokens) == len(scores) == len(types):
        counts = f"{len(tokens):,} tokens, {len(scores):,} scores and {len(types):,} types"
        raise InputError(counts, where=f"{where}: tokenizer.ggml", remedy=REFETCH)
    kind, collapse = MODELS[values["tokenizer.ggml.model"]]
    pieces = b"".join(
        _field(1, _field(1, token.encode()) + _number(2, struct.pack("<f", score)) + _flag(3, int(of)))
        for token, score, of in zip(tokens, scores, types, strict=True)
    )
    charsmap = bytes(byte & 0xFF for byte in values.get("tokenizer.ggml.precompiled_charsmap", ()))
    trainer = _flag(3, kind) + _flag(35, BYTE in types)
    normalizer = (_field(2, charsmap) if charsmap else b"") + b"".join(
        _flag(number, int(bool(values.get(f"tokenizer.ggml.{name}", default))))
        for number, name, default in ((3, "add_space_prefix", True), (4, "remove_extra_whitespaces", collapse))
    )
    return pieces + _field(2, trainer) + _field(3, normalizer)


def _column(values: Mapping[str, Any], name: str, where: str) -> Sequence[Any]:
    value = values.get(f"tokenizer.ggml.{name}")
    wanted = str if name == "tokens" else float if name == "scores" else int
    if not isinstance(value, list) or not value or not isinstance(value[0], wanted):
        raise InputError("no such array", where=f"{where}: tokenizer.ggml.{name}", remedy=REFETCH)
    return value


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])


def _field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _number(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 5) + value


def _flag(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)
