"""What the oracle refuses, normalizers, whole-piece look-up, vocabulary files, and the adapter."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tokassay.corpora.battery import battery
from tokassay.oracles import adapter, vocabfiles
from tokassay.oracles.bytepolicy import ALPHABET
from tokassay.oracles.errors import OracleError, Reject, Unsupported
from tokassay.oracles.oracle import Oracle
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

BYTES = {bytes([each]): each for each in range(256)}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("algorithm", "opaque"),
        ("algorithm", "unigram-viterbi"),
        ("normalizer", "nfd"),
        ("byte_policy", "wtf-8"),
        ("byte_policy", "raw"),
        ("byte_fallback", True),
        ("specials", "some"),
        ("pretokenizer", [r"\w+"]),
    ],
)
def test_what_is_not_modelled_is_refused_by_name(
    make_contract: Callable[..., dict[str, Any]], field: str, value: object
) -> None:
    with pytest.raises(Unsupported) as caught:
        Oracle(make_contract("gpt2", **{field: value}), BYTES)
    assert (value if isinstance(value, str) else field) in f"{caught.value} {caught.value.where}" or field in (
        "pretokenizer",
    )
    assert caught.value.remedy


def test_a_contract_with_a_hole_names_it(make_contract: Callable[..., dict[str, Any]]) -> None:
    contract = make_contract("gpt2")
    del contract["unicode"]
    with pytest.raises(OracleError, match="'unicode'"):
        Oracle(contract, BYTES)


def test_pairs_without_merges_and_missing_bytes_are_errors(make_contract: Callable[..., dict[str, Any]]) -> None:
    with pytest.raises(OracleError, match="merge list"):
        Oracle(make_contract("gpt2", algorithm="bpe-pairs"), BYTES)
    with pytest.raises(OracleError, match="62 is not a token"):
        Oracle(make_contract("gpt2"), {b"a": 0}).encode(b"ab")
    with pytest.raises(OracleError, match="no token has id 999"):
        Oracle(make_contract("gpt2"), BYTES).decode([999])


def test_whole_piece_first_only_where_the_contract_says_so(make_contract: Callable[..., dict[str, Any]]) -> None:
    """A token that merging cannot reach: `ignore_merges` gives it, plain merging does not."""
    tokens = BYTES | {b"abc": 256}
    assert Oracle(make_contract("gpt2"), tokens).encode(b"abc") == [97, 98, 99]
    whole = Oracle(make_contract("gpt2", ignore_merges=True), tokens)
    assert whole.encode(b"abc") == [256]
    assert whole.encode(b"abcd") == [97, 98, 99, 100]
    assert [each["path"] for each in whole.decisions(b"abc") if each["stage"] == "lookup"] == ["whole piece"]


def test_greedy_and_raw(make_contract: Callable[..., dict[str, Any]]) -> None:
    contract = make_contract("gpt2", algorithm="greedy-longest", pretokenizer=[], byte_policy="raw")
    oracle = Oracle(contract, BYTES | {b"a\xff": 256, b" b c": 257})
    assert oracle.encode(b"a\xff b c") == [256, 257]
    assert oracle.spans(b"a\xff b c") == [(0, 2), (2, 6)]


def test_greedy_with_an_unknown_id(make_contract: Callable[..., dict[str, Any]]) -> None:
    contract = make_contract("gpt2", algorithm="greedy-longest", pretokenizer=[], byte_policy="raw")
    tokens = {b"a": 0, b"b": 1, b"ab": 2}
    with pytest.raises(OracleError, match="no token starts with byte 3f"):
        Oracle(contract, tokens).encode(b"a?")
    oracle = Oracle(contract | {"unknown": 1}, tokens)
    assert oracle.encode(b"ab?a\xff") == [2, 1, 0, 1]
    assert oracle.decode([2, 1, 0, 1]) == b"abbab"
    with pytest.raises(Unsupported, match="span of an unknown id"):
        oracle.spans(b"ab")
    with pytest.raises(Unsupported, match="under bpe-ranks"):
        Oracle(make_contract("gpt2") | {"unknown": 1}, BYTES)


def test_replace_and_replace_each_byte(make_oracle: Callable[..., Oracle]) -> None:
    replacement = make_oracle("gpt2").encode("\ufffd".encode())
    assert make_oracle("gpt2", byte_policy="replace").encode(b"\xe2\x80") == replacement
    two = make_oracle("gpt2").encode("\ufffd\ufffd".encode())
    assert make_oracle("gpt2", byte_policy="replace-each-byte").encode(b"\xe2\x80") == two


def test_nfc_as_tokenizers_has_it(make_oracle: Callable[..., Oracle]) -> None:
    oracle = make_oracle("gpt2", normalizer="nfc")
    plain = make_oracle("gpt2")
    for text in ("e\u0301a", "\u1e9b\u0323", "\u0344", "\uac00\u11a8", "abc", "\u2126", "q\u0307\u0323"):
        assert oracle.encode(text.encode()) == plain.encode(normalizers.NFC().normalize_str(text).encode())


def test_nfc_is_that_of_the_contracts_version(make_oracle: Callable[..., Oracle]) -> None:
    plain = make_oracle("gpt2")
    younger, composed = "\U000105d2\u0307".encode(), "\U000105c9".encode()  # Todhri, of Unicode 16.0
    assert make_oracle("gpt2", normalizer="nfc", unicode="15.1").encode(younger) == plain.encode(younger)
    assert make_oracle("gpt2", normalizer="nfc", unicode="16.0").encode(younger) == plain.encode(composed)


def test_an_ill_formed_byte_is_a_starter_that_nothing_joins(make_oracle: Callable[..., Oracle]) -> None:
    oracle, plain = make_oracle("gpt2", normalizer="nfc"), make_oracle("gpt2")
    # 0xE9 stands for U+00E9 when it is classed: it is neither decomposed nor joined.
    assert oracle.encode(b"\xe9\xcc\xa3") == plain.encode(b"\xe9\xcc\xa3")
    assert oracle.encode(b"\xe9\xcc\x81\xcc\xa3") == plain.encode(b"\xe9\xcc\xa3\xcc\x81")
    assert oracle.encode(b"e\xcc\x81\xe9") == plain.encode(b"\xc3\xa9\xe9")


def test_spans_through_nfc_are_whole_chunks(make_oracle: Callable[..., Oracle]) -> None:
    oracle = make_oracle("gpt2", normalizer="nfc")
    document = "xe\u0301 \u212b\u0323y".encode()
    ids, spans = oracle.encode(document), oracle.spans(document)
    assert b"".join(oracle.decode([each]) for each in ids) == "x\u00e9 \u1ea0\u030ay".encode()
    assert spans[0] == (0, 1) and spans[1] == (1, 4)
    assert spans[-1] == (10, 11) and (5, 10) in spans
    assert [each for each in oracle.decisions(document) if each["stage"] == "normalize"] == [
        {"stage": "normalize", "offset": 1, "path": "nfc", "start": 1, "end": 4},
        {"stage": "normalize", "offset": 5, "path": "nfc", "start": 5, "end": 10},
    ]


def test_the_memo_does_not_change_ids(make_contract: Callable[..., dict[str, Any]], make_ranks: Any) -> None:
    oracle = Oracle(make_contract("gpt2"), make_ranks("gpt2"))
    first = oracle.encode("naïve naïve café\xff".encode() + b"\xe9 caf\xc3\xa9")
    assert oracle.encode("naïve naïve café\xff".encode() + b"\xe9 caf\xc3\xa9") == first
    first.append(0)
    assert oracle.encode(b"hello") == [31373]
    oracle.encode(b"hello").append(7)
    assert oracle.encode(b"hello") == [31373]


# ---- vocabulary files


@pytest.fixture(scope="module")
def gpt2_files(fixtures_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("gpt2")
    paths = {"tiktoken": str(fixtures_folder / "vocab" / "r50k_base.tiktoken")}
    for name in ("vocab.bpe", "encoder.json"):
        packed = (fixtures_folder / "vocab" / f"gpt2-{name}.gz").read_bytes()
        (folder / name).write_bytes(gzip.decompress(packed))
        paths[name] = str(folder / name)
    return paths


def test_gpt2_from_three_kinds_of_file_is_one_vocabulary(gpt2_files: dict[str, str], tmp_path: Path) -> None:
    ranks = vocabfiles.read_ranks(Path(gpt2_files["tiktoken"]))
    tokens, merges = vocabfiles.read_gpt2(Path(gpt2_files["vocab.bpe"]), Path(gpt2_files["encoder.json"]))
    assert tokens == ranks
    assert len(merges) == 50_000
    assert [tokens[left + right] for left, right in merges] == list(range(256, 50_256))

    def spelled(token: bytes) -> str:
        return "".join(ALPHABET[byte] for byte in token)

    for style in (lambda pair: " ".join(map(spelled, pair)), lambda pair: list(map(spelled, pair))):
        path = tmp_path / "tokenizer.json"
        vocab = {spelled(token): number for token, number in tokens.items()} | {"<|endoftext|>": 50256}
        file = {
            "added_tokens": [{"content": "<|endoftext|>", "id": 50256}],
            "model": {"vocab": vocab, "merges": [style(pair) for pair in merges]},
        }
        path.write_text(json.dumps(file))
        read, read_merges = vocabfiles.read_tokenizer_json(path)
        assert (read, read_merges) == (tokens, merges)


def test_an_added_text_that_a_merge_makes_is_a_token_too(tmp_path: Path) -> None:
    vocab = {ALPHABET[byte]: byte for byte in range(256)} | {"ab": 256, "abc": 257, "<x>": 258}
    rows = [{"content": text, "id": vocab[text]} for text in ("ab", "abc", "<x>", "a")]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"added_tokens": rows, "model": {"vocab": vocab, "merges": ["a b", "ab c"]}}))
    read, _ = vocabfiles.read_tokenizer_json(path)
    assert sorted(read.values()) == list(range(258))


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [("x.tiktoken", b"aGk= 0\naGk\n", ":2"), ("x.tiktoken", b"!!! 0\n", ":1"), ("x.json", b"{", "x.json")],
)
def test_a_broken_file_names_the_place(tmp_path: Path, name: str, content: bytes, place: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    read = vocabfiles.read_ranks if name.endswith("tiktoken") else vocabfiles.read_tokenizer_json
    with pytest.raises(OracleError) as caught:
        read(path)
    assert caught.value.where.endswith(place)


# ---- the adapter


def test_whole_pieces_that_no_merge_makes(make_contract: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    """As tokenizers has it: `ignore_merges` gives every token of the vocabulary, and no special one."""
    vocab = {ALPHABET[byte]: byte for byte in range(256)} | {"ab": 256, "abc": 257, "x!": 258}
    model = models.BPE(vocab=vocab, merges=[("a", "b")], ignore_merges=True)
    theirs = Tokenizer(model)
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    (tmp_path / "encoder.json").write_text(json.dumps(vocab))
    (tmp_path / "vocab.bpe").write_text("#version: 0.2\na b\n")
    files = {name: str(tmp_path / name) for name in ("vocab.bpe", "encoder.json")}
    contract = make_contract("gpt2", algorithm="bpe-pairs", ignore_merges=True, special_tokens=[["x!", 258]])
    ours = adapter.Adapter()
    ours.load(contract, files, 1, {})
    for text in ("abc", "ab", "abcd", "abc abc"):
        assert ours.encode(text.encode()) == theirs.encode(text).ids
    assert 257 in ours.encode(b"abc") and 258 not in ours.encode(b"x!")


def test_adapter_serves_every_operation(
    make_contract: Callable[..., dict[str, Any]], gpt2_files: dict[str, str]
) -> None:
    for algorithm in ("bpe-ranks", "bpe-pairs"):
        ours = adapter.Adapter()
        ours.load(make_contract("gpt2", algorithm=algorithm, byte_policy="reject"), gpt2_files, 1, {})
        assert ours.encode(ours.prepare(b"hello world")) == [31373, 995]
        assert ours.offsets(b"hello world") == [(0, 5), (5, 11)]
        assert ours.decode([31373, 995]) == b"hello world"
        assert ours.trace(b"ab")[-1]["id"] == 397
        with pytest.raises(Reject):
            ours.encode(b"\xff")
    assert ours.version() and adapter.Adapter.name == "oracle"


def test_adapter_speaks_the_hosts_unsupported(
    make_contract: Callable[..., dict[str, Any]], gpt2_files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class HostUnsupported(Exception):
        pass

    monkeypatch.setattr(adapter, "Unsupported", HostUnsupported)
    with pytest.raises(HostUnsupported, match="opaque"):
        adapter.Adapter().load(make_contract("gpt2", algorithm="opaque"), gpt2_files, 1, {})
    with pytest.raises(HostUnsupported, match="merge list"):
        only_ranks = {"tiktoken": gpt2_files["tiktoken"]}
        adapter.Adapter().load(make_contract("gpt2", algorithm="bpe-pairs"), only_ranks, 1, {})
    with pytest.raises(OracleError, match="nothing is loaded"):
        adapter.Adapter().encode(b"")


def test_the_battery_tells_unicode_versions_apart(make_oracle: Callable[..., Oracle]) -> None:
    """Each pair of versions that differ in a letter or a number does so in ids, under each embedded vocabulary."""
    documents = [each.data for each in battery() if each.name.startswith("moved")]
    for vocabulary in ("gpt2", "cl100k_base", "o200k_base"):
        ids = [
            [make_oracle(vocabulary, unicode=version).encode(each) for each in documents]
            for version in ("15.0", "15.1", "16.0", "17.0")
        ]
        assert all(before != after for before, after in pairwise(ids))
