"""Two traces of one document side by side: decisions about the same place share a row, and the row in which the sides
part first is marked.

Rows go piece by piece: between two places where both sides begin a piece come the added tokens, what the normalizer
changed, what was scanned, the pieces, their merges and the tokens given out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tokassay.harness.differ import Side, spoken_for
from tokassay.harness.traces import extent, ordered, row
from tokassay.oracles.decisions import STAGES, Decision, compared, differing, first_difference

IDS = "its ids"  # who told a token's place of a side that told nothing: tokens have the vocabulary's bytes


@dataclass(frozen=True)
class Pair:
    """What both sides decided at one place. `same` is None where one of them tells nothing of the stage."""

    stage: str
    at: int
    left: Decision | None
    right: Decision | None
    same: bool | None


@dataclass(frozen=True)
class SideBySide:
    """The document and both sides, `right` None where there is one side only.

    `own` are the stages that each side told itself; `left` and `right` have what was inferred too. `first` is the index
    of the pair in which they part first, in the pipeline's order; None where nothing that both tell of differs.
    `sentence` says how the sides part there.
    """

    document: bytes
    left: Side
    right: Side | None
    own: tuple[frozenset[str], frozenset[str]]
    pairs: tuple[Pair, ...]
    first: int | None = None
    sentence: str = ""


def side_by_side(
    document: bytes, left: Side, right: Side | None = None, stand_ins: Sequence[Side | None] = (None, None)
) -> SideBySide:
    """Align what two sides decided; `stand_ins` are oracles that gave the same ids, or None."""
    own = left.told, frozenset() if right is None else right.told
    a = with_ids(spoken_for(left, stand_ins[0]))
    if right is None:
        return SideBySide(document, a, None, own, tuple(aligned(document, told(a), (), ())))
    b = with_ids(spoken_for(right, stand_ins[1]))
    mine, theirs = told(a), told(b)
    both = a.told & b.told
    pairs = tuple(aligned(document, mine, theirs, both))
    found = first_difference(mine, theirs, (a.name, b.name), both)
    if found is None:
        return SideBySide(document, a, b, own, pairs)
    records = {id(each) for each in (found.left, found.right) if each is not None}
    first = next(n for n, pair in enumerate(pairs) if {id(pair.left), id(pair.right)} & records)
    return SideBySide(document, a, b, own, pairs, first, found.explanation)


def told(side: Side) -> list[dict[str, Any]]:
    """A side's decisions as objects of their own."""
    return [dict(decision) for decision in side.decisions or ()]


def with_ids(side: Side) -> Side:
    """`side`; where nobody told what its tokens stand for, with look-ups made from its ids and the vocabulary."""
    if "lookup" in side.told or side.outcome != "ids" or side.spans is None:
        return side
    made = [
        {"stage": "lookup", "offset": start, "path": "ids", "start": start, "end": end, "id": number, "inferred": IDS}
        for number, (start, end) in zip(side.ids, side.spans, strict=True)
    ]
    return replace(side, decisions=(*(side.decisions or ()), *made), stages=side.told | {"lookup"})


def aligned(
    document: bytes, left: Sequence[Decision], right: Sequence[Decision], both: Iterable[str] = STAGES
) -> list[Pair]:
    """The pairs of two traces, piece by piece; `both` are the stages that both sides tell of."""
    counted = {id(each) for each in compared(left, right, frozenset(both))}
    cuts = _cuts(left, right)
    found: list[Pair] = []
    mine, theirs = _grouped(left, cuts), _grouped(right, cuts)
    for group in sorted(mine.keys() | theirs.keys()):
        parted = False  # whether its pieces are
        for stage in STAGES:
            for one, other in _joined(mine[group][stage], theirs[group][stage]):
                present = one if one is not None else other
                assert present is not None
                same = None if id(present) not in counted else _same(one, other, stage)
                if stage == "pretokenize":
                    parted = parted or same is False
                elif stage == "merge" and parted and same is False:
                    # A merge's place is told from where its piece begins: there they part, and not here.
                    same = one is not None and other is not None and _made(one) == _made(other)
                found.append(Pair(stage, extent(present, document)[0], one, other, same))
    return found


def _same(one: Decision | None, other: Decision | None, stage: str) -> bool:
    return one is not None and other is not None and not differing(one, other, stage)


def _cuts(left: Iterable[Decision], right: Iterable[Decision]) -> list[int]:
    """The places where both sides begin a piece or an added token; those of one side where the other tells of none."""
    starts = [{int(d["start"]) for d in side if d["stage"] in ("pretokenize", "special")} for side in (left, right)]
    return sorted(starts[0] & starts[1] if all(starts) else starts[0] | starts[1])


def _grouped(side: Iterable[Decision], cuts: Sequence[int]) -> defaultdict[int, defaultdict[str, list[Decision]]]:
    """The decisions by the cut before them and by stage, in order."""
    groups: defaultdict[int, defaultdict[str, list[Decision]]] = defaultdict(lambda: defaultdict(list))
    for each in side:
        groups[bisect_right(cuts, int(each["offset"]))][str(each["stage"])].append(each)
    return groups


def _joined(left: list[Decision], right: list[Decision]) -> list[tuple[Decision | None, Decision | None]]:
    """Two lists of one stage merged by place: what is at one place on both sides is a pair. So are merges of the same
    bytes in pieces that do not begin at one byte, where each would stand alone."""
    mine, theirs = _placed(left), _placed(right)
    pairs: list[tuple[Decision | None, Decision | None]] = []
    i = j = 0
    while i < len(mine) or j < len(theirs):
        take_left = j == len(theirs) or (i < len(mine) and mine[i][0] <= theirs[j][0])
        take_right = i == len(mine) or (j < len(theirs) and theirs[j][0] <= mine[i][0])
        pairs.append((mine[i][1] if take_left else None, theirs[j][1] if take_right else None))
        i, j = i + take_left, j + take_right
    alone: defaultdict[object, list[int]] = defaultdict(list)
    for n, (one, other) in enumerate(pairs):
        if one is None and other is not None and other["stage"] == "merge":
            alone[_made(other)].append(n)
    met: set[int] = set()
    for n, (one, other) in enumerate(pairs):
        if one is not None and other is None and (found := alone.get(_made(one))):
            met.add(found[0])
            pairs[n] = one, pairs[found.pop(0)][1]
    return [pair for n, pair in enumerate(pairs) if n not in met]


def _made(merge: Decision) -> tuple[object, ...]:
    """The bytes that a merge joins, and where they are in the document."""
    return int(merge["offset"]) + int(merge.get("position", 0)), merge.get("left"), merge.get("right")


def _placed(side: list[Decision]) -> list[tuple[tuple[int, int], Decision]]:
    """((offset, rank there), decision): merges of a piece by their number, others by whether they take a byte at all (a
    space that was put before the text takes none)."""
    found: list[tuple[tuple[int, int], Decision]] = []
    merges: dict[int, int] = defaultdict(int)
    for each in sorted(side, key=lambda decision: int(decision["offset"])):
        offset = int(each["offset"])
        if each["stage"] == "merge":
            found.append(((offset, merges[offset]), each))
            merges[offset] += 1
        else:
            found.append(((offset, int(each.get("end", each.get("next")) != offset)), each))
    return found


def to_json(seen: SideBySide) -> dict[str, Any]:
    """The object that `trace --json` prints, without what the command adds (docs/FORMATS.md)."""
    sides = [side for side in (seen.left, seen.right) if side is not None]
    return {
        "schema": "tokassay.trace/1",
        "document": seen.document.hex(),
        "sides": [_side(side, own) for side, own in zip(sides, seen.own, strict=False)],
        "rows": [
            {
                "stage": pair.stage,
                "at": pair.at,
                "same": pair.same,
                "decisions": [_told(pair.left, seen.left, seen.document)]
                + ([] if seen.right is None else [_told(pair.right, seen.right, seen.document)]),
            }
            for pair in seen.pairs
        ],
        "first": seen.first,
        "parted": seen.sentence,
    }


def _side(side: Side, own: frozenset[str]) -> dict[str, Any]:
    inferred: dict[str, set[str]] = defaultdict(set)
    for each in side.decisions or ():
        if "inferred" in each:
            inferred[str(each["inferred"])].add(str(each["stage"]))
    return {
        **side.to_json(),
        "traced": bool(own),
        "stages": ordered(own),
        "inferred": {who: ordered(stages) for who, stages in inferred.items()},
    }


def _told(decision: Decision | None, side: Side, document: bytes) -> dict[str, Any] | None:
    """A decision with what it means in words."""
    if decision is None:
        return None
    told = row(decision, document, side.variants.partition("@")[0])
    return {**decision, "span": list(extent(decision, document)), "bytes": told.bytes, "meaning": told.meaning}
