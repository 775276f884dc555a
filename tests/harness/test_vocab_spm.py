"""SentencePiece models in the harness: reading, damage, identity, derived files, an audit."""

from __future__ import annotations

import gzip
import importlib.util
import json
import random
import re
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from tokassay.harness import vocab_gguf_spm
from tokassay.harness.cause import changes
from tokassay.harness.cli import main
from tokassay.harness.contract import Contract
from tokassay.harness.differ import Side
from tokassay.harness.errors import InputError
from tokassay.harness.hosts import Target, oracle_spec
from tokassay.harness.load import Loaded, as_greedy, load_vocabulary
from tokassay.harness.materialize import materialize
from tokassay.harness.materialize_spm import Lost, merge_list, tokenizer_json
from tokassay.harness.oracle_here import oracle_here
from tokassay.harness.vocab_spm import SentencePieces
from tokassay.oracles import spm_file
from tokenizers import Tokenizer

SPEC = importlib.util.spec_from_file_location("piece_models", Path(__file__).parents[1] / "piece_models.py")
assert SPEC is not None and SPEC.loader is not None
models: Any = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(models)
HEAD, NORMAL, UNUSED, USER_DEFINED, BYTE = models.HEAD, models.NORMAL, models.UNUSED, models.USER_DEFINED, models.BYTE
SPACE = "\u2581"
ROWS = [*HEAD, (SPACE, -3.0, NORMAL), ("a", -4.0, NORMAL), ("b", -5.0, NORMAL), ("ab", -1.0, NORMAL)]


def loaded_from(tmp_path: Path, data: bytes, name: str = "m.model") -> Loaded:
    path = tmp_path / name
    path.write_bytes(data)
    return load_vocabulary(path)


def test_what_a_model_says_is_its_contract(tmp_path: Path) -> None:
    loaded = loaded_from(tmp_path, models.model([*ROWS, ("x", 0.0, USER_DEFINED)]))
    assert loaded.contract == Contract(
        "bpe-scores", loaded.vocabulary.digest, add_prefix_space=True, unknown=0, byte_policy="replace-each-byte"
    )
    assert "whitespace" not in loaded.contract.to_json()
    assert Contract.from_json(loaded.contract.to_json()) == loaded.contract
    assert dict(loaded.vocabulary.tokens) == {b" ": 3, b"a": 4, b"b": 5, b"ab": 6, b"x": 7}
    assert loaded.vocabulary.ids()[1] == b"<s>"
    other = loaded_from(tmp_path, models.model(ROWS, models.UNIGRAM, collapse=True, prefix=False, suffix=True))
    assert (other.contract.algorithm, other.contract.whitespace) == ("unigram-viterbi", ("collapse", "suffix"))
    assert not other.contract.add_prefix_space
    bytes_ = loaded_from(tmp_path, models.model([*ROWS, *models.BYTES], fallback=True))
    assert (bytes_.contract.byte_fallback, bytes_.vocabulary.ids()[7 + 0x0A]) == (True, b"\n")
    # Neither the file's name nor what says nothing about ids is of any account, and no Unicode version has a say.
    packed = loaded_from(tmp_path, gzip.compress(models.model(ROWS, more=models.field(99, b"?"))), "other.spm")
    assert packed.contract == loaded_from(tmp_path, models.model(ROWS)).contract
    assert packed.contract.with_variants(unicode="17.0") == packed.contract


def test_the_canonical_form_is_as_documented(tmp_path: Path) -> None:
    data = models.model(ROWS[:4], charsmap=charsmap())
    vocabulary = loaded_from(tmp_path, data).vocabulary
    lines = vocabulary.canonical().decode().splitlines()
    assert lines[0] == "P 0 unknown 00000000 " + b"<unk>".hex()
    assert lines[3] == "P 3 normal c0400000 " + SPACE.encode().hex()
    assert lines[4].startswith("C ") and lines[5] == "U " + " \u2047 ".encode().hex() and len(lines) == 6


@pytest.mark.parametrize(
    "changed",
    [
        lambda rows: [*rows[:-1], ("ab", -1.5, NORMAL)], lambda rows: [*rows[:-1], ("ba", -1.0, NORMAL)],
        lambda rows: [*rows[:-1], ("ab", -1.0, USER_DEFINED)], lambda rows: [*rows[:4], rows[5], rows[4], rows[6]],
    ],
)  # fmt: skip
def test_scores_texts_types_and_order_are_the_identity(
    changed: Callable[[list[Any]], list[Any]], tmp_path: Path
) -> None:
    one, other = (loaded_from(tmp_path, models.model(rows)) for rows in (ROWS, changed(ROWS)))
    assert one.contract.vocabulary != other.contract.vocabulary


def charsmap() -> bytes:
    return spm_file.parse(models.trained(vocab_size=110)).charsmap


def test_a_map_and_an_unknown_text_are_the_identity(tmp_path: Path) -> None:
    plain, mapped, told = (
        loaded_from(tmp_path, models.model(ROWS, **more)).contract
        for more in ({}, {"charsmap": charsmap()}, {"more": models.field(2, models.field(44, b"?"))})
    )
    assert len({plain.vocabulary, mapped.vocabulary, told.vocabulary}) == 3
    assert (plain.normalizer, mapped.normalizer) == ("none", "charsmap")


def test_the_two_readers_agree(tmp_path: Path) -> None:
    for data in (models.trained(vocab_size=110), models.model([*ROWS, *models.BYTES], fallback=True, suffix=True)):
        ours, oracles = loaded_from(tmp_path, data).vocabulary, spm_file.parse(data)
        assert isinstance(ours, SentencePieces)
        assert tuple((piece.text, piece.score, piece.kind) for piece in ours.pieces) == oracles.pieces
        assert (ours.charsmap, ours.unknown_surface) == (oracles.charsmap, oracles.unknown_surface)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (models.model([*ROWS, ("a", -1.0, NORMAL)]), r"piece 7 \(b'a'\) is there twice"),
        (models.model([*ROWS, ("", -1.0, NORMAL)]), "has no text"),
        (models.model([*ROWS, ("a\0", -1.0, NORMAL)]), "holds a NUL"),
        (models.model([*ROWS, ("a" * 8000, -1.0, NORMAL)]), "longer than 7999"),
        (models.model([*ROWS, ("<0x00>", 0.0, BYTE)]), "byte_fallback is not set"),
        (models.model([*ROWS, ("<0x0g>", 0.0, BYTE)], fallback=True), "names no byte"),
        (models.model([*ROWS, *models.BYTES[:-1]], fallback=True), "not every byte"),
        (models.model([*ROWS, ("<u>", 0.0, models.UNKNOWN)]), "2 unknown pieces"),
        (models.model(ROWS[1:]), "0 unknown pieces"),
        (models.model([*ROWS, ("c", float("inf"), NORMAL)], models.UNIGRAM), "has the score inf"),
        (models.model(ROWS, charsmap=b"\x00\x04\x00\x00abc"), "charsmap is not whole"),
        (models.field(2, models.field(3, 2)), "no pieces"),
        (b"\n\x0e\n\x05<unk>", "field 1 has 14 bytes, and 7 are left"),
        (models.model(ROWS) + b"\x80", "in the middle of a number"),
        (models.model(ROWS) + b"\xff" * 11, "more than ten bytes"),
        (models.model(ROWS) + b"\x0b", "not a field"),
        (models.model(ROWS) + models.field(1, 3), "a number in place of a message"),
        (models.model(ROWS) + models.field(1, models.field(1, 3)), "of another kind"),
        (models.model(ROWS) + models.field(3, models.field(3, b"x")), "add_dummy_prefix is of another kind"),
    ],
)
def test_damage_is_named_with_its_byte(data: bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said) as caught:
        loaded_from(tmp_path, data)
    assert str(tmp_path / "m.model") + ": byte " in caught.value.where
    assert caught.value.remedy


def test_every_cut_is_an_input_error_or_another_vocabulary(tmp_path: Path) -> None:
    data = models.model([*ROWS, *models.BYTES], fallback=True)
    whole = loaded_from(tmp_path, data).contract
    draw = random.Random(7)
    for at in [*range(1, 80), *(draw.randrange(80, len(data)) for _ in range(80))]:
        try:
            assert loaded_from(tmp_path, data[:at]).contract != whole
        except InputError as error:
            assert error.remedy
        bent = bytearray(data)
        bent[at] ^= 1 << draw.randrange(8)
        try:
            loaded_from(tmp_path, bytes(bent))
        except InputError as error:
            assert error.remedy


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (models.model(ROWS, models.WORD), "trainer_spec.model_type: word"),
        (models.model(ROWS, models.CHAR), "trainer_spec.model_type: char"),
        (models.model([*ROWS, ("c", -1.0, 9)]), r"pieces\[7\].type: 9"),
        (models.model([*ROWS, ("c", float("nan"), NORMAL)]), r"pieces\[7\].score: nan"),
        (models.model(ROWS, more=models.field(5, models.field(2, b"map"))), "denormalizer_spec"),
    ],
)
def test_what_is_not_modelled_is_opaque_with_its_reason(data: bytes, said: str, tmp_path: Path) -> None:
    loaded = loaded_from(tmp_path, data)
    assert loaded.contract == Contract("opaque", loaded.file_sha256)
    assert any(re.search(said, reason) for reason in loaded.unmodelled)
    assert materialize(loaded, loaded.contract, tmp_path / "cache") == {"source": str(tmp_path / "m.model")}


def test_pieces_are_no_vocabulary_of_bytes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="pieces of normalized text"):
        as_greedy(loaded_from(tmp_path, models.model(ROWS)), "m")


# ---- derived files: two engines that are not ours must agree on the model and on what was derived from it


TEXTS = [
    "", " ", "  ", "hello world", "  hello   world ", "the theme of it", "(naïve) café 100%", "日本語の文章です",
    "привет мир, good mood", "<unk> <s> </s>", "a\u3000b\u00a0c\td\n", "zzz", "xyz zzz q", "ＡＢＣ ①", "\u2047",
]  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        {"vocab_size": 400, "model_type": "bpe", "byte_fallback": True, "normalization_rule_name": "identity",
         "remove_extra_whitespaces": False},
        {"vocab_size": 150, "model_type": "bpe"},
        {"vocab_size": 110, "model_type": "unigram"},
        {"vocab_size": 110, "normalization_rule_name": "nfkc"},
        {"vocab_size": 110, "add_dummy_prefix": False, "remove_extra_whitespaces": False},
        {"vocab_size": 110, "user_defined_symbols": ("(", "%")},
    ],
    ids=["bpe, byte fallback", "bpe", "unigram", "nfkc", "no prefix", "user-defined"],
)  # fmt: skip
def test_a_tokenizer_json_means_the_model(options: dict[str, Any], tmp_path: Path) -> None:
    data = models.trained(**options)
    loaded = loaded_from(tmp_path, data)
    paths = materialize(loaded, loaded.contract, tmp_path / "cache")
    assert paths["sentencepiece"] == paths["source"]
    made, right = Tokenizer.from_file(paths["tokenizer.json"]), sentencepiece.SentencePieceProcessor(model_proto=data)
    for text in TEXTS:
        ids = made.encode(text, add_special_tokens=False).ids
        assert ids == right.encode(text), text
        assert made.decode(ids, skip_special_tokens=False) == right.decode(ids), text
    assert materialize(loaded, loaded.contract, tmp_path / "cache") == paths


def test_runs_of_one_score_are_listed_so_that_they_grow_from_the_left() -> None:
    """Llama's runs of spaces all have the score -1e9."""
    merges = merge_list({("a" * n).encode(): -1e9 if n > 1 else 0.0 for n in range(1, 5)})
    assert merges == [(b"aaa", b"a"), (b"aa", b"a"), (b"a", b"a")]


def test_a_list_that_does_not_mean_the_scores_is_not_handed_out() -> None:
    """`ab` and `bc` have one score: in `abc` the leftmost merges, whichever is listed first."""
    scores = {b"a": -9.0, b"b": -9.0, b"c": -9.0, b"ab": -1.0, b"bc": -1.0, b"ca": -1.0}
    with pytest.raises(Lost, match="does not come out"):
        merge_list(scores)
    merge_list({**scores, b"bc": -1.5, b"ca": -1.25})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (models.model([*ROWS, ("c", -1.0, UNUSED)]), "unused pieces"),
        (models.model([*ROWS, ("c", -1.0, USER_DEFINED)]), "user-defined piece"),
        (models.model(ROWS, suffix=True), "white space"),
        (models.model([*ROWS, *models.BYTES], models.UNIGRAM, fallback=True), "names of byte pieces"),
        (models.model([*ROWS, ("\uff43", -1.0, USER_DEFINED)], models.UNIGRAM, charsmap=charsmap()), "character map"),
        (models.model(ROWS, more=models.field(2, models.field(44, b"?"))), "spell what an unknown id"),
    ],
)
def test_what_a_tokenizer_json_cannot_say_makes_none(data: bytes, said: str, tmp_path: Path) -> None:
    loaded = loaded_from(tmp_path, data)
    with pytest.raises(Lost, match=said):
        tokenizer_json(loaded.vocabulary, loaded.contract)
    for _ in range(2):
        assert set(materialize(loaded, loaded.contract, tmp_path / "cache")) == {"source", "sentencepiece"}


def test_a_gzipped_model_is_unpacked_for_engines(tmp_path: Path) -> None:
    data = models.model(ROWS)
    loaded = loaded_from(tmp_path, gzip.compress(data), "m.model.gz")
    paths = materialize(loaded, loaded.contract, tmp_path / "cache")
    assert Path(paths["sentencepiece"]).read_bytes() == data


# ---- an audit


def test_an_audit_holds_engines_to_the_model(run_audit: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "m.model"
    path.write_bytes(models.trained(vocab_size=400, model_type="bpe", byte_fallback=True))
    documents = [text.encode() for text in TEXTS] + [b"hello \xff world", b"\xe2\x82"]
    run = run_audit(
        "sentencepiece", "tokenizers", documents=documents, vocabulary=str(path),
        operations=("encode", "encode_batch", "decode", "offsets"),
    )  # fmt: skip
    assert run.outcome.exit_code == 0, run.divergences("tokenizers")
    for operation in ("encode", "encode_batch", "decode"):
        assert run.verdicts("sentencepiece", operation) == {"match": len(documents)}
        assert run.verdicts("tokenizers", operation) == {"match": len(TEXTS), "reject": 2}
    assert run.verdicts("sentencepiece", "offsets")["match"] > 4


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"add_prefix_space": False}, "without a space put before the text"),
        ({"whitespace": ()}, "with white space kept instead of collapse"),
        ({"normalizer": "none"}, "without a normalizer"),
        ({"byte_fallback": False}, "without byte fallback"),
        ({"byte_policy": "replace"}, "byte policy replace instead of replace-each-byte"),
    ],
)
def test_an_engine_that_does_one_thing_otherwise_is_told(fields: dict[str, Any], words: str, tmp_path: Path) -> None:
    """The oracle under a changed contract stands for an engine."""
    loaded = loaded_from(tmp_path, models.trained(vocab_size=400, model_type="bpe", byte_fallback=True))
    right, wrong = (oracle_here(one, loaded) for one in (loaded.contract, replace(loaded.contract, **fields)))
    documents = [b"hello  \xe2\x82 \xf0\x9f\xa6\x99 \xef\xac\x81", *(text.encode() for text in TEXTS)]
    seen = [
        (each, Side("engine", ids=tuple(wrong.encode(each))), Side("oracle", ids=tuple(right.encode(each))))
        for each in documents
    ]
    targets = Target("engine", oracle_spec(), loaded.contract), Target("oracle", oracle_spec(), loaded.contract)
    told = changes(seen[0][1:], targets, loaded, documents[0], seen)
    assert {change.field for change in told} == set(fields)
    assert words in told[0].sentence


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    with pytest.raises(SystemExit) as stop:
        main([*words, "--json"])
    return int(stop.value.code or 0), json.loads(capsys.readouterr().out)


def test_commands_take_a_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "m.model"
    path.write_bytes(models.trained(vocab_size=400, model_type="bpe", byte_fallback=True))
    vocab = ("--vocab", str(path))
    code, same = run(capsys, "trace", "oracle", "--against", "sentencepiece", *vocab, "--text", " he\u0301llo  w")
    assert code == 0 and same["same"] and same["difference"] is None
    code, least = run(capsys, "reduce", "oracle", "oracle:replace", *vocab, "--hex", b"hello \xe2\x82 world".hex())
    # Under `replace` U+FFFD is text, which this map makes a space; under `replace-each-byte` no rule applies to it.
    assert (code, least["outcome"], len(least["minimal"])) == (1, "reduced", 2)
    golden = str(tmp_path / "golden.json")
    small = ("--corpus", "versions:0", "--engine", "sentencepiece")
    code, _ = run(capsys, "freeze", *vocab, "--out", golden, *small)
    assert code == 0
    assert run(capsys, "check", golden)[0] == 0
    rows = json.loads(Path(golden).read_text(encoding="utf-8"))
    assert rows["contract"]["algorithm"] == "bpe-scores"
    code, shown = run(capsys, "vocab", "verify", str(path))
    assert (code, shown["vocabularies"][0]["failures"]) == (0, [])


def test_a_wrong_engine_is_found(tmp_path: Path) -> None:
    """The oracle under another contract stands for an engine that leaves the prefix out."""
    loaded = loaded_from(tmp_path, models.model([*ROWS, *models.BYTES], fallback=True))
    right = oracle_here(loaded.contract, loaded)
    wrong = oracle_here(replace(loaded.contract, add_prefix_space=False), loaded)
    assert (right.encode(b"ab"), wrong.encode(b"ab")) == ([3, 6], [6])
    assert json.loads(tokenizer_json(loaded.vocabulary, loaded.contract))["model"]["merges"] == [["a", "b"]]


# ---- GGUF: the same model in llama.cpp's file


def gguf(rows: list[Any], kind: str = "llama", version: int = 3, **keys: tuple[int, bytes]) -> bytes:
    def text(value: bytes) -> bytes:
        return struct.pack("<Q", len(value)) + value

    def array(of: int, items: list[bytes]) -> tuple[int, bytes]:
        return 9, struct.pack("<IQ", of, len(items)) + b"".join(items)

    said = {
        "general.name": (8, text(b"test")), "tokenizer.ggml.model": (8, text(kind.encode())),
        "tokenizer.ggml.tokens": array(8, [text(row[0].encode()) for row in rows]),
        "tokenizer.ggml.scores": array(6, [struct.pack("<f", row[1]) for row in rows]),
        "tokenizer.ggml.token_type": array(5, [struct.pack("<i", row[2]) for row in rows]),
        **{f"tokenizer.ggml.{name}": value for name, value in keys.items()},
    }  # fmt: skip
    body = b"".join(text(name.encode()) + struct.pack("<I", of) + value for name, (of, value) in said.items())
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(said)) + body


def test_a_gguf_file_is_the_vocabulary_of_its_model(tmp_path: Path) -> None:
    rows = [*ROWS, *models.BYTES]
    held = loaded_from(tmp_path, gguf(rows), "m.gguf")
    assert held.contract == loaded_from(tmp_path, models.model(rows, fallback=True)).contract
    paths = materialize(held, held.contract, tmp_path / "cache")
    right = sentencepiece.SentencePieceProcessor(model_file=paths["sentencepiece"])
    assert oracle_here(held.contract, held).encode(b" abba\n") == right.encode(b" abba\n")
    blob = charsmap()
    more = {"precompiled_charsmap": (9, struct.pack("<IQ", 0, len(blob)) + blob), "add_space_prefix": (7, b"\0")}
    mapped = loaded_from(tmp_path, gguf([*ROWS, ("c", -1.0, UNUSED)], "t5", **more), "t.gguf")
    wanted = models.model([*ROWS, ("c", -1.0, UNUSED)], models.UNIGRAM, collapse=True, prefix=False, charsmap=blob)
    assert mapped.contract == loaded_from(tmp_path, wanted).contract
    # What is unused is no piece of a path, so that a tokenizer.json can say it: by a name that no text spells.
    paths = materialize(mapped, mapped.contract, tmp_path / "cache")
    right = sentencepiece.SentencePieceProcessor(model_proto=wanted)
    for text in ("abc", "c", "ab ba  cab"):
        assert Tokenizer.from_file(paths["tokenizer.json"]).encode(text).ids == right.encode(text)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (gguf(ROWS)[:-3], "are wanted"), (gguf(ROWS)[:40], "are left"), (gguf(ROWS, version=1), "version 1"),
        (gguf([*ROWS, ROWS[-1]]), "is there twice"), (gguf(ROWS, scores=(4, b"\0\0\0\0")), "no such array"),
        (gguf(ROWS, token_type=(9, struct.pack("<IQ", 5, 1) + b"\1\0\0\0")), "7 tokens, 7 scores and 1 types"),
        (gguf(ROWS, other=(99, b"")), "a value of type 99"),
        (gguf(ROWS, other=(9, struct.pack("<IQ", 0, 1 << 60))), "an array of"),
    ],
)  # fmt: skip
def test_a_damaged_gguf_file_is_named(data: bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said) as caught:
        loaded_from(tmp_path, data, "m.gguf")
    assert str(tmp_path / "m.gguf") in caught.value.where and caught.value.remedy


def test_another_tokenizer_in_a_gguf_file_is_opaque(tmp_path: Path) -> None:
    assert vocab_gguf_spm.holds(gguf(ROWS), "m.gguf") and not vocab_gguf_spm.holds(gguf(ROWS, "gpt2"), "m.gguf")
    assert loaded_from(tmp_path, gguf(ROWS, "gpt2"), "m.gguf").unmodelled == ["tokenizer.ggml.model: gpt2"]
