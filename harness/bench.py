"""How fast, of those that are right: fresh processes in a drawn order, each timed call's own output verified.

A cell is a vocabulary, a text, an entry point and a number of threads. In each round every engine runs once, in an
order drawn for that round, in a process of its own on processors of its own: it loads (not timed), encodes half `a` of
the text (`cold`: its very first call) and then half `b`, which it has not seen (`warm`), and, only where asked, `a`
again (`replay`); in a second process, where asked, `a` after one small call (`first`). The digest of the output of
every call, the untimed ones too, must be that of the reference on the same text; one that is not ends the engine's
part in that state and in those that follow it in the process.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from tokassay.engines.client import Host, HostFailure, Measured
from tokassay.engines.roster import EngineSpec
from tokassay.harness.compare import Output, differing
from tokassay.harness.contract import GREEDY, PIECES, Contract
from tokassay.harness.errors import InputError
from tokassay.harness.hosts import ORACLE, find_spec, open_host, target
from tokassay.harness.load import Loaded
from tokassay.harness.rates import EXACT, UNVERIFIED, VOID, Row, compare
from tokassay.harness.resample import orders
from tokassay.harness.texts import Half, Text

COLD, FIRST, WARM, REPLAY = STATES = ("cold", "first", "warm", "replay")
WHOLE, DECODE, FILE = "whole", "decode", "file"
ENTRIES = (WHOLE, "documents-list", "batch-flat", "batch-list")
MORE_ENTRIES = ("str", "bytes", FILE)  # the plain call with documents of that type; the engine's reader of files
ALIASES = {"batch": "batch-flat"}
THREADED = ("batch-flat", WHOLE, "batch-list", FILE)  # entries that several threads can be told to share
READERS = ("separated", "jsonl", "files")  # how documents lie in a file, the first that an engine reads
OPS = {"str": "encode", "bytes": "encode", FILE: "encode_files"}
SMALL = b"The quick brown fox jumps over 13 lazy dogs; it isn't the first time.\n"  # before the state `first`
LATE_NS, LATE_SHARE = 5_000_000, 0.2  # CPU time of other threads after a call has returned: above both it is work
REFERENCES = ("tiktoken", "tokenizers")  # the second for texts that the first cannot encode at all
# For one pretoken of any length, whose scan overflows both: the first one's merging alone. That the text is one
# pretoken is by construction, and seen at a size that both can scan.
PIECE = "tiktoken[piece=true]"
# For the longest match, which neither of them computes: plain Python, slow, and long enough only for its timeout.
PLAIN = "oracle"
RIVALS = ("gigatoken", "snaptokens", "quicktok-v1", "splintr-rs", "fastokens")
ENGINES = ("dat-bpe", *RIVALS)
REFERENCE_TIMEOUT_S = 900.0


# The passes of one process: state ("" for one that is only led up to) and the half of the text, or SMALL.
CHAINS = (((COLD, "a"), (WARM, "b"), (REPLAY, "a")), (("", "small"), (FIRST, "a")))


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
    """What is measured at once: one vocabulary, text, entry point and number of threads."""

    loaded: Loaded
    text: Text
    entry: str
    threads: int = 1

    @property
    def cut(self) -> bool:
        """Whether the text is cut into documents."""
        return self.entry != WHOLE

    @property
    def wall(self) -> bool:
        """Whether engines are compared by wall time: CPU time is what several threads do not save."""
        return self.threads > 1

    @property
    def name(self) -> str:
        """The cell in words."""
        more = f", {self.threads} threads" if self.threads > 1 else ""
        return f"{self.loaded.name}, {self.text.kind}, {self.entry}{more}"


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
    """NAME, NAME[option=value,option=value] with integers, true, false or words; LABEL=NAME and NAME#2 are the same
    engine under another name, which may be no other engine's. Raises InputError."""
    label, equals, named = written.partition("=")
    if not equals or named.startswith("=") or not re.fullmatch(r"[\w.#+-]+", label):
        label, named = written, written
    named = re.sub(r"#\d+$", "", named)
    name, bracket, rest = named.partition("[")
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
    meant = re.sub(r"#\d+$", "", label)
    if label != written and meant in roster and (meant != spec.name or options):
        # Reports, history and the gate know a row by its label: it would be taken for that engine's.
        raise InputError(
            f"{label} is the name of {'another engine' if meant != spec.name else 'the engine without options'}",
            where="--engines", remedy="give a label that no engine of the roster has",
        )
    return Contestant(label, spec, options)


def relabelled(found: Sequence[Contestant]) -> list[Contestant]:
    """The same ones, every label once: the second of a name is NAME#2."""
    made: dict[str, Contestant] = {}
    for one in found:
        label, number = one.label, 1
        while label in made:
            number += 1
            label = f"{one.label}#{number}"
        made[label] = replace(one, label=label)
    return list(made.values())


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
    return OPS.get(entry, entry.replace("-", "_"))


def form_of(entry: str, host: Host) -> str:
    """The type that documents are handed over as for an entry point, or how they lie in files; "": the usual one."""
    if entry == FILE:
        readers = host.hello().get("readers", ())
        return next((reader for reader in READERS if reader in readers), "")
    return entry if entry in MORE_ENTRIES else ""


def held_to(who: Contestant, cell: Cell) -> Contract:
    """The contract that a contestant is held to by the entry point of a cell, in its own variants."""
    contract = target(who.spec.name, cell.loaded.contract, {who.spec.name: who.spec}).contract
    policy = who.spec.byte_policies.get("encode_batch") if cell.entry.startswith("batch") else None
    return contract.with_variants(byte_policy=policy) if policy else contract


class NoReference(Exception):
    """No reference gives ids for a text: nothing can be verified on it."""


class Reference:
    """The reference's ids, asked once for each vocabulary, text, half and cut.

    The first of `whos` that encodes every document is believed; the others are for what it cannot encode at all,
    `piece` for what is one pretoken besides, and `plain` for the longest match. Over pieces `plain` alone is asked.
    """

    def __init__(
        self, whos: Sequence[Contestant], open_one: Opener, piece: Contestant | None = None,
        plain: Contestant | None = None, oracle: Callable[[Loaded, Contract], Host] | None = None,
    ) -> None:
        self.whos, self._open, self._piece, self._plain, self._oracle = whos, open_one, piece, plain, oracle
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
        asked = [*self.whos, *more]
        if self._plain and loaded.contract.algorithm in PIECES:
            asked = [self._plain]  # tokenizers has another arithmetic and other normalizers: not to be believed there
        for who in asked:
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

    def of(self, who: Contestant | None, cell: Cell, half: Half) -> Expected:
        """What is right for one contestant in a cell (None: under the contract that is asked for).

        On neutral text that is the same for all. On any other it is what the oracle says under the contestant's own
        declared variants. Raises NoReference.
        """
        if cell.text.domain == "neutral" or half.data == SMALL:
            return self.expected(cell.loaded, half, cell.cut)
        contract = cell.loaded.contract if who is None else held_to(who, cell)
        key = (contract.digest, half.sha256, cell.cut)
        if key not in self._known:
            if self._oracle is None or contract.algorithm == "opaque":
                raise NoReference("there is no oracle for what is not neutral")
            try:
                with self._oracle(cell.loaded, contract) as host:
                    host.timeout_s = max(host.timeout_s, REFERENCE_TIMEOUT_S)
                    told = host.measure(half.body(cell.cut), "encode")
                    source = f"{ORACLE}, {contract.byte_policy}@{contract.unicode}"
                    self._known[key] = Expected(told.digest[0], Output.from_frames(host.kept()), source)
            except HostFailure as error:
                raise NoReference(f"{ORACLE}: {error.verdict}: {error.detail}") from error
            self.sources.add(source)
        return self._known[key]

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
    seed: int | None = None,
    barred: Mapping[str, Barred] | None = None,
    tick: Callable[[str], None] = lambda _: None,
) -> list[Result]:
    """Every contestant once in each of `repeat` rounds, in an order that `seed` draws for each (None: A B C, always).

    One result for each state asked for. `barred`: by label, those that are not measured, and why.
    """
    needed = [state for state in STATES if state in states]
    results = {state: _result(cell, state, contestants, reference, barred or {}) for state in needed}
    fixed = [list(range(len(contestants)))] * repeat
    drawn = fixed if seed is None else orders(len(contestants), repeat, f"{seed} {cell.name}")
    for order in drawn:
        for place in order:
            tick(contestants[place].label)
            rows = {state: result.rows[place] for state, result in results.items()}
            for chain in chains(needed):
                if any(rows[state].verdict == EXACT for state, _ in chain if state in rows):
                    _one(cell, contestants[place], chain, rows, open_one, reference)
    for result in results.values():
        compare(result.rows, wall=cell.wall)
    return [results[state] for state in needed]


@dataclass(frozen=True)
class Barred:
    """Why a contestant is not measured in a cell, and the command that shows it."""

    verdict: str
    detail: str
    command: str = ""


def chains(states: Sequence[str]) -> list[tuple[tuple[str, str], ...]]:
    """The passes of each process that these states need: no further than the last that is asked for."""
    found = []
    for chain in CHAINS:
        wanted = [at for at, (state, _) in enumerate(chain) if state in states]
        if wanted:
            found.append(chain[: wanted[-1] + 1])
    return found


def half_of(text: Text, which: str) -> Half:
    """Half `a` or `b` of a text, or the small text that goes before."""
    return {"a": text.a, "b": text.b}.get(which) or Half(SMALL, text.a.document)


def _result(
    cell: Cell, state: str, contestants: Sequence[Contestant], reference: Reference, barred: Mapping[str, Barred]
) -> Result:
    """Rows to fill; where nothing can verify them, rows that say so."""
    half = half_of(cell.text, next(which for chain in CHAINS for one, which in chain if one == state))
    rows = [Row(who.label) for who in contestants]
    for row in rows:
        if row.engine in barred:
            why = barred[row.engine]
            row.fail(why.verdict, why.detail, why.command)
    try:
        right = reference.of(None, cell, half)
        return Result(cell, state, half, right.digest, right.source, rows, int(right.output.counts.sum()))
    except NoReference as error:
        for row in rows:
            if row.verdict == EXACT:
                row.fail(UNVERIFIED, str(error))
        return Result(cell, state, half, "", "", rows)


def _one(
    cell: Cell,
    who: Contestant,
    chain: Sequence[tuple[str, str]],
    rows: dict[str, Row],
    open_one: Opener,
    reference: Reference,
) -> None:
    """One fresh process: the passes of a chain, every one verified; times go to `rows`."""
    open_rows = [rows[state] for state, _ in chain if state in rows]
    try:
        with open_one(who, cell.loaded) as host:
            form = form_of(cell.entry, host)
            for state, which in chain:
                half = half_of(cell.text, which)
                told = host.measure(half.body(cell.cut), op_of(cell.entry), form=form)
                row = rows.get(state)
                if row is not None and row.verdict != EXACT:
                    continue
                wrong = fault(cell, who, half, told, host, reference)
                if wrong:
                    # Those that come later build on this pass: what they would be worth is not known either.
                    at = [one for one, _ in chain].index(state)
                    for later, _ in chain[at:]:
                        if later in rows and rows[later].verdict == EXACT:
                            before = "" if later == state else f"in the pass before it ({state or 'a small call'}): "
                            rows[later].fail(VOID, before + wrong)
                    return
                if row is not None:
                    row.form = told.form
                    row.cpu_ns.append(told.cpu_ns[0])
                    row.ns.append(told.ns[0])
                    row.peak_bytes = max(row.peak_bytes, host.peak_bytes)
    except HostFailure as error:
        for row in open_rows:
            if row.verdict == EXACT:
                row.fail(error.verdict, error.detail)


def fault(cell: Cell, who: Contestant, half: Half, told: Measured, host: Host, reference: Reference) -> str:
    """What is wrong with a timed call's own output, in words; "" where it is the reference's and was all done."""
    try:
        expected = reference.of(who, cell, half)
    except NoReference as error:
        return f"nothing to verify it by: {error}"
    if cell.entry == DECODE:
        if told.ids_digest != expected.digest:
            return "the ids that it decodes, its own, are not the reference's"
        expected = decoded(half, expected)
    if told.digest[0] != expected.digest or told.irregular:
        return first_difference(told, Output.from_frames(host.kept()), expected.output)
    if told.rejects:
        return f"{told.rejects} of {half.documents(cell.cut)} documents are rejected as declared; the rest has no speed"
    late = told.late_ns[0]
    if late > max(LATE_NS, LATE_SHARE * told.cpu_ns[0]):
        return f"other threads went on working after the call had returned: {late / 1e6:.1f} ms of CPU time"
    return ""


def decoded(half: Half, ids: Expected) -> Expected:
    """What decoding must give: the documents themselves, which are well-formed."""
    edges = np.array(half.borders, np.uint64)
    counts = np.diff(edges)
    output = Output(np.zeros(len(counts), np.uint8), counts, np.frombuffer(half.data, np.uint8), "texts")
    return Expected(output.digest(counts), output, ids.source)


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
