"""Whole files: a document is all the bytes of a file; a folder is all its files, recursively, by sorted path.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tokassay.corpora.corpus import Columns, Problems, pack
from tokassay.corpora.document import CorpusError, Document
from tokassay.corpora.readers.streams import whole


def files_under(folder: Path, problems: Problems) -> list[tuple[str, Path]]:
    """Every regular file below a folder as (relative path with `/`, path), sorted by the bytes of the
    relative path.

    Links to folders are not followed (they can form loops); hidden files are files. What is no file (a pipe, a
    dangling link) and a folder that cannot be read are counted and named in `problems`.
    """
    found = []

    def unreadable(error: OSError) -> None:
        problems.add(error.strerror or str(error), str(error.filename))

    for parent, _, names in os.walk(folder, onerror=unreadable):
        for name in names:
            path = Path(parent, name)
            if path.is_file():
                found.append((path.relative_to(folder).as_posix(), path))
            else:
                problems.add("not a file", str(path))
    return sorted(found, key=lambda item: os.fsencode(item[0]))


def read_file(path: Path, problems: Problems, shown: str) -> Iterator[Columns]:
    """One file as one document."""
    return pack([Document(shown, whole(path))])


def read_folder(folder: Path, problems: Problems, shown: str) -> Iterator[Columns]:
    """Every file below a folder as one document each; one that cannot be read is counted and named in
    `problems`.
    """
    return pack(_documents(folder, problems, shown))


def _documents(folder: Path, problems: Problems, shown: str) -> Iterator[Document]:
    for relative, path in files_under(folder, problems):
        try:
            data = whole(path)
        except CorpusError as error:
            problems.add(str(error), str(path))
        else:
            yield Document(f"{shown}/{relative}" if shown else relative, data)
