"""Hugging Face tokenizers: a tokenizer.json, text as `str`; ill-formed bytes have no entry point and are rejected."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import tokenizers

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


REACH = 32  # characters behind a place that may change what stands before it


class Adapter:
    """`encode(...).ids`: reading the ids out of the Encoding is inside the clock, since without it there is no list."""

    name = "tokenizers"
    operations = ("encode", "encode_batch", "decode", "offsets")
    entries = ("whole", "documents_list", "batch_flat", "batch_list")
    offset_unit = "chars"
    stages = ("special", "normalize", "pretokenize", "lookup")
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

    def trace(self, document: bytes) -> list[dict[str, Any]]:
        """Added tokens and ids as encoded; its normalizer and its pre-tokenizer, asked for each stretch between."""
        text = self.prepare(document)
        made = self.tokenizer.encode(text, add_special_tokens=False)
        at = [0, *accumulate(len(character.encode()) for character in text)]  # the byte at which a character begins
        known = self.tokenizer.get_added_tokens_decoder()
        added = {n for n, token in known.items() if not (token.special and self.tokenizer.encode_special_tokens)}
        widths = [len(t.encode() if n in added else t) for n, t in zip(made.ids, made.tokens, strict=True)]
        ends = list(accumulate(widths))
        exact = bool(ends) and ends[-1] == len(document)  # tokens in the byte alphabet: a character a byte
        found: list[dict[str, Any]] = []
        done = 0
        for n, (number, (first, last)) in enumerate(zip(made.ids, made.offsets, strict=True)):
            span = (ends[n] - widths[n], ends[n]) if exact else (at[first], at[last])
            place = {"offset": span[0], "start": span[0], "end": span[1], "id": number}
            if number not in added:
                found.append({"stage": "lookup", "path": "Encoding.ids", **place})
                continue
            found += self.cut(text, done, first, at)
            found.append({"stage": "special", "path": "added token", **place})
            done = last
        return found + self.cut(text, done, len(text), at)

    def cut(self, text: str, first: int, last: int, at: list[int]) -> list[dict[str, Any]]:
        """What normalizer and pre-tokenizer do with the characters [first, last), in bytes of the document."""
        spans = [(at[n], at[n + 1]) for n in range(first, last)]  # what stands behind each character of the result
        text, found = text[first:last], []
        normalizer, splitter = self.tokenizer.normalizer, self.tokenizer.pre_tokenizer
        normal = normalizer.normalize_str(text) if normalizer else text
        if normal != text:
            spans, start = [], 0
            while start < len(text):
                end = start + 1
                while end < len(text) and not parted(normalizer.normalize_str, text[start : end + REACH], end - start):
                    end += 1
                low, high = at[first + start], at[first + end]
                chunk = normalizer.normalize_str(text[start:end])
                spans += [(low, high)] * len(chunk)
                if chunk != text[start:end]:
                    found.append({"stage": "normalize", "offset": low, "path": "Normalizer", "start": low, "end": high})
                start = end
        for _, (start, end) in splitter.pre_tokenize_str(normal) if splitter else [(normal, (0, len(normal)))]:
            if start < end:
                low, high = spans[start][0], spans[end - 1][1]
                piece = {"stage": "pretokenize", "offset": low, "path": "PreTokenizer", "start": low, "end": high}
                found.append(piece)
        return found


def parted(normalize: Callable[[str], str], text: str, at: int) -> bool:
    """Whether a normalizer does the same with a text as with its parts before and from `at`."""
    return normalize(text) == normalize(text[:at]) + normalize(text[at:])
