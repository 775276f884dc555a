"""A corpus: documents in one fixed order, read as columns (one buffer and offsets) or one by one.

The columns are the corpus; `documents` is defined through them. A runner that cuts blocks works on the
columns with numpy, and 100 MB of short lines costs it about a second instead of a minute of Python objects.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from tokassay.corpora.document import Document

CHUNK_DOCUMENTS = 4096
CHUNK_BYTES = 1 << 20
KEPT_PROBLEMS = 20

Offsets = npt.NDArray[np.uint64]


@dataclass
class Problems:
    """Lines (or files) that gave no document: how many by reason, and where the first ones of each reason
    are.
    """

    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, where: str) -> None:
        """Count one; `where` is "file:line" (or "file" for a whole one). The first 20 of a reason are kept by
        name.
        """
        self.counts[reason] = self.counts.get(reason, 0) + 1
        kept = self.first.setdefault(reason, [])
        if len(kept) < KEPT_PROBLEMS:
            kept.append(where)

    def clear(self) -> None:
        """Forget everything: an iteration starts again."""
        self.counts.clear()
        self.first.clear()

    @property
    def total(self) -> int:
        """Number of problems of all reasons."""
        return sum(self.counts.values())


class Labels:
    """Names and reasons of a chunk's documents, made only when asked: `labels(k)` is the name,
    `labels.reason(k)`.
    """

    __slots__ = ("_name", "_reason")

    def __init__(self, name: Callable[[int], str], reason: Callable[[int], str] | None = None) -> None:
        self._name = name
        self._reason = reason

    def __call__(self, k: int) -> str:
        return self._name(k)

    def reason(self, k: int) -> str:
        """Why the document is there; "" where the source gives no reason."""
        return self._reason(k) if self._reason else ""


class Columns(NamedTuple):
    """A chunk of consecutive documents.

    `buffer` holds bytes; document k of the chunk (0 <= k < len(offsets) - 1) is `buffer[offsets[k]:offsets[k
    + 1]]`. `offsets` is a uint64 array of n + 1 ascending byte positions; its first entry need not be 0 (a
    chunk may be a window on a mapped file), and bytes outside `offsets[0]:offsets[-1]` belong to nobody.
    `name(k)` gives the document's name.
    """

    buffer: bytes | memoryview
    offsets: Offsets
    name: Labels


Source = Callable[[Problems], Iterator[Columns]]


@dataclass(frozen=True)
class Corpus:
    """A named, repeatable sequence of documents. Every call of `columns` or `documents` starts from the first
    one.

    `problems` belongs to the latest iteration: it is cleared when one starts and complete when it ends.
    """

    name: str
    spec: str
    source: Source = field(repr=False)
    problems: Problems = field(default_factory=Problems)

    def columns(self) -> Iterator[Columns]:
        """Chunks of consecutive documents, in order; none is empty. See `Columns` for shapes."""
        self.problems.clear()
        return self.source(self.problems)

    def documents(self) -> Iterator[Document]:
        """The same documents one by one, each with its own copy of its bytes."""
        for buffer, offsets, name in self.columns():
            # One copy of the chunk's own bytes: slices of bytes cost half of those of a memoryview.
            data = bytes(buffer[int(offsets[0]) : int(offsets[-1])])
            start, *ends = (offsets - offsets[0]).tolist()
            for k, end in enumerate(ends):
                yield Document(name(k), data[start:end], name.reason(k))
                start = end


def pack(
    documents: Iterable[Document], *, most_documents: int = CHUNK_DOCUMENTS, most_bytes: int = CHUNK_BYTES
) -> Iterator[Columns]:
    """Columns from single documents: at most `most_documents` and about `most_bytes` a chunk."""
    held: list[Document] = []
    size = 0
    for document in documents:
        held.append(document)
        size += len(document.data)
        if len(held) >= most_documents or size >= most_bytes:
            yield _packed(held)
            held, size = [], 0
    if held:
        yield _packed(held)


def _packed(held: Sequence[Document]) -> Columns:
    offsets = np.zeros(len(held) + 1, np.uint64)
    np.cumsum([len(d.data) for d in held], out=offsets[1:], dtype=np.uint64)
    return Columns(
        b"".join(d.data for d in held), offsets, Labels(lambda k: held[k].name, lambda k: held[k].reason)
    )


def from_documents(name: str, spec: str, make: Callable[[Problems], Iterable[Document]]) -> Corpus:
    """A corpus whose documents are made one by one; `make` is called once an iteration."""
    return Corpus(name, spec, lambda problems: pack(make(problems)))


@dataclass(frozen=True)
class Content:
    """What a corpus holds: number of documents, their bytes together, and the content digest (see `content`).
    """

    documents: int
    bytes: int
    digest: str


class ContentHash:
    """The content digest while it grows: feed every chunk's lengths and bytes in order."""

    def __init__(self) -> None:
        self._lengths = hashlib.sha256()
        self._bytes = hashlib.sha256()
        self._documents = 0
        self._size = 0

    def add(self, buffer: bytes | memoryview, offsets: Offsets) -> None:
        """One chunk, as in `Columns`."""
        self._lengths.update(np.diff(offsets).astype("<u8").tobytes())
        window = memoryview(buffer)[int(offsets[0]) : int(offsets[-1])]
        self._bytes.update(window)
        self._documents += len(offsets) - 1
        self._size += len(window)

    def done(self) -> Content:
        """The digest of everything fed so far."""
        both = self._lengths.digest() + self._bytes.digest()
        return Content(self._documents, self._size, hashlib.sha256(both).hexdigest())


def content(corpus: Corpus) -> Content:
    """Counts and the content digest of a corpus: it depends on the documents' bytes, order and borders, not
    on chunks.

    The digest is SHA-256 over two SHA-256 digests: that of all lengths as u64 little-endian, then that of all
    bytes. Names and reasons are not in it.
    """
    state = ContentHash()
    for buffer, offsets, _ in corpus.columns():
        state.add(buffer, offsets)
    return state.done()
