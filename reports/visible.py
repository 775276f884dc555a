"""Makes bytes and text safe to look at: what cannot be seen, or would reorder its line, is spelled out.

Documents under audit are hostile by design: bidirectional overrides, zero-width characters, terminal escapes.
Nothing of them may reach a page, a Markdown file or a terminal as itself.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_NAMED = {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r"}
# Controls, formats, surrogates, private use, unassigned, line and paragraph separators, and spaces other than U+0020.
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"))
# Default-ignorable code points whose category looks harmless (DerivedCoreProperties.txt, Default_Ignorable_Code_Point).
_IGNORABLE = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)
_RIGHT_TO_LEFT = frozenset(("R", "AL", "AN"))


@dataclass(frozen=True)
class Piece:
    """A stretch of a text view. `kind`: plain, space, byte (ill-formed, `\\xNN`) or escape (`\\u{NNNN}`)."""

    kind: str
    text: str


def _is_hidden(char: str) -> bool:
    code = ord(char)
    if char == " ":
        return False
    return unicodedata.category(char) in _HIDDEN or any(low <= code <= high for low, high in _IGNORABLE)


def _spell(code: int) -> str:
    return _NAMED.get(code) or f"\\u{{{code:X}}}"


def units(data: bytes, *, escape_rtl: bool = False) -> Iterator[tuple[int, Piece]]:
    """(offset, piece) of every character and every ill-formed byte, in logical order.

    A byte outside well-formed UTF-8 becomes `\\xNN`; a backslash is doubled, so that the view can be read back; a
    combining mark with nothing to stand on is spelled out. `escape_rtl` also spells right-to-left letters, for places
    that cannot isolate them (Markdown, terminals).
    """
    offset = 0
    base = False  # whether the last piece can carry a combining mark
    for char in data.decode("utf-8", "surrogateescape"):
        code = ord(char)
        if 0xDC80 <= code <= 0xDCFF:
            piece = Piece("byte", f"\\x{code - 0xDC00:02X}")
        elif char == " ":
            piece = Piece("space", char)
        elif (
            _is_hidden(char)
            or (not base and unicodedata.category(char).startswith("M"))
            or (escape_rtl and unicodedata.bidirectional(char) in _RIGHT_TO_LEFT)
        ):
            piece = Piece("escape", _spell(code))
        else:
            piece = Piece("plain", "\\\\" if char == "\\" else char)
        yield offset, piece
        base = piece.kind == "plain"
        offset += 1 if piece.kind == "byte" else len(char.encode())


def joined(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces with runs of plain text made one; a mark must not be parted from its base."""
    out: list[Piece] = []
    for piece in pieces:
        if out and piece.kind == "plain" and out[-1].kind == "plain":
            out[-1] = Piece("plain", out[-1].text + piece.text)
        else:
            out.append(piece)
    return out


def text_view(data: bytes, *, escape_rtl: bool = True) -> str:
    """All of `units` as one string, for Markdown and terminals."""
    return "".join(piece.text for _, piece in units(data, escape_rtl=escape_rtl))


def hex_view(data: bytes) -> str:
    """Lower-case hex, a space between bytes."""
    return data.hex(" ")


def visible(text: str, *, escape_rtl: bool = False) -> str:
    """Any string with its hidden characters spelled out; a backslash stays single, so that commands stay commands."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        _spell(ord(char))
        if _is_hidden(char) or (escape_rtl and unicodedata.bidirectional(char) in _RIGHT_TO_LEFT)
        else char
        for char in text
    )
