"""Which domain a document belongs to: `neutral`, `unicode` or `bytes` (docs/METHODOLOGY.md).

The three are fixed by the Unicode tables of the tree and by nothing else, so that neither the roster nor the contract
moves a document from one domain to another.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from itertools import pairwise

import numpy as np
import numpy.typing as npt

DOMAINS = ("neutral", "unicode", "bytes")
NEUTRAL, UNICODE, BYTES = range(3)
UNICODE_VERSIONS = ("15.0", "15.1", "16.0", "17.0")
EARLIEST = "8.0"  # a table for engines of `wordpiece`; it moves no document
CODE_POINTS = 0x110000
SHORT = 2048  # mean bytes of a document up to which a chunk is looked at as a whole


def read_table(version: str) -> tuple[list[tuple[int, int, str]], list[tuple[int, int]]]:
    """General categories and White_Space of one Unicode version, as (first, last, category) and (first, last)."""
    categories: list[tuple[int, int, str]] = []
    spaces: list[tuple[int, int]] = []
    text = files("tokassay.fixtures").joinpath("unicode", f"{version}.txt").read_text(encoding="ascii")
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        left, right = line.split(";")
        if left == "White_Space":
            first, _, last = right.partition("..")
            spaces.append((int(first, 16), int(last or first, 16)))
        else:
            first, _, last = left.partition("..")
            categories.append((int(first, 16), int(last or first, 16), right))
    return categories, spaces


@lru_cache(maxsize=1)
def changing() -> npt.NDArray[np.bool_]:
    """For every code point: does its category or White_Space differ between the versions of the tree?"""
    return _changing(UNICODE_VERSIONS)


@lru_cache(maxsize=1)
def changing_since_earliest() -> npt.NDArray[np.bool_]:
    """For every code point: does what EARLIEST says of it differ from what the versions of a neutral document say?"""
    return _changing((EARLIEST, *UNICODE_VERSIONS))


def since_earliest(data: bytes) -> bool:
    """Whether EARLIEST says another thing of a character than later versions do; ill-formed bytes say nothing."""
    points = np.frombuffer(data.decode("utf-8", "ignore").encode("utf-32-le"), dtype=np.uint32)
    return bool(changing_since_earliest()[points].any())


def _changing(versions: tuple[str, ...]) -> npt.NDArray[np.bool_]:
    names: dict[str, int] = {}
    first: npt.NDArray[np.uint8] | None = None
    result = np.zeros(CODE_POINTS, dtype=np.bool_)
    for version in versions:
        table = np.zeros(CODE_POINTS, dtype=np.uint8)
        categories, spaces = read_table(version)
        for start, end, category in categories:
            table[start : end + 1] = names.setdefault(category, len(names))
        for start, end in spaces:
            table[start : end + 1] += 64
        if first is None:
            first = table
        else:
            result |= table != first
    return result


def ordered(version: str) -> tuple[int, ...]:
    """A Unicode version as numbers that sort."""
    return tuple(map(int, version.split(".")))


@lru_cache(maxsize=1)
def renormalizing() -> tuple[tuple[str, ...], npt.NDArray[np.uint32]]:
    """(versions, for every code point a bit for each of them): those that told a normalizer something of it.

    That is a combining class, a decomposition (for NFKC also of compatibility) or its exclusion, or that it is a part
    in a canonical one.
    """
    folder = files("tokassay.fixtures").joinpath("unicode")
    names = ("normalization.txt", "compatibility.txt")
    text = "".join(folder.joinpath(name).read_text(encoding="ascii") for name in names)
    rows = [line.split(";") for line in text.splitlines() if line and not line.startswith("#")]
    rows = [row for row in rows if row[0] != "Word"]
    versions = tuple(sorted({since for _, since, *_ in rows}, key=ordered))
    table = np.zeros(CODE_POINTS, dtype=np.uint32)
    for kind, since, points, *rest in rows:
        first, _, last = points.partition("..")
        ranges = [(int(first, 16), int(last or first, 16))]
        if kind == "Decomposition":  # what it is a part of may be composed; nothing is composed to a compatible one
            ranges += [(int(part, 16), int(part, 16)) for part in rest[0].split()]
        for start, end in ranges:
            table[start : end + 1] |= np.uint32(1 << versions.index(since))
    return versions, table


def renormalized_by(data: bytes) -> frozenset[str]:
    """The Unicode versions that told a normalizer of some character of `data`; ill-formed bytes tell nothing."""
    if data.isascii():
        return frozenset()
    versions, table = renormalizing()
    points = np.frombuffer(data.decode("utf-8", "ignore").encode("utf-32-le"), dtype=np.uint32)
    told = int(np.bitwise_or.reduce(table[points], initial=0))
    return frozenset(version for i, version in enumerate(versions) if told >> i & 1)


def domain_of(document: bytes) -> int:
    """NEUTRAL, UNICODE or BYTES. Python's strict decoder is Table 3-7; the oracle's own is tested equal to it."""
    if document.isascii():
        return NEUTRAL
    try:
        text = document.decode("utf-8")
    except UnicodeDecodeError:
        return BYTES
    points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    return UNICODE if bool(changing()[points].any()) else NEUTRAL


def domains_of(buffer: bytes | memoryview, offsets: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
    """The domain of each document of a chunk. shape (n,) for offsets of shape (n + 1,).

    Short documents are looked at as a whole chunk: 100 MB of lines took 0.2 to 0.4 s so, and 0.9 to 1.9 s one by one.
    Whole files are quicker one by one, 0.2 against 0.8 s, for most of them are ASCII.
    """
    count = len(offsets) - 1
    result = np.zeros(count, dtype=np.uint8)
    start, end = int(offsets[0]), int(offsets[-1])
    if end - start > SHORT * count:
        return _one_by_one(buffer, offsets)
    whole = bytes(buffer[start:end])
    if whole.isascii():
        return result
    raw = np.frombuffer(whole, dtype=np.uint8)
    inner = (offsets[1:-1] - offsets[0]).astype(np.int64)
    inner = inner[inner < len(raw)]
    # A border inside a character would let two ill-formed documents make a well-formed whole.
    if not bool(((raw[inner] & 0xC0) == 0x80).any()):
        try:
            text = whole.decode("utf-8")
        except UnicodeDecodeError:
            pass
        else:
            points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
            if not bool(changing()[points].any()):
                return result
    return _one_by_one(buffer, offsets)


def _one_by_one(buffer: bytes | memoryview, offsets: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
    ends = offsets.tolist()
    found = [domain_of(bytes(buffer[a:b])) for a, b in pairwise(ends)]
    return np.array(found, dtype=np.uint8)
