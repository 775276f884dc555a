"""dat-bpe, our own encoder: any bytes, ids and byte spans as buffers, decisions from its trace build."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy
from tokassay.engines import dat_bpe

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Contracts of ranks under `byte-alphabet`, whose single pattern the encoder has a machine for."""

    name = "dat-bpe"
    operations = ("encode", "encode_batch", "decode", "offsets")
    entries = ("whole", "documents_list", "batch_flat", "batch_list")
    offset_unit = "bytes"
    rejects = ()

    def version(self) -> str:
        return dat_bpe.__version__

    def load(
        self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]
    ) -> None:
        if contract["algorithm"] != "bpe-ranks" or "tiktoken" not in files:
            raise Unsupported(f"algorithm {contract['algorithm']}: dat-bpe merges by ranks only")
        for field, modelled in (
            ("normalizer", "none"), ("byte_policy", "byte-alphabet"), ("add_prefix_space", False),
            ("byte_fallback", False),
        ):
            if contract[field] != modelled:
                raise Unsupported(f"{field} {contract[field]!r}: dat-bpe has {modelled!r} only")
        if contract["added_tokens"]:
            raise Unsupported("added_tokens: dat-bpe has special tokens without flags only")
        if len(contract["pretokenizer"]) != 1:
            raise Unsupported(f"pretokenizer: dat-bpe applies one pattern, not {len(contract['pretokenizer'])}")
        self.specials = contract["specials"] == "on" and bool(contract["special_tokens"])
        try:
            self.encoder = dat_bpe.Encoder.load(
                files["tiktoken"],
                pattern=contract["pretokenizer"][0],
                specials=dict(contract["special_tokens"]),
                unicode=contract["unicode"],
                ignore_merges=contract["ignore_merges"],
                **options,  # an option that the encoder has not is a TypeError, never ignored
            )
        except dat_bpe.LoadError as error:
            if "pattern" in str(error) or "Unicode" in str(error):
                raise Unsupported(str(error)) from error
            raise

    def prepare(self, document: bytes) -> bytes:
        return document

    def encode(self, item: bytes) -> Any:
        return self.encoder.encode(item, specials=self.specials)

    def encode_batch(self, items: list[bytes], threads: int) -> tuple[Any, Any]:
        values, offsets = self.encoder.encode_batch(items, threads=threads, specials=self.specials)
        return values, numpy.diff(offsets).astype(numpy.uint32)

    def whole(self, item: bytes) -> Any:
        return self.encoder.encode(item)

    def documents_list(self, item: bytes) -> list[int]:
        return self.encoder.encode(item).tolist()  # type: ignore[no-any-return]

    def batch_flat(self, items: list[bytes], threads: int) -> tuple[Any, Any]:
        return self.encoder.encode_batch(items, threads=threads)

    def batch_list(self, items: list[bytes], threads: int) -> list[list[int]]:
        values, offsets = self.encoder.encode_batch(items, threads=threads)
        flat, edges = values.tolist(), offsets.tolist()
        return [flat[a:b] for a, b in pairwise(edges)]

    def decode(self, ids: Any) -> bytes:
        return self.encoder.decode(ids)

    def offsets(self, item: bytes) -> list[tuple[int, int]]:
        return [(start, end) for start, end in self.encoder.encode_spans(item, specials=self.specials)[1].tolist()]

    def trace(self, document: bytes) -> list[dict[str, Any]]:
        return self.encoder.trace(document, specials=self.specials)
