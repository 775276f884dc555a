"""Findings: stage and sentence from two lists of ids, on a small vocabulary whose ids are known."""

import pytest
from tokassay.harness.explain import explain, first_differing

TOKENS = {0: b"a", 1: b"b", 2: b"ab", 3: b" ", 4: b"\xff", 5: b"'", 6: b"s", 7: b"'s", 8: b"a"}


def find(document: bytes, got: list[int], expected: list[int], pretokens: list[tuple[int, int]]) -> tuple[str, str]:
    decisions = [{"stage": "pretokenize", "offset": a, "start": a, "end": b, "rule": "rule"} for a, b in pretokens]
    finding = explain(
        document,
        got,
        expected,
        pieces=TOKENS.get,
        is_token=lambda t: t in TOKENS.values(),
        trace_expected=lambda _: decisions,
        trace_got=None,
    )
    return finding.stage, finding.explanation


@pytest.mark.parametrize(
    ("document", "got", "expected", "pretokens", "stage", "words"),
    [
        (b"ab", [0, 1], [2], [(0, 2)], "pretokenize", "border at byte 1"),
        (b"ab", [2], [0, 1], [(0, 1), (1, 2)], "pretokenize", "leaves the pretoken [0, 1)"),
        (b"\xff's", [4, 7], [4, 5, 6], [(0, 2), (2, 3)], "scan", "ill-formed byte FF at 0"),
        (b"a", [8], [0], [(0, 1)], "id map", "same bytes under another id"),
        (b"a", [99], [0], [(0, 1)], "id map", "does not have"),
        (b"a", [1], [0], [(0, 1)], "id map", "not the bytes that are there"),
        (b"ab", [2], [0, 1], [(0, 2)], "lookup", "takes the pretoken whole"),
        (b"a b", [0, 3], [0, 3, 1], [(0, 1), (1, 3)], "pretokenize", "leaves"),
    ],
)
def test_stages(
    document: bytes, got: list[int], expected: list[int], pretokens: list[tuple[int, int]], stage: str, words: str
) -> None:
    found, explanation = find(document, got, expected, pretokens)
    assert found == stage
    assert words in explanation and explanation.startswith("inferred: ")


def test_a_trace_beats_inference() -> None:
    """With both sides traced the sentence is made from the decisions."""
    scans = [
        {"stage": "scan", "offset": 0, "path": p, "accepted": w, "value": 1, "class": "L", "next": w}
        for p, w in (("well-formed", 2), ("ill-formed", 1))
    ]
    finding = explain(
        b"ab",
        [0, 1],
        [2],
        pieces=TOKENS.get,
        trace_expected=lambda _: scans[:1],
        trace_got=lambda _: scans[1:],
        got_name="ours",
        expected_name="theirs",
    )
    assert finding.stage == "scan"
    assert finding.explanation.startswith("ours reads 1 byte(s)") and "theirs reads 2" in finding.explanation


@pytest.mark.parametrize(
    ("stages", "stage"),
    [
        ({"scan", "pretokenize", "merge"}, "scan"), (None, "scan"), ({"pretokenize"}, "merge"), ({"merge"}, "scan"),
    ],
)
def test_a_trace_that_would_give_other_ids_says_nothing(stages: set[str] | None, stage: str) -> None:
    """Both sides' decisions are the same and the ids are not: what was traced is not the path that gave them. Pieces
    alone that are cut alike leave merging."""
    same = [{"stage": "pretokenize", "offset": 0, "start": 0, "end": 3, "rule": "rule"}]
    finding = explain(
        b"\xffab", [4, 0, 1], [4, 2], pieces=TOKENS.get, is_token=lambda t: t in TOKENS.values(),
        trace_expected=lambda _: same, trace_got=lambda _: same, stages=stages,
    )
    assert (finding.stage, finding.signature) == (stage, f"inferred {stage}")


def test_the_window_holds_the_difference() -> None:
    """A long document is shown around its first differing token."""
    expected = [0] * 5000 + [1]
    finding = explain(
        b"a" * 5000 + b"b",
        [*expected[:-1], 3],
        expected,
        pieces=TOKENS.get,
        trace_expected=lambda _: None,
        trace_got=None,
    )
    assert finding.token == 5000
    assert bytes.fromhex(finding.input).endswith(b"ab") and len(finding.input) == 512
    assert finding.got == [0, 0, 0, 0, 3] and finding.expected == [0, 0, 0, 0, 1]


def test_first_differing() -> None:
    assert first_differing([1, 2, 3], [1, 2, 3]) == 3
    assert first_differing([1, 2], [1, 2, 3]) == 2
    assert first_differing([1, 9], [1, 2, 3]) == 1


@pytest.mark.parametrize(("reached", "stage"), [(True, "merge"), (False, "lookup")])
def test_a_token_that_no_merging_forms_was_looked_up(reached: bool, stage: str) -> None:
    """In a part of a piece: as a whole piece it would be told by its place."""
    finding = explain(
        b"aba",
        [2, 0],
        [0, 1, 0],
        pieces=TOKENS.get,
        is_token=lambda t: t in TOKENS.values(),
        reaches=lambda _: reached,
        trace_expected=lambda _: [{"stage": "pretokenize", "offset": 0, "start": 0, "end": 3, "rule": "rule"}],
        trace_got=None,
    )
    assert finding.stage == stage
