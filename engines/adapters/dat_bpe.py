"""dat-bpe, our own encoder: any bytes, ids and byte spans as buffers, decisions from its trace build."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
from tokassay.engines import dat_bpe
from tokassay.engines.dat_bpe.ranks import read_ranks
from tokassay.engines.dat_bpe.tokenizer_json import read_tokenizer_json

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Contracts of ranks or merges under `byte-alphabet`; `notes` says where splitting goes by the general path."""

    name = "dat-bpe"
    operations = ("encode", "encode_batch", "decode", "offsets")
    entries = ("whole", "documents_list", "batch_flat", "batch_list")
    offset_unit = "bytes"
    rejects = ()
    notes: tuple[str, ...] = ()

    def version(self) -> str:
        return dat_bpe.__version__

    def load(
        self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]
    ) -> None:
        algorithm = contract["algorithm"]
        source = files.get({"bpe-ranks": "tiktoken", "bpe-pairs": "tokenizer.json"}.get(algorithm, ""))
        if source is None:
            raise Unsupported(f"algorithm {algorithm}: dat-bpe merges by a rank file or by a tokenizer.json's list")
        for field, modelled in (("byte_policy", "byte-alphabet"), ("byte_fallback", False)):
            if contract[field] != modelled:
                raise Unsupported(f"{field} {contract[field]!r}: dat-bpe has {modelled!r} only")
        added = [
            dat_bpe.AddedToken(text, number, **dict.fromkeys(flags, True))
            for text, number, flags in contract["added_tokens"]
        ]
        self.specials = contract["specials"] == "on" and bool(contract["special_tokens"] or added)
        asked: dict[str, Any] = {
            "pattern": contract["pretokenizer"],
            "specials": dict(contract["special_tokens"]),
            "added": added,
            "normalizer": contract["normalizer"],
            "prefix_space": contract["add_prefix_space"],
            "unicode": contract["unicode"],
            "ignore_merges": contract["ignore_merges"],
            "where": source,
            **options,  # an option that the encoder has not is a TypeError, never ignored
        }
        try:
            if algorithm == "bpe-ranks":
                self.encoder = dat_bpe.Encoder.from_ranks(read_ranks(source), **asked)
            else:
                file = read_tokenizer_json(source)
                self.encoder = dat_bpe.Encoder.from_pairs(file.tokens, file.merges, **asked)
        except dat_bpe.PatternError as error:
            raise Unsupported(f"pretokenizer: {error}") from error
        except dat_bpe.Refusal as error:
            raise Unsupported(str(error)) from error
        self.whole, self.documents_list = self.encoder.encode, self.encoder.encode_list
        if threads > 1:  # one document over threads is a batch of one
            self.whole = lambda item: self.encoder.encode_batch([item], threads=threads)[0]
        if self.encoder.pretokenizer_path == "general":
            self.notes = ("its pretokenizer has no machine (or none was wanted) and is interpreted, which is slower",)

    def prepare(self, document: bytes) -> bytes:
        return document

    def encode(self, item: bytes) -> Any:
        return self.encoder.encode(item, specials=self.specials)

    def encode_batch(self, items: list[bytes], threads: int) -> tuple[Any, Any]:
        values, offsets = self.encoder.encode_batch(items, threads=threads, specials=self.specials)
        return values, numpy.diff(offsets).astype(numpy.uint32)

    def batch_flat(self, items: list[bytes], threads: int) -> tuple[Any, Any]:
        return self.encoder.encode_batch(items, threads=threads)

    def batch_list(self, items: list[bytes], threads: int) -> list[list[int]]:
        return self.encoder.encode_batch_lists(items, threads=threads)

    def decode(self, ids: Any) -> bytes:
        return self.encoder.decode(ids)

    def offsets(self, item: bytes) -> list[tuple[int, int]]:
        return [(start, end) for start, end in self.encoder.encode_spans(item, specials=self.specials)[1].tolist()]

    def trace(self, document: bytes) -> list[dict[str, Any]]:
        return self.encoder.trace(document, specials=self.specials)
