"""Code points that one Unicode version classes otherwise than another, each in the company in which that shows.

Engines are built on different versions, and alone such a character shows nothing: it is one piece either way. So each
stands before and behind letters, digits, spaces, contractions, marks and symbols. Runs of code points that all versions
treat alike (a new script's letters, say) are shown by their first, middle and last; `versions:N` adds N documents of
drawn code points and drawn company. The tables are those of fixtures/unicode.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import pairwise

import numpy as np
from tokassay.corpora.corpus import Corpus, from_documents
from tokassay.corpora.document import Document
from tokassay.corpora.draws import Draws

UNICODE_VERSIONS = ("15.0", "15.1", "16.0", "17.0")
CODE_POINTS = 0x110000
DRAWN = 2000
# {} is the code point.
COMPANY = (
    "{}", "{}{}", "a{}", "{}a", "A{}a", "a{}A", "é{}", "{}日", " {}", "{} ", "a {} a", "  {}", "{}  a", "\n{}", "{}\n",
    "1{}", "{}1", "12{}34", "{}'s", "a{}'s", "a'{}", "'s{}", "'ll{}'re", "!{}", "{}!", " !{}", "e\u0301{}", "{}\u0301",
    "_{}/", "\u00a0{}", "{}\u3000",
)  # fmt: skip


@cache
def runs() -> tuple[tuple[int, int, tuple[str, ...]], ...]:
    """(first, last, label in each version) of every run of code points whose label is not the same in all versions. A
    label is the general category, with `S` behind it for White_Space."""
    names: dict[str, int] = {}
    table = np.zeros((len(UNICODE_VERSIONS), CODE_POINTS), np.uint8)
    for row, version in enumerate(UNICODE_VERSIONS):
        text = files("tokassay.fixtures").joinpath("unicode", f"{version}.txt").read_text("ascii")
        for line in text.splitlines():
            if line.startswith("#"):
                continue
            left, _, right = line.partition(";")
            space = left == "White_Space"
            first, _, last = (right if space else left).partition("..")
            part = table[row, int(first, 16) : int(last or first, 16) + 1]
            if space:
                part += 64
            else:
                part[:] = names.setdefault(right, len(names))
    labels = [*names]
    unlike = (table != table[0]).any(axis=0)
    edges = np.flatnonzero((np.diff(table, axis=1) != 0).any(axis=0)) + 1
    found = []
    for start, end in pairwise((0, *edges.tolist(), CODE_POINTS)):
        if unlike[start]:
            said = tuple(labels[each & 63] + "S" * (each >> 6) for each in table[:, start].tolist())
            found.append((start, end - 1, said))
    return tuple(found)


def _reason(said: tuple[str, ...]) -> str:
    return ", ".join(f"{label} in {version}" for label, version in zip(said, UNICODE_VERSIONS, strict=True))


def documents(drawn: int, seed: int) -> Iterator[Document]:
    """The edges of every run in every company, then `drawn` documents of a seed."""
    found = runs()
    for first, last, said in found:
        for point in dict.fromkeys((first, (first + last) // 2, last)):
            for number, form in enumerate(COMPANY):
                data = form.replace("{}", chr(point)).encode()
                yield Document(f"versions {point:04X} {number}", data, _reason(said))
    for k in range(drawn):
        draws = Draws("versions", seed, k)
        parts = []
        for _ in range(draws.length(6)):
            first, last, _ = draws.choice(found)
            parts.append(draws.choice(COMPANY).replace("{}", chr(first + draws.below(last - first + 1))))
        yield Document(f"versions {seed}/{k}", "".join(parts).encode(), "code points of several versions in a row")


def open_versions(spec: str, drawn: int, seed: int) -> Corpus:
    """The corpus `versions:<drawn>` of a seed."""
    return from_documents(spec, spec, lambda _: documents(drawn, seed))
