"""Battery families of bytes that are not text: every byte, ill-formed UTF-8 of every kind, and valid text
around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tokassay.corpora.document import Document

# Lead bytes by the length they announce; C0, C1 and F5..FF announce one that no well-formed sequence has.
TWO = range(0xC2, 0xE0)
THREE = range(0xE0, 0xF0)
FOUR = range(0xF0, 0xF5)
NEVER = (0xC0, 0xC1, *range(0xF5, 0x100))


def _shown(data: bytes) -> str:
    return data.hex(" ").upper()


def single_bytes() -> Iterator[Document]:
    """All 256 documents of one byte; those over 7F are ill-formed."""
    for b in range(256):
        yield Document(f"{b:02X}", bytes((b,)), "one byte: the smallest document of every class")


def in_order() -> Iterator[Document]:
    """All bytes in order, reversed, and from each high row."""
    yield Document("00..FF", bytes(range(256)), "all bytes in order (GPT-2 gives 222 ids)")
    yield Document("FF..00", bytes(range(255, -1, -1)), "all bytes in falling order")
    yield Document("00..FF twice", bytes(range(256)) * 2, "the border between FF and 00")
    for row in range(0x80, 0x100, 16):
        yield Document(f"row {row:02X}", bytes(range(row, row + 16)), "sixteen neighbours of one row")
    yield Document("80..BF", bytes(range(0x80, 0xC0)), "all continuation bytes without a lead")
    yield Document("C0..FF", bytes(range(0xC0, 0x100)), "all lead bytes without continuations")
    for b in range(0x80, 0x100):
        yield Document(
            f"a {b:02X} b",
            bytes((0x61, b, 0x62)),
            "one high byte between letters: its class decides the cuts",
        )
    for b in range(0x80, 0x100, 4):
        yield Document(f"space {b:02X}", bytes((0x20, b)), "a space before a lone high byte")
        yield Document(f"1 {b:02X} 2", bytes((0x31, b, 0x32)), "a lone high byte between digits")


def cut_leads() -> Iterator[Document]:
    """Every lead byte with each number of continuation bytes short of what it announces."""
    for need, leads in ((1, TWO), (2, THREE), (3, FOUR)):
        for lead in leads:
            # The second byte must be one that could go on, or the cut would be of another kind.
            second = 0xA0 if lead == 0xE0 else 0x90 if lead == 0xF0 else 0x80
            full = bytes((lead, second, 0x80, 0x80))
            for have in range(need):
                cut = full[: 1 + have]
                yield Document(
                    f"{_shown(cut)} end",
                    cut,
                    f"lead {lead:02X} cut after {have} continuation bytes, at the end",
                )
                yield Document(
                    f"{_shown(cut)} x", cut + b"x", f"lead {lead:02X} cut after {have}, then a letter"
                )
    for lead in (0xC3, 0xE2, 0xF0):
        for tail in (b" ", b"\n", b"1", b"!", b"\xc3\xa9", b"\x00", b"'s"):
            yield Document(
                f"{lead:02X} then {_shown(tail)}",
                bytes((lead,)) + tail,
                "a lone lead before each class of follower",
            )


def never_leads() -> Iterator[Document]:
    """C0, C1 and F5..FF with as many continuation bytes as a naive reader would take."""
    for lead in NEVER:
        length = 2 if lead < 0xE0 else 4 if lead < 0xF8 else 5 if lead < 0xFC else 6
        yield Document(
            f"{lead:02X} full", bytes((lead,)) + b"\x80" * (length - 1), f"{lead:02X} never starts a sequence"
        )
        yield Document(
            f"a {lead:02X} full b",
            b"a" + bytes((lead,)) + b"\xbf" * (length - 1) + b"b",
            f"{lead:02X} between letters",
        )


def overlong() -> Iterator[Document]:
    """Overlong forms of characters that are one byte, two bytes or three bytes long."""
    for cp in (0x00, 0x09, 0x0A, 0x20, 0x27, 0x2F, 0x31, 0x41, 0x61, 0x7F):
        two = bytes((0xC0 | cp >> 6, 0x80 | cp & 0x3F))
        three = bytes((0xE0, 0x80 | cp >> 6, 0x80 | cp & 0x3F))
        four = bytes((0xF0, 0x80, 0x80 | cp >> 6, 0x80 | cp & 0x3F))
        for data in (two, three, four):
            yield Document(
                _shown(data), data, f"overlong U+{cp:04X} in {len(data)} bytes: no assembled character"
            )
        yield Document(f"a {_shown(two)} b", b"a" + two + b"b", f"overlong U+{cp:04X} between letters")
    for data, what in (
        (b"\xe0\x9f\xbf", "overlong U+07FF"), (b"\xe0\xa0\x80", "U+0800, the first of three bytes"),
        (b"\xf0\x8f\xbf\xbf", "overlong U+FFFF"),
        (b"\xf0\x90\x80\x80", "U+10000, the first of four bytes"), (b"\xc1\xbf", "overlong U+007F"),
        (b"\xc2\x80", "U+0080, the first of two bytes"),
        (b"\xdf\xbf", "U+07FF, the last of two bytes"), (b"\xef\xbf\xbf", "U+FFFF, the last of three bytes"),
        (b"\xc0\xaf\xc0\xae", "the path-traversal overlongs"), (b"\xe0\x82\xa9", "overlong U+00A9"),
        (b"\xf0\x82\x82\xac", "overlong U+20AC"),
    ):  # fmt: skip
        yield Document(_shown(data), data, f"{what}: the border of a sequence length")


def surrogates() -> Iterator[Document]:
    """Surrogates written as three bytes, alone, paired (CESU-8) and at their borders."""
    for data, what in (
        (b"\xed\x9f\xbf", "U+D7FF, the last before the surrogates"), (b"\xed\xa0\x80", "U+D800"),
        (b"\xed\xaf\xbf", "U+DBFF"), (b"\xed\xb0\x80", "U+DC00"),
        (b"\xed\xbf\xbf", "U+DFFF"), (b"\xee\x80\x80", "U+E000, the first after the surrogates"),
        (b"\xed\xa0\xbd\xed\xb8\x80", "U+1F600 as a CESU-8 pair"),
        (b"\xed\xb8\x80\xed\xa0\xbd", "a reversed pair"), (b"a\xed\xa0\x80b", "a surrogate between letters"),
        (b"\xed\xa0", "a surrogate cut"), (b" \xed\xb2\xa9", "a space before a surrogate"),
        (b"\xed\xa0\x80\xed\xa0\x80", "two high surrogates"),
        (b"\xed\xa0\x80\n", "a surrogate before a newline"), (b"\xed\xaf\xbf\xed\xbf\xbf", "the last pair"),
    ):  # fmt: skip
        yield Document(_shown(data), data, f"{what}: surrogates are ill-formed in UTF-8")


def above() -> Iterator[Document]:
    """Around and above U+10FFFF."""
    for data, what in (
        (b"\xf4\x8f\xbf\xbf", "U+10FFFF, the last code point"), (b"\xf4\x90\x80\x80", "U+110000"),
        (b"\xf4\xbf\xbf\xbf", "U+13FFFF"), (b"\xf5\x80\x80\x80", "U+140000"),
        (b"\xf7\xbf\xbf\xbf", "U+1FFFFF"), (b"\xf8\x88\x80\x80\x80", "a five-byte form"),
        (b"\xfc\x84\x80\x80\x80\x80", "a six-byte form"),
        (b"\xfe\xfe\xff\xff", "bytes of UTF-16 and UTF-32 marks"),
        (b"a\xf4\x90\x80\x80b", "U+110000 between letters"), (b"\xf4\x90", "above, cut"),
        (b"\xf4\x8f\xbf", "U+10FFFF cut"),
    ):  # fmt: skip
        yield Document(_shown(data), data, f"{what}: nothing lies above U+10FFFF")


def widths() -> Iterator[Document]:
    """Leads followed by bytes that are not continuations: a width must be proved, not inferred from the lead.
    """
    for lead in range(0xC0, 0x100):
        yield Document(
            f"{lead:02X} 40 79 70",
            bytes((lead,)) + b"@yp",
            "width inferred from the lead alone; right: the lead stands alone",
        )
    for data in (
        b"\xe0@yp", b"\xe0\xa0yp", b"\xf0\x9f@yp", b"\xf0\x9f\x98yp", b"\xe2\x82yp", b"\xc3(", b"\xe2(\xa1",
        b"\xe2\x82(", b"\xf0(\x8c\xbc", b"\xf0\x90(\xbc", b"\xf0(\x8c(", b"\xe1\x80\xe2\xf0\x91\x92\xf1\xbfA",
        b"\xf1\x80\x80\xe1\x80\xc2b\x80c\x80\xbfd", b"\xf8\xa1\xa1\xa1\xa1", b"\xc3\xc3\xa9",
        b"\xe2\xe2\x82\xac", b"\xf0\xf0\x9f\x98\x80", b"\xe2\x82\xac\x82", b"\xc3\xa9\xa9",
        b"\xf0\x9f\x98\x80\x80",
    ):  # fmt: skip
        yield Document(_shown(data), data, "a sequence broken at each of its positions, and what follows it")


def continuations() -> Iterator[Document]:
    """Continuation bytes where a lead should be; the published faults and their kin."""
    for data in (
        b"\x89\x88\x81\xab", b"\xbd\x9b\x9a\xe9", b"\xb1's", b"\xb1'S", b"\xb2\xb3\xb9", b"\xaa\xba",
        b"\xb5\xb5", b"a\xaab", b"1\xb22", b"\xb21", b"1\xb2", b"\xaa1", b" \xaa", b" \xb2", b" \xa1",
        b"\xa1\xa1", b"\xa0", b"\xa0\xa0 x", b"\x85", b"\x85\x85x", b"\xad", b"\xbc\xbd\xbe",
        b"\x80\x80\x80\x80", b"\xbf\xbf\xbf\xbf", b"\x80a", b"\x801", b"\x80 ", b"\x80\n", b"\x80!", b"\xa1a",
        b"\xa11", b"\xa1 ", b"\xb2a", b"\xb2!", b"\xb2'll", b"\xaa'll", b"\xa1'll",
    ):  # fmt: skip
        yield Document(
            _shown(data),
            data,
            "continuation bytes taken alone: 37 letters, 6 numbers and 21 others by their alphabet",
        )
    for b in range(0x80, 0xC0):
        yield Document(
            f"a{b:02X}1{b:02X}!",
            bytes((0x61, b, 0x31, b, 0x21)),
            "one continuation byte next to a letter, a digit and a mark",
        )


def mixed_valid() -> Iterator[Document]:
    """Valid text with one fault in it: at the start, in the middle, at the end, and twice."""
    for text, script in (
        ("hello world", "Latin"), ("привет мир", "Cyrillic"), ("こんにちは世界", "Japanese"),
        ("don't stop", "contraction"), ("a 1 ! \n", "classes"), ("😀👍🏽", "emoji"), ("  x  ", "spaces"),
    ):  # fmt: skip
        data = text.encode()
        for fault in (b"\xff", b"\x80", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80"):
            # The middle is taken between characters, so that the fault is the only one.
            middle = len(text[: len(text) // 2].encode())
            for place, made in (
                ("start", fault + data), ("middle", data[:middle] + fault + data[middle:]),
                ("end", data + fault),
            ):  # fmt: skip
                yield Document(
                    f"{script} {place} {_shown(fault)}", made, "valid text stays as it was around one fault"
                )
        yield Document(f"{script} cut", data[1:], "valid text whose first byte is missing")
        yield Document(f"{script} short", data[:-1], "valid text whose last byte is missing")


def ends_of_pieces() -> Iterator[Document]:
    """Faults after the white space that some engines re-tokenize when the tail is ill-formed."""
    for before in (
        "a", "a ", "a  ", "a\n", "a \n", "a\t", "a\n\n", " ", "\n", "hello world ", "hello\n\n\n", "1 ", "! ",
        "a\u00a0", "a\r\n", "it's ", "abc",
    ):  # fmt: skip
        for tail in (b"\xff", b"\xc3", b"\x80 x"):
            yield Document(
                f"{before.encode('unicode_escape').decode()} {_shown(tail)}",
                before.encode() + tail,
                "an ill-formed tail after each kind of last piece",
            )


def encodings() -> Iterator[Document]:
    """The same words in legacy encodings and in UTF-16 and UTF-32, with and without a mark."""
    for text, codecs in (
        ("naïve café", ("latin-1", "cp850", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7")),
        ("Привет, мир", ("koi8-r", "cp1251", "iso8859-5", "utf-16-le")),
        ("日本語テキスト", ("shift_jis", "euc-jp", "iso2022_jp", "utf-16-le")),
        ("中文文本", ("gb2312", "gb18030", "big5", "hz", "utf-16-be")),
        ("한국어", ("euc-kr", "johab", "cp949")),
        ("Ελληνικά", ("iso8859-7", "cp1253")),
        ("עברית", ("iso8859-8", "cp1255")),
        ("ไทย", ("tis-620",)),
    ):
        for codec in codecs:
            yield Document(
                f"{codec} {text}", text.encode(codec), f"text in {codec}: bytes that are not UTF-8, or nearly"
            )
    bom = b"\xef\xbb\xbf"
    for name, data in (
        ("alone", bom), ("text", bom + b"text"), ("twice", bom * 2), ("inside", b"a" + bom + b"b"),
        ("cut", bom[:2]), ("space", bom + b" a"), ("last", b"a" + bom),
    ):  # fmt: skip
        yield Document(f"BOM {name}", data, "the byte order mark is U+FEFF, an ordinary code point")


def nul() -> Iterator[Document]:
    """NUL where a C string would end."""
    for data in (
        b"\0\0", b"a\0", b"\0a", b"a\0b", b"a\0\0b", b" \0", b"\0 ", b"\0\n", b"hello\0world", b"\0" * 16,
        b"1\0" + b"2", b"\0\xff", b"\xff\0", b"a\0\xc3\xa9", b"<|endoftext|>\0",
    ):  # fmt: skip
        yield Document(_shown(data)[:40], data, "NUL is a byte like any other")


FAMILIES: tuple[tuple[str, Callable[[], Iterable[Document]]], ...] = (
    ("byte", single_bytes), ("order", in_order), ("cut", cut_leads), ("never", never_leads),
    ("overlong", overlong), ("surrogate", surrogates),
    ("above", above), ("width", widths), ("continuation", continuations), ("fault", mixed_valid),
    ("tail", ends_of_pieces), ("encoding", encodings), ("nul", nul),
)  # fmt: skip
