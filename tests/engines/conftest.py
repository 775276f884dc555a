"""What the engine tests share: GPT-2's files made with the reference library, a contract, and rosters."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokassay.engines.client import Host
from tokassay.engines.roster import EngineSpec, load_roster
from tokenizers import decoders, models, pre_tokenizers

HERE = Path(__file__).resolve().parent
VOCAB = Path(str(files("tokassay.fixtures").joinpath("vocab")))
# The GPT-2 release's pattern.
PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
END = "<|endoftext|>"


def contract(**changes: Any) -> dict[str, Any]:
    """GPT-2's contract as a load message has it."""
    return {
        "algorithm": "bpe-ranks",
        "vocabulary": "",
        "normalizer": "none",
        "pretokenizer": [PATTERN],
        "specials": "off",
        "special_tokens": [[END, 50256]],
        "added_tokens": [],
        "ignore_merges": False,
        "add_prefix_space": False,
        "byte_fallback": False,
        "post_processor": "none",
        "unicode": "16.0",
        "byte_policy": "byte-alphabet",
        **changes,
    }


def _tokenizer_json(path: Path, specials: bool) -> str:
    vocab = json.loads(gzip.decompress((VOCAB / "gpt2-encoder.json.gz").read_bytes()))
    lines = gzip.decompress((VOCAB / "gpt2-vocab.bpe.gz").read_bytes()).decode().splitlines()[1:]
    merges = [tuple(line.split(" ")) for line in lines if line]
    if not specials:
        del vocab[END]
    made = tokenizers.Tokenizer(models.BPE(vocab=vocab, merges=merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    if specials:
        made.add_special_tokens([END])
    made.save(str(path))
    return str(path)


@pytest.fixture(scope="session")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """GPT-2's rank file and tokenizer.json, special tokens off."""
    folder = tmp_path_factory.mktemp("gpt2")
    return {
        "tiktoken": str(VOCAB / "r50k_base.tiktoken"),
        "tokenizer.json": _tokenizer_json(folder / "tokenizer.json", specials=False),
    }


@pytest.fixture(scope="session")
def gpt2_specials(tmp_path_factory: pytest.TempPathFactory, gpt2: dict[str, str]) -> dict[str, str]:
    """The same with special tokens on."""
    folder = tmp_path_factory.mktemp("gpt2-specials")
    return {**gpt2, "tokenizer.json": _tokenizer_json(folder / "tokenizer.json", specials=True)}


def in_runtime(specs: dict[str, EngineSpec], runtime: str) -> dict[str, EngineSpec]:
    """The same engines under another host: each adapter has a twin of its name in that language."""
    suffix = {"python": ".py", "node": ".mjs"}[runtime]
    return {
        name: replace(spec, runtime=runtime, adapter=spec.adapter.with_suffix(suffix)) for name, spec in specs.items()
    }


@pytest.fixture(scope="session", params=["python", pytest.param("node", marks=pytest.mark.node)])
def runtime(request: pytest.FixtureRequest) -> str:
    """Every host: what is asked of one is asked of all."""
    return str(request.param)


@pytest.fixture(scope="session")
def planted(runtime: str) -> dict[str, EngineSpec]:
    """Engines with one planted fault each."""
    return in_runtime(load_roster(HERE / "planted" / "planted.toml", base=None), runtime)


@pytest.fixture(scope="session")
def speedy(runtime: str) -> dict[str, EngineSpec]:
    """Engines for a bench, with one planted fault each."""
    return in_runtime(load_roster(HERE / "planted" / "speedy.toml", base=None), runtime)


@pytest.fixture
def honest(planted: dict[str, EngineSpec], gpt2: dict[str, str]) -> Iterator[Host]:
    """A loaded host of the engine without a fault."""
    with Host(planted["honest"]) as host:
        host.load(contract(), gpt2)
        yield host
