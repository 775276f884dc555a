"""Decision records: complete, equal to the ids, and compared by what matters."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokassay.oracles.decisions import COMPARED, STAGES, coarse, first_difference
from tokassay.oracles.errors import Reject
from tokassay.oracles.oracle import Oracle

DOCUMENTS = st.lists(
    st.one_of(st.binary(max_size=5), st.sampled_from([b"hello world", b"'s", b"  ", "é春".encode(), b"<|endoftext|>"])),
    max_size=6,
).map(b"".join)


@given(DOCUMENTS, st.sampled_from(["byte-alphabet", "replace", "replace-each-byte"]), st.sampled_from(["on", "off"]))
def test_decisions_tell_the_ids_the_spans_and_cover_the_document(
    make_oracle: Callable[..., Oracle], document: bytes, policy: str, specials: str
) -> None:
    oracle = make_oracle("cl100k_base", byte_policy=policy, specials=specials)
    found = oracle.decisions(document)
    given_out = [each for each in found if each["stage"] in ("lookup", "special")]
    assert [each["id"] for each in given_out] == oracle.encode(document)
    assert [(each["start"], each["end"]) for each in given_out] == oracle.spans(document)
    read = [each for each in found if each["stage"] in ("scan", "special")]
    ends = [0]
    for each in read:
        assert each["offset"] == ends[-1]
        ends.append(each["next"] if each["stage"] == "scan" else each["end"])
    assert ends[-1] == len(document)
    assert {each["stage"] for each in found} <= set(STAGES)
    assert json.loads(json.dumps(found)) == found
    assert first_difference(found, copy.deepcopy(found)) is None


def test_the_lead_byte_case_tells_what_was_proposed_and_accepted(make_oracle: Callable[..., Oracle]) -> None:
    first = make_oracle("gpt2").decisions(b"\xe0@yp")[0]
    assert first == {
        "stage": "scan",
        "offset": 0,
        "path": "ill-formed byte-alphabet",
        "proposed": 3,
        "accepted": 1,
        "value": 0xE0,
        "class": "Ll",
        "next": 1,
    }


def test_merges_are_told_in_the_order_they_were_made(make_oracle: Callable[..., Oracle]) -> None:
    merges = [each for each in make_oracle("gpt2").decisions(b"x ab") if each["stage"] == "merge"]
    assert next((bytes.fromhex(each["left"]), bytes.fromhex(each["right"]), each["offset"]) for each in merges) == (
        b" ",
        b"a",
        1,
    )
    ranks = [each["rank"] for each in merges]
    assert ranks == sorted(ranks)


def test_reject_is_raised_by_the_trace_too(make_oracle: Callable[..., Oracle]) -> None:
    with pytest.raises(Reject):
        make_oracle("gpt2", byte_policy="reject").decisions(b"a\xff")


@pytest.mark.parametrize("stage", ["scan", "pretokenize", "merge", "lookup", "special"])
def test_each_planted_difference_is_found_at_its_stage(make_oracle: Callable[..., Oracle], stage: str) -> None:
    ours = make_oracle("gpt2", specials="on").decisions(b"hello world<|endoftext|>\xff")
    for field in COMPARED[stage]:
        theirs = copy.deepcopy(ours)
        victim = next(each for each in theirs if each["stage"] == stage)
        victim[field] = "zz" if isinstance(victim[field], str) else victim[field] + 100
        found = first_difference(ours, theirs)
        assert found is not None and found.stage == stage, field
        assert found.explanation
        if field != "offset":
            assert (found.index, found.fields) == (0, (field,))


def test_an_early_stage_is_named_before_what_it_causes(make_oracle: Callable[..., Oracle]) -> None:
    """byte-alphabet against replace: ids, pieces and reading differ; the reading is the reason."""
    document = b"ok \xe2\x80x"
    ours, theirs = make_oracle("gpt2"), make_oracle("gpt2", byte_policy="replace")
    found = first_difference(ours.decisions(document), theirs.decisions(document), ("ours", "theirs"))
    assert found is not None
    assert (found.stage, found.index) == ("scan", 3)
    assert found.explanation == (
        "ours reads 1 byte(s) at 3 as byte E2, class Ll; theirs reads 2 byte(s) at 3 as byte E2, class So"
    )
    assert found.to_json()["fields"] == ["accepted", "class", "next"]


def test_a_version_difference_is_a_class(make_oracle: Callable[..., Oracle]) -> None:
    document = "a\u1c89b".encode()
    found = first_difference(
        make_oracle("gpt2", unicode="15.1").decisions(document), make_oracle("gpt2").decisions(document)
    )
    assert found is not None
    assert (found.stage, found.fields) == ("scan", ("class",))
    assert "U+1C89, class Cn" in found.explanation and "U+1C89, class Lu" in found.explanation


def test_special_on_against_off_is_told_by_the_special(make_oracle: Callable[..., Oracle]) -> None:
    document = b"a<|endoftext|>"
    found = first_difference(
        make_oracle("gpt2", specials="on").decisions(document), make_oracle("gpt2").decisions(document)
    )
    assert found is not None
    assert found.stage == "special"
    assert "has no such decision" in found.explanation


def test_four_classes_are_enough_for_an_engine_that_knows_four(make_oracle: Callable[..., Oracle]) -> None:
    ours = make_oracle("gpt2").decisions("Aé1½ \n!😀\u0301".encode())
    theirs = [dict(each, **({"class": coarse(each["class"])} if "class" in each else {})) for each in ours]
    assert {each["class"] for each in theirs if "class" in each} == {"L", "N", "S", "O"}
    assert first_difference(ours, theirs) is None
    wrong: list[dict[str, Any]] = copy.deepcopy(theirs)
    wrong[0]["class"] = "N"
    assert first_difference(ours, wrong) is not None


def test_order_of_emission_and_untraced_stages_do_not_matter(make_oracle: Callable[..., Oracle]) -> None:
    ours = make_oracle("gpt2").decisions(b"hello world, hello")
    assert first_difference(ours, sorted(ours, key=lambda each: each["offset"])) is None
    assert first_difference(ours, [each for each in ours if each["stage"] not in ("scan", "pretokenize")]) is None


def test_a_missing_merge_is_a_difference(make_oracle: Callable[..., Oracle]) -> None:
    ours = make_oracle("gpt2").decisions(b"ab")
    theirs = make_oracle("gpt2").decisions(b"ab")
    theirs = [each for each in theirs if each["stage"] != "merge"]
    found = first_difference(ours, theirs, ("oracle", "engine"))
    assert found is not None and found.stage == "merge"
    assert found.explanation.endswith("engine has no such decision")


def test_a_piece_looked_up_whole_differs_in_the_look_up(make_oracle: Callable[..., Oracle]) -> None:
    """It has no merges; whoever took it so differs in what it gives out, and not at all where that is the same."""
    document = b"hello world, hello"
    ours = make_oracle("gpt2").decisions(document)
    whole = [dict(each, path="whole piece") if each["stage"] == "lookup" else each for each in ours]
    whole = [each for each in whole if each["stage"] != "merge"]
    assert first_difference(whole, ours) is None
    wrong = [dict(each, id=1) if each["stage"] == "lookup" and each["offset"] == 5 else each for each in whole]
    found = first_difference(wrong, ours)
    assert found is not None and (found.stage, found.fields) == ("lookup", ("id",))
