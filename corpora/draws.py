"""Seeded draws that give the same numbers on every Python: only `random.Random.random()` is used.

Python promises the sequence of `random()` for a given seed across versions, and of nothing else (`randrange`,
`choice` and `shuffle` have changed). Every draw here is a stated function of that sequence:

- the state of document k of a source is `random.Random("<source>/<seed>/<k>")`, so a document depends on the
  source's name, the seed and its own number, and never on how many documents there are;
- `below(n)` is `floor(random() * n)`; `choice` is `items[below(len(items))]`;
- `length(most)` is near-geometric: `floor(most ** random())`, so short documents prevail and long ones occur.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draws:
    """The draws of one document."""

    __slots__ = ("unit",)

    def __init__(self, source: str, seed: int, k: int) -> None:
        self.unit = random.Random(f"{source}/{seed}/{k}").random

    def below(self, n: int) -> int:
        """An integer in 0 <= x < n."""
        return int(self.unit() * n)

    def choice(self, items: Sequence[T]) -> T:
        """One of `items`, all equally likely."""
        return items[int(self.unit() * len(items))]

    def length(self, most: int) -> int:
        """An integer in 1 <= x <= most, short ones far likelier."""
        return int(most ** self.unit())

    def chance(self, p: float) -> bool:
        """True with probability `p`."""
        return self.unit() < p
