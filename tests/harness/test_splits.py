"""A tokenizer.json with splits of its own: what our engine interprets is what tokenizers and the oracle find."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy
import pytest
import tokenizers
from tokassay.engines.dat_bpe import Encoder
from tokassay.harness import known
from tokassay.harness.load import load_vocabulary

DOCUMENTS = [
    b"hello world", "naïve 日本語 1234567, x2  y\n\n z".encode(), b"",
    b"camelCaseWords  and\tTABS 007's", b"\xff\xe0@yp 12",
    "'s 'quoted' ... 12,345.67 \u2028\u3000\u0301e".encode(), b"\0\0a<|endoftext|>b", "Привет, мир! ١٢٣ ²".encode(),
]
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
UNUSUAL: dict[str, list[dict[str, Any]]] = {
    "digits first": [{"type": "Digits", "individual_digits": True}, {"type": "Split", "pattern": {"Regex": GPT2}}],
    "three at a time": [
        {"type": "Split", "pattern": {"Regex": r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))"}},
        {"type": "Split", "pattern": {"Regex": r"[A-Z]?[a-z]+|\s+"}},
    ],
    "a string": [{"type": "Split", "pattern": {"String": "a.b"}}, {"type": "Split", "pattern": {"String": " "}}],
    "none": [],
}


def tokenizer_json(folder: Path, splits: Sequence[dict[str, Any]]) -> Path:
    """GPT-2's tokenizer with other splits before ByteLevel."""
    source = files("tokassay.fixtures") / "vocab"
    lines = gzip.decompress((source / "gpt2-vocab.bpe.gz").read_bytes()).decode().splitlines()[1:]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    isolated = [{"behavior": "Isolated", "invert": False} | row if row["type"] == "Split" else row for row in splits]
    root = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*isolated, level]}, "post_processor": None,
        "decoder": level,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": json.loads(gzip.decompress((source / "gpt2-encoder.json.gz").read_bytes())),
            "merges": [line for line in lines if line],
        },
    }
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(root), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", list(UNUSUAL))
def test_unusual_splits_are_audited(run_audit: Callable[..., Any], tmp_path: Path, name: str) -> None:
    path = tokenizer_json(tmp_path, UNUSUAL[name])
    operations = ("encode", "encode_batch", "decode", "offsets")
    run = run_audit(
        "dat-bpe", "tokenizers", documents=DOCUMENTS, vocabulary=str(path), operations=operations
    )
    assert run.outcome.exit_code == 0
    for operation in operations:
        assert run.verdicts("dat-bpe", operation) == {"match": len(DOCUMENTS)}
    assert run.verdicts("tokenizers")["match"] == len(DOCUMENTS) - 1
    (note,) = [each for each in run.outcome.notes if each.startswith("dat-bpe: ")]
    assert "interpreted" in note
    (row,) = run.rows("SELECT environment FROM run WHERE id = ?")
    assert note in json.loads(row["environment"])["notes"]


def test_a_published_pattern_has_no_such_note(run_audit: Callable[..., Any]) -> None:
    run = run_audit("dat-bpe", documents=DOCUMENTS[:1])
    assert not [each for each in run.outcome.notes if "interpreted" in each]


def test_a_pattern_that_is_not_supported_is_a_row_with_its_reason(
    run_audit: Callable[..., Any], tmp_path: Path
) -> None:
    """The oracle takes (?:a*)*, ours does not: engines differ on it."""
    path = tokenizer_json(tmp_path, [{"type": "Split", "pattern": {"Regex": r"(?:a*)*b"}}])
    run = run_audit("dat-bpe", "tokenizers", documents=DOCUMENTS[:3], vocabulary=str(path))
    assert run.verdicts("dat-bpe") == {"unsupported": 3}
    (row,) = run.rows("SELECT DISTINCT reason FROM v_reason WHERE run = ? AND engine = 'dat-bpe'")
    assert "pretokenizer: " in row["reason"] and "(?:a*)*" in row["reason"]


@pytest.mark.parametrize("name", list(known.patterns()))
def test_every_published_pattern_has_a_machine(name: str) -> None:
    """Those of encodings.toml, by their text: the general path is for what nobody has published here."""
    encoder = Encoder.from_ranks({bytes([byte]): byte for byte in range(256)}, pattern=(known.patterns()[name],))
    assert encoder.pretokenizer_path == "machine"


# ---- the real file (run by hand, or `nox -s network`)


@pytest.mark.network
@pytest.mark.parametrize("name", ["deepseek", "deepseek_v3_json"])
def test_deepseek_v3_as_tokenizers_has_it(name: str) -> None:
    """Ids over the sample texts, class triples and fuzz; the vocabulary's merges are ranks, as loading proves."""
    from tokassay.corpora.fetch import fetch_file, find_entry
    from tokassay.corpora.open import open_corpus

    encoding = known.find(name)
    assert encoding is not None
    theirs = tokenizers.Tokenizer.from_file(str(fetch_file(find_entry(encoding.catalog))))
    theirs.add_special_tokens([])
    loaded = load_vocabulary(name)
    assert loaded.contract.algorithm == "bpe-ranks"
    ours = Encoder.from_ranks(
        dict(loaded.vocabulary.tokens), pattern=loaded.contract.pretokenizer, ignore_merges=False
    )
    assert (ours.pattern, ours.pretokenizer_path) == ("deepseek", "machine")
    compared = 0
    for spec in ("sample", "classes:3", "fuzz:20000"):
        texts = []
        for document in open_corpus(spec, seed=8).documents():
            try:
                text = document.data.decode()
            except UnicodeDecodeError:
                continue
            if "<" not in text:
                texts.append(text)
        values, offsets = ours.encode_batch(texts)
        for i, encoding_of in enumerate(theirs.encode_batch(texts, add_special_tokens=False)):
            assert numpy.array_equal(values[int(offsets[i]) : int(offsets[i + 1])], encoding_of.ids), texts[i]
        compared += len(texts)
    assert compared > 60_000
