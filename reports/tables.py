"""Every table of a report, derived once from the store's frames and shared by HTML, Markdown, terminal and JSON."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
from tokassay.reports.banner import Banner, banner, totals
from tokassay.reports.cells import (
    Contract,
    SumCheck,
    cells,
    contracts,
    coverage,
    digests,
    order,
    row_command,
    sum_check,
    times,
)
from tokassay.reports.matrix import Matrix3, matrix
from tokassay.reports.read import Frames, parse
from tokassay.reports.words import DOMAINS, FAILING, OPERATIONS, VERDICTS, VERIFIED, counted, exit_meaning, number

# The text columns of v_divergence; fields of Divergence have their names.
TEXTS = (
    "signature",
    "verdict",
    "contract",
    "engine",
    "against",
    "operation",
    "corpus",
    "domain",
    "first",
    "stage",
    "explanation",
    "command",
)


@dataclass(frozen=True)
class Engine:
    """One build that took part: `totals` and `corpora` are verdict counts, in all and by corpus."""

    name: str
    version: str
    requirement: str
    python: str
    platform: str
    limits: dict[str, Any]
    contracts: list[str]
    totals: dict[str, int]
    corpora: dict[str, dict[str, int]]


@dataclass(frozen=True)
class Square:
    """One square of the coverage matrix. `tone` is match, declared, part, reject, none or fail."""

    tone: str
    counts: dict[str, int]
    total: int


@dataclass(frozen=True)
class Matrix:
    """Engines x corpora under one contract core; `squares[engine][corpus]` is None where nothing was asked."""

    label: str
    core: str
    engines: list[str]
    corpora: list[str]
    squares: dict[str, dict[str, Square | None]]


@dataclass(frozen=True)
class Minimal:
    """A row of v_reduction, parsed: `data` is the smallest document that shows the divergence, `size` the bytes of the
    one it was made from. `got` and `expected` are all ids on `data`, or one text that says what happened instead."""

    outcome: str
    size: int
    data: bytes
    stage: str
    explanation: str
    changes: list[str]
    got: list[Any]
    expected: list[Any]
    split: int | None
    tries: int
    seconds: float
    complete: bool
    command: str
    like: int | None

    @property
    def reduced(self) -> bool:
        return self.outcome == "reduced"

    @property
    def sentence(self) -> str:
        """What the reduction came to."""
        if self.outcome == "agree":
            return "Asked again by itself, this document is right: it takes more than the document to show it."
        if self.outcome == "flaky":
            return "Asked again, this document has no one answer: nothing was reduced."
        if not self.reduced:
            return "It was not reduced."
        end = "" if self.complete else "; the time was up, so it may not be the smallest"
        sizes = f"{counted(self.size, 'byte')} to {number(len(self.data))}"
        return f"Reduced from {sizes} in {counted(self.tries, 'try', 'tries')}, {self.seconds:.1f} s{end}."


@dataclass(frozen=True)
class Divergence:
    """A row of v_divergence, parsed. `split` is where `got` and `expected` part, as an index into both lists.
    `minimal` is None for one that was not to be reduced."""

    signature: str
    verdict: str
    contract: str
    engine: str
    against: str
    operation: str
    corpus: str
    domain: str
    first: str
    stage: str
    explanation: str
    command: str
    ordinal: int
    documents: int
    data: bytes
    token: int | None
    got: list[Any]
    expected: list[Any]
    split: int | None
    minimal: Minimal | None = None
    # The divergences that turned out to be this one, each with its documents; those are in `total`.
    alike: tuple[tuple[int, int], ...] = ()

    @property
    def total(self) -> int:
        """Documents that show it, with those of its likes."""
        return self.documents + sum(documents for _, documents in self.alike)

    @property
    def fails(self) -> bool:
        """Whether it makes the audit fail; a declared difference does not."""
        return self.verdict in FAILING

    @property
    def examined(self) -> bool:
        """False for the row that only counts further documents, beyond those looked at one by one."""
        return bool(self.stage or self.data or self.got or self.expected)


@dataclass(frozen=True)
class Reason:
    """Why an engine did not serve a contract: `operations` are joined by commas, `verdict` is mostly unsupported."""

    engine: str
    contract: str
    operations: str
    verdict: str
    reason: str
    blocks: int


@dataclass(frozen=True)
class Tables:
    """All a report shows. `failing` and `declared` divide the divergences: examined ones first, then by documents.
    Those that turned out to be another one are `folded` into that."""

    run: dict[str, Any]
    banner: Banner
    check: SumCheck
    totals: dict[str, int]
    contracts: list[Contract]
    engines: list[Engine]
    corpora: list[dict[str, Any]]
    matrices: list[Matrix]
    matrix: Matrix3
    coverage: pd.DataFrame
    digests: pd.DataFrame
    times: pd.DataFrame
    failing: list[Divergence]
    declared: list[Divergence]
    folded: list[Divergence]
    environment: list[tuple[str, str]]
    packages: dict[str, str]
    reasons: list[Reason]
    notes: list[str]
    reused: int
    blocks: int

    @property
    def domains(self) -> list[str]:
        """Domains that have rows, in their order."""
        return order(self.coverage["domain"], DOMAINS)

    def command(self, row: Any) -> str:
        """The command that repeats a row of `coverage`: its engine, contract and corpus, all operations."""
        specs = {corpus["name"]: corpus["spec"] for corpus in self.corpora}
        found = next(c for c in self.contracts if c.digest == row["contract"])
        return row_command(self.run, specs.get(row["corpus"], row["corpus"]), found, row["engine"])


def build(frames: Frames) -> Tables:
    """Derive all tables of one run. Raises ReportError where the store contradicts its schema."""
    table = cells(frames)
    rows = coverage(table)
    check = sum_check(frames, table)
    minimal = {
        int(row["ordinal"]): _minimal({str(k): v for k, v in row.items()}, str(frames.store))
        for row in frames.reductions.to_dict("records")
    }
    found = [
        _divergence({str(k): v for k, v in row.items()}, str(frames.store), minimal.get(int(row["ordinal"])))
        for row in frames.divergences.to_dict("records")
    ]
    folded = [d for d in found if d.minimal is not None and d.minimal.like is not None]
    found = [_with_likes(d, folded) for d in found if d not in folded]
    found.sort(key=lambda d: (not d.examined, -d.total, d.ordinal))
    names, packages = _environment(frames.run["environment"])
    run = {**frames.run, "exit_meaning": exit_meaning(_code(frames.run)), "exit_code": _code(frames.run)}
    run["report_command"] = shlex.join(["tokassay", "report", str(run["id"]), "--store", str(frames.store)])
    failing = [d for d in found if d.fails]
    named = contracts(frames)
    specs = {str(row["name"]): str(row["spec"]) for row in frames.corpora.to_dict("records")}
    return Tables(
        run=run,
        banner=banner(run, rows, frames.corpora, check),
        check=check,
        totals=totals(rows),
        contracts=named,
        engines=_engines(table, rows, str(frames.store)),
        corpora=[
            {
                "name": str(row["name"]),
                "spec": str(row["spec"]),
                "seed": int(row["seed"]),
                "documents": int(row["documents"]),
                "bytes": int(row["bytes"]),
                "problems": parse(row["problems"], f"{frames.store}, corpus {row['name']}, problems"),
            }
            for row in frames.corpora.to_dict("records")
        ],
        matrices=_matrices(rows),
        matrix=matrix(run, table, frames.unserved, named, failing, specs),
        coverage=rows,
        digests=digests(table),
        times=times(table),
        failing=failing,
        declared=[d for d in found if not d.fails],
        folded=folded,
        environment=names,
        packages=packages,
        reasons=_reasons(frames.reasons),
        notes=[str(note) for note in frames.run["environment"].get("notes", [])],
        reused=int(table["reused"].sum()),
        blocks=len(table),
    )


def _code(run: dict[str, Any]) -> int | None:
    return None if run["exit_code"] is None else int(run["exit_code"])


def _engines(table: pd.DataFrame, rows: pd.DataFrame, where: str) -> list[Engine]:
    engines = []
    builds = table.drop_duplicates(["engine", "version"]).sort_values(["engine", "version"])
    for build_row in builds.to_dict("records"):
        own = rows[(rows["engine"] == build_row["engine"]) & (rows["version"] == build_row["version"])]
        limits = parse(build_row["limits"], f"{where}, limits of {build_row['engine']}")
        engines.append(
            Engine(
                name=str(build_row["engine"]),
                version=str(build_row["version"]),
                requirement=str(build_row["requirement"]),
                python=str(build_row["python"]),
                platform=str(build_row["platform"]),
                limits=limits if isinstance(limits, dict) else {"limits": limits},
                contracts=order(own["contract"], ()),
                totals=totals(own),
                corpora={str(name): totals(part) for name, part in own.groupby("corpus", sort=True)},
            )
        )
    return engines


def tone(counts: dict[str, int]) -> str:
    """The one word a square is coloured by: the worst first."""
    if any(counts[v] for v in FAILING):
        return "fail"
    if not any(counts[v] for v in VERIFIED):
        return "reject" if counts["reject"] else "none"
    if counts["unsupported"]:
        return "part"
    return "declared" if counts["declared"] or counts["reject"] else "match"


def _matrices(rows: pd.DataFrame) -> list[Matrix]:
    engines = order(rows["engine"], ())
    keys = ["label", "core", "engine", "corpus"]
    found: dict[tuple[str, str], dict[tuple[str, str], dict[str, int]]] = {}
    for row in rows.groupby(keys, sort=True, as_index=False)[list(VERDICTS)].sum().to_dict("records"):
        counts = {verdict: int(row[verdict]) for verdict in VERDICTS}
        contract = str(row["label"]), str(row["core"])
        found.setdefault(contract, {})[str(row["engine"]), str(row["corpus"])] = counts
    matrices = []
    for (label, core), counted_cells in found.items():
        corpora = order((corpus for _, corpus in counted_cells), ())
        squares: dict[str, dict[str, Square | None]] = {engine: dict.fromkeys(corpora) for engine in engines}
        for (engine, corpus), counts in counted_cells.items():
            squares[engine][corpus] = Square(tone(counts), counts, sum(counts.values()))
        matrices.append(Matrix(label, core, engines, corpora, squares))
    return matrices


def _lists(row: dict[str, Any], place: str) -> tuple[list[Any], list[Any], int | None]:
    """`got` and `expected` of a row, and where they part."""
    got, expected = parse(row["got"], f"{place}, got"), parse(row["expected"], f"{place}, expected")
    got, expected = (value if isinstance(value, list) else [value] for value in (got, expected))
    split = next((i for i, (a, b) in enumerate(zip(got, expected, strict=False)) if a != b), None)
    if split is None and len(got) != len(expected):
        split = min(len(got), len(expected))
    return got, expected, split


def _minimal(row: dict[str, Any], where: str) -> Minimal:
    place = f"{where}, reduction {row['ordinal']}"
    got, expected, split = _lists(row, place)
    return Minimal(
        outcome=str(row["outcome"]),
        size=int(row["bytes"]),
        data=bytes.fromhex(row["minimal"]),
        stage=str(row["stage"]),
        explanation=str(row["explanation"]),
        changes=[str(change) for change in parse(row["changes"], f"{place}, changes")],
        got=got,
        expected=expected,
        split=split,
        tries=int(row["tries"]),
        seconds=int(row["ns"]) / 1e9,
        complete=bool(row["complete"]),
        command=str(row["command"]),
        like=None if row["like"] is None or row["like"] != row["like"] else int(row["like"]),
    )


def _divergence(row: dict[str, Any], where: str, minimal: Minimal | None) -> Divergence:
    got, expected, split = _lists(row, f"{where}, divergence {row['ordinal']}")
    # pandas reads a column with NULLs as floats.
    token = None if row["token"] is None or row["token"] != row["token"] else int(row["token"])
    if token is None and not (got and expected):
        split = None  # the engine gave no output at all: no token is to blame
    texts: dict[str, Any] = {name: str(row[name]) for name in TEXTS}
    return Divergence(
        **texts,
        ordinal=int(row["ordinal"]),
        documents=int(row["documents"]),
        data=bytes.fromhex(row["input"]),
        token=token,
        got=got,
        expected=expected,
        split=split,
        minimal=minimal,
    )


def _with_likes(divergence: Divergence, folded: list[Divergence]) -> Divergence:
    alike = [(d.ordinal, d.documents) for d in folded if d.minimal is not None and d.minimal.like == divergence.ordinal]
    return replace(divergence, alike=tuple(alike))


def _environment(stored: dict[str, Any]) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """The captured environment as lines to show, and the packages apart; unknown keys are shown as they are."""
    lines = []
    for key, value in stored.items():
        if key in ("packages", "notes", "plan"):
            continue
        if isinstance(value, list):
            shown = ", ".join(str(item) for item in value) or "none named"
        elif key == "memory" and isinstance(value, int):
            shown = f"{value / 2**30:.1f} GiB"
        else:
            shown = str(value)
        lines.append((key.replace("_", " "), shown))
    packages = stored.get("packages", {})
    return lines, {str(name): str(version) for name, version in packages.items()} if isinstance(packages, dict) else {}


def _reasons(rows: pd.DataFrame) -> list[Reason]:
    found = []
    for key, part in rows.groupby(["engine", "contract_name", "verdict", "reason"], sort=True):
        engine, contract, verdict, reason = map(str, key)
        operations = ", ".join(order(part["operation"], OPERATIONS))
        found.append(Reason(engine, contract, operations, verdict, reason, int(part["blocks"].sum())))
    return found


def used_verdicts(tables: Tables) -> list[str]:
    """Verdicts that occur, and match and differ always: an absent column would leave the reader guessing."""
    return [v for v in VERDICTS if tables.totals[v] or v in ("match", "differ")]
