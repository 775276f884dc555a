"""Seeded fuzz: arbitrary bytes mixed with valid text, in named mixtures, reproducible from the seed alone.

Document k of seed s is made by `Draws("fuzz", s, k)` (draws.py states the generator), so it is the same
whatever the size of the corpus: `fuzz:8921` begins with the 4,821 documents of `fuzz`. The first draw picks
the mixture by the weights in `MIXTURES`, and the mixture's own draws follow. The digests of both presets for
seed 0 are frozen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tokassay.corpora.corpus import Corpus, from_documents
from tokassay.corpora.document import Document
from tokassay.corpora.draws import Draws

STANDARD, EXPANDED = 4821, 8921

WORDS = (
    "the", "The", "THE", "a", "I", "of", "and", "hello", "world", "tokenizer", "don't", "it's", "we'll",
    "I'M", "camelCase", "HTTPServer", "snake_case", "naïve", "café", "Straße",
    "привет", "мир", "Україна", "Ελλάδα", "שלום", "مرحبا", "नमस्ते", "ไทย", "日本語", "テキスト", "中文",
    "한국어",
    "ქართული", "Հայերեն", "አማርኛ", "e\u0301", "ſ", "ǅ", "ªº", "½", "²",
    "Ⅷ", "１２３", "٣٤", "123", "4567890", "3.14", "0x1F", "😀", "👩\u200d💻", "🇺🇦", "→", "…", "—", "''",
    "'s",
    "'ll",
    "<|endoftext|>", "<|endof", "def f(x):", "return", "!=", "&&", "});", "//", "#", "$x", "\\n",
)  # fmt: skip
SPACES = (
    " ", " ", " ", " ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2028", "\x0b",
    "\x0c", "\r", "\x85",
    "\u2009", " \n", "\n ",
)  # fmt: skip
# Code point ranges (start, count) of random valid text: dense in letters, every plane present.
PLANES = (
    (0x20, 0x5F), (0x20, 0x5F), (0xA0, 0x60), (0x100, 0x150), (0x370, 0x90), (0x400, 0x100), (0x590, 0x70),
    (0x600, 0x100), (0x900, 0x80), (0xE00, 0x60), (0x1100, 0x100), (0x1E00, 0x200),
    (0x2000, 0x70), (0x20A0, 0x60), (0x2100, 0x100), (0x2600, 0x100), (0x3000, 0x100), (0x4E00, 0x5000),
    (0xAC00, 0x2BA4), (0xE000, 0x100), (0xFB00, 0x500), (0x10000, 0x1000), (0x1F300, 0x400),
    (0x20000, 0xA000),
    (0xE0000, 0x100), (0xF0000, 0x100), (0x10FF00, 0x100),
)  # fmt: skip
# Short byte strings, one or more of each kind that a UTF-8 scanner has to tell apart.
UNITS = (
    b"a", b"Z", b"1", b"9", b" ", b"\n", b"'", b"s", b"!", b"_", b"\0", b"\x7f", b"\x80", b"\x9f", b"\xa0",
    b"\xaa", b"\xb2", b"\xbf", b"\xc0", b"\xc1", b"\xc2", b"\xc3", b"\xd7", b"\xdf", b"\xe0", b"\xe2",
    b"\xed", b"\xef", b"\xf0", b"\xf4", b"\xf5", b"\xff", b"\xc3\xa9", b"\xe2\x82", b"\xe2\x82\xac",
    b"\xe3\x81\x82", b"\xf0\x9f", b"\xf0\x9f\x98", b"\xf0\x9f\x98\x80", b"\xed\xa0\x80", b"\xc0\x80",
    b"\xe0\x80\x80",
    b"\xf4\x90\x80\x80", b"\xcc\x81", b"\xe3\x80\x80", b"\xc2\xa0", b"\xef\xbb\xbf", b"\xef\xbf\xbd",
)  # fmt: skip


def _bytes(draws: Draws, n: int, low: int = 0, count: int = 256) -> bytes:
    unit = draws.unit
    return bytes([low + int(unit() * count) for _ in range(n)])


def _words(draws: Draws, n: int) -> str:
    parts: list[str] = []
    for _ in range(n):
        parts.append(draws.choice(WORDS))
        if not draws.chance(0.15):
            parts.append(draws.choice(SPACES))
    return "".join(parts)


def _points(draws: Draws, n: int) -> str:
    out = []
    for _ in range(n):
        start, count = draws.choice(PLANES)
        out.append(chr(start + draws.below(count)))
    return "".join(out)


def uniform(draws: Draws) -> bytes:
    """Independent bytes, all 256 equally likely."""
    return _bytes(draws, draws.length(300))


def high(draws: Draws) -> bytes:
    """Bytes 80..FF only: leads and continuations in every order."""
    return _bytes(draws, draws.length(120), 0x80, 128)


def ascii_text(draws: Draws) -> bytes:
    """Printable ASCII at random."""
    return _bytes(draws, draws.length(300), 0x20, 95)


def words(draws: Draws) -> bytes:
    """Words, numbers and marks of many scripts with all kinds of white space between them."""
    return _words(draws, draws.length(60)).encode()


def points(draws: Draws) -> bytes:
    """Well-formed text of random code points from every plane."""
    return _points(draws, draws.length(120)).encode()


def units(draws: Draws) -> bytes:
    """Bytes, cut sequences and characters that a scanner must tell apart, side by side."""
    return b"".join(draws.choice(UNITS) for _ in range(draws.length(80)))


def white(draws: Draws) -> bytes:
    """Runs of white space of mixed kinds around single letters, digits and marks."""
    parts: list[str] = []
    for _ in range(draws.length(24)):
        parts.append("".join(draws.choice(SPACES) for _ in range(draws.length(8))))
        parts.append(draws.choice(("a", "1", "!", "é", "日", "", "'s", "\u0301")))
    return "".join(parts).encode()


def mutated(draws: Draws) -> bytes:
    """Valid text with a few bytes changed, inserted or removed, or its end cut."""
    data = bytearray(_words(draws, draws.length(40)).encode())
    for _ in range(draws.length(8)):
        at, kind = draws.below(len(data) + 1), draws.below(4)
        if kind == 0:
            data[at:at] = bytes((draws.below(256),))
        elif kind == 1:
            del data[at : at + 1]
        elif kind == 2 and at < len(data):
            data[at] ^= 1 << draws.below(8)
        elif kind == 3 and len(data) - at < 12:
            del data[at:]
    return bytes(data)


def spliced(draws: Draws) -> bytes:
    """Pieces of valid text and of arbitrary bytes in turn, borders where they fall."""
    parts: list[bytes] = []
    for _ in range(draws.length(12)):
        part = draws.choice((words, points, uniform, high, units))(draws)
        start = draws.below(len(part) + 1)
        parts.append(part[start : start + draws.length(40)])
    return b"".join(parts)


def repeated(draws: Draws) -> bytes:
    """A short unit of bytes or text repeated, then one byte."""
    unit = draws.choice((units, points, uniform))(draws)[: draws.length(6)]
    return unit * draws.length(400) + _bytes(draws, 1)


def long_piece(draws: Draws) -> bytes:
    """One long run of letters, digits, marks or high bytes: a single piece of up to 4,000 bytes."""
    low, count = draws.choice(((0x61, 26), (0x41, 58), (0x30, 10), (0x21, 15), (0x80, 64), (0xC0, 64)))
    return _bytes(draws, draws.length(4000), low, count)


# Each mixture with its weight in 100.
MIXTURES: tuple[tuple[Callable[[Draws], bytes], int], ...] = (
    (uniform, 12), (high, 8), (ascii_text, 8), (words, 12), (points, 12), (units, 14), (white, 6),
    (mutated, 10), (spliced, 12), (repeated, 4), (long_piece, 2),
)  # fmt: skip
_TABLE = tuple(mixture for mixture, weight in MIXTURES for _ in range(weight))


def fuzz_document(seed: int, k: int) -> Document:
    """Document k (from 0) of a seed; equal to the k-th of any `fuzz` corpus of that seed that is long enough.
    """
    draws = Draws("fuzz", seed, k)
    mixture = draws.choice(_TABLE)
    reason = (mixture.__doc__ or "").rstrip(".")
    return Document(f"fuzz {seed}/{k} {mixture.__name__}", mixture(draws), reason)


def fuzz(size: int, seed: int) -> Iterator[Document]:
    """The first `size` documents of a seed."""
    for k in range(size):
        yield fuzz_document(seed, k)


def open_fuzz(size: int, seed: int) -> Corpus:
    """The corpus `fuzz:<size>` of a seed."""
    return from_documents(f"fuzz:{size}", f"fuzz:{size}", lambda _: fuzz(size, seed))
