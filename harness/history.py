"""What a store remembers: its runs one after the other, what came and went between them, and a cell's speed over time.

Everything here reads; nothing is written and no engine is asked.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tokassay.harness.budget import FOR_TIME
from tokassay.harness.divergences import FAILED
from tokassay.harness.errors import InputError
from tokassay.harness.explain import NOT_ISOLATED
from tokassay.harness.store import REUSABLE
from tokassay.reports.opening import open_store
from tokassay.reports.withheld import withheld

LAST, PREVIOUS = "last", "previous"
NOT_EXAMINED = "not examined one by one"  # the name of failing documents beyond those that were looked at

Name = tuple[str, str, str]  # of a divergence: engine, contract, signature
# The fields by which a cell of a bench is the same in another one: text, its SHA-256, in how many documents, and so on.
CELL = ("vocab", "text", "sha256", "documents", "entry", "state", "threads")
SeriesKey = tuple[str, ...]  # machine, engine, and the values of CELL


@dataclass(frozen=True)
class Run:
    """An audit as the store has it. `finished` is None where it was interrupted."""

    id: str
    started: str
    finished: str | None
    suite: str
    command: str
    exit_code: int | None


@dataclass(frozen=True)
class Bench:
    """A run of `bench`: `report` is the object that it printed."""

    id: str
    started: str
    report: dict[str, Any]


Kept = TypeVar("Kept", Run, Bench)


@dataclass
class Asked:
    """Where a run's rows came from. `again` counts the rows of before that were measured again, by the reason: a
    verdict that is never reused, `no oracle`, or `unchanged`, which is a fault of ours."""

    reused: int = 0
    new: int = 0
    for_time: int = 0  # left out because the engine's time was over
    again: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        again = dict(sorted(self.again.items()))
        return {"reused": self.reused, "new": self.new, "for_time": self.for_time, "again": again}

    @property
    def sentence(self) -> str:
        """In one line: "rows: 9 reused, 2 measured for the first time, 1 again (crash 1)"."""
        again = ", ".join(f"{reason} {count:,}" for reason, count in sorted(self.again.items()))
        text = f"rows: {self.reused:,} reused, {self.new:,} measured for the first time"
        text += f", {self.again.total():,} again" + (f" ({again})" if again else "")
        return text + (f", {self.for_time:,} left out for time" if self.for_time else "")


@dataclass(frozen=True)
class Point:
    """One bench's figure of a series: MB/s with its interval (`low` and `high` are None in an older report)."""

    bench: str
    started: str
    version: str
    mb_s: float
    low: float | None
    high: float | None


def reading(path: Path) -> sqlite3.Connection:
    """A store opened for reading, its rows by name. Raises ReportError where it is missing, no store, or of another
    schema."""
    db = open_store(path)
    db.row_factory = sqlite3.Row
    return db


def runs(db: sqlite3.Connection) -> list[Run]:
    """All runs, the oldest first."""
    rows = db.execute("SELECT id, started, finished, suite, command, exit_code FROM run ORDER BY started, rowid")
    return [Run(*row) for row in rows]


def benches(db: sqlite3.Connection) -> list[Bench]:
    """All runs of `bench`, the oldest first; none in a store that is older than their table."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'bench'").fetchone():
        return []
    rows = db.execute("SELECT id, started, report FROM bench ORDER BY started, rowid")
    return [Bench(row[0], row[1], _report(*row)) for row in rows]


def _report(number: str, started: str, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InputError(
            "is not the report of a bench", where=f"bench {number} of {started}, report",
            remedy="the store is damaged: name another file with --store",
        )
    return withheld(found)


def find_run(known: Sequence[Run], word: str, *, option: str, before: Run | None = None) -> Run:
    """The run that `word` names: the beginning of an id, `last` (the newest that finished), or `previous` (the newest
    finished one of the suite of `before` that is older than it). Raises InputError."""
    if word not in (LAST, PREVIOUS):
        return _by_id(known, word, option, "run")
    usable = [run for run in known if run.finished is not None]
    if word == PREVIOUS and before is not None:
        older = known[: known.index(before)]
        usable = [run for run in older if run.finished is not None and run.suite == before.suite]
    if not usable:
        what = f"no finished run of the suite {before.suite} before {before.id}" if before else "no finished run"
        raise InputError(f"the store holds {what}", where=option, remedy="run `tokassay audit` first")
    return usable[-1]


def find_bench(known: Sequence[Bench], word: str, *, option: str, before: Bench | None = None) -> Bench:
    """The bench that `word` names: the beginning of an id, `last`, or `previous`: before `before`. InputError."""
    if word not in (LAST, PREVIOUS):
        return _by_id(known, word, option, "bench")
    usable = known[: known.index(before)] if word == PREVIOUS and before is not None else known
    if not usable:
        raise InputError("the store holds no such bench", where=option, remedy="run `tokassay bench` first")
    return usable[-1]


def _by_id(known: Sequence[Kept], word: str, option: str, what: str) -> Kept:
    found = [one for one in known if word and one.id.startswith(word)]
    exact = [one for one in found if one.id == word]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if found:
        ids = ", ".join(one.id for one in found[:4])
        raise InputError(f"{len(found)} of them begin with {word!r}", where=option, remedy=f"give more of it: {ids}")
    latest = ", ".join(one.id for one in reversed(known[-4:])) or "none"
    raise InputError(f"the store holds no {what} {word!r}", where=option, remedy=f"the latest are: {latest}")


def verdicts(
    db: sqlite3.Connection, run: str, engines: Iterable[str] = (), contracts: Iterable[str] = ()
) -> Counter[str]:
    """Verdicts of a run (documents times operations), of these engines and contracts or of all."""
    engines, contracts = set(engines), set(contracts)
    found: Counter[str] = Counter()
    for engine, contract, counts in db.execute(
        "SELECT rr.engine, c.name, r.verdicts FROM run_result rr JOIN result r ON r.id = rr.result"
        " JOIN contract c ON c.digest = r.contract WHERE rr.run = ?", (run,),
    ):  # fmt: skip
        if (not engines or engine in engines) and (not contracts or contract in contracts):
            found.update(json.loads(counts))
    return found


def versions(db: sqlite3.Connection, run: str) -> dict[str, str]:
    """Engine -> the version that it said it is, of those that took part in a run."""
    return dict(
        db.execute(
            "SELECT DISTINCT rr.engine, b.version FROM run_result rr JOIN result r ON r.id = rr.result"
            " JOIN build b ON b.digest = r.build WHERE rr.run = ? AND b.version != 'not loaded'", (run,),
        ).fetchall()
    )  # fmt: skip


def divergences(db: sqlite3.Connection, run: str) -> dict[Name, dict[str, Any]]:
    """The failing divergences of a run by name, as the table has them, and `minimal` (hex, "" where none was made)."""
    found: dict[Name, dict[str, Any]] = {}
    for row in db.execute(
        "SELECT d.*, COALESCE(m.minimal, '') AS minimal, COALESCE(m.command, '') AS minimal_command FROM divergence d"
        " LEFT JOIN reduction m ON m.run = d.run AND m.ordinal = d.ordinal WHERE d.run = ? ORDER BY d.ordinal", (run,),
    ):  # fmt: skip
        if row["verdict"] in FAILED:
            # With special tokens on and off it is one name here; the first has the most documents.
            found.setdefault((row["engine"], row["contract"], row["signature"]), dict(row))
    return found


def nameless(name: Name) -> bool:
    """Whether a divergence has no cause of its own: documents past those that were looked at one by one."""
    return name[2].endswith(NOT_ISOLATED) or name[2] == NOT_EXAMINED


def unlike(now: Iterable[Name], before: Iterable[Name]) -> list[Name]:
    """The names of `now` that `before` has not. A nameless one is known where its engine and contract had any: how many
    documents are looked at depends on how long they take."""
    known = set(before)
    failing = {name[:2] for name in known}
    return [name for name in now if name not in known and not (nameless(name) and name[:2] in failing)]


def asked(db: sqlite3.Connection, run: str) -> Asked:
    """Where the rows of a run came from, counted in rows: a block under one engine, contract and operation."""
    found = Asked()
    for number, key, oracle, reused, rows in db.execute(
        "SELECT r.id, r.key, r.oracle, rr.reused, r.rows FROM run_result rr JOIN result r ON r.id = rr.result"
        " WHERE rr.run = ?", (run,),
    ).fetchall():  # fmt: skip
        earlier = db.execute(
            "SELECT verdicts FROM result WHERE key = ? AND id < ? ORDER BY id DESC LIMIT 1", (key, number)
        )
        if reused:
            found.reused += 1
        elif rows.startswith('[[-1, "unsupported", "' + FOR_TIME):
            found.for_time += 1
        elif (before := earlier.fetchone()) is None:
            found.new += 1
        else:
            reasons = sorted(set(json.loads(before[0])) - REUSABLE) or (["unchanged"] if oracle else ["no oracle"])
            found.again[" and ".join(reasons)] += 1
    return found


def machine(report: dict[str, Any]) -> str:
    """What speeds of two benches must share to be compared: processor, its features, and how many there are."""
    about = report.get("machine", {})
    words = [about.get("cpu", ""), " ".join(about.get("cpu_features", ()))]
    return " | ".join([*words, f"{about.get('usable_cores', '')} of {about.get('cores', '')}"])


def series(known: Iterable[Bench]) -> dict[SeriesKey, list[Point]]:
    """Each cell's speed over the benches, the oldest first; a row that is not exact has no point."""
    found: dict[SeriesKey, list[Point]] = {}
    for bench in known:
        told = {one["engine"]: str(one.get("version", "")) for one in bench.report.get("engines", ())}
        for cell in bench.report.get("cells", ()):
            for row in cell.get("engines", ()):
                speed = row.get("mb_s")
                if row.get("verdict") != "exact" or not speed:
                    continue
                key = (machine(bench.report), row["engine"], *cell_key(cell))
                point = Point(bench.id, bench.started, told.get(row["engine"], ""), float(speed["median"]),
                              speed.get("low"), speed.get("high"))  # fmt: skip
                found.setdefault(key, []).append(point)
    return found


def cell_key(cell: dict[str, Any]) -> tuple[str, ...]:
    """What makes two cells of benches one: the values of CELL; a field that an older report lacks is empty."""
    return tuple(str(cell.get(name, 1 if name == "threads" else "")) for name in CELL)
