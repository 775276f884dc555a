"""tokenizer.json straight into the encoder: the reader against the harness's, ids against tokenizers, refusals."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from tokassay.corpora.catalogue import find_entry
from tokassay.corpora.fetch import fetch_file
from tokassay.engines.dat_bpe import Encoder, LoadError, Refusal
from tokassay.engines.dat_bpe.tokenizer_json import parse_tokenizer_json, read_tokenizer_json
from tokassay.harness.load import load_vocabulary
from tokenizers import Tokenizer, pre_tokenizers

LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
QUIET = LEVEL | {"use_regex": False}
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPLIT = {"type": "Split", "pattern": {"Regex": QWEN2}, "behavior": "Isolated", "invert": False}
VOCAB = {name: number for number, name in enumerate([*sorted(pre_tokenizers.ByteLevel.alphabet()), "ab", "Ġa", "abab"])}
MERGES = ["a b", "Ġ a", "ab ab"]
PLAIN = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}


def added(text: str, number: int, **flags: bool) -> dict[str, Any]:
    return {"id": number, "content": text, **PLAIN, **flags}


def file_of(model: dict[str, Any] | None = None, **change: Any) -> dict[str, Any]:
    root: dict[str, Any] = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [added("<s>", 259)], "normalizer": None,
        "pre_tokenizer": LEVEL, "post_processor": None, "decoder": LEVEL,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": VOCAB, "merges": MERGES,
        },
    }
    root["model"] |= model or {}
    return root | change


@pytest.fixture
def written(tmp_path: Path) -> Callable[[dict[str, Any]], Path]:
    def write(root: dict[str, Any]) -> Path:
        path = tmp_path / "tokenizer.json"
        path.write_text(json.dumps(root), encoding="utf-8")
        return path

    return write


PARTS = ["a", "b", "ab", " a", "  ", "\n", "<s>", "<t>", "e\u0301", "\u00e9", "1", "'s", ".", "漢", "x", "abab", " "]
VARIANTS: dict[str, dict[str, Any]] = {
    "own": {},
    "pairs": {"model": {"merges": [row.split(" ") for row in MERGES]}},
    "version": {"model": {"merges": ["#version: 0.2", *MERGES]}},
    "prefix": {"pre_tokenizer": LEVEL | {"add_prefix_space": True}},
    "nfc": {"normalizer": {"type": "NFC"}},
    "nfc-nested": {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "NFC"}]}},
    "split": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [SPLIT, QUIET]}},
    "split-and-own": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [SPLIT, LEVEL]}},
    "removed": {
        "pre_tokenizer": {
            "type": "Sequence", "pretokenizers": [SPLIT | {"behavior": "Removed", "invert": True}, QUIET],
        },
    },
    "whole": {"model": {"ignore_merges": True, "vocab": VOCAB | {"xa": 259}}, "added_tokens": [added("<s>", 260)]},
    "dead": {"model": {"vocab": VOCAB | {"xa": 259}}, "added_tokens": [added("<s>", 260)]},
    "in-vocab": {"model": {"vocab": VOCAB | {"<s>": 259}}},
    "flags": {
        "normalizer": {"type": "NFC"},
        "added_tokens": [
            added("<s>", 259, lstrip=True), added("e\u0301", 260, normalized=True, special=False),
            added("<t>", 261, rstrip=True, single_word=True),
        ],
    },
    "idle": {"model": {"unk_token": "a", "fuse_unk": True, "byte_fallback": True, "dropout": 0.0}},
    "type": {"model": {"end_of_word_suffix": "", "continuing_subword_prefix": ""}},
    "after": {
        "truncation": {"direction": "Right", "max_length": 512, "strategy": "LongestFirst", "stride": 0},
        "post_processor": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True},
    },
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_ids_are_those_of_tokenizers(variant: str, written: Callable[[dict[str, Any]], Path]) -> None:
    path = written(file_of(**VARIANTS[variant]))
    ours, theirs = Encoder.load(path), Tokenizer.from_file(str(path))
    theirs.no_truncation()
    chance = random.Random(variant)
    for _ in range(300):
        text = "".join(chance.choices(PARTS, k=chance.randint(0, 12)))
        ids = ours.encode(text, specials=True).tolist()
        assert ids == theirs.encode(text, add_special_tokens=False).ids, ascii(text)
        if variant != "flags":  # there an added token's text is the name of a byte, and their decoder takes it for that
            assert ours.decode(ids).decode() == theirs.decode(ids, skip_special_tokens=False)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_harness_reads_the_same(variant: str, written: Callable[[dict[str, Any]], Path]) -> None:
    """Two readers that share no code: tokens, merges, expressions, flags and notes."""
    path = written(file_of(**VARIANTS[variant]))
    file, loaded = read_tokenizer_json(path), load_vocabulary(str(path))
    contract = loaded.contract
    assert loaded.vocabulary.tokens.items() <= file.tokens.items()
    if variant != "dead":  # made by no merge: the harness has it beside the tokens, for decoding
        assert file.tokens == loaded.vocabulary.tokens
    if loaded.vocabulary.merges is not None:
        assert file.merges == list(loaded.vocabulary.merges)
    assert (file.patterns, file.normalizer) == (contract.pretokenizer, contract.normalizer)
    assert (file.prefix_space, file.post_processor) == (contract.add_prefix_space, contract.post_processor)
    theirs = dict(contract.special_tokens) | {text: number for text, number, _ in contract.added_tokens}
    assert {token.text: token.id for token in file.added} == theirs


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"model": {"dropout": 0.1}}, "model.dropout: dropout 0.1 changes ids"),
    ({"model": {"continuing_subword_prefix": "##"}}, "model.continuing_subword_prefix"),
    ({"model": {"end_of_word_suffix": "</w>"}}, "model.end_of_word_suffix"),
    ({"model": {"novelty": 1}}, "model.novelty: unknown option"),
    ({"model": {"type": "WordPiece"}}, "model.type: a model of type 'WordPiece'"),
    ({"novelty": 1}, "novelty: unknown part"),
    ({"normalizer": {"type": "NFKC"}}, "normalizer: normalizer NFKC"),
    (
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]}},
        "normalizer.normalizers[1]: normalizer Lowercase",
    ),
    ({"pre_tokenizer": None}, "pre_tokenizer: does not end in ByteLevel"),
    ({"pre_tokenizer": {"type": "Metaspace"}}, "pre_tokenizer: does not end in ByteLevel"),
    (
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [SPLIT | {"behavior": "MergedWithNext"}, QUIET]}},
        "pre_tokenizer.pretokenizers[0].behavior: a Split with behavior MergedWithNext",
    ),
    (
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}, QUIET]}},
        "pre_tokenizer.pretokenizers[0]: pre_tokenizer Whitespace",
    ),
    (
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [SPLIT, LEVEL | {"add_prefix_space": True}]}},
        "pre_tokenizer.pretokenizers[1].add_prefix_space",
    ),
    ({"added_tokens": [added("<s>", 259, rstrip=True), added(" x", 260)]}, "begins with one"),
]


@pytest.mark.parametrize(("change", "words"), REFUSED, ids=[words[:40] for _, words in REFUSED])
def test_what_is_not_carried_out_is_named(
    change: dict[str, Any], words: str, written: Callable[[dict[str, Any]], Path]
) -> None:
    path = written(file_of(**change))
    with pytest.raises(Refusal) as caught:
        Encoder.load(path)
    assert words in str(caught.value)
    assert str(path) in caught.value.where and caught.value.remedy


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"model": {"vocab": {k: v for k, v in VOCAB.items() if k != "q"}}}, "model.vocab: byte 0x71 has no token"),
    ({"model": {"vocab": VOCAB | {"漢": 400}}}, "model.vocab: '漢' is not in the byte alphabet"),
    ({"model": {"vocab": VOCAB | {"zz": 2**32 - 1}}}, "'zz': 4294967295 is no id"),
    ({"model": {"vocab": VOCAB | {"zz": "9"}}}, "'zz': 9 is no id"),
    ({"model": {"vocab": VOCAB | {"zz": 258}}}, "an id stands for two tokens"),
    ({"model": {"vocab": []}}, "model.vocab: not a map"),
    ({"model": {"merges": None}}, "model.merges: not a list"),
    ({"model": {"merges": ["a b", "a b c"]}}, "model.merges[1]: not a merge"),
    ({"model": {"merges": ["a"]}}, "model.merges[0]: not a merge"),
    ({"model": {"merges": [["a", "漢"]]}}, "model.merges[0]: not in the byte alphabet"),
    ({"model": {"merges": ["a c"]}}, "model.merges[0]: b'ac' has no id"),
    ({"added_tokens": [{"id": 259}]}, "added_tokens[0]: no content"),
    ({"added_tokens": [added("<s>", "x")]}, "added_tokens[0]: '<s>': x is no id"),  # type: ignore[arg-type]
    ({"added_tokens": [added("ab", 400)]}, "added_tokens[0]: 'ab' has id 400, in model.vocab"),
    ({"added_tokens": [added("<s>", 5)]}, "added_tokens[0]: '<s>': id 5 is that of"),
    ({"added_tokens": [added("<s>", 259), added("<s>", 260)]}, "'<s>' is given twice"),
    ({"added_tokens": [added("é", VOCAB["é"])]}, "is the text of an added token, and names"),
    ({"added_tokens": 7}, "added_tokens"),
]


@pytest.mark.parametrize(("change", "words"), WRONG, ids=[words[:40] for _, words in WRONG])
def test_what_is_wrong_is_named_with_its_place(
    change: dict[str, Any], words: str, written: Callable[[dict[str, Any]], Path]
) -> None:
    with pytest.raises(LoadError) as caught:
        Encoder.load(written(file_of(**change)))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{", "not JSON"), (b"\xff", "not UTF-8 at byte 0"), (b"[1]", "no `model`"), (b"{}", "no `model`"),
        (b'{"model": {"type": "BPE", "vocab": {"a": 1, "a": 2}}}', "key 'a' is given twice"),
        (b"[" * 100_000, "too deep"),
    ],
)
def test_what_is_no_such_file(data: bytes, words: str) -> None:
    with pytest.raises(LoadError, match=words):
        parse_tokenizer_json(data, "made up")


def test_what_stands_beside_the_file_is_refused(written: Callable[[dict[str, Any]], Path], tmp_path: Path) -> None:
    path = written(file_of())
    for given in ({"pattern": "gpt2"}, {"specials": {"<s>": 259}}):
        with pytest.raises(LoadError, match="says itself"):
            Encoder.load(path, **given)
    with pytest.raises(LoadError, match="No such file"):
        Encoder.load(tmp_path / "absent.json")


def test_notes_name_what_acts_after_the_ids() -> None:
    root = file_of(
        post_processor={"type": "Sequence", "processors": [{"type": "ByteLevel"}, {"type": "TemplateProcessing"}]},
        decoder=None, padding={"strategy": "BatchLongest"},
    )
    file = parse_tokenizer_json(json.dumps(root).encode(), "made up")
    assert file.post_processor == "TemplateProcessing"
    assert [note.split(":")[0] for note in file.notes] == ["padding", "post_processor", "decoder"]


# ---- the real files (run by hand, or `nox -s network`)

FILES = {
    "hf-tokenizer-json-llama3": ("cl100k", 588), "hf-tokenizer-json-qwen3": ("qwen2", 0),
    "hf-tokenizer-json-gptoss": ("o200k", 0), "hf-tokenizer-json-deepseek-v3": ("deepseek", 0),
}


@pytest.mark.network
@pytest.mark.parametrize("slug", FILES)
def test_published_files(slug: str) -> None:
    """Read as the harness reads them; ids as tokenizers gives them, also of every token that no merging reaches."""
    path = fetch_file(find_entry(slug))
    file, loaded = read_tokenizer_json(path), load_vocabulary(str(path))
    assert (file.tokens, file.patterns) == (loaded.vocabulary.tokens, loaded.contract.pretokenizer)
    ours, theirs = Encoder.load(path), Tokenizer.from_file(str(path))
    pattern, unreachable = FILES[slug]
    assert (ours.pattern, ours.unreachable) == (pattern, unreachable)
    for name in ("kjv", "native", "naughty-strings", "python", "reina-valera", "shakespeare", "udhr"):
        document = (files("tokassay.fixtures") / "sample" / f"{name}.txt").read_text(encoding="utf-8")
        found = ours.encode(document, specials=True).tolist()
        assert found == theirs.encode(document, add_special_tokens=False).ids, name
    for number in ours.unreachable_ids():
        token = ours.token_bytes(number)
        assert ours.encode(token).tolist() == [number] or len(ours.pretokens(token)) > 1
        for before in ("", "a", " ", "\n"):
            try:
                document = before + token.decode()
            except UnicodeDecodeError:
                continue
            assert ours.encode(document).tolist() == theirs.encode(document, add_special_tokens=False).ids


@pytest.mark.network
def test_qwen_3_5_ranks() -> None:
    """201 tokens that merging by ranks does not reach: whole pieces are looked up first, as tiktoken does it."""
    import tiktoken

    path = fetch_file(find_entry("qwen-3-5-3-6"))
    ours = Encoder.load(path, pattern="qwen3.5")
    assert ours.unreachable == 201
    reference = tiktoken.Encoding(
        "qwen3.5", pat_str=ours.expressions[0],
        mergeable_ranks={ours.token_bytes(number): number for number in range(ours.n_vocab)}, special_tokens={},
    )
    for number in ours.unreachable_ids():
        token = ours.token_bytes(number)
        for document in (token, b"a" + token, token + b" ", b" " + token):
            if document.decode("utf-8", "ignore").encode() == document:
                assert ours.encode(document).tolist() == reference.encode_ordinary(document.decode())
