"""Loading: what a vocabulary may be, and that every wrong one is named with its place and a remedy."""

from __future__ import annotations

import os
import random
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from tokassay.engines.dat_bpe import Encoder, LoadError

BYTES = {bytes([byte]): byte for byte in range(256)}
PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def rank_file(folder: Path, ranks: dict[bytes, int]) -> Path:
    path = folder / "own.tiktoken"
    path.write_bytes(b"".join(b64encode(token) + b" %d\n" % rank for token, rank in ranks.items()))
    return path


def test_a_rank_file_by_path(tmp_path: Path) -> None:
    path = rank_file(tmp_path, BYTES | {b"ab": 256, b"abc": 257})
    encoder = Encoder.load(path, pattern="gpt2")
    assert encoder.encode(b"abcab c").tolist() == [257, 256, 32, 99]
    assert Encoder.load(str(path), pattern=PATTERN).encode(b"abc").tolist() == [257]


def test_aliases() -> None:
    for alias, name in (("r50k_base", "gpt2"), ("cl100k", "cl100k_base"), ("o200k", "o200k_base")):
        assert Encoder.load(alias).name == name
    harmony = Encoder.load("o200k_harmony")
    assert (harmony.n_vocab, len(harmony.specials)) == (201088, 1091)
    assert harmony.encode("<|start|>system<|message|>", specials=True).tolist()[::2] == [200006, 200008]


def test_two_special_texts_with_one_id() -> None:
    """o200k_harmony gives 200018 to two: both are matched, each covers its own bytes, the first named is decoded."""
    encoder = Encoder.load("o200k_harmony")
    ids, spans = encoder.encode_spans(b"<|reserved_200018|><|endofprompt|>a", specials=True)
    assert ids.tolist() == [200018, 200018, encoder.token_id(b"a")]
    assert spans.tolist() == [[0, 19], [19, 34], [34, 35]]
    assert encoder.decode(ids) == b"<|endofprompt|><|endofprompt|>a"


def test_a_path_needs_a_pattern(tmp_path: Path) -> None:
    path = rank_file(tmp_path, BYTES)
    with pytest.raises(LoadError) as caught:
        Encoder.load(path)
    assert caught.value.where == str(path)
    assert "pattern=" in caught.value.remedy
    with pytest.raises(ValueError, match="no special tokens were given"):
        Encoder.load(path, pattern="gpt2").encode(b"a", specials=True)


@pytest.mark.parametrize(
    ("content", "message", "line"),
    [
        (b"", "no ranks", ""),
        (b"\n\n", "no ranks", ""),
        (b"YQ== 0\nYg==", "not a `base64 rank` line", ":2"),
        (b"YQ== 0\nY! 1\n", "not a `base64 rank` line", ":2"),
        (b"YQ== zero\n", "not a `base64 rank` line", ":1"),
        (b"YQ== -1\n", "outside", ":1"),
        (b"YQ== 4294967295\n", "outside", ":1"),
        (b"YQ== 99999999999999999999\n", "outside", ":1"),
        (b"YQ== 0\nYQ== 1\n", "a second id", ":2"),
        (b"YQ== 0\nYg== 0\n", "two tokens|has no token", ""),
        (b"YQ== 0\n", "byte 00 has no token", ""),
        (bytes(range(256)), "not a `base64 rank` line", ":"),
    ],
)
def test_wrong_files(tmp_path: Path, content: bytes, message: str, line: str) -> None:
    path = tmp_path / "wrong.tiktoken"
    path.write_bytes(content)
    with pytest.raises(LoadError, match=message) as caught:
        Encoder.load(path, pattern="gpt2")
    assert caught.value.where.startswith(f"{path}{line}")
    assert caught.value.remedy


def test_two_tokens_with_one_id() -> None:
    with pytest.raises(LoadError, match="two tokens"):
        Encoder.from_ranks(BYTES | {b"ab": 7}, pattern="gpt2")


@pytest.mark.parametrize(
    ("token", "number", "message"),
    [
        (b"ab", 2**32 - 1, "outside"),
        (b"ab", 2**32, "outside"),
        (b"ab", -1, "outside"),
        (b"ab", 2**80, "outside"),
        (b"ab", 300.5, "not an integer"),
        (b"ab", "300", "not an integer"),
        (b"ab", None, "not an integer"),
        (b"ab", True, "not an integer"),
        ("ab", 300, "not bytes"),
    ],
)
def test_wrong_ranks_in_memory(token: Any, number: Any, message: str) -> None:
    """2**32 - 1 ends a row of the cache: taken as an id, it was left out of the second encoding of a piece."""
    with pytest.raises(LoadError, match=message):
        Encoder.from_ranks(BYTES | {token: number}, pattern="gpt2")


def test_tokens_of_any_length() -> None:
    chance = random.Random(3)
    same, mixed = b"a" * 70_000, bytes(chance.choices(range(97, 123), k=70_000))
    encoder = Encoder.from_ranks(BYTES | {same: 256, mixed: 257}, pattern="gpt2", specials={"x" * 70_000: 300})
    assert encoder.encode(same).tolist() == [256]
    assert encoder.encode(mixed + b" " + same).tolist() == [257, 32, *[97] * 70_000]
    assert encoder.encode(b"x" * 100_000, specials=True).tolist() == [300, *[120] * 30_000]


def test_wrong_arguments(tmp_path: Path) -> None:
    for call, message in (
        (lambda: Encoder.load("gpt3"), "no such encoding"),
        (lambda: Encoder.load(tmp_path / "absent.tiktoken", pattern="gpt2"), "No such file"),
        (lambda: Encoder.load(tmp_path, pattern="gpt2"), "directory"),
        (lambda: Encoder.load("gpt2", unicode="9.0"), "no tables of Unicode"),
        (lambda: Encoder.load("gpt2", pattern=r"\w+"), r"pattern construct \\w is not supported"),
        (lambda: Encoder.load("gpt2", cache_bits=40), "cache_bits 40; use 0 to 24"),
        (lambda: Encoder.load("gpt2", cache_bits="8"), "cache_bits '8'"),  # type: ignore[arg-type]
        (lambda: Encoder.load("gpt2", cache_bits=1.5), "cache_bits 1.5"),  # type: ignore[arg-type]
        (lambda: Encoder.load("gpt2", cache_bits=True), "cache_bits True"),
        (lambda: Encoder.load("gpt2", cache_bits=None), "cache_bits None"),  # type: ignore[arg-type]
        (lambda: Encoder.load("gpt2", without=5), "without 5; use some of cache"),  # type: ignore[arg-type]
        (lambda: Encoder.load("gpt2", without=[1, "cache"]), "without 1"),  # type: ignore[list-item]
        (lambda: Encoder.load("gpt2", without=[[]]), "without "),  # type: ignore[list-item]
        (lambda: Encoder.load("gpt2", specials=["<x>"]), "specials: a list"),  # type: ignore[arg-type]
        (lambda: Encoder.load("gpt2", pattern=5), "pattern 5"),  # type: ignore[arg-type]
        (lambda: Encoder.load("gpt2", pattern=b"gpt2"), "pattern b'gpt2'"),  # type: ignore[arg-type]
        (lambda: Encoder.from_ranks(BYTES, pattern=["a", 5]), r"pattern \['a', 5\]"),  # type: ignore[list-item]
        (lambda: Encoder.from_ranks([b"a"], pattern="gpt2"), "ranks: a list"),  # type: ignore[arg-type]
        (lambda: Encoder.from_ranks(BYTES, pattern="gpt2", added=["<a>"]), r"added\[0\] is '<a>'"),  # type: ignore[list-item]
        (lambda: Encoder.from_ranks(BYTES, pattern="gpt2", name=5), "name 5"),  # type: ignore[arg-type]
        (lambda: Encoder.load("gpt2", specials={"": 60000}), "no text"),
        (lambda: Encoder.load("gpt2", specials={"<x>": 3}), "that of an ordinary token"),
        (lambda: Encoder.load("gpt2", specials={"<x>": 2**32}), "outside"),
        (lambda: Encoder.load("gpt2", specials={"<x>": 6e4}), "not an integer"),
        (lambda: Encoder.load("gpt2", specials={"<x>": None}), "not an integer"),
        (lambda: Encoder.load("gpt2", specials={b"<x>": 60000}), "not a str"),
        (lambda: Encoder.load("gpt2", specials={"\ud800": 60000}), "lone surrogate"),
        (lambda: Encoder.load("/tmp/a\0b", pattern="gpt2"), "null byte"),
    ):
        with pytest.raises(LoadError, match=message):
            call()


@pytest.mark.parametrize("name", ["pipe", "pipe.json"])
def test_a_pipe_is_refused(tmp_path: Path, name: str) -> None:
    """Whoever reads one waits until somebody writes into it."""
    os.mkfifo(tmp_path / name)
    with pytest.raises(LoadError, match="no regular file"):
        Encoder.load(tmp_path / name, pattern=None if name.endswith(".json") else "gpt2")


def test_gaps_and_large_ids() -> None:
    """Ids need not be dense: p50k has a gap, and 32 bits are enough for any."""
    top = 2**32 - 2
    ranks = BYTES | {b"ab": 1000, b"cd": 3_000_000_000, b"abcd": top}
    encoder = Encoder.from_ranks(ranks, pattern="gpt2", specials={"<s>": 500})
    assert encoder.encode(b"abcd ab cd<s>", specials=True).tolist() == [top, 32, 1000, 32, 3_000_000_000, 500]
    assert encoder.decode([top, 500, 1000, 97]) == b"abcd<s>aba"
    assert encoder.n_vocab == 2**32 - 1
    for absent in (256, 999, 1001, 501):
        with pytest.raises(ValueError, match=f"id {absent} at index 0"):
            encoder.decode([absent])


def test_unreachable_tokens_and_whole_piece_look_up() -> None:
    """`xyz` cannot be made by merging (neither `xy` nor `yz` is a token): looked up whole or not at all."""
    ranks = BYTES | {b"xyz": 256}
    assert Encoder.from_ranks(ranks, pattern="gpt2").encode(b"xyz xyz").tolist() == [256, 32, 120, 121, 122]
    merged = Encoder.from_ranks(ranks, pattern="gpt2", ignore_merges=False)
    assert (merged.unreachable, merged.unreachable_ids()) == (1, [256])
    assert merged.encode(b"xyz").tolist() == [120, 121, 122]
    assert Encoder.from_ranks(ranks, pattern="gpt2").unreachable == 1


def test_an_empty_token_is_decoded_and_never_given() -> None:
    encoder = Encoder.from_ranks(BYTES | {b"": 256, b"aa": 257}, pattern="gpt2")
    assert encoder.encode(b"aaa").tolist() == [257, 97]
    assert encoder.decode([97, 256, 98]) == b"ab"


def test_random_vocabularies_equal_tiktoken() -> None:
    """Ranks in no sensible order: merges that fall back, unreachable tokens, ties of position."""
    chance = random.Random(5)
    for _ in range(60):
        tokens = {bytes(chance.choices(b"ab c", k=chance.randint(2, 5))) for _ in range(chance.randint(1, 60))}
        order = [*BYTES, *sorted(tokens)]
        chance.shuffle(order)
        ranks = {token: rank for rank, token in enumerate(order)}
        reference = tiktoken.Encoding("random", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
        encoder = Encoder.from_ranks(ranks, pattern="gpt2")
        for length in (*range(1, 40), 60, 200, 700):
            text = "".join(chance.choices("ab c", weights=[8, 8, 1, 4], k=length))
            assert encoder.encode(text).tolist() == reference.encode_ordinary(text), (ranks, text)
