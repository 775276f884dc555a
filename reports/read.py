"""Loads one run's views of a store as pandas frames. Nothing but the `v_` views is read."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from tokassay.reports.errors import ReportError
from tokassay.reports.opening import find_run, open_store


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
