"""Writes csrc/nfc_tables.c from fixtures/unicode/normalization.txt: run it when a Unicode version is added.

    python -m tokassay.engines.dat_bpe.generate_normalization [OUTPUT]

A two-stage table a version (code point >> 7 gives a block, the block one byte a code point) says which of a few kinds
a character is to NFC: a combining class and the flags below; kind 0 is class 0 without a flag. Full decompositions and
primary composites are sorted arrays that all versions share: a mapping never changes once its character is assigned.
A composite carries the first version that has it; whether a character decomposes is a flag of the version's own table.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from tokassay.engines.dat_bpe.generate_tables import BLOCK, SHIFT, VERSIONS, rows

# Flags of a kind (nfc_tables.h): no boundary before it; it may be joined with what stands before it; NFC of it alone is
# something else; it has a decomposition.
JOINS, MAYBE, CHANGES, DECOMPOSES = 1, 2, 4, 8
# Nothing from here on is of interest to NFC: the tables end.
LIMIT = 0x30000
# Hangul syllables are arithmetic: Unicode 3.12.
L_BASE, V_BASE, T_BASE, S_BASE = 0x1100, 0x1161, 0x11A7, 0xAC00
L_COUNT, V_COUNT, T_COUNT = 19, 21, 28
S_COUNT = L_COUNT * V_COUNT * T_COUNT


@dataclass
class Data:
    """One version's properties: what is not listed has class 0 and no decomposition."""

    classes: dict[int, int] = field(default_factory=dict)
    mappings: dict[int, tuple[int, ...]] = field(default_factory=dict)
    exclusions: set[int] = field(default_factory=set)
    words: list[tuple[int, int]] = field(default_factory=list)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def read_normalization(lines: Iterable[str], version: str) -> Data:
    """The properties of one version. Raises ValueError with the line's number where a line is malformed."""
    data = Data()
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            kind, since, points, *rest = line.strip().split(";")
            if _number(since) > _number(version):
                continue
            first, _, last = points.partition("..")
            low, high = int(first, 16), int(last or first, 16)
            if kind == "Ccc":
                data.classes.update(dict.fromkeys(range(low, high + 1), int(rest[0])))
            elif kind == "Decomposition":
                data.mappings[low] = tuple(int(part, 16) for part in rest[0].split())
            elif kind == "Exclusion":
                data.exclusions.add(low)
            elif kind == "Word":
                data.words.append((low, high))
            else:
                raise ValueError(kind)
        except (ValueError, IndexError) as error:
            raise ValueError(f"line {number}: not a property: {line!r}") from error
    return data


def expand(point: int, mappings: Mapping[int, tuple[int, ...]]) -> tuple[int, ...]:
    """The full canonical decomposition of a character, in the order of the mappings."""
    if point not in mappings:
        return (point,)
    return tuple(part for each in mappings[point] for part in expand(each, mappings))


def composites(data: Data) -> dict[tuple[int, int], int]:
    """The primary composites, (first, second) -> character: no exclusion, no singleton, no non-starter."""
    return {
        (mapping[0], mapping[1]): point
        for point, mapping in data.mappings.items()
        if len(mapping) == 2 and point not in data.exclusions
        and not data.classes.get(point) and not data.classes.get(mapping[0])
    }


def kinds(data: Data) -> dict[int, tuple[int, int]]:
    """(combining class, flags) of each code point that is not (0, 0).

    A boundary is a character whose full decomposition begins with a starter that no primary composite has as its
    second part: text may be cut before it without changing its NFC.
    """
    pairs = composites(data)
    seconds = {second for _, second in pairs}
    seconds |= set(range(V_BASE, V_BASE + V_COUNT)) | set(range(T_BASE + 1, T_BASE + T_COUNT))
    made: dict[int, tuple[int, int]] = {}
    for point in set(data.classes) | seconds | set(data.mappings):
        full = expand(point, data.mappings)
        mapping = data.mappings.get(point, ())
        flags = DECOMPOSES if mapping else 0
        if mapping and (len(mapping) != 2 or pairs.get((mapping[0], mapping[1])) != point):
            flags |= CHANGES
        if full[0] in seconds:
            flags |= MAYBE | JOINS
        if data.classes.get(full[0]) or data.classes.get(point):
            flags |= JOINS
        made[point] = (data.classes.get(point, 0), flags)
    return made


def calm_words(all_kinds: Iterable[Mapping[int, tuple[int, int]]]) -> list[int]:
    """1,024 numbers of 64 bits, one bit a code point of the first plane: a boundary that NFC leaves alone, in every
    version. Text of such characters is passed over without another look."""
    words = [2**64 - 1] * (0x10000 // 64)
    for made in all_kinds:
        for point, (_, flags) in made.items():
            if flags & (JOINS | CHANGES) and point < 0x10000:
                words[point // 64] &= ~(1 << point % 64)
    return words


def render() -> str:
    """The whole C file."""
    text = (files("tokassay.fixtures") / "unicode" / "normalization.txt").read_text(encoding="ascii").splitlines()
    datas = [read_normalization(text, version) for version in VERSIONS]
    newest = datas[-1]
    each_kinds = [kinds(data) for data in datas]
    every = {(0, 0)}.union(*(made.values() for made in each_kinds))
    numbers = {kind: number for number, kind in enumerate(sorted(every))}
    blocks: dict[bytes, int] = {}
    indexes = []
    for found in each_kinds:
        made = bytearray(LIMIT)
        for point, kind in found.items():
            made[point] = numbers[kind]
        cut = (bytes(made[start : start + BLOCK]) for start in range(0, LIMIT, BLOCK))
        indexes.append([blocks.setdefault(block, len(blocks)) for block in cut])
    if len(blocks) > 256 or len(numbers) > 256:
        raise ValueError(f"{len(blocks)} blocks, {len(numbers)} kinds: they do not fit in bytes")
    full = {point: expand(point, newest.mappings) for point in sorted(newest.mappings)}
    parts: list[int] = []
    starts = []
    for expansion in full.values():
        starts.append(len(parts))
        parts += expansion
    calm = calm_words(each_kinds)
    pairs = sorted(composites(newest).items())
    since = {
        pair: next(number for number, data in enumerate(datas) if composites(data).get(pair) == point)
        for pair, point in pairs
    }
    words = {tuple(data.words) for data in datas}
    if len(words) != 1:
        raise ValueError("the versions differ in Word: give each its own table")
    ranges = words.pop()
    out = [
        "/* Written by generate_normalization.py from fixtures/unicode; a test compares all. Not edited by hand. */",
        '#include "nfc_tables.h"',
        "",
        f"static_assert(DAT_NFC_POINTS == {len(full)} && DAT_NFC_COMPOSITES == {len(pairs)}, \"nfc_tables.h\");",
        f"static_assert(DAT_WORD_RANGES == {len(ranges)} && DAT_NFC_LIMIT == {LIMIT}, \"nfc_tables.h\");",
        "",
        f"static const uint8_t nfc_blocks[{len(blocks)}][{BLOCK}] = {{",
        ",\n".join("    {\n" + rows(block, 24) + "}" for block in blocks),
        "};",
        "",
        f"static const uint8_t nfc_indexes[{len(VERSIONS)}][{LIMIT >> SHIFT}] = {{",
        ",\n".join("    {\n" + rows(index, 24) + "}" for index in indexes),
        "};",
        "",
        f"const dat_nfc dat_nfc_versions[{len(VERSIONS)}] = {{",
        ",\n".join(f"    {{nfc_indexes[{i}], nfc_blocks, {i}}}" for i in range(len(VERSIONS))),
        "};",
        "",
        f"const dat_nfc_kind dat_nfc_kinds[{len(numbers)}] = {{",
        ",\n".join(f"    {{{value}, {flags}}}" for value, flags in numbers),
        "};",
        "",
        "const uint64_t dat_nfc_calm[1024] = {",
        ",\n".join("    " + ", ".join(f"0x{word:016x}u" for word in calm[i : i + 5]) for i in range(0, 1024, 5)),
        "};",
        "",
        "const uint32_t dat_nfc_points[DAT_NFC_POINTS] = {",
        rows(full, 16),
        "};",
        "",
        "const uint16_t dat_nfc_starts[DAT_NFC_POINTS + 1] = {",
        rows([*starts, len(parts)], 18),
        "};",
        "",
        f"const uint32_t dat_nfc_parts[{len(parts)}] = {{",
        rows(parts, 16),
        "};",
        "",
        "const dat_composite dat_nfc_composites[DAT_NFC_COMPOSITES] = {",
        ",\n".join(f"    {{{first}, {second}, {point}, {since[first, second]}}}" for (first, second), point in pairs),
        "};",
        "",
        "const dat_range dat_word_ranges[DAT_WORD_RANGES] = {",
        ",\n".join(f"    {{{first}, {last}}}" for first, last in ranges),
        "};",
        "",
    ]
    return "\n".join(out)


def main() -> None:
    """Write the table to the path given, or beside the other C files."""
    here = Path(__file__).resolve().parent / "csrc" / "nfc_tables.c"
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else here
    target.write_text(render(), encoding="ascii")


if __name__ == "__main__":
    main()
