"""Reads SWORD modules (zText and zCom): compressed books of verses with OSIS markup.

A testament has three files: `.?zs` lists blocks (offset, compressed size, size: three u32), `.?zz` holds them
(zlib), and `.?zv` lists verses in canonical order: u32 block, u32 start in it, and the length as u16, or as
u32 in the wide form (a file of the narrow form is never a multiple of twelve bytes long for the one
versification these modules use).
"""

from __future__ import annotations

import html
import re
import struct
import zlib
from collections.abc import Iterator, Mapping

TESTAMENTS = ("ot", "nt")
NARROW, WIDE = struct.Struct("<IIH"), struct.Struct("<III")
BLOCK = struct.Struct("<III")
# Notes and titles are not the verse's text.
ASIDE = re.compile(r"<(note|title)\b[^>]*>.*?</\1>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")


def markup(files: Mapping[str, bytes]) -> Iterator[tuple[str, int, str]]:
    """(testament, verse number in the file, markup) of every entry that has any, by a mapping of paths to
    bytes.

    Verses that point to the text of the verse before them (linked verses) come once.
    """
    by_name = {name.rsplit("/", 1)[-1]: data for name, data in files.items()}
    for testament in TESTAMENTS:
        for letter in "bc":
            blocks, verses, texts = (by_name.get(f"{testament}.{letter}z{part}") for part in "svz")
            if blocks is not None and verses is not None and texts is not None:
                yield from _entries(testament, blocks, verses, texts)


def _entries(testament: str, blocks: bytes, verses: bytes, texts: bytes) -> Iterator[tuple[str, int, str]]:
    form = NARROW if len(verses) % WIDE.size else WIDE
    held, text = -1, b""
    last = (-1, -1, -1)
    for number, (block, start, length) in enumerate(form.iter_unpack(verses)):
        if not length:
            continue
        if block != held:
            offset, packed, _ = BLOCK.unpack_from(blocks, block * BLOCK.size)
            held, text = block, zlib.decompress(texts[offset : offset + packed])
        if (block, start, length) != last:
            last = (block, start, length)
            yield testament, number, text[start : start + length].decode("utf-8", "replace")


def plain(osis: str) -> str:
    """The text of OSIS markup: notes and titles left out, tags removed, entities resolved, white space
    single.
    """
    return " ".join(html.unescape(TAG.sub("", ASIDE.sub("", osis))).split())
