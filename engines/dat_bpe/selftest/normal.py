"""NFC as UAX #15 and chapter 3.11 of the standard say it, slowly, from fixtures/unicode/normalization.txt."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

S, L, V, T, LAST = 0xAC00, 0x1100, 0x1161, 0x11A7, 0xAC00 + 11171


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


@dataclass(frozen=True)
class Normal:
    """Combining classes, one-step decompositions, and which pairs compose, of one version."""

    combining: dict[int, int]
    decomposition: dict[int, tuple[int, ...]]
    composition: dict[tuple[int, int], int]

    @staticmethod
    @cache
    def of(version: str) -> Normal:
        """What the file says of this version: every line that an earlier one or this one brought."""
        combining: dict[int, int] = {}
        decomposition: dict[int, tuple[int, ...]] = {}
        excluded: set[int] = set()
        text = (files("tokassay.fixtures") / "unicode" / "normalization.txt").read_text(encoding="ascii")
        for line in text.splitlines():
            if line.startswith("#") or _number(line.split(";")[1]) > _number(version):
                continue
            kind, _, place, *rest = line.split(";")
            if kind == "Ccc":
                first, last = (int(each, 16) for each in place.split(".."))
                combining |= dict.fromkeys(range(first, last + 1), int(rest[0]))
            elif kind == "Decomposition":
                decomposition[int(place, 16)] = tuple(int(each, 16) for each in rest[0].split())
            elif kind == "Exclusion":
                excluded.add(int(place, 16))
        pairs = {
            (parts[0], parts[1]): point for point, parts in decomposition.items()
            if len(parts) == 2 and point not in excluded and not combining.get(point) and not combining.get(parts[0])
        }
        return Normal(combining, decomposition, pairs)

    def _apart(self, point: int) -> list[int]:
        if S <= point <= LAST:
            at = point - S
            return [L + at // 588, V + at % 588 // 28, *([T + at % 28] if at % 28 else [])]
        if point not in self.decomposition:
            return [point]
        return [each for part in self.decomposition[point] for each in self._apart(part)]

    def decompose(self, text: str) -> str:
        """NFD: fully decomposed, runs of marks in stable order of their classes."""
        points = [each for character in text for each in self._apart(ord(character))]
        at = 0
        while at < len(points):
            end = at
            while end < len(points) and self.combining.get(points[end], 0):
                end += 1
            points[at:end] = sorted(points[at:end], key=lambda each: self.combining[each])
            at = max(end, at + 1)
        return "".join(map(chr, points))

    def _join(self, left: int, right: int) -> int | None:
        if L <= left < L + 19 and V <= right < V + 21:
            return S + ((left - L) * 21 + right - V) * 28
        if S <= left <= LAST and (left - S) % 28 == 0 and T < right < T + 28:
            return left + right - T
        return self.composition.get((left, right))

    def nfc(self, text: str) -> str:
        """Composed again: each character with the last starter before it, where nothing between blocks it."""
        made: list[int] = []
        starter = -1
        for point in map(ord, self.decompose(text)):
            number = self.combining.get(point, 0)
            blocked = starter + 1 < len(made) and (number == 0 or self.combining.get(made[-1], 0) >= number)
            joined = self._join(made[starter], point) if starter >= 0 and not blocked else None
            if joined is not None:
                made[starter] = joined
                continue
            if number == 0:
                starter = len(made)
            made.append(point)
        return "".join(map(chr, made))
