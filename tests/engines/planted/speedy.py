"""Engines for a bench, each with one planted fault: the id of a byte is its value. `options.fault` names the fault."""

from __future__ import annotations

import os
import sys
import time
from array import array
from itertools import accumulate
from pathlib import Path
from typing import Any


class Later(list[int]):
    """A list that is filled when somebody first looks."""

    def __init__(self, item: bytes) -> None:
        super().__init__()
        self.item = item

    def __len__(self) -> int:
        self.extend(self.item)
        return super().__len__()


class LaterBuffer:
    """An array that is made when somebody asks for its memory."""

    def __init__(self, item: bytes) -> None:
        self.item = item

    def __buffer__(self, flags: int) -> memoryview:
        return memoryview(array("I", list(self.item)))

    def __array__(self) -> Any:
        return array("I", list(self.item))


def timed() -> bool:
    """Whether this call is one that is timed: by who is calling."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "measure":
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


class Adapter:
    """A right encoder and one fault; `log` is a file that every load and call is written to."""

    name = "speedy"
    operations = ("encode", "encode_batch")
    entries = ("whole", "documents_list", "batch_flat", "batch_list")
    rejects = ()

    def version(self) -> str:
        return "1.0"

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        self.fault = options.get("fault", "none")
        self.log = options.get("log")
        self.name = options.get("as", self.fault)
        self.passes = 0
        if self.fault == "dies-loading":
            os.abort()
        self.write("load")

    def write(self, what: str) -> None:
        if self.log:
            with Path(self.log).open("a", encoding="utf-8") as log:
                log.write(f"{self.name} {os.getpid()} {what}\n")

    def prepare(self, document: bytes) -> bytes:
        return document

    def right(self, item: bytes) -> Any:
        return array("I", list(item))

    def encode(self, item: bytes) -> Any:
        ids = self.right(item)
        if self.fault == "wrong" and len(ids) > 2:
            ids[2] ^= 1
        return ids

    def encode_batch(self, items: list[bytes], threads: int) -> list[Any]:
        return [self.encode(item) for item in items]

    def whole(self, item: bytes) -> Any:
        self.passes += 1
        self.write(f"{item[:8].decode()} {os.sched_getaffinity(0) if hasattr(os, 'sched_getaffinity') else ''}")
        if self.fault == "slow":
            time.sleep(0.01)
            sum(range(400_000))
        if self.fault == "dies":
            os.abort()
        if self.fault == "raises":
            raise ValueError("planted")
        if self.fault == "later-list":
            return Later(item)
        if self.fault == "later-buffer":
            return LaterBuffer(item)
        if self.fault == "generator":
            return (number for number in item)
        ids = self.encode(item)
        if (self.fault == "wrong-when-timed" and timed()) or (self.fault == "wrong-when-warm" and self.passes > 1):
            ids[-1] ^= 1
        if self.fault == "drops-last":
            del ids[-1]
        return ids

    def documents_list(self, item: bytes) -> Any:
        ids = self.encode(item)
        return ids if self.fault == "no-list" else Later(item) if self.fault == "later-list" else ids.tolist()

    def batch_flat(self, items: list[bytes], threads: int) -> Any:
        flat, edges = self.right(b"".join(items)), array("Q", accumulate(map(len, items), initial=0))
        if self.fault == "few-offsets":
            del edges[-1]
        if self.fault == "falling-offsets" and len(edges) > 3:
            edges[2], edges[3] = edges[3], edges[2]
        if self.fault == "window":  # a view into more than was asked for
            return self.right(b"xx") + flat + self.right(b"y"), array("Q", [edge + 2 for edge in edges])
        if self.fault == "wrong-border" and len(edges) > 2:
            edges[1] -= 1
        return flat, edges

    def batch_list(self, items: list[bytes], threads: int) -> Any:
        rows = [self.right(item).tolist() for item in items]
        return tuple(rows) if self.fault == "no-list" else rows
