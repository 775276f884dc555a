"""nanotok: a tokenizer.json, text as `str`; ids as a list."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import nanotok  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Its loader by an encoding's name downloads; the one of files does not. A file's special tokens are text to it
    unless `add_special_tokens` is asked for."""

    name = "nanotok"
    operations = ("encode", "encode_batch", "decode")
    entries = ("whole", "documents_list", "batch_list")
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return version("nanotok")

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        if "tokenizer.json" not in files:
            raise Unsupported("nanotok needs a tokenizer.json, and none can be derived from this vocabulary")
        self.specials = contract["specials"] == "on"
        try:
            self.tokenizer = nanotok.Tokenizer.from_file(files["tokenizer.json"])
        except (ValueError, RuntimeError) as error:
            raise Unsupported(f"nanotok does not load this tokenizer.json: {error}") from error
        self.tokenizer.set_cache_enabled(options.get("cache") is not False)

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        return self.tokenizer.encode(item, add_special_tokens=self.specials)  # type: ignore[no-any-return]

    whole = documents_list = encode

    def encode_batch(self, items: list[str], threads: int) -> list[list[int]]:
        return self.tokenizer.encode_batch(items, add_special_tokens=self.specials)  # type: ignore[no-any-return]

    batch_list = encode_batch

    def decode(self, ids: list[int]) -> bytes:
        return self.tokenizer.decode(ids).encode()  # type: ignore[no-any-return]
