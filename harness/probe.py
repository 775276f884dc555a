"""Asking an engine at one version: an answer, or why it could not be asked. The two are never mixed up.

A release that cannot be installed, does not start, does not load the vocabulary, or fails on a plain letter says
nothing about a document.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tokassay.engines.client import Host, HostFailure, Unsupported
from tokassay.engines.frames import IDS, REJECT, Spans, Texts
from tokassay.engines.roster import EngineSpec
from tokassay.harness.answers import Answer
from tokassay.harness.ask import failure
from tokassay.harness.budget import FOR_TIME
from tokassay.harness.hosts import Target, open_host
from tokassay.harness.load import Loaded

CONTROL = b"a"


@dataclass(frozen=True)
class Probed:
    """`answer` is None where the engine could not be asked: `reason` says why. `says`: the version it says it is."""

    answer: Answer | None
    reason: str = ""
    says: str = ""


def probe(target: Target, loaded: Loaded, document: bytes, *, roster: Mapping[str, EngineSpec]) -> Probed:
    """What `target` does with `document`, asked twice in a host of its own: two answers are `flaky`."""
    return probe_all(target, loaded, [document], roster=roster)[0]


def probe_all(
    target: Target, loaded: Loaded, documents: Sequence[bytes], *, roster: Mapping[str, EngineSpec],
    operation: str = "encode", deadline: float | None = None,
) -> list[Probed]:
    """What `target` does with each document: one host for all, and a fresh one after each that brings it down.

    Past `deadline`, a reading of time.monotonic(), no further document is begun; None: there is no end.
    """
    asked: list[Probed] = []
    host: Host | None = None
    says, healthy = "", None
    try:
        for document in documents:
            if deadline is not None and time.monotonic() >= deadline:
                asked.append(Probed(None, f"{FOR_TIME}the engine's minutes of this check were over", says))
                continue
            if host is None:
                opened = _open(target, loaded, roster)
                if isinstance(opened, str):
                    return [*asked, *[Probed(None, opened, says)] * (len(documents) - len(asked))]
                host, says = opened
            answer = _twice(host, document, operation)
            if answer.outcome not in ("ids", "text", "reject"):
                if not host.alive:
                    host.close()
                    host = None
                if healthy is None:  # once an engine: a plain letter tells a broken build from an answer
                    healthy = _control(target, loaded, roster)
                if not healthy:
                    asked.append(Probed(None, f"it fails on {CONTROL.decode()!r} too: {answer.told()}", says))
                    continue
            asked.append(Probed(answer, "", says))
        return asked
    finally:
        if host is not None:
            host.close()


def _open(target: Target, loaded: Loaded, roster: Mapping[str, EngineSpec]) -> tuple[Host, str] | str:
    """A loaded host and the version it says it is, or why there is none."""
    name = target.spec.name
    try:
        host = open_host(name, loaded, target.contract, roster={**roster, name: target.spec})
    except Unsupported as error:
        return error.detail
    except HostFailure as error:
        return f"it does not load this vocabulary: {error.verdict} ({error.detail})"
    try:
        return host, str(host.hello().get("version", ""))
    except HostFailure as error:
        host.close()
        return f"it does not say its version: {error.verdict} ({error.detail})"


def _twice(host: Host, document: bytes, operation: str) -> Answer:
    first = _ask(host, document, operation)
    if first.outcome not in ("ids", "text"):
        return first
    second = _ask(host, document, operation)
    if second.outcome == "timeout":  # late, and no other answer
        return second
    return first if first.same(second) else Answer("flaky", f"first {first.told()}, then {second.told()}")


def _ask(host: Host, document: bytes, operation: str = "encode") -> Answer:
    try:
        answer = host.encode([document], operation)
    except HostFailure as error:
        return Answer(*failure(error))
    output = answer.output
    if isinstance(output, Spans):
        return Answer("error", "something other than ids")
    if output.status[0] == IDS:
        return Answer.of_text(output.texts[0]) if isinstance(output, Texts) else Answer.of(output.rows()[0])
    kind, message = answer.errors[0][1:] if answer.errors else ("", "")
    if output.status[0] == REJECT:
        return Answer("reject")
    return Answer("oom" if kind == "MemoryError" else "error", f"{kind}: {message}" if message else kind)


def _control(target: Target, loaded: Loaded, roster: Mapping[str, EngineSpec]) -> bool:
    opened = _open(target, loaded, roster)
    if isinstance(opened, str):
        return False
    with opened[0] as host:
        return _ask(host, CONTROL).outcome == "ids"


def within(target: Target, timeout_s: float | None) -> Target:
    """The same target under another time limit for one document, seconds; None keeps the roster's."""
    return target if timeout_s is None else replace(target, spec=replace(target.spec, timeout_s=timeout_s))
