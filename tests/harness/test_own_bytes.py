"""Contracts under which a document is not its ids' bytes, one after the other: spans and texts are the oracle's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokassay.harness.alphabet import CHARACTERS
from tokassay.harness.contract import Contract
from tokassay.harness.expect import own_bytes

LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
MASK = {"id": 256, "content": "<m>", "single_word": False, "rstrip": False, "normalized": False, "special": True}


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., str]:
    def write(**change: Any) -> str:
        root = {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "normalizer": None,
            "pre_tokenizer": LEVEL,
            "post_processor": None,
            "decoder": LEVEL,
            "model": {"type": "BPE", "vocab": {c: b for b, c in enumerate(CHARACTERS)}, "merges": []},
        }
        path = tmp_path / "tokenizer.json"
        path.write_text(json.dumps(root | change), encoding="utf-8")
        return str(path)

    return write


def test_spans_through_a_normalizer_are_nobodys_fault(
    written: Callable[..., str], run_audit: Callable[..., Any]
) -> None:
    run = run_audit(
        "tokenizers",
        documents=[b"ab", "\u00e9".encode(), "xe\u0301x".encode()],
        vocabulary=written(normalizer={"type": "NFC"}),
        operations=("encode", "decode", "offsets"),
    )
    assert run.verdicts("tokenizers") == {"match": 3}
    assert run.verdicts("tokenizers", "decode") == {"match": 3}
    assert run.verdicts("tokenizers", "offsets") == {"match": 2, "unsupported": 1}
    assert run.outcome.exit_code == 0


def test_a_space_put_before_the_text_has_no_span(written: Callable[..., str], run_audit: Callable[..., Any]) -> None:
    run = run_audit(
        "tokenizers",
        documents=[b"ab", b" a", b"", "\u00e9".encode()],
        vocabulary=written(pre_tokenizer=LEVEL | {"add_prefix_space": True}),
        operations=("encode", "offsets"),
    )
    assert run.verdicts("tokenizers") == {"match": 4}
    assert run.verdicts("tokenizers", "offsets") == {"match": 2, "unsupported": 2}


def test_a_special_token_that_takes_spaces_in(written: Callable[..., str], run_audit: Callable[..., Any]) -> None:
    run = run_audit(
        "tokenizers",
        documents=["\u00e9 <m> a".encode(), b"<m>", b"a  <m>"],
        vocabulary=written(added_tokens=[MASK | {"lstrip": True}]),
        specials=("on",),
        operations=("encode", "decode", "offsets"),
    )
    for operation in ("encode", "decode", "offsets"):
        assert run.verdicts("tokenizers", operation) == {"match": 3}


@pytest.mark.parametrize(
    ("change", "own"),
    [
        ({}, True),
        ({"byte_policy": "replace"}, False),
        ({"normalizer": "nfc"}, False),
        ({"add_prefix_space": True}, False),
        ({"specials": "on", "added_tokens": (("<m>", 256, ("rstrip",)),)}, False),
        ({"specials": "off", "added_tokens": (("<m>", 256, ("rstrip",)),)}, True),
        ({"specials": "on", "added_tokens": (("<m>", 256, ("single_word",)),)}, True),
        ({"specials": "on", "special_tokens": (("<a>", 256), ("<b>", 256))}, False),
        ({"specials": "on", "special_tokens": (("<a>", 256), ("<b>", 257))}, True),
        ({"specials": "off", "special_tokens": (("<a>", 256), ("<b>", 256))}, True),
    ],
)
def test_own_bytes(change: dict[str, Any], own: bool) -> None:
    plain = {"algorithm": "bpe-ranks", "vocabulary": "0" * 64, "pretokenizer": (".",)}
    assert own_bytes(Contract(**(plain | change))) is own


def test_two_special_tokens_of_one_id(run_audit: Callable[..., Any]) -> None:
    """o200k_harmony: <|endofprompt|> and <|reserved_200018|> are 200018, which is decoded as the first of them."""
    run = run_audit(
        "dat-bpe",
        "tiktoken",
        documents=[b"a<|reserved_200018|>b", b"<|endofprompt|> <|return|>", b"c"],
        vocabulary="o200k_harmony",
        operations=("encode", "decode", "offsets"),
        specials=("on",),
    )
    for operation in ("encode", "decode", "offsets"):
        assert run.verdicts("dat-bpe", operation) == {"match": 3}
    for operation in ("encode", "decode"):
        assert run.verdicts("tiktoken", operation) == {"match": 3}


def test_an_opaque_file_by_a_relative_path(
    written: Callable[..., str], run_audit: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host has a working directory of its own."""
    written(normalizer={"type": "StripAccents"})
    monkeypatch.chdir(tmp_path)
    run = run_audit("tokenizers", documents=[b"ab"], vocabulary="./tokenizer.json")
    assert run.verdicts("tokenizers") == {"unsupported": 1}  # nobody to compare it with
