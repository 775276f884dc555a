"""How bytes are shown to a person: text where it is text, hex where it is not, never ambiguous."""

from __future__ import annotations

LINE_BYTES = 60
NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


def view(data: bytes) -> str:
    """Show bytes on one line: printable characters of well-formed UTF-8 as such, other bytes as `\\xNN`.

    The view can be read back: a backslash is doubled; newline, carriage return and tab are escaped.
    Characters that do not print (controls, format characters, separators but the space) are shown as bytes.
    """
    shown: list[str] = []
    # surrogateescape keeps each ill-formed byte as one lone surrogate U+DC80..U+DCFF, at its place.
    for character in data.decode("utf-8", "surrogateescape"):
        if character in NAMED:
            shown.append(NAMED[character])
        elif character.isprintable():
            shown.append(character)
        else:
            shown.append("".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape")))
    return "".join(shown)


def bracketed(data: bytes) -> str:
    """A piece between brackets, `[hello]`, so that its white space can be seen."""
    return f"[{view(data)}]"


def token_spans(tokens: list[bytes], document: bytes) -> list[tuple[int, int]] | None:
    """Byte spans (start, end) of tokens by the tokens' bytes; None where those do not make up `document`."""
    spans: list[tuple[int, int]] = []
    at = 0
    for token in tokens:
        if document[at : at + len(token)] != token:
            return None
        spans.append((at, at + len(token)))
        at += len(token)
    return spans if at == len(document) else None


def one_line(data: bytes) -> str:
    """A document on one line: its text where it is well-formed, else its bytes in hex; long ones are cut."""
    cut = data[:LINE_BYTES]
    more = f" ... ({len(data):,} bytes)" if len(data) > len(cut) else ""
    try:
        text = cut.decode("utf-8", "ignore" if more else "strict")
        data.decode("utf-8")
    except UnicodeDecodeError:
        return cut.hex(" ") + more
    # repr shows controls, and unprintable characters, as escapes.
    return repr(text) + more
