"""What makes two divergences one: contract, engines, verdict, stage, kinds of decision, class pair.

Nothing of it is a place, a value or a length, so that the thousands of documents that show one fault have one
signature.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tokassay.oracles.decisions import COARSE, Difference, coarse

Decision = Mapping[str, Any]
Pair = tuple[str, str]

NONE: Pair = ("", "")
# The fields of a decision that are its kind, by stage.
KINDS = {"scan": ("path",), "pretokenize": ("rule",)}
ABSENT = "-"
QUOTED = re.compile(r"""(?<!\w)(["'`]).*?\1(?!\w)""")  # not the apostrophe of "can't"


@dataclass(frozen=True)
class Cause:
    """What one document shows of a divergence.

    `known` is `traced` (decisions of both sides), `inferred` (from ids and pieces) or `ended` (a side gave no ids).
    `kinds` are the kinds of the first differing decision on either side, `classes` the classes that either side gave
    the character (none where they take another width, for that is another character), or, where the sides cut pieces at
    different places, those of the characters around the first cut.
    """

    known: str
    stage: str
    kinds: Pair = NONE
    classes: Pair = NONE

    def __str__(self) -> str:
        words = [self.known, self.stage]
        words += [" / ".join(filter(None, self.kinds))] if any(self.kinds) else []
        words += [f"({' | '.join(self.classes)})"] if any(self.classes) else []
        return " ".join(words)


@dataclass(frozen=True)
class Signature:
    """A divergence's own name. `contract` names vocabulary and special-token policy, `engines` who was compared with
    whom, `cause` is the text of a Cause."""

    contract: str
    engines: Pair
    verdict: str
    cause: str


def traced(difference: Difference, scans: Iterable[Decision]) -> Cause:
    """The cause of a difference between two traces; `scans` are the records of a side that scanned the document."""
    left, right = difference.left or {}, difference.right or {}
    stage = stage_of(difference)
    kinds = _kind(difference.stage, difference.left), _kind(difference.stage, difference.right)
    if stage == "special":
        return Cause("traced", stage, _found(difference.left, difference.right))
    if difference.stage in ("scan", "classify"):
        # Who takes another width reads another character: what class that has is chance.
        other = "accepted" in difference.fields
        classes = NONE if other else _apart(str(left.get("class", "")), str(right.get("class", "")))
        return Cause("traced", stage, kinds, classes)
    if difference.stage == "pretokenize":
        cuts = [int(side["end"]) for side in (left, right) if side]
        starts = {int(side["start"]) for side in (left, right) if side}
        return Cause("traced", stage, kinds, around(scans, min(cuts) if len(starts) == 1 else max(starts)))
    return Cause("traced", stage, kinds)


def stage_of(difference: Difference) -> str:
    """The stage that differs. A scanner that takes the same character and classes it otherwise differs in `classify`;
    what an ill-formed byte is taken for is `scan`; a token of the same bytes under another id differs in `id map`."""
    ill_formed = any("ill-formed" in str((side or {}).get("path")) for side in (difference.left, difference.right))
    if difference.stage == "scan" and difference.fields == ("class",) and not ill_formed:
        return "classify"
    if difference.stage == "lookup" and difference.fields == ("id",):
        return "id map"
    return difference.stage


def around(scans: Iterable[Decision], cut: int, shown: Callable[[str], str] = coarse) -> Pair:
    """The classes of the characters before and after byte `cut`, as `shown` shows them; "" where there is none."""
    before = after = ""
    for each in scans:
        if each["stage"] != "scan":
            continue
        if int(each["offset"]) == cut:
            after = shown(str(each["class"]))
        if int(each["next"]) == cut:
            before = shown(str(each["class"]))
    return before, after


def ending(outcome: str, detail: str = "") -> str:
    """The kind of an end: the verdict and the first line of what was said of it. Digits and what stands in quotes do
    not tell two apart, for they are the document's (omnitoken names the character that it has no token for: 25 names
    for one fault); a document that is refused is refused, whatever the words."""
    if outcome in ("ids", "reject", "timeout", "oom"):
        return outcome
    line = QUOTED.sub("\u2026", detail.partition("\n")[0])
    return f"{outcome} {''.join('0' if c.isdigit() else c for c in line)[:80]}".strip()


def _kind(stage: str, decision: Decision | None) -> str:
    fields = KINDS.get(stage, ())
    if decision is None:
        return ABSENT
    return "/".join(str(decision.get(field, ABSENT)) for field in fields)


def _found(left: Decision | None, right: Decision | None) -> Pair:
    """Which side has found a special token where the other has none, or the longer one of two."""
    if left is None or right is None or left["start"] != right["start"]:
        mine = right is None or (left is not None and left["start"] < right["start"])
        return ("found", ABSENT) if mine else (ABSENT, "found")
    if left["end"] == right["end"]:
        return "id", "id"
    return ("longer", "shorter") if left["end"] > right["end"] else ("shorter", "longer")


def _apart(left: str, right: str) -> Pair:
    """Two classes, no finer than tells them apart."""
    if left in COARSE or right in COARSE or coarse(left) != coarse(right):
        return coarse(left) if left else "", coarse(right) if right else ""
    return left, right
