"""The oracle for whole products: what it says of each document is what the oracle itself says."""

from __future__ import annotations

import base64
import random
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any

import numpy as np
import pytest
from tokassay.oracles.errors import OracleError, Unsupported
from tokassay.oracles.oracle import Oracle
from tokassay.oracles.products import Products, atoms, digest_of, digests_of

PATTERNS: dict[str, tuple[str, ...]] = {
    "gpt2": (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",),
    "cl100k": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
        r"\s+(?!\S)|\s+",
    ),
    "possessive": (
        r"'(?i:[sdmt]|ll|ve|re)|\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    ),
    "cased": (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'ll)?|\p{N}|\s+|.",),
    "gaps": (r"\p{L}+",),
    "in turn": (
        r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+",
        r"[!'./][A-Za-z]+|[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s+(?!\S)|\s+",
    ),
}  # fmt: skip
ELEMENTS = [
    b"a", b"s", b"l", b"S", "é".encode(), "Ж".encode(), "日".encode(), "・".encode(), "\u0301".encode(), b"1", b"'",
    b" ", b"\n", b".", b"\xc3", b"\xe2", b"\x80", b"\xb2", b"\xa1", b"\xe2\x82", b"\xf0\x9f\x98", b"\xe0\x80\x80",
]  # fmt: skip


@cache
def tokens() -> dict[bytes, int]:
    lines = files("tokassay.fixtures").joinpath("vocab", "r50k_base.tiktoken").read_bytes().splitlines()
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines)}


def contract(patterns: tuple[str, ...], **changed: Any) -> dict[str, Any]:
    return {
        "algorithm": "bpe-ranks", "normalizer": "none", "pretokenizer": list(patterns), "byte_policy": "byte-alphabet",
        "unicode": "16.0", "specials": "off", **changed,
    }


def answers(products: Products, prefix: tuple[int, ...], axes: int) -> list[tuple[int, int]]:
    found = products.expected(prefix, axes)
    return list(zip(found.digests.reshape(-1).tolist(), found.counts.reshape(-1).tolist(), strict=True))


@pytest.mark.parametrize("name", PATTERNS)
def test_all_of_three_elements_are_the_oracle_s(name: str) -> None:
    """22 elements, every pattern: 10,648 documents, and 506 shorter ones, by their number and digest."""
    oracle = Oracle(contract(PATTERNS[name]), tokens())
    products = Products(oracle, ELEMENTS)
    for axes in (1, 2, 3):
        right = [oracle.encode(b"".join(each)) for each in product(ELEMENTS, repeat=axes)]
        assert answers(products, (), axes) == [(digest_of(ids), len(ids)) for ids in right]


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("k", [4, 5, 6])
def test_longer_ones_behind_a_prefix(name: str, k: int) -> None:
    """A block behind a drawn prefix, all of it; runs of what joins and of what is cut inside are drawn more often."""
    oracle = Oracle(contract(PATTERNS[name]), tokens())
    products = Products(oracle, ELEMENTS)
    drawn = random.Random(f"{name}/{k}")
    for _ in range(3):
        prefix = tuple(drawn.choice((*range(len(ELEMENTS)), *range(14, 22))) for _ in range(k - 2))
        data = b"".join(ELEMENTS[each] for each in prefix)
        right = [oracle.encode(data + a + b) for a, b in product(ELEMENTS, repeat=2)]
        assert answers(products, prefix, 2) == [(digest_of(ids), len(ids)) for ids in right], prefix


def test_verified_says_what_is_wrong() -> None:
    oracle = Oracle(contract(PATTERNS["gpt2"]), tokens())
    products = Products(oracle, ELEMENTS)
    documents = [(0,), (0, 1), (0, 11, 0), (14, 16), (20, 16, 3, 2)]
    assert list(products.verified(documents)) == [(each, True) for each in documents]
    products._pieces[b"as"] = (1, 1)  # a table that is wrong of one piece
    products._expected.clear()
    assert [right for _, right in products.verified(documents)] == [True, False, True, True, True]


def test_interchangeable_characters_are_one_class_and_no_others() -> None:
    products = Products(Oracle(contract(PATTERNS["gpt2"]), tokens()), ELEMENTS)
    by_class: dict[int, list[bytes]] = {}
    for element, kind in zip(ELEMENTS, products.class_of.tolist(), strict=False):
        by_class.setdefault(kind, []).append(element)
    together = sorted(sorted(each) for each in by_class.values() if len(each) > 1)
    # `s` and `S` are told apart by a literal of the pattern, as is `l`; bytes that may join stand for themselves.
    assert together == sorted(
        map(sorted, ([b"a", "é".encode(), "Ж".encode(), "日".encode()], ["・".encode(), b".", "\u0301".encode()]))
    )


def test_atoms_are_what_a_pattern_asks_of_a_character() -> None:
    found = {atom.pattern for atom in atoms(r"(?i:'ll)|[^\r\n\p{L}]?\p{N}{1,3}|\s+(?!\S)|\Z")}
    assert {"'", "l", r"[^\r\n\p{L}]", r"\p{N}", r"\s", r"\S"} <= found
    assert "(" not in found and "|" not in found and r"\Z" not in found


def test_digests_of_many_are_those_of_each() -> None:
    drawn = random.Random(7)
    rows = [[drawn.randrange(1 << 18) for _ in range(drawn.randrange(1, 25))] for _ in range(3000)]
    values = np.array([each for row in rows for each in row], np.uint32)
    offsets = np.zeros(len(rows) + 1, np.uint64)
    offsets[1:] = np.cumsum([len(row) for row in rows])
    found = digests_of(values, offsets)
    assert found.digests.tolist() == [digest_of(row) for row in rows]
    assert found.counts.tolist() == [len(row) for row in rows]


def test_a_digest_tells_order_borders_and_zeros_apart() -> None:
    lists: list[list[int]] = [[], [0], [0, 0], [1], [0, 1], [1, 0], [257], [256, 0], [1, 2, 3], [3, 2, 1]]
    assert len({digest_of(each) for each in lists}) == len(lists)


@pytest.mark.parametrize(
    "changed",
    [
        {"byte_policy": "reject"}, {"normalizer": "nfc"}, {"add_prefix_space": True}, {"ignore_merges": True},
        {"algorithm": "greedy-longest"},
    ],
    ids=str,
)
def test_a_contract_in_which_a_document_is_more_than_its_pieces_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(Unsupported) as caught:
        Products(Oracle(contract(PATTERNS["gpt2"], **changed), tokens()), ELEMENTS)
    assert "contract: " in str(caught.value.where)


def test_too_many_elements_are_refused() -> None:
    products = Products(Oracle(contract(PATTERNS["gpt2"]), tokens()), [b"a"])
    with pytest.raises(OracleError):
        products.expected((0, 0, 0, 0), 3)
