"""bpe-openai: the vocabularies that it brings, text as `str`; ids as a list."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import bpe_openai  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Its encodings are called as tiktoken's; the roster's `names` has each by the SHA-256 of tiktoken's rank file."""

    name = "bpe-openai"
    operations = ("encode", "encode_batch", "decode", "decode_offsets")
    entries = ("whole", "documents_list", "batch_list")
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return version("bpe-openai")

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        with open(files.get("tiktoken", files["source"]), "rb") as file:
            encoding = options["names"].get(hashlib.sha256(file.read()).hexdigest())
        if encoding is None:
            raise Unsupported(f"bpe-openai brings {', '.join(options['names'].values())} and loads no other vocabulary")
        self.encoding = bpe_openai.get_encoding(encoding)
        # The first releases have `encode` alone, which knew no special tokens then.
        self.encode_one = getattr(self.encoding, "encode_ordinary", self.encoding.encode)

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        return self.encode_one(item)  # type: ignore[no-any-return]

    whole = documents_list = encode

    def encode_batch(self, items: list[str], threads: int) -> list[list[int]]:
        return self.encoding.encode_ordinary_batch(items, num_threads=threads)  # type: ignore[no-any-return]

    batch_list = encode_batch

    def decode(self, ids: list[int]) -> bytes:
        return self.encoding.decode_bytes(ids)  # type: ignore[no-any-return]

    def decode_offsets(self, ids: list[int]) -> list[int]:
        return self.encoding.decode_with_offsets(ids)[1]  # type: ignore[no-any-return]
