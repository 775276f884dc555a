"""Sets of characters by code point and general category: closed under union and complement."""

from __future__ import annotations

from collections.abc import Iterable

from tokassay.engines.dat_bpe.generate_tables import CATEGORIES, WHITE_SPACE

Interval = tuple[int, int]
# A set of characters: intervals (first code point, which category bytes) in order, the first from 0 on.
CharSet = tuple[Interval, ...]

LAST = 0x10FFFF
_EVERY = sum(1 << (index + space) for index in range(len(CATEGORIES)) for space in (0, WHITE_SPACE))
_SPACES = sum(1 << (index + WHITE_SPACE) for index in range(len(CATEGORIES)))


def normal(intervals: Iterable[Interval]) -> CharSet:
    """Intervals in order, neighbours that are alike joined."""
    kept: list[Interval] = []
    for first, mask in intervals:
        if not kept or kept[-1][1] != mask:
            kept.append((first, mask))
    return tuple(kept)


def negated(chars: CharSet) -> CharSet:
    """All other characters."""
    return tuple((first, mask ^ _EVERY) for first, mask in chars)


def union(sets: Iterable[CharSet]) -> CharSet:
    """The characters of any of the sets."""
    joined: CharSet = ((0, 0),)
    for each in sets:
        starts = sorted({first for first, _ in joined} | {first for first, _ in each})
        joined = normal((first, _mask(joined, first) | _mask(each, first)) for first in starts)
    return joined


def _mask(chars: CharSet, point: int) -> int:
    return next(mask for first, mask in reversed(chars) if first <= point)


def between(first: int, last: int) -> CharSet:
    """All code points of a range."""
    rows = [(0, 0)] if first > 0 else []
    rows.append((first, _EVERY))
    if last < LAST:
        rows.append((last + 1, 0))
    return tuple(rows)


def of_categories(name: str) -> CharSet:
    """The characters of a general category or of a group of them, by its short name."""
    wanted = [c for c in CATEGORIES if (c in ("Lu", "Ll", "Lt") if name == "LC" else c.startswith(name))]
    return ((0, sum(1 << (CATEGORIES.index(c) + space) for c in wanted for space in (0, WHITE_SPACE))),)


SPACE: CharSet = ((0, _SPACES),)
