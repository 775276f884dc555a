"""rwkv: the reference's trie over a vocabulary file of its form, bytes; ids as a list."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from rwkv.rwkv_tokenizer import TRIE_TOKENIZER  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Its loader evaluates each line of the file: it is given files that were read strictly before, or made here."""

    name = "rwkv"
    operations = ("encode", "decode")
    entries = ("whole", "documents_list")

    def version(self) -> str:
        return version("rwkv")

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        if contract["algorithm"] != "greedy-longest" or "rwkv" not in files:
            raise Unsupported("rwkv needs a vocabulary file of its own form, and none can be derived")
        self.tokenizer = TRIE_TOKENIZER(files["rwkv"])
        self.whole = self.documents_list = self.tokenizer.encodeBytes

    def prepare(self, document: bytes) -> bytes:
        return document

    def encode(self, item: bytes) -> list[int]:
        return self.tokenizer.encodeBytes(item)  # type: ignore[no-any-return]

    def decode(self, ids: list[int]) -> bytes:
        return self.tokenizer.decodeBytes(ids)  # type: ignore[no-any-return]
