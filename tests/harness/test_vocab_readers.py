"""Readers of the npm package tiktoken's JSON and of CLIP's merges: what they read, and damage by its place."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tokassay.harness import vocab_clip, vocab_js
from tokassay.harness.errors import InputError
from tokassay.harness.load import load_vocabulary
from tokassay.harness.oracle_here import oracle_here
from tokassay.harness.vocab_clip import MERGES, PRINTABLE

PATTERN = r"\p{L}+|\P{L}+"


def words(tokens: list[bytes]) -> str:
    return " ".join(base64.b64encode(token).decode() for token in tokens)


def js(**change: Any) -> dict[str, Any]:
    """256 bytes from 5 on, `ab` in a second line from 300 on."""
    return {
        "explicit_n_vocab": 12, "pat_str": PATTERN, "special_tokens": {"<EOT>": 0, "<SOS>": 4},
        "bpe_ranks": f"! 5 {words([bytes([byte]) for byte in range(256)])}\n! 300 {words([b'ab'])}\n",
    } | change  # fmt: skip


def write(folder: Path, root: dict[str, Any]) -> Path:
    path = folder / "some.json"
    path.write_text(json.dumps(root), encoding="utf-8")
    return path


def test_ranks_that_begin_at_5_and_a_size_that_does_not_add_up(tmp_path: Path) -> None:
    loaded = load_vocabulary(write(tmp_path, js()))
    assert (loaded.format, loaded.contract.algorithm) == ("tiktoken.json", "bpe-ranks")
    assert loaded.contract.special_tokens == (("<EOT>", 0), ("<SOS>", 4))
    assert (loaded.contract.pretokenizer, loaded.contract.normalizer) == ((PATTERN,), "none")
    assert len(loaded.vocabulary.tokens) == 257
    assert loaded.notes == [
        "explicit_n_vocab is 12, but there are 259 tokens: it is not relied upon", "ranks begin at 5",
        "the file names no normalizer: none is applied",
    ]  # fmt: skip
    oracle = oracle_here(loaded.contract, loaded)
    assert oracle.encode(b"ab1") == [300, 5 + ord("1")]


@pytest.mark.parametrize(
    ("change", "place", "said"),
    [
        ({"bpe_ranks": "! 5 IQ== IQ=="}, "bpe_ranks, line 1, token 1", "is given twice"),
        ({"bpe_ranks": "! 5 IQ==\n\n! 5 Ig=="}, "bpe_ranks, line 3, token 0", "rank 5 is given twice"),
        ({"bpe_ranks": "! 5 I"}, "bpe_ranks, line 1, token 0", "bad base64"),
        ({"bpe_ranks": "? 5 IQ=="}, "bpe_ranks, line 1", "not a line of"),
        ({"bpe_ranks": "! x IQ=="}, "bpe_ranks, line 1", "not a line of"),
        ({"bpe_ranks": "!"}, "bpe_ranks, line 1", "not a line of"),
        ({"bpe_ranks": "! 4294967295 IQ== Ig=="}, "bpe_ranks, line 1, token 1", "is not an id"),
        ({"bpe_ranks": "! 5 IQ=="}, "bpe_ranks", "byte 0x00 has no token"),
        ({"pat_str": 7}, "pat_str", "not a regular expression"),
        ({"special_tokens": {"<a>": 300}}, "special_tokens", "which is an ordinary token's"),
        ({"special_tokens": {"<a>": -1}}, "special_tokens['<a>']", "is not an id"),
    ],
)
def test_damage_is_named_by_its_place(tmp_path: Path, change: dict[str, Any], place: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        vocab_js.parse(json.dumps(js(**change)).encode(), "f")
    assert place in caught.value.where
    assert said in str(caught.value)


def clip(merges: list[str]) -> bytes:
    """A file with enough merges: those given, and then ever longer runs of two letters."""
    lines = ['"bpe_simple_vocab_16e6.txt#version: 0.2', *merges]
    alphabet = [chr(byte) for byte in range(0x21, 0x7F)]
    pairs = [f"{left} {right}" for left in alphabet for right in alphabet]
    lines += [pair for pair in pairs if pair not in merges]
    made = [pair.replace(" ", "") for pair in pairs]
    lines += [f"{pair} {letter}" for pair in made for letter in alphabet[:10]]
    return "\n".join([*lines[: MERGES + 9], ""]).encode()


def test_ids_of_clip_are_bytes_then_bytes_that_end_words_then_merges(tmp_path: Path) -> None:
    path = tmp_path / "bpe_simple_vocab_16e6.txt.gz"
    path.write_bytes(gzip.compress(clip(["l l", "o </w>"][:1])))
    loaded = load_vocabulary(path)
    assert (loaded.format, loaded.unmodelled) == ("clip", [])
    number = loaded.vocabulary.tokens
    assert (number[b"!"], number[b"!</w>"], number[b"ll"]) == (0, 256, 512)
    assert number[bytes([PRINTABLE[-1]])] == len(PRINTABLE) - 1 and number[b"\0"] == len(PRINTABLE)
    assert len(number) == 49406
    assert loaded.contract.special_tokens == (("<start_of_text>", 49406), ("<end_of_text>", 49407))
    # Merges of no suffix: the last letter stays apart.
    assert oracle_here(loaded.contract, loaded).encode("LLl é".encode()) == [
        512, number[b"l</w>"], number[b"\xc3"], number[b"\xa9</w>"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "place", "said"),
    [
        (clip([])[:4000], "f", "merges where CLIP has 48894"),
        (clip(["a b c"]), "f:2", "not a merge of two parts"),
        (clip(["a \u4e00"]), "f:2", "not a merge of two byte-alphabet strings"),
        (clip([]).replace(b"! !\n", b"! \xff\n", 1), "byte", "not UTF-8"),
        (clip(["ab c", "a bc"]), "f", "two merges make one token"),
    ],
)
def test_damage_of_clip_is_named_by_its_place(data: bytes, place: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        vocab_clip.parse(data, "f")
    assert place in caught.value.where
    assert said in str(caught.value)


# ---- the real files (run by hand, or `nox -s network`)


@pytest.mark.network
@pytest.mark.parametrize(
    ("text", "ids"),
    # Public reports: the tokenizer of the package itself gives these for NFKC text.
    [
        ("x\u00b2", [92, 22]), ("\ufb01n", [4593]), ("\u00bd cup", [21, 4652, 22, 4807]),
        ("\u1100\u1161\u11a8", [8127, 228]),
    ],
)
def test_the_old_claude_normalizes_to_nfkc(text: str, ids: list[int]) -> None:
    from tokassay.corpora.fetch import fetch_file, find_entry

    fetch_file(find_entry("claude-old"))
    loaded = load_vocabulary("claude_old")
    assert oracle_here(loaded.contract, loaded).encode(text.encode()) == ids
