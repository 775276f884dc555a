"""Opens a store read-only, and finds a run in it: the one way for reports, history and gate. pandas is not needed."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tokassay.reports.errors import ReportError

SCHEMA_VERSION = 1
VIEWS = ("v_run", "v_corpus", "v_cell", "v_verdict", "v_divergence")


def open_store(path: Path) -> sqlite3.Connection:
    """Open a store for reading only. Raises ReportError when it is missing, not SQLite, or of another schema."""
    where = str(path)
    if not path.is_file():
        raise ReportError("there is no store here", where=where, remedy="run `tokassay audit` first, or give --store")
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'")}
    except sqlite3.Error as error:
        raise ReportError(f"not a readable store ({error})", where=where, remedy="give the file of an audit") from None
    if version != SCHEMA_VERSION:
        connection.close()
        said = f"the store has schema version {version}, this tokassay reads {SCHEMA_VERSION}"
        raise ReportError(
            said if version else "a database, but no store",
            where=f"{where}, PRAGMA user_version",
            remedy="use the tokassay that wrote it, or run the audit again into a new store",
        )
    missing = [view for view in VIEWS if view not in names]
    if missing:
        connection.close()
        raise ReportError(
            f"the store has no view {missing[0]}",
            where=where,
            remedy="it is damaged: run the audit again into a new store",
        )
    return connection


def find_run(connection: sqlite3.Connection, where: str, run: str | None) -> str:
    """The id of a run given by id or by the beginning of it; the last one started when `run` is None."""
    ids = (
        [str(row[0]) for row in connection.execute("SELECT id FROM v_run ORDER BY started, rowid")]
        if run is None
        else [
            str(row[0])
            for row in connection.execute("SELECT id FROM v_run WHERE substr(id, 1, ?) = ?", (len(run), run))
        ]
    )
    if run is None and ids:
        return ids[-1]
    if run in ids:
        return str(run)
    if len(ids) == 1:
        return ids[0]
    if ids:
        raise ReportError(
            f"{len(ids)} runs begin with {run!r}", where=where, remedy=f"give more of it: {', '.join(sorted(ids)[:4])}"
        )
    if run is None:
        raise ReportError("the store holds no run", where=where, remedy="run `tokassay audit` first")
    known = [str(row[0]) for row in connection.execute("SELECT id FROM v_run ORDER BY started DESC LIMIT 4")]
    raise ReportError(
        f"the store holds no run {run!r}", where=where, remedy=f"the latest are: {', '.join(known) or 'none'}"
    )
