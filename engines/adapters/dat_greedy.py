"""dat-greedy, our own greedy engine: a CRAY file, mapped; any bytes, ids and byte spans as buffers."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy
from tokassay.engines import dat_greedy

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported

UNKNOWN = {None: "refuse", 1: "unknown"}


class Adapter:
    """Contracts of `greedy-longest` over the bytes as they are, without special tokens."""

    name = "dat-greedy"
    operations = ("encode", "encode_batch", "decode", "offsets", "encode_spans")
    entries = ("whole", "documents_list", "batch_flat", "batch_list")
    offset_unit = "bytes"
    stages = ("lookup",)
    rejects = ()

    def version(self) -> str:
        return dat_greedy.__version__

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        for field, modelled in (
            ("algorithm", "greedy-longest"), ("byte_policy", "raw"), ("pretokenizer", []), ("normalizer", "none"),
            ("specials", "off"), ("add_prefix_space", False), ("byte_fallback", False),
        ):
            if contract[field] != modelled:
                raise Unsupported(f"{field} {contract[field]!r}: dat-greedy has {modelled!r} only")
        unknown = contract.get("unknown")
        if unknown not in UNKNOWN:
            raise Unsupported(f"unknown {unknown!r}: dat-greedy has 1, Crayon's, only")
        if "dat" not in files:
            raise Unsupported("no CRAY file holds this vocabulary: its ids have 31 bits")
        self.greedy = dat_greedy.Greedy.open(files["dat"], unmatched=UNKNOWN[unknown])
        if unknown is None and not self.greedy.lossless:
            raise Unsupported("a byte has no token, and the contract does not say what becomes of it")
        self.whole = self.greedy.encode
        self.documents_list = self.greedy.encode_list

    def prepare(self, document: bytes) -> bytes:
        return document

    def encode(self, item: bytes) -> Any:
        return self.greedy.encode(item)

    def encode_batch(self, items: list[bytes], threads: int) -> tuple[Any, Any]:
        values, offsets = self.greedy.encode_batch(items, threads=threads)
        return values, numpy.diff(offsets).astype(numpy.uint32)

    def batch_flat(self, items: list[bytes], threads: int) -> tuple[Any, Any]:
        return self.greedy.encode_batch(items, threads=threads)

    def batch_list(self, items: list[bytes], threads: int) -> list[list[int]]:
        values, offsets = self.greedy.encode_batch(items, threads=threads)
        return [self.greedy.listed(values[start:end]) for start, end in pairwise(offsets.tolist())]

    def decode(self, ids: Any) -> bytes:
        return self.greedy.decode(ids)

    def offsets(self, item: bytes) -> list[tuple[int, int]]:
        return [(start, end) for start, end in self.greedy.encode_spans(item)[1].tolist()]

    def encode_spans(self, item: bytes) -> Any:
        return self.greedy.encode_spans(item)[0]

    def trace(self, document: bytes) -> list[dict[str, Any]]:
        ids, spans = self.greedy.encode_spans(document)
        return [
            {"stage": "lookup", "offset": start, "path": "longest match", "start": start, "end": end, "id": number}
            for number, (start, end) in zip(ids.tolist(), spans.tolist(), strict=True)
        ]
