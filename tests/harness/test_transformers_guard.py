"""The settings of a folder of tokenizer files: read without transformers, and what changed in words."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tokassay.harness.errors import InputError
from tokassay.harness.transformers_guard import around, compare, read_settings, token_text

TOKENIZER: dict[str, Any] = {
    "added_tokens": [
        {"id": 3, "content": "<s>", "special": True, "normalized": False},
        {"id": 4, "content": "</s>", "special": True, "normalized": False, "lstrip": True},
    ],
    "normalizer": {"type": "NFC"},
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    "decoder": None,
    "post_processor": {
        "type": "Sequence",
        "processors": [
            {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            {
                "type": "TemplateProcessing",
                "single": [
                    {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                    {"SpecialToken": {"id": "</s>", "type_id": 0}},
                ],
                "pair": [
                    {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                    {"Sequence": {"id": "B", "type_id": 1}},
                ],
                "special_tokens": {
                    "<s>": {"id": "<s>", "ids": [3], "tokens": ["<s>"]},
                    "</s>": {"id": "</s>", "ids": [4], "tokens": ["</s>"]},
                },
            },
        ],
    },
    "model": {"type": "BPE", "ignore_merges": False, "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
}
CONFIG: dict[str, Any] = {
    "bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": True}, "pad_token": None, "add_bos_token": True,
    "add_prefix_space": False, "clean_up_tokenization_spaces": False, "model_max_length": 4096, "padding_side": "left",
    "chat_template": "{{ messages }}",
    "added_tokens_decoder": {"3": {"content": "<s>", "special": True}, "4": {"content": "</s>", "special": True}},
}


def folder(path: Path, tokenizer: dict[str, Any] = TOKENIZER, config: dict[str, Any] = CONFIG, **files: Any) -> Path:
    """The folder's tokenizer.json."""
    path.mkdir(exist_ok=True)
    made = {"tokenizer.json": tokenizer, "tokenizer_config.json": config, **files}
    for name, value in made.items():
        (path / name).write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path / "tokenizer.json"


def settings(path: Path) -> dict[str, Any]:
    found = read_settings(path, "tokenizer.json")
    assert found is not None
    return found


def test_what_is_recorded(tmp_path: Path) -> None:
    found = settings(folder(tmp_path, **{"special_tokens_map.json": {"eos_token": "</s>"},
                                         "generation_config.json": {"eos_token_id": [4, 9]}}))  # fmt: skip
    assert found["tokenizer_config.json: bos_token"] == {"content": "<s>", "id": 3}
    assert found["tokenizer_config.json: eos_token"] == {"content": "</s>", "id": 4}
    assert found["tokenizer_config.json: pad_token"] is None
    assert found["special_tokens_map.json: eos_token"] == {"content": "</s>", "id": 4}
    assert found["generation_config.json: eos_token_id"] == [4, 9]
    assert found["tokenizer.json: ids put around a text"] == {"single": [3, "A", 4], "pair": [3, "A", "B"]}
    assert found["tokenizer.json: added token 4"] == {"content": "</s>", "flags": ["lstrip", "special"]}
    assert found["tokenizer_config.json: padding_side"] == "left"
    assert found["tokenizer.json: model.vocab"]["entries"] == 3


CHANGES: dict[str, tuple[Any, Any, str]] = {
    "eos": (None, {"eos_token": "<s>"},
            'tokenizer_config.json: eos_token: content was "</s>" and is "<s>"; id was 4 and is 3'),
    "pad": (None, {"pad_token": "</s>"}, "tokenizer_config.json: pad_token was null and is"),
    "bos added": (None, {"add_bos_token": False}, "tokenizer_config.json: add_bos_token was true and is false"),
    "clean-up": (None, {"clean_up_tokenization_spaces": True},
                 "tokenizer_config.json: clean_up_tokenization_spaces was false and is true"),
    "prefix space": (None, {"add_prefix_space": True},
                     "tokenizer_config.json: add_prefix_space was false and is true"),
    "length": (None, {"model_max_length": 8192}, "tokenizer_config.json: model_max_length was 4096 and is 8192"),
    "side": (None, {"padding_side": "right"}, 'tokenizer_config.json: padding_side was "left" and is "right"'),
    "template": (None, {"chat_template": "{{ messages }} "},
                 "tokenizer_config.json: chat_template: characters was 14 and is 15; sha256 was"),
    "id": ({"added_tokens": [TOKENIZER["added_tokens"][0]]}, None, "tokenizer.json: added token 4 was"),
    "flag": ({"added_tokens": [TOKENIZER["added_tokens"][0], {"id": 4, "content": "</s>", "special": True}]}, None,
             'tokenizer.json: added token 4: flags was ["lstrip", "special"] and is ["special"]'),
    "no post-processor": ({"post_processor": None}, None,
                          'tokenizer.json: ids put around a text: pair was [3, "A", "B"] and is ["A", "B"]'),
    "normalizer": ({"normalizer": None}, None, 'tokenizer.json: normalizer was {"type": "NFC", "sha256":'),
    "a merge": ({"model": {**TOKENIZER["model"], "merges": ["b a"]}}, None, "tokenizer.json: model.merges: sha256 was"),
    "a model's option": ({"model": {**TOKENIZER["model"], "ignore_merges": True}}, None,
                         "tokenizer.json: model.ignore_merges was false and is true"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_each_change_is_one_sentence(name: str, tmp_path: Path) -> None:
    tokenizer, config, sentence = CHANGES[name]
    before = settings(folder(tmp_path / "a"))
    path = folder(tmp_path / "b", {**TOKENIZER, **(tokenizer or {})}, {**CONFIG, **(config or {})})
    changes = compare(before, settings(path))
    assert len(changes) == 1 and changes[0].sentence.startswith(sentence), changes


def test_a_sentence_says_what_it_does(tmp_path: Path) -> None:
    changes = compare(
        settings(folder(tmp_path / "a")), settings(folder(tmp_path / "b", config={**CONFIG, "add_bos_token": False}))
    )
    assert changes[0].sentence.endswith("add_bos_token was true and is false (whether a text begins with BOS)")


def test_nothing_changed_in_a_file_written_otherwise(tmp_path: Path) -> None:
    before = settings(folder(tmp_path / "a"))
    path = folder(tmp_path / "b", config=dict(reversed(CONFIG.items())))
    (tmp_path / "b" / "tokenizer.json").write_text(json.dumps(TOKENIZER, indent=3))
    assert compare(before, settings(path)) == []


def test_merges_as_lists_are_the_same(tmp_path: Path) -> None:
    before = settings(folder(tmp_path / "a"))
    model = {**TOKENIZER["model"], "merges": [["a", "b"]]}
    assert compare(before, settings(folder(tmp_path / "b", {**TOKENIZER, "model": model}))) == []


def test_templates_in_files_of_their_own(tmp_path: Path) -> None:
    path = folder(tmp_path, config={}, **{"chat_template.jinja": "a"})
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "tool.jinja").write_text("bc")
    found = settings(path)
    assert found["chat_template.jinja: chat_template"]["characters"] == 1
    assert found["additional_chat_templates/tool.jinja: chat_template"]["characters"] == 2


@pytest.mark.parametrize(
    ("stage", "made"),
    [
        (None, {"single": ["A"], "pair": ["A", "B"]}),
        ({"type": "ByteLevel"}, {"single": ["A"], "pair": ["A", "B"]}),
        ({"type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]},
         {"single": [101, "A", 102], "pair": [101, "A", 102, "B", 102]}),
        ({"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0]},
         {"single": [0, "A", 2], "pair": [0, "A", 2, 2, "B", 2]}),
    ],
)  # fmt: skip
def test_post_processors(stage: Any, made: dict[str, Any]) -> None:
    assert around(stage) == made


def test_the_same_as_the_library_does(tmp_path: Path) -> None:
    """tokenizers itself puts those ids around a text and a pair."""
    import tokenizers

    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    added = [{**flags, **row} for row in TOKENIZER["added_tokens"]]
    path = folder(tmp_path, {"version": "1.0", **TOKENIZER, "added_tokens": added, "truncation": None, "padding": None})
    library = tokenizers.Tokenizer.from_file(str(path))
    found = settings(path)["tokenizer.json: ids put around a text"]
    assert library.encode("ab").ids == [2 if one == "A" else one for one in found["single"]]
    assert library.encode("ab", "a").ids == [{"A": 2, "B": 0}.get(one, one) for one in found["pair"]]


def test_a_file_that_is_no_json_is_named(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{\n "a" 1}')
    with pytest.raises(InputError) as raised:
        settings(path)
    assert raised.value.where == f"{tmp_path / 'tokenizer_config.json'}:2:6"


def test_tokens_in_words(tmp_path: Path) -> None:
    path = folder(tmp_path)
    assert [token_text(path, "tokenizer.json", number) for number in (2, 4, 99)] == ["ab", "</s>", None]
    unigram = folder(tmp_path / "u", {"model": {"type": "Unigram", "vocab": [["<unk>", 0.0], ["a", -1.0]]}})
    assert token_text(unigram, "tokenizer.json", 1) == "a"


def test_transformers_is_not_imported(tmp_path: Path) -> None:
    settings(folder(tmp_path))
    assert "transformers" not in sys.modules
