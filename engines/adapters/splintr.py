"""splintr-rs: ranks and a pattern, or a tokenizer.json; text as `str`; ids as a list or as bytes of uint32."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import splintr  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """The raw entry points: no boundary template, and no special tokens where the file has none."""

    name = "splintr-rs"
    operations = ("encode", "encode_batch", "decode", "decode_stream")
    entries = ("whole", "documents_list", "batch_flat", "batch_list")
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return str(splintr.__version__)

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        if "tokenizer.json" not in files:
            raise Unsupported("splintr-rs needs a tokenizer.json, and none can be derived from this vocabulary")
        self.pool = threads
        self.rayon = options.get("rayon", False)  # one document over threads
        try:
            self.tokenizer = splintr.from_json(files["tokenizer.json"])
            if "jit" in options:
                self.tokenizer = self.tokenizer.jit(options["jit"])
        except (ValueError, RuntimeError, OSError) as error:
            raise Unsupported(f"splintr-rs does not load this tokenizer.json: {error}") from error
        self.documents_list = self.tokenizer.encode_raw  # its own bound method: no call of ours

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        if self.rayon:
            return self.tokenizer.encode_rayon(item)  # type: ignore[no-any-return]
        return self.tokenizer.encode_raw(item)  # type: ignore[no-any-return]

    def encode_batch(self, items: list[str], threads: int) -> list[list[int]]:
        if threads not in (1, self.pool):
            raise Unsupported(f"splintr-rs was started with {self.pool} threads and cannot use {threads}")
        return self.tokenizer.encode_batch(items)  # type: ignore[no-any-return]

    def whole(self, item: str) -> memoryview:
        return memoryview(self.tokenizer.encode_flat(item)).cast("I")

    def batch_flat(self, items: list[str], threads: int) -> tuple[memoryview, memoryview]:
        ids, offsets = self.tokenizer.encode_batch_flat(items)
        return memoryview(ids).cast("I"), memoryview(offsets).cast("Q")

    def batch_list(self, items: list[str], threads: int) -> list[list[int]]:
        if threads > 1:
            return self.encode_batch(items, threads)
        encode = self.tokenizer.encode_raw  # on one thread a loop was faster than encode_batch
        return [encode(item) for item in items]

    def decode(self, ids: list[int]) -> bytes:
        return self.tokenizer.decode(ids).encode()  # type: ignore[no-any-return]

    def decode_stream(self, ids: list[int]) -> bytes:
        stream = self.tokenizer.streaming_decoder()
        parts = [stream.add_token(each) or "" for each in ids]
        return "".join([*parts, stream.flush()]).encode()
