"""tokendagger: ranks and a pattern, text as `str`; ids as a list."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import tokendagger  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Built and called as tiktoken's Encoding: its description calls itself a drop-in replacement of that."""

    name = "tokendagger"
    operations = ("encode", "encode_batch", "decode")
    entries = ("whole", "documents_list", "batch_list")
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return str(tokendagger.__version__)

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        if "tiktoken" not in files or len(contract["pretokenizer"]) != 1 or contract["normalizer"] != "none":
            raise Unsupported("tokendagger takes ranks and exactly one pattern, and has no normalizer")
        if contract["added_tokens"] or contract["add_prefix_space"] or contract["byte_fallback"]:
            raise Unsupported("tokendagger has no added tokens, prefix space or byte fallback")
        with open(files["tiktoken"], "rb") as lines:
            ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}
        self.specials = contract["specials"] == "on"
        special = dict(contract["special_tokens"]) if self.specials else {}
        pattern = contract["pretokenizer"][0]
        self.encoding = tokendagger.Encoding("audited", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)
        self.documents_list = self.encoding.encode_ordinary  # its own bound method: no call of ours

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        if self.specials:
            return self.encoding.encode(item, allowed_special="all")  # type: ignore[no-any-return]
        return self.encoding.encode_ordinary(item)  # type: ignore[no-any-return]

    whole = encode

    def encode_batch(self, items: list[str], threads: int) -> list[list[int]]:
        allowed: Any = "all" if self.specials else set()
        return self.encoding.encode_batch(items, num_threads=threads, allowed_special=allowed)  # type: ignore[no-any-return]

    batch_list = encode_batch

    def decode(self, ids: list[int]) -> bytes:
        return self.encoding.decode_bytes(ids)  # type: ignore[no-any-return]
