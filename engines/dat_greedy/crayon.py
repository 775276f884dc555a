"""CrayonVocab: the interface of xerv-crayon over our engine, without losing a byte."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, overload

import numpy
from numpy.typing import NDArray
from tokassay.engines.dat_bpe.errors import LoadError
from tokassay.engines.dat_greedy.greedy import Document, Greedy, Ids
from tokassay.engines.dat_greedy.profiles import PROFILES, build_profile, find_profile, user_cache

Name = str | os.PathLike[str]
Row = list[int] | Ids
DEVICES = ("auto", "cpu")


@dataclass(frozen=True)
class _Loaded:
    """A profile in use. It is exchanged whole: who reads it once has one profile, whatever others load meanwhile."""

    name: str
    path: Path
    greedy: Greedy


class _LoadProfile:
    """`CrayonVocab.load_profile(name)` makes a vocabulary; `vocab.load_profile(name)` loads into that one."""

    def __get__(self, vocab: CrayonVocab | None, kind: type[CrayonVocab]) -> Callable[[Name], CrayonVocab]:
        def load_profile(name_or_path: Name) -> CrayonVocab:
            """Load a profile by name or path and return the vocabulary. Raises LoadError; then nothing is changed."""
            target = kind() if vocab is None else vocab
            target._loaded = _load(name_or_path)
            return target

        return load_profile


class CrayonVocab:
    """Greedy longest match over a profile, `lite` (GPT-2's tokens), `standard` (cl100k's), or any CRAY file.

    `CrayonVocab.load_profile("standard")`, or `CrayonVocab(device="auto")` and then `vocab.load_profile(...)`. One
    vocabulary may be used from many threads while another thread loads: each call works with one profile to its end.
    Bytes at which no token starts get the ids vocab_size + byte, so that nothing is lost on any input.
    """

    load_profile = _LoadProfile()

    def __init__(self, device: str = "auto") -> None:
        if device not in DEVICES:
            raise LoadError(
                f"there is no greedy engine for the device {device!r}", where="device",
                remedy=f"use {' or '.join(DEVICES)}",
            )
        self.device = "cpu"
        self._loaded: _Loaded | None = None

    @property
    def is_profile_loaded(self) -> bool:
        """Whether a profile is loaded."""
        return self._loaded is not None

    @property
    def profile(self) -> str:
        """The name or path of the loaded profile."""
        return self._need().name

    @property
    def current_profile_path(self) -> Path:
        """The file of the loaded profile."""
        return self._need().path

    @property
    def vocab_size(self) -> int:
        """The greatest id of the profile + 1."""
        return self._need().greedy.n_vocab

    @overload
    def tokenize(self, text: str) -> list[int]: ...
    @overload
    def tokenize(self, text: bytes | bytearray | memoryview | NDArray[numpy.uint8]) -> Ids: ...
    @overload
    def tokenize(self, text: list[Any] | tuple[Any, ...], *, threads: int = 1) -> list[Row]: ...
    def tokenize(self, text: Document | list[Any] | tuple[Any, ...], *, threads: int = 1) -> Row | list[Row]:
        """The ids of one document, or of each in a list or tuple.

        Text gives a list of int, bytes give a numpy.uint32 array; `decode` turns each back into what it was.
        """
        greedy = self._need().greedy
        if not isinstance(text, (list, tuple)):
            return greedy.encode_list(text) if isinstance(text, str) else greedy.encode(text)
        values, offsets = greedy.encode_batch(text, threads=threads)
        cuts = offsets.tolist()
        rows = [values[start:end] for start, end in pairwise(cuts)]
        return [greedy.listed(row) if isinstance(one, str) else row for one, row in zip(text, rows, strict=True)]

    @overload
    def decode(self, tokens: NDArray[Any]) -> bytes: ...
    @overload
    def decode(self, tokens: Sequence[int], *, errors: str = "replace") -> str: ...
    def decode(self, tokens: Sequence[int] | NDArray[Any], *, errors: str = "replace") -> str | bytes:
        """What `tokenize` was given: the text of a list, the bytes of an array.

        A list whose bytes are not UTF-8 (a part of a document's ids, say) gives U+FFFD there, or what `errors` says
        (`bytes.decode`). ValueError names an id that is not in the profile.
        """
        data = self._need().greedy.decode(tokens)
        return data if isinstance(tokens, numpy.ndarray) else data.decode("utf-8", errors)

    def decode_bytes(self, tokens: Sequence[int] | NDArray[Any]) -> bytes:
        """The bytes of the ids."""
        return self._need().greedy.decode(tokens)

    @contextmanager
    def using_profile(self, name_or_path: Name) -> Iterator[CrayonVocab]:
        """Another profile inside a `with` block; the former one is back after it, however it ends.

        It is exchanged for all threads that share this vocabulary.
        """
        former = self._loaded
        self._loaded = _load(name_or_path)
        try:
            yield self
        finally:
            self._loaded = former

    def _need(self) -> _Loaded:
        loaded = self._loaded
        if loaded is None:
            raise LoadError("no profile is loaded", where="CrayonVocab", remedy='call load_profile("standard") first')
        return loaded


def _load(name_or_path: Name) -> _Loaded:
    path = find_profile(name_or_path)
    name = os.fsdecode(name_or_path)
    try:
        greedy = Greedy.open(path, unmatched="bytes")
    except LoadError:
        # What we build ourselves is built again where it was cut; any other file is its owner's.
        if name not in PROFILES or path.parent != user_cache() or not path.name.startswith(f"vocab_{name}-"):
            raise
        greedy = Greedy.open(build_profile(name), unmatched="bytes")
    return _Loaded(name, path, greedy)
