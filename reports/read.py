"""Opens a store read-only and loads one run's views as pandas frames. Nothing but the `v_` views is read."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from tokassay.reports.errors import ReportError

SCHEMA_VERSION = 1
VIEWS = ("v_run", "v_corpus", "v_cell", "v_verdict", "v_divergence")


@dataclass(frozen=True)
class Frames:
    """One run as stored.

    `run` is the row of v_run with `environment` parsed. `corpora`, `cells`, `verdicts` and `divergences` hold the rows
    of v_corpus, v_cell (one row a block, engine and operation), v_verdict and v_divergence; times are nanoseconds.
    `reasons` says why whole blocks were not served (v_reason), `unserved` why documents of a cell were not
    (v_unserved), `reductions` holds the rows of v_reduction; each is empty for a store without that view.
    """

    store: Path
    run: dict[str, Any]
    corpora: pd.DataFrame
    cells: pd.DataFrame
    verdicts: pd.DataFrame
    divergences: pd.DataFrame
    reasons: pd.DataFrame
    unserved: pd.DataFrame
    reductions: pd.DataFrame


# Views younger than schema 1, and their columns: a store made before them has none.
YOUNGER = {
    "v_reason": ["engine", "contract_name", "operation", "verdict", "reason", "blocks"],
    "v_unserved": ["engine", "contract_name", "contract", "corpus", "operation", "reason", "documents"],
    "v_reduction": ["ordinal", "outcome", "bytes", "minimal"],
}


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
        raise ReportError(
            f"the store has schema version {version}, this tokassay reads {SCHEMA_VERSION}",
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


def parse(text: str, where: str) -> Any:
    """JSON from a column of the store; ReportError names the column when it is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        raise ReportError(
            "not JSON", where=where, remedy="the store is damaged: run the audit again into a new store"
        ) from None


def read_run(path: Path, run: str | None = None) -> Frames:
    """Load one run (by id, by the beginning of its id, or the last one). Raises ReportError with place and remedy."""
    with closing(open_store(path)) as connection:
        where = str(path)
        try:
            names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'")}
            run_id = find_run(connection, where, run)
            cursor = connection.execute("SELECT * FROM v_run WHERE id = ?", (run_id,))
            row = dict(zip([column[0] for column in cursor.description], cursor.fetchone(), strict=True))

            def frame(view: str, order: str) -> pd.DataFrame:
                if view in YOUNGER and view not in names:
                    return pd.DataFrame(columns=YOUNGER[view])
                return pd.read_sql_query(
                    f"SELECT * FROM {view} WHERE run = ? ORDER BY {order}", connection, params=(run_id,)
                )

            frames = Frames(
                store=path,
                run=row,
                corpora=frame("v_corpus", "name"),
                cells=frame("v_cell", "engine, contract, corpus, domain, operation, ordinal"),
                verdicts=frame("v_verdict", "engine, corpus, domain, operation, verdict"),
                divergences=frame("v_divergence", "ordinal"),
                reasons=frame("v_reason", "engine, contract_name, operation"),
                unserved=frame("v_unserved", "engine, contract_name, corpus, operation, reason"),
                reductions=frame("v_reduction", "ordinal"),
            )
        except (sqlite3.Error, pd.errors.DatabaseError) as error:
            raise ReportError(
                f"cannot be read ({error})",
                where=where,
                remedy="the store is damaged: run the audit again into a new store",
            ) from None
    row["environment"] = parse(row["environment"], f"{where}, v_run.environment")
    return frames
