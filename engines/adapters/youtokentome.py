"""youtokentome: a model of its own trainer, text as `str`; ids as a list."""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import youtokentome  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Its models are text: two counts, then characters and rules. No other program writes them."""

    name = "youtokentome"
    operations = ("encode", "encode_batch", "decode")
    entries = ("whole", "documents_list", "batch_list")
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return version("youtokentome")

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        with open(files["source"], "rb") as file:
            if re.fullmatch(rb"\d+ \d+", file.readline(64).strip()) is None:
                raise Unsupported("youtokentome reads only the models that its own trainer wrote")
        self.pool = threads
        self.tokenizer = youtokentome.BPE(model=files["source"], n_threads=threads)

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        return self.tokenizer.encode([item])[0]  # type: ignore[no-any-return]

    whole = documents_list = encode

    def encode_batch(self, items: list[str], threads: int) -> list[list[int]]:
        if threads not in (1, self.pool):
            raise Unsupported(f"youtokentome was started with {self.pool} threads and cannot use {threads}")
        return self.tokenizer.encode(items)  # type: ignore[no-any-return]

    batch_list = encode_batch

    def decode(self, ids: list[int]) -> bytes:
        return self.tokenizer.decode([ids])[0].encode()  # type: ignore[no-any-return]
