"""Hugging Face tokenizers: a tokenizer.json, text as `str`; ill-formed bytes have no entry point and are rejected."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import tokenizers
import tokenizers.decoders

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """`encode(...).ids`: reading the ids out of the Encoding is inside the clock, since without it there is no list."""

    name = "tokenizers"
    operations = ("encode", "encode_batch", "decode", "offsets", "encode_spans", "decode_stream")
    entries = ("whole", "documents_list", "batch_flat", "batch_list")
    offset_unit = "chars"
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return str(tokenizers.__version__)

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        path = files.get("tokenizer.json")
        if path is None and files.get("source", "").endswith(".json"):
            path = files["source"]  # an opaque contract: the file as the user gave it
        if path is None:
            raise Unsupported("tokenizers needs a tokenizer.json, and none can be derived from this vocabulary")
        self.tokenizer = tokenizers.Tokenizer.from_file(path)
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.tokenizer.encode_special_tokens = contract["specials"] == "off"
        self.pool = threads

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        return self.tokenizer.encode(item, add_special_tokens=False).ids

    whole = documents_list = encode

    def encode_batch(self, items: list[str], threads: int) -> list[list[int]]:
        # The pool's size is fixed when the process starts (RAYON_NUM_THREADS); only one thread can be asked for later.
        if threads not in (1, self.pool):
            raise Unsupported(f"tokenizers was started with {self.pool} threads and cannot use {threads}")
        os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
        return [made.ids for made in self.tokenizer.encode_batch_fast(items, add_special_tokens=False)]

    batch_flat = batch_list = encode_batch

    def decode(self, ids: list[int]) -> bytes:
        # Its decoder gives text: ids that do not form UTF-8 come back with U+FFFD. Whole documents are well-formed.
        return self.tokenizer.decode(ids, skip_special_tokens=False).encode()

    def offsets(self, item: str) -> list[tuple[int, int]]:
        return self.tokenizer.encode(item, add_special_tokens=False).offsets

    def encode_spans(self, item: str) -> list[int]:
        return self.tokenizer.encode_batch([item], add_special_tokens=False)[0].ids  # encode_batch_fast has no offsets

    def decode_stream(self, ids: list[int]) -> bytes:
        stream = tokenizers.decoders.DecodeStream(skip_special_tokens=False)
        return "".join(stream.step(self.tokenizer, each) or "" for each in ids).encode()
