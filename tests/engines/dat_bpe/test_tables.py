"""The class tables against the Unicode files, the scanner against Python's decoder, the trie against plain code."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest
from tokassay.engines.dat_bpe import Encoder, _core, generate_tables

VERSIONS = ("15.0", "15.1", "16.0", "17.0")
UPPER, LOWER, CASELESS, MARK, NUMBER, SPACE, NEWLINE, OTHER = (1 << i for i in range(8))
CLASS_OF = {
    "Lu": UPPER, "Lt": UPPER, "Ll": LOWER, "Lm": CASELESS, "Lo": CASELESS, "Mn": MARK, "Mc": MARK, "Me": MARK,
    "Nd": NUMBER, "Nl": NUMBER, "No": NUMBER,
}
ILL_FORMED = 1 << 31


def properties(version: str) -> tuple[list[str], set[int]]:
    """The general category of every code point and the set of White_Space, read here without the generator."""
    category: list[str] = [""] * 0x110000
    space: set[int] = set()
    text = (files("tokassay.fixtures") / "unicode" / f"{version}.txt").read_text(encoding="ascii")
    for line in text.splitlines():
        if line.startswith("#") or not line:
            continue
        left, right = line.split(";")
        if left == "White_Space":
            first, last = right.split("..")
            space.update(range(int(first, 16), int(last, 16) + 1))
        else:
            first, last = left.split("..")
            for point in range(int(first, 16), int(last, 16) + 1):
                category[point] = right
    return category, space


def test_the_committed_table_is_what_the_generator_writes() -> None:
    committed = Path(__file__).resolve().parents[3] / "engines" / "dat_bpe" / "csrc" / "unicode_tables.c"
    assert committed.read_text(encoding="ascii") == generate_tables.render()


@pytest.mark.parametrize("version", VERSIONS)
def test_every_code_point(version: str) -> None:
    category, space = properties(version)
    number = VERSIONS.index(version)
    assert _core.UNICODE_VERSIONS == VERSIONS
    table = _core.general_categories(number)
    wrong = [
        point for point in range(0x110000)
        if _core.CATEGORIES[table[point] & 31] != category[point] or bool(table[point] & 32) != (point in space)
    ]
    assert wrong == []
    expected = [
        NEWLINE if point in (10, 13) else SPACE if point in space else CLASS_OF.get(category[point], OTHER)
        for point in range(0x110000)
    ]
    assert _core.classes(number, range(0x110000)) == expected


def alphabet() -> list[int]:
    keep = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in keep]
    return [byte if byte in keep else 0x100 + rest.index(byte) for byte in range(256)]


def test_the_byte_alphabet() -> None:
    assert _core.byte_characters() == alphabet()


@pytest.mark.parametrize("version", VERSIONS)
def test_ill_formed_bytes_have_the_class_of_their_character(version: str) -> None:
    number = VERSIONS.index(version)
    points = alphabet()
    found = _core.classes(number, [byte | ILL_FORMED for byte in range(0x80, 0x100)])
    assert found == _core.classes(number, points[0x80:])
    continuation = found[: 0xC0 - 0x80]
    letters = sum(bool(each & (UPPER | LOWER | CASELESS)) for each in continuation)
    assert (letters, continuation.count(NUMBER), continuation.count(OTHER)) == (37, 6, 21)


def by_python(document: bytes) -> list[int]:
    values, at = [], 0
    while at < len(document):
        for width in (1, 2, 3, 4):
            try:
                values.append(ord(document[at : at + width].decode()))
            except UnicodeDecodeError:
                continue
            at += width
            break
        else:
            values.append(document[at] | ILL_FORMED)
            at += 1
    return values


def test_every_code_point_is_scanned_whole() -> None:
    points = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    assert _core.scan("".join(map(chr, points)).encode()) == points


def test_every_pair_and_the_edges_of_every_row() -> None:
    """All pairs of bytes; then all mixtures of the bytes at which a row of Table 3-7 begins or ends."""
    document = b"".join(bytes(pair) + b"." for pair in itertools.product(range(256), repeat=2))
    assert _core.scan(document) == by_python(document)
    tails = [0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0]
    leads = [0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF]
    for length in (2, 3):
        document = b"".join(bytes(mix) + b"." for mix in itertools.product(leads, *[tails] * length))
        assert _core.scan(document) == by_python(document)


def test_truncated_at_the_end() -> None:
    for point in (0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF):
        whole = chr(point).encode()
        for length in range(len(whole)):
            assert _core.scan(whole[:length]) == [byte | ILL_FORMED for byte in whole[:length]]


def plain_first_fit(keys: dict[bytes, int]) -> tuple[list[int], list[int], list[int]]:
    """The double array by trying b = 1, 2, 3 … for state after state, level by level."""
    base, check, values = [0], [-2], [2**32 - 1]
    queue = [(0, b"", sorted(keys))]
    while queue:
        state, prefix, inside = queue.pop(0)
        if prefix in keys:
            values[state] = keys[prefix]
        below = [key for key in inside if key != prefix]
        children = sorted({key[len(prefix)] for key in below})
        if not children:
            continue
        b = 1
        while any(b + child < len(check) and check[b + child] != -1 for child in children):
            b += 1
        grow = b + children[-1] + 1 - len(check)
        if grow > 0:
            base += [-1] * grow
            check += [-1] * grow
            values += [2**32 - 1] * grow
        base[state] = b
        for child in children:
            check[b + child] = state
            base[b + child] = 0
            queue.append((b + child, prefix + bytes([child]), [k for k in below if k[len(prefix)] == child]))
    return base, check, values


def test_the_double_array_is_that_of_plain_first_fit() -> None:
    chance = random.Random(11)
    for count in (0, 1, 50, 800):
        tokens = {bytes([byte]): byte for byte in range(256)}
        while len(tokens) < 256 + count:
            tokens.setdefault(bytes(chance.choices(b"abcde\x00\xff\x80", k=chance.randint(2, 7))), len(tokens))
        encoder = Encoder.from_ranks(tokens, pattern="gpt2")
        base, check, values = (array.tolist() for array in encoder._tables.trie_arrays())
        expected = plain_first_fit(tokens)
        assert values == expected[2]
        assert check[1:] == expected[1][1:]
        assert base == expected[0]


def test_walks_of_the_double_array(
    encoder: Encoder, vocabulary: str, ranks_of: Callable[[str], dict[bytes, int]]
) -> None:
    """Every token is found by t = BASE[s] + c with CHECK[t] == s, and no prefix that is not a token has a value."""
    base, check, values = encoder._tables.trie_arrays()
    ranks = ranks_of(vocabulary)
    chance = random.Random(1)
    for token in chance.sample(sorted(ranks), 3000):
        state = 0
        for depth, byte in enumerate(token, 1):
            step = int(base[state]) + byte
            assert check[step] == state
            state = step
            assert values[state] == ranks.get(token[:depth], 2**32 - 1)
