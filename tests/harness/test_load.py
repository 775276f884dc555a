"""Loading: known names, files, the three GPT-2 forms, and everything that is refused."""

from __future__ import annotations

import base64
import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import tiktoken_ext.openai_public as published
from tokassay.harness import known
from tokassay.harness.contract import Contract
from tokassay.harness.errors import InputError
from tokassay.harness.hf_stages import GPT2_PATTERN
from tokassay.harness.load import Loaded, load_vocabulary, read_specials
from tokassay.harness.vocab_wordpiece import RULES

FOLDER = known.vocabulary_folder()


def gpt2_parts() -> tuple[list[tuple[str, str]], dict[str, int]]:
    merges = gzip.decompress((FOLDER / "gpt2-vocab.bpe.gz").read_bytes()).decode().split("\n")[1:]
    ids = json.loads(gzip.decompress((FOLDER / "gpt2-encoder.json.gz").read_bytes()))
    return [(line.split(" ")[0], line.split(" ")[1]) for line in merges if line], ids


def saved_by_tokenizers(path: Path, *, added: bool) -> Path:
    """GPT-2 as the tokenizers package itself writes it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    merges, ids = gpt2_parts()
    tokenizer = Tokenizer(models.BPE(vocab=ids, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # type: ignore[assignment]
    tokenizer.decoder = decoders.ByteLevel()  # type: ignore[assignment]
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)  # type: ignore[assignment]
    if added:
        tokenizer.add_special_tokens(["<|endoftext|>"])
    tokenizer.save(str(path))
    return path


# ---- one GPT-2


def test_gpt2_is_one_contract_from_ranks_from_its_pair_and_from_tokenizer_json(tmp_path: Path) -> None:
    ranks = load_vocabulary("gpt2")
    pair = load_vocabulary(FOLDER / "gpt2-vocab.bpe.gz", pattern="gpt2")
    ids = load_vocabulary(FOLDER / "gpt2-encoder.json.gz", pattern="gpt2")
    written = load_vocabulary(saved_by_tokenizers(tmp_path / "tokenizer.json", added=True))
    assert {x.vocabulary.digest for x in (ranks, pair, ids, written)} == {ranks.vocabulary.digest}
    assert {x.contract.digest for x in (ranks, pair, ids, written)} == {ranks.contract.digest}
    assert ranks.contract.algorithm == "bpe-ranks"
    assert ranks.contract.special_tokens == (("<|endoftext|>", 50256),)


def test_gpt2_saved_without_its_added_token_is_the_same_vocabulary(tmp_path: Path) -> None:
    written = load_vocabulary(saved_by_tokenizers(tmp_path / "t.json", added=False))
    assert written.vocabulary.digest == load_vocabulary("gpt2").vocabulary.digest
    assert written.contract.special_tokens == ()
    assert any("<|endoftext|>" in note and "never encoded" in note for note in written.notes)


def test_plain_files_and_folders_load_like_gzipped_ones(tmp_path: Path) -> None:
    for name in ("vocab.bpe", "encoder.json"):
        (tmp_path / name).write_bytes(gzip.decompress((FOLDER / f"gpt2-{name}.gz").read_bytes()))
    folder = load_vocabulary(tmp_path, pattern="r50k")
    assert folder.contract == load_vocabulary("gpt2").contract


# ---- known names against tiktoken's own source


@pytest.mark.parametrize("name", ["r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony"])
def test_known_encodings_have_tiktokens_specials_and_file_digest(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes: list[str] = []

    def load(_: str, expected_hash: str) -> dict[bytes, int]:
        hashes.append(expected_hash)
        return {}

    monkeypatch.setattr(published, "load_tiktoken_bpe", load)
    theirs = getattr(published, name)()
    ours = known.find(name)
    assert ours is not None
    assert ours.specials == theirs["special_tokens"]
    assert [ours.sha256] == hashes


def test_o200k_pattern_is_tiktokens_letter_for_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "load_tiktoken_bpe", lambda *_, **__: {})
    assert known.patterns()["o200k_base"] == published.o200k_base()["pat_str"]
    assert known.patterns()["gpt2"] == GPT2_PATTERN


@pytest.mark.parametrize(
    ("alias", "name"), [("gpt2", "gpt2"), ("r50k_base", "gpt2"), ("cl100k", "cl100k_base"), ("o200k", "o200k_base")]
)
def test_aliases(alias: str, name: str) -> None:
    loaded = load_vocabulary(alias)
    assert loaded.name == name
    assert loaded.contract.pretokenizer == (known.patterns()[name],)
    assert (loaded.contract.unicode, loaded.contract.byte_policy) == ("16.0", "byte-alphabet")


def test_every_known_encoding_names_a_catalogue_entry_of_its_digest() -> None:
    from tokassay.corpora.fetch import find_entry

    for encoding in known.encodings():
        assert encoding.catalog or encoding.file
        if not encoding.catalog:  # made here
            continue
        assert find_entry(encoding.catalog).sha256 == encoding.sha256
        assert encoding.pattern is None or encoding.pattern in known.patterns() | RULES


def test_an_encoding_that_is_not_fetched_says_how_to_fetch_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKASSAY_CACHE", str(tmp_path))
    with pytest.raises(InputError, match="llama3 is not fetched") as caught:
        load_vocabulary("llama3")
    assert "tokassay vocab fetch llama3" in caught.value.remedy


# ---- rank files


def ranks_text(tokens: dict[bytes, int]) -> bytes:
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in tokens.items())


BYTES = {bytes([byte]): byte for byte in range(256)}


def ranks_file(tmp_path: Path, text: bytes) -> Path:
    path = tmp_path / "ranks.tiktoken"
    path.write_bytes(text)
    return path


def test_a_rank_file_needs_its_pattern_named() -> None:
    with pytest.raises(InputError, match="does not say which pattern") as caught:
        load_vocabulary(FOLDER / "r50k_base.tiktoken")
    for name in known.patterns():
        assert name in caught.value.remedy


def test_a_rank_file_takes_pattern_and_specials_as_given(tmp_path: Path) -> None:
    path = ranks_file(tmp_path, ranks_text(BYTES | {b"ab": 256}))
    loaded = load_vocabulary(path, pattern=r"\w+", specials={"<x>": 300, "<y>": 299})
    assert loaded.contract.pretokenizer == (r"\w+",)
    assert loaded.contract.special_tokens == (("<y>", 299), ("<x>", 300))
    bare = load_vocabulary(path, pattern="cl100k")
    assert bare.contract.pretokenizer == (known.patterns()["cl100k_base"],)
    assert any("no special tokens" in note for note in bare.notes)


def test_the_empty_token_stays_and_is_noted(tmp_path: Path) -> None:
    loaded = load_vocabulary(ranks_file(tmp_path, ranks_text(BYTES) + b"= 256\n"), pattern="gpt2")
    assert loaded.vocabulary.tokens[b""] == 256
    assert any("empty token" in note for note in loaded.notes)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (ranks_text(BYTES) + b"YWI\n", 257, "not a line"),
        (ranks_text(BYTES) + b"YWI= x\n", 257, "not a line"),
        (ranks_text(BYTES) + b"YWI= -1\n", 257, "not a line"),
        (ranks_text(BYTES) + b"YW 256\n", 257, "bad base64"),
        (ranks_text(BYTES) + b"Y?I= 256\n", 257, "bad base64"),
        (ranks_text(BYTES) + b"YQ== 256\n", 257, "listed twice"),
        (ranks_text(BYTES) + b"YWI= 97\n", 257, "rank 97 is given twice"),
        (ranks_text(BYTES) + b"YWI= 4294967296\n", 257, "not an id"),
        (ranks_text(BYTES) + b"YWI= " + b"9" * 5000 + b"\n", 257, "not a line"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: bytes, line: int, said: str) -> None:
    path = ranks_file(tmp_path, text)
    with pytest.raises(InputError, match=said) as caught:
        load_vocabulary(path, pattern="gpt2")
    assert caught.value.where == f"{path}:{line}"
    assert caught.value.remedy


def test_a_truncated_rank_file_misses_a_byte(tmp_path: Path) -> None:
    text = (FOLDER / "r50k_base.tiktoken").read_bytes()
    path = ranks_file(tmp_path, b"\n".join(text.split(b"\n")[:100]) + b"\n")
    with pytest.raises(InputError, match=r"byte 0x.. has no token"):
        load_vocabulary(path, pattern="gpt2")


@pytest.mark.parametrize(
    ("specials", "said"), [({"": 300}, "is empty"), ({"<x>": 97}, "an ordinary token's"), ({"<x>": -1}, "not an id")]
)
def test_bad_specials_are_refused(tmp_path: Path, specials: dict[str, int], said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_vocabulary(ranks_file(tmp_path, ranks_text(BYTES)), pattern="gpt2", specials=specials)


@pytest.mark.parametrize(("pattern", "said"), [("nosuch", "no pattern is called"), ("(a", "not a regular expression")])
def test_a_bad_pattern_is_refused(tmp_path: Path, pattern: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_vocabulary(ranks_file(tmp_path, ranks_text(BYTES)), pattern=pattern)


def test_a_known_file_with_other_bytes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "r50k_base.tiktoken"
    shutil.copy(FOLDER / "r50k_base.tiktoken", copy)
    copy.write_bytes(copy.read_bytes()[:-9])
    monkeypatch.setattr("tokassay.harness.load.known_path", lambda _: copy)
    with pytest.raises(InputError, match="SHA-256 is") as caught:
        load_vocabulary("gpt2")
    assert caught.value.where == str(copy)


# ---- files of no kind


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("x.bin", b"", "empty"),
        ("x.bin", b"\x7fELF whatever", "not a vocabulary format"),
        ("x.json", b'{"model": ', "not JSON"),
        ("x.json", b'{"a": 1}', "neither tokenizer.json"),
        ("x.json", b'{"model": 3}', "neither tokenizer.json"),
        ("x.json", b'{"model": {"vocab": {"a": 1, "a": 2}}}', "given twice"),
        ("x.json", b'{"\xff": 1}', "not UTF-8"),
        ("x.json.gz", b"\x1f\x8bnothing", "damaged gzip"),
        ("vocab.bpe", b"#version: 0.2\na b\n", "cannot be read"),
    ],
)
def test_files_that_are_no_vocabulary(tmp_path: Path, name: str, data: bytes, said: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError, match=said) as caught:
        load_vocabulary(path, pattern="gpt2" if name == "vocab.bpe" else None)
    assert str(tmp_path) in caught.value.where
    assert caught.value.remedy


def test_a_name_that_is_nothing_lists_the_names() -> None:
    with pytest.raises(InputError, match="no encoding and no file") as caught:
        load_vocabulary("gpt9")
    assert "cl100k_base" in caught.value.remedy


@pytest.mark.parametrize(
    ("merges", "ids", "said"),
    [
        ("a b c\n", {}, "not a merge"),
        ("a\n", {}, "not a merge"),
        ("a \u3000\n", {}, "not a merge"),
        ("a b\n", {}, "has no id"),
        ("a b\n", {"ab": 97}, "id 97 is also that of"),
        ("a b\n", {"ab": -1}, "not an id"),
        ("a b\n", {"ab": 256, "a": None}, "not an id"),
    ],
)
def test_a_bad_gpt2_pair_is_named(tmp_path: Path, merges: str, ids: dict[str, Any], said: str) -> None:
    from tokassay.harness.alphabet import CHARACTERS

    table = {character: byte for byte, character in enumerate(CHARACTERS)} | ids
    (tmp_path / "merges.txt").write_text("#version: 0.2\n" + merges, encoding="utf-8")
    (tmp_path / "vocab.json").write_text(json.dumps(table), encoding="utf-8")
    with pytest.raises(InputError, match=said) as caught:
        load_vocabulary(tmp_path / "merges.txt", pattern="gpt2")
    assert "merges.txt:2" in caught.value.where or "vocab.json[" in caught.value.where


def test_a_merge_listed_twice_counts_once_at_its_last_place(tmp_path: Path) -> None:
    from tokassay.harness.alphabet import CHARACTERS

    table = {character: byte for byte, character in enumerate(CHARACTERS)} | {"ab": 256, "bc": 257}
    (tmp_path / "merges.txt").write_text("a b\nb c\na b\n", encoding="utf-8")
    (tmp_path / "vocab.json").write_text(json.dumps(table), encoding="utf-8")
    loaded = load_vocabulary(tmp_path / "vocab.json", pattern="gpt2")
    assert loaded.contract.algorithm == "bpe-pairs"  # bc comes before ab, and its id behind
    assert any("listed twice" in note for note in loaded.notes)


# ---- tekken


def tekken(**change: Any) -> bytes:
    tokens = [bytes([byte]) for byte in range(256)] + [b"ab", b"abc", b"unused"]
    rows = [{"rank": i, "token_bytes": base64.b64encode(t).decode(), "token_str": None} for i, t in enumerate(tokens)]
    config = {"pattern": r"\s+", "num_vocab_tokens": 259, "default_vocab_size": 268, "default_num_special_tokens": 10}
    return json.dumps({"config": config, "vocab": rows} | change).encode()


def test_tekken_ids_are_ranks_past_the_specials(tmp_path: Path) -> None:
    path = tmp_path / "tekken.json"
    path.write_bytes(tekken(special_tokens=[{"rank": 0, "token_str": "<unk>", "is_control": True}]))
    loaded = load_vocabulary(path)
    assert loaded.vocabulary.tokens[b"abc"] == 267
    assert b"unused" not in loaded.vocabulary.tokens
    assert loaded.contract.special_tokens == (("<unk>", 0),)
    assert loaded.contract.pretokenizer == (r"\s+",)


@pytest.mark.parametrize(
    ("change", "where", "said"),
    [
        ({"config": 1}, "tekken.json", "neither tokenizer.json"),
        ({"vocab": [{"rank": 1}] * 300}, "vocab[0]", "not the entry of rank 0"),
        ({"vocab": []}, "vocab", "0 entries where config asks for 258"),
        ({"special_tokens": [{"rank": 0}]}, "special_tokens[0]", "no token_str"),
    ],
)
def test_bad_tekken_files_are_named(tmp_path: Path, change: dict[str, Any], where: str, said: str) -> None:
    path = tmp_path / "tekken.json"
    path.write_bytes(tekken(**change))
    with pytest.raises(InputError, match=said) as caught:
        load_vocabulary(path)
    assert caught.value.where.endswith(where)


# ---- special tokens of a rank file


def test_specials_from_a_json_file(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text('{"<x>": 300}', encoding="utf-8")
    assert read_specials(path) == {"<x>": 300}
    path.write_text('{"<x>": "300"}', encoding="utf-8")
    with pytest.raises(InputError, match="not an id"):
        read_specials(path)


def test_loaded_carries_the_contract_of_its_vocabulary() -> None:
    loaded: Loaded = load_vocabulary("cl100k")
    assert loaded.contract.vocabulary == loaded.vocabulary.digest
    assert Contract.from_json(loaded.contract.to_json()) == loaded.contract


# ---- the real files (run by hand, or `nox -s network`)

FETCHED = {
    "p50k_base": (50280, 0),
    "llama3": (128000, 588),
    "qwen": (151643, 0),
    "qwen3.5": (248044, 201),
    "tekken": (130072, 0),
    "whisper": (50257, 0),
    "llama4": (200000, 0),
}


@pytest.mark.network
@pytest.mark.parametrize("name", FETCHED)
def test_fetched_vocabularies_are_as_published(name: str) -> None:
    from tokassay.corpora.fetch import fetch_file, find_entry
    from tokassay.harness.vocab_verify import verify

    encoding = known.find(name)
    assert encoding is not None
    fetch_file(find_entry(encoding.catalog))
    row = verify(name)
    assert (row.tokens, row.unreachable) == FETCHED[name]
    assert row.failures == []


@pytest.mark.network
def test_converted_files_are_the_ranks_vocabularies() -> None:
    from tokassay.corpora.fetch import fetch_file, find_entry

    for slug in ("qwen-1-3", "hf-tokenizer-json-qwen3", "hf-tokenizer-json-gptoss", "hf-tokenizer-json-llama3"):
        fetch_file(find_entry(slug))
    qwen, converted = load_vocabulary("qwen").vocabulary, load_vocabulary("qwen3_json").vocabulary
    assert dict(qwen.tokens) == dict(converted.tokens)
    assert converted.merges is None
    gptoss = load_vocabulary("gptoss_json").vocabulary
    assert gptoss.merges is None
    assert dict(gptoss.tokens) == dict(load_vocabulary("o200k_base").vocabulary.tokens)
    llama = load_vocabulary("llama3_json")
    assert (llama.contract.algorithm, llama.contract.ignore_merges) == ("bpe-pairs", True)
