"""The `tiktoken-bytes` policy against tiktoken itself, on documents that are not UTF-8."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import tiktoken
from tokassay.oracles import tiktoken_bytes
from tokassay.oracles.oracle import Oracle

VOCABULARIES = ("gpt2", "cl100k_base", "o200k_base")
WHITE = [
    b" ",
    b"\n",
    b"\t",
    b"\r",
    b"\r\n",
    b"  ",
    b"\n\n ",
    b" \n",
    b"\x0b",
    b"\xc2\xa0",
    b"\xe3\x80\x80",
    b"\xe2\x80\xa8",
]
WORDS = [b"hello", b" world", b"123", b"'s", b"...", b"\xe6\x98\xa5", b"<|endoftext|>"]


def documents(tokens: list[bytes], seed: int, count: int) -> list[bytes]:
    """Words, white space of every kind, vocabulary tokens and stray bytes, mixed; most are ill-formed."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        parts = []
        for _ in range(chance.randint(1, 6)):
            kind = chance.random()
            if kind < 0.3:
                parts.append(chance.choice(WHITE))
            elif kind < 0.5:
                parts.append(chance.choice(tokens))
            elif kind < 0.7:
                parts.append(chance.choice(WORDS))
            else:
                parts.append(bytes(chance.randrange(0x80, 0x100) for _ in range(chance.randint(1, 3))))
        made.append(b"".join(parts) + chance.choice([b"", b"\xff", b"\xe2\x80"]))
    return made


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_ill_formed_documents_as_tiktoken_has_them(
    vocabulary: str,
    make_oracle: Callable[..., Oracle],
    make_tiktoken: Callable[[str], tiktoken.Encoding],
    make_ranks: Callable[[str], dict[bytes, int]],
) -> None:
    oracle, engine = make_oracle(vocabulary, byte_policy="tiktoken-bytes"), make_tiktoken(vocabulary)
    for document in documents(list(make_ranks(vocabulary)), seed=2, count=4_000):
        ids = oracle.encode(document)
        assert ids == engine._encode_bytes(document), document
        assert oracle.decode(ids) == document


def test_traces_and_spans_tell_the_same_ids(
    make_oracle: Callable[..., Oracle], make_ranks: Callable[[str], dict[bytes, int]]
) -> None:
    oracle = make_oracle("cl100k_base", byte_policy="tiktoken-bytes")
    for document in documents(list(make_ranks("cl100k_base")), seed=3, count=500):
        given_out = [each for each in oracle.decisions(document) if each["stage"] == "lookup"]
        assert [each["id"] for each in given_out] == oracle.encode(document), document
        assert [(each["start"], each["end"]) for each in given_out] == oracle.spans(document), document


def test_a_trace_scans_each_byte_of_the_valid_prefix_once(make_oracle: Callable[..., Oracle]) -> None:
    """Scanned twice, a document would differ from itself under another policy at a byte where nothing differs."""
    found = make_oracle("gpt2", byte_policy="tiktoken-bytes").decisions(b"a b\x81\xab")
    assert [each["offset"] for each in found if each["stage"] == "scan"] == [0, 1, 2]


def test_specials_are_not_matched_in_an_ill_formed_document(make_oracle: Callable[..., Oracle]) -> None:
    oracle = make_oracle("gpt2", byte_policy="tiktoken-bytes", specials="on")
    assert 50256 in oracle.encode(b"a<|endoftext|>b")
    assert 50256 not in oracle.encode(b"a<|endoftext|>b\xff")


def test_the_tail_begins_at_the_last_piece_or_at_white_space_tokens_before_it() -> None:
    assert tiktoken_bytes.split_tail([]) == ([], b"")
    assert tiktoken_bytes.split_tail([[b"a"], [b"b", b"c"]]) == ([b"a"], b"bc")
    assert tiktoken_bytes.split_tail([[b"a", b" "], [b"\n"], [b"\t", b"x"]]) == ([b"a"], b" \n\tx")
    assert tiktoken_bytes.split_tail([[b"a", b"\r"], [b" "]]) == ([b"a", b"\r"], b" ")
    assert tiktoken_bytes.split_tail([[b"\n"], [b" x"]]) == ([b"\n"], b" x")
