"""What a site is made of beside stores: the roster, the vectors with what engines gave, our own faults, and traces.

Traces are made when a site is built. One of an audit's divergence asks both sides again; one of a vector asks the
oracle alone, in this process, and sets it beside the ids that are recorded.
"""

from __future__ import annotations

import json
import shlex
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version as distribution_version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokassay.engines.roster import EngineSpec
from tokassay.harness.answers import Answer
from tokassay.harness.cases import load_for
from tokassay.harness.contract import Contract
from tokassay.harness.differ import Side
from tokassay.harness.errors import InputError
from tokassay.harness.load import Loaded, load_vocabulary
from tokassay.harness.sidebyside import side_by_side, to_json
from tokassay.harness.sides import spans_of
from tokassay.harness.vectors import ENCODE, Vector, load_all
from tokassay.oracles.errors import OracleError, Reject
from tokassay.oracles.make import make_oracle
from tokassay.oracles.oracle import Oracle
from tokassay.reports.site.sources import Engine, Fault, Known, Sources
from tokassay.reports.site.sources import Vector as Shown

if TYPE_CHECKING:
    from tokassay.reports.site.model import Shown as Divergence
    from tokassay.reports.site.model import Site

FAULTS = "faults/own.json"
STORE = Path("tokassay.sqlite")
LETTERS = 160  # of an answer: a panic's message can be long
LARGEST = 256  # bytes of a document that is traced for a page
OURS = "tokassay"  # the requirement of our own engines


def roster(engines: Mapping[str, EngineSpec]) -> tuple[Engine, ...]:
    """The engines of the roster as pages show them: what their tables declare, and no path of this machine."""
    return tuple(_engine(spec) for spec in engines.values())


def _engine(spec: EngineSpec) -> Engine:
    facts = {
        "requirement": spec.requirement,
        "environment": {"project": "the project's own", "own": "one of its own"}[spec.environment],
        "adapter": spec.adapter.name,
        "algorithms": ", ".join(spec.algorithms),
        "byte policy": spec.byte_policy,
        "Unicode": spec.unicode,
        "normalizes by Unicode": spec.normalization,
        "special tokens": ", ".join(spec.specials),
        "operations": ", ".join(spec.operations),
        "licence": spec.licence,
        "home": spec.home,
        "limits": f"{spec.memory_mb:,} MB, {spec.timeout_s:g} s",
        **{f"entry point: {name.replace('_', ' ')}": call for name, call in spec.entry_points.items()},
        **{f"byte policy of {name}": policy for name, policy in spec.byte_policies.items()},
    }
    told = tuple((name, value) for name, value in facts.items() if value)
    return Engine(spec.name, spec.requirement == OURS, spec.requirement, told, spec.notes)


def vectors(held: Iterable[Vector]) -> tuple[Shown, ...]:
    """The vectors, with the engines that ever failed them for a cause of its own (one like another vector has none)."""
    return tuple(
        Shown(
            id=one.id,
            vocabulary=one.vocabulary,
            operation=one.operation,
            level=one.level,
            data=bytes.fromhex(one.repeat[0] if one.repeat else one.input_hex),
            times=one.repeat[1] if one.repeat else 1,
            stage=one.stage,
            title=one.title,
            rule=one.rule,
            source=one.source,
            right=one.expected.told(),
            command=_reproduce(one),
            known=tuple(_known(one)),
        )
        for one in held
    )


def _known(vector: Vector) -> Iterator[Known]:
    for engine in sorted({one.engine for one in vector.engines}):
        history = vector.history(engine)
        if "first_bad" in history and not any(one.like for one in vector.of(engine)):
            given = [one.answer for one in vector.of(engine) if not vector.right(one.answer)][-1]
            yield Known(
                vector.id,
                engine,
                history["first_bad"],
                history["last_bad"],
                history.get("last_good", ""),
                history.get("first_good", ""),
                engine in vector.wrong,
                given.told()[:LETTERS],
            )


def _reproduce(vector: Vector) -> str:
    named = [
        engine for engine in sorted({one.engine for one in vector.engines}) if "first_bad" in vector.history(engine)
    ]
    return shlex.join(["tokassay", "vectors", "reproduce", vector.id, named[0]]) if named else ""


def faults() -> tuple[Fault, ...]:
    """Our own past faults: fixtures/faults/own.json."""
    found = json.loads(files("tokassay.fixtures").joinpath(FAULTS).read_text(encoding="utf-8"))
    return tuple(Fault(**row) for row in found["faults"])


def gathered(engines: Mapping[str, EngineSpec], stores: Sequence[Path] = ()) -> Sources:
    """Everything but traces. Raises InputError (or the roster's own error) with place and remedy."""
    held = [vector for file in load_all() for vector in file.vectors]
    return Sources(tuple(stores), distribution_version("tokassay"), roster(engines), vectors(held), faults())


def built(
    stores: Sequence[Path],
    benches: Sequence[Path],
    out: Path,
    rosters: Sequence[Path] = (),
    trace_seconds: float = 0.0,
    said: Callable[[str], None] = lambda _: None,
    more: Sequence[tuple[str, str]] = (),
) -> tuple[Site, list[Path]]:
    """Build a site of these stores and benches into `out`, and return it with its files.

    Raises InputError or ReportError with place and remedy.
    """
    from tokassay.engines.roster import load_roster
    from tokassay.reports.site.build import build_site
    from tokassay.reports.site.model import Site

    engines = load_roster(*rosters)
    with stored(benches) as made:
        site = Site(gathered(engines, [*stores, *([made] if made is not None else [])]))
        if trace_seconds > 0:
            traces = Traces(engines, trace_seconds, said)
            traces.of_divergences(site.divergences)
            traces.of_vectors(vector for file in load_all() for vector in file.vectors)
            site.traces, site.untraced = traces.made, traces.without
        said("writing")
        return site, build_site(site, out, more)


@contextmanager
def stored(benches: Sequence[Path]) -> Iterator[Path | None]:
    """A store with these reports of `bench --json`, while the block runs; None for none. Raises InputError."""
    from tokassay.harness.store import Store

    if not benches:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="tokassay-site-") as folder:
        path = Path(folder) / "benches.sqlite"
        store = Store(path)
        try:
            for bench in benches:
                store.add_bench(read_bench(bench))
        finally:
            store.close()
        yield path


def read_bench(path: Path) -> dict[str, Any]:
    """A file of `tokassay bench --json`. A report without an id gets one from its bytes. Raises InputError."""
    import hashlib

    remedy = "give a file that `tokassay bench --json` printed"
    try:
        data = path.read_bytes()
        found = json.loads(data)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot be read: {reason}", where=f"--bench {path}", remedy=remedy) from None
    schema = found.get("schema", "") if isinstance(found, dict) else ""
    if not str(schema).startswith("tokassay.bench/"):
        raise InputError("no report of a bench", where=f"--bench {path}, `schema`", remedy=remedy)
    lacking = [
        name for name in ("started", "finished", "command", "tokassay", "exit_code", "cells") if name not in found
    ]
    if lacking:
        raise InputError(f"no `{lacking[0]}`", where=f"--bench {path}", remedy=remedy)
    return {"id": hashlib.sha256(data).hexdigest()[:12], **found}


def bench_beside(document: Path) -> Path | None:
    """The committed bench for a document: docs/data/bench.json, seen from the README or from within docs."""
    found = (document.parent / folder / "data" / "bench.json" for folder in ("docs", "."))
    return next((path for path in found if path.is_file()), None)


@dataclass
class Traces:
    """Traces made for pages, and why there is none of the others. `seconds` bounds the time that is spent on asking
    engines; `said` is told of each."""

    roster: Mapping[str, EngineSpec]
    seconds: float
    said: Callable[[str], None] = lambda _: None
    made: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    without: dict[str, str] = field(default_factory=dict)
    _loaded: dict[str, Loaded] = field(default_factory=dict)
    _oracles: dict[tuple[str, str], Oracle] = field(default_factory=dict)

    def of_divergences(self, found: Iterable[Divergence]) -> None:
        """Ask both sides of each divergence again, until the time is up."""
        end = time.monotonic() + self.seconds
        for shown in found:
            self.without[shown.key] = self._divergence(shown, end)
        self.without = {key: reason for key, reason in self.without.items() if reason}

    def _divergence(self, shown: Divergence, end: float) -> str:
        """Trace one; why not, else ""."""
        from tokassay.harness.compared import compare

        asked = parsed(shown.command)
        if asked is None:
            return "It was not traced: there is no small document that shows it by itself."
        if time.monotonic() > end:
            return f"It was not traced, as {self.seconds:g} s were over. This command does: {asked.command}"
        self.said(f"tracing {shown.divergence.engine} against {shown.divergence.against}")
        try:
            loaded = self._load(asked.vocabulary, asked.pattern)
            contract = asked.contract(loaded.contract)
            names = (asked.left, asked.right)
            # What of a contract would explain it is in the store already.
            seen = compare(names, loaded, contract, self.roster, asked.document, causes=False)
        except InputError as error:
            return f"It was not traced: {error}."
        if not seen.compared:
            return f"It was not traced here: {'; '.join(side.detail for side in seen.sides if side.detail)}."
        self.made[shown.key] = {**seen.to_json(), "command": asked.command}
        return ""

    def of_vectors(self, held: Iterable[Vector]) -> None:
        """The oracle's decisions on each failed vector, beside the newest wrong ids that are recorded."""
        for vector in held:
            if any(True for _ in _known(vector)):
                self.without[vector.id] = self._vector(vector)
        self.without = {key: reason for key, reason in self.without.items() if reason}

    def _vector(self, vector: Vector) -> str:
        if vector.operation != ENCODE:
            return f"There is nothing to trace: the fault is one of {vector.operation}."
        if len(vector.document) > LARGEST:
            return f"The document has {len(vector.document):,} bytes: its trace would fill no page."
        engine, version, answer = wrong_ids(vector)
        try:
            loaded = load_for(vector)
            contract = vector.asked_of(loaded.contract)
            left = self._oracle(loaded, contract, vector.document)
        except (InputError, OracleError, Reject) as error:
            return f"The oracle cannot be asked: {error}."
        spans = None
        tokens: tuple[bytes | None, ...] = ()
        if answer is not None:
            tokens = tuple(map(loaded.vocabulary.ids().get, answer))
            spans = spans_of(tokens, vector.document)
        if answer is None or spans is None:  # there is nothing to set beside the oracle's decisions
            seen = to_json(side_by_side(vector.document, left))
            self.made[vector.id] = {**seen, "vocabulary": loaded.contract.vocabulary, "command": ""}
            return ""
        right = Side(engine, version, "as recorded", ids=answer, tokens=tokens, spans=spans)
        beside = to_json(side_by_side(vector.document, right, left))
        self.made[vector.id] = {
            **beside,
            "vocabulary": loaded.contract.vocabulary,
            "same": False,
            "sentences": [],
            "command": "",
        }
        return ""

    def _load(self, name: str, pattern: str | None) -> Loaded:
        key = f"{name}\n{pattern}"
        if key not in self._loaded:
            self._loaded[key] = load_vocabulary(name, pattern=pattern)
        return self._loaded[key]

    def _oracle(self, loaded: Loaded, contract: Contract, document: bytes) -> Side:
        """What the oracle does, asked in this process: it is ours, and the document is small."""
        key = contract.digest, loaded.contract.digest
        if key not in self._oracles:
            held = loaded.vocabulary
            self._oracles[key] = make_oracle(contract.to_json(), held.tokens, held.merges)
        oracle = self._oracles[key]
        ids = tuple(oracle.encode(document))
        tokens = tuple(map(loaded.vocabulary.ids().get, ids))
        variants = f"{contract.byte_policy}@{contract.unicode}"
        side = Side("oracle", distribution_version("tokassay"), variants, ids=ids, tokens=tokens)
        return replace(side, spans=spans_of(tokens, document), decisions=tuple(oracle.decisions(document)))


def wrong_ids(vector: Vector) -> tuple[str, str, tuple[int, ...] | None]:
    """(engine, version, ids) of the newest wrong answer with ids that is recorded whole, an open one before a healed
    one; ids are None where there is no such answer."""
    found: list[tuple[bool, str, str, Answer]] = []
    for one in vector.engines:
        if not vector.right(one.answer) and one.answer.ids is not None and not one.like:
            found.append((one.engine in vector.wrong, one.engine, one.version, one.answer))
    if not found:
        return "", "", None
    _, engine, version, answer = max(found, key=lambda each: each[0])
    return engine, version, answer.ids


@dataclass(frozen=True)
class Asked:
    """What a command of the form `tokassay diff LEFT RIGHT … --hex …` asks."""

    left: str
    right: str
    vocabulary: str
    document: bytes
    pattern: str | None = None
    variants: str | None = None
    specials: bool = False

    @property
    def command(self) -> str:
        """The command that shows its trace."""
        flags = [
            word
            for flag, value in (("--pattern", self.pattern), ("--contract", self.variants))
            if value
            for word in (flag, value)
        ]
        flags += ["--specials"] if self.specials else []
        words = ["tokassay", "trace", self.left, "--against", self.right, "--vocab", self.vocabulary, *flags]
        return shlex.join([*words, "--hex", self.document.hex()])

    def contract(self, base: Contract) -> Contract:
        """The contract asked for. Raises InputError."""
        from tokassay.harness.variants import parse_variants

        return base.with_variants(**parse_variants(self.variants), specials="on" if self.specials else "off")


def parsed(command: str) -> Asked | None:
    """What a divergence's command asks, where it is a diff of two sides on a document of at most LARGEST bytes."""
    words = shlex.split(command) if command else []
    if words[:2] != ["tokassay", "diff"] or len(words) < 4:
        return None
    flags = {word: words[n + 1] for n, word in enumerate(words[:-1]) if word.startswith("--") and word != "--specials"}
    if "--hex" not in flags or "--vocab" not in flags or len(flags["--hex"]) > 2 * LARGEST:
        return None
    try:
        document = bytes.fromhex(flags["--hex"])
    except ValueError:
        return None
    return Asked(
        words[2],
        words[3],
        flags["--vocab"],
        document,
        flags.get("--pattern"),
        flags.get("--contract"),
        "--specials" in words,
    )
