"""The rows of `tokassay corpora manifest`: a corpus's kind and facts, or the reason why it cannot be read here."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tokassay.corpora import field, verses
from tokassay.corpora.catalogue import find_entry
from tokassay.corpora.document import CorpusError
from tokassay.corpora.facts import facts_of, kept_facts
from tokassay.corpora.kinds import kind_of, languages_of
from tokassay.corpora.open import open_corpus
from tokassay.corpora.prepared import folder_of, real_entries, real_names
from tokassay.corpora.recipes import ALIASES

SCHEMA = "tokassay.corpora/1"


def default_names() -> list[str]:
    """The catalogue's corpora, then what is made of them."""
    return [*(entry.slug for entry in real_entries()), "verses", *(f"field:{kind}" for kind in field.FIELD)]


def row_of(name: str) -> dict[str, Any]:
    """One corpus. `reason` is "" where it was read; counts are None where it was not. Raises CorpusError for a name
    that means nothing."""
    real = name in real_names()
    entry = find_entry(ALIASES.get(name, name)) if real else None
    row: dict[str, Any] = {
        "name": name, "kind": kind_of(name), "languages": languages_of(entry.slug if entry else name),
        "title": entry.name if entry else "", "licence": entry.licence if entry else "",
        "package": f"{entry.registry}: {entry.package} {entry.version}".strip() if entry else "",
        "archive_sha256": entry.archive_sha256 if entry else "", "reason": "",
    }  # fmt: skip
    try:
        corpus = open_corpus(name)
    except CorpusError as error:
        if not real and "not on this machine" not in str(error):
            raise
        blank = ("documents", "bytes", "digest", "valid_documents", "valid_bytes", "scripts")
        return {**row, **dict.fromkeys(blank), "reason": f"{error}; {error.remedy}"}
    return {**row, **asdict(kept_facts(corpus, folder_of(entry)) if entry else facts_of(corpus))}


def translations() -> list[dict[str, Any]]:
    """The translations of `verses`; none where a source of it is not here."""
    try:
        rows = verses.counted()
    except CorpusError:
        return []
    return [
        {
            "name": row.translation.name, "title": row.translation.title, "language": row.translation.language,
            "documents": row.documents, "bytes": row.bytes, "digest": row.digest,
            "sources": [
                {"name": name, "read": read, "dropped": row.dropped[name]} for name, read in row.read.items()
            ],
        }
        for row in rows
    ]  # fmt: skip
