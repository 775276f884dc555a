"""basetenkenizer: a tokenizer.json, text as `str`; ids as a list."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import basetenkenizer  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """An added token is matched in text by default; the files that it gets have none where specials are off."""

    name = "basetenkenizer"
    operations = ("encode", "encode_batch", "decode")
    entries = ("whole", "documents_list")
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return version("basetenkenizer")

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        if "tokenizer.json" not in files:
            raise Unsupported("basetenkenizer needs a tokenizer.json, and none can be derived from this vocabulary")
        self.pool = threads
        self.tokenizer = basetenkenizer.Tokenizer.from_file(files["tokenizer.json"])

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        return self.tokenizer.encode(item, add_special_tokens=False).ids  # type: ignore[no-any-return]

    whole = documents_list = encode

    def encode_batch(self, items: list[str], threads: int) -> list[list[int]]:
        if threads not in (1, self.pool):
            raise Unsupported(f"basetenkenizer was started with {self.pool} threads and cannot use {threads}")
        return [made.ids for made in self.tokenizer.encode_batch(items, add_special_tokens=False)]

    def decode(self, ids: list[int]) -> bytes:
        return self.tokenizer.decode(ids, skip_special_tokens=False).encode()  # type: ignore[no-any-return]
