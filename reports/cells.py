"""From blocks to rows: contracts with their names, coverage with its sum check, corpus digests, time."""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from tokassay.reports.errors import INFRASTRUCTURE, ReportError
from tokassay.reports.read import Frames, parse
from tokassay.reports.words import DOMAINS, OPERATIONS, VARIANTS, VERDICTS, counted, number

LANE = ["core", "label", "engine", "corpus", "operation", "entry_point", "modifiers"]


@dataclass(frozen=True)
class Contract:
    """A contract of the run. `label` is its name, with `(specials on)` where specials are matched."""

    name: str
    label: str
    digest: str
    core: str
    core_body: dict[str, Any]
    variants: dict[str, str]


@dataclass
class SumCheck:
    """Whether every document has a verdict: three counts made apart must agree, and no cell may be missing.

    `expected` is the sum over contracts and corpora of engines x documents x operations, from the list of corpora;
    `blocks` adds up the documents of the blocks; `counted` adds up the verdicts.
    """

    expected: int = 0
    blocks: int = 0
    counted: int = 0
    terms: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    finished: bool = True

    @property
    def ok(self) -> bool:
        return not self.problems and self.expected == self.blocks == self.counted

    @property
    def sentence(self) -> str:
        """The check in one line."""
        if self.ok:
            return (
                f"{number(self.counted)} verdicts = engines x documents x operations, added over "
                f"{counted(len(self.terms), 'pair')} of contract and corpus: every document is accounted for."
            )
        if not self.finished:
            return f"{number(self.counted)} verdicts so far; how many are due is known when the run has finished."
        return (
            f"The counts do not add up: {number(self.expected)} verdicts are due (engines x documents x operations), "
            f"{number(self.blocks)} documents are in blocks, {number(self.counted)} verdicts were counted."
        )


def order(values: Any, known: tuple[str, ...]) -> list[str]:
    """Distinct values, the known ones first in their order, the others sorted."""
    found = {str(value) for value in values}
    return [value for value in known if value in found] + sorted(found - set(known))


def in_order(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Sorted by `keys`; domains and operations in the order they are taught, not by the alphabet."""

    def rank(column: pd.Series[Any]) -> pd.Series[Any]:
        known = {"domain": DOMAINS, "operation": OPERATIONS}.get(str(column.name))
        if known is None:
            return column
        ranks = {name: i for i, name in enumerate(order(column, known))}
        return column.map(ranks)

    return table.sort_values(keys, key=rank, ignore_index=True, kind="stable")


def contracts(frames: Frames) -> list[Contract]:
    """The contracts of the run, by core, then digest."""
    found = []
    rows = frames.cells[["contract_name", "contract", "core", "contract_body"]].drop_duplicates("contract")
    for row in rows.to_dict("records"):
        body = parse(row["contract_body"], f"{frames.store}, contract {row['contract']}")
        label = f"{row['contract_name']} (specials on)" if body.get("specials") == "on" else str(row["contract_name"])
        found.append(
            Contract(
                name=str(row["contract_name"]),
                label=label,
                digest=str(row["contract"]),
                core=str(row["core"]),
                core_body={key: value for key, value in sorted(body.items()) if key not in VARIANTS},
                variants={key: str(body[key]) for key in VARIANTS if key in body},
            )
        )
    return sorted(found, key=lambda c: (c.label, c.core, c.digest))


def cells(frames: Frames) -> pd.DataFrame:
    """v_cell with `label` (the contract core's) and one integer column a verdict.

    Raises ReportError on a verdict that this version does not know.
    """
    table = frames.cells.copy()
    # Two files of one core may bear two names; the first by label speaks for the core.
    labels: dict[str, str] = {}
    for contract in contracts(frames):
        labels.setdefault(contract.core, contract.label)
    table["label"] = table["core"].map(labels)
    counts = []
    for text, corpus, engine in zip(table["verdicts"], table["corpus"], table["engine"], strict=True):
        where = f"{frames.store}, verdicts of {engine} on {corpus}"
        found = parse(text, where)
        unknown = set(found) - set(VERDICTS)
        if unknown:
            raise ReportError(
                f"verdict {min(unknown)!r} is not one of {', '.join(VERDICTS)}",
                where=where,
                remedy="use the tokassay that wrote this store",
                exit_code=INFRASTRUCTURE,
            )
        counts.append([int(found.get(verdict, 0)) for verdict in VERDICTS])
    table[list(VERDICTS)] = pd.DataFrame(counts, columns=list(VERDICTS), index=table.index, dtype="int64")
    # The set of specials is the core's; what is left of the modifiers tells lanes of one operation apart.
    table["modifiers"] = [
        json.dumps({key: value for key, value in found.items() if key != "specials"}, sort_keys=True)
        for found in (parse(text, f"{frames.store}, modifiers") for text in table["modifiers"])
    ]
    return table


def coverage(table: pd.DataFrame) -> pd.DataFrame:
    """One row a contract, engine, corpus, domain and operation: blocks, reused blocks, documents, bytes, verdicts."""
    keys = ["core", "label", "engine", "version", "contract", "corpus", "domain", "operation"]
    grouped = table.groupby(keys, sort=False, as_index=False).agg(
        blocks=("ordinal", "size"),
        reused=("reused", "sum"),
        documents=("documents", "sum"),
        bytes=("bytes", "sum"),
        **{verdict: (verdict, "sum") for verdict in VERDICTS},
    )
    return in_order(grouped, ["label", "core", "engine", "corpus", "domain", "operation", "contract"])


def sum_check(frames: Frames, table: pd.DataFrame) -> SumCheck:
    """Hold verdicts against engines x documents x operations; every gap is a sentence in `problems`."""
    check = SumCheck(
        blocks=int(table["documents"].sum()),
        counted=int(frames.verdicts["documents"].sum()),
        finished=frames.run["finished"] is not None,
    )
    documents = {str(row["name"]): int(row["documents"]) for row in frames.corpora.to_dict("records")}
    engines = order(table["engine"], ())
    for (core, label, corpus), part in table.groupby(["core", "label", "corpus"], sort=True):
        if corpus not in documents:
            check.problems.append(f"corpus {corpus} has results and is not in the list of corpora")
            continue
        due = documents[corpus]
        lanes = part.groupby(LANE, sort=False, as_index=False).agg(documents=("documents", "sum"))
        have = {(str(e), str(o)) for e, o in zip(lanes["engine"], lanes["operation"], strict=True)}
        operations = order(part["operation"], OPERATIONS)
        term = {"core": core, "label": label, "corpus": corpus, "documents": due, "engines": len(engines)}
        check.terms.append({**term, "operations": operations})
        check.expected += due * len(lanes)
        for lane in lanes.to_dict("records"):
            if int(lane["documents"]) != due:
                check.problems.append(
                    f"{label}, {corpus}: {lane['engine']} {lane['operation']} covers {number(int(lane['documents']))} "
                    f"of {number(due)} documents"
                )
        for engine in engines:
            for operation in operations:
                if (engine, operation) not in have:
                    check.expected += due
                    check.problems.append(f"{label}, {corpus}: {engine} {operation} has no row at all")
    seen = order(table["corpus"], ())
    check.problems += [f"corpus {name} was opened and has no result" for name in sorted(set(documents) - set(seen))]
    short = table[table[list(VERDICTS)].sum(axis=1) != table["documents"]]
    for row in short.head(5).to_dict("records"):
        verdicts = sum(int(row[verdict]) for verdict in VERDICTS)
        check.problems.append(
            f"{row['label']}, {row['corpus']}: {row['engine']} {row['operation']}, {row['domain']} block "
            f"{row['ordinal']} has {number(verdicts)} verdicts for {number(int(row['documents']))} documents"
        )
    return check


def corpus_digest(digests: list[str]) -> str:
    """SHA-256 over block digests (raw 32 bytes each) in order, as hex; empty when a block has no digest."""
    if not digests or not all(digests):
        return ""
    return hashlib.sha256(b"".join(bytes.fromhex(digest) for digest in digests)).hexdigest()


def digests(table: pd.DataFrame) -> pd.DataFrame:
    """One row a contract, corpus, domain, operation, lane and engine: the corpus digest and the one it is held to.

    `state`: equal, differs, none (a block without a digest, or blocks missing), alone (no oracle for this contract).
    """
    keys = ["core", "label", "corpus", "domain", "operation", "contract", "engine", "entry_point", "modifiers"]
    lanes: dict[tuple[Any, ...], list[tuple[int, str, str]]] = {}
    # Plain rows: a large run has thousands of lanes, and a frame each takes minutes.
    for row in table[[*keys, "ordinal", "digest", "expected"]].to_dict("records"):
        blocks = lanes.setdefault(tuple(row[key] for key in keys), [])
        blocks.append((int(row["ordinal"]), str(row["digest"]), str(row["expected"])))
    rows = []
    for lane, blocks in lanes.items():
        blocks.sort()
        whole = [ordinal for ordinal, _, _ in blocks] == list(range(len(blocks)))
        digest = corpus_digest([digest for _, digest, _ in blocks]) if whole else ""
        expected = corpus_digest([expected for _, _, expected in blocks]) if whole else ""
        state = "none" if not digest else "alone" if not expected else "equal" if digest == expected else "differs"
        rows.append([*lane, len(blocks), digest, expected, state])
    found = pd.DataFrame(rows, columns=[*keys, "blocks", "digest", "expected", "state"])
    return in_order(found, ["label", "core", "corpus", "domain", "operation", "engine", "contract"])


def times(table: pd.DataFrame) -> pd.DataFrame:
    """Nanoseconds by engine and operation, of blocks this run measured itself: call, prepare, hash, and their shares.

    It tells where an audit's time goes. It is not a benchmark: no gate, no repetition, no control of caches.
    """
    fresh = table[table["reused"] == 0]
    grouped = fresh.groupby(["engine", "operation"], as_index=False).agg(
        call=("ns", "sum"), cpu=("cpu_ns", "sum"), host=("host_ns", "sum"), hash=("hash_ns", "sum")
    )
    grouped["prepare"] = (grouped["host"] - grouped["hash"]).clip(lower=0)
    total = grouped["call"] + grouped["prepare"] + grouped["hash"]
    for part in ("call", "prepare", "hash"):
        grouped[f"{part}_share"] = (grouped[part] / total.where(total > 0)).fillna(0.0)
    grouped["total"] = total
    return in_order(grouped[grouped["total"] > 0], ["engine", "operation"])


def row_command(run: dict[str, Any], spec: str, contract: Contract, engine: str, operation: str | None = None) -> str:
    """The command that asks for one row again."""
    words = ["tokassay", "audit", "--vocab", contract.name, "--engine", engine, "--corpus", spec]
    if operation:
        words += ["--operation", operation]
    if contract.core_body.get("specials") == "on":
        words += ["--specials", "on"]
    return shlex.join([*words, "--seed", str(run["seed"])])
