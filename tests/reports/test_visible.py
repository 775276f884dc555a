"""Nothing of a document reaches a page as itself when it cannot be seen, or could reorder its line."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokassay.reports.html import hex_rows
from tokassay.reports.visible import hex_view, joined, text_view, units, visible

# UAX #9: every explicit formatting character; and what else hides.
HIDDEN = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
HIDDEN += "\u200b\u200d\ufeff\u00ad\x00\x1b\x7f\x85\u2028\u2029"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"a b", "a b"),
        (b"a\xffb", "a\\xFFb"),
        (b"\xe0@yp", "\\xE0@yp"),
        (b"\xed\xa0\x80", "\\xED\\xA0\\x80"),
        (b"\xc0\x80", "\\xC0\\x80"),
        (b"\\n\n", "\\\\n\\n"),
        ("e\u0301".encode(), "e\u0301"),
        ("\u0301e".encode(), "\\u{301}e"),
        ("\u00a0".encode(), "\\u{A0}"),
        ("\u05e9".encode(), "\\u{5E9}"),
        (b"\x00\x1b[31m", "\\u{0}\\u{1B}[31m"),
    ],
)
def test_text_view(data: bytes, text: str) -> None:
    assert text_view(data) == text


@pytest.mark.parametrize("char", HIDDEN)
def test_hidden_characters_are_spelled_everywhere(char: str) -> None:
    assert char not in text_view(f"a{char}b".encode())
    assert char not in visible(f"a{char}b")
    assert f"\\u{{{ord(char):X}}}" in visible(f"a{char}b")


def test_visible_leaves_commands_alone() -> None:
    command = "tokassay diff a b --text 'x\\n é 你'"
    assert visible(command) == command


@given(st.binary(max_size=80))
def test_every_byte_is_accounted_for(data: bytes) -> None:
    """Pieces begin where their bytes begin, hex is the bytes, and rows of hex put together are the document."""
    found = list(units(data))
    assert [offset for offset, _ in found] == sorted({offset for offset, _ in found})
    assert bytes.fromhex(hex_view(data)) == data
    assert b"".join(bytes.fromhex(text) for _, text, _ in hex_rows(data)) == data
    assert "".join(p.text for p in joined(p for _, p in found)) == "".join(p.text for _, p in found)


@given(st.text(max_size=60))
def test_what_is_left_is_printable(text: str) -> None:
    for shown in (text_view(text.encode("utf-8", "surrogatepass")), visible(text)):
        assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
