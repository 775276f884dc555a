"""Decision records: what each stage decided, where. One schema for the oracle and for every engine that can
trace.

A record is a JSON object. `stage` and `offset` (document bytes) are always there, `path` names the way taken:

    special      start, end, id                                  a special token was found
    normalize    start, end                                      the normalizer changed this stretch
    scan         proposed, accepted (widths in bytes), value (code point, or the byte where none is
                 well-formed), class ("S" for White_Space, else the general category), next (offset)
    pretokenize  start, end, rule (the alternative that took the piece, or "gap")
    merge        left, right (hex), rank, position (bytes from the start of the piece); offset is the piece's
    lookup       start, end, id                                  a token was given out

Offsets are of the document; in a merge, `position` is of the piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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

COARSE = frozenset("LNSO")
WHOLE = "whole piece"  # the path of a look-up that took a piece as it is


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


def _differing(left: Decision, right: Decision, stage: str) -> tuple[str, ...]:
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
    left: Sequence[Decision], right: Sequence[Decision], names: tuple[str, str] = ("left", "right")
) -> Difference | None:
    """The first difference in the pipeline's order, or None.

    A stage that only one side records at all is not compared: that side is traced, the other is not. An
    exception are special tokens, which a document may simply not have: those are compared whenever either
    side has one.
    """
    # A piece that a side looked up whole has no merges to be compared: what is given out for it is.
    whole = {each["offset"] for each in (*left, *right) if each["stage"] == "lookup" and each.get("path") == WHOLE}
    for stage in STAGES:
        ours, theirs = _of_stage(left, stage), _of_stage(right, stage)
        if stage != "special" and not (ours and theirs):
            if not (ours or theirs) or stage != "merge":
                continue
            if not (_of_stage(left, "lookup") and _of_stage(right, "lookup")):
                continue
        if stage == "merge":
            ours, theirs = ([each for each in side if each["offset"] not in whole] for side in (ours, theirs))
        for index in range(max(len(ours), len(theirs))):
            one = ours[index] if index < len(ours) else None
            other = theirs[index] if index < len(theirs) else None
            if one is None or other is None:
                present = one if one is not None else other
                assert present is not None
                who, lacks = names if one is not None else names[::-1]
                text = f"{who} {describe(present)}; {lacks} has no such decision"
                return Difference(stage, index, one, other, COMPARED[stage], text)
            fields = _differing(one, other, stage)
            if fields:
                text = f"{names[0]} {describe(one)}; {names[1]} {describe(other)}"
                return Difference(stage, index, one, other, fields, text)
    return None


def describe(decision: Decision) -> str:
    """A clause that says what was decided."""
    stage = decision["stage"]
    get = decision.get
    if stage == "special":
        return f"finds special token {get('id')} at bytes {get('start')}..{get('end')}"
    if stage == "normalize":
        return f"changes bytes {get('start')}..{get('end')} by normalizing"
    if stage == "scan":
        value = int(get("value", 0))
        what = f"byte {value:02X}" if "ill-formed" in str(get("path")) else f"U+{value:04X}"
        return f"reads {get('accepted')} byte(s) at {decision['offset']} as {what}, class {get('class')}"
    if stage == "classify":
        return f"puts byte {decision['offset']} in class {get('class')}"
    if stage == "pretokenize":
        return f"takes bytes {get('start')}..{get('end')} as one piece (rule {get('rule')})"
    if stage == "merge":
        place = f"{get('position')} of the piece at {decision['offset']}"
        return f"joins {get('left')} and {get('right')} at {place} (rank {get('rank')})"
    return f"gives bytes {get('start')}..{get('end')} token {get('id')}"
