"""A divergence of a store, by its name: what `reduce` and others start from."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tokassay.harness.errors import InputError

QUERY = """
SELECT d.contract, r."left", r."right", r.specials, r.operation, r.document
FROM divergence d JOIN reduction r ON r.run = d.run AND r.ordinal = d.ordinal
WHERE d.run = ? AND d.ordinal = ? AND (r."like" IS NULL OR length(r.document) > 0)
"""


@dataclass(frozen=True)
class StoredDivergence:
    """The document that shows a divergence, whole, and the two that differ on it, as the command line names them."""

    vocabulary: str
    engine: str
    against: str
    specials: bool
    operation: str
    document: bytes


def read_divergence(store: Path, name: str) -> StoredDivergence:
    """The divergence `NUMBER` of the last run of a store, or `RUN.NUMBER`, where RUN may be the beginning of its id.

    Raises InputError for a store, run or number that is not there, and for a divergence without a document.
    """
    beginning, _, number = name.rpartition(".")
    if not number.isdecimal():
        raise InputError(f"{name!r} names no divergence", where="--divergence", remedy="use NUMBER or RUN.NUMBER")
    if not store.is_file():
        remedy = "run `tokassay audit` first, or give --store"
        raise InputError("there is no store here", where=str(store), remedy=remedy)
    try:
        with closing(sqlite3.connect(f"{store.resolve().as_uri()}?mode=ro", uri=True)) as db:
            runs = [
                row[0]
                for row in db.execute(
                    "SELECT id FROM run WHERE substr(id, 1, ?) = ? ORDER BY started, rowid", (len(beginning), beginning)
                )
            ]
            if not runs or (beginning and len(runs) > 1):
                what = f"{len(runs)} runs begin with {beginning!r}" if runs else f"it holds no run {beginning!r}"
                raise InputError(what, where=str(store), remedy="see the head of the report for the run's id")
            row = db.execute(QUERY, (runs[-1], int(number))).fetchone()
            told = db.execute("SELECT verdict FROM divergence WHERE run = ? AND ordinal = ?", (runs[-1], int(number)))
            verdict = told.fetchone()
    except sqlite3.Error as error:
        raise InputError(f"cannot be read ({error})", where=str(store), remedy="give the file of an audit") from None
    if row is None:
        what = f"run {runs[-1]} has no divergence {number}"
        if verdict is not None:
            what = f"divergence {number} of run {runs[-1]} is {verdict[0]} and has no document of its own"
        raise InputError(what, where=str(store), remedy="the report shows a command with each divergence")
    vocabulary, left, right, specials, operation, document = row
    return StoredDivergence(vocabulary, left, right, specials == "on", operation, bytes(document))
