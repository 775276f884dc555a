"""budtiktok: a tokenizer.json, text as `str`; an Encoding's ids as a list."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import budtiktok  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Single documents: its batch chooses threads for the whole process."""

    name = "budtiktok"
    operations = ("encode", "decode", "offsets")
    entries = ("whole", "documents_list")
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return version("budtiktok")

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        if "tokenizer.json" not in files:
            raise Unsupported("budtiktok needs a tokenizer.json, and none can be derived from this vocabulary")
        self.tokenizer = budtiktok.Tokenizer.from_file(files["tokenizer.json"])

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        return self.tokenizer.encode(item, False).ids  # type: ignore[no-any-return]

    whole = documents_list = encode

    def decode(self, ids: list[int]) -> bytes:
        return self.tokenizer.decode(ids, skip_special_tokens=False).encode()  # type: ignore[no-any-return]

    def offsets(self, item: str) -> list[tuple[int, int]]:
        return self.tokenizer.encode(item, False).offsets  # type: ignore[no-any-return]
