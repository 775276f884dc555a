"""Engines that differ from themselves in what is no encoding of bytes in memory: files, streams, offsets, chunks.

Around tiktoken; `options.fault` names the one call that is wrong, and "none" is the control. The roster beside this
file has one table a fault.
"""

from __future__ import annotations

import base64
import json
from itertools import accumulate
from pathlib import Path
from typing import Any

import tiktoken

CHUNK = 1 << 20
WINDOW = 64  # bytes in which a chunk's end is moved back to a blank
FILE_CHUNK = 16


class Adapter:
    """A right engine with every call there is, and one fault."""

    name = "itself"
    operations = (
        "encode", "encode_batch", "decode", "offsets", "encode_files", "encode_spans", "decode_stream", "decode_offsets"
    )
    readers = ("files", "separated", "jsonl")
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return "1.0"

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        with open(files["tiktoken"], "rb") as lines:
            ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines)}
        pattern = contract["pretokenizer"][0]
        self.inner = tiktoken.Encoding("planted", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        self.fault = options["fault"]

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        """`chunks`: a document is cut every megabyte, at the last blank before, if one is near."""
        if self.fault != "chunks" or len(item) <= CHUNK:
            return self.inner.encode_ordinary(item)
        ids, start = [], 0
        while start < len(item):
            end = start + CHUNK
            blank = item.rfind(" ", max(start, end - WINDOW), end)
            end = blank if blank > 0 and end < len(item) else end
            ids += self.inner.encode_ordinary(item[start:end])
            start = end
        return ids

    def encode_batch(self, items: list[str], threads: int) -> list[list[int]]:
        return [self.encode(item) for item in items]

    def encode_spans(self, item: str) -> list[int]:
        """`spans-ids`: the call with offsets gives the letters' ids."""
        if self.fault == "spans-ids":
            return [number for letter in item for number in self.inner.encode_ordinary(letter)]
        return self.inner.encode_ordinary(item)

    def offsets(self, item: str) -> list[tuple[int, int]]:
        """`spans`: in characters, and said to be in bytes."""
        tokens = self.inner.decode_tokens_bytes(self.inner.encode_ordinary(item))
        if self.fault == "spans":
            ends = [*accumulate(len(token.decode(errors="ignore")) for token in tokens)]
        else:
            ends = [*accumulate(map(len, tokens))]
        return list(zip([0, *ends], ends, strict=False))

    # -- files ------------------------------------------------------------------------------------------------

    def encode_files(self, reader: str, source: Any, threads: int) -> list[list[int]]:
        encode = self.cut if self.fault == "file-threads" and threads > 1 else self.inner.encode_ordinary
        return [encode(text) for text in self.read(reader, source)]

    def read(self, reader: str, source: Any) -> list[str]:
        """`files`: loses the newline at a file's end; `rows`: loses empty documents; `lines`: parts lines at U+2028."""
        if reader == "files":
            texts = [Path(path).read_bytes().decode() for path in source]
            return [text.removesuffix("\n") for text in texts] if self.fault == "files" else texts
        if reader == "separated":
            texts = [part.decode() for part in Path(source[0]).read_bytes().split(source[1])]
            return [text for text in texts if text] if self.fault == "rows" else texts
        data = Path(source).read_bytes().decode()
        lines = data.splitlines() if self.fault == "lines" else data.split("\n")[:-1]
        return [json.loads(line)["text"] for line in lines]

    def cut(self, text: str) -> list[int]:
        """`file-threads`: each thread has a part of the file."""
        parts = [text[at : at + FILE_CHUNK] for at in range(0, len(text), FILE_CHUNK)]
        return [number for part in parts for number in self.inner.encode_ordinary(part)]

    # -- decoding ---------------------------------------------------------------------------------------------

    def decode(self, ids: list[int]) -> bytes:
        return self.inner.decode_bytes(ids)

    def decode_stream(self, ids: list[int]) -> bytes:
        """`stream`: each token is a text of its own."""
        if self.fault == "stream":
            return "".join(self.inner.decode([number]) for number in ids).encode()
        return b"".join(self.inner.decode_tokens_bytes(ids))

    def decode_offsets(self, ids: list[int]) -> list[int]:
        """`starts`: a token that begins inside of a character is told to begin behind it."""
        starts = self.inner.decode_with_offsets(ids)[1]
        if self.fault != "starts":
            return starts
        tokens = self.inner.decode_tokens_bytes(ids)
        return [start + (0x80 <= token[0] < 0xC0) for start, token in zip(starts, tokens, strict=True)]
