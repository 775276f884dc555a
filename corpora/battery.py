"""The structural battery: named documents, each with its reason, made by rules and never drawn at random.

A family is a generator of documents (name, data, reason). Families are tried in the order of `FAMILIES`; a
document whose bytes an earlier one already has is left out, so that no input is counted twice. The order and
the bytes are part of the frozen digest (fixtures/golden/corpora.json): add new families at the end of their
file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tokassay.corpora import battery_bytes, battery_text, battery_unicode
from tokassay.corpora.corpus import Corpus, from_documents
from tokassay.corpora.document import Document

FAMILIES: tuple[tuple[str, Callable[[], Iterable[Document]]], ...] = (
    *battery_text.FAMILIES,
    *battery_unicode.FAMILIES,
    *battery_bytes.FAMILIES,
)


def battery() -> Iterator[Document]:
    """Every document once; the name is "<family>/<what>"."""
    seen: set[bytes] = set()
    for family, make in FAMILIES:
        for document in make():
            if document.data not in seen:
                seen.add(document.data)
                yield Document(f"{family}/{document.name}", document.data, document.reason)


def open_battery() -> Corpus:
    """The corpus `battery`."""
    return from_documents("battery", "battery", lambda _: battery())
