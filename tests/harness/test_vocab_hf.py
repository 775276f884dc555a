"""tokenizer.json: what is modelled, what makes a contract opaque and why, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokassay.harness.alphabet import CHARACTERS
from tokassay.harness.errors import InputError
from tokassay.harness.hf_stages import GPT2_PATTERN
from tokassay.harness.load import Loaded, load_vocabulary

BYTES = {character: byte for byte, character in enumerate(CHARACTERS)}
LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
OWN = LEVEL | {"use_regex": True}


def split(pattern: str = r"\s+", **change: Any) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False} | change


def sequence(*stages: Any) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(stages)}


def added(text: str, number: int, **change: Any) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": number, "content": text} | flags | change


def whole(model: dict[str, Any] | None = None, **change: Any) -> dict[str, Any]:
    plain = {"type": "BPE", "vocab": BYTES | {"ab": 256, "abc": 257}, "merges": ["a b", "ab c"]}
    root = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": OWN,
        "post_processor": None,
        "decoder": LEVEL,
        "model": plain | (model or {}),
    }
    return root | change


def load(tmp_path: Path, root: dict[str, Any]) -> Loaded:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(root), encoding="utf-8")
    return load_vocabulary(path)


def test_merges_as_strings_and_as_lists_are_one(tmp_path: Path) -> None:
    strings = load(tmp_path, whole())
    lists = load(tmp_path, whole({"merges": [["a", "b"], ["ab", "c"]]}))
    assert strings.contract == lists.contract
    assert strings.contract.algorithm == "bpe-ranks"
    assert strings.contract.pretokenizer == (GPT2_PATTERN,)


@pytest.mark.parametrize(
    ("stage", "patterns"),
    [
        (OWN, (GPT2_PATTERN,)),
        (sequence(OWN), (GPT2_PATTERN,)),
        (sequence(split("x"), LEVEL), ("x",)),
        (sequence(split("x"), split("y+"), OWN), ("x", "y+", GPT2_PATTERN)),
        (sequence(sequence(split("x")), LEVEL), ("x",)),
        (sequence({"type": "Digits", "individual_digits": True}, OWN), (r"\p{N}", GPT2_PATTERN)),
        (sequence(split() | {"pattern": {"String": "a.b"}}, LEVEL), (r"a\.b",)),
        (sequence(split("x", invert=True), LEVEL), ("x",)),
        (sequence(split(GPT2_PATTERN, behavior="Removed", invert=True), LEVEL), (GPT2_PATTERN,)),
        (LEVEL, ()),
    ],
)
def test_pretokenizers_that_are_modelled(tmp_path: Path, stage: Any, patterns: tuple[str, ...]) -> None:
    loaded = load(tmp_path, whole(pre_tokenizer=stage))
    assert loaded.unmodelled == []
    assert loaded.contract.pretokenizer == patterns


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"pre_tokenizer": None}, "does not end in ByteLevel"),
        ({"pre_tokenizer": {"type": "Metaspace"}}, "does not end in ByteLevel"),
        ({"pre_tokenizer": sequence(OWN, split())}, "does not end in ByteLevel"),
        ({"pre_tokenizer": sequence(OWN, OWN)}, "pre_tokenizer.pretokenizers[0]: ByteLevel is not modelled"),
        ({"pre_tokenizer": sequence(split(behavior="Removed"), LEVEL)}, "behavior Removed"),
        ({"pre_tokenizer": sequence(split(behavior="MergedWithNext", invert=True), LEVEL)}, "MergedWithNext and inv"),
        (
            {"pre_tokenizer": sequence(split("x", behavior="Removed", invert=True), split("y"), LEVEL)},
            "gaps are dropped between the matches of one pattern and not of another",
        ),
        ({"pre_tokenizer": sequence(split() | {"pattern": None}, LEVEL)}, "Split without a pattern"),
        # tokenizers: Split("a$") parts "a\nb" after the first a, and "a{1,2}+" takes "aaa" whole.
        ({"pre_tokenizer": sequence(split(r"\p{L}+|[^$]$"), LEVEL)}, "construct $ at 11"),
        ({"pre_tokenizer": sequence(split(r"^\p{L}++"), LEVEL)}, "construct ^ at 0"),
        ({"pre_tokenizer": sequence(split(r"[\]}+]\p{N}{1,3}+"), LEVEL)}, "construct }+ at 15"),
        ({"pre_tokenizer": sequence({"type": "Punctuation"}, LEVEL)}, "Punctuation is not modelled"),
        ({"pre_tokenizer": sequence(split(), LEVEL | {"add_prefix_space": True})}, "add_prefix_space"),
        ({"pre_tokenizer": sequence(split(r"\w+|\W"), LEVEL)}, r"pretokenizers[0]: pattern construct \w at 0"),
        ({"pre_tokenizer": sequence(split("(("), LEVEL)}, "pretokenizers[0]: pattern '((': missing )"),
        ({"pre_tokenizer": sequence(split("[a-"), LEVEL)}, "pretokenizers[0]: pattern '[a-'"),
        ({"normalizer": {"type": "NFKD"}}, "normalizer: NFKD"),
        ({"normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "_"}}, "normalizer: Replace"),
        (
            {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "StripAccents"}]}},
            "normalizer.normalizers[1]: StripAccents",
        ),
        ({"surprise": 1}, "surprise: unknown part"),
        ({"added_tokens": [added("ab", 300)]}, "has id 300, in model.vocab 256"),
        ({"added_tokens": [added("<x>", 97)]}, "id 97 is that of 'a'"),
    ],
)
def test_parts_that_are_not_modelled_are_named(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    loaded = load(tmp_path, whole(**change))
    assert loaded.contract.algorithm == "opaque"
    assert loaded.contract.vocabulary == loaded.file_sha256
    assert any(reason in row for row in loaded.unmodelled), loaded.unmodelled


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ({"type": "Unigram"}, "model.type: Unigram"),
        ({"dropout": 0.1}, "model.dropout: 0.1"),
        ({"end_of_word_suffix": "</w>"}, "model.vocab: b'\\x00</w>' has no token"),
        ({"end_of_word_suffix": "</w>", "ignore_merges": True}, "model.ignore_merges: with an end_of_word_suffix"),
        ({"continuing_subword_prefix": "##"}, "model.continuing_subword_prefix"),
        ({"novelty": True}, "model.novelty: unknown option"),
        ({"vocab": BYTES | {"ab": 256, "abc": 257, "｜x": 258}}, "not in the byte alphabet"),
        ({"vocab": {k: v for k, v in BYTES.items() if v != 7} | {"ab": 256, "abc": 257}}, "byte 0x07 has no token"),
    ],
)
def test_model_options_that_are_not_modelled_are_named(tmp_path: Path, model: dict[str, Any], reason: str) -> None:
    loaded = load(tmp_path, whole(model))
    assert loaded.contract.algorithm == "opaque"
    assert any(reason in row for row in loaded.unmodelled), loaded.unmodelled


@pytest.mark.parametrize(
    "model",
    [
        {"dropout": None, "unk_token": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False},
        {"dropout": 0.0, "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True, "ignore_merges": True},
        {"continuing_subword_prefix": "", "end_of_word_suffix": ""},
    ],
)
def test_options_that_change_no_id_change_no_digest(tmp_path: Path, model: dict[str, Any]) -> None:
    assert load(tmp_path, whole(model)).contract == load(tmp_path, whole()).contract


@pytest.mark.parametrize(
    ("stage", "name"),
    [
        (None, "none"),
        ({"type": "ByteLevel"}, "none"),
        ({"type": "TemplateProcessing", "single": []}, "TemplateProcessing"),
        (
            {"type": "Sequence", "processors": [{"type": "ByteLevel"}, {"type": "RobertaProcessing"}]},
            "RobertaProcessing",
        ),
    ],
)
def test_the_post_processor_is_named(tmp_path: Path, stage: Any, name: str) -> None:
    loaded = load(tmp_path, whole(post_processor=stage))
    assert loaded.contract.post_processor == name
    assert loaded.unmodelled == []


def test_truncation_and_padding_are_noted(tmp_path: Path) -> None:
    loaded = load(tmp_path, whole(truncation={"max_length": 5}, padding={"pad_id": 0}))
    assert loaded.contract == load(tmp_path, whole()).contract
    assert any(note.startswith("truncation:") for note in loaded.notes)
    assert any(note.startswith("padding:") for note in loaded.notes)


def test_nfc_and_prefix_space_are_in_the_contract(tmp_path: Path) -> None:
    nested = {"type": "Sequence", "normalizers": [{"type": "NFC"}]}
    loaded = load(tmp_path, whole(normalizer=nested, pre_tokenizer=OWN | {"add_prefix_space": True}))
    assert (loaded.contract.normalizer, loaded.contract.add_prefix_space) == ("nfc", True)
    assert load(tmp_path, whole(normalizer={"type": "Sequence", "normalizers": []})).contract.normalizer == "none"


def test_whole_piece_look_up_stays_where_a_token_needs_it(tmp_path: Path) -> None:
    model = {"vocab": BYTES | {"ab": 256, "xyz": 257}, "merges": ["a b"], "ignore_merges": True}
    loaded = load(tmp_path, whole(model))
    assert loaded.contract.ignore_merges
    assert loaded.vocabulary.tokens[b"xyz"] == 257
    dead = load(tmp_path, whole(model | {"ignore_merges": False}))
    assert not dead.contract.ignore_merges
    assert b"xyz" not in dead.vocabulary.tokens
    assert dead.vocabulary.specials == {"xyz": 257}


# ---- added tokens


def test_plain_special_tokens_and_others_are_told_apart(tmp_path: Path) -> None:
    rows = [added("<s>", 258), added("<t>", 259, special=False), added("<l>", 260, lstrip=True, rstrip=True)]
    contract = load(tmp_path, whole(added_tokens=rows)).contract
    assert contract.special_tokens == (("<s>", 258),)
    assert contract.added_tokens == (("<t>", 259, ()), ("<l>", 260, ("lstrip", "rstrip")))
    assert contract.specials == "off"


def test_normalized_is_dropped_where_it_changes_nothing(tmp_path: Path) -> None:
    rows = [added("<s>", 258, normalized=True), added("<t>", 259)]
    assert load(tmp_path, whole(added_tokens=rows)).contract.added_tokens == ()
    with_nfc = load(tmp_path, whole(added_tokens=rows, normalizer={"type": "NFC"})).contract
    assert with_nfc.added_tokens == (("<s>", 258, ("normalized",)),)


@pytest.mark.parametrize(("one", "other"), [("<ab", "b>"), ("b>", "<ab"), ("<a>", "a"), ("a", "<a>")])
def test_normalized_stays_where_two_passes_can_differ(tmp_path: Path, one: str, other: str) -> None:
    rows = [added(one, 258, normalized=True), added(other, 97 if other == "a" else 259)]
    if one == "a":
        rows[0]["id"] = 97
    contract = load(tmp_path, whole(added_tokens=rows)).contract
    assert any("normalized" in flags for _, _, flags in contract.added_tokens)


def test_normalized_stays_beside_single_word(tmp_path: Path) -> None:
    """tokenizers matches `<s>` in `x<s>`: the raw token before it is no neighbour of the second pass."""
    rows = [added("<s>", 258, normalized=True, single_word=True), added("x", 120)]
    assert load(tmp_path, whole(added_tokens=rows)).contract.added_tokens == (
        ("<s>", 258, ("single_word", "normalized")),
    )


def test_an_added_text_that_is_an_ordinary_token_stays_one(tmp_path: Path) -> None:
    loaded = load(tmp_path, whole(added_tokens=[added("ab", 256)]))
    assert loaded.vocabulary.tokens[b"ab"] == 256
    assert loaded.contract.special_tokens == (("ab", 256),)


def test_a_gap_before_an_added_id_is_noted(tmp_path: Path) -> None:
    loaded = load(tmp_path, whole(added_tokens=[added("<s>", 300)]))
    assert any("after a gap" in note and "258" in note for note in loaded.notes)
    assert loaded.contract.special_tokens == (("<s>", 300),)


@pytest.mark.parametrize(
    ("change", "where", "said"),
    [
        ({"added_tokens": 3}, "added_tokens", "not a list"),
        ({"added_tokens": [{"id": 3}]}, "added_tokens[0]", "no content"),
        ({"added_tokens": [added("", 300)]}, "added_tokens[0]", "no content"),
        ({"added_tokens": [added("<s>", -1)]}, "added_tokens[0].id", "not an id"),
        ({"added_tokens": [added("<s>", 300), added("<s>", 301)]}, "added_tokens[1]", "added twice"),
        ({"added_tokens": [added("<s>", 300), added("<t>", 300)]}, "added_tokens[1]", "added twice"),
    ],
)
def test_bad_added_tokens_are_refused(tmp_path: Path, change: dict[str, Any], where: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        load(tmp_path, whole(**change))
    assert caught.value.where.endswith(where)


@pytest.mark.parametrize(
    ("model", "where", "said"),
    [
        ({"merges": None}, "model.merges", "not a list"),
        ({"merges": [7]}, "model.merges[0]", "not a merge"),
        ({"merges": ["a b", "abc"]}, "model.merges[1]", "not a merge"),
        ({"merges": ["a b", "x y"]}, "model.merges[1]", "has no id"),
        ({"vocab": []}, "model.vocab", "not an object"),
        ({"vocab": BYTES | {"ab": 97}}, "model.vocab['ab']", "id 97 is also that of"),
        ({"vocab": BYTES | {"ab": 1.5}}, "model.vocab['ab']", "not an id"),
    ],
)
def test_a_bad_model_is_refused(tmp_path: Path, model: dict[str, Any], where: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        load(tmp_path, whole(model))
    assert caught.value.where.endswith(where)
    assert caught.value.remedy
