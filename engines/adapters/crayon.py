"""xerv-crayon: a CRAY file by its path, text as `str`; which of its two algorithms runs depends on numpy's presence."""

from __future__ import annotations

import importlib.util
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import crayon  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Without numpy a text is matched whole, with it in words: one call, two rows of the roster."""

    operations = ("encode", "encode_batch")
    entries = ("whole", "documents_list", "batch_flat", "batch_list")
    rejects = (UnicodeDecodeError,)
    name = "xerv-crayon" if importlib.util.find_spec("numpy") is None else "xerv-crayon-numpy"

    def version(self) -> str:
        return version("xerv-crayon")  # its own __version__ is another release's

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        if contract["algorithm"] != "greedy-longest" or "dat" not in files:
            raise Unsupported("xerv-crayon reads CRAY files only")
        for field, modelled in (("pretokenizer", []), ("normalizer", "none"), ("specials", "off")):
            if contract[field] != modelled:
                raise Unsupported(f"{field} {contract[field]!r}: xerv-crayon has {modelled!r} only")
        self.vocab = crayon.CrayonVocab(device="cpu")
        self.vocab.load_profile(files["dat"])
        self.whole = self.vocab.tokenize
        self.documents_list = self.whole if self.name == "xerv-crayon" else self.listed

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> Any:
        return self.vocab.tokenize(item)

    def encode_batch(self, items: list[str], threads: int) -> list[Any]:
        rows: list[Any] = self.vocab.tokenize(items)
        return rows

    def listed(self, item: str) -> Any:
        return self.vocab.tokenize(item).tolist()

    def batch_flat(self, items: list[str], threads: int) -> list[Any]:
        return self.encode_batch(items, threads)  # it has no flat form

    def batch_list(self, items: list[str], threads: int) -> list[Any]:
        rows = self.encode_batch(items, threads)
        return rows if self.name == "xerv-crayon" else [row.tolist() for row in rows]
