"""SentencePiece's BPE (bpe_model.cc): symbols are characters; while some two neighbours make a piece, join the two
whose piece has the highest score, the leftmost of these.

A user-defined piece is one symbol that nothing is joined to. A piece marked unused is merged like any other, and where
one is left at the end it is split again into the two parts that were last seen beside each other as that piece, and
these in turn, a hundred levels deep at most.

Scores are 32-bit floats and -0.0 is below 0.0. They are put into ranks first, so that the choice is that of merge.py:
the lowest rank, leftmost.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from heapq import heapify, heappop, heappush

from tokassay.oracles.spm_normalize import UserDefined

LEVELS = 100
Symbol = tuple[bytes, bool]  # the bytes, and whether it is frozen: a user-defined piece
Parts = dict[bytes, tuple[bytes, bytes]]
RankOf = Callable[[bytes, bytes], int | None]
# Called for each join with (left, right, rank, offset of left in the text).
Record = Callable[[bytes, bytes, int, int], None]


def ranks(scores: Mapping[bytes, float]) -> dict[bytes, int]:
    """piece -> rank: 0 for the highest score; equal scores share one."""
    places = {bits: place for place, bits in enumerate(sorted(set(map(_ordered, scores.values())), reverse=True))}
    return {piece: places[_ordered(score)] for piece, score in scores.items()}


def _ordered(score: float) -> int:
    """An integer in the order of 32-bit floats, -0.0 below 0.0."""
    bits: int = struct.unpack("<i", struct.pack("<f", score))[0]
    return bits if bits >= 0 else -(bits & 0x7FFFFFFF) - 1


def width_at(data: bytes, at: int) -> int:
    """Bytes of the character at `at`, by its first byte alone: what is normalized is well-formed."""
    lead = data[at]
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


def symbols(data: bytes, user_defined: UserDefined) -> list[Symbol]:
    """The symbols that merging begins with."""
    found: list[Symbol] = []
    at = 0
    while at < len(data):
        width = user_defined.longest(data, at)
        step = width or width_at(data, at)
        found.append((data[at : at + step], width > 0))
        at += step
    return found


def by_piece(rank: Mapping[bytes, int]) -> RankOf:
    """rank_of for pieces: the rank of what two neighbours make."""
    get = rank.get
    return lambda left, right: get(left + right)


def naive(begun: Sequence[Symbol], rank_of: RankOf, record: Record | None = None) -> list[bytes]:
    """The definition, one join a pass; quadratic."""
    parts = list(begun)
    while True:
        best = None
        for at in range(len(parts) - 1):
            (left, frozen), (right, too) = parts[at], parts[at + 1]
            found = None if frozen or too else rank_of(left, right)
            if found is not None and (best is None or found < best[0]):
                best = found, at
        if best is None:
            return [part for part, _ in parts]
        lowest, at = best
        if record is not None:
            record(parts[at][0], parts[at + 1][0], lowest, sum(len(part) for part, _ in parts[:at]))
        parts[at : at + 2] = [(parts[at][0] + parts[at + 1][0], False)]


def linked(
    begun: Sequence[Symbol], rank_of: RankOf, record: Record | None = None, seen: Parts | None = None
) -> list[bytes]:
    """The same parts in time n log n: candidates in a heap, parts in a linked list.

    `seen` is filled with the last two neighbours looked at that make a piece; they are looked at once from left to
    right, and then, after each join, those before and behind the new part.
    """
    length = len(begun)
    parts: list[bytes | None] = [part for part, _ in begun]
    frozen = [flag for _, flag in begun]
    starts = [0] * length
    for at in range(1, length):
        starts[at] = starts[at - 1] + len(begun[at - 1][0])
    after, before = list(range(1, length + 1)), list(range(-1, length - 1))

    def rank_at(at: int) -> int | None:
        other = after[at]
        if parts[at] is None or other >= length or frozen[at] or frozen[other]:
            return None
        left, right = parts[at], parts[other]
        assert left is not None and right is not None
        found = rank_of(left, right)
        if found is not None and seen is not None:
            seen[left + right] = left, right
        return found

    candidates = [(found, at) for at in range(length - 1) if (found := rank_at(at)) is not None]
    heapify(candidates)
    while candidates:
        lowest, at = heappop(candidates)
        gone, left = after[at], parts[at]
        if left is None or gone >= length:
            continue
        right = parts[gone]
        assert right is not None
        if frozen[at] or frozen[gone] or rank_of(left, right) != lowest:
            continue  # one of the two has been joined to something else since
        if record is not None:
            record(left, right, lowest, starts[at])
        parts[at], parts[gone] = left + right, None
        after[at] = after[gone]
        if after[at] < length:
            before[after[at]] = at
        for changed in (before[at], at):
            found = rank_at(changed) if changed >= 0 else None
            if found is not None:
                heappush(candidates, (found, changed))
    return [part for part in parts if part is not None]


def split_again(piece: bytes, unused: frozenset[bytes], seen: Parts, level: int = 0) -> list[bytes]:
    """What is given for a part: itself, unless it is unused and its two parts are known."""
    if piece not in unused or level > LEVELS or piece not in seen:
        return [piece]
    return [each for part in seen[piece] for each in split_again(part, unused, seen, level + 1)]
