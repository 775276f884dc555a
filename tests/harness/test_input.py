"""One document from the command line, and how bytes are shown."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokassay.harness.errors import InputError
from tokassay.harness.input import parse_hex, read_document
from tokassay.harness.pieces import bracketed, token_spans, view


def standard_input(monkeypatch: pytest.MonkeyPatch, data: bytes, *, terminal: bool = False) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data), isatty=lambda: terminal))


@pytest.mark.parametrize(
    "text",
    [
        "898881ab",
        "89 88 81 AB",
        "0x89,0x88,0x81,0xab",
        r"\x89\x88\x81\xab",
        "89:88:81:ab",
        " 8988\n81ab ",
        "0x898881ab",
    ],
)
def test_hex_is_read_in_every_usual_form(text: str) -> None:
    assert parse_hex(text) == b"\x89\x88\x81\xab"


@given(st.binary())
def test_hex_of_any_bytes(data: bytes) -> None:
    assert parse_hex(data.hex()) == data
    assert parse_hex(data.hex(" ").upper()) == data


@pytest.mark.parametrize(
    ("text", "column", "what"),
    [
        ("898", 3, "half a byte"),
        ("8 9", 1, "half a byte"),
        ("61 6x", 4, "half a byte"),
        ("zz", 1, "not a hex digit"),
        ("6162é", 5, "not a hex digit"),
        ("61;62", 3, "not a hex digit"),
    ],
)
def test_a_bad_digit_is_named_by_its_column(text: str, column: int, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        parse_hex(text)
    assert caught.value.where == f"--hex, column {column}"
    assert "two hex digits a byte" in caught.value.remedy


def test_exactly_one_source(tmp_path: Path) -> None:
    for given_options in ({"hexadecimal": "61", "text": "a"}, {"text": "a", "file": "x"}):
        options = {"hexadecimal": None, "text": None, "file": None, **given_options}
        with pytest.raises(InputError, match="given together"):
            read_document(options["hexadecimal"], options["text"], options["file"])


def test_text_is_the_bytes_the_shell_passed() -> None:
    assert read_document(None, "a\udcffé", None) == b"a\xff\xc3\xa9"
    assert read_document(None, "", None) == b""


def test_text_with_a_real_surrogate_is_refused() -> None:
    with pytest.raises(InputError, match="lone surrogate"):
        read_document(None, "a\ud800", None)


def test_a_file_is_read_whole_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "document"
    path.write_bytes(b"a\r\n\x1a\xff\n")
    assert read_document(None, None, str(path)) == b"a\r\n\x1a\xff\n"


@pytest.mark.parametrize("name", ["no-such-file", "."])
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError) as caught:
        read_document(None, None, str(tmp_path / name))
    assert caught.value.where == str(tmp_path / name)


def test_standard_input_named_or_piped(monkeypatch: pytest.MonkeyPatch) -> None:
    for file in ("-", None):
        standard_input(monkeypatch, b"\xff\n")
        assert read_document(None, None, file) == b"\xff\n"


def test_a_terminal_is_not_waited_on(monkeypatch: pytest.MonkeyPatch) -> None:
    standard_input(monkeypatch, b"", terminal=True)
    with pytest.raises(InputError, match="no input"):
        read_document(None, None, None)
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="no input"):
        read_document(None, None, "-")


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b" world", " world"),
        (b"\x89\x88\x81", r"\x89\x88\x81"),
        (b"a\n\r\t\\", r"a\n\r\t\\"),
        ("é☃\u200b\xa0".encode(), r"é☃\xe2\x80\x8b\xc2\xa0"),
        (b"\xe0@yp", r"\xe0@yp"),
        (b"\x00", r"\x00"),
    ],
)
def test_view(data: bytes, shown: str) -> None:
    assert view(data) == shown
    assert bracketed(data) == f"[{shown}]"


@given(st.binary())
def test_a_view_can_be_read_back(data: bytes) -> None:
    escaped = view(data)
    assert "\n" not in escaped
    read, at = bytearray(), 0
    while at < len(escaped):
        if escaped[at] != "\\":
            read += escaped[at].encode()
            at += 1
        elif escaped[at + 1] == "x":
            read.append(int(escaped[at + 2 : at + 4], 16))
            at += 4
        else:
            read += {"n": b"\n", "r": b"\r", "t": b"\t", "\\": b"\\"}[escaped[at + 1]]
            at += 2
    assert bytes(read) == data


def test_spans_of_tokens() -> None:
    assert token_spans([b"hello", b" world"], b"hello world") == [(0, 5), (5, 11)]
    assert token_spans([], b"") == []
    assert token_spans([b"hello"], b"hello world") is None
    assert token_spans([b"\xef\xbf\xbd"], b"\xff") is None
