"""Class tuples: all K-tuples over named representatives of character and byte classes, one document a tuple.

A pretokenizer decides by the classes of neighbouring characters, so short tuples reach every decision it has.
The alphabet goes below characters: leads of each length, continuations of each class of the byte alphabet,
cut tails, overlong forms and surrogates, so that tuples also form and break sequences across their borders.

`classes:K` is over all representatives, `classes:K/M` over the first M. They stand in the order of what they bring:
the first 48 have every class that a published pattern tells apart, and every kind of ill-formed sequence; the others
are the same roles played by other characters.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

import numpy as np
from tokassay.corpora.corpus import CHUNK_DOCUMENTS, Columns, Corpus, Labels
from tokassay.corpora.document import CorpusError

CORE = 48
# name -> bytes. The names say the role; tests derive general category, case and well-formedness and hold them to it.
REPRESENTATIVES: tuple[tuple[str, bytes], ...] = (
    # letters: of each case class, and those of contractions
    ("small", b"a"), ("s", b"s"), ("l", b"l"), ("r", b"r"), ("e", b"e"), ("v", b"v"), ("capital-S", b"S"),
    ("small-two", "é".encode()), ("capital-two", "Ж".encode()), ("long-s", "ſ".encode()), ("title", "ǅ".encode()),
    ("modifier-letter", "ʰ".encode()), ("ideograph", "日".encode()), ("hangul", "한".encode()),
    # marks and numbers
    ("mark", "\u0301".encode()), ("spacing-mark", "\u093f".encode()),
    ("digit", b"1"), ("arabic-digit", "٣".encode()), ("letter-number", "Ⅷ".encode()), ("superscript", "²".encode()),
    # apostrophes and white space
    ("apostrophe", b"'"), ("quote", "’".encode()),
    ("space", b" "), ("newline", b"\n"), ("return", b"\r"), ("tab", b"\t"), ("NBSP", "\u00a0".encode()),
    ("ideographic-space", "\u3000".encode()),
    # everything else that is well-formed
    ("period", b"."), ("slash", b"/"), ("emoji", "😀".encode()), ("ZWJ", "\u200d".encode()), ("NUL", b"\0"),
    ("unassigned", "\u0378".encode()),
    # ill-formed: leads, continuations by the class of their byte-alphabet character, and what no sequence has
    ("lead-2", b"\xc3"), ("lead-3", b"\xe2"), ("lead-3-E0", b"\xe0"), ("lead-4", b"\xf0"),
    ("continuation-letter", b"\x80"), ("continuation-number", b"\xb2"), ("continuation-other", b"\xa1"),
    ("C0", b"\xc0"), ("FF", b"\xff"),
    ("cut-3", b"\xe2\x82"), ("cut-4", b"\xf0\x9f\x98"), ("surrogate", b"\xed\xa0\x80"),
    ("above", b"\xf4\x90\x80\x80"), ("overlong", b"\xe0\x80\x80"),
    # the same roles, played by others
    ("t", b"t"), ("m", b"m"), ("d", b"d"), ("capital", b"B"), ("capital-L", b"L"), ("kana", "あ".encode()),
    ("kana-dot", "・".encode()), ("enclosing-mark", "\u20dd".encode()), ("fraction", "½".encode()),
    ("NEL", "\u0085".encode()), ("line-separator", "\u2028".encode()), ("vertical-tab", b"\x0b"),
    ("dollar", b"$"), ("underscore", b"_"), ("DEL", b"\x7f"), ("BOM", "\ufeff".encode()),
    ("private", "\ue000".encode()), ("replacement", "\ufffd".encode()),
    ("lead-2-other", b"\xd7"), ("lead-3-ED", b"\xed"), ("lead-4-F4", b"\xf4"), ("C1", b"\xc1"), ("F5", b"\xf5"),
    ("surrogate-low", b"\xed\xb0\x80"), ("overlong-2", b"\xc0\x80"),
)  # fmt: skip


def _columns(k: int, most: int) -> Iterator[Columns]:
    names = [name for name, _ in REPRESENTATIVES[:most]]
    tuples = product([data for _, data in REPRESENTATIVES[:most]], repeat=k)
    first = 0
    while chunk := [b"".join(t) for t in islice(tuples, CHUNK_DOCUMENTS)]:
        offsets = np.zeros(len(chunk) + 1, np.uint64)
        np.cumsum([len(d) for d in chunk], out=offsets[1:], dtype=np.uint64)
        yield Columns(b"".join(chunk), offsets, _labels(first, k, names))
        first += len(chunk)


def _labels(first: int, k: int, names: list[str]) -> Labels:
    return Labels(
        lambda i: f"classes {tuple_name(first + i, k, names)}", lambda _: f"all {k}-tuples of {len(names)} classes"
    )


def representatives(most: int | None = None, where: str = "classes") -> tuple[tuple[str, bytes], ...]:
    """The first `most` representatives (all unless told) as (name, bytes). Raises CorpusError where there are fewer."""
    if most is None:
        return REPRESENTATIVES
    if not 1 <= most <= len(REPRESENTATIVES):
        raise CorpusError(
            f"there are {len(REPRESENTATIVES)} representatives, not {most}", where=where,
            remedy=f"write a number from 1 to {len(REPRESENTATIVES)}, or none for all",
        )
    return REPRESENTATIVES[:most]


def tuple_name(index: int, k: int, names: list[str]) -> str:
    """The names of the representatives of tuple `index` (from 0, in the order of `itertools.product`), joined."""
    parts = []
    for _ in range(k):
        index, part = divmod(index, len(names))
        parts.append(names[part])
    return " ".join(reversed(parts))


def open_classes(spec: str, k: int, most: int | None = None) -> Corpus:
    """The corpus `classes:K` or `classes:K/M`: M ** K documents, in the order of `itertools.product`."""
    count = len(representatives(most, spec))
    return Corpus(spec, spec, lambda _: _columns(k, count))
