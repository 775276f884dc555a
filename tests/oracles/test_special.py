"""Special tokens, against Hugging Face's tokenizers for the flags, and by hand for the rest."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from tokassay.oracles.classes import classes
from tokassay.oracles.errors import Unsupported
from tokassay.oracles.oracle import Oracle
from tokassay.oracles.special import Segment, Specials
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

TABLE = classes("16.0")


def specials(*tokens: bytes, **flags: tuple[str, ...]) -> Specials:
    numbered = {token: 1000 + k for k, token in enumerate(tokens)}
    return Specials(numbered, {token.encode(): names for token, names in flags.items()}, TABLE)


def test_leftmost_then_longest() -> None:
    found = specials(b"<a>", b"<a><b>", b"b><c", b"<c>")
    assert list(found.segments(b"x<a><b><c>y")) == [
        Segment(0, 1, None),
        Segment(1, 7, 1001),
        Segment(7, 10, 1003),
        Segment(10, 11, None),
    ]
    assert list(found.segments(b"<a>b><c>")) == [Segment(0, 3, 1000), Segment(3, 7, 1002), Segment(7, 8, None)]


def test_bytes_that_look_like_a_pattern_are_only_bytes() -> None:
    assert list(specials(b".*", b"\n").segments(b"a\n.*")) == [
        Segment(0, 1, None),
        Segment(1, 2, 1001),
        Segment(2, 4, 1000),
    ]


def test_ill_formed_neighbours_do_not_hide_a_special() -> None:
    assert list(specials(b"<s>").segments(b"\xe2\x80<s>\xff")) == [
        Segment(0, 2, None),
        Segment(2, 5, 1000),
        Segment(5, 6, None),
    ]


def test_unknown_flag_and_empty_token_are_refused_by_name() -> None:
    with pytest.raises(Unsupported, match="'sticky'"):
        specials(b"x", x=("sticky",))
    with pytest.raises(Unsupported, match="empty"):
        specials(b"")


def test_a_token_that_begins_with_a_blank_beside_rstrip_is_refused() -> None:
    with pytest.raises(Unsupported, match="begins with a blank"):
        Specials({b"<M>": 1, b" x": 2}, {b"<M>": ("rstrip",)}, TABLE)


FLAG_SETS = [(), ("lstrip",), ("rstrip",), ("lstrip", "rstrip"), ("single_word",), ("lstrip", "rstrip", "single_word")]


@pytest.mark.parametrize("flags", FLAG_SETS, ids=["-".join(flags) or "none" for flags in FLAG_SETS])
def test_flags_are_those_of_tokenizers(flags: tuple[str, ...], make_oracle: Callable[..., Oracle]) -> None:
    """Segments of 2,000 random texts: what tokenizers 0.23.3 makes of two added tokens with the same flags."""
    model = models.BPE(vocab={each: k for k, each in enumerate(pre_tokenizers.ByteLevel.alphabet())}, merges=[])
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    settings: dict[str, Any] = dict.fromkeys(flags, True)
    tokenizer.add_special_tokens([AddedToken(text, normalized=False, **settings) for text in ("<M>", "mm")])
    ours = Specials(
        {b"<M>": tokenizer.token_to_id("<M>"), b"mm": tokenizer.token_to_id("mm")},
        {b"<M>": flags, b"mm": flags},
        TABLE,
    )
    chance = random.Random(8)
    pool = ["<M>", "mm", "m", " ", "\n", "\t", "\u00a0", "\u3000", "a", "_", "é", "1", "-", ".", "\u0301", "春", "Ⓐ"]
    pool += ["\u200d", "🄰", "Ⅷ", "²"]
    for _ in range(2_000):
        text = "".join(chance.choices(pool, k=chance.randint(0, 10)))
        encoding = tokenizer.encode(text, add_special_tokens=False)
        theirs = [
            (start, end, token)
            for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
            if token in ours.tokens.values()
        ]
        data = text.encode()
        segments = [
            (len(data[: each.start].decode()), len(data[: each.end].decode()), each.token)
            for each in ours.segments(data)
            if each.token is not None
        ]
        assert segments == theirs, repr(text)


def test_specials_off_is_the_untouched_path(make_oracle: Callable[..., Oracle]) -> None:
    on, off = make_oracle("gpt2", specials="on"), make_oracle("gpt2")
    assert off.encode(b"a<|endoftext|>b") == [64, 27, 91, 437, 1659, 5239, 91, 29, 65]
    assert on.encode(b"a <|endoftex|> b") == off.encode(b"a <|endoftex|> b")
    assert on.spans(b"a<|endoftext|>b") == [(0, 1), (1, 14), (14, 15)]
    assert on.decode([64, 50256, 65]) == off.decode([64, 50256, 65]) == b"a<|endoftext|>b"


def test_the_pretokenizer_sees_the_end_of_each_segment(make_oracle: Callable[..., Oracle]) -> None:
    """White space before a special token ends a text: nothing is given back to what follows."""
    oracle = make_oracle("gpt2", specials="on")
    assert oracle.pretokens(b"a  <|endoftext|>b") == [(0, 1), (1, 3), (3, 16), (16, 17)]
    assert make_oracle("gpt2").pretokens(b"a  <|") == [(0, 1), (1, 2), (2, 5)]
