"""Text lines: a document is the bytes between two newlines.

Lines end at `\\n` and nowhere else. The `\\n` belongs to no document and every other byte, a `\\r` before it
included, does. A last line without `\\n` is a document; a file that ends in `\\n` has no empty document after
it; empty lines are documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tokassay.corpora.corpus import Columns, Labels, Offsets, Problems
from tokassay.corpora.readers.streams import chunks

JOIN_BYTES = 1 << 22


def read_lines(path: Path, problems: Problems, shown: str) -> Iterator[Columns]:
    """The lines of a file; names are "<shown>:<line from 1>"."""
    number = 1
    for buffer, ends in _blocks(path):
        compact, offsets = without_newlines(buffer, ends)
        first = number
        number += len(offsets) - 1
        yield Columns(compact, offsets, Labels(lambda k, first=first: f"{shown}:{first + k}"))  # type: ignore[misc]


def _blocks(path: Path) -> Iterator[tuple[bytes, Offsets]]:
    """Whole lines in blocks of about 4 MiB: the bytes, newlines included, and the position of each line's
    newline.

    Where the file's last line has none, its position is the length of the block.
    """
    held: list[bytes] = []
    size = 0
    for chunk in chunks(path):
        held.append(chunk)
        size += len(chunk)
        if size >= JOIN_BYTES and b"\n" in chunk:
            buffer = b"".join(held)
            cut = buffer.rindex(b"\n") + 1
            held = [buffer[cut:]]
            size = len(held[0])
            buffer = buffer[:cut]
            yield buffer, newlines(buffer)
    buffer = b"".join(held)
    if buffer:
        ends = newlines(buffer)
        if not buffer.endswith(b"\n"):
            ends = np.append(ends, np.uint64(len(buffer)))
        yield buffer, ends


def newlines(buffer: bytes) -> Offsets:
    """Positions of every `\\n`."""
    return np.flatnonzero(np.frombuffer(buffer, np.uint8) == 0x0A).astype(np.uint64)


def without_newlines(buffer: bytes, ends: Offsets) -> tuple[bytes, Offsets]:
    """The lines without their newlines side by side, as Columns wants them: bytes and n + 1 offsets."""
    offsets = np.empty(len(ends) + 1, np.uint64)
    offsets[0] = 0
    # Line k loses the k newlines before it.
    np.subtract(ends, np.arange(len(ends), dtype=np.uint64), out=offsets[1:])
    return buffer.replace(b"\n", b""), offsets
