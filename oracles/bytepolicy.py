"""Byte policies: from the bytes of a document to characters that a regular expression can be matched against.

reject             ill-formed UTF-8 is refused
replace            U+FFFD for each maximal subpart (Unicode 3.9, "Best Practices for Using U+FFFD")
replace-each-byte  U+FFFD for each ill-formed byte
byte-alphabet      an ill-formed byte stands for its GPT-2 byte-alphabet character *for matching only*;
                   what is merged stays the raw byte
tiktoken-bytes     here as `reject`: the rule for ill-formed documents is about tokens (see
                   tiktoken_bytes.py)
raw                no scanner: every byte alone; only without a pretokenizer
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from tokassay.oracles import utf8
from tokassay.oracles.errors import Reject, Unsupported

POLICIES = ("reject", "replace", "replace-each-byte", "byte-alphabet", "tiktoken-bytes", "raw")

REPLACEMENT = "\ufffd"


def byte_alphabet() -> dict[int, str]:
    """The GPT-2 byte alphabet, byte -> character (`bytes_to_unicode` of the GPT-2 release).

    The printable characters of Latin-1 stand for their own byte; the other 68 bytes, in ascending order, take
    the characters from U+0100 on.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    alphabet = {}
    spare = 0x100
    for byte in range(256):
        if byte in printable:
            alphabet[byte] = chr(byte)
        else:
            alphabet[byte] = chr(spare)
            spare += 1
    return alphabet


ALPHABET = byte_alphabet()


@dataclass(frozen=True)
class Scanned:
    """A stretch of a document after the byte policy.

    text    the characters to match against
    data    the bytes to merge
    starts  byte offset in `data` of each character and, last, len(data); None: data is text in UTF-8
    origin  document bytes (start, end) behind each byte of `data`; None: byte base + k alone is behind byte k
    base    document offset of the stretch
    """

    text: str
    data: bytes
    starts: Sequence[int] | None = None
    origin: Sequence[tuple[int, int]] | None = None
    base: int = 0

    def document_span(self, start: int, end: int) -> tuple[int, int]:
        """Document bytes behind data[start:end], which is not empty; part of a replacement stands for all of it."""
        if self.origin is None:
            return self.base + start, self.base + end
        return self.origin[start][0], self.origin[end - 1][1]


    def character_starts(self) -> Sequence[int]:
        """`starts`, made where there are none."""
        if self.starts is not None:
            return self.starts
        made = array("Q", [0])
        for character in self.text:
            made.append(made[-1] + _width(character))
        return made

    def part(self, start: int, end: int) -> Scanned:
        """The stretch of data[start:end], which begins and ends between characters."""
        data = self.data[start:end]
        origin = None if self.origin is None else self.origin[start:end]
        base = origin[0][0] if origin else self.base + start
        if self.starts is None:
            return Scanned(data.decode("utf-8"), data, None, origin, base)
        first, last = bisect_left(self.starts, start), bisect_left(self.starts, end)
        starts = array("Q", [each - start for each in self.starts[first : last + 1]])
        return Scanned(self.text[first:last], data, starts, origin, base)


def scan(data: bytes, policy: str, *, base: int = 0) -> Scanned:
    """Apply a byte policy to a stretch of a document that starts at document offset `base`.

    Raises Reject (offset in the document) where the policy refuses, Unsupported for a policy that is not
    known.
    """
    if policy not in POLICIES:
        raise Unsupported(f"byte policy {policy!r} is not modelled")
    if policy == "raw":
        return Scanned("".join(map(chr, data)), data, range(len(data) + 1), base=base)
    bad = utf8.first_ill_formed(data)
    if bad is None:
        return Scanned(data.decode("utf-8"), data, base=base)
    if policy in ("reject", "tiktoken-bytes"):
        raise Reject(base + bad)
    if policy == "byte-alphabet":
        return _byte_alphabet(data, base)
    return _replace(data, base, each_byte=policy == "replace-each-byte")


def _byte_alphabet(data: bytes, base: int) -> Scanned:
    text: list[str] = []
    starts = array("Q")
    for start, end, well_formed in utf8.runs(data):
        if well_formed:
            run = data[start:end].decode("utf-8")
            text.append(run)
            if run.isascii():
                starts.extend(range(start, end))
                continue
            for character in run:
                starts.append(start)
                start += _width(character)
        else:
            text.extend(ALPHABET[byte] for byte in data[start:end])
            starts.extend(range(start, end))
    starts.append(len(data))
    return Scanned("".join(text), data, starts, base=base)


def _replace(data: bytes, base: int, *, each_byte: bool) -> Scanned:
    text: list[str] = []
    origin: list[tuple[int, int]] = []
    for start, end, well_formed in utf8.runs(data):
        if well_formed:
            text.append(data[start:end].decode("utf-8"))
            origin.extend((base + at, base + at + 1) for at in range(start, end))
            continue
        while start < end:
            width = 1 if each_byte else utf8.maximal_subpart(data, start)
            text.append(REPLACEMENT)
            origin.extend([(base + start, base + start + width)] * len(REPLACEMENT.encode()))
            start += width
    replaced = "".join(text)
    return Scanned(replaced, replaced.encode("utf-8"), None, origin, base)


def _width(character: str) -> int:
    """Bytes of the character in UTF-8."""
    if character < "\x80":
        return 1
    if character < "\u0800":
        return 2
    return 3 if character < "\U00010000" else 4


def prefixed(scanned: Scanned, prefix: str) -> Scanned:
    """The stretch with the character `prefix` before it, which no document byte stands behind: its span is
    empty."""
    width = _width(prefix)
    starts = None if scanned.starts is None else array("Q", [0, *(at + width for at in scanned.starts)])
    behind = scanned.origin
    if behind is None:
        behind = [(at, at + 1) for at in range(scanned.base, scanned.base + len(scanned.data))]
    origin = [(scanned.base, scanned.base)] * width + list(behind)
    return Scanned(prefix + scanned.text, prefix.encode("utf-8") + scanned.data, starts, origin, scanned.base)
