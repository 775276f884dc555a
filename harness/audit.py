"""The audit: a suite's corpora through its engines, block by block, into the store.

The main thread reads corpora, cuts blocks, asks the store what is known and writes what comes back; workers own the
hosts (tasks.py). What is finished is committed block by block, so that an interrupted run costs at most the blocks in
flight.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import psutil
from tokassay.corpora.corpus import Corpus
from tokassay.corpora.kinds import KINDS, kind_of
from tokassay.corpora.open import FROM_VOCABULARY, open_corpus
from tokassay.engines.roster import EngineSpec
from tokassay.harness import environment, errors
from tokassay.harness.blocks import Block, Names, cut
from tokassay.harness.budget import Budget
from tokassay.harness.contract import EARLIER_UNICODE, Contract
from tokassay.harness.divergences import FAILED, Divergences, Witness
from tokassay.harness.expect import governing_block, oracle_keys
from tokassay.harness.hosts import Target, oracle_spec, target
from tokassay.harness.lanes import Lanes, Vocabulary
from tokassay.harness.materialize import form
from tokassay.harness.reductions import reduce_all
from tokassay.harness.store import Result, Store
from tokassay.harness.suites import OPERATIONS, SPECIALS, CorpusRequest, Suite
from tokassay.harness.tasks import ORACLE, Lane, Pools, Subject, Task, run_block
from tokassay.harness.variants import versions

# What a host may take on a vocabulary of 200,000 tokens, and how many there may be whatever the memory.
HOST_BYTES, LEAST_HOSTS = 256 << 20, 4
READ_TEXT = ("prose", "code", "verses", "scripts")  # kinds by which an engine's speed is told


class Progress(Protocol):
    """What an audit tells while it runs; the command line draws it, a test may ignore it."""

    def note(self, text: str) -> None: ...
    def corpus(self, name: str) -> None: ...
    def advance(self, documents: int, reused: bool) -> None: ...
    def verdicts(self, engine: str, counts: dict[str, int]) -> None: ...


@dataclass(frozen=True)
class Request:
    """An audit as asked for. `variants` override the contract's Unicode version and byte policy; `reduce_s` are the
    seconds in which each failing divergence is made minimal (0: none is), `engine_s` those that an engine may work
    (None: as long as it takes). `more` are engines beside those of the rosters."""

    suite: Suite
    store: Path
    command: str
    roster: tuple[Path, ...] = ()
    pattern: str | None = None
    variants: dict[str, str] = field(default_factory=dict)
    seed: int = 0
    jobs: int = 1
    threads: int = 2
    narrowed_from: str = "smoke"
    reduce_s: float = 0.0
    engine_s: float | None = None
    more: tuple[EngineSpec, ...] = ()


@dataclass
class Outcome:
    """What an audit came to."""

    run: str
    exit_code: int
    verdicts: Counter[str]
    notes: list[str]


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def oracle_digest() -> str:
    """SHA-256 over what decides what engines are held to.

    The oracle's sources, the Unicode tables, the version of the regex library, and the harness's own derivation of
    texts and spans.
    """
    sha = hashlib.sha256(version("regex").encode())
    for package, folder, ending in (
        ("tokassay.oracles", ".", ".py"),
        ("tokassay.fixtures", "unicode", ".txt"),
        ("tokassay.harness", ".", "expect.py"),
    ):
        for entry in sorted(files(package).joinpath(folder).iterdir(), key=lambda e: e.name):
            if entry.name.endswith(ending):
                sha.update(entry.name.encode() + b"\0" + entry.read_bytes())
    return sha.hexdigest()[:16]


def result_key(lane: Lane, operation: str, asked: Contract, oracle: str, block: str) -> str:
    """The key of a result row: what its verdicts depend on, and nothing else.

    The contract asked for is in it, as `declared` is a difference from that; so is why the lane takes no part, which
    may change with the roster alone.
    """
    parts = [
        lane.held_to(operation).digest,
        asked.digest,
        lane.reason_against(operation),
        form(),
        operation,
        lane.entry_points.get(operation, operation),
        lane.build,
        oracle,
        block,
        repr(sorted(lane.modifiers.items())),
        lane.platform,
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def audit(request: Request, progress: Progress, executor: Executor | None = None) -> Outcome:
    """Run a suite. Raises InputError before anything is measured; what happens later is in the store.

    `executor` carries the blocks (default: `jobs` threads, whose hosts are processes of their own).
    """
    store = Store(request.store)
    with ExitStack() as stack:
        stack.callback(store.close)
        lanes = Lanes(
            request.suite, request.roster, request.pattern, request.variants, request.threads, request.more
        )
        stack.callback(lanes.close)
        vocabularies = lanes.vocabularies()
        for corpus in request.suite.corpora:
            for vocabulary in vocabularies:
                opened(corpus.spec, vocabulary, request.seed)  # what is not there is told before anything is measured
        for note in lanes.notes:
            progress.note(note)
        run = secrets.token_hex(6)
        due = plan(request.suite, [spec.name for spec in lanes.engines], vocabularies)
        store.insert(
            "run",
            {
                "id": run,
                "started": now(),
                "finished": None,
                "suite": request.suite.name,
                "command": request.command,
                "seed": request.seed,
                "jobs": request.jobs,
                "exit_code": None,
                "tokassay": version("tokassay"),
                "environment": environment.capture() | {"notes": lanes.notes, "plan": due},
            },
        )
        minutes = request.suite.vocabulary_minutes
        pools = Pools(lanes.asker, Budget(request.engine_s, None if minutes is None else 60 * minutes))
        stack.callback(pools.close)
        pool = executor or stack.enter_context(ThreadPoolExecutor(request.jobs, thread_name_prefix="block"))
        runner = _Runner(request, store, run, lanes, pools, pool, progress)
        try:
            for vocabulary in vocabularies:
                for number, part in enumerate(lanes.parts(vocabulary, most_hosts(request.jobs))):
                    for policy in SPECIALS:
                        for corpus in request.suite.corpora:
                            if policy in corpus.specials:
                                runner.corpus(corpus, vocabulary, policy, part, again=number > 0)
                        runner.drain(0)
                        # Every engine has a host of its own in every worker: those of one part fit into memory.
                        pools.close()
                        lanes.close()
        except BaseException:
            runner.cancel()
            raise
        with store.transaction():
            runner.divergences.write(store, run)
            code = exit_code(runner.verdicts)
            # What engines had to say of a contract came only when they were given it.
            store.finish(run, code, now(), environment.capture() | {"notes": lanes.notes, "plan": due})
        # Last, as the audit has its end without it: whoever interrupts it loses no verdict.
        reduce_all(
            runner.divergences.all, store, run, roster=lanes.roster, options=again(request), seconds=request.reduce_s,
            note=progress.note, step=progress.corpus,
        )  # fmt: skip
        return Outcome(run, code, runner.verdicts, lanes.notes)


def again(request: Request) -> list[str]:
    """The options that `diff` and `reduce` need to stand where this audit stood."""
    words = ["--pattern", request.pattern] if request.pattern is not None else []
    return words + [word for path in request.roster for word in ("--roster", str(path))]


def plan(suite: Suite, engines: list[str], vocabularies: list[Vocabulary]) -> dict[str, Any]:
    """What a run is to have: `engines`, `vocabularies` with the cores of their contracts (a store may know one by
    another name), the kind of each corpus by its name in the run, and the `kinds` that there are, `specials` among them
    where special tokens are matched. Every cell of engines, vocabularies and kinds is due a verdict."""
    pairs = [(asked, vocabulary) for asked in suite.corpora for vocabulary in vocabularies]
    found = {kind_of(asked.spec) for asked in suite.corpora if "off" in asked.specials}
    found |= {"specials"} if any("on" in asked.specials for asked in suite.corpora) else set()
    return {
        "engines": engines,
        "vocabularies": [
            {
                "name": each.name,
                "cores": [each.loaded.contract.with_variants(specials=policy).core_digest for policy in SPECIALS],
            }
            for each in vocabularies
        ],
        "kinds": [kind for kind in KINDS if kind in found],
        "corpora": {corpus_name(asked.spec, vocabulary): kind_of(asked.spec) for asked, vocabulary in pairs},
    }


def most_hosts(jobs: int) -> int:
    """How many engines may have a host in each of `jobs` workers at a time, for half of the memory that is free."""
    return max(LEAST_HOSTS, psutil.virtual_memory().available // 2 // (jobs * HOST_BYTES))


def corpus_name(spec: str, vocabulary: Vocabulary) -> str:
    """What a corpus is called in a run: those that are made from a vocabulary are named with it."""
    return f"{spec} ({vocabulary.name})" if spec.split(":")[0] in FROM_VOCABULARY else spec


def opened(spec: str, vocabulary: Vocabulary, seed: int) -> Corpus:
    """A corpus of a suite, which may be made from the vocabulary's tokens. Raises CorpusError."""
    tokens = vocabulary.loaded.vocabulary.tokens
    return open_corpus(spec, seed=seed, tokens=tokens, specials=vocabulary.specials)


def exit_code(verdicts: Counter[str]) -> int:
    """0 all agreed, 1 a mismatch or a failure, 4 nothing was verified."""
    if any(verdicts[v] for v in FAILED):
        return errors.MISMATCH
    return errors.AGREED if verdicts["match"] or verdicts["declared"] else errors.NOTHING


class _Runner:
    def __init__(
        self,
        request: Request,
        store: Store,
        run: str,
        lanes: Lanes,
        pools: Pools,
        executor: Executor,
        progress: Progress,
    ) -> None:
        self.request, self.store, self.run, self.lanes, self.pools = request, store, run, lanes, pools
        self.executor, self.progress = executor, progress
        self.oracle = oracle_digest()
        self.verdicts: Counter[str] = Counter()
        self.divergences = Divergences(f"tokassay audit --suite {request.narrowed_from} --seed {request.seed}")
        self.flying: dict[Future[Any], _Flight] = {}
        self.fast = 0.0  # for which engines the last corpus was
        self.contracts: set[str] = set()
        self.corpora: set[str] = set()

    def corpus(
        self, asked: CorpusRequest, vocabulary: Vocabulary, policy: str, part: tuple[str, ...], *, again: bool
    ) -> None:
        """One corpus under one vocabulary and special-token policy, through a part of the engines; `again`: another
        part has had it. Its last blocks may still be in flight afterwards: an engine that takes minutes for one would
        leave the other workers idle at the end of each corpus."""
        if asked.fast > self.fast:
            self.drain(0)  # who is fast enough is known when the text before is done
        self.fast = asked.fast
        name = corpus_name(asked.spec, vocabulary)
        if not again:
            self.progress.corpus(f"{name} · {vocabulary.name}" + (", special tokens" if policy == "on" else ""))
        corpus = opened(asked.spec, vocabulary, self.request.seed)
        names, documents, size = Names(), 0, 0
        subject, lanes = self.lanes.subject(vocabulary, policy, self.oracle, part)
        self.lanes.write_builds(self.store)
        for block in cut(corpus, names):
            documents += block.documents
            size += len(block.buffer)
            self.block(block, subject, lanes, asked, name, names, policy, vocabulary)
        if name not in self.corpora:
            self.corpora.add(name)
            problems = {
                r: {"count": n, "first": corpus.problems.first.get(r, [])} for r, n in corpus.problems.counts.items()
            }
            self.store.insert(
                "corpus",
                {
                    "run": self.run,
                    "name": name,
                    "spec": asked.spec,
                    "seed": self.request.seed,
                    "documents": documents,
                    "bytes": size,
                    "problems": problems,
                },
            )
            if problems:
                total = corpus.problems.total
                self.progress.note(f"{name}: {total} bad lines were counted and left out ({', '.join(problems)})")

    def block(
        self,
        block: Block,
        subject: Subject,
        lanes: tuple[Lane, ...],
        asked: CorpusRequest,
        corpus: str,
        names: Names,
        policy: str,
        vocabulary: Vocabulary,
    ) -> None:
        digest = block.digest
        keys = [
            (lane, op, result_key(lane, op, subject.asked, self.oracle, digest))
            for lane in lanes
            for op in asked.operations
        ]
        known = self.store.find(key for _, _, key in keys)
        flight = _Flight(block, subject, corpus, asked.spec, names, policy, vocabulary, list(lanes))
        todo: list[tuple[Lane, Result]] = []
        for lane, operation, key in keys:
            # An opaque contract's engines are held to each other, so the company they were in matters: never reused.
            if key in known and subject.modelled:
                self.record(flight, lane, *known[key], reused=True)
            else:
                self.contract(lane.held_to(operation), subject.name)
                todo.append(
                    (
                        lane,
                        Result(
                            key,
                            lane.held_to(operation).digest,
                            operation,
                            lane.entry_points.get(operation, operation),
                            lane.build,
                            self.oracle if subject.modelled else "",
                            digest,
                            dict(lane.modifiers),
                        ),
                    )
                )
        if not todo:
            self.progress.advance(block.documents, reused=True)
            return
        flight.todo = [lane for lane, _ in todo]
        task = Task(subject, block, tuple(todo), _Stored(self.store, subject, block, lanes).read(), asked.fast)
        self.flying[self.executor.submit(self.run_task, task)] = flight
        self.drain(4 * self.request.jobs)

    def run_task(self, task: Task) -> Any:
        return run_block(task, self.pools.mine())

    def contract(self, contract: Contract, name: str) -> None:
        if contract.digest not in self.contracts:
            self.contracts.add(contract.digest)
            self.store.insert(
                "contract",
                {
                    "digest": contract.digest,
                    "core": contract.core_digest,
                    "name": name,
                    "body": contract.canonical().decode(),
                },
                keep=True,
            )

    def drain(self, most: int) -> None:
        """Write what is finished; wait until at most `most` blocks are in flight."""
        while len(self.flying) > most:
            done, _ = wait(self.flying, return_when=FIRST_COMPLETED)
            for future in done:
                flight = self.flying.pop(future)
                results, rows = future.result()
                with self.store.transaction():
                    for row in rows:
                        self.store.insert("oracle_block", vars(row), keep=True)
                    for lane, result in zip(flight.todo, results, strict=True):
                        self.record(flight, lane, self.store.add_result(self.run, result), result, reused=False)
                self.progress.advance(flight.block.documents, reused=False)

    def record(self, flight: _Flight, lane: Lane, number: int, result: Result, *, reused: bool) -> None:
        block = flight.block
        self.store.insert(
            "run_result",
            {
                "run": self.run,
                "corpus": flight.corpus,
                "domain": block.domain,
                "ordinal": block.ordinal,
                "documents": block.documents,
                "bytes": len(block.buffer),
                "engine": lane.engine,
                "result": number,
                "reused": int(reused),
            },
        )
        self.verdicts.update(result.verdicts)
        self.progress.verdicts(lane.engine, result.verdicts)
        timed = result.ids and result.operation == "encode" and block.domain == "neutral"
        if timed and kind_of(flight.spec) in READ_TEXT:
            ns = result.cpu_ns or result.ns
            self.pools.budget.measure(lane.engine, flight.subject.name, len(block.buffer), ns)
        own, asked = self.references(flight, lane, result.operation)
        self.divergences.add(
            result,
            contract=flight.subject.name,
            engine=lane.engine,
            own=own,
            asked=asked,
            corpus=flight.corpus,
            spec=flight.spec,
            domain=block.domain,
            name_of=flight.names,
            indices=block.indices.tolist() if result.rows else [],
            specials=flight.policy,
            witness=lambda i: self.witness(flight, lane, result.operation, i),
        )

    def witness(self, flight: _Flight, lane: Lane, operation: str, i: int) -> Witness:
        """What a reduction of the block's document `i` starts from: each under all of its variants, as a smaller
        document may belong to another domain than this one."""
        asked, roster = flight.subject.asked, self.lanes.roster
        right = Target("", oracle_spec(), lane.held_to(operation))
        if not flight.subject.modelled:
            other = next((one for one in flight.lanes if one.engine != lane.engine and one.asked), lane)
            right = Target("", roster[other.engine], other.contract)
        sides = [
            replace(each, name=each.spec.name + ("" if bare.contract == each.contract else f":{each.variants}"))
            for each in (Target("", roster[lane.engine], lane.contract), right)
            for bare in [target(each.spec.name, asked, roster)]
        ]
        document = flight.block.document(i)
        return Witness(document, sides[0], sides[1], flight.vocabulary.loaded, operation, flight.policy)

    def references(self, flight: _Flight, lane: Lane, operation: str) -> tuple[str, str]:
        """What a lane's documents were held to, as `diff` names it: the oracle twice, or another engine."""
        if not flight.subject.modelled:
            other = next((one.engine for one in flight.lanes if one.engine != lane.engine and one.asked), ORACLE)
            return other, other
        domain = flight.block.domain
        own = governing_block(lane.held_to(operation), flight.subject.asked, flight.block)
        return oracle_name(own, domain), oracle_name(flight.subject.asked, domain)

    def cancel(self) -> None:
        for future in self.flying:
            future.cancel()


@dataclass
class _Flight:
    """A block that a worker has, and what its rows will need."""

    block: Block
    subject: Subject
    corpus: str
    spec: str
    names: Names
    policy: str
    vocabulary: Vocabulary
    lanes: list[Lane]
    todo: list[Lane] = field(default_factory=list)


@dataclass
class _Stored:
    """What the store knows of the oracle's answers to a block, for every contract that a lane may ask for."""

    store: Store
    subject: Subject
    block: Block
    lanes: tuple[Lane, ...]

    def read(self) -> dict[str, tuple[str, int, bytes]]:
        found = {}
        for key in self._keys():
            row = self.store.oracle_block(key)
            if row is not None:
                found[key] = row
        return found

    def _keys(self) -> Iterator[str]:
        asked = self.subject.asked
        held = (lane.held_to(operation) for lane in self.lanes for operation in OPERATIONS)
        contracts = {asked.digest: asked} | {contract.digest: contract for contract in held}
        return oracle_keys(self.block, contracts.values(), asked, self.subject.oracle)


def oracle_name(contract: Contract, domain: str) -> str:
    """The oracle under a contract's variants as the command line names it: oracle:byte-policy@unicode+nfcversion."""
    default = Contract("", "")
    policy = "" if domain != "bytes" or contract.byte_policy == default.byte_policy else f":{contract.byte_policy}"
    everywhere = contract.normalization or contract.casing or contract.unicode in EARLIER_UNICODE
    plain = not everywhere and (domain == "neutral" or contract.unicode == default.unicode)
    unicode = "" if plain else f"@{versions(contract)}"
    return f"oracle{policy}{unicode}"
