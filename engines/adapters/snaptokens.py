"""snaptokens: a tokenizer.json, text as `str`; its packed batch gives ids as bytes of uint32."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import snaptokens  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Its pool has RAYON_NUM_THREADS threads, fixed when the process starts."""

    name = "snaptokens"
    operations = ("encode", "encode_batch", "decode")
    entries = ("whole", "documents_list", "batch_flat", "batch_list")
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return version("snaptokens")

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        if "tokenizer.json" not in files:
            raise Unsupported("snaptokens needs a tokenizer.json, and none can be derived from this vocabulary")
        self.pool = threads
        try:
            self.tokenizer = snaptokens.Tokenizer.from_file(files["tokenizer.json"])
        except (ValueError, RuntimeError) as error:
            raise Unsupported(f"snaptokens does not load this tokenizer.json: {error}") from error

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        return self.tokenizer.encode(item).ids  # type: ignore[no-any-return]

    documents_list = encode

    def encode_batch(self, items: list[str], threads: int) -> list[list[int]]:
        if threads not in (1, self.pool):
            raise Unsupported(f"snaptokens was started with {self.pool} threads and cannot use {threads}")
        return [made.ids for made in self.tokenizer.encode_batch(items)]

    def whole(self, item: str) -> memoryview:
        # The packed batch of one: an Encoding's ids would be a list.
        return memoryview(self.tokenizer.encode_batch_flat([item])[0]).cast("I")

    def batch_flat(self, items: list[str], threads: int) -> tuple[memoryview, memoryview]:
        ids, offsets = self.tokenizer.encode_batch_flat(items)
        return memoryview(ids).cast("I"), memoryview(offsets).cast("Q")

    def batch_list(self, items: list[str], threads: int) -> list[list[int]]:
        if threads > 1:
            return self.encode_batch(items, threads)
        encode = self.tokenizer.encode  # on one thread a loop was faster than encode_batch
        return [encode(item).ids for item in items]

    def decode(self, ids: list[int]) -> bytes:
        return self.tokenizer.decode(ids).encode()  # type: ignore[no-any-return]
