"""The best path of a unigram model (Kudo 2018), as SentencePiece computes it (unigram_model.cc, EncodeOptimized).

Every character is a place where a piece may begin and end. A path's score is the sum of its pieces' scores; a place at
which no piece of exactly one character begins also has an unknown one, worth the least score of all normal pieces less
10. The path with the highest score is given.

Sums are of 32-bit floats, rounded after each addition, from left to right: so does the reference, and in 64 bits other
paths would win where two are within a rounding of each other. Past 100,000 either way they are set off by the sum so
far, as there; that too changes how they round.

Ties: of paths that end at one place with equal scores, the one whose last piece begins first stays, so that the longest
last piece wins; the comparison in the reference is `>`, and places are gone through from left to right.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from tokassay.oracles.spm_bpe import width_at

UNKNOWN_PENALTY = 10.0
RESET = 100_000.0


class Unigram:
    """`scores` are those of the normal pieces; user-defined ones are worth 0.1 for each byte after the first."""

    def __init__(self, scores: Mapping[bytes, float], user_defined: frozenset[bytes]) -> None:
        self.scores = dict(scores)
        self.scores.update((piece, single(0.1 * (len(piece) - 1))) for piece in user_defined)
        self.unknown = single(min(scores.values()) - UNKNOWN_PENALTY)
        lengths: dict[bytes, set[int]] = {}
        for piece in self.scores:
            lengths.setdefault(piece[: width_at(piece, 0)], set()).add(len(piece))
        # Piece lengths by first character, shortest first.
        self._lengths = {first: tuple(sorted(found)) for first, found in lengths.items()}

    def best(self, data: bytes) -> list[bytes]:
        """The parts of the best path: pieces, and single characters for which there is none. `data` is well-formed."""
        size = len(data)
        best = array("f", [0.0]) * (size + 1)
        came = array("q", [-1]) * (size + 1)  # where the last piece of the best path to a place begins
        cell = array("f", [0.0])  # one addition, rounded to 32 bits
        get, lengths = self.scores.get, self._lengths
        frontier = at = 0
        while at < size:
            if not -RESET <= best[at] <= RESET:
                _set_off(best, came, at, frontier)
            here = best[at]
            width = width_at(data, at)
            alone = False
            for length in lengths.get(data[at : at + width], ()):
                end = at + length
                if end > size:
                    break
                score = get(data[at:end])
                if score is None:
                    continue
                frontier = max(frontier, end)
                cell[0] = score + here
                if came[end] < 0 or cell[0] > best[end]:
                    best[end], came[end] = cell[0], at
                alone = alone or length == width
            if not alone:
                end = at + width
                frontier = max(frontier, end)
                cell[0] = self.unknown + here
                if came[end] < 0 or cell[0] > best[end]:
                    best[end], came[end] = cell[0], at
            at += width
        parts: list[bytes] = []
        while at > 0:
            parts.append(data[came[at] : at])
            at = came[at]
        return parts[::-1]


def _set_off(best: array[float], came: array[int], at: int, frontier: int) -> None:
    """Take the sum at a place off the sums from there on."""
    base = best[at]
    for place in range(at, frontier + 1):
        if place == at or came[place] >= 0:
            best[place] -= base


def single(value: float) -> float:
    """The 32-bit float next to a number."""
    return array("f", [value])[0]
