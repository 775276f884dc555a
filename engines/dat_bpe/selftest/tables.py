"""Unicode tables and the byte alphabet, derived again from fixtures/unicode/*.txt."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import cache, partial
from importlib.resources import files

import numpy
from numpy.typing import NDArray
from tokassay.engines.dat_bpe import _core
from tokassay.engines.dat_bpe.selftest.checks import Check, equal, none_of
from tokassay.engines.dat_bpe.selftest.normal import Normal

VERSIONS = ("15.0", "15.1", "16.0", "17.0")
BLOCK = 4096
POINTS = 0x110000
WHITE, ILL_FORMED = 32, 1 << 31
# The class bits of csrc/classify.h, by general category; what is White_Space comes before, CR and LF before that.
UPPER, LOWER, CASELESS, MARK, NUMBER, SPACE, NEWLINE, OTHER = (1 << i for i in range(8))
CLASS_OF = {"Lu": UPPER, "Lt": UPPER, "Ll": LOWER, "Lm": CASELESS, "Lo": CASELESS, "Mn": MARK, "Mc": MARK, "Me": MARK,
            "Nd": NUMBER, "Nl": NUMBER, "No": NUMBER}
Bytes = NDArray[numpy.uint8]


@cache
def written(version: str) -> tuple[Bytes, Bytes, tuple[str, ...]]:
    """(number of its category, 1 if White_Space) of each code point, and the categories, as the file has them."""
    category, white = numpy.full(POINTS, 255, numpy.uint8), numpy.zeros(POINTS, numpy.uint8)
    names: dict[str, int] = {}
    source = files("tokassay.fixtures") / "unicode" / f"{version}.txt"
    for line in source.read_text(encoding="ascii").splitlines():
        if line.startswith("#") or not line:
            continue
        head, tail = line.split(";")
        place, name = (tail, head) if head == "White_Space" else (head, tail)
        first, last = (int(each, 16) for each in place.split(".."))
        if name == "White_Space":
            white[first : last + 1] = 1
        else:
            category[first : last + 1] = names.setdefault(name, len(names))
    if 255 in category:
        raise ValueError(f"{source.name}: no category for U+{int(numpy.argmax(category == 255)):04X}")
    return category, white, tuple(names)


def _held(version: str) -> Bytes:
    return numpy.frombuffer(_core.general_categories(VERSIONS.index(version)), numpy.uint8)


def _category_check(version: str, name: str, start: int) -> str:
    category, _, names = written(version)
    there = category[start : start + BLOCK] == names.index(name)
    found = (_held(version)[start : start + BLOCK] & ~numpy.uint8(WHITE)) == _core.CATEGORIES.index(name)
    return none_of(f"U+{start + int(each):04X}" for each in numpy.flatnonzero(there != found))


def _white_check(version: str, plane: int) -> str:
    inside = slice(plane << 16, (plane + 1) << 16)
    found = (_held(version)[inside] & WHITE) != 0
    wrong = numpy.flatnonzero(found != (written(version)[1][inside] != 0))
    return none_of(f"U+{(plane << 16) + int(each):04X}" for each in wrong)


@cache
def _expected_classes(version: str) -> Bytes:
    category, white, names = written(version)
    result = numpy.array([CLASS_OF.get(name, OTHER) for name in names], numpy.uint8)[category]
    result[white != 0] = SPACE
    result[[0x0A, 0x0D]] = NEWLINE
    return result


def _class_check(version: str, start: int, bit: int) -> str:
    found = numpy.array(_core.classes(VERSIONS.index(version), range(start, start + BLOCK)), numpy.uint8)
    wrong = numpy.flatnonzero((found == bit) != (_expected_classes(version)[start : start + BLOCK] == bit))
    return none_of(f"U+{start + int(each):04X}" for each in wrong)


def unicode_checks() -> Iterator[Check]:
    """A check for each version, category and block of 4,096 code points where the file has the category; for each
    version and plane of White_Space; for each version, class, and block with more than one class."""
    for version in VERSIONS:
        category, _, names = written(version)
        for start in range(0, POINTS, BLOCK):
            there = numpy.unique(category[start : start + BLOCK]).tolist()
            for number in there:
                name = f"unicode/{version}/category/{names[number]}/U+{start:04X}"
                yield Check(name, partial(_category_check, version, names[number], start))
        for plane in range(17):
            yield Check(f"unicode/{version}/White_Space/plane {plane}", partial(_white_check, version, plane))
        for start in range(0, POINTS, BLOCK):
            bits = numpy.unique(_expected_classes(version)[start : start + BLOCK]).tolist()
            for bit in bits if len(bits) > 1 or start == 0 else ():
                name = f"unicode/{version}/class {bit}/U+{start:04X}"
                yield Check(name, partial(_class_check, version, start, bit))


def byte_alphabet() -> list[int]:
    """GPT-2's `bytes_to_unicode` as its authors describe it: printing Latin-1 stands for itself, the others are shifted
    to U+0100 and on, in order."""
    keeps = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = iter(range(0x100, 0x200))
    return [byte if byte in keeps else next(others) for byte in range(256)]


def _byte_check(byte: int) -> str:
    point = byte_alphabet()[byte]
    problem = equal(_core.byte_characters()[byte], point)
    for number, version in enumerate(VERSIONS):
        value = byte | ILL_FORMED if byte >= 0x80 else byte
        expected = _expected_classes(version)[point if byte >= 0x80 else byte]
        problem = problem or equal(_core.classes(number, [value]), [expected])
    # As a document of its own: one character below 0x80, ill-formed above.
    return problem or equal(_core.scan(bytes([byte])), [byte | ILL_FORMED if byte >= 0x80 else byte])


def _scan_check(lead: int) -> str:
    """Every second and third byte at a border of a row of Table 3-7, against Python's strict decoder."""
    edges = (0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF)
    wrong = []
    for second in edges:
        for third in edges:
            text = bytes([lead, second, third, 0x80])
            if _core.scan(text) != _scanned(text):
                wrong.append(text.hex())
    return none_of(wrong)


def _scanned(text: bytes) -> list[int]:
    values, at = [], 0
    while at < len(text):
        for width in (1, 2, 3, 4):
            try:
                values.append(ord(text[at : at + width].decode()))
                at += width
                break
            except (UnicodeDecodeError, TypeError):
                continue
        else:
            values.append(text[at] | ILL_FORMED)
            at += 1
    return values


def byte_checks() -> Iterator[Check]:
    """A check a byte of the alphabet, its classes and its scan; a check a lead byte of UTF-8."""
    for byte in range(256):
        yield Check(f"bytes/{byte:02X}", partial(_byte_check, byte))
    for lead in range(0xC0, 0x100):
        yield Check(f"bytes/lead {lead:02X}", partial(_scan_check, lead))


def _nfc(text: str, version: str) -> str:
    return _core.normalize(text.encode(), VERSIONS.index(version))[0].decode()


def _decomposition_check(version: str, points: list[int]) -> str:
    normal, wrong = Normal.of(version), []
    for point in points:
        whole = chr(point)
        apart = normal.decompose(whole)
        for text in (whole, apart, f"a{whole}b", f"{apart}\u0301"):
            if _nfc(text, version) != normal.nfc(text):
                wrong.append(f"U+{point:04X}")
                break
    return none_of(wrong)


def _order_check(version: str, number: int, points: list[int]) -> str:
    """Each mark after one of the highest class and before one of the lowest: sorted by class, and composed."""
    normal, wrong = Normal.of(version), []
    for point in points:
        mark = chr(point)
        for text in (f"a\u0345{mark}", f"e{mark}\u0338", f"a\u0301{mark}\u0323", f"\u1100{mark}\u1161"):
            if _nfc(text, version) != normal.nfc(text):
                wrong.append(f"U+{point:04X} of class {number}")
                break
    return none_of(wrong)


def _hangul_check(version: str, lead: int) -> str:
    wrong = []
    for vowel in range(21):
        for tail in range(28):
            point = 0xAC00 + (lead * 21 + vowel) * 28 + tail
            apart = chr(0x1100 + lead) + chr(0x1161 + vowel) + (chr(0x11A7 + tail) if tail else "")
            if _nfc(apart, version) != chr(point) or unicodedata.normalize("NFD", chr(point)) != apart:
                wrong.append(f"U+{point:04X}")
    return none_of(wrong)


def nfc_checks() -> Iterator[Check]:
    """A check for each version and 256 code points of which one has a decomposition; for each version and combining
    class; for each leading consonant of Hangul."""
    for version in VERSIONS:
        normal = Normal.of(version)
        rows: dict[int, list[int]] = {}
        for point in sorted(normal.decomposition):
            rows.setdefault(point >> 8, []).append(point)
        for row, points in rows.items():
            yield Check(f"nfc/{version}/U+{row << 8:04X}", partial(_decomposition_check, version, points))
        classes: dict[int, list[int]] = {}
        for point, number in sorted(normal.combining.items()):
            classes.setdefault(number, []).append(point)
        for number, points in sorted(classes.items()):
            yield Check(f"nfc/{version}/class {number}", partial(_order_check, version, number, points))
    for lead in range(19):
        yield Check(f"nfc/Hangul/{0x1100 + lead:04X}", partial(_hangul_check, "17.0", lead))
