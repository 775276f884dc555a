"""Engines that lie to a bench, on top of a right encoder: `options.lie` names how. The ids are dat-bpe's."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy
from tokassay.engines import dat_bpe
from tokassay.engines.dat_bpe.ranks import read_ranks

LONG = 200  # bytes of a piece from which `long-piece` is wrong


class Adapter:
    """One lie an engine; `log` is a file that every call on a whole text is written to, with the text's digest."""

    name = "liar"
    operations = ("encode", "encode_batch", "decode", "encode_files")
    entries = ("whole", "batch_flat", "batch_list")
    readers = ("separated", "jsonl")
    rejects = ()

    def version(self) -> str:
        return "1.0"

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        self.lie, self.log = options.get("lie", ""), options.get("log")
        source = files["tiktoken"]
        self.encoder = dat_bpe.Encoder.from_ranks(
            read_ranks(source), where=source, pattern=contract["pretokenizer"], unicode=contract["unicode"]
        )
        self.calls = 0
        self.known: dict[bytes, Any] = {}
        self.write("load")

    def write(self, what: str) -> None:
        if self.log:
            with Path(self.log).open("a", encoding="utf-8") as log:
                log.write(f"{os.getpid()} {what}\n")

    def prepare(self, document: bytes) -> bytes:
        return document

    def encode(self, item: bytes) -> Any:
        if self.lie == "splits":  # ids that decode to the text, and are not those of the contract
            return numpy.concatenate([self.encoder.encode(bytes([byte])) for byte in item])
        ids = self.encoder.encode(item)
        if self.lie == "long-piece" and max(map(len, item.split(b" ")), default=0) > LONG:
            ids = ids.copy()
            ids[-1] += 1
        return ids

    def whole(self, item: bytes) -> Any:
        self.calls += 1
        seen = item in self.known
        self.write(f"{hashlib.sha256(item).hexdigest()} {'seen' if seen else 'new'}")
        if self.lie == "caches":
            if not seen:
                self.known[item] = self.encode(item)
            return self.known[item]
        if self.lie == "replay-only" and not seen:
            self.known[item] = None
            sum(range(200_000))  # the work that it saves on a text that it knows
        if self.lie == "finishes-later":
            return self.later(item)
        start = time.process_time_ns()
        ids = self.encode(item)
        if self.lie == "tenth-slower":  # no lie: the slow-down that a bench on a quiet machine must see
            until = start + (time.process_time_ns() - start) * 11 // 10
            while time.process_time_ns() < until:
                pass
        if self.lie == "right-on-second" and self.calls == 1:
            ids = ids.copy()
            ids[0] += 1
        return ids

    def later(self, item: bytes) -> Any:
        """A buffer of the right size at once; a thread fills it when the call has returned."""
        ids = self.encode(item)
        empty = numpy.zeros_like(ids)

        def fill() -> None:
            time.sleep(0.2)
            empty[:] = ids

        threading.Thread(target=fill, daemon=True).start()
        return empty

    def batch_flat(self, items: list[bytes], threads: int) -> Any:
        if self.lie == "wrong-in-threads" and threads > 1:
            values, offsets = self.encoder.encode_batch(items)
            return numpy.roll(values, 1), offsets
        return self.encoder.encode_batch(items, threads=threads)

    def batch_list(self, items: list[bytes], threads: int) -> list[list[int]]:
        return [self.encode(item).tolist() for item in items]

    def encode_batch(self, items: list[bytes], threads: int) -> list[Any]:
        return [self.encode(item) for item in items]

    def encode_files(self, reader: str, source: Any, threads: int) -> list[Any]:
        path, separator = source
        self.write(f"file {Path(path).stat().st_size}")
        return [self.encode(item) for item in Path(path).read_bytes().split(separator)]

    def decode(self, ids: Any) -> bytes:
        text = self.encoder.decode(ids)
        return text.swapcase() if self.lie == "decodes-wrong" else text
