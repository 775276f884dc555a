"""dat-bpe's tests: one encoder and one reference a vocabulary; the references come from the rank files, offline."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from functools import cache
from importlib.resources import files

import pytest
import tiktoken
from tokassay.engines.dat_bpe import Encoder

FILES = {"gpt2": "r50k_base", "cl100k_base": "cl100k_base", "o200k_base": "o200k_base"}
SUFFIXES = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
# As OpenAI published them, written out here again and not taken from the package under test.
PATTERNS = {
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "cl100k_base": (
        SUFFIXES + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "o200k_base": (
        rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{SUFFIXES}?|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{SUFFIXES}?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}
SPECIALS = {
    "gpt2": {"<|endoftext|>": 50256},
    "cl100k_base": {
        "<|endoftext|>": 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259, "<|fim_suffix|>": 100260,
        "<|endofprompt|>": 100276,
    },
    "o200k_base": {"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
}


@cache
def rank_table(name: str) -> dict[bytes, int]:
    data = (files("tokassay.fixtures") / "vocab" / f"{FILES[name]}.tiktoken").read_bytes()
    return {b64decode(token): int(rank) for token, rank in (line.split() for line in data.splitlines())}


@cache
def make_encoder(name: str) -> Encoder:
    return Encoder.load(name)


@cache
def make_reference(name: str) -> tiktoken.Encoding:
    return tiktoken.Encoding(
        name, pat_str=PATTERNS[name], mergeable_ranks=rank_table(name), special_tokens=SPECIALS[name]
    )


@pytest.fixture(scope="session")
def ranks_of() -> Callable[[str], dict[bytes, int]]:
    return rank_table


@pytest.fixture(scope="session")
def encoder_of() -> Callable[[str], Encoder]:
    return make_encoder


@pytest.fixture(scope="session", params=list(FILES))
def vocabulary(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def encoder(vocabulary: str) -> Encoder:
    return make_encoder(vocabulary)


@pytest.fixture(scope="session")
def reference(vocabulary: str) -> tiktoken.Encoding:
    return make_reference(vocabulary)


@pytest.fixture(scope="session")
def pattern(vocabulary: str) -> str:
    return PATTERNS[vocabulary]


@pytest.fixture(scope="session")
def byte_character() -> Callable[[int], str]:
    """GPT-2's bytes_to_unicode: printing Latin-1 for itself, the rest from U+0100 on."""
    keep = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in keep]
    return lambda byte: chr(byte if byte in keep else 0x100 + rest.index(byte))
