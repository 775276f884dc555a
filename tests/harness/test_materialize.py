"""Materialized files mean the contract: the tokenizers package gives tiktoken's ids from them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from tiktoken.load import load_tiktoken_bpe
from tokassay.harness.load import Loaded, load_vocabulary
from tokassay.harness.materialize import materialize
from tokenizers import Tokenizer

TEXTS = [
    "hello world",
    "",
    " ",
    "It's 12345 o'clock,\r\n\r\n  WE'LL see\tthat’s   all.  \n",
    "don't DON'T l'été naïve e\u0301 Ａ １２３ ②Ⅷ",
    "日本語のテキスト、한국어 العربية हिन्दी ไทย 🤦🏼‍♂️👩‍👩‍👧",
    "<|endoftext|>a<|endoftext|> <|endofprompt|><|fim_prefix|>x",
    "def f(x):\n    return {k: v for k, v in x.items()}\n\n\n",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" + " " * 90 + "b",
]
NAMES = ["gpt2", "cl100k_base", "o200k_base"]


@pytest.fixture(scope="module", params=NAMES)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    loaded = load_vocabulary(request.param)
    cache = tmp_path_factory.mktemp(request.param)
    contracts = {policy: loaded.contract.with_variants(specials=policy) for policy in ("off", "on")}
    yield loaded, {policy: materialize(loaded, contract, cache) for policy, contract in contracts.items()}


def by_tiktoken(loaded: Loaded, path: str) -> tiktoken.Encoding:
    return tiktoken.Encoding(
        "test",
        pat_str=loaded.contract.pretokenizer[0],
        mergeable_ranks=load_tiktoken_bpe(path),
        special_tokens=dict(loaded.contract.special_tokens),
    )


@pytest.mark.parametrize("policy", ["off", "on"])
def test_tokenizers_gives_tiktokens_ids(written: Any, policy: str) -> None:
    loaded, paths = written
    theirs = by_tiktoken(loaded, paths[policy]["tiktoken"])
    ours = Tokenizer.from_file(paths[policy]["tokenizer.json"])
    allowed: Any = "all" if policy == "on" else set()
    for text in TEXTS:
        expected = theirs.encode(text, allowed_special=allowed, disallowed_special=())
        assert ours.encode(text).ids == expected, text
        assert ours.decode(expected, skip_special_tokens=False) == text


@pytest.mark.parametrize("written", ["gpt2"], indirect=True)
def test_all_files_load_back_to_one_contract(written: Any) -> None:
    loaded, paths = written
    ranks = load_vocabulary(
        paths["off"]["tiktoken"], pattern=loaded.name, specials=dict(loaded.contract.special_tokens)
    )
    assert ranks.contract == loaded.contract
    on = load_vocabulary(paths["on"]["tokenizer.json"])
    assert dict(on.vocabulary.tokens) == dict(loaded.vocabulary.tokens)
    assert on.contract == loaded.contract
    assert on.notes == [
        f"the file itself matches its {len(loaded.contract.special_tokens)} added tokens in text: that is specials = on"
    ]
    pair = load_vocabulary(paths["off"]["vocab.bpe"], pattern=loaded.name)
    assert dict(pair.vocabulary.tokens) == dict(loaded.vocabulary.tokens)
    assert pair.contract.algorithm == "bpe-ranks"


def test_files_are_reused_and_never_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load_vocabulary("gpt2")
    first = materialize(loaded, loaded.contract, tmp_path)
    before = {name: Path(path).stat().st_mtime_ns for name, path in first.items()}
    again = materialize(loaded, loaded.contract.with_variants(unicode="17.0", byte_policy="reject"), tmp_path)
    assert again == first
    assert {name: Path(path).stat().st_mtime_ns for name, path in again.items()} == before

    def fail(*_: object, **__: object) -> bytes:
        raise KeyboardInterrupt

    Path(first["tokenizer.json"]).unlink()
    monkeypatch.setattr("tokassay.harness.materialize.tokenizer_json", fail)
    with pytest.raises(KeyboardInterrupt):
        materialize(loaded, loaded.contract, tmp_path)
    left = sorted(path.name for path in Path(first["vocab.bpe"]).parent.iterdir() if path.suffix != ".sha256")
    assert left == ["encoder.json", "vocab.bpe", "vocab.gguf", "vocab.tiktoken"]


@pytest.mark.parametrize("name", ["tiktoken", "tokenizer.json", "vocab.bpe"])
def test_a_file_changed_since_it_was_written_is_written_again(tmp_path: Path, name: str) -> None:
    """Engine and oracle read the same files: a damaged one would be wrong on both sides, and match."""
    loaded = load_vocabulary("gpt2")
    path = Path(materialize(loaded, loaded.contract, tmp_path)[name])
    right = path.read_bytes()
    for wrong in (right[: len(right) // 2], right.replace(b"a", b"b", 1), b""):
        path.write_bytes(wrong)
        assert materialize(loaded, loaded.contract, tmp_path)[name] == str(path)
        assert path.read_bytes() == right


def small(tmp_path: Path, lines: str) -> Path:
    import base64

    rows = [f"{base64.b64encode(bytes([byte])).decode()} {byte}" for byte in range(256)]
    path = tmp_path / "small.tiktoken"
    path.write_text("\n".join(rows) + "\n" + lines, encoding="ascii")
    return path


def test_without_proof_there_are_only_ranks(tmp_path: Path) -> None:
    loaded = load_vocabulary(small(tmp_path, "YWJj 256\n"), pattern="gpt2")
    assert loaded.contract.ignore_merges
    for _ in range(2):
        paths = materialize(loaded, loaded.contract, tmp_path / "cache")
        assert set(paths) == {"source", "tiktoken"}


def test_an_opaque_vocabulary_has_only_its_source(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text('{"model": {"type": "WordLevel", "vocab": {"a": 0}}}', encoding="utf-8")
    loaded = load_vocabulary(path)
    assert materialize(loaded, loaded.contract, tmp_path / "cache") == {"source": str(path)}


def test_the_empty_token_is_written_as_tiktoken_reads_it(tmp_path: Path) -> None:
    loaded = load_vocabulary(small(tmp_path, "YWI= 256\n= 257\n"), pattern="gpt2")
    paths = materialize(loaded, loaded.contract, tmp_path / "cache")
    assert load_tiktoken_bpe(paths["tiktoken"])[b""] == 257
    assert "" not in json.loads(Path(paths["tokenizer.json"]).read_text(encoding="utf-8"))["model"]["vocab"]
    assert Tokenizer.from_file(paths["tokenizer.json"]).encode("abc").ids == [256, 99]


def test_nfc_and_whole_piece_look_up_are_written(tmp_path: Path) -> None:
    from tokassay.harness.alphabet import CHARACTERS

    table = {character: byte for byte, character in enumerate(CHARACTERS)} | {"ab": 256, "xyz": 257}
    level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    root = {
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": level,
        "decoder": level,
        "model": {"type": "BPE", "vocab": table, "merges": ["a b"], "ignore_merges": True},
    }
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(root), encoding="utf-8")
    loaded = load_vocabulary(path)
    paths = materialize(loaded, loaded.contract, tmp_path / "cache")
    assert "tiktoken" not in paths
    ours, theirs = Tokenizer.from_file(paths["tokenizer.json"]), Tokenizer.from_file(str(path))
    for text in ("e\u0301", "xyz", " xyz", "ab ab"):
        assert ours.encode(text).ids == theirs.encode(text).ids


def test_added_flags_are_kept(tmp_path: Path) -> None:
    loaded = load_vocabulary("gpt2")
    from dataclasses import replace

    contract = replace(loaded.contract, specials="on", special_tokens=(), added_tokens=(("<M>", 50256, ("rstrip",)),))
    paths = materialize(loaded, contract, tmp_path)
    # Public fault report: a special token with rstrip swallows the newline after it.
    assert Tokenizer.from_file(paths["tokenizer.json"]).encode("<M>\nhello").ids == [50256, 31373]


def test_two_special_texts_with_one_id_have_no_tokenizer_json(tmp_path: Path) -> None:
    path = small(tmp_path, "YWI= 256\n")
    loaded = load_vocabulary(path, pattern="gpt2", specials={"<x>": 300, "<y>": 300})
    assert any("share the id 300" in note for note in loaded.notes)
    assert "tokenizer.json" in materialize(loaded, loaded.contract, tmp_path / "cache")
    on = materialize(loaded, loaded.contract.with_variants(specials="on"), tmp_path / "cache")
    assert set(on) == {"source", "tiktoken", "vocab.bpe", "encoder.json"}


def holed(tmp_path: Path, last: int) -> dict[str, int]:
    """The derived numbers of a byte vocabulary with `ab`, where 256 has no token and `last` is a special one, off."""
    path = small(tmp_path, "YWI= 257\n" + (f"YWJhYg== {last}\n" if last else ""))
    loaded = load_vocabulary(path, pattern="gpt2", specials={"<x>": 258})
    paths = materialize(loaded, loaded.contract, tmp_path / "cache")
    made = Tokenizer.from_file(paths["tokenizer.json"])
    assert made.encode("no token 256 abab<x>").ids == [
        *b"no", *b" token", *b" 256", 32, *([last] if last else [257, 257]), *b"<x>",
    ]
    return made.get_vocab()


def test_no_number_is_left_out_of_a_tokenizer_json(tmp_path: Path) -> None:
    # tokie did not end where numbers of special tokens that are off were missing.
    assert sorted(holed(tmp_path, 260).values()) == list(range(261))


def test_numbers_that_are_mostly_holes_are_left_so(tmp_path: Path) -> None:
    assert len(holed(tmp_path, 4_000_000_000)) == 258


def test_a_hole_is_no_token_by_its_text(tmp_path: Path) -> None:
    assert sorted(holed(tmp_path, 0).values()) == list(range(258))
