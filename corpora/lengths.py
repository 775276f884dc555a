"""Pieces and documents of every length: engines with thresholds are right on real text and wrong past them.

Lengths are in bytes: every one from 1 to 1,100, then n - 1, n and n + 1 around each power of two and of ten
up to a million. Each construction gives one document a length; most are one piece of the GPT-2 family's
patterns. `lengths` is 60 MB in about 12,500 documents; `lengths:small` stops at 70,000 (11 MB); `lengths:N`
stops at N.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import numpy.typing as npt
from tokassay.corpora.corpus import Corpus, from_documents
from tokassay.corpora.document import Document

EVERY = 1100
MOST = 1_000_001
SMALL = 70_000
# Constructions that say nothing new in their longest megabyte: they stop here.
HALF = 1 << 19 | 1
WORDS = (
    b"the", b"of", b"and", b"token", b"izer", b"in", b"length", b"a", b"measure", b"question", b"s", b"un",
    b"re",
    b"byte", b"pair", b"merge", b"where", b"longest", b"ing", b"tion", b"ed", b"matters", b"I", b"HTTP",
    b"Camel",
    b"z", b"qx", b"threshold", b"buffer", b"over", b"run", b"e",
)  # fmt: skip


def lengths(most: int = MOST) -> list[int]:
    """The lengths, ascending: 1..1,100, then around powers of two and ten, none over `most`."""
    found = set(range(1, min(EVERY, most) + 1))
    for base in (2, 10):
        power = base
        while power - 1 <= most:
            found.update(n for n in (power - 1, power, power + 1) if EVERY < n <= min(most, MOST))
            power *= base
    return sorted(found)


def mixed(n: int) -> npt.NDArray[np.uint64]:
    """n well-mixed 64-bit numbers: the finalizer of splitmix64 on 1..n. Element k does not depend on n."""
    x = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _drawn(n: int, alphabet: bytes) -> bytes:
    letters = np.frombuffer(alphabet, np.uint8)[mixed(n) % np.uint64(len(alphabet))]
    return bytes(letters)


def _joined_words(n: int, between: bytes) -> bytes:
    # Words average over three bytes, so n / 3 of them are enough (and 16 for the shortest).
    picks = (mixed(n // 3 + 16) % np.uint64(len(WORDS))).tolist()
    return between.join(WORDS[k] for k in picks)[:n]


def _ideographs(n: int) -> bytes:
    points = (mixed(n // 3 + 1) % np.uint64(0x5000)).astype(np.int64) + 0x4E00
    return "".join(map(chr, points.tolist())).encode()


# name -> (the longest length, why). `_stream` makes the bytes that the documents are prefixes of.
CONSTRUCTIONS: dict[str, tuple[int, str]] = {
    "letters": (MOST, "one piece of random small letters: few merges apply"),
    "words": (MOST, "one piece of joined words: many merges apply"),
    "repeated": (MOST, "one letter repeated: equal merges tie everywhere"),
    "spaces": (MOST, "one run of spaces"),
    "newlines": (HALF, "one run of newlines"),
    "digits": (HALF, "one run of digits: one piece in GPT-2, threes in cl100k"),
    "punctuation": (HALF, "one run of mixed punctuation"),
    "ideographs": (MOST, "one run of CJK ideographs; up to two letters fill the last bytes"),
    "text": (MOST, "words with spaces: a document of that length with ordinary pieces"),
    "continuations": (HALF, "continuation bytes without leads: ill-formed throughout"),
    "inside": (SMALL, "a piece of that length between two short words"),
}


@cache
def _stream(name: str, n: int) -> bytes:
    """The first n bytes (at least) of a construction."""
    if name in ("letters", "inside"):
        return _drawn(n, b"abcdefghijklmnopqrstuvwxyz")
    if name == "words":
        return _joined_words(n * 2, b"")
    if name == "text":
        return _joined_words(n * 2, b" ")
    if name == "digits":
        return _drawn(n, b"0123456789")
    if name == "punctuation":
        return _drawn(n, b'!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~')
    if name == "continuations":
        return _drawn(n, bytes(range(0x80, 0xC0)))
    if name == "ideographs":
        return _ideographs(n)
    return {"repeated": b"a", "spaces": b" ", "newlines": b"\n"}[name] * n


def _document(name: str, stream: bytes, n: int) -> bytes:
    if name == "ideographs":
        return stream[: n - n % 3] + b"ab"[: n % 3]
    if name == "inside":
        return b"in " + stream[:n] + b" out"
    return stream[:n]


def documents(most: int = MOST) -> Iterator[Document]:
    """Every construction at every length up to `most`, construction by construction."""
    for name, (longest, reason) in CONSTRUCTIONS.items():
        wanted = lengths(min(most, longest))
        stream = _stream(name, wanted[-1])
        for n in wanted:
            yield Document(f"lengths {name} {n}", _document(name, stream, n), reason)
    _stream.cache_clear()


def open_lengths(spec: str, most: int) -> Corpus:
    """The corpus `lengths` up to a length."""
    return from_documents(spec, spec, lambda _: documents(most))
