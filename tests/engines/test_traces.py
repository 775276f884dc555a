"""What other engines tell of their decisions, against the oracle under their own variants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tokassay.engines.roster import load_roster
from tokassay.harness.contract import Contract
from tokassay.harness.hosts import open_host, target
from tokassay.harness.load import Loaded, load_vocabulary
from tokassay.oracles.decisions import STAGES, first_difference

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
    with (
        open_host(name, loaded, asked, roster=ROSTER) as host,
        open_host("oracle", loaded, asked, roster=ROSTER) as oracle,
    ):
        stages = frozenset(host.stages() or STAGES)
        rows = host.encode(documents).output.rows()  # type: ignore[union-attr]
        return [
            (host.trace(document), oracle.trace(document), row, stages)
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
    assert held("tokenizers", gpt2, TEXTS, replace(gpt2.contract, normalizer="nfc")) == {
        "normalize", "pretokenize", "lookup",
    }
    seen = held("tokenizers", gpt2, ["a b", " a", "é"], replace(gpt2.contract, add_prefix_space=True))
    assert seen == {"normalize", "pretokenize", "lookup"}


def test_dat_bpe_tells_every_stage(gpt2: Loaded) -> None:
    for fields in ({}, {"normalizer": "nfc"}, {"add_prefix_space": True}, {"normalizer": "nfc", "add_prefix_space": True}):
        held("dat-bpe", gpt2, TEXTS, replace(gpt2.contract, **fields))  # type: ignore[arg-type]


def test_dat_greedy_tells_its_tokens() -> None:
    loaded = load_vocabulary("gpt2@greedy-longest")
    assert held("dat-greedy", loaded, TEXTS, loaded.contract) == {"lookup"}


def test_the_comparison_can_fail(gpt2: Loaded) -> None:
    """Held to another contract's oracle, the traces part: at a piece, and at what the normalizer changed."""
    (mine, _, _, stages), *_ = traces("tokenizers", gpt2, ["a12é".encode()], gpt2.contract)
    other = replace(gpt2.contract, pretokenizer=(r"\p{N}|\P{N}+",))
    (_, theirs, _, _), *_ = traces("tokenizers", gpt2, ["a12é".encode()], other)
    found = first_difference(mine, theirs, stages=stages)
    assert found is not None and found.stage == "pretokenize"
    changed = traces("tokenizers", gpt2, ["e\u0301".encode()], replace(gpt2.contract, normalizer="nfc"))[0][1]
    plain = traces("tokenizers", gpt2, ["e\u0301".encode()], gpt2.contract)[0][0]
    found = first_difference(plain, changed, stages=stages)
    assert found is not None and found.stage == "normalize"
