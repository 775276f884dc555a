"""What is in a corpus: documents, bytes, content digest, how much of it is well-formed UTF-8, characters by script."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tokassay.corpora.corpus import ContentHash, Corpus, Offsets

VERSION = 1  # of what is kept beside a prepared corpus
UNKNOWN = ("Common", "Inherited", "Unknown")  # punctuation, marks and what is no character: they name no script
CODE_POINTS = 0x110000


@dataclass(frozen=True)
class Facts:
    """`valid_documents` are documents that are well-formed UTF-8, `valid_bytes` their bytes. `scripts` has the
    characters of each script of Unicode 15.0 in those documents, most frequent first, without those that are common
    to several."""

    documents: int
    bytes: int
    digest: str
    valid_documents: int
    valid_bytes: int
    scripts: dict[str, int]


def facts_of(corpus: Corpus) -> Facts:
    """Read a corpus once and count. 100 MB take some seconds."""
    names, table = script_table()
    counts = np.zeros(len(names), np.int64)
    state = ContentHash()
    documents = size = 0
    for buffer, offsets, _ in corpus.columns():
        state.add(buffer, offsets)
        for start, end, number in _valid(buffer, offsets):
            documents += number
            size += end - start
            points = np.frombuffer(str(buffer[start:end], "utf-8").encode("utf-32-le"), np.uint32)
            counts += np.bincount(table[points], minlength=len(names))
    found = state.done()
    scripts = {name: int(n) for name, n in zip(names, counts, strict=True) if n and name not in UNKNOWN}
    ordered = dict(sorted(scripts.items(), key=lambda item: (-item[1], item[0])))
    return Facts(found.documents, found.bytes, found.digest, documents, size, ordered)


def kept_facts(corpus: Corpus, folder: Path) -> Facts:
    """The facts of a prepared corpus, which are kept in its folder: it never changes."""
    path = folder / f"facts-{VERSION}.json"
    try:
        return Facts(**json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        found = facts_of(corpus)
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        beside.write_text(json.dumps(asdict(found)), "utf-8")
        os.replace(beside, path)
        return found


def _valid(buffer: bytes | memoryview, offsets: Offsets) -> list[tuple[int, int, int]]:
    """Stretches of the chunk that hold well-formed documents alone: (first byte, end, documents)."""
    first, last = int(offsets[0]), int(offsets[-1])
    window = np.frombuffer(buffer, np.uint8, last - first, first) if last > first else np.zeros(0, np.uint8)
    starts = (offsets[:-1] - offsets[0]).astype(np.int64)
    inside = starts[starts < len(window)]
    # A whole that is well-formed has well-formed parts where each of them begins with a character.
    if not (window[inside] & 0xC0 == 0x80).any() and _decodes(buffer, first, last):
        return [(first, last, len(offsets) - 1)]
    spans = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    return [(start, end, 1) for start, end in spans if _decodes(buffer, start, end)]


def _decodes(buffer: bytes | memoryview, start: int, end: int) -> bool:
    try:
        str(buffer[start:end], "utf-8")
    except UnicodeDecodeError:
        return False
    return True


@lru_cache(maxsize=1)
def script_table() -> tuple[list[str], npt.NDArray[Any]]:
    """Names of scripts, and for every code point the place of its script among them. shape (0x110000,)."""
    names = ["Unknown"]
    table = np.zeros(CODE_POINTS, np.uint8)
    text = files("tokassay.fixtures").joinpath("scripts", "15.0.txt").read_text("ascii")
    for line in text.splitlines():
        if not line.startswith("#"):
            span, script = line.split(";")
            if script not in names:
                names.append(script)
            first, _, last = span.partition("..")
            table[int(first, 16) : int(last, 16) + 1] = names.index(script)
    return names, table
