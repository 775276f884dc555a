"""The oracle against the published engines, where they accept the input: random text, every vocabulary."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tokassay.oracles import merge
from tokassay.oracles.bytepolicy import ALPHABET
from tokassay.oracles.oracle import Oracle
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

VOCABULARIES = ("gpt2", "cl100k_base", "o200k_base")

WORDS = ["'s", "'S", "'ll", " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u0085", "123", "/", "Word", "WORD"]
WORDS += ["e\u0301", "春眠", "नमस्ते", "!?", "...", "😀", "\u200d", "'\u017f", "<|endoftext|>", "\x00", "\ufeff", "ß"]
TEXT = st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=6)), max_size=14).map(
    lambda parts: "".join(parts).encode("utf-8", "ignore").decode()
)


@given(TEXT, st.sampled_from(VOCABULARIES))
@settings(max_examples=400)
def test_tiktoken_on_text(
    make_oracle: Callable[..., Oracle], make_tiktoken: Callable[[str], tiktoken.Encoding], text: str, vocabulary: str
) -> None:
    oracle = make_oracle(vocabulary)
    ids = oracle.encode(text.encode())
    assert ids == make_tiktoken(vocabulary).encode_ordinary(text)
    assert oracle.decode(ids) == text.encode()
    spans = oracle.spans(text.encode())
    assert [text.encode()[start:end] for start, end in spans] == [oracle.decode([each]) for each in ids]


@given(TEXT, st.sampled_from(VOCABULARIES))
def test_tiktoken_with_specials(
    make_oracle: Callable[..., Oracle], make_tiktoken: Callable[[str], tiktoken.Encoding], text: str, vocabulary: str
) -> None:
    ids = make_tiktoken(vocabulary).encode(text, allowed_special="all")
    assert make_oracle(vocabulary, specials="on").encode(text.encode()) == ids


@given(st.sampled_from(VOCABULARIES), st.integers(0, 2**32), st.integers(1, 30))
def test_tiktoken_on_joined_tokens(
    make_oracle: Callable[..., Oracle],
    make_tiktoken: Callable[[str], tiktoken.Encoding],
    make_ranks: Callable[[str], dict[bytes, int]],
    vocabulary: str,
    seed: int,
    count: int,
) -> None:
    """Tokens of the vocabulary end to end: the cheapest way to stand on merge borders."""
    tokens = _tokens(make_ranks, vocabulary)
    text = b"".join(random.Random(seed).choices(tokens, k=count)).decode("utf-8", "replace")
    assert make_oracle(vocabulary).encode(text.encode()) == make_tiktoken(vocabulary).encode_ordinary(text)


_TOKENS: dict[str, list[bytes]] = {}


def _tokens(make_ranks: Callable[[str], dict[bytes, int]], vocabulary: str) -> list[bytes]:
    return _TOKENS.setdefault(vocabulary, list(make_ranks(vocabulary)))


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_tiktoken_on_lengths(
    vocabulary: str, make_oracle: Callable[..., Oracle], make_tiktoken: Callable[[str], tiktoken.Encoding]
) -> None:
    """One piece of each length to 300, then around powers of two: the border between two ways of merging."""
    oracle, engine = make_oracle(vocabulary), make_tiktoken(vocabulary)
    for length in (*range(1, 301), *(2**power + more for power in range(9, 14) for more in (-1, 0, 1))):
        for letters in ("a", "the", "internationalization"):
            text = (letters * length)[:length]
            assert oracle.encode(text.encode()) == engine.encode_ordinary(text), (letters, length)


# ---- Hugging Face's tokenizers: a merge list made by the test, by merging each token with lower ranks only


@cache
def _characters(token: bytes) -> str:
    return "".join(ALPHABET[byte] for byte in token)


def pairs_of(tokens: dict[bytes, int]) -> list[tuple[bytes, bytes]]:
    """The two parts of each token of two bytes or more, in rank order."""
    pairs = []
    for token, rank in sorted(tokens.items(), key=lambda item: item[1]):
        if len(token) > 1:
            lower = merge.naive(token, lambda left, right, rank=rank: _below(tokens, left + right, rank))
            assert len(lower) == 2
            pairs.append((lower[0], lower[1]))
    return pairs


def _below(tokens: dict[bytes, int], token: bytes, rank: int) -> int | None:
    found = tokens.get(token)
    return found if found is not None and found < rank else None


@pytest.fixture(scope="module")
def gpt2_pairs(make_ranks: Callable[[str], dict[bytes, int]]) -> list[tuple[bytes, bytes]]:
    return pairs_of(make_ranks("gpt2"))


def hugging_face(
    tokens: dict[bytes, int], pairs: list[tuple[bytes, bytes]], *, published: str | None, prefix: bool = False
) -> Tokenizer:
    """A byte-level BPE Tokenizer: with ByteLevel's own scanner if `published` is None, otherwise by that pattern."""
    model = models.BPE(
        vocab={_characters(token): rank for token, rank in tokens.items()},
        merges=[(_characters(left), _characters(right)) for left, right in pairs],
    )
    tokenizer = Tokenizer(model)
    level = pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=published is None)
    tokenizer.pre_tokenizer = (
        level
        if published is None
        else pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(published), "isolated"), level])
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


@pytest.fixture(scope="module")
def gpt2_tokenizers(
    make_ranks: Callable[[str], dict[bytes, int]],
    make_contract: Callable[..., dict[str, Any]],
    gpt2_pairs: list[tuple[bytes, bytes]],
) -> dict[str, Tokenizer]:
    tokens = make_ranks("gpt2")
    return {
        "scanner": hugging_face(tokens, gpt2_pairs, published=None),
        "pattern": hugging_face(tokens, gpt2_pairs, published=make_contract("gpt2")["pretokenizer"][0]),
        "prefix": hugging_face(tokens, gpt2_pairs, published=None, prefix=True),
    }


@given(TEXT)
def test_tokenizers_on_text(
    make_oracle: Callable[..., Oracle], gpt2_tokenizers: dict[str, Tokenizer], text: str
) -> None:
    ids = make_oracle("gpt2").encode(text.encode())
    assert gpt2_tokenizers["scanner"].encode(text).ids == ids
    assert gpt2_tokenizers["pattern"].encode(text).ids == ids


@given(TEXT)
def test_tokenizers_with_a_prefix_space(
    make_oracle: Callable[..., Oracle], gpt2_tokenizers: dict[str, Tokenizer], text: str
) -> None:
    oracle = make_oracle("gpt2", add_prefix_space=True)
    assert oracle.encode(text.encode()) == gpt2_tokenizers["prefix"].encode(text).ids
    spans = oracle.spans(text.encode())
    assert len(spans) == len(oracle.encode(text.encode()))
    if text:
        assert (spans[0][0], spans[-1][1]) == (0, len(text.encode()))


@given(TEXT)
def test_pairs_and_ranks_are_one_contract_for_gpt2(
    make_oracle: Callable[..., Oracle],
    make_contract: Callable[..., dict[str, Any]],
    make_ranks: Callable[[str], dict[bytes, int]],
    gpt2_pairs: list[tuple[bytes, bytes]],
    text: str,
) -> None:
    if "pairs" not in _PAIRS:
        _PAIRS["pairs"] = Oracle(make_contract("gpt2", algorithm="bpe-pairs"), make_ranks("gpt2"), gpt2_pairs)
    assert _PAIRS["pairs"].encode(text.encode()) == make_oracle("gpt2").encode(text.encode())


_PAIRS: dict[str, Oracle] = {}
