"""Digits, contractions and marks around each class: what a pattern's own special cases meet on either side.

Every representative of tuples.py stands before, behind and on both sides of runs of digits, of all contractions in all
their cases (and of what is none by one letter), and of marks. Nothing is drawn: `around` is always the same documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tokassay.corpora.corpus import Corpus, from_documents
from tokassay.corpora.document import Document
from tokassay.corpora.tuples import REPRESENTATIVES

SUFFIXES = ("s", "t", "re", "ve", "m", "ll", "d")
DIGITS = ("1", "12", "123", "1234", "1234567", "٣", "1٣", "12½", "1.2", "1,234")
MARKS = ("\u0301", "\u0301\u0301", "\u093f", "\u20dd", "\u200d", "\ufe0f", "a\u0301", " \u0301", "1\u0301")


def contractions() -> list[str]:
    """Each in every case, with the long s, and those that lack or change a letter."""
    found = ["'" + "".join(each) for suffix in SUFFIXES for each in product(*((c, c.upper()) for c in suffix))]
    return [*found, "'ſ", "'l", "'r", "'v", "'el", "'er", "'x", "''s", "'s's", "'ll've", "’s", "' s", "'s1"]


CENTRES: dict[str, tuple[str, ...]] = {"digits": DIGITS, "contraction": tuple(contractions()), "marks": MARKS}
# {} is the class, [] what stands beside it.
FORMS = ("{}[]", "[]{}", "{}[]{}", "{} []", "[] {}", " {}[]", "a{}[]", "[]{}a")


def documents() -> Iterator[Document]:
    """Every class with every centre in every form."""
    for kind, centres in CENTRES.items():
        for (name, data), centre, form in product(REPRESENTATIVES, centres, FORMS):
            made = form.encode().replace(b"[]", centre.encode()).replace(b"{}", data)
            yield Document(f"around {name} {form} {centre}", made, f"{kind} beside {name}")


def open_around(spec: str) -> Corpus:
    """The corpus `around`."""
    return from_documents(spec, spec, lambda _: documents())
