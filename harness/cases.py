"""What a bisection is asked about: a document with its vocabulary, contract and right answer, and who says so."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from tokassay.engines.roster import EngineSpec
from tokassay.harness.answers import MAX_ID, Answer
from tokassay.harness.contract import Contract
from tokassay.harness.errors import INFRASTRUCTURE, InputError
from tokassay.harness.explain import WINDOW
from tokassay.harness.hosts import ORACLE, Target, target
from tokassay.harness.load import Loaded, load_vocabulary
from tokassay.harness.probe import probe
from tokassay.harness.vectors import Vector


@dataclass(frozen=True)
class Case:
    """A document under a contract. `right` is the answer and who says so; None where nobody does (opaque files)."""

    loaded: Loaded
    contract: Contract
    document: bytes
    right: tuple[Answer, str] | None = None
    vector: str = ""


@dataclass(frozen=True)
class Shown:
    """A divergence of a store, as far as it can be asked again."""

    engine: str
    vocabulary: str
    document: bytes
    specials: bool


def of_vector(vector: Vector) -> Case:
    """The case that a vector is. Raises InputError for one that no engine can be asked to encode."""
    if vector.operation != "encode":
        raise InputError(
            f"{vector.id} is about {vector.operation}", where="--vector", remedy="name a vector of the operation encode"
        )
    loaded = load_for(vector)
    return Case(
        loaded, vector.asked_of(loaded.contract), vector.document, (vector.answer, f"vector {vector.id}"), vector.id
    )


def vocabulary_of(vector: Vector) -> str:
    """The vocabulary to load: a name, or a path beside the file of the vector where one lies there."""
    beside = Path(vector.where.rpartition(", ")[0]).parent / vector.vocabulary
    return str(beside) if beside.is_file() else vector.vocabulary


def load_for(vector: Vector) -> Loaded:
    """The vector's vocabulary. Raises InputError that names the vector: nobody gave an option for it."""
    try:
        return load_vocabulary(vocabulary_of(vector))
    except InputError as error:
        named = "`vocabulary`" if error.where.startswith("--") else error.where
        where = ": ".join(filter(None, (vector.where or vector.id, named)))
        raise type(error)(str(error), where=where, remedy=error.remedy, exit_code=error.exit_code) from None


def by_oracle(case: Case, roster: Mapping[str, EngineSpec]) -> Answer | None:
    """What the oracle gives under the case's contract; None where it does not model it. Raises InputError."""
    if case.contract.algorithm == "opaque":
        return None
    oracle = target(ORACLE, case.contract, roster)
    asked = probe(oracle, case.loaded, case.document, roster=roster)
    if asked.answer is None or asked.answer.outcome not in ("ids", "reject"):
        told = asked.reason if asked.answer is None else asked.answer.told()
        raise InputError(
            f"the oracle has no answer: {told}", where=oracle.variants,
            remedy="give the right ids with --expect", exit_code=INFRASTRUCTURE,
        )
    return asked.answer


def held_to(case: Case, engine: Target, vector: Vector | None, roster: Mapping[str, EngineSpec]) -> Case:
    """The case with the right answer for this engine's own variants, from the vector or from the oracle."""
    if vector is not None and not vector.holds_for(engine.contract):
        return case
    answer = by_oracle(replace(case, contract=engine.contract), roster)
    return replace(case, right=None if answer is None else (answer, f"{ORACLE}:{engine.variants}"))


def engine_of(name: str, case: Case, roster: Mapping[str, EngineSpec]) -> Target:
    """The engine by name under its own variants of the case's contract. Raises InputError for the oracle."""
    found = target(name, case.contract, roster, where="tokassay bisect")
    if found.spec.name == ORACLE or found.spec.requirement == "tokassay":
        raise InputError(
            f"{found.spec.name} has no releases of its own", where="tokassay bisect",
            remedy="name an engine whose requirement is a package: tokassay engines list",
        )
    return found


def parse_ids(text: str) -> Answer:
    """`--expect`: ids with spaces or commas between, or `reject`. Raises InputError."""
    words = text.replace(",", " ").split()
    if words == ["reject"]:
        return Answer("reject")
    for word in words:
        if not re.fullmatch("[0-9]{1,10}", word) or int(word) > MAX_ID:
            raise InputError(
                f"{word!r} is no id", where="--expect",
                remedy=f"give ids from 0 to {MAX_ID} such as 15339,1917, or reject",
            )
    return Answer.of([int(word) for word in words])


def of_divergence(name: str, store: Path) -> Shown:
    """The divergence `[RUN:]NUMBER` of a store, counted from 1 as in the report. Raises InputError."""
    run, _, number = name.rpartition(":")
    where = f"--divergence {name}"
    if not number.isdigit() or int(number) < 1:
        raise InputError("not [RUN:]NUMBER", where=where, remedy="write it like 3, or 5f0c1d:3; numbers begin at 1")
    rows = _rows(store, run, int(number) - 1)
    if not rows:
        raise InputError("there is none", where=f"{store}, {where}", remedy="tokassay report lists them")
    engine, vocabulary, shown, command = rows[0]
    document = bytes.fromhex(shown)
    if not document or len(document) >= WINDOW:
        raise InputError(
            f"the store holds a part of its document ({len(document)} bytes)", where=f"{store}, {where}",
            remedy="reduce the document first, and give it with --hex or --file",
        )
    words = shlex.split(command)
    at = words.index("--specials") if "--specials" in words else len(words)
    return Shown(engine, vocabulary, document, at < len(words) and words[at + 1 : at + 2] != ["off"])


def _rows(store: Path, run: str, ordinal: int) -> list[tuple[str, str, str, str]]:
    """Engine, contract's name, input (hex) and command of the divergence; an empty list where there is none."""
    from tokassay.reports.opening import find_run, open_store

    with closing(open_store(store)) as db:
        query = "SELECT engine, contract, input, command FROM v_divergence WHERE run = ? AND ordinal = ?"
        return db.execute(query, (find_run(db, str(store), run or None), ordinal)).fetchall()
