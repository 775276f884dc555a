"""Reader of GGUF files for what they say of a tokenizer, where that is SentencePiece's: the model is rebuilt from it.

A GGUF file begins with its keys and values, little-endian: `GGUF`, u32 version, u64 tensors, u64 keys; a key is a text
(u64 length, bytes), a value a u32 type and its bytes. llama.cpp writes a model's pieces, scores and types there as they
are, and has no flag for byte fallback: there is one where there are byte pieces.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from tokassay.harness import vocab_spm
from tokassay.harness.errors import InputError
from tokassay.harness.parsed import Parsed
from tokassay.harness.vocab_spm import BYTE, REFETCH

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MAX_KEYS = 1 << 16
# tokenizer.ggml.model -> SentencePiece's model type, and whether white space is collapsed where the file does not say.
MODELS = {"llama": (2, False), "t5": (1, True)}
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9


def parse(data: bytes, where: str) -> Parsed:
    """The vocabulary of a GGUF file. Raises InputError for what is damaged; names what is not modelled."""
    keys = _keys(data, where)
    kind = _text(keys.get("tokenizer.ggml.model", b""))
    if kind not in MODELS:
        return Parsed(unmodelled=[f"tokenizer.ggml.model: {kind or 'none'}"])
    try:
        parsed = vocab_spm.parse(_rebuilt(keys, where), where)
    except InputError as error:
        place = f"{where}: tokenizer.ggml.tokens"
        raise InputError(str(error), where=place, remedy=error.remedy) from None
    parsed.notes.append("rebuilt from a GGUF file")
    return parsed


def holds(data: bytes, where: str) -> bool:
    """Whether a GGUF file has a SentencePiece model. Raises InputError for what is damaged."""
    return _text(_keys(data, where).get("tokenizer.ggml.model", b"")) in MODELS


def model(data: bytes, where: str) -> bytes:
    """A SentencePiece model file that says what a GGUF file does. Raises InputError."""
    return _rebuilt(_keys(data, where), where)


def _rebuilt(keys: Mapping[str, Any], where: str) -> bytes:
    tokens, scores, types = (_column(keys, name, where) for name in ("tokens", "scores", "token_type"))
    if not len(tokens) == len(scores) == len(types):
        counts = f"{len(tokens):,} tokens, {len(scores):,} scores and {len(types):,} types"
        raise InputError(counts, where=f"{where}: tokenizer.ggml", remedy=REFETCH)
    kind, collapse = MODELS[_text(keys["tokenizer.ggml.model"])]
    pieces = b"".join(
        _field(1, _field(1, token) + _number(2, struct.pack("<f", score)) + _flag(3, int(of)))
        for token, score, of in zip(tokens, scores, types, strict=True)
    )
    charsmap = bytes(byte & 0xFF for byte in keys.get("tokenizer.ggml.precompiled_charsmap", ()))
    trainer = _flag(3, kind) + _flag(35, BYTE in types)
    normalizer = (_field(2, charsmap) if charsmap else b"") + b"".join(
        _flag(number, int(bool(keys.get(f"tokenizer.ggml.{name}", default))))
        for number, name, default in ((3, "add_space_prefix", True), (4, "remove_extra_whitespaces", collapse))
    )
    return pieces + _field(2, trainer) + _field(3, normalizer)


def _column(keys: Mapping[str, Any], name: str, where: str) -> Sequence[Any]:
    value = keys.get(f"tokenizer.ggml.{name}")
    wanted = bytes if name == "tokens" else float if name == "scores" else int
    if not isinstance(value, list | tuple) or not value or not isinstance(value[0], wanted):
        raise InputError("no such array", where=f"{where}: tokenizer.ggml.{name}", remedy=REFETCH)
    return value


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


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


def _keys(data: bytes, where: str) -> dict[str, Any]:
    """The keys and values of a file, arrays of texts as lists. Raises InputError."""
    at = 0

    def damaged(problem: str) -> InputError:
        return InputError(problem, where=f"{where}: byte {at}", remedy=REFETCH)

    def take(form: str) -> tuple[Any, ...]:
        nonlocal at
        size = struct.calcsize(f"<{form}")
        if at + size > len(data):
            raise damaged(f"{size:,} bytes are wanted, and {len(data) - at:,} are left")
        value = struct.unpack_from(f"<{form}", data, at)
        at += size
        return value

    def text() -> bytes:
        nonlocal at
        size = take("Q")[0]
        if at + size > len(data):
            raise damaged(f"a text of {size:,} bytes, and {len(data) - at:,} are left")
        value = data[at : at + size]
        at += size
        return value

    def one(kind: int) -> Any:
        if kind == _TEXT:
            return text()
        if kind == _ARRAY:
            of, count = take("IQ")
            if count > len(data) - at:
                raise damaged(f"an array of {count:,}")
            if of in _NUMBERS:
                return take(f"{count}{_NUMBERS[of]}")
            return [one(of) for _ in range(count)]
        if kind not in _NUMBERS:
            raise damaged(f"a value of type {kind}")
        return take(_NUMBERS[kind])[0]

    version = take("4sI")[1]
    if version not in VERSIONS:
        raise damaged(f"version {version}, and {' and '.join(map(str, VERSIONS))} are known")
    _, count = take("QQ")
    if count > MAX_KEYS:
        raise damaged(f"{count:,} keys")
    found: dict[str, Any] = {}
    for _ in range(count):
        name = text().decode("utf-8", "replace")
        found[name] = one(take("I")[0])
    return found
