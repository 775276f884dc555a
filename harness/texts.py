"""The texts that speed is measured on: two halves of one kind that share no byte position, cut into documents.

Both halves of a kind are taken from its sources in turns, group by group of 64 kB, and evenly over their length: what
one half has of a source, the other has too, and neither has the other's text.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.resources import files

import numpy as np
from tokassay.corpora.corpus import Corpus
from tokassay.corpora.crafted import CRAFTED, ONE_PRETOKEN
from tokassay.corpora.fetch import cache_dir
from tokassay.corpora.open import open_corpus
from tokassay.corpora.prepared import manifest_of, real_entries
from tokassay.engines.frames import pack_buffer
from tokassay.harness.domains import NEUTRAL, domains_of
from tokassay.harness.errors import InputError

GROUP = 1 << 16
DOCUMENT = 4096
MEGABYTE = 1_000_000
WINDOWS = 8
READ = 16  # times the size of a half that is read of a corpus
PRESET = "bench.toml"
# Kinds from outside of the preset, by name: (title, corpus spec) of the embedded sample, or of a user's own corpus.
_ADDED: dict[str, tuple[str, str]] = {}


@dataclass(frozen=True)
class Half:
    """One text, and the size its documents are cut to. `one_pretoken`: no pattern splits it, by its construction."""

    data: bytes = field(repr=False)
    document: int = DOCUMENT
    one_pretoken: bool = False

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def borders(self) -> list[int]:
        """Offsets of the documents: a cut stands at most `document` bytes after the last, at a character's border."""
        return borders(self.data, self.document)

    def body(self, cut: bool) -> bytes:
        """The documents' body of the host protocol: the whole text, or its cuts."""
        return pack_buffer(self.data, np.array(self.borders if cut else [0, len(self.data)], np.uint64))

    def documents(self, cut: bool) -> int:
        """How many documents `body` has."""
        return len(self.borders) - 1 if cut else 1


@dataclass(frozen=True)
class Text:
    """A kind of text in two halves: `a` is read first, `b` by a process that has seen `a`."""

    kind: str
    title: str
    sources: tuple[str, ...]
    entries: tuple[str, ...]
    a: Half
    b: Half
    domain: str = "neutral"

    def cut_to(self, size: int) -> Text:
        """The same in documents of at most `size` bytes: KIND/SIZE."""
        a, b = (replace(half, document=size) for half in (self.a, self.b))
        return replace(self, kind=f"{self.kind}/{size}", a=a, b=b)

    def to_json(self) -> dict[str, object]:
        """The row of the report: no text, but what identifies it."""
        halves = {
            name: {"bytes": len(half.data), "documents": half.documents(True), "sha256": half.sha256}
            for name, half in (("a", self.a), ("b", self.b))
        }
        about = {"kind": self.kind, "title": self.title, "sources": list(self.sources), "domain": self.domain}
        return {**about, **halves}


def borders(data: bytes, size: int) -> list[int]:
    """Offsets 0 to len(data): each at most `size` after the one before, and at a character's border where `data` is
    UTF-8 and `size` at least 4."""
    found, at = [0], 0
    while at < len(data):
        end = min(at + size, len(data))
        while end < len(data) and end > at + 1 and data[end] & 0xC0 == 0x80:
            end -= 1
        found.append(end)
        at = end
    return found


def kinds() -> dict[str, dict[str, object]]:
    """The kinds of the preset by name, then the crafted ones."""
    text = files("tokassay.harness").joinpath("presets", PRESET).read_text(encoding="utf-8")
    known: dict[str, dict[str, object]] = tomllib.loads(text)
    for name in CRAFTED:
        known.setdefault(name, {"title": name, "crafted": name, "entries": ["whole"]})
    return known | {name: {"title": title, "sources": [spec]} for name, (title, spec) in _ADDED.items()}


def is_added(name: str) -> bool:
    """Whether a kind is from outside of the preset: it may be given anew."""
    return name in _ADDED


def add_kind(name: str, title: str, spec: str) -> None:
    """Make a corpus a kind for this process; it is read as `load_corpus` reads one."""
    _ADDED[name] = title, spec


def entries_of(kind: str) -> tuple[str, ...]:
    """The entry points that a kind is measured by; none named: every one."""
    return tuple(str(entry) for entry in _list(kinds()[kind].get("entries")))


def missing(names: list[str]) -> list[str]:
    """Catalogue names that these kinds need and that are not prepared in the cache."""
    entries = {entry.slug: entry for entry in real_entries()}
    needed = [str(source) for name in names for source in _list(kinds()[name].get("sources"))]
    return [slug for slug in dict.fromkeys(needed) if slug in entries and manifest_of(entries[slug]) is None]


def check_kind(kind: str) -> None:
    """Raise InputError for what is no kind of text."""
    known = kinds()
    if kind not in known:
        raise InputError(f"no kind of text is called {kind}", where="--text", remedy=f"known are {', '.join(known)}")


def load_text(kind: str, size: int) -> Text:
    """Both halves of a kind, each of at most `size` bytes. Raises InputError, naming the command that fetches."""
    check_kind(kind)
    known = kinds()
    if absent := missing([kind]):
        raise InputError(
            f"{kind} needs {', '.join(absent)}, not in {cache_dir()}",
            where="--text",
            remedy=f"run: tokassay corpora fetch {' '.join(absent)}",
        )
    if kind in _ADDED:
        title, spec = _ADDED[kind]
        read = load_corpus(spec, size)
        return replace(read, kind=kind, title=f"{title}: {read.title}")
    table = known[kind]
    sources = tuple(str(source) for source in _list(table.get("sources")))
    size = min(size, int(str(table.get("megabytes", size))) * MEGABYTE)
    if "crafted" in table:
        make = CRAFTED[str(table["crafted"])]
        halves = make(size, 0), make(size, 1)
    else:
        halves = split(list(groups(sources)), size)
    document = int(str(table.get("document", DOCUMENT)))
    a, b = (Half(data, document, table.get("crafted") in ONE_PRETOKEN) for data in halves)
    return Text(kind, str(table["title"]), sources, entries_of(kind), a, b)


def load_corpus(spec: str, size: int, *, domain: str = "neutral", seed: int = 0) -> Text:
    """Both halves of any corpus, each of at most `size` bytes, in groups of documents taken in turns.

    A corpus of more than READ times what is needed is read so far and no further: the title says so. `domain`:
    neutral documents only, or, with `bytes`, all. Raises InputError where nothing is left, CorpusError for a spec.
    """
    held: list[bytes] = []
    length, all_read = 0, True
    for document in _documents(open_corpus(spec, seed=seed), domain):
        held.append(document)
        length += len(document)
        if length >= READ * size:
            all_read = False
            break
    group = max(min(GROUP, length // 16), 1)
    halves = split(list(_grouped(held, group)), size)
    if not all(halves):
        raise InputError(
            f"{spec} has no two {domain} documents", where="--corpus",
            # A file is one document unless told otherwise; both halves need one.
            remedy="give a larger corpus, or a file as FILE@lines"
            + (", or --domain bytes" if domain == "neutral" else ""),
        )
    title = spec if all_read else f"the first {length / MEGABYTE:.0f} MB of {spec}"
    return Text(spec, title, (spec,), (), Half(halves[0]), Half(halves[1]), domain)


def _documents(corpus: Corpus, domain: str) -> Iterator[bytes]:
    """Those of a domain, each with a line's end."""
    for buffer, offsets, _ in corpus.columns():
        data, edges = bytes(buffer), offsets.tolist()
        wanted = domains_of(buffer, offsets) == NEUTRAL if domain == "neutral" else np.ones(len(offsets) - 1, bool)
        for i in np.flatnonzero(wanted).tolist():
            yield data[edges[i] : edges[i + 1]] + b"\n"


def _grouped(documents: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The documents in groups of `size` bytes or one document; the last may be smaller."""
    held: list[bytes] = []
    length = 0
    for document in documents:
        held.append(document)
        length += len(document)
        if length >= size:
            yield b"".join(held)
            held, length = [], 0
    if held:
        yield b"".join(held)


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []


def groups(sources: tuple[str, ...]) -> Iterator[bytes]:
    """The neutral documents of the sources, each with a line's end, in groups of 64 kB or one document."""
    yield from _grouped((one for source in sources for one in _documents(open_corpus(source), "neutral")), GROUP)


def split(found: list[bytes], size: int) -> tuple[bytes, bytes]:
    """Two texts of at most `size` bytes from every other group, thinned evenly, so that the whole is represented."""
    halves = []
    for own in (found[0::2], found[1::2]):
        total = sum(map(len, own))
        keep = min(1.0, size / total) if total else 0.0
        taken, due = [], 0.0
        for group in own:
            due += len(group) * keep
            if due >= len(group):
                taken.append(group)
                due -= len(group)
        made = _ended(b"".join(taken), size)
        # Whole groups are too coarse for a text that is not much larger than one.
        halves.append(made if 2 * len(made) >= min(size, total) else _windows(b"".join(own), size))
    return halves[0], halves[1]


def _windows(data: bytes, size: int) -> bytes:
    """At most `size` bytes of it, from WINDOWS places evenly over its length: each from the next start of a line on, or
    from the next character where that would leave no room."""
    taken, each, step = [], size // WINDOWS, len(data) // WINDOWS
    for at in range(0, WINDOWS * step, step):
        start = data.find(b"\n", at, at + step - each) + 1 if at else 0
        while at and not start:
            start, at = (at if data[at] & 0xC0 != 0x80 else 0), at + 1
        taken.append(_ended(data[start : start + size], each))
    return b"".join(taken)


def _ended(data: bytes, size: int) -> bytes:
    """At most `size` bytes of it, up to a character's border."""
    end = min(size, len(data))
    while 0 < end < len(data) and data[end] & 0xC0 == 0x80:
        end -= 1
    return data[:end]
