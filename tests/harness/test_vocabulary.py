"""Vocabularies: the canonical form, pairs from ranks, and when a merge list is the ranks' own."""

from __future__ import annotations

import gzip
from hashlib import sha256
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokassay.harness.alphabet import from_alphabet, to_alphabet
from tokassay.harness.known import vocabulary_folder
from tokassay.harness.load import load_vocabulary
from tokassay.harness.vocabulary import (
    Vocabulary,
    derive_pairs,
    settle_pairs,
    settle_ranks,
    unreachable_by_pairs,
)

BYTES = {bytes([byte]): byte for byte in range(256)}


def plain_ranks(text: bytes, ranks: dict[bytes, int], below: int = 2**40) -> list[bytes]:
    """Merging by ranks, as it is defined: the lowest-ranked neighbouring pair, leftmost first, until there is none."""
    parts = [text[i : i + 1] for i in range(len(text))]
    while True:
        found = [(ranks[a + b], i) for i, (a, b) in enumerate(pairwise(parts)) if a + b in ranks]
        found = [pair for pair in found if pair[0] < below]
        if not found:
            return parts
        _, i = min(found)
        parts = [*parts[:i], parts[i] + parts[i + 1], *parts[i + 2 :]]


def plain_pairs(text: bytes, pairs: tuple[tuple[bytes, bytes], ...]) -> list[bytes]:
    """Merging by a list, as it is defined: the pair listed first, leftmost first."""
    parts = [text[i : i + 1] for i in range(len(text))]
    while True:
        here = list(pairwise(parts))
        listed = [pair for pair in pairs if pair in here]
        if not listed:
            return parts
        i = here.index(listed[0])
        parts = [*parts[:i], parts[i] + parts[i + 1], *parts[i + 2 :]]


words = st.lists(st.text("ab", min_size=2, max_size=6).map(str.encode), min_size=0, max_size=14, unique=True)
texts = st.text("ab", max_size=12).map(str.encode)


def vocabulary_of(listed: list[bytes]) -> dict[bytes, int]:
    return BYTES | {token: 256 + place for place, token in enumerate(listed)}


def test_canonical_form_is_lines_by_id_then_merges_then_specials() -> None:
    vocabulary = Vocabulary({b"ab": 2, b"a": 0, b"b": 1}, ((b"a", b"b"),), {"<é>": 4, "<x>": 3})
    form = b"T 0 61\nT 1 62\nT 2 6162\nM 61 62\nS 3 3c783e\nS 4 3cc3a93e\n"
    assert vocabulary.canonical() == form
    assert vocabulary.digest == sha256(form).hexdigest()
    assert vocabulary.ids() == {0: b"a", 1: b"b", 2: b"ab", 3: b"<x>", 4: "<é>".encode()}


def test_the_order_of_the_mapping_does_not_matter() -> None:
    one = Vocabulary({b"a": 0, b"b": 1}, None, {})
    other = Vocabulary({b"b": 1, b"a": 0}, None, {})
    assert one.digest == other.digest


@given(words)
def test_derivation_is_the_definition(listed: list[bytes]) -> None:
    tokens = vocabulary_of(listed)
    derived = derive_pairs(tokens)
    parts = {token: plain_ranks(token, tokens, below=tokens[token]) for token in listed}
    assert derived.pairs == tuple((p[0], p[1]) for p in parts.values() if len(p) == 2)
    assert derived.exceptions == tuple(token for token, p in parts.items() if len(p) != 2)
    assert derived.unreachable == tuple(t for t in listed if plain_ranks(t, tokens) != [t])


@given(words, texts)
def test_proved_pairs_merge_as_ranks_do(listed: list[bytes], text: bytes) -> None:
    tokens = vocabulary_of(listed)
    derived = derive_pairs(tokens)
    if derived.proved:
        assert plain_pairs(text, derived.pairs) == plain_ranks(text, tokens)


@given(words, texts, st.randoms(use_true_random=False))
def test_a_dropped_merge_list_merges_as_ranks_do(listed: list[bytes], text: bytes, random: object) -> None:
    """All splits of each token in any order within the token, as files converted from ranks list them."""
    tokens = vocabulary_of(listed)
    merges: list[tuple[bytes, bytes]] = []
    for token in listed:
        splits = [(token[:i], token[i:]) for i in range(1, len(token))]
        splits = [pair for pair in splits if pair[0] in tokens and pair[1] in tokens]
        random.shuffle(splits)  # type: ignore[attr-defined]
        merges += splits
    settled = settle_pairs(tokens, tuple(merges), {}, ignore_merges=False)
    if settled.algorithm == "bpe-ranks":
        assert settled.vocabulary.merges is None
        assert plain_pairs(text, tuple(merges)) == plain_ranks(text, tokens)
    else:
        assert settled.vocabulary.merges == tuple(merges)


def test_pairs_whose_ids_do_not_ascend_stay_pairs() -> None:
    tokens = BYTES | {b"ab": 300, b"cd": 299}
    settled = settle_pairs(tokens, ((b"a", b"b"), (b"c", b"d")), {}, ignore_merges=False)
    assert settled.algorithm == "bpe-pairs"
    assert settled.vocabulary.merges == ((b"a", b"b"), (b"c", b"d"))


def test_a_list_without_a_derived_pair_stays_pairs() -> None:
    tokens = BYTES | {b"ab": 256, b"abc": 257}
    settled = settle_pairs(tokens, ((b"a", b"b"),), {}, ignore_merges=True)
    assert settled.algorithm == "bpe-pairs"
    assert settled.ignore_merges
    assert unreachable_by_pairs(tokens, settled.vocabulary.merges or ()) == (b"abc",)


def test_whole_piece_look_up_is_normalized_away_where_all_tokens_re_form() -> None:
    assert not settle_ranks(BYTES | {b"ab": 256, b"abc": 257}, {}).ignore_merges
    # b"abc" has no two parts below its own rank: nothing makes b"ab" or b"bc".
    assert settle_ranks(BYTES | {b"abc": 256}, {}).ignore_merges
    tokens = BYTES | {b"cd": 256, b"ab": 257}
    assert not settle_pairs(tokens, ((b"a", b"b"), (b"c", b"d")), {}, ignore_merges=True).ignore_merges


def test_an_exception_can_still_be_reached_through_a_higher_rank() -> None:
    tokens = BYTES | {b"abc": 256, b"ab": 257}
    derived = derive_pairs(tokens)
    assert derived.exceptions == (b"abc",)
    assert derived.unreachable == ()


def test_the_empty_token_is_passed_over() -> None:
    derived = derive_pairs(BYTES | {b"": 256, b"ab": 257})
    assert derived.pairs == ((b"a", b"b"),)
    assert derived.proved


def test_gpt2_pairs_from_ranks_are_the_merges_as_released() -> None:
    with gzip.open(vocabulary_folder() / "gpt2-vocab.bpe.gz", "rt", encoding="utf-8") as stream:
        released = [line.rstrip("\n").split(" ") for line in stream][1:]
    derived = derive_pairs(load_vocabulary("gpt2").vocabulary.tokens)
    assert [[to_alphabet(left), to_alphabet(right)] for left, right in derived.pairs] == released
    assert derived.exceptions == ()


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base"])
def test_the_embedded_vocabularies_re_form_wholly(name: str) -> None:
    derived = derive_pairs(load_vocabulary(name).vocabulary.tokens)
    assert derived.proved
    assert derived.unreachable == ()


@given(st.binary(max_size=40))
def test_the_byte_alphabet_round_trips(data: bytes) -> None:
    text = to_alphabet(data)
    assert from_alphabet(text) == data
    assert not any(character.isspace() for character in text)


def test_the_byte_alphabet_is_the_published_one() -> None:
    assert to_alphabet(b" \n!~\x7f\xa0\xa1\xad\xff") == "ĠĊ!~ġł¡Ńÿ"
    assert from_alphabet("a b") is None
    assert from_alphabet("｜") is None
