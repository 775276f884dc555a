"""First causes: which single change of a contract makes two answers one, by oracles with contracts of their own."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tokassay.harness.cause import Change, changes, code_points
from tokassay.harness.contract import Contract
from tokassay.harness.differ import Side
from tokassay.harness.hosts import Target, oracle_spec
from tokassay.harness.load import Loaded, load_vocabulary
from tokassay.harness.question import PROBES
from tokassay.oracles.errors import Reject
from tokassay.oracles.oracle import Oracle


@pytest.fixture(scope="module")
def gpt2() -> Loaded:
    return load_vocabulary("gpt2")


ORACLES: dict[str, Oracle] = {}


def side(name: str, contract: Contract, loaded: Loaded, document: bytes) -> Side:
    if contract.digest not in ORACLES:
        ORACLES[contract.digest] = Oracle(contract.to_json(), loaded.vocabulary.tokens, loaded.vocabulary.merges)
    try:
        return Side(name, ids=tuple(ORACLES[contract.digest].encode(document)))
    except Reject:
        return Side(name, outcome="reject")


def found(loaded: Loaded, document: bytes, probes: tuple[bytes, ...] = PROBES, **fields: Any) -> list[Change]:
    """What is said of an engine that declares the contract of `loaded`, and has these fields of it otherwise."""
    specials = fields.pop("asked", "off")
    declared = loaded.contract.with_variants(specials=specials)
    real = replace(declared, **fields)
    targets = Target("engine", oracle_spec(), declared), Target("oracle", oracle_spec(), declared)
    evidence = [
        (each, side("engine", real, loaded, each), side("oracle", declared, loaded, each))
        for each in (document, *probes)
    ]
    return changes(evidence[0][1:], targets, loaded, document, evidence)


@pytest.mark.parametrize(
    ("document", "fields", "stage", "words"),
    [
        (b"<|endoftext|>", {"asked": "on", "specials": "off"}, "special", "with special tokens as text"),
        (b"<|endoftext|>", {"specials": "on"}, "special", "with special tokens matched"),
        (b"a\xff", {"byte_policy": "replace"}, "scan", "byte policy replace instead of byte-alphabet"),
        (b"a\xff", {"byte_policy": "reject"}, "scan", "byte policy reject"),
        (b"\x81\xab", {"byte_policy": "tiktoken-bytes"}, "scan", "byte policy tiktoken-bytes"),
        ("e\u0301".encode(), {"normalizer": "nfc"}, "normalize", "with NFC"),
        (b"ab", {"add_prefix_space": True}, "normalize", "a space put before the text (add_prefix_space)"),
        ("\u1c89's".encode(), {"unicode": "15.0"}, "classify", "U+1C89 is Lu in 16.0, Cn in 15.0"),
        (b"x\n\ny", {"pretokenizer": ()}, "pretokenize", "without a pretokenizer"),
    ],
)
def test_the_change_is_named(gpt2: Loaded, document: bytes, fields: dict[str, Any], stage: str, words: str) -> None:
    told = found(gpt2, document, **fields)
    assert told, "no change fits"
    assert told[0].stage == stage
    assert any(words in change.sentence for change in told)
    assert len({change.field for change in told}) == 1


@pytest.fixture
def tiny(tmp_path: Path) -> Callable[..., Loaded]:
    """A vocabulary of the 256 bytes and these tokens, in the order of their ranks."""

    def make(*tokens: bytes) -> Loaded:
        rows = [bytes([byte]) for byte in range(256)] + list(tokens)
        path = tmp_path / "tiny.tiktoken"
        path.write_bytes(b"".join(base64.b64encode(row) + b" %d\n" % rank for rank, row in enumerate(rows)))
        return load_vocabulary(path, pattern="gpt2")

    return make


def test_a_piece_looked_up_whole(tiny: Callable[..., Loaded]) -> None:
    """`abc` without `ab` and `bc` is reached by look-up alone, and so by the contract of a rank file."""
    (told,) = found(tiny(b"abc"), b"abc", (b"xabc", b"abc abc"), ignore_merges=False)
    assert (told.field, told.stage, told.new) == ("ignore_merges", "lookup", False)


def test_the_longest_match(tiny: Callable[..., Loaded]) -> None:
    """The lower rank joins `bc` first, the longest match takes `ab`."""
    (told,) = found(tiny(b"bc", b"ab"), b"abc", (b"xabc",), algorithm="greedy-longest")
    assert (told.field, told.stage) == ("algorithm", "merge")
    assert told.sentence == "engine answers as oracle would with the algorithm greedy-longest instead of bpe-ranks"


def test_what_fits_by_chance_is_not_told(gpt2: Loaded) -> None:
    """On two bytes many contracts agree; further documents tell them apart."""
    alone = found(gpt2, b"\x81\xab", (), byte_policy="tiktoken-bytes")
    assert {"byte_policy", "pretokenizer"} <= {change.field for change in alone}
    assert [change.new for change in found(gpt2, b"\x81\xab", byte_policy="tiktoken-bytes")] == ["tiktoken-bytes"]


def test_what_fits_the_most_is_not_enough(gpt2: Loaded) -> None:
    """A scanner that is simply wrong may answer like another byte policy here and there."""
    declared, other = gpt2.contract, gpt2.contract.with_variants(byte_policy="tiktoken-bytes")
    targets = Target("engine", oracle_spec(), declared), Target("oracle", oracle_spec(), declared)
    document, further = b"\x81\xab", b"a \x81\xab b"
    sides = side("engine", other, gpt2, document), side("oracle", declared, gpt2, document)
    evidence = [(further, side("engine", declared, gpt2, further), side("oracle", declared, gpt2, further))]
    assert changes(sides, targets, gpt2, document)
    assert changes(sides, targets, gpt2, document, evidence) == []


def test_a_wrong_answer_is_no_contract(gpt2: Loaded) -> None:
    declared = gpt2.contract
    targets = Target("engine", oracle_spec(), declared), Target("oracle", oracle_spec(), declared)
    sides = Side("engine", ids=(1, 2, 3)), side("oracle", declared, gpt2, b"hello")
    assert changes(sides, targets, gpt2, b"hello") == []
    fallen = Side("engine", outcome="crash", detail="SIGSEGV")
    assert changes((fallen, sides[1]), targets, gpt2, b"hello") == []


def test_what_the_other_side_declares_is_told_alone(gpt2: Loaded) -> None:
    old, new = gpt2.contract.with_variants(unicode="15.0"), gpt2.contract
    document = "\u1c89's".encode()
    targets = Target("oracle@15.0", oracle_spec(), old), Target("oracle", oracle_spec(), new)
    (told,) = changes(
        (side("oracle@15.0", old, gpt2, document), side("oracle", new, gpt2, document)), targets, gpt2, document
    )
    assert (told.field, {told.old, told.new}) == ("unicode", {"15.0", "16.0"})


def test_code_points_with_their_categories() -> None:
    """U+1C89 came with Unicode 16.0 (UnicodeData.txt), and `a` did not."""
    assert code_points("a\u1c89".encode(), "15.0", "16.0") == "U+1C89 is Cn in 15.0, Lu in 16.0"
    assert code_points(b"a", "15.0", "16.0") == ""
