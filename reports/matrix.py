"""The matrix: engine x vocabulary x kind of corpus, one verdict a cell, and none without.

Every cell adds up the documents of all corpora of a kind, domains and operations that a run asked of an engine under a
vocabulary; where special tokens are matched the kind is `specials`, whatever the corpus. Its verdict is the worst that
any of its documents got: a failure before a success, and `unsupported` or `reject` only where nothing was verified.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pandas as pd
from tokassay.reports.cells import Contract, SumCheck
from tokassay.reports.errors import INFRASTRUCTURE, ReportError
from tokassay.reports.words import FAILING, OPERATIONS, VERDICTS, counted, listed

SPECIALS = "specials"
# What stands in a cell where there is no room for a word. No two look alike, and a legend has the words.
SIGNS = {
    "match": "=", "declared": "d", "reject": "r", "unsupported": "–", "differ": "≠", "flaky": "f", "error": "e",
    "crash": "c", "timeout": "t", "oom": "m", "blank": "?",
}  # fmt: skip
BLANK = "blank"
LINKS = 8  # divergences of a cell that are linked


@dataclass(frozen=True)
class MatrixCell:
    """One cell. `verdicts` are documents by verdict over all operations; `documents` and `bytes` are those that the
    engine was asked for and answered, each once; `asked` is how many bytes there are. `part`: something was verified,
    and something was not served. `reasons` say what and why. `divergences` are ordinals of those that a failing cell
    leads to. `specs`, `operations` and `policies` (special tokens on or off) say what was asked; `command` asks it
    again."""

    engine: str
    vocabulary: str
    kind: str
    verdict: str = BLANK
    verdicts: dict[str, int] = field(default_factory=dict)
    documents: int = 0
    bytes: int = 0
    asked: int = 0
    part: bool = False
    reasons: tuple[str, ...] = ()
    divergences: tuple[int, ...] = ()
    specs: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    seed: int = 0

    @property
    def command(self) -> str:
        """The command that asks for this cell again; "" for one without a verdict."""
        return command_of([self]) if self.specs else ""

    @property
    def sign(self) -> str:
        """One character."""
        return SIGNS[self.verdict]

    @property
    def tone(self) -> str:
        """The name of its colour: match, part, declared, reject, none, fail or gap."""
        return "part" if self.verdict == "match" and self.part else tone_of(self.verdict)

    @property
    def words(self) -> str:
        """The cell in words: verdict, what it stands on, and why not all of it."""
        if self.verdict == BLANK:
            return "no verdict"
        told = ", ".join(f"{self.verdicts[v]:,} {v}" for v in VERDICTS if self.verdicts.get(v))
        covered = f"; {size(self.bytes)} of {size(self.asked)}" if self.part else ""
        why = f"; {listed(list(self.reasons))}" if self.reasons and (self.part or self.verdict == "unsupported") else ""
        return f"{self.verdict} ({told}{covered}){why}"


@dataclass(frozen=True)
class Matrix3:
    """`cells[engine, vocabulary, kind]` has every combination of the three, blank ones too."""

    engines: tuple[str, ...]
    vocabularies: tuple[str, ...]
    kinds: tuple[str, ...]
    cells: Mapping[tuple[str, str, str], MatrixCell]

    @property
    def totals(self) -> dict[str, int]:
        """Cells by verdict, in the order of VERDICTS; those without one last."""
        found = Counter(cell.verdict for cell in self.cells.values())
        return {verdict: found[verdict] for verdict in (*VERDICTS, BLANK) if found[verdict]}

    @property
    def blanks(self) -> list[MatrixCell]:
        """Cells that are due a verdict and have none."""
        return [cell for cell in self.cells.values() if cell.verdict == BLANK]

    @property
    def sentence(self) -> str:
        """The matrix in one line."""
        axes = (
            f"{counted(len(self.engines), 'engine')} x {counted(len(self.vocabularies), 'vocabulary', 'vocabularies')}"
            f" x {counted(len(self.kinds), 'kind')} of corpus = {counted(len(self.cells), 'cell')}"
        )
        told = ", ".join(f"{number:,} {verdict}" for verdict, number in self.totals.items())
        part = sum(cell.part for cell in self.cells.values())
        partly = f" In {counted(part, 'cell')} a part is not served." if part else ""
        return f"{axes}: {told or 'none'}.{partly}"

    def row(self, engine: str, vocabulary: str) -> list[MatrixCell]:
        """The cells of one engine under one vocabulary, in the order of the kinds."""
        return [self.cells[engine, vocabulary, kind] for kind in self.kinds]

    def worst(self, engine: str, vocabulary: str) -> MatrixCell:
        """The cell of that row whose verdict counts most."""
        return min(self.row(engine, vocabulary), key=lambda cell: _RANK[cell.verdict])


def tone_of(verdict: str) -> str:
    """The name of a verdict's colour."""
    return "fail" if verdict in FAILING else {"unsupported": "none", BLANK: "gap"}.get(verdict, verdict)


# The worst first: it speaks for a row. `unsupported` and `reject` say nothing against an engine.
_ORDER = (BLANK, *FAILING, "declared", "match", "reject", "unsupported")
_RANK = {verdict: place for place, verdict in enumerate(_ORDER)}


def rank(verdict: str) -> int:
    """The place of a verdict among all: the worst has the least."""
    return _RANK[verdict]


def size(number: int) -> str:
    """Bytes as `312 B`, `12 kB` or `1.2 MB` (powers of ten)."""
    if number < 1000:
        return f"{number} B"
    return f"{number / 1000:.0f} kB" if number < 1_000_000 else f"{number / 1e6:.1f} MB"


def verdict_of(counts: Mapping[str, int]) -> str:
    """The one word for some documents: a failure if there is any, then what was verified, then what was not."""
    for verdict in (*FAILING, "declared", "match", "reject", "unsupported"):
        if counts.get(verdict):
            return verdict
    return BLANK


def matrix(
    run: Mapping[str, Any], table: pd.DataFrame, unserved: pd.DataFrame, contracts: Iterable[Contract],
    failing: Iterable[Any], specs: Mapping[str, str],
) -> Matrix3:
    """The matrix of one run from its blocks (`cells.cells`), the reasons of `v_unserved`, its contracts and its failing
    divergences; `specs` has what `--corpus` takes for a corpus of the run.

    The axes are what the run set out to have (`plan` of its environment); a run of an older tokassay has no plan, and
    its axes are what it has rows of, with corpora under the names of their sources in place of kinds.
    """  # fmt: skip
    plan = run["environment"].get("plan", {})
    names = _Names(plan, {contract.digest: contract for contract in contracts})
    sums: dict[tuple[str, str, str], _Sum] = {}
    # Plain rows: a cell of a large run is a few of thousands of blocks, and a frame a cell takes minutes.
    for row in table[["engine", "contract", "corpus", "operation", "documents", "bytes", *VERDICTS]].to_dict("records"):
        digest, corpus = str(row["contract"]), str(row["corpus"])
        key = str(row["engine"]), names.vocabulary(digest), names.kind(digest, corpus)
        sums.setdefault(key, _Sum()).add(row, specs.get(corpus, corpus), names.specials(digest))
    engines = _axis(plan.get("engines"), (key[0] for key in sums))
    vocabularies = _axis([each["name"] for each in plan.get("vocabularies", ())], (key[1] for key in sums))
    kinds = _axis(plan.get("kinds"), (key[2] for key in sums))
    reasons = _reasons(unserved, names)
    witnesses: dict[tuple[str, str], list[Any]] = {}
    for each in failing:
        witnesses.setdefault((each.engine, each.contract), []).append(each)
    cells = {}
    for key in product(engines, vocabularies, kinds):
        if key not in sums:
            cells[key] = MatrixCell(*key)
            continue
        # A divergence names the corpus that shows it best, which may be of another kind.
        mine = witnesses.get(key[:2], [])
        own = [each for each in mine if names.kind("", each.corpus) == key[2]] or mine
        shown = [each.ordinal for each in own if each.examined] or [each.ordinal for each in own]
        cells[key] = sums[key].cell(key, reasons.get(key, ()), tuple(shown[:LINKS]), int(run["seed"]))
    return Matrix3(engines, vocabularies, kinds, cells)


@dataclass
class _Sum:
    """What the blocks of a cell add up to; `asked` and `answered` are (documents, bytes) by operation."""

    verdicts: Counter[str] = field(default_factory=Counter)
    asked: dict[str, tuple[int, int]] = field(default_factory=dict)
    answered: dict[str, tuple[int, int]] = field(default_factory=dict)
    specs: dict[str, None] = field(default_factory=dict)
    policies: set[str] = field(default_factory=set)

    def add(self, row: Mapping[Any, Any], spec: str, policy: str) -> None:
        """One block and operation."""
        self.specs.setdefault(spec)
        self.policies.add(policy)
        for verdict in VERDICTS:
            if row[verdict]:
                self.verdicts[verdict] += int(row[verdict])
        documents, size = int(row["documents"]), int(row["bytes"])
        for sums in (self.asked, self.answered) if row["unsupported"] < documents else (self.asked,):
            before = sums.get(row["operation"], (0, 0))
            sums[row["operation"]] = before[0] + documents, before[1] + size

    def cell(
        self, key: tuple[str, str, str], reasons: tuple[str, ...], divergences: tuple[int, ...], seed: int
    ) -> MatrixCell:
        """The cell. A document counts once, by the operation that most of them were asked for."""
        verdict = verdict_of(self.verdicts)
        documents, covered = (max((n[at] for n in self.answered.values()), default=0) for at in (0, 1))
        return MatrixCell(
            *key, verdict, {v: self.verdicts[v] for v in VERDICTS if self.verdicts[v]}, documents, covered,
            max(n[1] for n in self.asked.values()),
            bool(self.verdicts["unsupported"]) and verdict not in ("unsupported", "reject"),
            reasons, divergences if verdict in FAILING else (), tuple(self.specs),
            tuple(name for name in OPERATIONS if name in self.asked), tuple(sorted(self.policies)), seed,
        )  # fmt: skip


class _Names:
    """What a run calls its contracts and corpora: a store may have learnt of a contract by another name."""

    def __init__(self, plan: Mapping[str, Any], contracts: Mapping[str, Contract]) -> None:
        self._contracts = contracts
        self._kinds: Mapping[str, str] = plan.get("corpora", {})
        self._of = {core: str(each["name"]) for each in plan.get("vocabularies", ()) for core in each["cores"]}

    def vocabulary(self, digest: str) -> str:
        """A contract's vocabulary."""
        contract = self._contracts[digest]
        return self._of.get(contract.core, contract.name)

    def specials(self, digest: str) -> str:
        """Whether a contract matches special tokens: on or off."""
        contract = self._contracts.get(digest)
        return "on" if contract is not None and contract.core_body.get("specials") == "on" else "off"

    def kind(self, digest: str, corpus: str) -> str:
        """The kind of a corpus under a contract."""
        if self.specials(digest) == "on":
            return SPECIALS
        return self._kinds.get(corpus, corpus.partition(":")[0].partition(" (")[0])


def _axis(due: list[str] | None, found: Iterable[Any]) -> tuple[str, ...]:
    """What a run was to have, and after it whatever else it has."""
    return tuple(dict.fromkeys([*(due or ()), *sorted({str(each) for each in found} - set(due or ()))]))


def command_of(cells: Sequence[MatrixCell]) -> str:
    """One command that asks again for some cells of one engine, vocabulary and run."""
    first = cells[0]
    words = ["tokassay", "audit", "--vocab", first.vocabulary, "--engine", first.engine]
    for flag, names in (
        ("--corpus", [spec for cell in cells for spec in cell.specs]),
        ("--operation", [operation for cell in cells for operation in cell.operations]),
        ("--specials", [policy for cell in cells for policy in cell.policies]),
    ):
        distinct = list(dict.fromkeys(names))
        if flag != "--specials" or distinct != ["off"]:
            words += [word for name in distinct for word in (flag, name)]
    return shlex.join([*words, "--seed", str(first.seed)])


def _reasons(unserved: pd.DataFrame, names: _Names) -> dict[tuple[str, str, str], tuple[str, ...]]:
    """Cell -> why documents of it were not served, the most documents first."""
    found: dict[tuple[str, str, str], Counter[str]] = {}
    for row in unserved.to_dict("records"):
        digest = str(row["contract"])
        key = str(row["engine"]), names.vocabulary(digest), names.kind(digest, str(row["corpus"]))
        found.setdefault(key, Counter())[str(row["reason"])] += int(row["documents"])
    return {key: tuple(reason for reason, _ in counter.most_common()) for key, counter in found.items()}


def require_full(found: Matrix3, check: SumCheck, where: str, page: Any = None) -> None:
    """Raise ReportError (exit code 5) where a finished run left a cell without a verdict."""
    if not found.blanks or not check.finished:
        return
    first = found.blanks[0]
    raise ReportError(
        f"{counted(len(found.blanks), 'cell')} of the matrix {'has' if len(found.blanks) == 1 else 'have'} no verdict,"
        f" the first of them {first.engine}, {first.vocabulary}, {first.kind}",
        where=where,
        remedy=f"see {page} for all of them, and run the audit again" if page else "run the audit again",
        exit_code=INFRASTRUCTURE,
    )


def csv_frame(found: Matrix3) -> pd.DataFrame:
    """One row a cell: the fields of `object_of`, lists and counts as text."""
    return pd.DataFrame([object_of(cell) for cell in found.cells.values()]).assign(
        reasons=lambda frame: frame["reasons"].map("; ".join),
        divergences=lambda frame: frame["divergences"].map(lambda ordinals: " ".join(map(str, ordinals))),
        verdicts=lambda frame: frame["verdicts"].map(lambda counts: ", ".join(f"{n} {v}" for v, n in counts.items())),
    )


def object_of(cell: MatrixCell) -> dict[str, Any]:
    """A cell as plain JSON values."""
    return {
        "engine": cell.engine, "vocabulary": cell.vocabulary, "kind": cell.kind, "verdict": cell.verdict,
        "part": cell.part, "documents": cell.documents, "bytes": cell.bytes, "bytes_due": cell.asked,
        "verdicts": dict(cell.verdicts), "reasons": list(cell.reasons), "divergences": list(cell.divergences),
        "command": cell.command,
    }  # fmt: skip


def to_json(found: Matrix3) -> dict[str, Any]:
    """The matrix as plain JSON values."""
    return {
        "engines": list(found.engines), "vocabularies": list(found.vocabularies), "kinds": list(found.kinds),
        "totals": found.totals, "sentence": found.sentence, "cells": [object_of(cell) for cell in found.cells.values()],
    }  # fmt: skip
