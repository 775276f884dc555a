"""The gate of a bench: a build has a speed only where it passed the gate suite by the very entry point that is timed.

Each contestant, with its options and its number of threads, encodes every document of the suite by each entry point,
and is held to the oracle under its own declared variants, with what an audit uses (`run_block`). The documents of small
blocks are asked once more, in reverse, of the used instance. What the oracle said is kept in the store, and so is the
proof, by a key that covers all it depends on: a second bench asks nothing again.

A document that is refused aloud (an exception) is not a wrong id, and no timed call can hide it: up to one in a hundred
may be, and the proof says so. Anything else that is not the oracle's ends the proof, and with it the speed.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from tokassay.corpora.corpus import Corpus, from_documents
from tokassay.corpora.document import Document
from tokassay.corpora.open import open_corpus
from tokassay.engines.client import HostFailure
from tokassay.engines.environments import lock_path
from tokassay.engines.frames import pack_buffer
from tokassay.engines.roster import EngineSpec
from tokassay.harness.ask import ISOLATING_S, Asker, Isolating, failure
from tokassay.harness.audit import oracle_digest
from tokassay.harness.bench import DECODE, Barred, Contestant, form_of, op_of
from tokassay.harness.blocks import Block, Names, cut
from tokassay.harness.contract import Contract
from tokassay.harness.environment import installation, platform_key
from tokassay.harness.expect import oracle_keys
from tokassay.harness.hosts import open_host, target
from tokassay.harness.load import Loaded
from tokassay.harness.materialize import form as materialized
from tokassay.harness.rates import VOID
from tokassay.harness.selfdiff import selected
from tokassay.harness.store import REUSABLE, Result, Store
from tokassay.harness.suites import Suite
from tokassay.harness.tasks import ORACLE, Lane, Pool, Subject, Task, run_block

NEUTRAL, ALL = "neutral", "bytes"  # domains of a proof: neutral documents, or any
LIGHT = "gate-light"
LONG = 70_000  # bytes: what engines slower than SLOW are not asked beyond
SLOW = 1.0  # megabytes a second
BLOCK_S = 60.0  # for a block of at most a megabyte
CULPRIT_S = 5.0  # for which the document that brings an engine down is looked for, after the first
MOST_REFUSED = 0.01
FEW_LONG = ("lengths letters", "lengths text")  # constructions of long documents that the light suite keeps
REVERSED = 300_000  # bytes of a block up to which it is asked again, in reverse
GOOD, ALOUD = ("match", "declared", "reject"), ("error", "unsupported")
BATCHES = ("batch_flat", "batch_list")


@dataclass(frozen=True)
class Proof:
    """Whether a build passed: a row of the report's `proofs` (docs/FORMATS.md)."""

    engine: str
    build: str
    vocab: str
    contract: str
    entry: str
    threads: int
    domain: str
    suite: str
    key: str
    passed: bool
    documents: int
    failed: int
    refused: int
    verdicts: dict[str, int]
    reused: bool
    detail: str
    command: str

    def bar(self) -> Barred | None:
        """What a row says that has no speed for want of this proof; None where it was passed."""
        if self.passed:
            return None
        alone = next(iter(self.verdicts)) if len(self.verdicts) == 1 else VOID
        verdict = alone if alone in ("unsupported", "crash", "timeout", "oom", "error", "unverified") else VOID
        words = self.detail if verdict != VOID else f"the gate suite was not passed ({self.domain}): {self.detail}"
        return Barred(verdict, words, self.command)


@dataclass
class Tally:
    """What a contestant came to on the documents of one domain so far."""

    documents: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    first: str = ""
    refusal: str = ""
    command: str = ""
    skipped: int = 0  # documents that a slow engine is not asked

    @property
    def failed(self) -> int:
        return sum(count for word, count in self.verdicts.items() if word not in (*GOOD, *ALOUD))

    @property
    def refused(self) -> int:
        return sum(self.verdicts[word] for word in ALOUD)

    @property
    def passed(self) -> bool:
        verified = sum(self.verdicts[word] for word in GOOD)
        return not self.failed and verified > 0 and self.refused <= MOST_REFUSED * self.documents


class Gate:
    """Proves contestants in one workspace. `again(who, entry, threads, vocab, domain)` is the command that does it
    again; `diff` are options that other commands need to stand where this one stands."""

    def __init__(
        self, store: Store, roster: Mapping[str, EngineSpec], suite: Suite, *, seed: int = 0,
        again: Callable[[Contestant, str, int, str, str], str] = lambda *_: "", diff: Sequence[str] = (),
    ) -> None:
        self.store, self.roster, self.suite, self.seed = store, roster, suite, seed
        self._again, self._diff = again, diff
        self._oracle = oracle_digest()
        self._pool: Pool | None = None
        self._kept: Subject | None = None
        self._for = ""  # the contract whose oracle runs
        self._blocks: tuple[str, list[tuple[str, Block, Names]]] = ("", [])

    def close(self) -> None:
        """End the oracle."""
        if self._pool is not None:
            self._pool.close()

    def prove(
        self, who: Contestant, vocab: str, loaded: Loaded, entry: str, threads: int = 1,
        domains: Sequence[str] = (NEUTRAL,), say: Callable[[str], None] = lambda _: None,
    ) -> list[Proof]:
        """A proof for each domain. What the store has of it is not asked again."""
        contract = target(who.spec.name, loaded.contract, {**self.roster, who.spec.name: who.spec}).contract
        keys = {domain: self.key(who, contract, loaded.contract, entry, threads, domain) for domain in domains}
        found = {domain: proof for domain, key in keys.items() if (proof := self._stored(key, who, vocab)) is not None}
        missing = [domain for domain in domains if domain not in found]
        if missing:
            say(who.label)
            for domain, tally in self._ask(who, vocab, loaded, contract, entry, threads, missing).items():
                proof = self._made(who, vocab, contract, entry, threads, domain, keys[domain], tally)
                found[domain] = proof
                if proof.passed or REUSABLE.issuperset(proof.verdicts):
                    row = {"key": proof.key, "started": _now(), "body": json.dumps(vars(proof), sort_keys=True)}
                    self.store.insert("proof", row, keep=True)
        return [found[domain] for domain in domains]

    def key(
        self, who: Contestant, contract: Contract, asked: Contract, entry: str, threads: int, domain: str
    ) -> str:
        """What a proof depends on, in 32 hex digits."""
        parts = [
            build_of(who), contract.digest, asked.digest, entry, str(threads), domain, repr(self.suite.corpora),
            *(["thinned"] if self.suite.name == LIGHT else []), str(self.seed), self._oracle, corpora_digest(),
            materialized(), platform_key(), platform.python_version(),
        ]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]

    def _stored(self, key: str, who: Contestant, vocab: str) -> Proof | None:
        row = self.store.db.execute("SELECT body FROM proof WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        try:
            proof = Proof(**json.loads(row[0]))
        except (TypeError, ValueError):  # damaged, or of another tokassay: it proves nothing, and is made again
            return None
        return replace(proof, engine=who.label, vocab=vocab, reused=True, suite=self.suite.name)

    def _made(
        self, who: Contestant, vocab: str, contract: Contract, entry: str, threads: int, domain: str, key: str,
        tally: Tally,
    ) -> Proof:  # fmt: skip
        detail = tally.first
        if not detail and tally.refusal:
            detail = f"{tally.refused} of {tally.documents} documents are refused aloud; the first is {tally.refusal}"
        if not detail and tally.skipped:
            detail = f"below {SLOW:g} MB/s: not asked {tally.skipped:,} documents (blocks with one over {LONG:,} bytes)"
        command = tally.command
        if not command and not tally.passed and set(tally.verdicts) != {"unsupported"}:
            command = self._again(who, entry, threads, vocab, domain)
        return Proof(
            who.label, build_of(who), vocab, contract.digest, entry, threads, domain, self.suite.name, key,
            tally.passed, tally.documents, tally.failed, tally.refused, dict(tally.verdicts), False, detail, command,
        )

    # ---- asking

    def _ask(
        self, who: Contestant, vocab: str, loaded: Loaded, contract: Contract, entry: str, threads: int,
        domains: Sequence[str],
    ) -> dict[str, Tally]:  # fmt: skip
        tallies = {domain: Tally() for domain in domains}
        if contract.algorithm == "opaque":
            return {domain: Tally(1, Counter(unverified=1), "no oracle models this contract") for domain in domains}
        # One culprit is enough: whoever wants them all asks an audit.
        asker = Asker(
            lambda: self._open(who, loaded, contract, threads), threads=threads,
            isolating=Isolating(ISOLATING_S - CULPRIT_S),
        )
        asker.least = 1
        try:
            asker.form = form_of(entry, asker.host)
            hello = asker.host.hello()
        except HostFailure as error:
            asker.stop()
            verdict, why = failure(error)
            return {domain: Tally(1, Counter({verdict: 1}), why) for domain in domains}
        lane = self._lane(who, contract, entry, threads, hello)
        if lane.unsupported:
            asker.stop()
            return {domain: Tally(1, Counter(unsupported=1), lane.unsupported) for domain in domains}
        subject = self._subject(vocab, loaded)
        pool = self._oracles(loaded)
        pool.askers[lane.engine, lane.contract.digest] = asker
        small: list[tuple[Block, str]] = []
        spent = size = 0
        try:
            for spec, block, names in self._documents(vocab, loaded):
                mine = [d for d in domains if d == ALL or block.domain == NEUTRAL]
                mine = [domain for domain in mine if not tallies[domain].failed]
                slow = size > 200_000 and size * 1000 / max(spent, 1) < SLOW
                if slow and int(block.lengths.max()) > LONG:
                    for domain in mine:
                        tallies[domain].skipped += block.documents
                    continue
                if not mine:
                    continue
                result = self._block(block, lane, subject, pool)
                if result.rows and result.rows[0][0] < 0:  # not this document, but none
                    _, verdict, why = result.rows[0]
                    return {domain: Tally(1, Counter({verdict: 1}), str(why)) for domain in domains}
                spent, size = spent + result.cpu_ns, size + len(block.buffer)
                for domain in mine:
                    self._count(tallies[domain], result, block, names, spec, who, vocab, asker, entry, subject)
                if len(block.buffer) <= REVERSED and result.digest == result.expected:
                    small.append((block, result.digest))
            self._reversed(asker, lane, small, {d: t for d, t in tallies.items() if not t.failed})
        finally:
            asker.stop()
            pool.askers.pop((lane.engine, lane.contract.digest), None)
        return tallies

    def _block(self, block: Block, lane: Lane, subject: Subject, pool: Pool) -> Result:
        (operation,) = lane.operations
        result = Result("", lane.contract.digest, operation, "", lane.build, self._oracle, block.digest, {})
        held = {c.digest: c for c in (subject.asked, lane.held_to(operation))}
        stored = {
            key: row for key in oracle_keys(block, held.values(), subject.asked, self._oracle)
            if (row := self.store.oracle_block(key)) is not None
        }
        _, fresh = run_block(Task(subject, block, ((lane, result),), stored), pool)
        for made in fresh:
            self.store.insert("oracle_block", vars(made), keep=True)
        return result

    def _count(
        self, tally: Tally, result: Result, block: Block, names: Names, spec: str, who: Contestant, vocab: str,
        asker: Asker, entry: str, subject: Subject,
    ) -> None:  # fmt: skip
        tally.documents += block.documents
        tally.verdicts.update(result.verdicts)
        for index, verdict, detail in result.rows:
            if verdict in GOOD or (tally.first if verdict not in ALOUD else tally.refusal):
                continue
            name = f"{spec}: {names[int(block.indices[index])]}" if index >= 0 else spec
            words = f"{name}: {verdict}{said(detail)}"
            if verdict in ALOUD:
                tally.refusal = words
                continue
            tally.first = words
            document = block.document(index) if index >= 0 else b""
            tally.command = self._shows(document, spec, who, vocab, asker, detail)

    def _shows(
        self, document: bytes, spec: str, who: Contestant, vocab: str, asker: Asker, detail: Any
    ) -> str:
        """The shortest command that shows a document's fault; "" where only the bench itself is known to."""
        pinned = versioned(who, self.roster)
        if who.options or not isinstance(detail, dict) or "expected" not in detail:
            return ""
        if not self._plainly_wrong(document, asker, detail):
            return ""
        more = list(self._diff)
        if len(document) <= 256:
            return shlex.join(
                ["tokassay", "diff", pinned, ORACLE, "--vocab", vocab, *more, "--hex", document.hex()]
            )
        if pinned != who.spec.name:
            return ""  # an audit takes the roster's version
        options = ["--vocab", vocab, "--engine", pinned, "--corpus", spec, "--operation", "encode"]
        return shlex.join(["tokassay", "audit", *options, *more])

    def _plainly_wrong(self, document: bytes, asker: Asker, detail: Mapping[str, Any]) -> bool:
        """Whether `encode`, which other commands ask, has the same wrong ids around the place."""
        form, asker.form = asker.form, ""
        try:
            got = asker.again("encode", pack_buffer(document, np.array([0, len(document)], np.uint64))).of(0).tolist()
        except HostFailure:
            asker.discard()
            return False
        finally:
            asker.form = form
        at, wrong = detail.get("token") or 0, list(detail.get("got", ()))
        return bool(wrong) and any(got[k : k + len(wrong)] == wrong for k in range(max(0, at - 8), at + 9))

    def _reversed(
        self, asker: Asker, lane: Lane, small: Sequence[tuple[Block, str]], tallies: Mapping[str, Tally]
    ) -> None:
        """Small blocks again, their documents in reverse, of an instance that has seen the whole suite: ids must depend
        on neither. (That a fresh one gives the same, each timed process shows.)"""
        (operation,) = lane.operations
        for block, digest in small:
            turned = np.arange(block.documents)[::-1]
            try:
                output = asker.again(operation, pack_buffer(*block.select(turned)))
                same = selected(output, turned).digest(block.lengths) == digest
                verdict, why = "differ", "other ids in reverse order of documents, by a used instance"
            except HostFailure as error:
                asker.discard()
                same, (verdict, why) = False, failure(error)
            for domain, tally in tallies.items():
                if not same and (domain == ALL or block.domain == NEUTRAL):
                    tally.verdicts[verdict] += block.documents
                    tally.first = tally.first or f"a block of {block.documents} documents: {why}"

    # ---- what is asked, and of whom

    def _documents(self, vocab: str, loaded: Loaded) -> Iterable[tuple[str, Block, Names]]:
        """The suite's blocks for a vocabulary; those of the last one are kept."""
        if self._blocks[0] != loaded.contract.digest:
            self._blocks = loaded.contract.digest, list(self._read(loaded))
        return self._blocks[1]

    def _read(self, loaded: Loaded) -> Iterator[tuple[str, Block, Names]]:
        tokens, specials = loaded.vocabulary.tokens, loaded.contract.texts
        for one in self.suite.corpora:
            if "off" in one.specials:
                names = Names()
                corpus = open_corpus(one.spec, seed=self.seed, tokens=tokens, specials=specials)
                if self.suite.name == LIGHT:
                    corpus = thinned(corpus)
                yield from ((one.spec, block, names) for block in cut(corpus, names))

    def _subject(self, vocab: str, loaded: Loaded) -> Subject:
        """What all contestants of a vocabulary are held to; that of the last one is kept."""
        if self._kept is None or self._kept.asked != loaded.contract:
            table = loaded.vocabulary.ids()
            tokens = tuple(table.get(i) for i in range(max(table, default=-1) + 1))
            lengths = np.array([len(token or b"") for token in tokens], dtype=np.uint32)
            known = frozenset(loaded.vocabulary.tokens)
            self._kept = Subject(
                vocab, loaded.contract, self._oracle, tokens, lengths, known, loaded.vocabulary.reaches
            )
        return self._kept

    def _open(self, who: Contestant, loaded: Loaded, contract: Contract, threads: int) -> Any:
        host = open_host(
            who.spec.name, loaded, contract, roster={**self.roster, who.spec.name: who.spec}, threads=threads,
            options=who.options,
        )
        host.timeout_s = min(host.timeout_s, BLOCK_S)
        return host

    def _oracles(self, loaded: Loaded) -> Pool:
        """The oracle's hosts for a vocabulary; those of the one before are ended."""
        if self._pool is None or self._for != loaded.contract.digest:
            self.close()
            self._for = loaded.contract.digest
            self._pool = Pool(
                lambda name, contract: Asker(lambda: open_host(name, loaded, contract, roster=self.roster))
            )
        return self._pool

    def _lane(
        self, who: Contestant, contract: Contract, entry: str, threads: int, hello: Mapping[str, Any]
    ) -> Lane:
        spec, operation = who.spec, DECODE if entry == DECODE else op_of(entry)
        batch = spec.byte_policies.get("encode_batch")
        policies = dict(spec.byte_policies) | ({operation: batch} if batch and operation in BATCHES else {})
        known = (*hello.get("operations", ()), *hello.get("entries", ()))
        return Lane(
            engine=who.label if threads == 1 else f"{who.label} ({threads} threads)",
            contract=contract,
            build=build_of(who),
            platform=platform_key(),
            operations=frozenset({operation}),
            offset_unit=str(hello.get("offset_unit", "bytes")),
            entry_points={},
            traces=bool(hello.get("trace")),
            stages=frozenset(hello.get("stages") or ("pretokenize", "merge")),
            modifiers={"threads": threads},
            unsupported="" if operation in known else f"the engine has no {operation}",
            byte_policies=policies,
        )


def versioned(who: Contestant, roster: Mapping[str, EngineSpec]) -> str:
    """The engine as the command line names it: NAME, or NAME==VERSION where that is not the roster's."""
    listed = roster.get(who.spec.name)
    same = listed is None or listed.requirement == who.spec.requirement
    return who.spec.name if same else f"{who.spec.name}=={who.spec.pinned}"


def thinned(corpus: Corpus) -> Corpus:
    """Without most of what is longer than LONG: of `lengths`, letters and text of odd lengths are left."""

    def kept(document: Document) -> bool:
        if len(document.data) <= LONG:
            return True
        return document.name.startswith(FEW_LONG) and len(document.data) % 2 == 1

    return from_documents(corpus.name, corpus.spec, lambda _: filter(kept, corpus.documents()))


def said(detail: Any) -> str:
    """A row's detail in words: its explanation, and the ids where they part."""
    if isinstance(detail, dict):
        ids = f", ids {detail['got']}, should be {detail['expected']}" if detail.get("got") else ""
        return f": {detail.get('explanation', '')}{ids}"
    return f": {detail}" if detail else ""


def build_of(who: Contestant) -> str:
    """The digest of a contestant's build: requirement, lock, adapter, host, what is installed, and its options."""
    spec = replace(who.spec, options={**who.spec.options, **who.options})
    lock = lock_path(spec) if spec.environment == "own" else None
    return hashlib.sha256(f"{spec.build_digest(lock)} {installation(spec.requirement)}".encode()).hexdigest()[:16]


@cache
def corpora_digest() -> str:
    """SHA-256 over the sources that make the gate's documents."""
    sha = hashlib.sha256()
    for entry in sorted(files("tokassay.corpora").iterdir(), key=lambda one: one.name):
        if entry.name.endswith(".py"):
            sha.update(entry.name.encode() + b"\0" + entry.read_bytes())
    return sha.hexdigest()[:16]


def _now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).isoformat(timespec="seconds")
