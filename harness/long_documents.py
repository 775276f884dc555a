"""Texts of megabytes, whole and in parts: an engine that cuts what is long into chunks must not let it be seen."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from tokassay.harness.domains import BYTES, domain_of

LONG = 3 << 20  # bytes of the long document
PARTS = (4_000, 65_537, 1_000_003)  # bytes of its parts, about
LATER = (1, 2, 3, 5, 8, 13)  # so many parts of its beginning are left out, so that chunks end elsewhere

# In every published pattern a piece ends where a letter is followed by a space and another letter.
BORDER = re.compile(rb"[A-Za-z](?= [A-Za-z])")


def long_document(documents: Iterable[bytes]) -> bytes | None:
    """The well-formed documents joined by spaces, again and again, to three megabytes; None without a place to cut."""
    text = b" ".join(document for document in documents if domain_of(document) != BYTES)[:LONG]
    text = text.decode("utf-8", "ignore").encode()
    if not BORDER.search(text):
        return None
    return b" ".join([text] * -(-LONG // (len(text) + 1)))


def cut_at(text: bytes, size: int) -> list[bytes]:
    """The text cut at the first border behind every `size` bytes."""
    cuts = [0]
    while found := BORDER.search(text, cuts[-1] + size):
        cuts.append(found.end())
    return [text[a:b] for a, b in pairwise([*cuts, len(text)]) if a < b]
