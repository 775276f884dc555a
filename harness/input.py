"""One document from the command line: by hex, by text, from a file, or from standard input."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tokassay.harness.errors import InputError

# A group is whole bytes, each of two hex digits, with an optional 0x or \x before it.
GROUP = re.compile(r"(?:0[xX]|\\x)?((?:[0-9a-fA-F]{2})+)")
BETWEEN = re.compile(r"[\s,:]*")
ONE_OF = "give exactly one of --hex, --text, --file (`--file -` is standard input)"


def parse_hex(text: str) -> bytes:
    r"""Bytes from hex digits, two a byte: `898881ab`, `89 88 81 ab`, `0x89,0x88`, `\x89\x88` or `89:88`.

    White space, commas and colons may stand between groups, `0x` or `\x` before one. A group holds whole
    bytes, so `9 8` is refused rather than guessed at. Raises InputError with the column.
    """
    found = bytearray()
    at = 0
    while True:
        gap = BETWEEN.match(text, at)
        at = gap.end() if gap else at
        if at == len(text):
            return bytes(found)
        group = GROUP.match(text, at)
        if group is None:
            bad = text[at]
            what = "half a byte" if bad in "0123456789abcdefABCDEF" else f"{bad!r} is not a hex digit"
            raise InputError(
                what,
                where=f"--hex, column {at + 1}",
                remedy="write two hex digits a byte, for example 898881ab or '89 88 81 ab'",
            )
        found += bytes.fromhex(group.group(1))
        at = group.end()


def read_document(hexadecimal: str | None, text: str | None, file: str | None) -> bytes:
    """The one document asked for, as bytes.

    `text` is taken as the bytes the shell passed, so even ill-formed UTF-8 arrives unchanged. `file` is read
    whole; `-` is standard input, and so is no option at all unless that is a terminal. Raises InputError.
    """
    options = {"--hex": hexadecimal, "--text": text, "--file": file}
    given = [name for name, value in options.items() if value is not None]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} were given together", remedy=ONE_OF)
    if hexadecimal is not None:
        return parse_hex(hexadecimal)
    if text is not None:
        try:
            return text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise InputError(
                "a lone surrogate has no bytes",
                where=f"--text, character {error.start + 1}",
                remedy="give the bytes with --hex",
            ) from None
    if file is None or file == "-":
        return read_standard_input(file is None)
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise InputError(
            (error.strerror or str(error)).lower(),
            where=file,
            remedy="give the path of a file that can be read, or - for standard input",
        ) from None


def read_standard_input(unasked: bool, remedy: str = ONE_OF) -> bytes:
    """All of standard input; `unasked` (no option named it): not from a terminal. Raises InputError."""
    if sys.stdin is None or (unasked and sys.stdin.isatty()):
        raise InputError("no input", remedy=remedy)
    return sys.stdin.buffer.read()
