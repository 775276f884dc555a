"""Every assigned code point, one a document, behind a space, a letter and a digit: where tables of any age show.

`versions` has those that our own Unicode tables class differently, in much company. Engines may be built on older
tables: what they did not know is here, whenever it was added. Of the long runs of one category (ideographs, syllables)
there are the first, the middle and the last.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from tokassay.corpora.corpus import Corpus, from_documents
from tokassay.corpora.document import Document
from tokassay.corpora.versions import UNICODE_VERSIONS

LONG = 2000  # a run of more code points than this is shown by three
UNUSED = ("Cn", "Co", "Cs")  # unassigned, private, and halves of pairs, which UTF-8 does not have
FORM = " {}!a{}1{}"


def assigned() -> Iterator[tuple[int, str]]:
    """Code points with their general category in the newest of our tables, in order."""
    text = files("tokassay.fixtures").joinpath("unicode", f"{UNICODE_VERSIONS[-1]}.txt").read_text("ascii")
    for line in text.splitlines():
        span, _, category = line.partition(";")
        if line.startswith("#") or span == "White_Space" or category in UNUSED:
            continue
        first, _, last = span.partition("..")
        low, high = int(first, 16), int(last or first, 16)
        points = range(low, high + 1) if high - low < LONG else (low, (low + high) // 2, high)
        yield from ((point, category) for point in points)


def documents() -> Iterator[Document]:
    """One document a code point."""
    for point, category in assigned():
        yield Document(f"codepoints {point:04X}", FORM.replace("{}", chr(point)).encode(), category)


def open_codepoints(spec: str) -> Corpus:
    """The corpus `codepoints`."""
    return from_documents(spec, spec, lambda _: documents())
