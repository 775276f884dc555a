"""JSON lines: a document is the string under one key (default `text`) of each line's object, as UTF-8.

A line that gives no document is counted and named in the corpus's problems: not JSON, not an object, no such
key, not a string, or a string with a lone surrogate (which no UTF-8 can hold). Lines of white space alone are
allowed and skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tokassay.corpora.corpus import Columns, Problems, pack
from tokassay.corpora.document import Document
from tokassay.corpora.readers.lines import read_lines


def read_jsonl(path: Path, problems: Problems, shown: str, field: str = "text") -> Iterator[Columns]:
    """The documents of a JSONL file; names are "<shown>:<line>"."""
    return pack(_documents(path, problems, shown, field))


def _documents(path: Path, problems: Problems, shown: str, field: str) -> Iterator[Document]:
    for buffer, offsets, name in read_lines(path, problems, shown):
        for k in range(len(offsets) - 1):
            line = bytes(buffer[int(offsets[k]) : int(offsets[k + 1])])
            if not line.strip():
                continue
            found = _text(line, field)
            if isinstance(found, bytes):
                yield Document(name(k), found)
            else:
                problems.add(found, name(k))


def _text(line: bytes, field: str) -> bytes | str:
    """The text's bytes, or the reason (a str) why the line has none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return "not JSON"
    if not isinstance(value, dict):
        return "not an object"
    if field not in value:
        return f"no field {field!r}"
    text = value[field]
    if not isinstance(text, str):
        return f"field {field!r} is not a string"
    try:
        return text.encode()
    except UnicodeEncodeError:
        return "a lone surrogate"
