"""General categories and White_Space of a stated Unicode version, from fixtures/unicode.

The contract names the version; what Python or the `regex` library happens to ship is never asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tokassay.oracles.errors import OracleError

VERSIONS = ("15.0", "15.1", "16.0", "17.0")
# Known to some engine's normalizer; no part of what a neutral document is.
EARLIER = ("8.0",)

CODE_POINTS = 0x110000


@dataclass(frozen=True)
class Classes:
    """The classes of one Unicode version; `ranges` are (first, last, category) over all code points, in
    order."""

    version: str
    ranges: tuple[tuple[int, int, str], ...]
    white_space: frozenset[int]
    names: tuple[str, ...]
    indexes: bytes

    def category(self, code_point: int) -> str:
        """The two-letter general category; Cn for an unassigned code point."""
        return self.names[self.indexes[code_point]]

    def label(self, code_point: int) -> str:
        """The class in a decision record: "S" for White_Space, otherwise the general category."""
        return "S" if code_point in self.white_space else self.category(code_point)


def parse(text: str, version: str, where: str) -> Classes:
    """Read a table; OracleError if it does not cover 0..10FFFF once, in order."""
    ranges: list[tuple[int, int, str]] = []
    space: list[int] = []
    expected = 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            continue
        left, _, right = line.partition(";")
        is_space = left == "White_Space"
        first, _, last = (right if is_space else left).partition("..")
        try:
            low, high = int(first, 16), int(last, 16)
        except ValueError:
            low, high = 1, 0
        if low > high or (not is_space and low != expected):
            raise OracleError(
                f"line {number} is not the next range",
                where=f"{where}:{number}",
                remedy="derive the table again: python fixtures/derive_unicode.py",
            )
        if is_space:
            space += range(low, high + 1)
        else:
            ranges.append((low, high, right))
            expected = high + 1
    if expected != CODE_POINTS:
        raise OracleError(
            f"the table ends at {expected - 1:X}, not at 10FFFF",
            where=where,
            remedy="derive the table again: python fixtures/derive_unicode.py",
        )
    names = tuple(sorted({category for _, _, category in ranges}))
    indexes = b"".join(bytes([names.index(category)]) * (last - first + 1) for first, last, category in ranges)
    return Classes(version, tuple(ranges), frozenset(space), names, indexes)


@cache
def classes(version: str) -> Classes:
    """The classes of a Unicode version among VERSIONS and EARLIER (read once a process)."""
    if version not in (*EARLIER, *VERSIONS):
        raise OracleError(
            f"no table of Unicode {version}", where="contract: unicode",
            remedy=f"use one of {', '.join((*EARLIER, *VERSIONS))}",
        )
    path = files("tokassay.fixtures") / "unicode" / f"{version}.txt"
    return parse(path.read_text(encoding="ascii"), version, str(path))


@cache
def changing() -> frozenset[int]:
    """Code points whose category or White_Space is not the same in all VERSIONS: what a neutral document
    lacks."""
    tables = [classes(version) for version in VERSIONS]
    return frozenset(
        code_point for code_point in range(CODE_POINTS) if len({table.label(code_point) for table in tables}) > 1
    )
