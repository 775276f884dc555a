"""morpheme: a tokenizer.json, text as `str`; an Encoding's ids as a list."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import morpheme  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Single documents and its batch, of as many threads as the process has."""

    name = "morpheme"
    operations = ("encode", "encode_batch", "decode", "offsets")
    entries = ("whole", "documents_list", "batch_list")
    offset_unit = "chars"
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return version("morpheme")

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        if "tokenizer.json" not in files:
            raise Unsupported("morpheme needs a tokenizer.json, and none can be derived from this vocabulary")
        self.pool = threads
        try:
            self.tokenizer = morpheme.Tokenizer.from_file(files["tokenizer.json"])
        except (morpheme.MorphemeError, ValueError, RuntimeError) as error:
            raise Unsupported(f"morpheme does not load this tokenizer.json: {error}") from error

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        return self.tokenizer.encode(item, False).ids  # type: ignore[no-any-return]

    whole = documents_list = encode

    def encode_batch(self, items: list[str], threads: int) -> list[list[int]]:
        if threads not in (1, self.pool):
            raise Unsupported(f"morpheme was started with {self.pool} threads and cannot use {threads}")
        return [made.ids for made in self.tokenizer.encode_batch(items, False)]

    batch_list = encode_batch

    def decode(self, ids: list[int]) -> bytes:
        return self.tokenizer.decode(ids, skip_special_tokens=False).encode()  # type: ignore[no-any-return]

    def offsets(self, item: str) -> list[tuple[int, int]]:
        return self.tokenizer.encode(item, False).offsets  # type: ignore[no-any-return]
