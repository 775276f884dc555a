"""How fast, of those that are right: fresh processes, in turns, each timed call's own output against the reference.

A cell is a vocabulary, a text and an entry point. For each repetition every engine runs once, one after the other, in
a process of its own on one processor: it loads (not timed), encodes half `a` of the text (`cold`: its first pass) and
then half `b`, which it has not seen (`warm`), and, only where asked, `a` again (`replay`). The digest of the output
of each timed call must be that of the reference on the same half; one that is not ends the engine's part in the cell.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from tokassay.engines.client import Host, HostFailure, Measured
from tokassay.engines.roster import EngineSpec
from tokassay.harness.compare import Output, differing
from tokassay.harness.contract import GREEDY
from tokassay.harness.errors import InputError
from tokassay.harness.hosts import find_spec, open_host, target
from tokassay.harness.load import Loaded
from tokassay.harness.rates import EXACT, UNVERIFIED, VOID, Row, compare
from tokassay.harness.texts import Half, Text

COLD, WARM, REPLAY = STATES = ("cold", "warm", "replay")
WHOLE = "whole"
ENTRIES = (WHOLE, "documents-list", "batch-flat", "batch-list")
REFERENCES = ("tiktoken", "tokenizers")  # the second for texts that the first cannot encode at all
# For one pretoken of any length, whose scan overflows both: the first one's merging alone. That the text is one
# pretoken is by construction, and seen at a size that both can scan.
PIECE = "tiktoken[piece=true]"
# For the longest match, which neither of them computes: plain Python, slow, and long enough only for its timeout.
PLAIN = "oracle"
RIVALS = ("gigatoken", "snaptokens", "quicktok-v1", "splintr-rs", "fastokens")
ENGINES = ("dat-bpe", *RIVALS)
REFERENCE_TIMEOUT_S = 900.0


@dataclass(frozen=True)
class Contestant:
    """An engine as it takes part: its row of the roster, and options for its adapter (`NAME[option=value]`)."""

    label: str
    spec: EngineSpec
    options: Mapping[str, Any] = field(default_factory=dict)


class Opener(Protocol):
    """Opens a contestant in a process of its own, loaded; `first` is Host.load's."""

    def __call__(self, who: Contestant, loaded: Loaded, first: tuple[str, bytes] | None = None, /) -> Host: ...


@dataclass(frozen=True)
class Expected:
    """The reference on one half, whole or cut: the digest, and the ids, to find where another's differ."""

    digest: str
    output: Output
    source: str  # which reference said so


@dataclass(frozen=True)
class Cell:
    """What is measured at once: one vocabulary, text and entry point."""

    loaded: Loaded
    text: Text
    entry: str

    @property
    def cut(self) -> bool:
        """Whether the text is cut into documents."""
        return self.entry != WHOLE


@dataclass
class Result:
    """One cell in one state: rows in the order of the contestants. `half` is the text that was timed."""

    cell: Cell
    state: str
    half: Half
    digest: str
    source: str
    rows: list[Row]
    tokens: int = 0  # ids of the reference

    @property
    def documents(self) -> int:
        return self.half.documents(self.cell.cut)


def contestant(written: str, roster: Mapping[str, EngineSpec]) -> Contestant:
    """NAME, or NAME[option=value,option=value] with integers, true, false or words. Raises InputError."""
    name, bracket, rest = written.partition("[")
    spec = find_spec(name, roster, "--engines")
    if bracket and not rest.endswith("]"):
        raise InputError(f"{written} is not closed", where="--engines", remedy="write NAME[option=value]")
    options: dict[str, Any] = {}
    for one in filter(None, rest.removesuffix("]").split(",")):
        key, equals, value = one.partition("=")
        if not equals or not key:
            raise InputError(f"{one} is no option", where="--engines", remedy="write NAME[option=value]")
        key = accepted(key.strip(), spec, "--engines")
        if key in options:
            raise InputError(f"{written} gives {key} twice", where="--engines", remedy="leave one of them")
        options[key] = _value(value.strip())
    return Contestant(written, spec, options)


def accepted(option: str, spec: EngineSpec, where: str) -> str:
    """The option, if it is one of the engine's; InputError: an adapter may ignore what it does not know."""
    if option not in spec.accepts:
        remedy = f"it has {', '.join(spec.accepts)}" if spec.accepts else "it has none"
        raise InputError(f"{spec.name} has no option {option!r}", where=where, remedy=remedy)
    return option


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if text.lstrip("-").isdigit() else text


def opener(
    roster: Mapping[str, EngineSpec],
    *,
    threads: int = 1,
    cpus: Sequence[int] = (),
    before_load: Callable[[Iterable[str]], None] | None = None,
) -> Opener:
    """Opens contestants in fresh processes kept on `cpus`, loaded with a contract in their own variants.

    `before_load` is open_host's.
    """

    def open_one(who: Contestant, loaded: Loaded, first: tuple[str, bytes] | None = None) -> Host:
        contract = target(who.spec.name, loaded.contract, {**roster, who.spec.name: who.spec}).contract
        return open_host(
            who.spec.name, loaded, contract, roster=roster, threads=threads, options=who.options, cpus=cpus,
            cpu_limit=False, before_load=before_load, first=first,
        )

    return open_one


def op_of(entry: str) -> str:
    """The host's operation for an entry point."""
    return entry.replace("-", "_")


class NoReference(Exception):
    """No reference gives ids for a text: nothing can be verified on it."""


class Reference:
    """The reference's ids, asked once for each vocabulary, text, half and cut.

    The first of `whos` that encodes every document is believed; the others are for what it cannot encode at all,
    `piece` for what is one pretoken besides, and `plain` for the longest match.
    """

    def __init__(
        self, whos: Sequence[Contestant], open_one: Opener, piece: Contestant | None = None,
        plain: Contestant | None = None,
    ) -> None:
        self.whos, self._open, self._piece, self._plain = whos, open_one, piece, plain
        self._known: dict[tuple[str, str, bool], Expected] = {}
        self.sources: set[str] = set()  # all that were believed

    def expected(self, loaded: Loaded, half: Half, cut: bool) -> Expected:
        """What is right. Raises NoReference, with what each said."""
        key = (loaded.contract.digest, half.sha256, cut)
        if key not in self._known:
            self._known[key] = self._ask(loaded, half, cut)
        return self._known[key]

    def _ask(self, loaded: Loaded, half: Half, cut: bool) -> Expected:
        said = []
        more = [self._piece] if self._piece and half.one_pretoken and not cut else []
        if self._plain and loaded.contract.algorithm == GREEDY:
            more = [self._plain]
        for who in [*self.whos, *more]:
            try:
                with self._open(who, loaded) as host:
                    host.timeout_s = max(host.timeout_s, REFERENCE_TIMEOUT_S)
                    version = host.hello()["version"]
                    told = host.measure(half.body(cut), "encode")
                    if not told.error_count:
                        output = Output.from_frames(host.kept())
                        self.sources.add(f"{who.label} {version}")
                        return Expected(told.digest[0], output, f"{who.label} {version}")
                    said.append(f"{who.label}: {told.errors[0][1]}: {told.errors[0][2]}")
            except HostFailure as error:
                said.append(f"{who.label}: {error.verdict}: {error.detail}")
        raise NoReference("; ".join(said))

    def source(self, loaded: Loaded, half: Half) -> str:
        """Who said what is right on a whole text; "" where nobody can."""
        try:
            return self.expected(loaded, half, False).source
        except NoReference:
            return ""

    def forget(self) -> None:
        """Drop what is known: another text is next."""
        self._known.clear()


@contextlib.contextmanager
def elsewhere(cpus: Sequence[int]) -> Iterator[None]:
    """This process keeps off `cpus` inside, where there are others to be on."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    others = before - set(cpus)
    if others:
        os.sched_setaffinity(0, others)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def run_cell(
    cell: Cell,
    contestants: Sequence[Contestant],
    *,
    open_one: Opener,
    reference: Reference,
    states: Sequence[str] = (COLD, WARM),
    repeat: int = 7,
    tick: Callable[[str], None] = lambda _: None,
) -> list[Result]:
    """Every contestant `repeat` times in turns: A B C A B C. One result for each state asked for."""
    halves = {COLD: cell.text.a, WARM: cell.text.b, REPLAY: cell.text.a}
    needed = [state for state in STATES if state in states]
    results = {state: _result(cell, state, halves[state], contestants, reference) for state in needed}
    for _ in range(repeat):
        for place, who in enumerate(contestants):
            tick(who.label)
            rows = {state: result.rows[place] for state, result in results.items()}
            if any(row.verdict == EXACT for row in rows.values()):
                _one(cell, who, rows, halves, open_one, reference)
    for result in results.values():
        compare(result.rows)
    return [results[state] for state in needed]


def _result(
    cell: Cell, state: str, half: Half, contestants: Sequence[Contestant], reference: Reference
) -> Result:
    """Rows to fill; where nothing can verify them, rows that say so."""
    rows = [Row(who.label) for who in contestants]
    try:
        right = reference.expected(cell.loaded, half, cell.cut)
        return Result(cell, state, half, right.digest, right.source, rows, int(right.output.counts.sum()))
    except NoReference as error:
        for row in rows:
            row.fail(UNVERIFIED, str(error))
        return Result(cell, state, half, "", "", rows)


def _one(
    cell: Cell,
    who: Contestant,
    rows: dict[str, Row],
    halves: dict[str, Half],
    open_one: Opener,
    reference: Reference,
) -> None:
    """One fresh process: the passes that lead to the last state asked for; times go to `rows`."""
    last = max(STATES.index(state) for state in rows)
    op = op_of(cell.entry)
    try:
        with open_one(who, cell.loaded) as host:
            for state in STATES[: last + 1]:
                half = halves[state]
                told = host.measure(half.body(cell.cut), op)
                row = rows.get(state)
                if row is None or row.verdict != EXACT:
                    continue
                expected = reference.expected(cell.loaded, half, cell.cut)
                if told.digest[0] != expected.digest or told.irregular:
                    row.fail(VOID, first_difference(told, Output.from_frames(host.kept()), expected.output))
                    continue
                row.form = told.form
                row.cpu_ns.append(told.cpu_ns[0])
                row.ns.append(told.ns[0])
                row.peak_bytes = max(row.peak_bytes, host.peak_bytes)
    except HostFailure as error:
        for row in rows.values():
            if row.verdict == EXACT:
                row.fail(error.verdict, error.detail)


def first_difference(told: Measured, got: Output, right: Output) -> str:
    """The first document whose ids are not the reference's, and the first id in it, in words."""
    unlike = differing(got, right)
    if len(unlike) == 0:
        return "ids of the right value, but a document raised in the timed call" if told.irregular else "digest only"
    at = int(unlike[0])
    errors = {index: f"{kind}: {message}" for index, kind, message in told.errors}
    where = f"document {at} of {len(right.status)} (of {len(unlike)} that differ)"
    if got.status[at]:
        return f"{where}: {errors.get(at, 'no ids')}"
    ours, theirs = got.of(at), right.of(at)
    size = min(len(ours), len(theirs))
    unequal = np.flatnonzero(ours[:size] != theirs[:size])
    token = int(unequal[0]) if len(unequal) else size
    return f"{where}, token {token}: {_id(ours, token)}, should be {_id(theirs, token)}"


def _id(ids: Any, at: int) -> str:
    return str(int(ids[at])) if at < len(ids) else "the end"
