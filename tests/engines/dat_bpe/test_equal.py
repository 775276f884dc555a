"""Equal to tiktoken on text, and to the published expressions on every mixture of characters and bytes."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from functools import cache

import numpy
import pytest
import regex
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tokassay.engines.dat_bpe import Encoder

# The parts that the patterns tell apart, to be met more often than chance would.
PARTS = [
    *"aAbsSlLe1٣Ⅷ²漢あʰǅßжİ ", "'", "'s", "'S", "'\u017f", "'ll", "'LL", "'rE", "’s", "\t", "\n", "\r", "\r\n",
    "\u00a0", "\u3000", "\u0085", "\u2028", "\u0301", "\u0903", "\u20dd", "/", "//", ".", "!?", "$", "🙂", "\u200d",
    "\0", "  ", "\ue000", "don't", "I'M", "HTTPServer", "camelCase", "1234567", "   \n  ", " /\n",
]
texts = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60),
    st.lists(st.sampled_from(PARTS), max_size=25).map("".join),
)
ASSIGNED_IN_16 = "\U00016d40\U00010d4a\u1c89"

# One a class and a role, and every kind of byte that starts no character: 49 kinds, 117,649 triples.
KINDS = [
    *(each.encode() for each in "aAslerǅʰ漢\u0301\u0903\u20dd1٣Ⅷ² \t\n\r\u00a0\u3000\u0085\u2028'’\u017f./🙂$\0"),
    "\u200b".encode(), "\ue000".encode(), "\u0378".encode(), "\U0001d400".encode(),
    *(bytes([byte]) for byte in (0x80, 0x85, 0xA0, 0xAB, 0xAD, 0xB2, 0xBF, 0xC3, 0xD7, 0xE2, 0xED, 0xF0, 0xF7, 0xFF)),
]


def byte_alphabet() -> dict[int, str]:
    """GPT-2's bytes_to_unicode: printing Latin-1 for itself, the rest from U+0100 on."""
    keep = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in keep]
    return {byte: chr(byte) for byte in keep} | {byte: chr(0x100 + i) for i, byte in enumerate(rest)}


ALPHABET = byte_alphabet()
# `regex` ships tables of its own, which are wrong on unassigned points of plane 3 (U+3F805 is a letter there).
# Bytes that happen to form a character that was not meant are therefore drawn again.
MEANT = {*"".join(ALPHABET.values()), *"".join(kind.decode("utf-8", "ignore") for kind in KINDS)}


def characters(document: bytes) -> tuple[str, list[int]]:
    """The text that the pattern sees and the width of each character, by Python's own strict decoder."""
    text, widths, at = [], [], 0
    while at < len(document):
        for width in (1, 2, 3, 4):
            try:
                text.append(document[at : at + width].decode())
            except UnicodeDecodeError:
                continue
            break
        else:
            text.append(ALPHABET[document[at]])
            width = 1
        widths.append(width)
        at += width
    return "".join(text), widths


def mixtures(seed: object, count: int, least: int, most: int) -> list[bytes]:
    chance = random.Random(repr(seed))
    made: list[bytes] = []
    while len(made) < count:
        document = b"".join(chance.choices(KINDS, k=chance.randint(least, most)))
        if MEANT.issuperset(characters(document)[0]):
            made.append(document)
    return made


def expected_ends(pattern: regex.Pattern[str], document: bytes) -> list[int]:
    text, widths = characters(document)
    byte_at = [0, *itertools.accumulate(widths)]
    ends = [byte_at[match.end()] for match in pattern.finditer(text)]
    assert ends[-1:] == [len(document)][: len(ends)]
    return ends


@given(text=texts)
def test_equal_to_tiktoken(
    encoder_of: Callable[[str], Encoder], reference: tiktoken.Encoding, vocabulary: str, text: str
) -> None:
    assert encoder_of(vocabulary).encode(text).tolist() == reference.encode_ordinary(text)


@given(text=st.lists(st.sampled_from([*PARTS, "<|endoftext|>", "<|endoftext", "|>"]), max_size=20).map("".join))
def test_equal_to_tiktoken_with_special_tokens(encoder: Encoder, reference: tiktoken.Encoding, text: str) -> None:
    assert encoder.encode(text, specials=True).tolist() == reference.encode(text, allowed_special="all")


@given(document=st.one_of(st.binary(max_size=80), st.lists(st.sampled_from(KINDS), max_size=40).map(b"".join)))
def test_any_bytes(encoder: Encoder, document: bytes) -> None:
    """Round trip, spans that cover the document, and the batch, the cacheless and the trace build of one mind."""
    ids, spans = encoder.encode_spans(document)
    assert encoder.decode(ids) == document
    assert [document[a:b] for a, b in spans.tolist()] == [encoder.token_bytes(i) for i in ids.tolist()]
    assert spans.ravel().tolist()[:1] == [0][: len(ids)]
    assert encoder.encode_batch([document])[0].tolist() == ids.tolist()
    assert encoder.trace_ids(document)[0].tolist() == ids.tolist()


@pytest.mark.parametrize("text", ["c7 85 c3 bf a0", "27 c5 bf a0", "61 c3 bf a0 80", "d0 94 bf a0", "c3 bf bf a0"])
def test_a_continuation_byte_behind_a_whole_character(encoder_of: Callable[[str], Encoder], text: str) -> None:
    """o200k has the token BF A0, of a lower rank than C3 BF: a character may not be joined before its neighbours are
    seen. The trace build takes no short cut."""
    document = bytes.fromhex(text)
    for name in ("gpt2", "cl100k_base", "o200k_base"):
        encoder = encoder_of(name)
        assert encoder.encode(document).tolist() == encoder.trace_ids(document)[0].tolist()


def test_every_triple_of_kinds(
    encoder: Encoder, reference: tiktoken.Encoding, pattern: str, vocabulary: str
) -> None:
    """Pieces by the published expression over the byte alphabet, ids by tiktoken's merging of those pieces."""
    compiled = regex.compile(pattern, regex.VERSION1)
    piece_ids = cache(reference._encode_single_piece)
    documents = [b"".join(triple) for triple in itertools.product(KINDS, repeat=3)]
    values, offsets = encoder.encode_batch(documents)
    flat, cuts = values.tolist(), offsets.tolist()
    for i, document in enumerate(documents):
        ends = expected_ends(compiled, document)
        assert [end for _, end in encoder.pretokens(document)] == ends, document
        starts = [0, *ends[:-1]]
        ids = [one for a, b in zip(starts, ends, strict=True) for one in piece_ids(document[a:b])]
        assert flat[cuts[i] : cuts[i + 1]] == ids, document


def test_longer_mixtures(encoder: Encoder, pattern: str) -> None:
    """As above on 4 to 40 kinds, where backtracking and look-ahead have more room."""
    compiled = regex.compile(pattern, regex.VERSION1)
    for document in mixtures(0, 20_000, 4, 40):
        assert [end for _, end in encoder.pretokens(document)] == expected_ends(compiled, document), document


def test_every_code_point_in_five_places(encoder: Encoder, reference: tiktoken.Encoding) -> None:
    """tiktoken's tables are those of Unicode 16.0. Planes of one category, unassigned or private, give samples."""
    for start in range(0, 0x110000, 4096):
        empty = 0x32000 < start < 0xE0000 or start >= 0xF0000
        inside = range(start, start + 4096, 997 if empty else 1)
        points = [chr(point) for point in inside if not 0xD800 <= point < 0xE000]
        text = "".join(f"a{point}1{point} {point}.{point}\nB{point}'s" for point in points)
        expected = numpy.array(reference.encode_ordinary(text), numpy.uint32)
        assert numpy.array_equal(encoder.encode(text), expected), f"U+{start:04X}"


def test_letters_of_unicode_16_are_letters_only_from_then_on(ranks_of: Callable[[str], dict[bytes, int]]) -> None:
    """Unassigned before, and then no letters: " x" and "x" are cut apart by the older tables."""
    for version, joined in (("15.0", False), ("15.1", False), ("16.0", True), ("17.0", True)):
        encoder = Encoder.from_ranks(ranks_of("gpt2"), pattern="gpt2", unicode=version)
        for letter in ASSIGNED_IN_16:
            assert (len(encoder.pretokens(f"a{letter}")) == 1) is joined, (version, letter)


OTHERS = {
    "cl100k-trailing": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++\Z|\s*[\r\n]|"
        r"\s+(?!\S)|\s"
    ),
    "qwen2": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
        r"\s+(?!\S)|\s+"
    ),
    "qwen3.5": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|"
        r"\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "tekken": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}|"
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}


@pytest.mark.parametrize("name", list(OTHERS))
def test_the_other_machines(ranks_of: Callable[[str], dict[bytes, int]], name: str) -> None:
    compiled = regex.compile(OTHERS[name], regex.VERSION1)
    encoder = Encoder.from_ranks(ranks_of("gpt2"), pattern=name)
    documents = [b"".join(pair) for pair in itertools.product(KINDS, repeat=2)]
    documents += mixtures(name, 10_000, 3, 30)
    for document in documents:
        assert [end for _, end in encoder.pretokens(document)] == expected_ends(compiled, document), document
