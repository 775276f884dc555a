"""One character said a few times, behind nothing, a space, a letter or a symbol.

Where a vocabulary has a token for two of a character and one for three, several ways to cut a run have the same score
(unigram) or the same rank pattern (merges), and an engine's rule for ties decides. The number is what matters, odd or
even, so each from 2 to 9 is here. `runs` and `lengths` are for the ends of buffers.
"""

from __future__ import annotations

from collections.abc import Iterator

from tokassay.corpora.corpus import Corpus, from_documents
from tokassay.corpora.document import Document

# Printable ASCII, and what runs in other texts: a dash, dots, a bar, letters of five scripts, a picture.
CHARACTERS = "".join(map(chr, range(0x20, 0x7F))) + "\n\t\u00a0éаяあー一啊ㅋا\u2014\u2026\u2500\u3000\U0001f602"
LEADS = ("", " ", "n", "\u25c6")
LEAST, MOST = 2, 9


def documents() -> Iterator[Document]:
    """Every character, behind each lead, LEAST to MOST times."""
    for character in CHARACTERS:
        for place, lead in enumerate(LEADS):
            for count in range(LEAST, MOST + 1):
                name = f"repeats {ord(character):04X} {count} {place}"
                yield Document(name, (lead + character * count).encode(), f"{count} times U+{ord(character):04X}")


def open_repeats(spec: str) -> Corpus:
    """The corpus `repeats`."""
    return from_documents(spec, spec, lambda _: documents())
