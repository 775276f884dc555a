"""Hugging Face tokenizers: a tokenizer.json, text as `str`; ill-formed bytes have no entry point and are rejected."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import tokenizers
import tokenizers.decoders

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


REACH = 32  # characters behind a place that may change what stands before it
SPACES = ("\u0120", "\u2581")  # how pre-tokenizers write a space: in the byte alphabet, and as a block


class Adapter:
    """`encode(...).ids`: reading the ids out of the Encoding is inside the clock, since without it there is no list."""

    name = "tokenizers"
    operations = ("encode", "encode_batch", "decode", "offsets", "encode_spans", "decode_stream")
    entries = ("whole", "documents_list", "batch_flat", "batch_list")
    offset_unit = "chars"
    stages: tuple[str, ...] = ("special", "normalize", "pretokenize", "lookup")
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
        self.pieces = contract["algorithm"] in ("bpe-scores", "unigram-viterbi") or contract.get("byte_fallback")
        if self.pieces:
            self.stages = ("special", "lookup")  # a normalizer that looks at the ends cannot be asked chunk by chunk
        self.alphabet = contract["algorithm"] != "wordpiece"  # tokens are written byte for byte

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

    def trace(self, document: bytes) -> list[dict[str, Any]]:
        """Added tokens and ids as encoded; its normalizer and its pre-tokenizer, asked for each stretch between."""
        text = self.prepare(document)
        made = self.tokenizer.encode(text, add_special_tokens=False)
        at = [0, *accumulate(len(character.encode()) for character in text)]  # the byte at which a character begins
        if self.pieces:
            told = {"stage": "lookup", "path": "Encoding.ids"}  # where a prefix or byte piece stands is its own affair
            return [{**told, "offset": at[low], "id": n} for n, (low, _) in zip(made.ids, made.offsets, strict=True)]
        known = self.tokenizer.get_added_tokens_decoder()
        added = {n for n, token in known.items() if not (token.special and self.tokenizer.encode_special_tokens)}
        found: list[dict[str, Any]] = []
        run: list[Any] = []
        done = 0
        end = (None, "", (len(text), len(text)))
        for number, token, (first, last) in [*zip(made.ids, made.tokens, made.offsets, strict=True), end]:
            if number is not None and number not in added:
                run.append((number, token, at[first], at[last]))
                continue
            found += self.between(text[done:first], at[done : first + 1], run)
            if number is not None:
                found.append(record("special", "added token", at[first], at[last], id=number))
            run, done = [], last
        return found

    def between(self, text: str, at: list[int], run: list[Any]) -> list[dict[str, Any]]:
        """What became of the text between added tokens, and the tokens of `run` in it."""
        normalizer, splitter = self.tokenizer.normalizer, self.tokenizer.pre_tokenizer
        normalize = normalizer.normalize_str if normalizer else str
        changed, found = normalize(text) != text, []
        normal, spans, start = "", [], 0  # what stands behind each character of the text that was made
        while start < len(text):
            end = start + 1
            while changed and end < len(text) and not parted(normalize, text[start : end + REACH], end - start):
                end += 1
            chunk = normalize(text[start:end])
            normal += chunk
            spans += [(at[start], at[end], chunk == text[start:end])] * len(chunk)
            if chunk != text[start:end]:
                found.append(record("normalize", "Normalizer", at[start], at[end]))
            start = end
        behind = []  # and behind each byte
        for character, (low, high, same) in zip(normal, spans, strict=True):
            width = len(character.encode())
            one_by_one = same and high - low == width
            behind += [(low + n, low + n + 1) if one_by_one else (low, high) for n in range(width)]
        pieces = splitter.pre_tokenize_str(normal) if splitter and normal else [(normal, (0, len(normal)))]
        if pieces[0][0][:1] in SPACES and normal[:1] not in (" ", pieces[0][0][:1]):
            found.append(record("normalize", "prefix space", at[0], at[0]))
            behind = [(at[0], at[0]), *behind]
        for _, (first, last) in pieces:
            if first < last:
                found.append(record("pretokenize", "PreTokenizer", spans[first][0], spans[last - 1][1]))
        exact, done = self.alphabet and sum(len(token) for _, token, *_ in run) == len(behind), 0
        for number, token, low, high in run:
            if exact:
                low, high = behind[done][0], behind[done + len(token) - 1][1]
            found.append(record("lookup", "Encoding.ids", low, high, id=number))
            done += len(token)
        return found


def record(stage: str, path: str, start: int, end: int, **more: int) -> dict[str, Any]:
    return {"stage": stage, "offset": start, "path": path, "start": start, "end": end, **more}


def parted(normalize: Callable[[str], str], text: str, at: int) -> bool:
    """Whether a normalizer does the same with a text as with its parts before and from `at`."""
    return normalize(text) == normalize(text[:at]) + normalize(text[at:])
