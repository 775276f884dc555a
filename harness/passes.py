"""Passes of the reducer: each proposes smaller documents, keeps those that are still interesting, and gives the last
one.

A pass that gives back what it got has asked for every proposal it has: the document is a local minimum of it.
Proposals are smaller in one order, `size`: shorter first, then by bytes in the order in which a reader likes to see
them. So every sequence of passes ends.

Characters are those of `surrogateescape`: a well-formed sequence (Unicode Table 3-7) is one, an ill-formed byte
another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import TypeVar

from tokassay.oracles.bytepolicy import ALPHABET
from tokassay.oracles.classes import CODE_POINTS, classes
from tokassay.oracles.utf8 import proposed_width

Test = Callable[[bytes], bool]  # is this document still interesting?
Pass = Callable[[bytes, Test], bytes]
S = TypeVar("S", str, bytes)

VERSION = "16.0"  # Unicode version of the classes that representatives stand for
PAIRS = 24  # longest document, in characters, of which every two are left out together: 276 proposals
ASCII_ORDER = bytes(
    [
        *b"abcdefghijklmnopqrstuvwxyz0123456789 ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        *b".,-_!?'\"()/:;+=*<>[]{}#$%&@\\^`|~\n\t\r",
    ]
)
ORDER = ASCII_ORDER + bytes(sorted(set(range(256)) - set(ASCII_ORDER)))
RANK = bytes(ORDER.index(byte) for byte in range(256))
SIMPLE = ("a", "0", " ", "A", ".", "\n")  # a character of each kind that a reader knows at sight
SIMPLE_BYTES = (0x61, 0x80, 0xC2, 0xE0, 0xF0)  # ASCII, a continuation, a lead of each width


def size(document: bytes) -> tuple[int, bytes]:
    """The order of documents: shortlex over ORDER."""
    return len(document), document.translate(RANK)


def text_of(document: bytes) -> str:
    """One character a well-formed sequence, and U+DC80..U+DCFF for ill-formed bytes."""
    return document.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


# -- shorter ----------------------------------------------------------------------------------------------------


def cut_characters(document: bytes, test: Test) -> bytes:
    """Leave out stretches of characters: halves, quarters, and so on down to single ones."""
    return bytes_of(_cut(text_of(document), lambda text: test(bytes_of(text))))


def cut_bytes(document: bytes, test: Test) -> bytes:
    """Leave out stretches of bytes, so that a character may lose its tail or its head."""
    return document if document.isascii() else _cut(document, test)


def cut_pairs(document: bytes, test: Test) -> bytes:
    """Leave out two characters together, where neither can go alone: brackets, two halves of a contraction."""
    text = text_of(document)
    again = len(text) <= PAIRS
    while again:
        again = False
        for one, other in combinations(range(len(text)), 2):
            shorter = text[:one] + text[one + 1 : other] + text[other + 1 :]
            if test(bytes_of(shorter)):
                text, again = shorter, True
                break
    return bytes_of(text)


def merge(document: bytes, test: Test) -> bytes:
    """Put one character in the place of two neighbours: one of their representatives, or a letter."""
    text = text_of(document)
    at = 0
    while at + 1 < len(text):
        both = text[at : at + 2]
        for one in dict.fromkeys((*map(representative, both), "a")):
            shorter = bytes_of(text[:at] + one + text[at + 2 :])
            if size(shorter) < size(bytes_of(text)) and test(shorter):
                text = text_of(shorter)
                break
        else:
            at += 1
    return bytes_of(text)


def _cut(whole: S, test: Callable[[S], bool]) -> S:
    width = max(1, len(whole) // 2)
    if whole and test(whole[:0]):
        return whole[:0]
    while width:
        at = 0
        while at < len(whole):
            shorter = whole[:at] + whole[at + width :]
            if test(shorter):
                whole = shorter
            else:
                at += width
        width //= 2
    return whole


# -- simpler ----------------------------------------------------------------------------------------------------


def canonical(document: bytes, test: Test) -> bytes:
    """Put the representative of its class in a character's place: for all at once, halves, down to single ones."""
    text = text_of(document)
    width = len(text)
    while width:
        at = 0
        while at < len(text):
            stretch = "".join(map(representative, text[at : at + width]))
            simpler = bytes_of(text[:at] + stretch + text[at + width :])
            if size(simpler) < size(bytes_of(text)) and test(simpler):
                text = text_of(simpler)
            at += width
        width //= 2
    return bytes_of(text)


def lower(document: bytes, test: Test) -> bytes:
    """Put a lower character in the place of another: everywhere where it stands, then place by place."""
    text = text_of(document)
    for character in sorted(set(text)):
        for one in lower_than(character):
            simpler = bytes_of(text.replace(character, one))
            if size(simpler) < size(bytes_of(text)) and test(simpler):
                text = text_of(simpler)
                break
    at = 0
    while at < len(text):
        for one in lower_than(text[at]):
            simpler = bytes_of(text[:at] + one + text[at + 1 :])
            if size(simpler) < size(bytes_of(text)) and test(simpler):
                text = text_of(simpler)
                break
        else:
            at += 1
    return bytes_of(text)


def lower_bytes(document: bytes, test: Test) -> bytes:
    """Put a lower byte in the place of one that is not ASCII, whatever becomes of its character."""
    at = 0
    while at < len(document):
        byte = document[at]
        lowers = [*SIMPLE_BYTES, 0x80 + (byte - 0x80) // 2, byte - 1] if byte >= 0x80 else []
        for one in dict.fromkeys(lowers):
            simpler = document[:at] + bytes([one]) + document[at + 1 :]
            if size(simpler) < size(document) and test(simpler):
                document = simpler
                break
        else:
            at += 1
    return document


def lower_than(character: str) -> Iterator[str]:
    """Characters to try in the place of another: simple ones first, then its representative, then its neighbours
    below."""
    known = {character}
    for one in (*SIMPLE, representative(character), *_below(character)):
        if one not in known:
            known.add(one)
            yield one


def _below(character: str) -> Sequence[str]:
    """Half way down, and one down, among characters of the same width."""
    point = ord(character)
    if point < 0x80:
        rank = RANK[point]
        return [chr(ORDER[one]) for one in (rank // 2, rank - 1) if one >= 0]
    lowest = 0xDC80 if 0xDC80 <= point <= 0xDCFF else {2: 0x80, 3: 0x800, 4: 0x10000}[len(character.encode())]
    found = [lowest + (point - lowest) // 2, point - 1]
    return [chr(one) for one in found if lowest <= one and (lowest == 0xDC80 or not 0xD800 <= one <= 0xDFFF)]


# -- representatives --------------------------------------------------------------------------------------------


def representative(character: str) -> str:
    """The first character, in the order `size`, of a character's class: White_Space, the general category, or for an
    ill-formed byte what it would have been and what its byte-alphabet character is."""
    return _representatives()[class_of(character)]


def class_of(character: str) -> str:
    """The name of a character's class."""
    point = ord(character)
    if 0xDC80 <= point <= 0xDCFF:
        byte = point - 0xDC00
        role = "continuation" if byte < 0xC0 else f"lead of {proposed_width(byte)}"
        return f"{role}, {classes(VERSION).category(ord(ALPHABET[byte]))[0]}"
    return classes(VERSION).label(point)


@cache
def _representatives() -> dict[str, str]:
    found: dict[str, str] = {}
    for byte in ORDER:
        character = chr(byte if byte < 0x80 else 0xDC00 + byte)
        found.setdefault(class_of(character), character)
    table = classes(VERSION)
    for first, last, category in table.ranges:
        if category == "Cs":
            continue
        for point in range(max(first, 0x80), min(last + 1, CODE_POINTS)):
            if point not in table.white_space:
                found.setdefault(category, chr(point))
                break
    return found


PASSES: tuple[Pass, ...] = (cut_characters, cut_bytes, merge, canonical, lower, lower_bytes, cut_pairs)
