"""Cuts inside of pieces: a part is merged, and only a whole piece may be a token that merging does not reach."""

from __future__ import annotations

import random

import pytest
import tiktoken
from tokassay.engines.dat_bpe import Encoder

CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# No two of their bytes merge: tokens by look-up alone. The second has more bytes than a key of the short cache.
UNREACHABLE = ("中", "д" * 9)
REACHABLE = ("ı", "é")


@pytest.fixture(scope="module")
def ranks() -> dict[bytes, int]:
    tokens = [bytes([byte]) for byte in range(256)] + [text.encode() for text in (*REACHABLE, *UNREACHABLE)]
    return {token: number for number, token in enumerate(tokens)}


@pytest.fixture(scope="module")
def reference(ranks: dict[bytes, int]) -> tiktoken.Encoding:
    """tiktoken looks a whole piece up before it merges, too."""
    return tiktoken.Encoding("small", pat_str=CL100K, mergeable_ranks=ranks, special_tokens={})


def texts() -> list[str]:
    chance = random.Random(0)
    parts = [*UNREACHABLE, *REACHABLE, "a", " ", "\n", "文", "д", "1", "!"]
    return ["".join(chance.choices(parts, k=chance.randint(1, 12))) for _ in range(4000)]


@pytest.mark.parametrize("level", ["scalar", None])
@pytest.mark.parametrize("without", [(), ("cuts",), ("words",), ("cache", "wide")])
def test_parts_and_whole_pieces(
    ranks: dict[bytes, int], reference: tiktoken.Encoding, level: str | None, without: tuple[str, ...]
) -> None:
    """In an order in which what one text leaves in the cache would change the next."""
    encoder = Encoder.from_ranks(ranks, pattern="cl100k", level=level, without=without)
    assert sorted(encoder.unreachable_ids()) == [258, 259]
    documents = texts()
    expected = [reference.encode_ordinary(text) for text in documents]
    assert [encoder.encode_list(text) for text in documents] == expected
    assert encoder.encode_batch_lists(documents, threads=2) == expected
    joined = "".join(documents)
    assert encoder.encode_list(joined) == reference.encode_ordinary(joined)


def test_a_part_is_not_the_token_that_a_whole_piece_is(ranks: dict[bytes, int]) -> None:
    encoder = Encoder.from_ranks(ranks, pattern="cl100k")
    for _ in range(2):
        assert encoder.encode_list("中") == [258]
        assert encoder.encode_list("a中") == [97, *"中".encode()]


def test_fifteen_bytes_of_ff_are_not_longer_ones() -> None:
    """A longer piece has no key in the cache of short ones: not that of its first 15 bytes either."""
    encoder = Encoder.load("gpt2")
    fresh = Encoder.load("gpt2", without=("cache", "wide"))
    for size in (15, 16, 15, 31, 32, 15):
        assert encoder.encode_list(b"\xff" * size) == fresh.encode_list(b"\xff" * size)
