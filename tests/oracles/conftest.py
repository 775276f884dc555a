"""Oracles and the published engines over the embedded vocabularies, built once a session."""

from __future__ import annotations

import base64
import json
import tomllib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from tiktoken_ext import openai_public
from tokassay.oracles.oracle import Oracle

FIXTURES = Path(str(files("tokassay.fixtures")))
RANK_FILES = {"gpt2": "r50k_base", "cl100k_base": "cl100k_base", "o200k_base": "o200k_base"}


@cache
def ranks(vocabulary: str) -> dict[bytes, int]:
    """The ranks, by a parser of the test's own."""
    lines = (FIXTURES / "vocab" / f"{RANK_FILES[vocabulary]}.tiktoken").read_bytes().splitlines()
    return {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}


@cache
def encodings() -> dict[str, Any]:
    return tomllib.loads((FIXTURES / "vocab" / "encodings.toml").read_text())


def contract(vocabulary: str, **overrides: Any) -> dict[str, Any]:
    """The default contract of a vocabulary, with some fields replaced."""
    known = encodings()
    encoding = known["encodings"][vocabulary]
    fields: dict[str, Any] = {
        "algorithm": "bpe-ranks",
        "vocabulary": "",
        "normalizer": "none",
        "pretokenizer": [known["patterns"][encoding["pattern"]]],
        "specials": "off",
        "special_tokens": [[text, number] for text, number in encoding["specials"].items()],
        "added_tokens": [],
        "ignore_merges": False,
        "add_prefix_space": False,
        "byte_fallback": False,
        "post_processor": "none",
        "unicode": "16.0",
        "byte_policy": "byte-alphabet",
    }
    assert set(overrides) <= set(fields)
    return fields | overrides


@cache
def _built(vocabulary: str, overrides: str) -> Oracle:
    return Oracle(contract(vocabulary, **json.loads(overrides)), ranks(vocabulary))


@pytest.fixture(scope="session")
def make_oracle() -> Callable[..., Oracle]:
    """make_oracle(vocabulary, **contract fields) -> Oracle"""
    return lambda vocabulary, **overrides: _built(vocabulary, json.dumps(overrides, sort_keys=True))


@pytest.fixture(scope="session")
def make_contract() -> Callable[..., dict[str, Any]]:
    return contract


@pytest.fixture(scope="session")
def make_ranks() -> Callable[[str], dict[bytes, int]]:
    return ranks


@cache
def _tiktoken(vocabulary: str) -> tiktoken.Encoding:
    # The package's own definition (its spelling of the pattern, its specials) over the embedded ranks.
    loader = openai_public.load_tiktoken_bpe
    openai_public.load_tiktoken_bpe = lambda *_, **__: ranks(vocabulary)
    try:
        return tiktoken.Encoding(**getattr(openai_public, RANK_FILES[vocabulary])())
    finally:
        openai_public.load_tiktoken_bpe = loader


@pytest.fixture(scope="session")
def make_tiktoken() -> Callable[[str], tiktoken.Encoding]:
    """make_tiktoken(vocabulary) -> tiktoken.Encoding"""
    return _tiktoken


@pytest.fixture(scope="session")
def fixtures_folder() -> Path:
    return FIXTURES
