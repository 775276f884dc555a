"""What the pages are made from: runs, the newest answer of every cell, divergences once each, benches, claims."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from tokassay.reports.downloads import views
from tokassay.reports.matrix import csv_frame
from tokassay.reports.opening import open_store
from tokassay.reports.read import Frames, parse, read_run
from tokassay.reports.site.sources import Engine, Known, Sources, Vector
from tokassay.reports.tables import Divergence, Tables, build
from tokassay.reports.trace import picture
from tokassay.reports.withheld import withheld
from tokassay.reports.words import FAILING, VERDICTS

DECISIONS = 200  # of a trace; a page must stay small
FIELD = "field"  # the suite whose matrix is shown
CELL = ["label", "core", "engine", "corpus", "domain", "operation"]


@dataclass(frozen=True)
class Run:
    """An audit as stored."""

    store: Path
    frames: Frames
    tables: Tables

    @property
    def id(self) -> str:
        return str(self.tables.run["id"])

    @property
    def page(self) -> str:
        return f"runs/{self.id}.html"


@dataclass(frozen=True)
class Shown:
    """A divergence with the runs that show it, newest first; its rows are as the newest has them."""

    key: str
    divergence: Divergence
    runs: tuple[Run, ...]

    @property
    def page(self) -> str:
        return f"divergences/{self.key}.html"

    @property
    def data(self) -> bytes:
        """The smallest document that is known to show it."""
        minimal = self.divergence.minimal
        return minimal.data if minimal is not None and minimal.reduced else self.divergence.data

    @property
    def command(self) -> str:
        """Shows that document again."""
        minimal = self.divergence.minimal
        return minimal.command if minimal is not None and minimal.reduced else self.divergence.command

    @property
    def stage(self) -> str:
        """The stage it is laid to, on that document."""
        minimal = self.divergence.minimal
        return minimal.stage if minimal is not None and minimal.reduced else self.divergence.stage

    @property
    def explanation(self) -> str:
        """Why, in a sentence, on that document."""
        minimal = self.divergence.minimal
        return minimal.explanation if minimal is not None and minimal.reduced else self.divergence.explanation


@dataclass(frozen=True)
class Reported:
    """A row of v_bench or v_claim_run with its report."""

    id: str
    name: str
    started: str
    verdict: str
    report: dict[str, Any] = field(default_factory=dict)


def key_of(divergence: Divergence) -> str:
    """12 hex digits: the same for one divergence in whatever run."""
    d = divergence
    text = "\n".join((d.contract, d.engine, d.against, d.verdict, d.operation, d.signature))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class Site:
    """Everything that pages ask for, derived once. Raises ReportError where a store cannot be read.

    `traces` are objects of `trace --json` by a divergence's key or a vector's id; `untraced` says of others why they
    have no picture. Whoever can ask engines puts them in.
    """

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.traces: dict[str, Mapping[str, Any]] = {}
        self.untraced: dict[str, str] = {}
        self.frames = views(sources.stores)
        found = []
        for store in sources.stores:
            for run in runs_of(store):
                frames = read_run(store, run)
                found.append(Run(store, frames, build(frames)))
        # Newest first, by when it began.
        self.runs = sorted(found, key=lambda run: str(run.tables.run["started"]), reverse=True)
        if self.whole_field is not None:
            self.frames["v_matrix"] = csv_frame(self.whole_field.tables.matrix)

    @cached_property
    def whole_field(self) -> Run | None:
        """The run whose matrix is shown: the newest finished audit of the field, or else of all finished ones that
        which has the most cells (the newest of several)."""
        finished = [run for run in self.runs if run.tables.run["finished"] is not None and run.tables.matrix.cells]
        whole = [run for run in finished if run.tables.run["suite"] == FIELD]
        return whole[0] if whole else max(finished, key=lambda run: len(run.tables.matrix.cells), default=None)

    @cached_property
    def coverage(self) -> pd.DataFrame:
        """One row a cell (contract, engine, corpus, domain, operation): the answer of its newest finished run, of the
        version of each engine that was run last. Columns are those of Tables.coverage and `run`, `page`."""
        parts = [
            run.tables.coverage.assign(run=run.id, page=run.page)
            for run in self.runs
            if run.tables.run["finished"] is not None and len(run.tables.coverage)
        ]
        if not parts:
            return pd.DataFrame(columns=[*CELL, "version", "contract", "documents", "bytes", "run", "page", *VERDICTS])
        whole = pd.concat(parts, ignore_index=True)
        newest = whole.drop_duplicates("engine").set_index("engine")["version"]
        whole = whole[whole["version"] == whole["engine"].map(newest)]
        return whole.drop_duplicates(CELL, ignore_index=True)

    @cached_property
    def divergences(self) -> list[Shown]:
        """Each once, failing ones first, then by the number of documents."""
        found: dict[str, list[tuple[Run, Divergence]]] = {}
        for run in self.runs:
            for each in run.tables.failing + run.tables.declared:
                found.setdefault(key_of(each), []).append((run, each))
        shown = [
            Shown(key, seen[0][1], tuple({run.id: run for run, _ in seen}.values())) for key, seen in found.items()
        ]
        return sorted(shown, key=lambda s: (not s.divergence.fails, not s.divergence.examined, -s.divergence.total))

    @cached_property
    def benches(self) -> list[Reported]:
        """The benches, newest first."""
        return sorted(
            (
                Reported(
                    str(row["id"]), "", str(row["started"]), "", withheld(parse(row["report"], f"v_bench {row['id']}"))
                )
                for row in self.rows("v_bench")
            ),
            key=lambda each: each.started,
            reverse=True,
        )

    @cached_property
    def claims(self) -> dict[str, list[Reported]]:
        """Claim -> its verdicts, newest first; by name."""
        rows = sorted(self.rows("v_claim_run"), key=lambda row: str(row["started"]), reverse=True)
        found: dict[str, list[Reported]] = {}
        for row in rows:
            report = parse(row["report"], f"v_claim_run {row['id']}")
            one = Reported(str(row["id"]), str(row["claim"]), str(row["started"]), str(row["verdict"]), report)
            found.setdefault(one.name, []).append(one)
        return dict(sorted(found.items()))

    @cached_property
    def engines(self) -> dict[str, Engine | None]:
        """Every implementation that anything is known of -> its table of the roster, or None: the roster's, in its
        order, then those that stores or vectors speak of."""
        names: dict[str, Engine | None] = {each.name: each for each in self.sources.engines}
        others = {str(name) for name in self.coverage["engine"]} | {known.engine for known in self.known}
        others |= {str(row["engine"]) for row in self.rows("v_measurement")}
        return names | dict.fromkeys(sorted(others - names.keys() - {"oracle"}))

    @cached_property
    def known(self) -> list[Known]:
        return [known for vector in self.sources.vectors for known in vector.known]

    @cached_property
    def vectors(self) -> dict[str, Vector]:
        return {vector.id: vector for vector in self.sources.vectors}

    def picture(self, key: str) -> dict[str, Any] | None:
        """What the template of a trace is given, for a divergence's key or a vector's id; None where there is none."""
        return None if key not in self.traces else picture(self.traces[key], DECISIONS)

    def rows(self, view: str) -> list[dict[str, Any]]:
        """The rows of a view, of all stores; none for a view that no store has."""
        frame = self.frames.get(view)
        return [] if frame is None else [{str(k): v for k, v in row.items()} for row in frame.to_dict("records")]


def runs_of(store: Path) -> list[str]:
    """The ids of a store's runs."""
    with closing(open_store(store)) as connection:
        return [str(row[0]) for row in connection.execute("SELECT id FROM v_run")]


def once(coverage: pd.DataFrame) -> dict[str, int]:
    """Verdict -> documents, each counted once for a contract, corpus and domain: by the operation in which most of them
    have that verdict. `documents` is how many were asked about, `answers` how many answers that is."""
    kinds = [*VERDICTS, "documents"]
    if not len(coverage):
        return dict.fromkeys([*kinds, "answers"], 0)
    most = coverage.groupby(["engine", "core", "label", "corpus", "domain"], sort=False)[kinds].max().sum()
    return {kind: int(most[kind]) for kind in kinds} | {"answers": int(coverage["documents"].sum())}


def wrong(counts: dict[str, int]) -> int:
    """Documents with other ids than the contract's, or no one answer."""
    return counts["differ"] + counts["flaky"]


def failed(counts: dict[str, int]) -> int:
    """Documents with any failing verdict."""
    return sum(counts[verdict] for verdict in FAILING)
