"""The store: one SQLite file (WAL) a workspace, written by the runner, read by reports through the views of schema.sql.

Rows are appended and never overwritten. Every finished block is committed at once, so that a killed run resumes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from tokassay.harness.errors import InputError

SCHEMA_VERSION = 1
# A crash, a hang or a flaky answer is asked again; these are facts about a build.
REUSABLE = frozenset({"match", "differ", "declared", "reject", "unsupported"})


@dataclass
class Result:
    """One engine's verdicts on one block and one operation: a row of `result`."""

    key: str
    contract: str
    operation: str
    entry_point: str
    build: str
    oracle: str
    block: str
    modifiers: dict[str, Any]
    digest: str = ""
    expected: str = ""
    ids: int = 0
    ns: int = 0
    cpu_ns: int = 0
    host_ns: int = 0
    hash_ns: int = 0
    verdicts: dict[str, int] = field(default_factory=dict)
    rows: list[list[Any]] = field(default_factory=list)  # [index in the block, verdict, detail]

    @property
    def reusable(self) -> bool:
        return REUSABLE.issuperset(self.verdicts)


class Store:
    """The workspace's store; one writer a process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # The runner writes from its main thread only; workers hand their rows over.
            self.db = sqlite3.connect(path, isolation_level=None)
            version = int(self.db.execute("PRAGMA user_version").fetchone()[0])
            if version not in (0, SCHEMA_VERSION):
                raise InputError(
                    f"the store has schema {version}, this tokassay reads {SCHEMA_VERSION}",
                    where=str(path),
                    remedy="name another file with --store",
                )
            if version == 0 and self.db.execute("SELECT 1 FROM sqlite_master").fetchone():
                raise InputError(
                    "is a database of something else", where=str(path), remedy="name another file with --store"
                )
            self.db.execute("PRAGMA journal_mode=WAL")
            # A power cut may lose the last blocks, which are then measured again; a killed process loses nothing.
            self.db.execute("PRAGMA synchronous=NORMAL")
            self.db.executescript(files("tokassay.harness").joinpath("schema.sql").read_text(encoding="utf-8"))
        except (sqlite3.DatabaseError, OSError) as error:
            raise InputError(
                f"cannot be used as a store ({error})",
                where=str(path),
                remedy="name another file with --store",
            ) from error

    def close(self) -> None:
        self.db.close()

    def insert(self, table: str, row: Mapping[str, Any], *, keep: bool = False) -> int:
        """Append a row; with `keep` a row of the same primary key stays as it is. Returns the row's number."""
        verb = "INSERT OR IGNORE" if keep else "INSERT"
        names = ", ".join(f'"{name}"' for name in row)  # some are words of SQL
        marks = ", ".join("?" for _ in row)
        values = [json.dumps(v, sort_keys=True) if isinstance(v, dict | list) else v for v in row.values()]
        return int(self.db.execute(f"{verb} INTO {table} ({names}) VALUES ({marks})", values).lastrowid or 0)

    def finish(self, run: str, exit_code: int, when: str, environment: Mapping[str, Any]) -> None:
        """The run is at its end; its environment is written again, with the notes that came while it ran."""
        row = (when, exit_code, json.dumps(environment, sort_keys=True), run)
        self.db.execute("UPDATE run SET finished = ?, exit_code = ?, environment = ? WHERE id = ?", row)

    def find(self, keys: Iterable[str]) -> dict[str, tuple[int, Result]]:
        """The newest reusable result of each key that has one: key -> (row number, result)."""
        found: dict[str, tuple[int, Result]] = {}
        for key in keys:
            for row in self.db.execute(
                "SELECT id, key, contract, operation, entry_point, build, oracle, block, modifiers, digest, expected,"
                " ids, ns, cpu_ns, host_ns, hash_ns, verdicts, rows FROM result WHERE key = ? ORDER BY id DESC LIMIT 1",
                (key,),
            ):
                number, *rest = row
                result = Result(*rest)
                result.modifiers, result.verdicts = json.loads(row[8]), json.loads(row[16])
                result.rows = json.loads(row[17])
                if result.reusable:
                    found[key] = (int(number), result)
        return found

    def add_result(self, run: str, result: Result) -> int:
        return self.insert("result", {"run": run, **vars(result)})

    def add_bench(self, report: Mapping[str, Any]) -> None:
        """Append one run of `bench`, as its `--json` printed it."""
        names = ("id", "started", "finished", "command", "tokassay", "exit_code")
        self.insert("bench", {**{name: report[name] for name in names}, "report": dict(report)})

    def add_claim_run(self, report: Mapping[str, Any]) -> None:
        """Append one verdict on a claim, as `claim run --json` printed it."""
        names = ("id", "claim", "started", "finished", "verdict")
        self.insert("claim_run", {**{name: report[name] for name in names}, "report": dict(report)})

    def oracle_block(self, key: str) -> tuple[str, int, bytes] | None:
        """A stored expectation: (digest, number of ids, leaves), or None."""
        row = self.db.execute("SELECT digest, ids, leaves FROM oracle_block WHERE key = ?", (key,)).fetchone()
        return (row[0], int(row[1]), bytes(row[2])) if row else None

    def transaction(self) -> sqlite3.Connection:
        """`with store.transaction():` commits its rows together, or none of them."""
        self.db.execute("BEGIN IMMEDIATE")
        return self.db
