"""The public face of the encoder."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from operator import index
from os import fsdecode
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray
from tokassay.engines.dat_bpe import _core, profiles
from tokassay.engines.dat_bpe.added import AddedToken, columns, flag_column, gather
from tokassay.engines.dat_bpe.documents import check_list
from tokassay.engines.dat_bpe.errors import LoadError, ProfileError, Refusal
from tokassay.engines.dat_bpe.patterns import NAMES, splitting
from tokassay.engines.dat_bpe.profiles import File, Opened, is_profile
from tokassay.engines.dat_bpe.ranks import ALIASES, ENCODINGS, GREATEST_ID, embedded_ranks, read_ranks
from tokassay.engines.dat_bpe.tokenizer_json import read_tokenizer_json
from tokassay.engines.dat_bpe.tuning import CACHE_BITS, settings

Document = bytes | bytearray | memoryview | str
Ids = NDArray[numpy.uint32]
Offsets = NDArray[numpy.uint64]
THREADS_MOST = 1024
NORMALIZERS = ("none", "nfc")
SAID = ("name", "pattern", "expressions", "unicode", "normalizer", "specials", "added")


class Built(NamedTuple):
    """What an encoder was built from: the arguments of its tables, and what is said of it."""

    arguments: tuple[Any, ...]
    options: dict[str, Any]
    about: dict[str, Any]
    path: str = ""

    def said(self, tables: Any) -> dict[str, Any]:
        return self.about


class Encoder:
    """Exact byte-level BPE over one vocabulary: any bytes in, ids out, contract `byte-alphabet`.

    Made by `Encoder.load` or `Encoder.from_ranks`. Its tables are read-only: one encoder may be used from many
    threads at once. A document must not be changed while it is being encoded.

    Memory: as many threads as have encoded at once have left their caches (32 bytes << cache_bits, and 2 MB), which the
    next ones use; they go with the encoder. The ids of a batch, or of a document of more than 16 kB, are memory that
    goes back to the encoder: such an array keeps it. To be rid of an encoder and keep its ids, keep `ids.copy()`.
    """

    name: str
    pattern: str
    expressions: tuple[str, ...]
    unicode: str
    normalizer: str
    specials: dict[str, int]
    added: list[AddedToken]

    def __init__(self, tables: Any, given: Built | Opened) -> None:
        self._tables = tables
        self._given = given
        self._trace_tables: Any = None
        self._lock = threading.Lock()
        self.path = given.path  # of its profile, "" if it was not opened from one
        tables.recipe = self._recipe()
        # Those of the tables, without a call in Python between: 50 bytes are encoded in less time than it takes. A
        # subclass's own methods stay as they are.
        for name in ("encode", "encode_list", "encode_into", "encode_spans"):
            if getattr(type(self), name) is getattr(Encoder, name):
                self.__dict__[name] = getattr(tables, name)

    def __getattr__(self, name: str) -> Any:
        # What is said of an encoder, when it is first asked for (profiles.Opened says why).
        if name not in SAID or "_given" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        for key, value in self._given.said(self._tables).items():
            self.__dict__.setdefault(key, value)
        return self.__dict__[name]

    @classmethod
    def load(
        cls,
        name_or_path: File,
        *,
        pattern: str | Sequence[str] | None = None,
        specials: Mapping[str, int] | None = None,
        unicode: str = "16.0",
        ignore_merges: bool | None = None,
        cache_bits: int = CACHE_BITS,
        level: str | None = None,
        without: Collection[str] = (),
        general: bool = False,
    ) -> Encoder:
        """An encoder for an embedded encoding by name (gpt2, cl100k_base, o200k_base, o200k_harmony), or for a
        rank file, a tokenizer.json or a profile by path; a profile takes none of pattern, specials, unicode,
        ignore_merges and general.

        pattern        an expression, or several, each applied to the pieces of the one before, or the name of a
                       published one; needed with a rank file, which does not say. What no machine is written for
                       is split by the general path, with the same ids, slower: see `pretokenizer_path`
        specials       special tokens, text -> id; with a name or a tokenizer.json they are known
        unicode        version of the category tables: 15.0, 15.1, 16.0, 17.0
        ignore_merges  a piece that is a token is that token even if merging does not reach it; by default as the
                       tokenizer.json says, and true for ranks (as tiktoken does)
        cache_bits     2**cache_bits pretokens are remembered a thread, 32 bytes each; 0: none
        level          instructions to use: scalar, avx2, avx512; None: the best that the processor has
        without        optimizations to leave out, of cache, wide, words, cuts, linear (docs/ABLATION.md); no id depends
                       on them
        general        take the general path though there is a machine, to compare the two

        Raises LoadError (a ValueError) with `where` and `remedy`.
        """
        name = fsdecode(name_or_path)
        if name not in ENCODINGS and name not in ALIASES and is_profile(name):
            opened = cls.open(name, cache_bits=cache_bits, level=level, without=without)
            given = {
                "pattern": pattern, "specials": specials, "ignore_merges": ignore_merges, "general": general or None,
                "unicode": unicode if unicode not in ("16.0", opened.unicode) else None,
            }
            told = [option for option, value in given.items() if value is not None]
            if told:
                raise LoadError(
                    "a profile says itself what it was built with", where=name,
                    remedy=f"leave out {', '.join(f'{option}=' for option in told)}, or build a profile with it",
                )
            return opened
        if name.endswith(".json"):
            if pattern is not None or specials is not None:
                raise LoadError(
                    "a tokenizer.json says itself how text is split and which tokens are special", where=name,
                    remedy="leave out pattern= and specials=",
                )
            file = read_tokenizer_json(name)
            return cls.from_pairs(
                file.tokens, file.merges, pattern=file.patterns, added=file.added, normalizer=file.normalizer,
                prefix_space=file.prefix_space, unicode=unicode,
                ignore_merges=file.ignore_merges if ignore_merges is None else ignore_merges, cache_bits=cache_bits,
                level=level, without=without, general=general, name=name, where=name,
            )
        encoding = ENCODINGS.get(ALIASES.get(name, name))
        if encoding is not None:
            ranks, where = embedded_ranks(encoding)
            pattern = encoding.pattern if pattern is None else pattern
            specials = encoding.specials if specials is None else specials
        else:
            if pattern is None and "/" not in name and "." not in name:
                raise LoadError(
                    "no such encoding", where=name,
                    remedy=f"use one of {', '.join([*ENCODINGS, *ALIASES])}, or a rank file with its pattern",
                )
            ranks, where = read_ranks(name), name
            if pattern is None:
                raise LoadError(
                    "a rank file does not say how text is split", where=name,
                    remedy=f"give pattern=, an expression or one of {', '.join(NAMES)}",
                )
        return cls.from_ranks(
            ranks, pattern=pattern, specials=specials, unicode=unicode, ignore_merges=ignore_merges is not False,
            cache_bits=cache_bits, level=level, without=without, general=general, name=ALIASES.get(name, name),
            where=where,
        )

    @classmethod
    def from_ranks(
        cls,
        ranks: Mapping[bytes, int],
        *,
        pattern: str | Sequence[str],
        specials: Mapping[str, int] | None = None,
        added: Sequence[AddedToken] = (),
        normalizer: str = "none",
        prefix_space: bool = False,
        unicode: str = "16.0",
        ignore_merges: bool = True,
        cache_bits: int = CACHE_BITS,
        level: str | None = None,
        without: Collection[str] = (),
        general: bool = False,
        name: str = "ranks",
        where: str = "ranks",
    ) -> Encoder:
        """An encoder for ranks in memory: token bytes -> id, where a lower id is merged first. As `load` otherwise.

        A token of no bytes, which some rank files have, is decoded (to nothing) and no text gives it.

        added         tokens with flags, matched where `specials` are
        normalizer    "none" or "nfc": what is done to the text between added tokens
        prefix_space  a space goes before each such stretch that does not begin with one
        """
        return cls._make(
            ranks, None, pattern=pattern, specials=specials, added=added, normalizer=normalizer,
            prefix_space=prefix_space, unicode=unicode, ignore_merges=ignore_merges, cache_bits=cache_bits,
            level=level, without=without, general=general, name=name, where=where,
        )

    @classmethod
    def from_pairs(
        cls,
        tokens: Mapping[bytes, int],
        merges: Sequence[tuple[bytes, bytes]],
        *,
        pattern: str | Sequence[str],
        specials: Mapping[str, int] | None = None,
        added: Sequence[AddedToken] = (),
        normalizer: str = "none",
        prefix_space: bool = False,
        unicode: str = "16.0",
        ignore_merges: bool = False,
        cache_bits: int = CACHE_BITS,
        level: str | None = None,
        without: Collection[str] = (),
        general: bool = False,
        name: str = "pairs",
        where: str = "pairs",
    ) -> Encoder:
        """An encoder for a merge list: token bytes -> id, and the pairs that are merged, in order of priority.

        Priorities need not follow the ids. Of a pair listed twice the last place counts, as in GPT-2's own code and in
        Hugging Face's. As `from_ranks` otherwise. LoadError for a pair whose parts or product are no tokens.
        """
        _check_ranks(tokens, where)
        return cls._make(
            tokens, merge_table(tokens, merges, where), pattern=pattern, specials=specials, added=added,
            normalizer=normalizer, prefix_space=prefix_space, unicode=unicode, ignore_merges=ignore_merges,
            cache_bits=cache_bits, level=level, without=without, general=general, name=name, where=where,
        )

    @classmethod
    def _make(
        cls, ranks: Mapping[bytes, int], merges: Ids | None, *, pattern: str | Sequence[str],
        specials: Mapping[str, int] | None, added: Sequence[AddedToken], normalizer: str, prefix_space: bool,
        unicode: str, ignore_merges: bool, cache_bits: int, level: str | None, without: Collection[str],
        general: bool, name: str, where: str,
    ) -> Encoder:
        _check_ranks(ranks, where)
        if not isinstance(name, str):
            raise LoadError(f"name {name!r:.80}", where=where, remedy="give a str")
        found = splitting(pattern, where, general=general)
        if unicode not in _core.UNICODE_VERSIONS:
            raise Refusal(
                f"no tables of Unicode {unicode!r}", where=where,
                remedy=f"use one of {', '.join(_core.UNICODE_VERSIONS)}",
            )
        if normalizer not in NORMALIZERS:
            raise Refusal(f"no normalizer {normalizer!r}", where=where, remedy=f"use one of {', '.join(NORMALIZERS)}")
        nfc = normalizer == "nfc"
        tokens = gather(specials or {}, added, ranks, nfc=nfc, unicode=unicode, where=where)
        texts = columns((token.text.encode(), token.id) for token in tokens)
        arguments = (*columns(ranks.items()), *texts, flag_column(tokens))
        options = {
            **found.parameters(), "unicode": _core.UNICODE_VERSIONS.index(unicode), "nfc": nfc,
            "prefix_space": bool(prefix_space), "ignore_merges": bool(ignore_merges), "merges": merges,
            "settings": settings(cache_bits, level, without, where),
        }
        try:
            tables = _core.Tables(*arguments, **options)
            tables.prepare()
        except _core.TableError as error:
            raise _explain(error, ranks, where) from error
        about = {
            "name": name, "pattern": found.name, "expressions": found.expressions, "unicode": unicode,
            "normalizer": normalizer, "specials": {token.text: token.id for token in tokens}, "added": tokens,
        }
        return cls(tables, Built(arguments, options, about))

    @classmethod
    def open(
        cls, path: File, *, cache_bits: int = CACHE_BITS, level: str | None = None,
        without: Collection[str] = (),
    ) -> Encoder:
        """The encoder of a profile file: its tables are mapped, nothing is read but the head. LoadError.

        What the file says of its encoder (name, pattern, expressions, unicode, normalizer, specials, added) is read
        when it is first asked for, and may be a LoadError then.
        """
        given = Opened(path, cache_bits, level, without)
        return cls(given.tables(), given)

    def save(self, path: File) -> int:
        """Writes the tables as a profile file, whole or not at all; returns its size in bytes. OSError, LoadError."""
        return profiles.save(self, path)

    @property
    def pretokenizer_path(self) -> str:
        """"machine": the pattern has a hand-written one; "general": its expressions are interpreted."""
        return "general" if self._tables.general else "machine"

    @property
    def n_vocab(self) -> int:
        """One more than the greatest id."""
        return int(self._tables.n_vocab)

    @property
    def ignore_merges(self) -> bool:
        """Whether a piece that is a token is that token even if merging does not reach it."""
        return bool(self._tables.ignore_merges)

    @property
    def unreachable(self) -> int:
        """How many ordinary tokens the merging of their own bytes does not give (0 for gpt2, cl100k, o200k)."""
        return int(self._tables.unreachable)

    def unreachable_ids(self) -> list[int]:
        """Their ids, ascending."""
        return list(self._tables.unreachable_ids())

    def encode(self, data: Document, *, specials: bool = False) -> Ids:
        """The ids of a document, numpy.uint32[n].

        Any bytes are accepted; a `str` is its UTF-8, and a lone surrogate in it is a UnicodeEncodeError. With
        `specials`, special tokens are matched before anything else, the leftmost first and of these the longest;
        without, their text is ordinary text. Raises ValueError where `specials` are asked for and none were given when
        it was loaded; MemoryError; OverflowError for a pretoken of 4 GiB.
        """
        ids: Ids = self._tables.encode(data, specials=specials)
        return ids

    def encode_list(self, data: Document, *, specials: bool = False) -> list[int]:
        """As encode, as a list: an id is the same int object in all lists of one encoder."""
        ids: list[int] = self._tables.encode_list(data, specials=specials)
        return ids

    def encode_into(self, data: Document, out: Ids, *, specials: bool = False) -> int:
        """As encode, into the caller's numpy.uint32[n], contiguous and writable: returns how many ids there are.

        As many as the document has bytes always fit. ValueError, and nothing written, if they do not. TypeError for
        what is no such array.
        """
        return int(self._tables.encode_into(data, out, specials=specials))

    def encode_spans(self, data: Document, *, specials: bool = False) -> tuple[Ids, Offsets]:
        """(ids, spans): spans[i] are the start and end of token i in the document's bytes, numpy.uint64[n, 2].

        A match of an added token spans the blanks that it took. Where a normalizer changed text, it did so from one
        boundary to the next: a token with a byte of such a chunk spans all of it, so that spans may overlap. A token
        that is only a prefix space spans nothing.
        """
        result: tuple[Ids, Offsets] = self._tables.encode_spans(data, specials=specials)
        return result

    def encode_batch(
        self, documents: Iterable[Document], *, threads: int = 1, specials: bool = False
    ) -> tuple[Ids, Offsets]:
        """(values, offsets): the ids of document i are values[offsets[i]:offsets[i + 1]].

        values numpy.uint32, offsets numpy.uint64[n + 1]. The result does not depend on `threads` (1 to 1,024). What a
        document is refused for begins with, or for a lone surrogate ends with, its place: documents[i].
        """
        check_list(documents, "encode")
        result: tuple[Ids, Offsets] = self._tables.encode_batch(documents, _threads(threads), self._match(specials))
        return result

    def encode_batch_lists(
        self, documents: Iterable[Document], *, threads: int = 1, specials: bool = False
    ) -> list[list[int]]:
        """As encode_batch, a list of int a document."""
        check_list(documents, "encode_list")
        found: list[list[int]] = self._tables.encode_batch_lists(documents, _threads(threads), self._match(specials))
        return found

    def encode_buffer(
        self, data: Document, offsets: Any, *, threads: int = 1, specials: bool = False
    ) -> tuple[Ids, Offsets]:
        """As encode_batch, where document i is data[offsets[i]:offsets[i + 1]] (bytes; numpy.uint64[n + 1]).

        Bytes before the first offset and after the last belong to no document. Raises TypeError for offsets that
        are not integers, ValueError for those that fall or lie outside of `data`.
        """
        cuts = _as_offsets(offsets)
        result: tuple[Ids, Offsets] = self._tables.encode_buffer(data, cuts, _threads(threads), self._match(specials))
        return result

    def decode(self, ids: Sequence[int] | NDArray[Any]) -> bytes:
        """The bytes of the ids, joined. ValueError names the first id that is not in the vocabulary and its index."""
        return bytes(self._tables.decode(_as_ids(ids)))

    def decode_batch(self, values: Sequence[int] | NDArray[Any], offsets: Any) -> list[bytes]:
        """One byte string for each document of an encode_batch result. `offsets` as in encode_buffer."""
        ids = _as_ids(values)
        cuts = _as_offsets(offsets).tolist()
        for i, (a, b) in enumerate(pairwise(cuts)):
            if a > b:
                raise ValueError(f"offsets: {a} before {b} at {i}")
        if cuts[-1] > len(ids):
            raise ValueError(f"offsets: {cuts[-1]} is past the last of {len(ids)} ids")
        return [bytes(self._tables.decode(ids[a:b])) for a, b in pairwise(cuts)]

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of an id, ordinary or special; ValueError if there is none."""
        token_id = index(token_id)
        found = self._tables.token_bytes(token_id) if 0 <= token_id <= GREATEST_ID else None
        if found is None:
            raise ValueError(f"id {token_id}: not in the vocabulary")
        return bytes(found)

    def token_id(self, token: bytes) -> int | None:
        """The id of exactly these bytes as an ordinary token, or None."""
        found: int | None = self._tables.find(token)
        return found

    def pretokens(self, data: Document) -> list[tuple[int, int]]:
        """Byte spans of the pieces that the pretokenizer makes of a document, special tokens not regarded."""
        ends: list[int] = self._tables.pretokens(data)
        return list(zip([0, *ends[:-1]], ends, strict=True)) if ends else []

    def trace(self, data: Document, *, specials: bool = False) -> list[dict[str, Any]]:
        """The decisions taken on a document, in order, from the trace build (schema: docs/FORMATS.md)."""
        return self.trace_ids(data, specials=specials)[1]

    def trace_ids(self, data: Document, *, specials: bool = False) -> tuple[Ids, list[dict[str, Any]]]:
        """(ids, decisions) of the trace build."""
        result: tuple[Ids, list[dict[str, Any]]] = self._traced().trace(data, self._match(specials))
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and pickled as what the tables are built from: another process builds, or maps, them again."""
        return self._recipe()

    def _recipe(self) -> tuple[Any, ...]:
        if isinstance(self._given, Opened):
            return _reopen, (type(self), self.path, self._given.tuning, self._tables.contents)
        return _rebuild, (type(self), self._given)

    def _traced(self) -> Any:
        with self._lock:
            if self._trace_tables is None:
                from tokassay.engines.dat_bpe import _trace

                self._trace_tables = _trace.TraceTables(*self._given.arguments, **self._given.options)
        return self._trace_tables

    def _match(self, specials: bool) -> bool:
        if specials and not self.specials:
            raise ValueError(f"{self.name}: no special tokens were given when it was loaded; give specials= to load")
        return specials


def _rebuild(kind: type[Encoder], given: Built) -> Encoder:
    return kind(_core.Tables(*given.arguments, **given.options), given)


def _reopen(kind: type[Encoder], path: str, tuning: tuple[Any, ...], contents: bytes) -> Encoder:
    cache_bits, level, without = tuning
    found = kind.open(path, cache_bits=cache_bits, level=level, without=without)
    if found._tables.contents != contents:
        raise ProfileError(
            "not the profile that was open when the encoder was copied", where=path,
            remedy="leave a profile where it is while copies are made, or write another under another name",
        )
    return found


def _threads(threads: int) -> int:
    threads = index(threads)
    if not 1 <= threads <= THREADS_MOST:
        raise ValueError(f"threads: {threads} is outside 1..{THREADS_MOST}")
    return threads


def merge_table(tokens: Mapping[bytes, int], merges: Sequence[tuple[bytes, bytes]], where: str) -> Ids:
    """numpy.uint32[n, 3]: left, right and merged token of each pair as indexes in ascending order of id."""
    order = {token: place for place, token in enumerate(sorted(tokens, key=tokens.__getitem__))}
    last: dict[tuple[bytes, bytes], None] = {}
    for number, pair in enumerate(merges):
        try:
            left, right = pair
        except (TypeError, ValueError):
            raise LoadError(
                f"{pair!r:.80} is no pair", where=f"{where}: merges[{number}]", remedy="give (left, right) as bytes"
            ) from None
        for token in (left, right, left + right):
            if token not in order or not left or not right:
                raise LoadError(
                    f"{token!r} is no token" if token else "a part of no bytes", where=f"{where}: merges[{number}]",
                    remedy="give the vocabulary and the merges of one file",
                )
        last.pop((left, right), None)
        last[left, right] = None
    rows = [(order[left], order[right], order[left + right]) for left, right in last]
    return numpy.array(rows, numpy.uint32).reshape(len(rows), 3)


def _check_ranks(ranks: Mapping[bytes, int], where: str) -> None:
    if not isinstance(ranks, Mapping):
        raise LoadError(f"ranks: a {type(ranks).__name__}", where=where, remedy="give a mapping of token bytes -> id")
    for token, number in ranks.items():
        problem = ""
        if not isinstance(token, bytes):
            problem = f"token {token!r} is not bytes"
        elif isinstance(number, bool) or not isinstance(number, (int, numpy.integer)):
            problem = f"token {token.hex()}: id {number!r} is not an integer"
        elif not 0 <= number <= GREATEST_ID:
            problem = f"token {token.hex()}: id {number} is outside 0..{GREATEST_ID}"
        if problem:
            raise LoadError(problem, where=where, remedy="give token bytes -> id, ids of 32 bits")


def _explain(error: Any, ranks: Mapping[bytes, int], where: str) -> LoadError:
    if error.reason == "missing byte":
        return LoadError(
            f"byte {error.culprit:02x} has no token", where=where,
            remedy="byte-level BPE needs all 256 single bytes: give the whole file",
        )
    if error.reason == "duplicate id":
        return LoadError("an id stands for two tokens", where=where, remedy="leave one token an id")
    return LoadError(error.reason, where=where, remedy="give the vocabulary as it was published")


def _as_offsets(offsets: Any) -> Offsets:
    """offsets as contiguous numpy.uint64; TypeError where they are no integers, ValueError for one below zero."""
    array = numpy.asarray(offsets)
    if array.ndim != 1 or array.size == 0:
        raise ValueError("offsets: one row of numbers is needed, of one number at least")
    if array.dtype.kind not in "iu":
        raise TypeError(f"offsets must be integers of 64 bits, not {array.dtype}")
    if array.dtype.kind == "i" and array.min() < 0:
        raise ValueError(f"offsets: {array.min()} is below zero")
    return numpy.ascontiguousarray(array, dtype=numpy.uint64)


def _as_ids(ids: Any) -> Ids:
    """ids as contiguous numpy.uint32; ValueError for one that does not fit, TypeError where they are no integers."""
    array = numpy.asarray(ids)
    if array.ndim != 1:
        raise TypeError(f"ids: one row of integers is needed, not {array.ndim} dimensions")
    if array.size == 0:
        return numpy.empty(0, numpy.uint32)
    if array.dtype != numpy.uint32:
        # Integers past 64 bits make an array of objects.
        wide = array.dtype.kind == "O" and all(isinstance(each, int) for each in ids)
        if array.dtype.kind not in "iu" and not wide:
            raise TypeError(f"ids must be integers, not {array.dtype}")
        wrong = numpy.flatnonzero((array < 0) | (array > GREATEST_ID))
        if wrong.size:
            raise ValueError(f"id {array[wrong[0]]} at index {wrong[0]}: not in the vocabulary")
    return numpy.ascontiguousarray(array, dtype=numpy.uint32)
