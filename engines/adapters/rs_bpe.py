"""rs-bpe: the two encodings that it brings, text as `str`; ids as a list."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from rs_bpe.bpe import openai  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Its encodings are called as tiktoken's; the roster's `names` has each by the SHA-256 of tiktoken's rank file."""

    name = "rs-bpe"
    operations = ("encode", "decode")
    entries = ("whole", "documents_list")
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return version("rs-bpe")

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        with open(files.get("tiktoken", files["source"]), "rb") as file:
            encoding = options["names"].get(hashlib.sha256(file.read()).hexdigest())
        if encoding is None:
            raise Unsupported(f"rs-bpe brings {', '.join(options['names'].values())} and loads no other vocabulary")
        self.tokenizer = getattr(openai, encoding)()

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        return self.tokenizer.encode(item)  # type: ignore[no-any-return]

    whole = documents_list = encode

    def decode(self, ids: list[int]) -> bytes:
        return self.tokenizer.decode(ids).encode()  # type: ignore[no-any-return]
