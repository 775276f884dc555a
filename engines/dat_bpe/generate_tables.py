"""Writes csrc/unicode_tables.c from fixtures/unicode/*.txt: run it when a Unicode version is added.

    python -m tokassay.engines.dat_bpe.generate_tables [OUTPUT]

A two-stage table a version: code point >> 7 gives a block, the block gives one byte: the index of the general
category in `CATEGORIES`, plus 32 where the code point is White_Space. Equal blocks are stored once, over all
versions, so that four versions cost little more than one.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

VERSIONS = ("15.0", "15.1", "16.0", "17.0")
# The order is part of the C interface (classify.h relies on it); it is alphabetic, and Cn is the default.
CATEGORIES = (
    "Cc", "Cf", "Cn", "Co", "Cs", "Ll", "Lm", "Lo", "Lt", "Lu", "Mc", "Me", "Mn", "Nd", "Nl", "No",
    "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "Sc", "Sk", "Sm", "So", "Zl", "Zp", "Zs",
)
WHITE_SPACE = 32
CODE_POINTS = 0x110000
SHIFT = 7
BLOCK = 1 << SHIFT


def read_classes(lines: Iterable[str]) -> bytearray:
    """One byte a code point from the lines of a fixtures/unicode file.

    Raises ValueError where a line is malformed, a category unknown, or a code point has no line or two.
    """
    unset = 255
    table = bytearray([unset]) * CODE_POINTS
    spaces: list[tuple[int, int]] = []
    for number, line in enumerate(lines, 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        left, _, right = line.partition(";")
        try:
            if left == "White_Space":
                first, last = (int(part, 16) for part in right.split(".."))
                spaces.append((first, last))
                continue
            first, last = (int(part, 16) for part in left.split(".."))
            index = CATEGORIES.index(right)
        except ValueError as error:
            raise ValueError(f"line {number}: not a range of code points: {line!r}") from error
        if any(value != unset for value in table[first : last + 1]):
            raise ValueError(f"line {number}: a code point of {left} has a category already")
        table[first : last + 1] = bytes([index]) * (last + 1 - first)
    if unset in table:
        raise ValueError(f"U+{table.index(unset):04X} has no category")
    for first, last in spaces:
        for point in range(first, last + 1):
            table[point] |= WHITE_SPACE
    return table


def rows(values: Iterable[int], width: int = 20) -> str:
    """Numbers as lines of C, `width` a line."""
    flat = [str(value) for value in values]
    return ",\n".join("    " + ", ".join(flat[i : i + width]) for i in range(0, len(flat), width))


def render() -> str:
    """The whole C file."""
    folder = files("tokassay.fixtures") / "unicode"
    blocks: dict[bytes, int] = {}
    indexes: list[list[int]] = []
    digests: list[str] = []
    for version in VERSIONS:
        table = read_classes((folder / f"{version}.txt").read_text(encoding="ascii").splitlines())
        digests.append(hashlib.sha256(bytes(table)).hexdigest()[:16].upper())
        cut = (bytes(table[start : start + BLOCK]) for start in range(0, CODE_POINTS, BLOCK))
        indexes.append([blocks.setdefault(block, len(blocks)) for block in cut])
    out = [
        "/* Written by generate_tables.py from fixtures/unicode; a test compares every entry. Not edited by hand. */",
        '#include "unicode_tables.h"',
        "",
        f"static const uint8_t blocks[{len(blocks)}][{BLOCK}] = {{",
        ",\n".join("    {\n" + rows(block, 24) + "}" for block in blocks),
        "};",
        "",
        f"static const uint16_t indexes[{len(VERSIONS)}][{CODE_POINTS >> SHIFT}] = {{",
        ",\n".join("    {\n" + rows(index) + "}" for index in indexes),
        "};",
        "",
        f"const dat_unicode dat_unicode_versions[{len(VERSIONS)}] = {{",
        ",\n".join(
            f'    {{"{version}", indexes[{i}], blocks, UINT64_C(0x{digests[i]})}}' for i, version in enumerate(VERSIONS)
        ),
        "};",
        "",
        f"const char dat_category_names[{len(CATEGORIES)}][3] = {{",
        "    " + ", ".join(f'"{name}"' for name in CATEGORIES[:15]) + ",",
        "    " + ", ".join(f'"{name}"' for name in CATEGORIES[15:]),
        "};",
        "",
    ]
    return "\n".join(out)


def main() -> None:
    """Write the table to the path given, or beside the other C files."""
    here = Path(__file__).resolve().parent / "csrc" / "unicode_tables.c"
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else here
    target.write_text(render(), encoding="ascii")


if __name__ == "__main__":
    main()
