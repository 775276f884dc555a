"""The embedded sample: a small real text in many scripts, so that the default audit needs no network.

`fixtures/sample/manifest.json` names each file, how it is cut into documents (`lines`: one a line, as
readers/lines.py does; `whole`: the file; `records`: parts between lines that are a form feed alone), where it
is from, its licence and its SHA-256. `fixtures/derive_sample.py` made it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from tokassay.corpora.corpus import Corpus, Problems, from_documents
from tokassay.corpora.document import Document

RECORD = b"\n\x0c\n"


def manifest() -> list[dict[str, Any]]:
    """The sample's files in order: file, cut, documents, bytes, sha256, package, version, licence, path."""
    text = files("tokassay.fixtures").joinpath("sample", "manifest.json").read_text("utf-8")
    entries: list[dict[str, Any]] = json.loads(text)["files"]
    return entries


def cut(data: bytes, how: str) -> list[bytes]:
    """A file's documents by the manifest's `cut`."""
    if how == "whole":
        return [data]
    separator = b"\n" if how == "lines" else RECORD
    parts = data.split(separator)
    # The separator ends the last document of a file as well: nothing follows it.
    return parts[:-1] if parts[-1] == b"" else parts


def sample() -> Iterator[Document]:
    """Every document of the sample; names are "<file>:<number from 1>", or the file's name for a whole one.
    """
    folder = files("tokassay.fixtures").joinpath("sample")
    for entry in manifest():
        file, how = entry["file"], entry["cut"]
        for k, data in enumerate(cut(folder.joinpath(file).read_bytes(), how)):
            yield Document(file if how == "whole" else f"{file}:{k + 1}", data)


def _made(problems: Problems) -> Iterator[Document]:
    return sample()


def open_sample() -> Corpus:
    """The corpus `sample`."""
    return from_documents("sample", "sample", _made)
