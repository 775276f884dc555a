"""The gate's judgement: what a run has that its baseline has not, and what a bench has lost of its baseline's speed.

Documents are compared one by one, by their block's SHA-256: which corpus they came from does not matter, and a result
that both runs share is not even read. Speeds are compared cell by cell, by the bootstrap interval of the ratio of
medians.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
from tokassay.harness import history
from tokassay.harness.budget import FOR_TIME
from tokassay.harness.divergences import FAILED
from tokassay.harness.errors import AGREED, MISMATCH, NOTHING, REGRESSION
from tokassay.harness.history import Bench, Run

SCHEMA = "tokassay.gate/1"
VERIFIED = frozenset({"match", "declared"})
# A document whose verdict goes up in this order got worse. Failures are one rank: another one has another signature.
RANK = {"match": 0, "declared": 0, "reject": 1, "unsupported": 2, **dict.fromkeys(FAILED, 3)}
TOLERANCE = 0.05  # a machine's mood from one night to the next is no slow-down
CONFIDENCE = 0.95
COMPARED = ("same", "slower", "faster", "lost")  # verdicts of speeds that could be compared
DRAWS = 2000

CellKey = tuple[str, str, str, str, str, str]  # engine, contract, specials, corpus, domain, operation
BlockKey = tuple[str, str, str, str, str]  # engine, core, specials, operation, block
SHOWN = (
    "engine", "contract", "signature", "verdict", "against", "operation", "corpus", "domain", "documents", "first",
    "stage", "explanation",
)  # fmt: skip
Wanted = Callable[[str, str], bool]  # engine and contract -> whether they are judged


@dataclass
class Cell:
    """One engine's documents of a corpus, domain, contract and operation. `common` of `documents` were compared; of
    these some are `worse` and some `better`. Others were left out `for_time`."""

    engine: str
    contract: str
    specials: str
    corpus: str
    domain: str
    operation: str
    documents: int = 0
    common: int = 0
    worse: int = 0
    better: int = 0
    for_time: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    before: Counter[str] = field(default_factory=Counter)  # of the documents that were compared
    changes: Counter[str] = field(default_factory=Counter)  # "match -> differ": documents

    def to_json(self) -> dict[str, Any]:
        return {name: dict(value) if isinstance(value, Counter) else value for name, value in vars(self).items()}


@dataclass(frozen=True)
class Speed:
    """One engine in one cell of two benches. `ratio` is the speed now over that of before, with its interval; all three
    are None where there is nothing to compare. `verdict`: `same`, `slower`, `faster`, `lost` (no longer exact), `new`
    or `not resolvable`."""

    engine: str
    vocab: str
    text: str
    entry: str
    state: str
    threads: str
    verdict: str
    before: float | None = None  # MB/s
    now: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""
    asked: str = ""  # the vocabulary, as it was asked for


@dataclass
class Judgement:
    """What the gate found; `to_json` is the object of `tokassay gate --json`."""

    run: Run | None = None
    baseline: Run | None = None
    new: list[dict[str, Any]] = field(default_factory=list)
    first: list[dict[str, Any]] = field(default_factory=list)  # of documents that the baseline had no time to ask
    known: list[dict[str, Any]] = field(default_factory=list)
    healed: list[dict[str, Any]] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    absent: list[dict[str, str]] = field(default_factory=list)
    asked: dict[str, Any] = field(default_factory=dict)
    asked_sentence: str = ""
    own: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # new, first, known and healed self-differences
    own_asked: int | None = None  # ways in which engines were asked against themselves; None: that is not judged
    bench: str | None = None
    bench_baseline: str | None = None
    tolerance: float = TOLERANCE
    speeds: list[Speed] = field(default_factory=list)
    named: frozenset[str] = frozenset()  # engines and contracts that were asked for by name
    incomparable: list[str] = field(default_factory=list)  # why speeds, or some engines', cannot be compared

    @property
    def common(self) -> int:
        return sum(cell.common for cell in self.cells)

    @property
    def verified(self) -> int:
        return sum(cell.verdicts[word] for cell in self.cells for word in VERIFIED)

    @property
    def mismatch(self) -> bool:
        lost = any(speed.verdict == "lost" for speed in self.speeds)
        return bool(self.new or self.absent or self.own.get("new") or lost or any(cell.worse for cell in self.cells))

    @property
    def compared(self) -> int:
        """Cells whose speeds could be compared."""
        return sum(speed.verdict in COMPARED for speed in self.speeds)

    @property
    def unjudged(self) -> list[str]:
        """Of the names that were asked for, those of which nothing could be compared."""
        judged = {name for cell in self.cells if cell.common for name in (cell.engine, cell.contract)}
        judged |= {row[name] for row in self.absent for name in ("engine", "contract")}
        for speed in self.speeds:
            if speed.verdict in COMPARED:
                judged |= {speed.engine, speed.vocab, speed.asked}
        return sorted(self.named - judged)

    @property
    def exit_code(self) -> int:
        """4 where there is no common block; then 1; then 3; then 4 where nothing was verified or measured, or nothing
        of what was asked for by name."""
        if self.run is not None and not self.common:
            return NOTHING
        if self.mismatch:
            return MISMATCH
        if any(speed.verdict == "slower" for speed in self.speeds):
            return REGRESSION
        nothing = (self.run is not None and not self.verified) or (self.bench is not None and not self.compared)
        nothing = nothing or self.own_asked == 0
        return NOTHING if nothing or self.unjudged or (self.run is None and self.bench is None) else AGREED

    def sentences(self) -> list[str]:
        """What was found, the worst first; each is true of the figures by being made from them."""
        said = []
        if self.run is not None and self.baseline is not None:
            worse, better = (sum(getattr(cell, name) for cell in self.cells) for name in ("worse", "better"))
            if not self.common:
                said.append(
                    f"nothing to compare: {self.run.id} has no block of documents in common with {self.baseline.id}"
                )
            said += [f"new divergence: {named(row)}" for row in self.new]
            said += [
                f"{row['engine']} took part under {row['contract']} in the baseline and does not now"
                for row in self.absent
            ]
            said += worse_sentences(self.cells)
            if not self.verified:
                said.append("nothing was verified: no document is a match or declared")
            said.append(
                f"{counted(self.common, 'verdict')} compared with {self.baseline.id}: {worse:,} worse, "
                f"{better:,} better; {counted(len(self.new), 'new divergence')}, {len(self.known):,} known, "
                f"{len(self.healed):,} healed"
            )
            said += [f"healed: {named(row)}" for row in self.healed]
            said += [f"asked for the first time: {named(row)}" for row in self.first]
            late = sum(cell.for_time for cell in self.cells)
            if late:
                said.append(f"{late:,} verdicts are missing because their engines' time was over")
            fresh = sum(cell.documents - cell.common - cell.for_time for cell in self.cells)
            said += [f"{fresh:,} verdicts are of documents that the baseline did not ask"] if fresh > 0 else []
            said.append(self.asked_sentence)
        for word in ("new", "healed", "first"):
            text = "self-difference that was asked for the first time" if word == "first" else f"{word} self-difference"
            said += [f"{text}: {own(row)}" for row in self.own.get(word, ())]
        said += ["no engine was asked against itself"] if self.own_asked == 0 else []
        said += [f"nothing could be compared of {name}, which was asked for" for name in self.unjudged]
        said += [f"not comparable: {why}" for why in self.incomparable]
        if self.bench is not None:
            found = Counter(speed.verdict for speed in self.speeds)
            said += [speed_sentence(one) for one in self.speeds if one.verdict in ("lost", "slower", "faster")]
            words = ", ".join(f"{count:,} {word}" for word, count in sorted(found.items())) or "none"
            said.append(f"speeds of {self.bench} beside {self.bench_baseline}, tolerance {self.tolerance:.0%}: {words}")
            ratios = [one.ratio for one in self.speeds if one.ratio is not None]
            if len(ratios) > 2 and abs(median(ratios) - 1) > self.tolerance:
                said.append(
                    f"the median of all {len(ratios)} ratios is {median(ratios):.3f}: the machine may have changed"
                )
            if not self.compared:
                said.append("no speed could be compared")
        return [sentence for sentence in said if sentence]

    def to_json(self) -> dict[str, Any]:
        """`tokassay.gate/1`, see docs/FORMATS.md."""
        return {
            "schema": SCHEMA,
            "exit_code": self.exit_code,
            "run": asdict(self.run) if self.run else None,
            "baseline": asdict(self.baseline) if self.baseline else None,
            "new": self.new, "first": self.first, "known": self.known, "healed": self.healed, "absent": self.absent,
            "cells": [cell.to_json() for cell in self.cells],
            "asked": self.asked,
            "self": self.own,
            "bench": self.bench, "bench_baseline": self.bench_baseline, "tolerance": self.tolerance,
            "not_comparable": self.incomparable,
            "speeds": [asdict(speed) for speed in self.speeds],
            "sentences": self.sentences(),
        }  # fmt: skip


# ---- ids


def judge_run(
    found: Judgement,
    db: sqlite3.Connection,
    run: Run,
    baseline: Run,
    engines: Collection[str] = (),
    contracts: Collection[str] = (),
) -> None:
    """Hold a run to its baseline, for these engines and contracts or for all."""
    found.run, found.baseline = run, baseline

    def wanted(engine: str, contract: str) -> bool:
        return (not engines or engine in engines) and (not contracts or contract in contracts)

    now, before = ({name: row for name, row in history.divergences(db, one.id).items() if wanted(name[0], name[1])}
                   for one in (run, baseline))  # fmt: skip
    new = set(history.unlike(now, before))
    found.known = [_shown(row) for name, row in now.items() if name not in new]
    found.cells = cells(db, run.id, baseline.id, wanted)
    # What the baseline had no time for is asked for the first time; if a document that it asked got worse, it is new.
    late = _late(db, baseline.id) - {(cell.engine, cell.contract) for cell in found.cells if cell.worse}
    found.new = [_shown(row) for name, row in now.items() if name in new and name[:2] not in late]
    found.first = [_shown(row) for name, row in now.items() if name in new and name[:2] in late]
    # What was not asked has not healed: some document must be better.
    better = {(cell.engine, cell.contract) for cell in found.cells if cell.better}
    found.healed = [_shown(before[name]) for name in history.unlike(before, now) if name[:2] in better]
    found.absent = absent(db, run.id, baseline.id, wanted)
    asked = history.asked(db, run.id)
    found.asked, found.asked_sentence = asked.to_json(), asked.sentence


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """A divergence as the gate shows it: with its smallest document and that one's command, where there are."""
    shown = {name: row[name] for name in SHOWN}
    return {**shown, "input": row["minimal"] or row["input"], "command": row["minimal_command"] or row["command"]}


def _rows(db: sqlite3.Connection, run: str) -> list[sqlite3.Row]:
    return db.execute(
        "SELECT rr.engine, c.name AS contract_name, c.core, json_extract(c.body, '$.specials') AS specials, rr.corpus,"
        " rr.domain, r.operation, r.block, rr.documents, r.id, r.verdicts"
        " FROM run_result rr JOIN result r ON r.id = rr.result JOIN contract c ON c.digest = r.contract"
        " WHERE rr.run = ? ORDER BY rr.rowid", (run,),
    ).fetchall()  # fmt: skip


def cells(db: sqlite3.Connection, run: str, baseline: str, wanted: Wanted) -> list[Cell]:
    """The cells of a run that are `wanted(engine, contract)`; a block that the baseline has too is compared."""
    before = {_block_key(row): (row["id"], row["verdicts"]) for row in _rows(db, baseline)}
    found: dict[CellKey, Cell] = {}
    for row in _rows(db, run):
        if not wanted(row["engine"], row["contract_name"]):
            continue
        key: CellKey = (
            row["engine"], row["contract_name"], row["specials"], row["corpus"], row["domain"], row["operation"]
        )  # fmt: skip
        cell = found.setdefault(key, Cell(*key))
        counts = json.loads(row["verdicts"])
        cell.documents += row["documents"]
        cell.verdicts.update(counts)
        was = before.get(_block_key(row))
        if was is None:
            continue
        if was[0] == row["id"]:
            cell.common += row["documents"]
            cell.before.update(counts)
        else:
            _compare(cell, db, was[0], row["id"], row["documents"])
    return list(found.values())


def _late(db: sqlite3.Connection, run: str) -> set[tuple[str, str]]:
    """Engines with a contract under which they were not asked everything in a run, because their time was over."""
    rows = db.execute(
        "SELECT DISTINCT rr.engine, c.name FROM run_result rr JOIN result r ON r.id = rr.result"
        " JOIN contract c ON c.digest = r.contract WHERE rr.run = ? AND r.rows LIKE ?",
        (run, f'[[-1, "unsupported", "{FOR_TIME}%'),
    )
    return {(row[0], row[1]) for row in rows}


def _block_key(row: sqlite3.Row) -> BlockKey:
    return row["engine"], row["core"], row["specials"], row["operation"], row["block"]


def _compare(cell: Cell, db: sqlite3.Connection, before: int, now: int, documents: int) -> None:
    """Two results on one block, document by document."""
    old, new = _words(db, before, documents), _words(db, now, documents)
    for was, (verdict, why) in zip(old, new, strict=True):
        # The baseline had no time for it, or not the engine: there is nothing to hold this to.
        if was[1] is not None and (was[1].startswith(FOR_TIME) or verdict != "unsupported"):
            continue
        if why is not None and why.startswith(FOR_TIME):
            cell.for_time += 1
            continue
        cell.common += 1
        cell.before[was[0]] += 1
        change = RANK.get(verdict, 3) - RANK.get(was[0], 3)
        if change:
            cell.changes[f"{was[0]} -> {verdict}"] += 1
        cell.worse += change > 0
        cell.better += change < 0


def _words(db: sqlite3.Connection, result: int, documents: int) -> list[tuple[str, str | None]]:
    """Each document's verdict of a result, and why the engine was not asked: it was not installed, or had no time."""
    (text,) = db.execute("SELECT rows FROM result WHERE id = ?", (result,)).fetchone()
    words: list[tuple[str, str | None]] = [("match", None)] * documents
    for index, verdict, detail in json.loads(text):
        why = detail if verdict == "unsupported" and isinstance(detail, str) else None
        if index < 0:
            return [(verdict, why)] * documents
        words[index] = verdict, why if why and why.startswith(FOR_TIME) else None
    return words


def absent(db: sqlite3.Connection, run: str, baseline: str, wanted: Wanted) -> list[dict[str, str]]:
    """Engines that verified something under a contract in the baseline and were not asked under it in the run."""
    here = {(row["engine"], row["contract_name"]) for row in _rows(db, run)}
    there = {
        (row["engine"], row["contract_name"]): None
        for row in _rows(db, baseline)
        if VERIFIED.intersection(json.loads(row["verdicts"])) and wanted(row["engine"], row["contract_name"])
    }
    return [{"engine": engine, "contract": contract} for engine, contract in there if (engine, contract) not in here]


def judge_own(found: Judgement, now: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    """Hold the self-differences of `audit --self --json` to those of the baseline."""
    mine, theirs = _own(now), _own(before)
    asked = {_way(row) for row in before.get("rows", ())}
    late = {_way(row)[:3] for row in before.get("rows", ()) if str(row["detail"]).startswith(FOR_TIME)}
    same = {_way(row) for row in now.get("rows", ()) if row["verdict"] == "same"}
    found.own_asked = sum(row["verdict"] != "unsupported" for row in now.get("rows", ()))
    gone = sorted(asked - {_way(row) for row in now.get("rows", ())})
    if gone:
        what = counted(len(gone), "self-difference") + " of the baseline not asked"
        found.incomparable.append(f"{what}, the first {' '.join(gone[0])}")
    found.own = {
        "new": [row for key, row in mine.items() if key not in theirs and not _first(row, asked, late)],
        "first": [row for key, row in mine.items() if key not in theirs and _first(row, asked, late)],
        "known": [row for key, row in mine.items() if key in theirs],
        "healed": [row for row in theirs.values() if _way(row) in same],
    }


def _way(row: Mapping[str, Any]) -> tuple[str, ...]:
    return row["engine"], row["vocabulary"], row["corpus"], row["way"]


def _first(row: Mapping[str, Any], asked: Collection[tuple[str, ...]], late: Collection[tuple[str, ...]]) -> bool:
    """Whether the baseline had no time to ask for a way."""
    return _way(row) not in asked and _way(row)[:3] in late


def _own(report: Mapping[str, Any]) -> dict[tuple[str, ...], dict[str, Any]]:
    return {(*_way(row), row["verdict"]): row for row in report.get("rows", ()) if row["verdict"] in FAILED}


# ---- speed


def judge_bench(
    found: Judgement, now: Bench, before: Bench, tolerance: float, engines: Collection[str] = (),
    contracts: Collection[str] = (),
) -> None:  # fmt: skip
    """Hold a bench to its baseline: only on a machine of the same identity, and for engines that took part in both.
    Contracts are named as in the report, or as they were asked for."""
    found.bench, found.bench_baseline, found.tolerance = now.id, before.id, tolerance
    here, there = history.machine(now.report), history.machine(before.report)
    if here != there:
        found.incomparable.append(f"{now.id} was measured on {here}, {before.id} on {there}")
        return
    mine, theirs = (_measured(one.report, engines, contracts) for one in (now, before))
    asked_as = {str(cell["vocab"]): str(cell.get("asked", "")) for cell in now.report.get("cells", ())}
    asked = {key[0] for key in mine}
    for engine in sorted({key[0] for key in theirs} - asked):
        found.incomparable.append(f"{engine} is in {before.id} and not in {now.id}")
    for key, (row, threads) in mine.items():
        speed = compare(key, row, theirs[key][0] if key in theirs else None, threads, tolerance)
        found.speeds.append(replace(speed, asked=asked_as.get(speed.vocab, "")))
    gone = [key for key in theirs if key not in mine and key[0] in asked]
    if gone:
        found.incomparable.append(
            f"{counted(len(gone), 'cell')} of {before.id} not in {now.id}, the first {' '.join(gone[0])}"
        )


def _measured(
    report: Mapping[str, Any], engines: Collection[str], contracts: Collection[str]
) -> dict[tuple[str, ...], tuple[Mapping[str, Any], int]]:
    return {
        (row["engine"], *history.cell_key(cell)): (row, int(cell.get("threads") or 1))
        for cell in report.get("cells", ())
        for row in cell.get("engines", ())
        if (not engines or row["engine"] in engines)
        and (not contracts or {cell["vocab"], cell.get("asked")}.intersection(contracts))
    }


def compare(
    key: tuple[str, ...], now: Mapping[str, Any], before: Mapping[str, Any] | None, threads: int, tolerance: float
) -> Speed:
    """One engine in one cell. Times are CPU time, or wall time where there are several threads."""
    engine, vocab, text, _, _, entry, state, told = key
    where = (engine, vocab, text, entry, state, told)
    if before is None or not _exact(before):
        return Speed(*where, verdict="new", now=_speed(now), why="the baseline has no speed here")
    if not _exact(now):
        why = f"{now.get('verdict')}: {now.get('detail', '')}".strip(": ")
        return Speed(*where, verdict="lost", before=_speed(before), why=why)
    clock = "cpu_ns" if threads == 1 else "ns"
    old, new = (np.asarray(row[clock], dtype=np.float64) for row in (before, now))
    if min(len(old), len(new)) < 3 or min(old.min(), new.min()) <= 0:
        return Speed(*where, verdict="not resolvable", before=_speed(before), now=_speed(now), why="too few rounds")
    ratio, low, high = ratio_of(old, new, zlib.crc32("\n".join(key).encode()))
    verdict = "slower" if high < 1 - tolerance else "faster" if low > 1 / (1 - tolerance) else "same"
    ratio, low, high = (float(f"{each:.4g}") for each in (ratio, low, high))
    return Speed(*where, verdict, _speed(before), _speed(now), ratio, low, high)


def ratio_of(old: npt.NDArray[np.float64], new: npt.NDArray[np.float64], seed: int) -> tuple[float, float, float]:
    """Speed now over speed before, from times: the ratio of medians and its bootstrap interval; both are resampled."""
    draws = np.random.default_rng(seed)
    medians = [np.median(draws.choice(times, (DRAWS, len(times))), axis=1) for times in (old, new)]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(medians[0] / medians[1], [tail, 1 - tail])
    return float(np.median(old) / np.median(new)), float(low), float(high)


def _exact(row: Mapping[str, Any]) -> bool:
    return row.get("verdict") == "exact" and bool(row.get("cpu_ns"))


def _speed(row: Mapping[str, Any]) -> float | None:
    speed = row.get("mb_s")
    return float(speed["median"]) if _exact(row) and speed else None


# ---- words


def counted(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def named(row: Mapping[str, Any]) -> str:
    """A divergence in one sentence."""
    shown = f" [{row['input'][:64]}]" if row["input"] else ""
    return (
        f"{row['engine']} under {row['contract']}, {row['verdict']}, {row['signature']}: {row['explanation']}{shown}; "
        f"{counted(row['documents'], 'document')}; {row['command']}"
    )


def own(row: Mapping[str, Any]) -> str:
    """A self-difference in one sentence."""
    place = f"{row['engine']} under {row['vocabulary']} on {row['corpus']}, {row['way']}: {row['verdict']}"
    return place + (f" ({row['detail']})" if row.get("detail") else "")


def worse_sentences(cells: Iterable[Cell]) -> list[str]:
    """What got worse, a sentence for each engine and contract: a broken engine is worse in forty cells of a suite."""
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        if cell.worse:
            groups.setdefault((cell.engine, cell.contract, cell.specials), []).append(cell)
    said = []
    for (engine, contract, specials), group in groups.items():
        changes: Counter[str] = Counter()
        for cell in group:
            changes.update(cell.changes)
        words = ", ".join(f"{change} {count:,}" for change, count in sorted(changes.items()))
        corpora = list(dict.fromkeys(cell.corpus for cell in group))
        more = f" and {len(corpora) - 3} more" if len(corpora) > 3 else ""
        worse, common = (sum(getattr(cell, name) for cell in group) for name in ("worse", "common"))
        said.append(
            f"worse: {engine} under {contract}, specials {specials}, {', '.join(corpora[:3])}{more}: {worse:,} of "
            f"{counted(common, 'verdict')} ({words})"
        )
    return said


def speed_sentence(speed: Speed) -> str:
    """What happened to a cell's speed."""
    threads = f", {speed.threads} threads" if speed.threads not in ("", "1") else ""
    place = f"{speed.verdict}: {speed.engine}, {speed.vocab}, {speed.text}, {speed.entry}, {speed.state}{threads}"
    if speed.verdict == "lost":
        return f"{place}: it was exact, and is {speed.why}"
    figures = f"({speed.low} to {speed.high}), {speed.before} MB/s before, {speed.now} now"
    return f"{place}: {speed.ratio} times the speed {figures}"
