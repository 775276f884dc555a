"""Published vocabularies there and back: ranks to JSON to ranks, byte for byte; a list of merges that says more.

Llama 3 has 678 tokens that lower ranks leave in more than two parts, 588 that no merging forms, and 280,147 merges in
its published tokenizer.json.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tokassay.corpora.fetch import fetch_file, find_entry
from tokassay.harness import known
from tokassay.harness.convert import convert
from tokassay.harness.load import known_path, load_vocabulary

pytestmark = [pytest.mark.network, pytest.mark.timeout(900)]


def fetched(name: str) -> Path:
    encoding = known.find(name)
    assert encoding is not None
    if encoding.file is None:
        fetch_file(find_entry(encoding.catalog))
    path = known_path(encoding)
    assert path is not None
    return path


@pytest.mark.parametrize(
    ("name", "exceptions", "whole", "gaps"),
    [
        ("cl100k_base", 0, 0, [[100256, 100256], [100261, 100275]]),
        ("llama3", 678, 588, []),
        ("qwen", 0, 0, []),
    ],
)
def test_there_and_back(name: str, exceptions: int, whole: int, gaps: list[list[int]], tmp_path: Path) -> None:
    source = fetched(name)
    there = convert(name, "tokenizer.json", tmp_path / "v.json")
    assert there.proved
    assert [there.facts[key] for key in ("exceptions", "whole_piece_tokens", "gaps")] == [exceptions, whole, gaps]
    back = convert(str(tmp_path / "v.json"), "tiktoken", tmp_path / "v.tiktoken")
    assert back.proved and back.after is not None and back.after.digest == there.before.digest
    assert (tmp_path / "v.tiktoken").read_bytes() == source.read_bytes()
    assert convert(name, "profile", tmp_path / "v.profile").proved


def test_a_list_of_all_splits_means_the_ranks(tmp_path: Path) -> None:
    """Llama 3 as published in two forms, by two publishers: the same tokens."""
    fetched("llama3_json")
    ranks = fetched("llama3")
    done = convert("llama3_json", "tiktoken", tmp_path / "v.tiktoken")
    assert done.proved and done.facts["merges_listed"] == 280_147
    assert (tmp_path / "v.tiktoken").read_bytes() == ranks.read_bytes()


def test_qwen3_has_added_tokens_that_are_not_special(tmp_path: Path) -> None:
    fetched("qwen3_json")
    done = convert("qwen3_json", "tiktoken", tmp_path / "v.tiktoken")
    assert done.proved and any("12 are not special" in line for line in done.lost)
    assert load_vocabulary("qwen3_json").contract.normalizer == "nfc" and any("nfc" in line for line in done.lost)
