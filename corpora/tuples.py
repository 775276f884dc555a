"""Class tuples: all K-tuples over named representatives of character and byte classes, one document a tuple.

A pretokenizer decides by the classes of neighbouring characters, so short tuples reach every decision it has.
The alphabet goes below characters: leads of each length, continuations of each class of the byte alphabet,
cut tails, overlong forms and surrogates, so that tuples also form and break sequences across their borders.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

import numpy as np
from tokassay.corpora.corpus import CHUNK_DOCUMENTS, Columns, Corpus, Labels

REPRESENTATIVES: tuple[tuple[str, bytes], ...] = (
    ("small", b"a"), ("s", b"s"), ("capital", b"B"), ("digit", b"1"), ("space", b" "), ("newline", b"\n"),
    ("return", b"\r"),
    ("tab", b"\t"), ("apostrophe", b"'"), ("period", b"."), ("slash", b"/"), ("underscore", b"_"),
    ("dollar", b"$"),
    ("NUL", b"\0"), ("DEL", b"\x7f"),
    ("NBSP", "\u00a0".encode()), ("NEL", "\u0085".encode()), ("ideographic-space", "\u3000".encode()),
    ("line-separator", "\u2028".encode()), ("BOM", "\ufeff".encode()), ("ZWJ", "\u200d".encode()),
    ("small-two", "é".encode()), ("capital-two", "Ж".encode()), ("long-s", "ſ".encode()),
    ("title", "ǅ".encode()),
    ("modifier-letter", "ʰ".encode()), ("ideograph", "日".encode()), ("hangul", "한".encode()),
    ("mark", "\u0301".encode()),
    ("spacing-mark", "\u093f".encode()), ("arabic-digit", "٣".encode()), ("letter-number", "Ⅷ".encode()),
    ("superscript", "²".encode()), ("quote", "’".encode()), ("emoji", "😀".encode()),
    ("private", "\ue000".encode()),
    ("unassigned", "\u0378".encode()),
    ("lead-2", b"\xc3"), ("lead-2-other", b"\xd7"), ("lead-3", b"\xe2"), ("lead-3-E0", b"\xe0"),
    ("lead-4", b"\xf0"),
    ("never", b"\xff"), ("C0", b"\xc0"), ("continuation-letter", b"\x80"), ("continuation-number", b"\xb2"),
    ("continuation-other", b"\xa1"), ("cut-3", b"\xe2\x82"), ("cut-4", b"\xf0\x9f\x98"),
    ("surrogate", b"\xed\xa0\x80"),
    ("above", b"\xf4\x90\x80\x80"), ("overlong", b"\xe0\x80\x80"),
)  # fmt: skip


def _columns(k: int) -> Iterator[Columns]:
    names = [name for name, _ in REPRESENTATIVES]
    tuples = product([data for _, data in REPRESENTATIVES], repeat=k)
    first = 0
    while chunk := [b"".join(t) for t in islice(tuples, CHUNK_DOCUMENTS)]:
        offsets = np.zeros(len(chunk) + 1, np.uint64)
        np.cumsum([len(d) for d in chunk], out=offsets[1:], dtype=np.uint64)
        yield Columns(b"".join(chunk), offsets, _labels(first, k, names))
        first += len(chunk)


def _labels(first: int, k: int, names: list[str]) -> Labels:
    def name(i: int) -> str:
        index, parts = first + i, []
        for _ in range(k):
            index, part = divmod(index, len(names))
            parts.append(names[part])
        return "classes " + " ".join(reversed(parts))

    return Labels(name, lambda _: f"all {k}-tuples of {len(names)} classes")


def open_classes(k: int) -> Corpus:
    """The corpus `classes:K`: 52 ** K documents, in the order of `itertools.product`."""
    return Corpus(f"classes:{k}", f"classes:{k}", lambda _: _columns(k))
