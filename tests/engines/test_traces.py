"""What other engines tell of their decisions, against the oracle under their own variants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import sentencepiece
from tokassay.engines.client import Host
from tokassay.engines.environments import install
from tokassay.engines.roster import load_roster
from tokassay.harness.contract import Contract
from tokassay.harness.hosts import open_host, target
from tokassay.harness.load import Loaded, load_vocabulary
from tokassay.oracles.decisions import STAGES, first_difference
from tokassay.oracles.oracle import Oracle

ROSTER = load_roster()
TEXTS = [
    "hello world", "", "it's IT'S don't", "a  b \n\n c\t", "12 345 ½ ²", "naïve café \U0001f600!", "漢字かな交じり",
    "x" * 70 + " yyyy", "a\u0301 e\u0301\u0323 가 \u1100\u1161", "\ufb01 \u212b \u00c5",
]  # fmt: skip
END = "<|endoftext|>"


@pytest.fixture(scope="module")
def gpt2() -> Loaded:
    return load_vocabulary("gpt2")


def traces(
    name: str, loaded: Loaded, documents: list[bytes], contract: Contract
) -> list[tuple[list[dict[str, Any]], list[dict[str, Any]], list[int], frozenset[str]]]:
    """(the engine's decisions, the oracle's under its variants, the engine's ids, the stages it tells of) of each."""
    asked = target(name, contract, ROSTER).contract
    oracle = Oracle(asked.to_json(), loaded.vocabulary.tokens)
    with open_host(name, loaded, asked, roster=ROSTER) as host:
        stages = frozenset(host.stages() or STAGES)
        rows = host.encode(documents).output.rows()  # type: ignore[union-attr]
        return [
            (host.trace(document), oracle.decisions(document), row, stages)
            for document, row in zip(documents, rows, strict=True)
        ]


def held(name: str, loaded: Loaded, texts: list[str], contract: Contract) -> frozenset[str]:
    """Hold an engine's trace to the oracle's in the stages it tells of, and its tokens to its ids."""
    seen: set[str] = set()
    for text, (mine, theirs, ids, stages) in zip(
        texts, traces(name, loaded, [text.encode() for text in texts], contract), strict=True
    ):
        assert {each["stage"] for each in mine} <= stages
        found = first_difference(mine, theirs, (name, "the oracle"), stages)
        assert found is None, (text, found)
        if "lookup" in stages:
            given = sorted((each for each in mine if "id" in each), key=lambda each: int(each["offset"]))
            assert [each["id"] for each in given] == ids
        for stage in stages:
            counts = [sum(each["stage"] == stage for each in side) for side in (mine, theirs)]
            assert counts[0] == counts[1], (text, stage)
        seen |= {each["stage"] for each in mine}
    return frozenset(seen)


def test_tokenizers_tells_its_pieces_and_tokens(gpt2: Loaded) -> None:
    assert held("tokenizers", gpt2, TEXTS, gpt2.contract) == {"pretokenize", "lookup"}


def test_tokenizers_tells_its_special_tokens(gpt2: Loaded) -> None:
    texts = [END, f"a{END} b{END}{END}", f"é{END}漢"]
    seen = held("tokenizers", gpt2, texts, gpt2.contract.with_variants(specials="on"))
    assert seen == {"special", "pretokenize", "lookup"}


def test_tokenizers_tells_its_normalizer_and_the_prefix_space(gpt2: Loaded) -> None:
    asked = replace(gpt2.contract, normalizer="nfc", add_prefix_space=True)
    assert held("tokenizers", gpt2, [*TEXTS, " a"], asked) == {"normalize", "pretokenize", "lookup"}


def test_dat_bpe_tells_every_stage(gpt2: Loaded) -> None:
    both: dict[str, Any] = {"normalizer": "nfc", "add_prefix_space": True}
    for fields in ({}, both):
        held("dat-bpe", gpt2, TEXTS, replace(gpt2.contract, **fields))


def test_dat_greedy_tells_its_tokens() -> None:
    loaded = load_vocabulary("gpt2@greedy-longest")
    assert held("dat-greedy", loaded, TEXTS, loaded.contract) == {"lookup"}


def test_the_comparison_can_fail(gpt2: Loaded) -> None:
    """Held to another contract's oracle, the traces part: at a piece, and at what the normalizer changed."""
    ((mine, _, _, stages),) = traces("tokenizers", gpt2, ["a12e\u0301".encode()], gpt2.contract)
    for stage, fields in (("pretokenize", {"pretokenizer": (r"\p{N}|\P{N}+",)}), ("normalize", {"normalizer": "nfc"})):
        other = Oracle(replace(gpt2.contract, **fields).to_json(), gpt2.vocabulary.tokens)
        found = first_difference(mine, other.decisions("a12e\u0301".encode()), stages=stages)
        assert found is not None and found.stage == stage


@pytest.mark.network
@pytest.mark.parametrize(("name", "stage"), [("gigatoken", "pretokenize"), ("tokie", "lookup")])
def test_engines_in_environments_of_their_own(gpt2: Loaded, name: str, stage: str) -> None:
    install(ROSTER[name])
    assert held(name, gpt2, TEXTS, gpt2.contract) == {stage}


# -- sentencepiece: its models are no contract that the oracle has, but their pieces say what they stand for ---------


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small model with byte fallback, NFKC as its normalizer, and the dummy prefix."""
    folder = tmp_path_factory.mktemp("sp")
    text = folder / "text.txt"
    text.write_text("\n".join(f"hello world number {n} and some more words" for n in range(200)), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(folder / "small"), vocab_size=320, model_type="bpe", byte_fallback=True,
        normalization_rule_name="nfkc", remove_extra_whitespaces=False, minloglevel=2,
    )  # fmt: skip
    return str(folder / "small.model")


def told_by_sentencepiece(model: str, document: bytes) -> tuple[list[dict[str, Any]], list[int]]:
    with Host(ROSTER["sentencepiece"]) as host:
        host.load({"algorithm": "opaque"}, {"source": model})
        rows = host.encode([document]).output.rows()  # type: ignore[union-attr]
        assert host.stages() == ("normalize", "lookup")
        return host.trace(document), rows[0]


@pytest.mark.parametrize("text", ["hello world", "a  b", "more words, 12 words", "zé\U0001f600", "", " x"])
def test_sentencepiece_tells_the_bytes_behind_its_pieces(model: str, text: str) -> None:
    told, ids = told_by_sentencepiece(model, text.encode())
    tokens = [each for each in told if each["stage"] == "lookup"]
    assert [each["id"] for each in tokens] == ids
    processor = sentencepiece.SentencePieceProcessor(model_file=model)
    done = 0
    for each in tokens:
        assert each["start"] == done
        done = each["end"]
        piece = processor.id_to_piece(each["id"])
        behind = text.encode()[each["start"] : each["end"]]
        if processor.is_byte(each["id"]):
            # Of a character that no piece has, its last byte stands for all of it.
            assert behind == b"" or behind.endswith(bytes([int(piece[3:5], 16)]))
        else:
            assert behind.decode() in (piece.replace("\u2581", " "), piece.replace("\u2581", " ")[1:])
    assert done == len(text.encode())


def test_sentencepiece_tells_what_its_normalizer_did(model: str) -> None:
    """The dummy prefix, and U+FB01, which NFKC makes `fi`; a space that is written as a block is no change."""
    told, _ = told_by_sentencepiece(model, "a \ufb01 b".encode())
    changes = [(each["path"], each["start"], each["end"]) for each in told if each["stage"] == "normalize"]
    assert changes == [("prefix space", 0, 0), ("Normalize", 2, 5)]
    told, _ = told_by_sentencepiece(model, b" a b")
    assert [(each["path"], each["start"], each["end"]) for each in told][:1] == [("prefix space", 0, 0)]
    assert {each["path"] for each in told[1:]} == {"offset_mapping"}
