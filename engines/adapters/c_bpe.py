"""c-bpe: the two encodings that it brings, text as `str`; ids as a list."""

from __future__ import annotations

import gzip
import hashlib
import os
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import c_bpe.openai as openai  # type: ignore[import-not-found]  # this module, and not the attribute of that name

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Its encodings are called as tiktoken's; the roster's `names` has each by the SHA-256 of tiktoken's rank file.

    `import c_bpe.openai` uses the tables that the package brings and loads in a second. The import that its description
    shows, `from c_bpe.bpe import openai`, makes them anew, which takes a minute and more.
    """

    name = "c-bpe"
    operations = ("encode", "encode_batch", "decode")
    entries = ("whole", "documents_list", "batch_list")
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return version("c-bpe")

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        with open(files.get("tiktoken", files["source"]), "rb") as file:
            encoding = options["names"].get(hashlib.sha256(file.read()).hexdigest())
        if encoding is None:
            raise Unsupported(f"c-bpe brings {', '.join(options['names'].values())} and loads no other vocabulary")
        self.pool = threads
        unpack(Path(openai.__file__).with_name(f"precomputed_{encoding.removesuffix('_base')}.bin"))
        self.tokenizer = getattr(openai, encoding)()
        self.whole = self.documents_list = self.tokenizer.encode  # its own bound method: no call of ours

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        return self.tokenizer.encode(item)  # type: ignore[no-any-return]

    def encode_batch(self, items: list[str], threads: int) -> list[list[int]]:
        if threads == 1:
            return self.tokenizer.encode_batch(items)[0]  # type: ignore[no-any-return]
        if threads != self.pool:
            raise Unsupported(f"c-bpe was started with {self.pool} threads and cannot use {threads}")
        return self.tokenizer.encode_batch_parallel(items)[0]  # type: ignore[no-any-return]

    batch_list = encode_batch

    def decode(self, ids: list[int]) -> bytes:
        return self.tokenizer.decode(ids).encode()  # type: ignore[no-any-return]


def unpack(path: Path) -> None:
    """What the package itself does at the first load, but whole or not at all: two hosts may be the first at once."""
    if not path.exists():
        part = path.with_name(f"{path.name}.{os.getpid()}")
        part.write_bytes(gzip.decompress(path.with_name(f"{path.name}.gz").read_bytes()))
        os.replace(part, path)
