"""Opens a path as a corpus: which reader, by the suffix or by what follows `@`.

`path` or `path@KIND` or `path@KIND:FIELD`, with KIND one of `lines`, `files`, `jsonl`, `parquet` and FIELD
the key or column of the last two (default `text`). Without a kind: a folder is `files`; `.jsonl` and
`.ndjson` are `jsonl`; `.parquet` is `parquet`; everything else is `lines`. A last suffix `.gz` or `.zst` is
decompressed and the one before it decides. A folder with a kind other than `files` is all its files of that
kind's suffixes (for `lines`: all files), read one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tokassay.corpora.corpus import Columns, Corpus, Problems
from tokassay.corpora.document import CorpusError
from tokassay.corpora.readers.files import files_under, read_file, read_folder
from tokassay.corpora.readers.jsonl import read_jsonl
from tokassay.corpora.readers.lines import read_lines
from tokassay.corpora.readers.parquet import read_parquet
from tokassay.corpora.readers.streams import inner_suffix

Reader = Callable[[Path, Problems, str], Iterator[Columns]]
READERS: dict[str, Callable[..., Iterator[Columns]]] = {
    "lines": read_lines, "files": read_file, "jsonl": read_jsonl, "parquet": read_parquet,
}  # fmt: skip
SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
WITH_FIELD = ("jsonl", "parquet")


def split_spec(spec: str) -> tuple[Path, str, str]:
    """(path, kind or "", field or "") of a path spec. A path may itself hold `@` as long as no kind follows
    it.
    """
    head, at, tail = spec.rpartition("@")
    kind, _, field = tail.partition(":")
    if at and kind in READERS:
        return Path(head), kind, field
    return Path(spec), "", ""


def open_path(spec: str) -> Corpus:
    """The corpus of a path. Raises CorpusError if there is no such path or the kind takes no field."""
    path, kind, field = split_spec(spec)
    if not path.exists():
        raise CorpusError("no such file or folder", where=str(path), remedy="check the path")
    if not path.is_dir() and not path.is_file():
        raise CorpusError(
            "neither a file nor a folder", where=str(path), remedy="a corpus is read more than once: save it to a file"
        )
    if field and kind not in WITH_FIELD:
        raise CorpusError(f"@{kind} takes no field", where=spec, remedy=f"write {path}@{kind}")
    if path.is_dir():
        if kind in ("", "files"):
            return Corpus(spec, spec, lambda problems: read_folder(path, problems, ""))
        return Corpus(spec, spec, lambda problems: _every(path, kind, field, problems))
    kind = kind or SUFFIXES.get(inner_suffix(path), "lines")
    reader = _reader(kind, field)
    return Corpus(spec, spec, lambda problems: reader(path, problems, path.name))


def _reader(kind: str, field: str) -> Reader:
    return partial(READERS[kind], field=field) if field else READERS[kind]


def _every(folder: Path, kind: str, field: str, problems: Problems) -> Iterator[Columns]:
    reader = _reader(kind, field)
    wanted = {suffix for suffix, of in SUFFIXES.items() if of == kind}
    for relative, path in files_under(folder, problems):
        if not wanted or inner_suffix(path) in wanted:
            yield from reader(path, problems, relative)
