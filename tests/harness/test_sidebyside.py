"""Two traces aligned: a difference planted in each stage is the one marked, at its place, and nothing else is."""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tokassay.harness.contract import Contract
from tokassay.harness.differ import Side, difference, spoken_for
from tokassay.harness.load import load_vocabulary
from tokassay.harness.sidebyside import IDS, SideBySide, aligned, side_by_side, to_json
from tokassay.oracles.decisions import STAGES
from tokassay.oracles.oracle import Oracle

# A letter and a combining accent (NFC makes one of them), words, an ill-formed byte, a special token.
DOCUMENT = "e\u0301 hello 12".encode() + b"\xff<|endoftext|>world"


@pytest.fixture(scope="module")
def oracle_of() -> Callable[..., Oracle]:
    loaded = load_vocabulary("gpt2")

    def make(**fields: Any) -> Oracle:
        contract = Contract.from_json({**loaded.contract.to_json(), **fields})
        return Oracle(contract.to_json(), loaded.vocabulary.tokens)

    return make


@pytest.fixture(scope="module")
def whole(oracle_of: Callable[..., Oracle]) -> Side:
    """A side that tells of every stage."""
    return side("a", oracle_of(specials="on", normalizer="nfc"), DOCUMENT)


def side(name: str, oracle: Oracle, document: bytes) -> Side:
    ids = tuple(oracle.encode(document))
    tokens = tuple(oracle.decode([number]) for number in ids)
    told = tuple(oracle.decisions(document))
    return Side(name, variants="byte-alphabet@16.0", ids=ids, tokens=tokens, decisions=told)


def other_ids(whole: Side, **fields: Any) -> Side:
    """A side with one more id, so that it differs, and these fields."""
    return Side("b", variants=whole.variants, ids=(*whole.ids, 0), tokens=(*whole.tokens, b"!"), **fields)


def planted(whole: Side, stage: str, change: Callable[[dict[str, Any]], None], which: int = 0) -> Side:
    decisions = copy.deepcopy([dict(each) for each in whole.decisions or ()])
    change([each for each in decisions if each["stage"] == stage][which])
    return other_ids(whole, decisions=tuple(decisions))


def first(seen: SideBySide) -> tuple[str, int, Any, Any]:
    assert seen.first is not None
    pair = seen.pairs[seen.first]
    return pair.stage, pair.at, pair.left, pair.right


CHANGES: dict[str, tuple[str, int, str, Any, int | None]] = {
    # what: the stage of the record, its number there, the field, its new value, the byte at which it is marked
    "special": ("special", 0, "id", 7, 13),
    "normalize": ("normalize", 0, "end", 4, 0),
    "scan": ("scan", -6, "value", 0xFE, 12),  # the ill-formed byte; five letters follow
    "classify": ("scan", 2, "class", "N", 4),  # the accented letter, the space, h
    "pretokenize": ("pretokenize", 1, "end", 8, 3),
    "merge": ("merge", 1, "position", 30, None),
    "id map": ("lookup", 1, "id", 9, 3),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_planted_difference_is_marked_and_nothing_else(whole: Side, what: str) -> None:
    stage, which, field, value, place = CHANGES[what]
    other = planted(whole, stage, lambda record: record.update({field: value}), which)
    seen = side_by_side(DOCUMENT, whole, other)
    told, at, left, right = first(seen)
    records = [each for each in whole.decisions or () if each["stage"] == stage]
    assert (told, left[field], right[field]) == (stage, records[which][field], value)
    assert place in (at, None)
    assert seen.first is not None
    assert [n for n, pair in enumerate(seen.pairs) if pair.same is False] == [seen.first]
    assert all(pair.same is True for n, pair in enumerate(seen.pairs) if n != seen.first)
    found = difference(whole, other, DOCUMENT)
    assert found is not None
    assert (found.stage, found.known) == (what, "traced")
    assert found.sentence == seen.sentence and "a " in seen.sentence and "; b " in seen.sentence


@pytest.mark.parametrize("stage", ["special", "normalize", "scan", "pretokenize", "merge", "lookup"])
def test_a_decision_that_one_side_lacks(whole: Side, stage: str) -> None:
    kept = [each for each in whole.decisions or () if each["stage"] != stage]
    lost = [each for each in whole.decisions or () if each["stage"] == stage]
    other = other_ids(whole, decisions=(*kept, *lost[1:]))
    seen = side_by_side(DOCUMENT, whole, other)
    told, _, left, _ = first(seen)
    assert (told, left) == (stage, dict(lost[0])) or stage in ("merge", "scan", "pretokenize", "lookup")
    assert told == stage
    alone = [pair for pair in seen.pairs if pair.right is None]
    assert [pair.left for pair in alone] == [dict(lost[0])] or stage == "merge"


def test_the_pipelines_order_decides_which_difference_is_first(whole: Side) -> None:
    """A piece that is cut otherwise near the beginning, and a byte that is scanned otherwise near the end."""
    other = planted(whole, "pretokenize", lambda record: record.update(end=2))
    other = planted(other, "scan", lambda record: record.update({"class": "N"}), -1)
    assert first(side_by_side(DOCUMENT, whole, other))[:2] == ("scan", len(DOCUMENT) - 1)


def test_equal_traces_have_no_difference(whole: Side) -> None:
    seen = side_by_side(DOCUMENT, whole, Side("b", ids=whole.ids, decisions=copy.deepcopy(whole.decisions)))
    assert (seen.first, seen.sentence) == (None, "")
    assert all(pair.same is True for pair in seen.pairs)
    assert [pair.left for pair in seen.pairs if pair.stage == "lookup"] == [
        each for each in whole.decisions or () if each["stage"] == "lookup"
    ]
    assert len(seen.pairs) == len(whole.decisions or ())


def test_one_side_alone(whole: Side) -> None:
    seen = side_by_side(DOCUMENT, whole)
    assert (seen.right, seen.first) == (None, None)
    assert {str(pair.left) for pair in seen.pairs} == {str(each) for each in whole.decisions or ()}
    assert len(seen.pairs) == len(whole.decisions or ())
    # Piece by piece: what is scanned, the piece, its merges and tokens.
    second = [pair.stage for pair in seen.pairs if 3 <= pair.at < 9]
    assert second == ["scan"] * 6 + ["pretokenize"] + ["merge"] * 5 + ["lookup"]
    assert all(pair.same is None and pair.right is None for pair in seen.pairs)


def test_a_silent_side_has_tokens_inferred_from_its_ids(whole: Side) -> None:
    silent = Side("b", ids=(71, 68), tokens=(b"h", b"e"), spans=((0, 1), (1, 2)))
    oracle = Side("a", ids=(258,), decisions=({"stage": "lookup", "offset": 0, "start": 0, "end": 2, "id": 258},))
    seen = side_by_side(b"he", oracle, silent)
    assert seen.own == (frozenset(STAGES), frozenset())
    told, at, left, right = first(seen)
    assert (told, at, left["id"], right["id"], right["inferred"]) == ("lookup", 0, 258, 71, IDS)
    value = to_json(seen)
    assert [each["traced"] for each in value["sides"]] == [True, False]
    assert value["sides"][1]["inferred"] == {IDS: ["lookup"]}


def test_what_a_side_exposes_is_traced_and_the_rest_inferred(whole: Side) -> None:
    """A side that tells its pieces alone: an oracle with the same ids tells the rest, and says that it did."""
    pieces = [dict(each) for each in whole.decisions or () if each["stage"] == "pretokenize"]
    part = Side("b", ids=whole.ids, decisions=tuple(pieces), stages=frozenset({"pretokenize"}))
    speaker = Side("oracle:x", ids=whole.ids, decisions=whole.decisions)
    told = spoken_for(part, speaker)
    assert told.complete and told.decisions is not None
    assert [each for each in told.decisions if each["stage"] == "pretokenize"] == pieces
    assert {each["stage"] for each in told.decisions if each.get("inferred") == "oracle:x"} == {
        "special", "normalize", "scan", "merge", "lookup",
    }
    seen = side_by_side(DOCUMENT, whole, part, (None, speaker))
    assert (seen.first, seen.own[1]) == (None, frozenset({"pretokenize"}))
    assert all(pair.same for pair in seen.pairs)


def test_an_oracle_does_not_speak_for_a_side_that_cuts_otherwise(whole: Side) -> None:
    pieces = [dict(each) for each in whole.decisions or () if each["stage"] == "pretokenize"]
    pieces[0]["end"] = 2
    part = Side("b", ids=whole.ids, decisions=tuple(pieces), stages=frozenset({"pretokenize"}))
    assert spoken_for(part, Side("oracle:x", ids=whole.ids, decisions=whole.decisions)) is part
    other_ids = Side("oracle:x", ids=(1, 2), decisions=whole.decisions)
    assert spoken_for(Side("b", ids=whole.ids), other_ids).decisions is None


def test_a_partial_trace_of_a_wrong_engine(whole: Side) -> None:
    """Its pieces are the oracle's, so its wrong ids are laid to merging, however they look; wrong pieces are told."""
    pieces = tuple(each for each in whole.decisions or () if each["stage"] == "pretokenize")
    tokens = {number: bytes([65 + n]) for n, number in enumerate(whole.ids)}
    wrong = Side(
        "b", ids=(1, *whole.ids[1:]), tokens=(b"e\xcc", *map(tokens.get, whole.ids[1:])), decisions=pieces,
        stages=frozenset({"pretokenize"}),
    )  # fmt: skip
    right = Side("a", ids=whole.ids, tokens=tuple(map(tokens.get, whole.ids)), decisions=whole.decisions)
    found = difference(right, wrong, DOCUMENT)
    assert found is not None
    assert (found.stage, found.known) == ("merge", "inferred")
    cut = [dict(each) for each in pieces]
    cut[1]["end"] -= 1
    found = difference(right, replace(wrong, decisions=tuple(cut)), DOCUMENT)
    assert found is not None
    assert (found.stage, found.known) == ("pretokenize", "traced")


def test_pieces_that_part_behind_an_ill_formed_byte_are_laid_to_its_scan(oracle_of: Callable[..., Oracle]) -> None:
    """E0 40 79 in one piece, as a scanner has it that believes its lead byte, from an engine that tells its pieces
    alone: the pieces are in the sentence, the scan is the cause, and it is inferred."""
    cut = [{"stage": "pretokenize", "offset": low, "start": low, "end": high} for low, high in ((0, 3), (3, 4))]
    ids, tokens = (156, 31, 88, 79), (b"\xe0", b"@", b"y", b"p")
    wrong = Side("b", ids=ids, tokens=tokens, decisions=tuple(cut), stages=frozenset({"pretokenize"}))
    found = difference(wrong, side("a", oracle_of(), b"\xe0@yp"), b"\xe0@yp")
    assert found is not None
    assert (found.stage, found.known, found.signature) == ("scan", "inferred", "inferred scan")
    assert found.sentence.startswith("b takes bytes 0..3 as one piece; a takes bytes 0..1 as one piece")
    assert found.sentence.endswith(", after the ill-formed byte E0 at 0")


@pytest.fixture
def whole_first(tmp_path: Path) -> list[Side]:
    """`abcd` without `abc` and `bcd`: look-up alone reaches it. A side that takes it whole, and one that merges."""
    rows = [bytes([byte]) for byte in range(256)] + [b"bc", b"abcd"]
    path = tmp_path / "tiny.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(row) + b" %d\n" % rank for rank, row in enumerate(rows)))
    loaded = load_vocabulary(path, pattern="gpt2")
    sides = []
    for name, taken in (("takes", True), ("merges", False)):
        fields = {**loaded.contract.to_json(), "ignore_merges": taken}
        sides.append(side(name, Oracle(fields, loaded.vocabulary.tokens), b"abcd a"))
    return sides


def test_a_piece_looked_up_whole_is_told_from_merges(whole_first: list[Side]) -> None:
    seen = side_by_side(b"abcd a", *whole_first)
    assert [each.ids for each in whole_first] == [(257, 32, 97), (97, 256, 100, 32, 97)]
    assert first(seen)[0] == "lookup"
    assert seen.sentence == "takes gives bytes 0..4 token 257, looked up whole; merges merges that piece"
    found = difference(*whole_first, b"abcd a")
    assert found is not None and (found.stage, found.known) == ("lookup", "traced")


def test_a_space_put_before_the_text_is_a_decision(oracle_of: Callable[..., Oracle]) -> None:
    """The dummy prefix: 64 is `a` and 257 ` a` in GPT-2."""
    sides = [side(name, oracle_of(add_prefix_space=put), b"a") for name, put in (("with", True), ("without", False))]
    assert [each.ids for each in sides] == [(257,), (64,)]
    seen = side_by_side(b"a", *sides)
    told, at, left, right = first(seen)
    assert (told, at, left["path"], right) == ("normalize", 0, "prefix space", None)
    assert seen.sentence == "with puts a space before byte 0; without has no such decision"
    found = difference(*sides, b"a")
    assert found is not None and (found.stage, found.known) == ("normalize", "traced")


def test_a_merge_in_pieces_that_begin_elsewhere_is_one_row() -> None:
    """The pieces part, and are marked; what is merged in both is the same. Another merge there still differs."""
    def trace(cuts: list[int], *merges: tuple[int, int, str]) -> list[dict[str, object]]:
        return [
            *({"stage": "pretokenize", "offset": a, "start": a, "end": b} for a, b in pairwise(cuts)),
            *({"stage": "merge", "offset": at, "position": n, "left": "9a", "right": right} for at, n, right in merges),
        ]

    def rows(*sides: list[dict[str, object]]) -> list[tuple[str, int, bool | None]]:
        return [(pair.stage, pair.at, pair.same) for pair in aligned(bytes.fromhex("bd9b9ae9"), *sides)]

    pieces = [("pretokenize", 0, False), ("pretokenize", 1, False)]
    assert rows(trace([0, 1, 4], (1, 1, "e9")), trace([0, 4], (0, 2, "e9"))) == [*pieces, ("merge", 2, True)]
    other = rows(trace([0, 1, 4], (1, 1, "e9")), trace([0, 4], (0, 2, "ea")))
    assert [same for stage, _, same in other if stage == "merge"] == [False, False]
