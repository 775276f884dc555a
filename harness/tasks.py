"""The unit of work: one block through every engine that must see it. Pure, so that any Executor may carry it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from tokassay.engines.client import HostError, HostFailure, Unsupported
from tokassay.engines.frames import pack_buffer
from tokassay.harness.ask import UNLISTED, Asker, TimeOver, failure
from tokassay.harness.blocks import Block, offsets_of
from tokassay.harness.budget import Budget, unanswered
from tokassay.harness.compare import IDS, Output
from tokassay.harness.contract import Contract
from tokassay.harness.expect import Expected, OracleRow, governing_block
from tokassay.harness.explain import Finding, explain
from tokassay.harness.judge import Held, failures, judge, what_of
from tokassay.harness.store import Result

ORACLE = "oracle"
UNMODELLED = "Unsupported: "  # how a host reports that exception of one document


@dataclass(frozen=True)
class Lane:
    """One engine under one contract in its own variants. `unsupported` says why it takes no part, "" where it does;
    `failed` is the verdict and the reason where it does not start or load."""

    engine: str
    contract: Contract
    build: str
    platform: str
    operations: frozenset[str]
    offset_unit: str
    entry_points: Mapping[str, str]
    traces: bool
    stages: frozenset[str]  # those that its trace speaks of
    modifiers: Mapping[str, Any]
    unsupported: str = ""
    failed: tuple[str, str] | None = None
    byte_policies: Mapping[str, str] = field(default_factory=dict)

    @property
    def asked(self) -> bool:
        """Whether it takes part at all."""
        return not self.unsupported and self.failed is None

    def held_to(self, operation: str) -> Contract:
        """The contract of one operation: the lane's, but for the byte policy of that entry point."""
        policy = self.byte_policies.get(operation)
        return self.contract.with_variants(byte_policy=policy) if policy else self.contract

    def reason_against(self, operation: str) -> str:
        """Why this lane cannot do an operation; "" where it can."""
        return self.unsupported or ("" if operation in self.operations else f"the engine has no {operation}")


@dataclass(frozen=True)
class Subject:
    """What the lanes of one vocabulary and special-token policy share. `tokens[id]` is a token's bytes, or None;
    `reaches` says whether merging can form a token."""

    name: str
    asked: Contract
    oracle: str
    tokens: tuple[bytes | None, ...]
    token_lengths: npt.NDArray[np.uint32]
    known: frozenset[bytes]
    reaches: Callable[[bytes], bool]

    @property
    def modelled(self) -> bool:
        return self.asked.algorithm != "opaque"

    def piece(self, number: int) -> bytes | None:
        return self.tokens[number] if 0 <= number < len(self.tokens) else None


@dataclass
class Pool:
    """The hosts of one worker: an Asker for each engine and contract, made when first asked for."""

    make: Callable[[str, Contract], Asker]
    budget: Budget = field(default_factory=Budget)
    askers: dict[tuple[str, str], Asker] = field(default_factory=dict)

    def asker(self, engine: str, contract: Contract) -> Asker:
        key = (engine, contract.digest)
        if key not in self.askers:
            self.askers[key] = self.make(engine, contract)
        return self.askers[key]

    def close(self) -> None:
        for asker in self.askers.values():
            asker.stop()
        self.askers.clear()


class Pools:
    """One Pool a worker thread; `close` ends them all."""

    def __init__(self, make: Callable[[str, Contract], Asker], budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self._make, self._local, self._all, self._lock = (
            make,
            threading.local(),
            list[Pool](),
            threading.Lock(),
        )

    def mine(self) -> Pool:
        pool = getattr(self._local, "pool", None)
        if pool is None:
            pool = self._local.pool = Pool(self._make, self.budget)
            with self._lock:
                self._all.append(pool)
        return pool

    def close(self) -> None:
        with self._lock:
            for pool in self._all:
                pool.close()


@dataclass(frozen=True)
class Task:
    """A block, the lanes and operations that have no reusable result for it, and what the store knows of the oracle.
    `fast`: it is for engines of so many megabytes a second (0: for all)."""

    subject: Subject
    block: Block
    work: tuple[tuple[Lane, Result], ...]
    stored: Mapping[str, tuple[str, int, bytes]]
    fast: float = 0.0


class OracleFailure(RuntimeError):
    """The oracle itself died or raised: nothing can be said, exit code 5."""


def run_block(task: Task, pool: Pool) -> tuple[list[Result], list[OracleRow]]:
    """All results of a task, in the order of `work`, and the expectations that were made for it."""
    run = _Run(task, pool)
    opaque: list[tuple[Lane, Result]] = []
    for lane, result in task.work:
        reason = lane.reason_against(result.operation)
        whole = ("unsupported", reason) if reason else lane.failed
        late = "" if whole else pool.budget.against(lane.engine, task.subject.name, task.fast)
        if late:
            run.leave_out(result, late)
        elif whole is not None:
            result.verdicts, result.rows = {whole[0]: task.block.documents}, [[-1, *whole]]
        elif task.subject.modelled:
            try:
                with run.billed(lane.engine):
                    run.judge(lane, result)
            except TimeOver as error:
                run.leave_out(result, str(error))
        else:
            opaque.append((lane, result))
    if opaque:
        run.compare_engines(opaque)
    return [result for _, result in task.work], run.fresh()


class _Run:
    def __init__(self, task: Task, pool: Pool) -> None:
        self.task, self.pool, self.block, self.subject = task, pool, task.block, task.subject
        self.expectations: dict[str, Expected] = {}
        self.findings: dict[tuple[Any, ...], Any] = {}
        self.begun = self.oracle_s = 0.0

    @contextmanager
    def billed(self, engine: str) -> Iterator[None]:
        """What is done here is on the engine's time, but for what the oracle takes."""
        self.begun, self.oracle_s = time.monotonic(), 0.0
        try:
            yield
        finally:
            self.pool.budget.spend(engine, self.subject.name, self.spent())

    def spent(self) -> float:
        """Seconds of the engine that is asked now, the oracle's left out."""
        return time.monotonic() - self.begun - self.oracle_s

    def asker(self, lane: Lane) -> Asker:
        """The lane's Asker, which ends a block when the engine's time does."""
        asker = self.pool.asker(lane.engine, lane.contract)
        asker.over = lambda: self.pool.budget.over(lane.engine, self.subject.name, self.spent())
        asker.left_s = lambda: self.pool.budget.left_s(lane.engine, self.subject.name, self.spent())
        return asker

    def leave_out(self, result: Result, late: str) -> None:
        """Make a result the row of an answer that there was no time for."""
        result.key = unanswered(result.key)
        result.digest, result.expected = "", ""
        result.ids = result.ns = result.cpu_ns = result.host_ns = result.hash_ns = 0
        result.verdicts, result.rows = {"unsupported": self.block.documents}, [[-1, "unsupported", late]]

    def fresh(self) -> list[OracleRow]:
        return [row for expected in self.expectations.values() for row in expected.fresh]

    def expected(self, contract: Contract) -> Expected:
        contract = governing_block(contract, self.subject.asked, self.block)
        if contract.digest not in self.expectations:
            self.expectations[contract.digest] = Expected(
                self.block,
                contract,
                self.subject.oracle,
                self.ask_oracle,
                self.task.stored.get,
                self.subject.token_lengths,
            )
        return self.expectations[contract.digest]

    def ask_oracle(self, contract: Contract, operation: str) -> tuple[Output, int]:
        asker = self.pool.asker(ORACLE, contract)
        begun = time.monotonic()
        try:
            answer = asker.measure(operation, self.block)
            for i, (verdict, detail) in answer.failures.items():
                # What the oracle does not model is `unsupported` for everybody; anything else is its own failure.
                if not detail.startswith(UNMODELLED) and detail != UNLISTED:
                    raise OracleFailure(f"oracle: {verdict} on document {self.block.indices[i]}: {detail}")
            return answer.output or asker.kept(), answer.ns
        except HostFailure as error:
            raise OracleFailure(f"oracle: {error}") from error
        finally:
            self.oracle_s += time.monotonic() - begun

    def judge(self, lane: Lane, result: Result) -> None:
        held = Held(self.expected(lane.held_to(result.operation)), self.expected(self.subject.asked))
        asker = self.asker(lane)

        def because(i: int, output: Output | None) -> dict[str, Any]:
            return self.explain(lane, asker, held, result.operation, i, output)

        judge(asker, result.operation, self.block, held, result, offset_unit=lane.offset_unit, explain=because)

    def explain(
        self, lane: Lane, asker: Asker, held: Held, operation: str, i: int, output: Output | None
    ) -> dict[str, Any]:
        document = self.block.document(i)
        if output is None:
            pair = held.own.contract.digest, i
            if pair not in self.findings:
                own, asked = held.own.output("ids"), held.asked.output("ids")
                self.findings[pair] = explain(
                    document,
                    own.of(i).tolist(),
                    asked.of(i).tolist(),
                    got_status=int(own.status[i]),
                    expected_status=int(asked.status[i]),
                    pieces=self.subject.piece,
                    is_token=self.subject.known.__contains__,
                    reaches=self.subject.reaches,
                    trace_expected=self.tracer(ORACLE, held.asked.contract),
                    trace_got=self.tracer(ORACLE, held.own.contract),
                    got_name=_variant(held.own.contract, self.subject.asked),
                    expected_name=_variant(self.subject.asked, held.own.contract),
                ).detail()
            return dict(self.findings[pair])
        right = held.own.output("ids")
        got, status = output.of(i), int(output.status[i])
        if operation in ("decode", "offsets"):
            ids = self.ids(asker, document) if operation == "offsets" else None
            if ids is None or np.array_equal(ids.of(0), right.of(i)):
                expected = held.own.output(what_of(operation, lane.offset_unit)).of(i)
                return _plain(operation, document, got, expected)
            # Spans of wrong ids are wrong: that is one fault, and it is told as the one of the ids.
            got, status = ids.of(0), int(ids.status[0])
        # Operations mostly give the same ids: one document is looked at once.
        key = lane.engine, held.own.contract.digest, i, status, got.tobytes()
        if key not in self.findings:
            self.findings[key] = explain(
                document,
                got.tolist(),
                right.of(i).tolist(),
                got_status=status,
                expected_status=int(right.status[i]),
                pieces=self.subject.piece,
                is_token=self.subject.known.__contains__,
                reaches=self.subject.reaches,
                trace_expected=self.tracer(ORACLE, held.own.contract),
                trace_got=self.tracer(lane.engine, lane.contract) if lane.traces else None,
                stages=lane.stages,
                got_name=lane.engine,
                expected_name="the oracle",
            ).detail()
        return dict(self.findings[key])

    def ids(self, asker: Asker, document: bytes) -> Output | None:
        """The engine's own ids of a document; None where its host did not survive it."""
        try:
            return asker.again("encode", pack_buffer(document, offsets_of(np.array([len(document)], np.uint64))))
        except HostFailure:
            asker.discard()
            return None

    def tracer(self, engine: str, contract: Contract) -> Callable[[bytes], list[dict[str, Any]] | None]:
        def trace(document: bytes) -> list[dict[str, Any]] | None:
            asker = self.pool.asker(engine, contract)
            try:
                return asker.host.trace(document)
            except HostError:
                return None
            except HostFailure:
                asker.discard()
                return None

        return trace

    def compare_engines(self, work: list[tuple[Lane, Result]]) -> None:
        """A contract without an oracle: on neutral documents the first engine that gives ids is held to the others, and
        they to it."""
        for operation in dict.fromkeys(result.operation for _, result in work):
            lanes = [(lane, result) for lane, result in work if result.operation == operation]
            comparable = self.block.domain == "neutral" and operation != "offsets"
            alone = [self._alone(lane, result) for lane, result in lanes]
            names, outputs = [lane.engine for lane, _ in lanes], [output for output, _ in alone]
            for n, (_, result) in enumerate(lanes):
                verdicts = alone[n][1]
                if result.verdicts:
                    continue  # unsupported as a whole
                for i in range(self.block.documents):
                    if i not in verdicts and (verdict := self._against(n, i, names, outputs, comparable)) is not None:
                        verdicts[i] = verdict
                result.rows = [[i, *v] for i, v in sorted(verdicts.items())]
                for word, _ in verdicts.values():
                    result.verdicts[word] = result.verdicts.get(word, 0) + 1
                if len(verdicts) < self.block.documents:
                    result.verdicts["match"] = self.block.documents - len(verdicts)

    def _alone(self, lane: Lane, result: Result) -> tuple[Output | None, dict[int, tuple[str, Any]]]:
        asker = self.asker(lane)
        try:
            with self.billed(lane.engine):
                answer = asker.measure(result.operation, self.block)
            output = answer.output or asker.kept()
        except TimeOver as error:
            self.leave_out(result, str(error))
            return None, {}
        except Unsupported as error:
            result.verdicts, result.rows = {"unsupported": self.block.documents}, [[-1, "unsupported", str(error)]]
            return None, {}
        except HostFailure as error:
            asker.discard()
            return None, failures(self.block, dict.fromkeys(range(self.block.documents), failure(error)))
        result.digest, result.ids = answer.digest, answer.ids
        result.ns, result.cpu_ns, result.host_ns, result.hash_ns = (
            answer.ns,
            answer.cpu_ns,
            answer.host_ns,
            answer.hash_ns,
        )
        return output, failures(self.block, answer.failures)

    def _against(
        self, n: int, i: int, names: list[str], outputs: list[Output | None], comparable: bool
    ) -> tuple[str, Any] | None:
        """The verdict of engine `n` on document `i`, None for a match. Who has no ids says nothing about the others."""
        mine = outputs[n]
        assert mine is not None  # what failed has its verdicts
        gave = [k for k, output in enumerate(outputs) if output is not None and output.status[i] == IDS]
        others = [k for k in gave if k != n]
        if mine.status[i] != IDS:
            # No byte policy refuses well-formed text.
            return ("reject", "") if self.block.domain == "bytes" else self._versus(n, i, names, outputs, others)
        if not comparable or not others:
            return "unsupported", "this contract has no oracle, and there is nothing else to hold the engine to"
        for k in others if n == gave[0] else gave[:1]:
            theirs = outputs[k]
            if theirs is not None and np.array_equal(theirs.of(i), mine.of(i)):
                return None
        return self._versus(n, i, names, outputs, others)

    def _versus(
        self, n: int, i: int, names: list[str], outputs: list[Output | None], others: list[int]
    ) -> tuple[str, Any]:
        mine, theirs = outputs[n], outputs[others[0]] if others else None
        assert mine is not None
        finding = explain(
            self.block.document(i),
            mine.of(i).tolist(),
            theirs.of(i).tolist() if theirs is not None else [],
            got_status=int(mine.status[i]),
            expected_status=IDS,
            pieces=self.subject.piece,
            is_token=self.subject.known.__contains__,
            reaches=self.subject.reaches,
            trace_expected=lambda _: None,
            trace_got=None,
            got_name=names[n],
            expected_name=names[others[0]] if others else "any byte policy",
        )
        return "differ", finding.detail()


def _variant(contract: Contract, other: Contract) -> str:
    """The variants in which a contract is unlike another, in words."""
    words = []
    if contract.unicode != other.unicode:
        words.append(f"Unicode {contract.unicode}")
    if contract.byte_policy != other.byte_policy:
        words.append(contract.byte_policy)
    if contract.normalization != other.normalization:
        name = "NFC" if contract.normalizer == "nfc" else "a normalizer"
        words.append(f"{name} of Unicode {contract.normalizes_by}")
    if contract.casing != other.casing:
        words.append(f"lower case of Unicode {contract.lowers_by}")
    return ", ".join(words) or "the same variants"


def _plain(operation: str, document: bytes, got: npt.NDArray[Any], expected: npt.NDArray[Any]) -> dict[str, Any]:
    """A finding about texts or spans: where the first of them differ."""
    same = min(len(got), len(expected))
    unlike = np.flatnonzero(got[:same] != expected[:same])
    at = int(unlike[0]) if len(unlike) else same
    per = 2 if operation == "offsets" else 1
    return Finding(
        operation,
        operation,
        f"{'span' if per == 2 else 'byte'} {at // per} is the first that differs",
        document[:256].hex(),
        at // per,
        [int(x) for x in got[at : at + 4]],
        [int(x) for x in expected[at : at + 4]],
    ).detail()
