"""Decision records: what each stage decided, where. One schema for the oracle and for every engine that can
trace.

A record is a JSON object. `stage` and `offset` (document bytes) are always there, `path` names the way taken:

    special      start, end, id                                  a special token was found
    normalize    start, end                                      the normalizer changed this stretch; under the path
                                                                 "prefix space" one was put there (start = end)
    scan         proposed, accepted (widths in bytes), value (code point, or the byte where none is
                 well-formed), class ("S" for White_Space, else the general category), next (offset)
    pretokenize  start, end, rule (the alternative that took the piece, or "gap")
    merge        left, right (hex), rank, position (bytes from the start of the piece); offset is the piece's
    lookup       start, end, id                                  a token was given out

Offsets are of the document; in a merge, `position` is of the piece. An engine leaves out the fields that it does not
know. `inferred`, where it is there, names who told the record: not the engine, but an oracle that gave the same ids, or
the ids alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Decision = dict[str, Any]

# The pipeline's order: a later stage may differ because an earlier one did.
STAGES = ("special", "normalize", "scan", "classify", "pretokenize", "merge", "lookup")

# What two engines must agree on; the rest of a record (path, rule, proposed, rank) only explains.
COMPARED: Mapping[str, tuple[str, ...]] = {
    "special": ("start", "end", "id"),
    "normalize": ("start", "end"),
    "scan": ("offset", "accepted", "value", "class", "next"),
    "classify": ("offset", "class"),
    "pretokenize": ("start", "end"),
    "merge": ("offset", "left", "right", "position"),
    "lookup": ("start", "end", "id"),
}

# Stages of which a document may have nothing to say: where both sides speak of them, silence is a decision.
MAY_BE_EMPTY = frozenset(("special", "normalize", "merge"))
COARSE = frozenset("LNSO")
WHOLE = "whole piece"  # the path of a look-up that takes a piece as it is, before any merge
# The paths of a look-up in a word of WordPiece: the longest token that fits, or one unknown for all of the word.
LONGEST, UNKNOWN_WORD, TOO_LONG = "longest match", "unknown word", "word past the limit"
IN_WORDS = (LONGEST, UNKNOWN_WORD, TOO_LONG)
PREFIX_SPACE = "prefix space"  # the path of a `normalize` that puts one before the text


@dataclass(frozen=True)
class Difference:
    """The first decision that differs: its stage, its index among that stage's records on each side, the
    records (None where a side has none left), the fields that differ, and one sentence."""

    stage: str
    index: int
    left: Decision | None
    right: Decision | None
    fields: tuple[str, ...]
    explanation: str

    def to_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        return {
            "stage": self.stage,
            "index": self.index,
            "left": self.left,
            "right": self.right,
            "fields": list(self.fields),
            "explanation": self.explanation,
        }


def coarse(name: str) -> str:
    """L, N, S or O of a class: a general category, "S" for White_Space, or one of the four already."""
    if name in COARSE:
        return name
    return name[0] if name[:1] in ("L", "N") else "O"


def _same_class(left: object, right: object) -> bool:
    if left == right:
        return True
    one, other = str(left), str(right)
    # An engine that knows only four classes is not at fault for not saying which kind of letter.
    return (one in COARSE or other in COARSE) and coarse(one) == coarse(other)


def differing(left: Decision, right: Decision, stage: str) -> tuple[str, ...]:
    """The fields on which two sides must agree and do not."""
    fields = []
    for field in COMPARED[stage]:
        if field not in left or field not in right:
            continue
        same = _same_class(left[field], right[field]) if field == "class" else left[field] == right[field]
        if not same:
            fields.append(field)
    return tuple(fields)


def _of_stage(decisions: Iterable[Decision], stage: str) -> list[Decision]:
    # Engines interleave stages and pieces as they like; within one offset the order is the engine's own.
    return sorted((each for each in decisions if each["stage"] == stage), key=lambda each: int(each["offset"]))


def first_difference(
    left: Sequence[Decision],
    right: Sequence[Decision],
    names: tuple[str, str] = ("left", "right"),
    stages: Collection[str] | None = None,
) -> Difference | None:
    """The first difference in the pipeline's order, or None.

    `stages` are those that both sides speak of. None: those that both have records of, special tokens in any case, and
    merges where both look up tokens; a stage that only one side records is not compared.
    """
    for stage in STAGES:
        ours, theirs = _compared(left, right, stage, stages)
        found = _first_of(stage, ours, theirs, names)
        if found is not None:
            return _taken_whole(found, left, right, names) or found
    return None


def compared(left: Sequence[Decision], right: Sequence[Decision], stages: Collection[str]) -> list[Decision]:
    """The decisions of both sides that `first_difference` looks at."""
    return [each for stage in STAGES for side in _compared(left, right, stage, stages) for each in side]


def _compared(
    left: Sequence[Decision], right: Sequence[Decision], stage: str, stages: Collection[str] | None
) -> tuple[list[Decision], list[Decision]]:
    """What is compared of a stage, in order; nothing where it is not."""
    ours, theirs = _of_stage(left, stage), _of_stage(right, stage)
    if stage == "merge":
        ours, theirs = _merges(left, right), _merges(right, left)
    if stages is not None and stage not in stages:
        return [], []
    if not (ours and theirs) and stage not in (MAY_BE_EMPTY if stages is not None else _taken(left, right)):
        return [], []
    return ours, theirs


def _first_of(stage: str, ours: list[Decision], theirs: list[Decision], names: tuple[str, str]) -> Difference | None:
    for index in range(max(len(ours), len(theirs))):
        one = ours[index] if index < len(ours) else None
        other = theirs[index] if index < len(theirs) else None
        if one is None or other is None:
            present = one if one is not None else other
            assert present is not None
            who, lacks = names if one is not None else names[::-1]
            text = f"{who} {describe(present)}; {lacks} has no such decision"
            return Difference(stage, index, one, other, COMPARED[stage], text)
        fields = differing(one, other, stage)
        if fields:
            return Difference(stage, index, one, other, fields, _both(one, other, names))
    return None


def _both(one: Decision, other: Decision, names: tuple[str, str]) -> str:
    return f"{names[0]} {describe(one)}; {names[1]} {describe(other)}"


def _taken_whole(
    found: Difference, left: Sequence[Decision], right: Sequence[Decision], names: tuple[str, str]
) -> Difference | None:
    """Where merges differ because one side alone took the piece whole: that, as a difference of `lookup`. Of the same
    bytes under two ids, the ids differ and not the ways to them."""
    if found.stage != "merge":
        return None
    piece = min(int(each["offset"]) for each in (found.left, found.right) if each is not None)
    one, other = (
        next((each for each in _of_stage(side, "lookup") if each["offset"] == piece), None) for side in (left, right)
    )
    took = [each is not None and each in _whole(side) for each, side in ((one, left), (other, right))]
    if took[0] == took[1] or one is None or other is None:
        return None
    fields = differing(one, other, "lookup")
    if fields == ("id",):
        return Difference("lookup", found.index, one, other, fields, _both(one, other, names))
    who, merges = names if took[0] else names[::-1]
    text = f"{who} {describe(one if took[0] else other)}; {merges} merges that piece"
    return Difference("lookup", found.index, one, other, ("path",), text)


def _whole(side: Sequence[Decision]) -> list[Decision]:
    """The look-ups that took a piece whole, without a merge."""
    merged = {each["offset"] for each in side if each["stage"] == "merge"}
    return [each for each in side if each.get("path") == WHOLE and each["offset"] not in merged]


def _merges(side: Sequence[Decision], other: Sequence[Decision]) -> list[Decision]:
    """A side's merges, without those of pieces that one of them looked up whole and that came out the same on both."""
    both = [{(each["start"], each["end"], each["id"]) for each in _whole(one)} for one in (side, other)]
    given = [
        {(each.get("start"), each.get("end"), each["id"]) for each in one if each["stage"] == "lookup"}
        for one in (side, other)
    ]
    same = {start for start, _, _ in (both[0] & given[1]) | (both[1] & given[0])}
    return [each for each in _of_stage(side, "merge") if each["offset"] not in same]


def _taken(left: Sequence[Decision], right: Sequence[Decision]) -> Collection[str]:
    """The stages that are compared though only one side has records of them, where nobody says who speaks of what."""
    return ("special", "merge") if _of_stage(left, "lookup") and _of_stage(right, "lookup") else ("special",)


def describe(decision: Decision) -> str:
    """A clause that says what was decided."""
    stage = decision["stage"]
    get = decision.get
    if stage == "special":
        return f"finds special token {get('id')} at bytes {get('start')}..{get('end')}"
    if stage == "normalize":
        if get("path") == PREFIX_SPACE:
            return f"puts a space before byte {get('start')}"
        return f"changes bytes {get('start')}..{get('end')} by normalizing"
    if stage == "scan":
        value = int(get("value", 0))
        what = f"byte {value:02X}" if "ill-formed" in str(get("path")) else f"U+{value:04X}"
        return f"reads {get('accepted')} byte(s) at {decision['offset']} as {what}, class {get('class')}"
    if stage == "classify":
        return f"puts byte {decision['offset']} in class {get('class')}"
    if stage == "pretokenize":
        rule = f" (rule {get('rule')})" if "rule" in decision else ""
        return f"takes bytes {get('start')}..{get('end')} as one piece{rule}"
    if stage == "merge":
        place = f"{get('position')} of the piece at {decision['offset']}"
        return f"joins {get('left')} and {get('right')} at {place} (rank {get('rank')})"
    if "start" not in decision:
        return f"gives token {get('id')} at {decision['offset']}"
    whole = ", looked up whole" if get("path") == WHOLE else ""
    return f"gives bytes {get('start')}..{get('end')} token {get('id')}{whole}"
