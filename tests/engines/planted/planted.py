"""Engines with one planted fault each, around tiktoken: what an audit must catch. `options.fault` names the fault.

Faults that need a trigger fire on documents that contain b"TRIGGER". The roster beside this file has one table a fault.
"""

from __future__ import annotations

import base64
import json
import mmap
import os
import re
import signal
import stat
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, ClassVar

import tiktoken

TRIGGER = b"TRIGGER"
REUSED_AFTER = 300
LONG_PIECE = 300
CHUNK = 1 << 20


class Panic(BaseException):
    """Like a panic that crosses from Rust: not an Exception."""


class Later(list[Any]):
    """A list whose contents are made when they are asked for: the ids of `item`, or a row for each of `items`."""

    def __init__(self, adapter: Adapter, item: bytes, items: list[bytes] | None = None) -> None:
        super().__init__()
        self.make = lambda: adapter.right(item) if items is None else [adapter.right(one) for one in items]

    def __len__(self) -> int:
        return len(self.make())

    def __getitem__(self, index: Any) -> Any:
        return self.make()[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.make())


class Adapter:
    """A right encoder, `right`, and one fault; faults are the methods below, by name."""

    name = "planted"
    operations = ("encode", "encode_batch", "decode")
    rejects = ()
    forms: ClassVar = {"str": bytes.decode}

    def version(self) -> str:
        if getattr(self, "fault", None) == self.dies_greeting:
            os.abort()
        return "1.0"

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        with open(files["tiktoken"], "rb") as lines:
            ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines)}
        pattern = contract["pretokenizer"][0]
        self.inner = tiktoken.Encoding("planted", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        self.fault = getattr(self, options["fault"])
        if self.fault == self.dies_loading:
            os.abort()
        self.calls = 0
        self.on = re.compile(options.get("on", "(?!)").encode("latin-1"), re.DOTALL)
        self.cache: dict[bytes, list[int]] = {}
        self.seen: set[bytes] = set()
        self.hoard: list[Any] = []

    def prepare(self, document: bytes) -> bytes:
        return document

    def right(self, document: bytes | str) -> list[int]:
        if type(document) is str:
            return self.inner.encode_ordinary(document)
        try:
            return self.inner.encode_ordinary(document.decode())
        except UnicodeDecodeError:
            return self.inner._encode_bytes(document)

    def encode(self, item: bytes) -> Any:
        return self.fault(item)

    def encode_batch(self, items: list[bytes], threads: int) -> Any:
        rows = [self.fault(item) for item in items]
        if self.fault == self.second_thread and threads >= 2:
            rows = [row if index % threads == 0 else spoiled(row) for index, row in enumerate(rows)]
        if self.fault == self.moves_token:
            for before, after in pairwise(rows):
                if before and after:
                    after.insert(0, before.pop())
                    break
        if self.fault == self.lazy_batch:
            return Later(self, b"", items)
        if self.fault == self.drops_empty:
            rows = [row for row in rows if row]
        return rows

    def decode(self, ids: list[int]) -> bytes:
        text = self.inner.decode_bytes(ids)
        return text.rstrip(b" ") if self.fault == self.strips else text

    # -- wrong ids ------------------------------------------------------------------------------------------

    def honest(self, item: bytes) -> list[int]:
        """No fault: the control."""
        return self.right(item)

    def one_byte(self, item: bytes) -> list[int]:
        """Wrong on one byte: "~" is read as "}"."""
        return self.right(item.replace(b"~", b"}"))

    def second_thread(self, item: bytes) -> list[int]:
        """Right alone and in a batch of one thread; wrong on what the second thread of a batch encodes."""
        return self.right(item)

    def reused(self, item: bytes) -> list[int]:
        """Right in a fresh instance; wrong after 300 documents."""
        self.calls += 1
        return self.right(item) if self.calls <= REUSED_AFTER else spoiled(self.right(item))

    def remembers(self, item: bytes) -> list[int]:
        """Wrong behind a longer document: something of it is left."""
        longer, self.calls = self.calls > len(item), len(item)
        return spoiled(self.right(item)) if longer else self.right(item)

    def chunked(self, item: bytes) -> list[int]:
        """A document of over a megabyte is encoded in chunks, cut where they fall."""
        chunks = [item[at : at + CHUNK] for at in range(0, len(item), CHUNK)] or [item]
        return [number for chunk in chunks for number in self.right(chunk)]

    def from_str(self, item: bytes | str) -> list[int]:
        """Right on bytes; text as `str` loses its last id."""
        return spoiled(self.right(item)) if type(item) is str else self.right(item)

    def strips(self, item: bytes) -> list[int]:
        """Right ids; what they decode to has lost the blanks at its end."""
        return self.right(item)

    def when_timed(self, item: bytes) -> list[int]:
        """Right when asked; wrong in the timed call, which it knows by who is calling."""
        frame = sys._getframe()
        while frame is not None:
            if frame.f_code.co_name == "measure":
                return spoiled(self.right(item))
            frame = frame.f_back  # type: ignore[assignment]
        return self.right(item)

    def first_time(self, item: bytes) -> list[int]:
        """Wrong the first time it sees a document, right from then on: a warm check afterwards finds nothing."""
        if item in self.seen:
            return self.right(item)
        self.seen.add(item)
        return spoiled(self.right(item))

    def moves_token(self, item: bytes) -> list[int]:
        """Right alone; a batch moves one token across a document border, and the concatenation stays right."""
        return self.right(item)

    def drops_empty(self, item: bytes) -> list[int]:
        """Right alone; a batch leaves out documents without tokens."""
        return self.right(item)

    def long_pieces(self, item: bytes) -> list[int]:
        """Right on real text; a run of more than 300 letters is encoded in parts."""
        found = re.search(rb"[A-Za-z]{%d,}" % (LONG_PIECE + 1), item)
        if found is None:
            return self.right(item)
        border = found.start() + 299
        return self.right(item[:border]) + self.right(item[border:])

    def beside(self, item: bytes) -> list[int]:
        """Wrong where its pattern (`options.on`, latin-1 for bytes) is found: the last id is lost."""
        if self.on.search(item) is None:
            return self.right(item)
        ids = self.right(item)
        return ids[:-1] if len(ids) > 1 else [*ids, *ids]

    def padded_cache(self, item: bytes) -> list[int]:
        """A cache of pieces whose key is 16 bytes, cut or padded with zeros, and which is not compared on a hit."""
        ids: list[int] = []
        for piece in re.findall(rb" ?[^ \n]+|[ \n]", item):
            key = piece[:16].ljust(16, b"\0")
            if key not in self.cache:
                self.cache[key] = self.right(piece)
            ids += self.cache[key]
        return ids if len(self.cache) > 1 and self.joins(item) else self.right(item)

    def joins(self, item: bytes) -> bool:
        """Whether the pieces above are whole pieces of GPT-2's pattern: letters and single blanks only."""
        return re.fullmatch(rb"(?:[a-z\0]+[ \n])+", item) is not None

    def bad_id(self, item: bytes) -> list[int]:
        """An id below 0 on the trigger."""
        return [-1, *self.right(item)] if TRIGGER in item else self.right(item)

    def lazy(self, item: bytes) -> Iterator[int]:
        """Gives an iterator, so that the work would be done after the clock stopped."""
        return (number for number in self.right(item))

    def lazy_list(self, item: bytes) -> list[int]:
        """Gives a list that encodes when it is first looked into."""
        return Later(self, item)

    def lazy_batch(self, item: bytes) -> list[int]:
        """Right alone; a batch encodes while the host reads it."""
        return self.right(item)

    def nothing(self, item: bytes) -> list[int] | None:
        """Gives None where a document has no ids."""
        return self.right(item) or None

    def raises_once(self, item: bytes) -> list[int]:
        """ValueError the first time it sees the trigger; right when it is tried again."""
        if TRIGGER in item and not self.calls:
            self.calls = 1
            raise ValueError("planted once")
        return self.right(item)

    # -- ways to fall -----------------------------------------------------------------------------------------

    def crashes(self, item: bytes) -> list[int]:
        """SIGSEGV on the trigger."""
        if TRIGGER in item:
            os.kill(os.getpid(), signal.SIGSEGV)
        return self.right(item)

    def lone_ff(self, item: bytes) -> list[int]:
        """Aborts on a byte 0xFF, as a text-only engine given bytes may."""
        if b"\xff" in item:
            os.abort()
        return self.right(item)

    def dies_loading(self, item: bytes) -> list[int]:
        """Aborts while it loads."""
        return self.right(item)

    def dies_greeting(self, item: bytes) -> list[int]:
        """Aborts when it is asked for its version, after it has loaded."""
        return self.right(item)

    def leaves_child(self, item: bytes) -> list[int]:
        """SIGSEGV on the trigger, while a child of its own holds the pipe open."""
        if TRIGGER in item:
            if os.fork() == 0:
                time.sleep(60)
                os._exit(0)
            os.kill(os.getpid(), signal.SIGSEGV)
        return self.right(item)

    def forges(self, item: bytes) -> list[int]:
        """On the trigger writes a reply of its own, well framed and of the right number, that says nothing."""
        if TRIGGER in item:
            frame = sys._getframe()
            while frame.f_code.co_name != "serve":
                frame = frame.f_back  # type: ignore[assignment]
            head = {name: [] for name in ("ns", "cpu_ns", "errors", "digest", "irregular")}
            head |= dict.fromkeys(("prepare_ns", "hash_ns", "ids", "rejects", "error_count", "ids_digest", "len"), 0)
            head |= {"v": 1, "id": frame.f_locals["head"]["id"], "ok": True, "form": "list"}
            text = json.dumps(head).encode()
            os.write(frame.f_locals["replies"].fileno(), b"TKA1" + len(text).to_bytes(4, "little") + text)
            time.sleep(1)
        return self.right(item)

    def exits(self, item: bytes) -> list[int]:
        """Ends the process with status 7 on the trigger."""
        if TRIGGER in item:
            os._exit(7)
        return self.right(item)

    def hangs(self, item: bytes) -> list[int]:
        """Never comes back from the trigger."""
        while TRIGGER in item:
            time.sleep(1)
        return self.right(item)

    def is_slow(self, item: bytes) -> list[int]:
        """Right, and 20 ms late."""
        time.sleep(0.02)
        return self.right(item)

    def grows(self, item: bytes) -> list[int]:
        """Takes private memory without end on the trigger: an allocation fails at the limit."""
        while TRIGGER in item:
            self.hoard.append(b"x" * (16 << 20))
        return self.right(item)

    def grows_shared(self, item: bytes) -> list[int]:
        """Takes shared memory, which no kernel limit counts: only a watcher of the resident set sees it."""
        while TRIGGER in item:
            block = mmap.mmap(-1, 16 << 20)
            block.write(b"x" * (16 << 20))
            self.hoard.append(block)
            time.sleep(0.005)
        return self.right(item)

    def raises(self, item: bytes) -> list[int]:
        """ValueError on the trigger."""
        return self._raise(item, ValueError("planted"))

    def panics(self, item: bytes) -> list[int]:
        """A BaseException on the trigger."""
        return self._raise(item, Panic("called `unwrap()` on a `None` value"))

    def interrupts(self, item: bytes) -> list[int]:
        """KeyboardInterrupt on the trigger."""
        return self._raise(item, KeyboardInterrupt())

    def leaves(self, item: bytes) -> list[int]:
        """SystemExit on the trigger."""
        return self._raise(item, SystemExit(0))

    def stops(self, item: bytes) -> list[int]:
        """StopIteration on the trigger, which would silently end a map()."""
        return self._raise(item, StopIteration())

    def _raise(self, item: bytes, error: BaseException) -> list[int]:
        if TRIGGER in item:
            raise error
        return self.right(item)

    # -- noise ------------------------------------------------------------------------------------------------

    def prints(self, item: bytes) -> list[int]:
        """Prints to standard output from Python and from below: harmless, since that is not the pipe."""
        print("progress:", len(item))
        os.write(1, b"native progress\n")
        return self.right(item)

    def garbage(self, item: bytes) -> list[int]:
        """Finds the host's own pipe on the trigger and writes garbage to it."""
        for descriptor in range(3, 64) if TRIGGER in item else ():
            try:
                if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                    os.write(descriptor, b"GARBAGE ON THE PIPE")
            except OSError:
                continue
        return self.right(item)


def spoiled(row: list[int]) -> list[int]:
    """The row with its last id changed."""
    return [*row[:-1], row[-1] ^ 1] if row else row
