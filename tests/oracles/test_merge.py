"""Merging: the definition by hand, and the two ways of carrying it out equal."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokassay.oracles import greedy, merge
from tokassay.oracles.errors import OracleError

BYTES = {bytes([each]): each for each in range(256)}
SMALL = st.lists(st.sampled_from(list(b"ab")), max_size=300).map(bytes)
VOCABULARY = st.lists(
    st.lists(st.sampled_from(list(b"ab")), min_size=2, max_size=6).map(bytes), unique=True, max_size=24
)


@given(SMALL, VOCABULARY)
def test_linked_is_naive_for_ranks(piece: bytes, tokens: list[bytes]) -> None:
    rank_of = merge.ranks({token: 256 + k for k, token in enumerate(tokens)})
    slow: list[tuple[bytes, bytes, int, int]] = []
    quick: list[tuple[bytes, bytes, int, int]] = []
    expected = merge.naive(piece, rank_of, lambda *each: slow.append(each))
    assert merge.linked(piece, rank_of, lambda *each: quick.append(each)) == expected
    assert quick == slow
    assert b"".join(expected) == piece


@given(SMALL, st.lists(st.tuples(st.sampled_from([b"a", b"b", b"ab", b"aa", b"ba", b"aab"]), st.just(b"")), max_size=0))
def test_pieces_without_merges_stay_bytes(piece: bytes, merges: list[tuple[bytes, bytes]]) -> None:
    assert merge.merge(piece, merge.pairs(merges)) == [piece[at : at + 1] for at in range(len(piece))]


@given(SMALL, st.lists(st.tuples(*[st.sampled_from([b"a", b"b", b"ab", b"aa", b"ba", b"aab"])] * 2), max_size=12))
def test_linked_is_naive_for_pairs(piece: bytes, merges: list[tuple[bytes, bytes]]) -> None:
    rank_of = merge.pairs(merges)
    assert merge.linked(piece, rank_of) == merge.naive(piece, rank_of)


def test_the_lowest_rank_goes_first_then_the_leftmost() -> None:
    rank_of = merge.ranks({b"bc": 1, b"ab": 2, b"aa": 3})
    assert merge.naive(b"abc", rank_of) == [b"a", b"bc"]
    assert merge.naive(b"aaa", rank_of) == [b"aa", b"a"]
    assert merge.naive(b"abab", rank_of) == [b"ab", b"ab"]


def test_a_pair_is_not_a_concatenation() -> None:
    """`bpe-pairs` joins only the two parts that are listed; `bpe-ranks` joins any two that spell the token."""
    tokens = {b"ab": 256, b"bc": 257, b"abc": 258}
    assert merge.naive(b"abc", merge.ranks(tokens)) == [b"abc"]
    assert merge.naive(b"abc", merge.pairs([(b"a", b"b"), (b"b", b"c"), (b"a", b"bc")])) == [b"ab", b"c"]


def test_every_gpt2_token_reforms_either_way(make_ranks: Callable[[str], dict[bytes, int]]) -> None:
    tokens = make_ranks("gpt2")
    rank_of = merge.ranks(tokens)
    for token in list(tokens)[::37]:
        assert merge.naive(token, rank_of) == merge.linked(token, rank_of) == [token]


def test_long_and_short_meet(make_ranks: Callable[[str], dict[bytes, int]]) -> None:
    """The threshold is a border of code, so every length around it is asked, over text with ties and words."""
    rank_of = merge.ranks(make_ranks("gpt2"))
    text = b"internationalizationalityaaaaaaaaaaaaaaaaabababababab" * 4
    for length in (*range(merge.LONG - 2, merge.LONG + 3), 150, 200):
        assert merge.merge(text[:length], rank_of) == merge.naive(text[:length], rank_of)


def test_a_fault_in_the_tie_rule_would_be_seen() -> None:
    """Rightmost instead of leftmost differs already on three letters."""

    def rightmost(piece: bytes, rank_of: merge.RankOf) -> list[bytes]:
        parts = merge.naive(piece[::-1], lambda left, right: rank_of(right[::-1], left[::-1]))
        return [part[::-1] for part in reversed(parts)]

    rank_of = merge.ranks({b"aa": 256})
    assert rightmost(b"aaa", rank_of) == [b"a", b"aa"] != merge.naive(b"aaa", rank_of)


def test_greedy_takes_the_longest_even_where_merging_would_not() -> None:
    tokens = BYTES | {b"ab": 256, b"bcd": 257}
    assert greedy.greedy(b"abcd", tokens) == [b"ab", b"c", b"d"]
    assert merge.naive(b"abcd", merge.ranks(tokens)) == [b"ab", b"c", b"d"]
    assert greedy.greedy(b"abcd", tokens | {b"abc": 258}) == [b"abc", b"d"]


@given(SMALL, VOCABULARY)
def test_greedy_is_the_longest_at_each_place(piece: bytes, extra: list[bytes]) -> None:
    tokens = BYTES | {token: 256 + k for k, token in enumerate(extra)}
    at = 0
    for part in greedy.greedy(piece, tokens):
        assert not any(len(token) > len(part) and piece.startswith(token, at) for token in tokens)
        at += len(part)
    assert at == len(piece)


def test_greedy_without_a_byte_says_which() -> None:
    with pytest.raises(OracleError, match="62"):
        greedy.greedy(b"ab", {b"a": 0})


def test_all_short_words_over_two_letters() -> None:
    """Exhaustive where it is small: every word up to 9 letters, one vocabulary with crossing merges."""
    rank_of = merge.ranks({b"ab": 256, b"ba": 257, b"aba": 258, b"bab": 259, b"abab": 260, b"aa": 261})
    for length in range(10):
        for letters in product(b"ab", repeat=length):
            piece = bytes(letters)
            assert merge.linked(piece, rank_of) == merge.naive(piece, rank_of)
