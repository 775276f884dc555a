"""Merge lists: against the oracle, written from the definition, and against tokenizers."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokassay.engines.dat_bpe import Encoder, LoadError
from tokassay.oracles import merge
from tokenizers import Tokenizer, models, pre_tokenizers

BYTES = {bytes([byte]): byte for byte in range(256)}
Pair = tuple[bytes, bytes]


def vocabulary(chance: random.Random, letters: bytes, count: int) -> tuple[dict[bytes, int], list[Pair]]:
    """Tokens and a merge list whose order is not that of the ids; now and then a second split or a repeated pair."""
    tokens = [bytes([letter]) for letter in letters]
    merges: list[Pair] = []
    for _ in range(count):
        left, right = chance.choice(tokens), chance.choice(tokens)
        if len(left + right) <= 12:
            merges.append((left, right))
            if left + right not in tokens:
                tokens.append(left + right)
    for token in tokens:
        for cut in range(1, len(token)):
            if token[:cut] in tokens and token[cut:] in tokens and chance.random() < 0.3:
                merges.append((token[:cut], token[cut:]))
    made = [token for token in tokens if len(token) > 1]
    if chance.random() < 0.5:
        chance.shuffle(merges)  # a part may then be made after what it is a part of
    chance.shuffle(made)
    return BYTES | {token: 256 + place for place, token in enumerate(made)}, merges


def expected(document: bytes, tokens: dict[bytes, int], merges: list[Pair], whole: bool) -> list[int]:
    """The definition, piece by piece: pieces are runs of spaces and runs of other bytes."""
    ids: list[int] = []
    at = 0
    while at < len(document):
        end = at
        while end < len(document) and (document[end] == 32) == (document[at] == 32):
            end += 1
        piece = document[at:end]
        parts = [piece] if whole and piece in tokens else merge.naive(piece, merge.pairs(merges))
        ids += [tokens[part] for part in parts]
        at = end
    return ids


SPACES = r" +|[^ ]+"


@settings(deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from([b"ab", b"abc", b"abcdefgh "]))
def test_as_the_definition_has_it(seed: int, whole: bool, letters: bytes) -> None:
    chance = random.Random(seed)
    tokens, merges = vocabulary(chance, letters, chance.randint(0, 40))
    encoder = Encoder.from_pairs(tokens, merges, pattern=[SPACES], ignore_merges=whole)
    for length in (1, 5, 30, 47, 48, 49, 150, 400):
        document = bytes(chance.choices(letters + b" ", k=length))
        wanted = expected(document, tokens, merges, whole)
        assert encoder.encode(document).tolist() == wanted
        assert encoder.decode(wanted) == document
    unreachable = {token for token in tokens if len(merge.naive(token, merge.pairs(merges))) > 1}
    assert {encoder.token_bytes(number) for number in encoder.unreachable_ids()} == unreachable
    assert encoder.unreachable == len(unreachable)


def names_of(token: bytes) -> str:
    keep = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in keep]
    return "".join(chr(byte if byte in keep else 0x100 + rest.index(byte)) for byte in token)


@pytest.mark.parametrize("whole", [False, True])
def test_as_tokenizers_has_it(whole: bool) -> None:
    chance = random.Random(8)
    for _ in range(40):
        tokens, merges = vocabulary(chance, b"abcd ", 30)
        merges += chance.choices(merges, k=2) if merges else []  # twice in the list: the last place counts
        model: Any = models.BPE(
            vocab={names_of(token): number for token, number in tokens.items()},
            merges=[(names_of(left), names_of(right)) for left, right in merges], ignore_merges=whole,
        )
        theirs = Tokenizer(model)
        theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # type: ignore[assignment]
        ours = Encoder.from_pairs(tokens, merges, pattern="gpt2", ignore_merges=whole)
        for _ in range(20):
            text = "".join(chance.choices("abcd ", k=chance.randint(0, 200)))
            assert ours.encode(text).tolist() == theirs.encode(text).ids


def test_the_last_place_of_a_pair_counts() -> None:
    """As GPT-2's own code and tokenizers have it: both put the list into a table."""
    tokens = BYTES | {b"ab": 256, b"bc": 257}
    once = [(b"a", b"b"), (b"b", b"c")]
    assert Encoder.from_pairs(tokens, once, pattern="gpt2").encode(b"abc").tolist() == [256, 99]
    assert Encoder.from_pairs(tokens, [*once, once[0]], pattern="gpt2").encode(b"abc").tolist() == [97, 257]


def test_priority_is_the_lists_and_not_the_ids() -> None:
    tokens = BYTES | {b"ab": 300, b"bc": 299}
    encoder = Encoder.from_pairs(tokens, [(b"a", b"b"), (b"b", b"c")], pattern="gpt2")
    assert encoder.encode(b"abc bc").tolist() == [300, 99, 32, 299]
    assert Encoder.from_ranks(tokens, pattern="gpt2").encode(b"abc").tolist() == [97, 299]


def test_tokens_without_a_merge() -> None:
    """They are decoded, and encoded only where whole pieces are looked up."""
    tokens = BYTES | {b"xyz": 256}
    plain = Encoder.from_pairs(tokens, [], pattern="gpt2")
    assert plain.encode(b"xyz").tolist() == [120, 121, 122]
    assert (plain.unreachable, plain.unreachable_ids(), plain.decode([256])) == (1, [256], b"xyz")
    assert Encoder.from_pairs(tokens, [], pattern="gpt2", ignore_merges=True).encode(b"xyz").tolist() == [256]


@pytest.mark.parametrize(
    ("tokens", "merges", "words"),
    [
        (BYTES, [(b"a", b"b")], r"merges\[0\]: b'ab' is no token"),
        (BYTES | {b"ab": 256}, [(b"a", b"b"), (b"ab", b"zz")], r"merges\[1\]: b'zz' is no token"),
        (BYTES, [(b"", b"b")], r"merges\[0\]: .*no"),
        (BYTES, ["a b"], r"merges\[0\]: 'a b' is no pair"),
        (BYTES, [5], r"merges\[0\]: 5 is no pair"),
        ({token: number for token, number in BYTES.items() if token != b"\x07"}, [], "byte 07 has no token"),
    ],
)
def test_what_a_list_may_not_be(tokens: dict[bytes, int], merges: list[Any], words: str) -> None:
    with pytest.raises(LoadError, match=words):
        Encoder.from_pairs(tokens, merges, pattern="gpt2")


@pytest.mark.parametrize("whole", [False, True])
def test_a_token_that_no_merging_reaches_is_only_a_whole_piece(whole: bool) -> None:
    """Beside other characters it is merged, wherever pieces might be cut between characters that no token spans."""
    tokens = BYTES | {"дом".encode(): 256, "до".encode(): 257, b"\xd0\xb4": 258, b"\xd0\xbe": 259, b"\xd0\xbc": 260}
    merges = [(b"\xd0", b"\xb4"), (b"\xd0", b"\xbe"), (b"\xd0", b"\xbc"), (b"\xd0\xb4", b"\xd0\xbe")]
    encoder = Encoder.from_pairs(tokens, merges, pattern="gpt2", ignore_merges=whole)
    assert encoder.unreachable_ids() == [256]
    for text in ("дом", "aдом", "домa", "漢дом", "дом漢", " дом", "домдом", "дом"):
        document = text.encode()
        wanted = [256] if whole and text == "дом" else [
            tokens[part] for part in merge.naive(document, merge.pairs(merges))
        ]
        assert encoder.encode(document).tolist() == wanted, text
