"""Normalizers: `none`, and `nfc` (Unicode Normalization Form C, UAX #15).

NFC is Python's `unicodedata`, whose Unicode version is that of the interpreter (14.0 in 3.11, 15.0 in 3.12,
15.1 in 3.13, 16.0 in 3.14). UAX #15 guarantees that text of characters assigned in that version normalizes
the same for ever; a document with a later character is refused by name, because for it the guarantee says
nothing.
"""

from __future__ import annotations

import unicodedata

from tokassay.oracles.classes import Classes
from tokassay.oracles.errors import Unsupported

NORMALIZERS = ("none", "nfc")


def normalize(text: str, normalizer: str, table: Classes) -> str:
    """The normalized text; Unsupported for an unknown normalizer or a character younger than the
    interpreter."""
    if normalizer == "none":
        return text
    if normalizer != "nfc":
        raise Unsupported(f"normalizer {normalizer!r} is not modelled")
    for character in set(text):
        if unicodedata.category(character) == "Cn" and table.category(ord(character)) != "Cn":
            raise Unsupported(
                f"NFC of U+{ord(character):04X} is not known to Unicode {unicodedata.unidata_version}", where="document"
            )
    return unicodedata.normalize("NFC", text)
