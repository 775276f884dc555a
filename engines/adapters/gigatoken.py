"""gigatoken: a tokenizer.json, documents as bytes; ids as the numpy or awkward buffers it makes itself."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar

import awkward  # type: ignore[import-not-found] # noqa: F401 - its first batch would import it, on the clock
import gigatoken  # type: ignore[import-not-found]
import numpy as np
import numpy.ma

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


# The pattern of GPT-2: what the iterator over pieces cuts by, whatever was loaded.
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


class Adapter:
    """Loads tokenizer.json; a rank file only where the roster asks for that loader."""

    name = "gigatoken"
    operations = ("encode", "encode_batch", "decode", "encode_files")
    entries = ("whole", "documents_list", "batch_flat", "batch_list")
    stages = ("pretokenize",)
    forms: ClassVar = {"str": bytes.decode}
    readers = ("files", "separated", "jsonl")
    rejects = ()

    def version(self) -> str:
        return version("gigatoken")

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        path = files.get("tokenizer.json")
        if path is None and files.get("source", "").endswith(".json"):
            path = files["source"]  # an opaque contract: the file as the user gave it
            if contract["specials"] == "off":
                with open(path, "rb") as file:
                    if json.load(file).get("added_tokens"):
                        raise Unsupported("gigatoken always matches the added tokens of a file that it reads itself")
        # `ranks`: its loader of rank files instead, which looks for the pattern in the file's name.
        read = gigatoken.Tokenizer.from_tiktoken if options.get("ranks") else gigatoken.Tokenizer
        path = files["source"] if options.get("ranks") else path
        if path is None:
            raise Unsupported("gigatoken needs a file of a form that cannot be derived from this vocabulary")
        self.pool = threads
        self.told = contract.get("pretokenizer") == [GPT2] and contract["specials"] == "off"
        try:
            self.tokenizer = read(path)
        except (ValueError, RuntimeError) as error:  # NotImplementedError is one
            raise Unsupported(f"gigatoken does not load this file: {error}") from error
        self.whole = self.tokenizer.backend.encode  # the engine itself, without the wrapper's call

    def prepare(self, document: bytes) -> bytes:
        return document

    def encode(self, item: bytes) -> Any:
        return self.tokenizer.encode(item)

    def encode_batch(self, items: list[bytes], threads: int) -> tuple[Any, Any]:
        # Its pool is fixed when the process starts (RAYON_NUM_THREADS); parallel=False keeps to the calling thread.
        if threads not in (1, self.pool):
            raise Unsupported(f"gigatoken was started with {self.pool} threads and cannot use {threads}")
        return self.flat(self.tokenizer.encode_batch(items, parallel=threads > 1))

    def encode_files(self, reader: str, source: Any, threads: int) -> tuple[Any, Any]:
        if reader == "files":
            source = gigatoken.TextFileSource(source)
        elif reader == "separated":
            source = gigatoken.TextFileSource([source[0]], separator=source[1])
        else:
            source = gigatoken.JsonlFileSource([source])
        return self.flat(self.tokenizer.encode_files(source, parallel=threads > 1))

    def flat(self, rows: Any) -> tuple[Any, Any]:
        """Ids and counts of a batch, from the buffers of its awkward array."""
        layout = rows.layout
        offsets = layout.offsets.data
        return layout.content.data[offsets[0] : offsets[-1]], np.diff(offsets).astype(np.uint32)

    def documents_list(self, item: bytes) -> list[int]:
        return self.whole(item).tolist()  # type: ignore[no-any-return]

    def batch_flat(self, items: list[bytes], threads: int) -> tuple[Any, Any]:
        layout = self.tokenizer.encode_batch(items, parallel=threads > 1).layout
        return layout.content.data, layout.offsets.data

    def batch_list(self, items: list[bytes], threads: int) -> list[list[int]]:
        return self.tokenizer.encode_batch_list(items, parallel=threads > 1)  # type: ignore[no-any-return]

    def decode(self, ids: Any) -> bytes:
        return bytes(self.tokenizer.decode(ids))

    def trace(self, document: bytes) -> list[dict[str, Any]]:
        """The pieces of its public iterator."""
        if not self.told:
            raise Unsupported("gigatoken tells the pieces of GPT-2's pattern only, without special tokens")
        found, at = [], 0
        for piece in gigatoken.pretokenizer(document):
            start, at = at, at + len(piece)
            found.append({"stage": "pretokenize", "offset": start, "path": "pretokenizer", "start": start, "end": at})
        return found
