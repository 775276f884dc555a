"""pyonmttok: a SentencePiece model, text as `str`; its pieces, and their ids by its own Vocab over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyonmttok  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported

UNKNOWN = 2  # SentencePiece's type of the piece for what has none


class Adapter:
    """It gives pieces. Every piece of a model has one id, its place in the model, so pieces say which ids were chosen;
    its documented Vocab turns one into the other, and what is no piece into that of `<unk>`."""

    name = "pyonmttok"
    operations = ("encode", "encode_batch")
    entries = ("whole", "documents_list")
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return str(pyonmttok.__version__)

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        source = files.get("sentencepiece") or files.get("source", "")
        try:
            with open(source, "rb") as file:
                pieces = list(model_pieces(file.read()))
            self.tokenizer = pyonmttok.SentencePieceTokenizer(source)
        except (IndexError, OSError, RuntimeError, ValueError) as error:
            raise Unsupported(f"pyonmttok reads SentencePiece models only: {error}") from None
        self.ids = pyonmttok.Vocab([piece for piece, _ in pieces])
        self.ids.default_id = next((number for number, (_, kind) in enumerate(pieces) if kind == UNKNOWN), 0)
        if len(self.ids) != len(pieces):
            raise Unsupported("two pieces of this model are one text: pyonmttok, which gives pieces, cannot tell them")

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        return self.ids(self.tokenizer(item, training=False))  # type: ignore[no-any-return]

    whole = documents_list = encode

    def encode_batch(self, items: list[str], threads: int) -> list[list[int]]:
        ids = self.ids
        return [ids(pieces) for pieces in self.tokenizer.tokenize_batch(items, training=False)[0]]


def model_pieces(data: bytes) -> Any:
    """(piece, type) of each field 1 of a ModelProto, in its order; ValueError or IndexError where it is none."""
    for number, body in fields(data):
        if number == 1 and isinstance(body, bytes):
            piece = dict(fields(body))
            yield piece[1].decode(), piece.get(3, 1)


def fields(data: bytes) -> Any:
    """(field, value) of a protobuf message: an int for a varint, else bytes."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        if key & 7 not in (1, 2, 5):
            raise ValueError("not a SentencePiece model")
        size = {1: 8, 5: 4}.get(key & 7) or varint()
        yield key >> 3, data[at : at + size]
        at += size
