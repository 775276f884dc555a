"""dat-greedy: the longest token at each offset, over a mapped file or a vocabulary in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import index
from os import PathLike, fsdecode
from typing import Any

import numpy
from numpy.typing import NDArray
from tokassay.engines.dat_bpe.documents import check_list
from tokassay.engines.dat_bpe.errors import LoadError
from tokassay.engines.dat_bpe.ranks import ALIASES, ENCODINGS, embedded_ranks
from tokassay.engines.dat_greedy import _core, crayfile
from tokassay.engines.dat_greedy.crayfile import Arrays

Document = bytes | bytearray | memoryview | str | NDArray[numpy.uint8]
Ids = NDArray[numpy.uint32]
Offsets = NDArray[numpy.uint64]
THREADS_MOST = 1024
UNMATCHED = {"refuse": _core.REFUSE, "bytes": _core.BYTES, "unknown": _core.UNKNOWN}
UNKNOWN_ID = 1  # Crayon's


class Greedy:
    """Greedy longest match (this is not BPE): any bytes in, ids out, contract `greedy-longest`, byte policy `raw`.

    Made by `load`, `open` or `from_tokens`. It is read-only: one may be used from many threads at once. A document
    must not be changed while it is being encoded. A document takes at most its length times the longest token's steps.

    unmatched  what becomes of a byte at which no token starts; there is none where all 256 bytes are tokens:
               `refuse`   encoding raises Unmatched, a ValueError
               `bytes`    the id n_vocab + byte, where n_vocab is the greatest id + 1: lossless on all bytes
               `unknown`  the id 1, as Crayon does; the byte is lost
    """

    def __init__(self, arrays: Arrays, *, unmatched: str = "refuse", where: str = "tokens") -> None:
        if unmatched not in UNMATCHED:
            raise LoadError(f"unmatched={unmatched!r}", where=where, remedy=f"use one of {', '.join(UNMATCHED)}")
        self.arrays = arrays
        self.where = where
        self.unmatched = unmatched
        self._n_vocab: int | None = None
        extra = UNKNOWN_ID
        trie = _core.Trie(arrays.base, arrays.check, arrays.values)
        missing = trie.missing_byte()
        # A byte that is no token may lie inside of longer ones only: then it can still be unmatched.
        self.lossless = missing is None or unmatched == "bytes"
        if missing is not None and unmatched != "refuse":
            extra = self.n_vocab if unmatched == "bytes" else UNKNOWN_ID
            trie = _core.Trie(
                arrays.base, arrays.check, arrays.values, unmatched=UNMATCHED[unmatched], extra=extra
            )
        self._trie = trie

    @classmethod
    def open(cls, path: str | PathLike[str], *, unmatched: str = "refuse") -> Greedy:
        """A CRAY file, mapped: only its header is read now. Raises LoadError with `where` and `remedy`."""
        return cls(crayfile.open_arrays(path), unmatched=unmatched, where=fsdecode(path))

    @classmethod
    def from_bytes(cls, data: Any, *, unmatched: str = "refuse", where: str = "bytes") -> Greedy:
        """A CRAY file in memory, which is used where it lies. Raises LoadError."""
        return cls(crayfile.read_arrays(data, where), unmatched=unmatched, where=where)

    @classmethod
    def from_tokens(cls, tokens: Mapping[bytes, int], *, unmatched: str = "refuse", order: str = "depth") -> Greedy:
        """Token bytes -> id, packed now (`crayfile.pack`). Raises LoadError."""
        return cls(crayfile.pack(tokens, order=order), unmatched=unmatched)

    @classmethod
    def load(cls, name_or_path: str | PathLike[str], *, unmatched: str = "refuse") -> Greedy:
        """The ordinary tokens of an embedded encoding (gpt2, cl100k_base, o200k_base), or a CRAY file by its path."""
        name = fsdecode(name_or_path)
        encoding = ENCODINGS.get(ALIASES.get(name, name))
        if encoding is None:
            return cls.open(name_or_path, unmatched=unmatched)
        return cls(crayfile.pack(embedded_ranks(encoding)[0]), unmatched=unmatched, where=name)

    @property
    def n_vocab(self) -> int:
        """The greatest id + 1, extra ids left out. The first use reads VALUES."""
        if self._n_vocab is None:
            self._n_vocab = max(int(self.arrays.values.max()) + 1, 0)
        return self._n_vocab

    def encode(self, data: Document) -> Ids:
        """The ids of a document, numpy.uint32[n]. A `str` is its UTF-8; a lone surrogate is a UnicodeEncodeError."""
        ids: Ids = self._trie.encode(data)
        return ids

    def encode_list(self, data: Document) -> list[int]:
        """The ids of a document as a list of int: all places of an id share one int."""
        ids: list[int] = self._trie.encode_list(data)
        return ids

    def listed(self, ids: Ids) -> list[int]:
        """Ids (contiguous, numpy.uint32) as a list of int, as `encode_list` has them."""
        numbers: list[int] = self._trie.listed(ids)
        return numbers

    def encode_spans(self, data: Document) -> tuple[Ids, Offsets]:
        """(ids, spans): spans[i] are the start and end of token i in the document's bytes, numpy.uint64[n, 2]."""
        ids, lengths = self._trie.encode_lengths(data)
        spans = numpy.empty((len(ids), 2), numpy.uint64)
        numpy.cumsum(lengths, out=spans[:, 1])
        spans[:, 0] = spans[:, 1] - lengths
        return ids, spans

    def encode_batch(self, documents: Iterable[Document], *, threads: int = 1) -> tuple[Ids, Offsets]:
        """(values, offsets): the ids of document i are values[offsets[i]:offsets[i + 1]].

        values numpy.uint32, offsets numpy.uint64[n + 1]. The result does not depend on `threads` (1 to 1,024).
        """
        check_list(documents, "encode")
        threads = index(threads)
        if not 1 <= threads <= THREADS_MOST:
            raise ValueError(f"threads: {threads} is outside 1..{THREADS_MOST}")
        result: tuple[Ids, Offsets] = self._trie.encode_batch(documents, threads)
        return result

    def decode(self, ids: Sequence[int] | NDArray[Any]) -> bytes:
        """The bytes of the ids, joined. ValueError names the first that is not in the vocabulary, and its index.

        A file holds no texts: they are read off the double array, whose index of ids is made at the first call.
        """
        return bytes(self._trie.decode(_as_ids(ids)))

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of an id; ValueError if there is none."""
        return self.decode([index(token_id)])

    def token_id(self, token: bytes) -> int | None:
        """The id of exactly these bytes, or None."""
        found: int | None = self._trie.find(token)
        return found

    def tokens(self) -> dict[bytes, int]:
        """All tokens, bytes -> id, by id: what the file was made from."""
        return {self.token_bytes(number): number for number in self._trie.ids().tolist()}

    def problems(self) -> list[str]:
        """What is wrong with the arrays, in words: all of them are read. An opened file is not looked through."""
        return crayfile.problems(self.arrays)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the CRAY file, whole or not at all."""
        crayfile.write(path, self.arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and pickled as the file's bytes: a mapping stays with its process."""
        return _rebuild, (type(self), self.arrays.to_bytes(), self.unmatched, self.where)


def _rebuild(kind: type[Greedy], data: bytes, unmatched: str, where: str) -> Greedy:
    return kind.from_bytes(data, unmatched=unmatched, where=where)


def _as_ids(ids: Sequence[int] | NDArray[Any]) -> Ids:
    """ids as contiguous numpy.uint32; TypeError where they are no integers, ValueError for one that does not fit."""
    array = numpy.asarray(ids)
    if array.ndim != 1:
        raise TypeError(f"ids: one row of integers is needed, not {array.ndim} dimensions")
    if array.size == 0:
        return numpy.empty(0, numpy.uint32)
    if array.dtype != numpy.uint32:
        wide = array.dtype.kind == "O" and all(isinstance(each, int) for each in ids)
        if array.dtype.kind not in "iu" and not wide:
            raise TypeError(f"ids must be integers, not {array.dtype}")
        wrong = numpy.flatnonzero((array < 0) | (array > 2**32 - 1))
        if wrong.size:
            raise ValueError(f"id {array[wrong[0]]} at index {wrong[0]}: not in the vocabulary")
    return numpy.ascontiguousarray(array, dtype=numpy.uint32)
