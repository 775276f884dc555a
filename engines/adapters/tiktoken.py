"""tiktoken: ranks and a pattern, whole texts as `str`; ill-formed bytes through its own `_encode_bytes`."""

from __future__ import annotations

import base64
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar

import tiktoken

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Public entry points for well-formed text; the `tiktoken-bytes` policy is that of its `_encode_bytes`."""

    name = "tiktoken"
    operations = ("encode", "encode_batch", "decode", "decode_offsets")
    entries = ("whole", "documents_list", "batch_flat", "batch_list")
    forms: ClassVar = {"bytes": bytes}
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return str(getattr(tiktoken, "__version__", None) or version("tiktoken"))  # before 0.8.0 it had none

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        if contract["algorithm"] != "bpe-ranks" or "tiktoken" not in files:
            raise Unsupported("tiktoken merges by ranks only")
        if contract["normalizer"] != "none" or contract["add_prefix_space"] or contract["byte_fallback"]:
            raise Unsupported("tiktoken has no normalizer, prefix space or byte fallback")
        if len(contract["pretokenizer"]) != 1:
            raise Unsupported("tiktoken takes exactly one pattern")
        if contract["added_tokens"]:
            raise Unsupported("tiktoken has no added tokens")
        with open(files["tiktoken"], "rb") as lines:
            pairs = [line.split() for line in lines if line.strip()]
        self.specials = contract["specials"] == "on"
        self.piece = bool(options.get("piece"))  # every document is one pretoken: merged, not split
        self.encoding = tiktoken.Encoding(
            "audited",
            pat_str=contract["pretokenizer"][0],
            mergeable_ranks={base64.b64decode(token): int(rank) for token, rank in pairs},
            special_tokens=dict(contract["special_tokens"]) if self.specials else {},
        )
        self.documents_list = self.encoding.encode_ordinary

    def prepare(self, document: bytes) -> str | bytes:
        try:
            return document.decode()
        except UnicodeDecodeError:
            if self.specials:
                raise  # `_encode_bytes` knows no special tokens: with them on, such a document has no entry point
            return document

    def prepare_batch(self, document: bytes) -> str:
        return document.decode()  # the batch entry points take text only

    def whole(self, item: str) -> Any:
        return self.encoding.encode_to_numpy(item, disallowed_special=())

    def batch_flat(self, items: list[str], threads: int) -> list[list[int]]:
        return self.encode_batch(items, threads)  # it has no flat form

    def batch_list(self, items: list[str], threads: int) -> list[list[int]]:
        if threads > 1:
            return self.encode_batch(items, threads)
        encode = self.encoding.encode_ordinary  # its batch is a pool of threads
        return [encode(item) for item in items]

    def encode(self, item: str | bytes) -> list[int]:
        if self.piece:
            return self.encoding._encode_single_piece(item)
        if type(item) is bytes:
            return self.encoding._encode_bytes(item)
        if self.specials:
            return self.encoding.encode(item, allowed_special="all")  # type: ignore[arg-type]
        return self.encoding.encode_ordinary(item)  # type: ignore[arg-type]

    def encode_batch(self, items: list[str], threads: int) -> list[list[int]]:
        if self.specials:
            return self.encoding.encode_batch(items, num_threads=threads, allowed_special="all")
        return self.encoding.encode_ordinary_batch(items, num_threads=threads)

    def decode(self, ids: list[int]) -> bytes:
        return self.encoding.decode_bytes(ids)

    def decode_offsets(self, ids: list[int]) -> list[int]:
        return self.encoding.decode_with_offsets(ids)[1]
