"""vocab.txt and WordPiece in tokenizer.json: contracts, identity, what is asked for, what is refused with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokassay.harness.contract import Contract
from tokassay.harness.errors import InputError
from tokassay.harness.load import Loaded, load_vocabulary
from tokassay.harness.materialize import materialize
from tokassay.harness.vocab_wordpiece import BERT_WORDS, near

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "un", "##want", "##ed", "\u2028", "want", ","]
PUBLISHED = "clean+cjk-spaces+lowercase+strip-accents"
FLAGS = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False) | {"special": True}


def lines(tmp_path: Path, tokens: list[str] | None = None) -> Path:
    path = tmp_path / "vocab.txt"
    path.write_text("".join(f"{token}\n" for token in tokens or TOKENS), encoding="utf-8")
    return path


def root(**change: Any) -> dict[str, Any]:
    model = {
        "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
        "vocab": {token: number for number, token in enumerate(TOKENS)},
    } | change.pop("model", {})  # fmt: skip
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": 1, "content": "[UNK]"} | FLAGS],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": None,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": False}, "model": model,
    } | change  # fmt: skip


def from_json(tmp_path: Path, **change: Any) -> Loaded:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(root(**change)), encoding="utf-8")
    return load_vocabulary(path)


def test_whether_it_lower_cases_is_asked_for(tmp_path: Path) -> None:
    path = lines(tmp_path)
    for wrong in (None, "gpt2", "bert"):
        with pytest.raises(InputError) as caught:
            load_vocabulary(path, pattern=wrong)
        assert caught.value.where == str(path)
        assert "bert-uncased" in caught.value.remedy and "bert-cased" in caught.value.remedy
    uncased, cased = (load_vocabulary(path, pattern=rule) for rule in ("bert-uncased", "bert-cased"))
    assert uncased.contract.normalizer == PUBLISHED
    assert cased.contract.normalizer == "clean+cjk-spaces"
    assert uncased.contract.vocabulary == cased.contract.vocabulary
    assert uncased.contract.core_digest != cased.contract.core_digest


def test_the_contract_of_a_vocab_txt(tmp_path: Path) -> None:
    loaded = load_vocabulary(lines(tmp_path), pattern="bert-uncased", specials={"[CLS]": 2})
    contract = loaded.contract
    assert (contract.algorithm, contract.pretokenizer, contract.gaps) == ("wordpiece", (BERT_WORDS,), "dropped")
    assert (contract.unknown, contract.continuing_prefix, contract.max_word_chars) == (1, "##", 100)
    assert (contract.byte_policy, contract.special_tokens) == ("replace", (("[CLS]", 2),))
    assert loaded.vocabulary.specials == {"[UNK]": 1, "[CLS]": 2}
    # A token that is a line separator is one line; stripped, it is an empty one, which is no token.
    assert loaded.vocabulary.tokens == {b"[PAD]": 0, b"un": 3, b"##want": 4, b"##ed": 5, b"want": 7, b",": 8}
    assert Contract.from_json(contract.to_json()) == contract


def test_carriage_returns_and_repeated_lines(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(b"a\r\n[UNK]\r\n\r\nb\r\na\r\n")
    loaded = load_vocabulary(path, pattern="bert-cased")
    assert loaded.vocabulary.tokens == {b"a": 4, b"b": 3}  # the published reader keeps the last of equal lines
    assert any("1 lines are repeated" in note for note in loaded.notes)


@pytest.mark.parametrize(
    ("data", "specials", "place", "what"),
    [
        (b"[UNK]\n\xff\n", None, ":2", "not UTF-8"),
        (b"[UNK]\na\n", {"a": 7}, "", "'a' has id 1"),
        (b"[UNK]\na\n", {"[CLS]": 0}, "", "has id None"),
    ],
)
def test_damaged_files(
    tmp_path: Path, data: bytes, specials: dict[str, int] | None, place: str, what: str
) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(data)
    with pytest.raises(InputError, match=what) as caught:
        load_vocabulary(path, pattern="bert-cased", specials=specials)
    assert caught.value.where == f"{path}{place}"
    assert caught.value.remedy


def test_a_text_without_the_unknown_token_is_no_vocabulary(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text("a\nb\n")
    with pytest.raises(InputError, match="not a vocabulary format"):
        load_vocabulary(path, pattern="bert-cased")


def test_one_vocabulary_in_two_files(tmp_path: Path) -> None:
    tokens = [token for token in TOKENS if token != "\u2028"]
    ours = load_vocabulary(lines(tmp_path, tokens), pattern="bert-uncased")
    theirs = from_json(tmp_path, model={"vocab": {token: number for number, token in enumerate(tokens)}})
    assert ours.vocabulary == theirs.vocabulary and ours.contract.vocabulary == theirs.contract.vocabulary
    # The rules are not one: a tokenizer.json means the steps of tokenizers.
    assert theirs.contract.normalizer == "clean-private+cjk-spaces+strip-accents+lowercase-each"
    same = load_vocabulary(lines(tmp_path, tokens), pattern="tokenizers-uncased", specials={"[UNK]": 1})
    assert same.contract == theirs.contract
    assert theirs.contract.special_tokens == (("[UNK]", 1),)


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ({}, "clean-private+cjk-spaces+strip-accents+lowercase-each"),
        ({"strip_accents": False}, "clean-private+cjk-spaces+lowercase-each"),
        ({"lowercase": False}, "clean-private+cjk-spaces"),
        ({"lowercase": False, "strip_accents": True, "clean_text": False}, "cjk-spaces+strip-accents"),
        ({"lowercase": False, "clean_text": False, "handle_chinese_chars": False}, "none"),
    ],
)
def test_options_of_the_normalizer(tmp_path: Path, options: dict[str, Any], steps: str) -> None:
    stage = root()["normalizer"] | options
    assert from_json(tmp_path, normalizer=stage).contract.normalizer == steps


def test_a_normalizer_alone_and_in_a_sequence(tmp_path: Path) -> None:
    assert from_json(tmp_path, normalizer={"type": "Lowercase"}).contract.normalizer == "lowercase-each"
    stage = {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, root()["normalizer"] | {"lowercase": False}]}
    assert from_json(tmp_path, normalizer=stage).contract.normalizer == "lowercase-each+clean-private+cjk-spaces"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"normalizer": {"type": "NFD"}}, "normalizer: NFD"),
        ({"pre_tokenizer": None}, "pre_tokenizer: 0 stages"),
        ({"pre_tokenizer": {"type": "Metaspace"}}, "pre_tokenizer: Metaspace"),
        ({"model": {"unk_token": "<unk>"}}, "model.unk_token: '<unk>' is no token"),
        ({"model": {"continuing_subword_prefix": ""}}, "model.continuing_subword_prefix"),
        ({"model": {"continuing_subword_prefix": "\ud800"}}, "model.continuing_subword_prefix"),
        ({"model": {"unk_token": ["[UNK]"]}}, "model.unk_token"),
        ({"model": {"fuse_unk": True}}, "model.fuse_unk: unknown option"),
        ({"model": {"vocab": {"[UNK]": 1, "a\n": 2}}}, "line feed"),
        ({"added_tokens": [{"id": 9, "content": "un"} | FLAGS]}, "has id 9, in model.vocab 3"),
    ],
)
def test_what_is_not_modelled_is_opaque_with_its_reason(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    loaded = from_json(tmp_path, **change)
    assert loaded.contract.algorithm == "opaque"
    assert any(reason in each for each in loaded.unmodelled), loaded.unmodelled


def test_a_limit_that_is_no_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not an id") as caught:
        from_json(tmp_path, model={"max_input_chars_per_word": "100"})
    assert "model.max_input_chars_per_word" in caught.value.where


def test_files_for_engines(tmp_path: Path) -> None:
    loaded = load_vocabulary(lines(tmp_path), pattern="bert-uncased", specials={"[CLS]": 2})
    on = loaded.contract.with_variants(specials="on")
    made, plain = (materialize(loaded, each, tmp_path / "cache") for each in (on, loaded.contract))
    assert Path(made["vocab.txt"]).read_text(encoding="utf-8").split("\n") == [
        "[PAD]", "[UNK]", "[CLS]", "un", "##want", "##ed", "", "want", ",", "",
    ]
    written = json.loads(Path(made["tokenizer.json"]).read_text(encoding="utf-8"))
    assert written["normalizer"] == root()["normalizer"] | {"strip_accents": True}
    assert [row["content"] for row in written["added_tokens"]] == ["[CLS]"]
    assert json.loads(Path(plain["tokenizer.json"]).read_text(encoding="utf-8"))["added_tokens"] == []
    again = load_vocabulary(made["tokenizer.json"])
    assert again.vocabulary.tokens == loaded.vocabulary.tokens
    assert (again.contract.unknown, again.contract.max_word_chars) == (1, 100)


def test_variants_that_say_nothing_are_left_out(tmp_path: Path) -> None:
    contract = load_vocabulary(lines(tmp_path), pattern="bert-uncased").contract
    assert contract.with_variants(normalization="16.0", casing="16.0") == contract
    older = contract.with_variants(unicode="8.0", normalization="8.0", casing="17.0")
    assert (older.normalization, older.casing, older.lowers_by) == (None, "17.0", "17.0")
    assert older.core_digest == contract.core_digest and older.digest != contract.digest
    cased = load_vocabulary(lines(tmp_path), pattern="bert-cased").contract
    assert cased.with_variants(casing="17.0") == cased
    with pytest.raises(InputError, match=r"unicode is '8\.0'"):
        load_vocabulary("gpt2").contract.with_variants(unicode="8.0")
    with pytest.raises(InputError, match="step 'nfx'"):
        Contract.from_json(contract.to_json() | {"normalizer": "clean+nfx"})


def test_neighbours_of_a_normalizer() -> None:
    assert near(PUBLISHED)[:4] == (
        "clean-private+cjk-spaces+lowercase+strip-accents", "clean-other+cjk-spaces+lowercase+strip-accents",
        "clean+cjk-spaces+lowercase-each+strip-accents", "clean-private+cjk-spaces+strip-accents+lowercase-each",
    )  # fmt: skip
    assert PUBLISHED not in near(PUBLISHED) and "cjk-spaces+lowercase+strip-accents" in near(PUBLISHED)
    assert near("none") == ()
