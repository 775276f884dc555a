"""tokie: a tokenizer.json, text as `str`; an Encoding's ids as a list."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import tokie  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Its flat batch wants numpy, which it does not declare: the other one is asked."""

    name = "tokie"
    operations = ("encode", "encode_batch", "decode", "offsets", "encode_spans")
    entries = ("whole", "documents_list", "batch_list")
    stages = ("lookup",)
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return version("tokie")

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        if "tokenizer.json" not in files:
            raise Unsupported("tokie needs a tokenizer.json, and none can be derived from this vocabulary")
        self.pool = threads
        # decode_bytes gives parts of a text as they are: pieces without the decoder's stages, words without spaces.
        self.by_text = contract["algorithm"] in ("bpe-scores", "unigram-viterbi", "wordpiece")
        self.by_text = self.by_text or contract["byte_fallback"]
        self.tokenizer = tokie.Tokenizer.from_json(files["tokenizer.json"])

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        made = self.tokenizer.encode(item, False)
        return made if type(made) is list else made.ids  # before 0.0.5 the list itself

    whole = documents_list = encode

    def encode_batch(self, items: list[str], threads: int) -> list[list[int]]:
        if threads not in (1, self.pool):
            raise Unsupported(f"tokie was started with {self.pool} threads and cannot use {threads}")
        return [made if type(made) is list else made.ids for made in self.tokenizer.encode_batch(items, False)]

    batch_list = encode_batch

    def decode(self, ids: list[int]) -> bytes:
        if not self.by_text:
            return self.tokenizer.decode_bytes(ids)  # type: ignore[no-any-return]
        text = self.tokenizer.decode(ids)
        if text is None:
            raise ValueError("Tokenizer.decode gives None")
        return text.encode()  # type: ignore[no-any-return]

    def offsets(self, item: str) -> list[tuple[int, int]]:
        return self.tokenizer.encode_with_offsets(item, False).offsets  # type: ignore[no-any-return]

    def encode_spans(self, item: str) -> list[int]:
        return self.tokenizer.encode_with_offsets(item, False).ids  # type: ignore[no-any-return]

    def trace(self, document: bytes) -> list[dict[str, Any]]:
        """The bytes behind each token."""
        made = self.tokenizer.encode_with_offsets(self.prepare(document), False)
        path = {"stage": "lookup", "path": "encode_with_offsets"}
        return [
            {**path, "offset": start, "start": start, "end": end, "id": number}
            for number, (start, end) in zip(made.ids, made.offsets, strict=True)
        ]
