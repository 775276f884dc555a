"""Byte-pair merging, as written: begin with single symbols (bytes, where the contract says nothing else); while some
adjacent pair has a rank, join the pair of the lowest rank, the leftmost of these; stop when none has.

`rank_of(left, right)` is the only difference between the two algorithms:

    bpe-ranks   the rank of the concatenation `left + right` (Sennrich et al. 2016 as tiktoken states it)
    bpe-pairs   the place of the pair (left, right) in a merge list (GPT-2's vocab.bpe)

`naive` is the definition, one join a pass. `linked` is the same choice with the candidates kept in a heap and
the parts in a linked list, because a piece of 1,000,000 bytes is a legal piece; tests hold the two equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import accumulate

RankOf = Callable[[bytes, bytes], int | None]
# Called for each join with (left, right, rank, offset of left in the piece).
Record = Callable[[bytes, bytes, int, int], None]

# Above this many symbols the heap is quicker than the passes.
LONG = 96


def ranks(tokens: Mapping[bytes, int]) -> RankOf:
    """rank_of for `bpe-ranks`."""
    get = tokens.get
    return lambda left, right: get(left + right)


def pairs(merges: Sequence[tuple[bytes, bytes]]) -> RankOf:
    """rank_of for `bpe-pairs`; of a pair listed twice the last place counts, as in GPT-2's own code."""
    places = {pair: place for place, pair in enumerate(merges)}
    get = places.get
    return lambda left, right: get((left, right))


def symbols_of(piece: bytes | Sequence[bytes]) -> list[bytes]:
    """What merging begins with: the single bytes of a piece that is not given as symbols."""
    return [piece[at : at + 1] for at in range(len(piece))] if isinstance(piece, bytes) else list(piece)


def naive(piece: bytes | Sequence[bytes], rank_of: RankOf, record: Record | None = None) -> list[bytes]:
    """The parts of a piece (its bytes, or the symbols that it begins with) after all merges; quadratic in their
    number."""
    parts = symbols_of(piece)
    while True:
        lowest = None
        where = -1
        for at in range(len(parts) - 1):
            rank = rank_of(parts[at], parts[at + 1])
            if rank is not None and (lowest is None or rank < lowest):
                lowest, where = rank, at
        if lowest is None:
            return parts
        if record is not None:
            record(parts[where], parts[where + 1], lowest, sum(map(len, parts[:where])))
        parts[where : where + 2] = [parts[where] + parts[where + 1]]


def linked(piece: bytes | Sequence[bytes], rank_of: RankOf, record: Record | None = None) -> list[bytes]:
    """The same parts in time n log n. A part is named by the number of its first symbol."""
    symbols = symbols_of(piece)
    length = len(symbols)
    parts: list[bytes | None] = list(symbols)
    begins = [0, *accumulate(map(len, symbols))]
    after = list(range(1, length + 1))
    before = list(range(-1, length - 1))
    candidates: list[tuple[int, int]] = []

    def rank_at(at: int) -> int | None:
        left = parts[at]
        if left is None or after[at] >= length:
            return None
        right = parts[after[at]]
        assert right is not None
        return rank_of(left, right)

    for at in range(length - 1):
        rank = rank_at(at)
        if rank is not None:
            candidates.append((rank, at))
    heapify(candidates)
    while candidates:
        rank, at = heappop(candidates)
        if rank_at(at) != rank:
            continue  # one of the two parts has been joined to something else since
        gone = after[at]
        left, right = parts[at], parts[gone]
        assert left is not None and right is not None
        if record is not None:
            record(left, right, rank, begins[at])
        parts[at], parts[gone] = left + right, None
        after[at] = after[gone]
        if after[at] < length:
            before[after[at]] = at
        for changed in (before[at], at):
            new = rank_at(changed) if changed >= 0 else None
            if new is not None:
                heappush(candidates, (new, changed))
    return [part for part in parts if part is not None]


def merge(piece: bytes | Sequence[bytes], rank_of: RankOf, record: Record | None = None) -> list[bytes]:
    """`naive` for few symbols, `linked` for many."""
    return (linked if len(piece) > LONG else naive)(piece, rank_of, record)
