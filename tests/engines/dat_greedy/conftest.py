"""dat-greedy's tests: a vocabulary of all bytes, and GPT-2's tokens by a parser of the test's own."""

from __future__ import annotations

import random
from base64 import b64decode
from collections.abc import Callable
from functools import cache
from importlib.resources import files

import pytest


@cache
def rank_table(file: str) -> dict[bytes, int]:
    lines = (files("tokassay.fixtures") / "vocab" / f"{file}.tiktoken").read_bytes().splitlines()
    return {b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}


@pytest.fixture(scope="session")
def gpt2_tokens() -> dict[bytes, int]:
    return rank_table("r50k_base")


@pytest.fixture(scope="session")
def cl100k_tokens() -> dict[bytes, int]:
    return rank_table("cl100k_base")


@pytest.fixture
def random_tokens() -> Callable[..., dict[bytes, int]]:
    """All single bytes of `singles`, and `count` longer tokens over a few letters, NUL and high bytes."""

    def make(seed: int, count: int, singles: bytes = bytes(range(256))) -> dict[bytes, int]:
        chance = random.Random(seed)
        tokens = {bytes([byte]): number for number, byte in enumerate(singles)}
        while len(tokens) < len(singles) + count:
            tokens.setdefault(bytes(chance.choices(b"abcde\x00\xff\x80", k=chance.randint(2, 9))), len(tokens))
        return tokens

    return make


@pytest.fixture
def random_documents() -> Callable[..., list[bytes]]:
    """Documents over the letters of `random_tokens` and over all bytes; none, short and long ones."""

    def make(seed: int, count: int) -> list[bytes]:
        chance = random.Random(seed)
        made = [b"", b"a", b"\x00", b"abc" * 2000, b"a" * 5000, bytes(range(256)) * 20]
        for _ in range(count):
            letters = chance.choice((b"abcde\x00\xff\x80", bytes(range(256))))
            made.append(bytes(chance.choices(letters, k=chance.randint(0, 120))))
        return made

    return make
