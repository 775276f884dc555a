"""riptoken: ranks and a pattern, text as `str`; ids as a list."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import riptoken  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Its pool has RAYON_NUM_THREADS threads, fixed when the process starts."""

    name = "riptoken"
    operations = ("encode", "encode_batch", "decode")
    entries = ("whole", "documents_list", "batch_list")
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return version("riptoken")

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        if "tiktoken" not in files or len(contract["pretokenizer"]) != 1 or contract["normalizer"] != "none":
            raise Unsupported("riptoken takes ranks and exactly one pattern")
        self.pool = threads
        ranks = riptoken.load_tiktoken_bpe(files["tiktoken"])
        self.tokenizer = riptoken.CoreBPE(ranks, {}, contract["pretokenizer"][0])

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        return self.tokenizer.encode_ordinary(item)  # type: ignore[no-any-return]

    whole = documents_list = encode

    def encode_batch(self, items: list[str], threads: int) -> list[list[int]]:
        if threads not in (1, self.pool):
            raise Unsupported(f"riptoken was started with {self.pool} threads and cannot use {threads}")
        return self.tokenizer.encode_ordinary_batch(items)  # type: ignore[no-any-return]

    batch_list = encode_batch

    def decode(self, ids: list[int]) -> bytes:
        return self.tokenizer.decode_bytes(ids)  # type: ignore[no-any-return]
