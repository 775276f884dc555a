"""Blocks: how the documents of a corpus are cut for hosts, digests and resuming.

A block ends after 4,096 documents, or where the next document would take it past 1 MiB; a larger document is a block
of its own. The rule is part of the corpus digest's definition (docs/FORMATS.md), so digests depend neither on workers
nor on the order of work. Every domain of a corpus is cut apart: a block is wholly neutral or wholly not.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
from tokassay.engines.frames import pack_buffer
from tokassay.harness.domains import DOMAINS, domains_of, renormalized_by, since_earliest

MAX_DOCUMENTS = 4096
MAX_BYTES = 1 << 20


class Columns(Protocol):
    """What the cutter needs of a corpus: chunks as one buffer, offsets, and a namer of the chunk's i-th document."""

    def columns(
        self,
    ) -> Iterator[tuple[bytes | memoryview, npt.NDArray[np.uint64], Callable[[int], str]]]: ...


class Names:
    """The documents' names, asked for only where a report needs one."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._namers: list[Callable[[int], str]] = []

    def add(self, first: int, namer: Callable[[int], str]) -> None:
        self._firsts.append(first)
        self._namers.append(namer)

    def __getitem__(self, index: int) -> str:
        chunk = bisect_right(self._firsts, index) - 1
        return self._namers[chunk](index - self._firsts[chunk])


@dataclass(frozen=True)
class Block:
    """Some consecutive documents of one domain of one corpus.

    `offsets` has shape (n + 1,) and starts at 0; `indices`, shape (n,), are the documents' places in the corpus.
    """

    domain: str
    ordinal: int
    buffer: bytes
    offsets: npt.NDArray[np.uint64]
    indices: npt.NDArray[np.int64]

    @property
    def documents(self) -> int:
        return len(self.indices)

    @property
    def lengths(self) -> npt.NDArray[np.uint64]:
        return np.diff(self.offsets)

    def document(self, i: int) -> bytes:
        return self.buffer[int(self.offsets[i]) : int(self.offsets[i + 1])]

    def select(self, picked: npt.NDArray[np.int64]) -> tuple[bytes, npt.NDArray[np.uint64]]:
        """The buffer and offsets of some of the block's documents."""
        buffer = b"".join(self.document(int(i)) for i in picked)
        return buffer, offsets_of(self.lengths[picked])

    @cached_property
    def body(self) -> bytes:
        """The block as a host's request carries it."""
        return pack_buffer(self.buffer, self.offsets)

    @cached_property
    def normalization_versions(self) -> frozenset[str]:
        """The Unicode versions that told a normalizer of the block's characters."""
        return renormalized_by(self.buffer)

    @cached_property
    def since_the_earliest(self) -> bool:
        """Whether the earliest tables of the tree class a character of the block as no later ones do."""
        return since_earliest(self.buffer)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the number of documents, their lengths and their bytes."""
        sha = hashlib.sha256(b"TKAD\x01")
        sha.update(np.uint64(self.documents).tobytes())
        sha.update(self.lengths.astype("<u8").tobytes())
        sha.update(self.buffer)
        return sha.hexdigest()


def offsets_of(lengths: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Offsets of shape (n + 1,) from lengths of shape (n,)."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.uint64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


class _Cutter:
    """Collects one domain's documents and cuts them by the rule."""

    def __init__(self, domain: str) -> None:
        self.domain = domain
        self.ordinal = 0
        self.parts: list[bytes] = []
        self.lengths: list[npt.NDArray[np.uint64]] = []
        self.indices: list[npt.NDArray[np.int64]] = []

    def add(self, part: bytes, lengths: npt.NDArray[np.uint64], indices: npt.NDArray[np.int64]) -> None:
        self.parts.append(part)
        self.lengths.append(lengths)
        self.indices.append(indices)

    def cut(self, final: bool) -> Iterator[Block]:
        """Every block that is complete; with `final` also the last, short one."""
        if not self.indices:
            return
        buffer = b"".join(self.parts)
        lengths, indices = np.concatenate(self.lengths), np.concatenate(self.indices)
        ends = np.cumsum(lengths.astype(np.int64))
        first, base = 0, 0
        while first < len(lengths):
            by_bytes = int(np.searchsorted(ends, base + MAX_BYTES, side="right"))
            last = min(max(by_bytes, first + 1), first + MAX_DOCUMENTS)
            if last == len(lengths) and last - first < MAX_DOCUMENTS and not final:
                break
            end = int(ends[last - 1])
            yield Block(
                self.domain,
                self.ordinal,
                buffer[base:end],
                offsets_of(lengths[first:last]),
                indices[first:last],
            )
            self.ordinal += 1
            first, base = last, end
        rest = first < len(lengths)
        self.parts = [buffer[base:]] if rest else []
        self.lengths = [lengths[first:]] if rest else []
        self.indices = [indices[first:]] if rest else []


def cut(corpus: Columns, names: Names) -> Iterator[Block]:
    """All blocks of a corpus, in the order in which they are complete; `names` learns what the documents are called."""
    cutters = [_Cutter(name) for name in DOMAINS]
    seen = 0
    for buffer, offsets, namer in corpus.columns():
        count = len(offsets) - 1
        if count == 0:
            continue
        codes = domains_of(buffer, offsets)
        lengths = np.diff(offsets)
        indices = np.arange(seen, seen + count, dtype=np.int64)
        names.add(seen, namer)
        seen += count
        for code, cutter in enumerate(cutters):
            mine = codes == code
            if mine.all():
                cutter.add(bytes(buffer[int(offsets[0]) : int(offsets[-1])]), lengths, indices)
            elif mine.any():
                picked = np.flatnonzero(mine)
                part = b"".join(buffer[int(offsets[i]) : int(offsets[i + 1])] for i in picked)
                cutter.add(part, lengths[picked], indices[picked])
            yield from cutter.cut(final=False)
    for cutter in cutters:
        yield from cutter.cut(final=True)
