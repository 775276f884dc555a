"""Asking one engine about one document, whatever becomes of it: ids, tokens, spans, decisions, or how it ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tokassay.engines.client import Host, HostFailure, Unsupported
from tokassay.engines.frames import IDS, REJECT, Ids
from tokassay.engines.roster import EngineSpec
from tokassay.harness.differ import Side
from tokassay.harness.hosts import ORACLE, Target, open_host, oracle_spec
from tokassay.harness.load import Loaded
from tokassay.harness.pieces import token_spans
from tokassay.oracles.decisions import STAGES


def ask_side(
    target: Target,
    loaded: Loaded,
    document: bytes,
    *,
    roster: Mapping[str, EngineSpec],
    trace: bool = True,
) -> Side:
    """What `target` does with `document`, in a host of its own. Never raises for what an engine does or cannot do."""
    side = Side(target.name, variants=target.variants)
    try:
        with open_host(
            target.spec.name, loaded, target.contract, roster={**roster, target.spec.name: target.spec}
        ) as host:
            side = replace(side, version=str(host.hello().get("version", "")))
            side = answered(side, host, document, loaded.vocabulary.ids().get)
            return traced(side, host, document) if trace and side.outcome == "ids" else side
    except Unsupported as error:
        return replace(side, outcome="unsupported", detail=error.detail)
    except HostFailure as error:
        return failed(side, error)


def answered(
    side: Side, host: Host, document: bytes, token: Callable[[int], bytes | None] | None, operation: str = "encode"
) -> Side:
    """`side` with what the host answers to one document: ids, or a refusal or an exception. Raises HostFailure.

    `token(id)` gives a token's bytes, None for an id that the vocabulary does not have; without it there are ids alone.
    """
    answer = host.encode([document], operation)
    output = answer.output
    if not isinstance(output, Ids):
        return replace(side, outcome="error", detail="the engine answered with something other than ids")
    status = int(output.status[0])
    if status != IDS:
        kind, message = answer.errors[0][1:] if answer.errors else ("", "")
        outcome = "reject" if status == REJECT else "oom" if kind == "MemoryError" else "error"
        return replace(side, outcome=outcome, detail=f"{kind}: {message}" if kind else "")
    ids = tuple(output.rows()[0])
    if token is None:
        return replace(side, ids=ids)
    tokens = tuple(map(token, ids))
    return replace(side, ids=ids, tokens=tokens, spans=spans_of(tokens, document))


def traced(side: Side, host: Host, document: bytes) -> Side:
    """`side` with the decisions that the host took; as it is where it says no word: a comparison is then inferred."""
    try:
        decisions = tuple(host.trace(document))
        return replace(side, decisions=decisions, stages=frozenset(host.stages() or STAGES))
    except HostFailure:
        return side


def failed(side: Side, error: HostFailure) -> Side:
    """`side` with the end that a failure of its host stands for."""
    return replace(side, outcome=error.verdict, detail=error.detail)


def stand_in(
    target: Target, side: Side, loaded: Loaded, document: bytes, roster: Mapping[str, EngineSpec]
) -> Side | None:
    """The oracle under the variants of a side that is not traced in full, where it gives the same ids; else None."""
    if side.outcome != "ids" or side.complete or target.contract.algorithm == "opaque":
        return None
    name = f"{ORACLE}:{target.variants}"
    other = ask_side(Target(name, oracle_spec(), target.contract), loaded, document, roster=roster)
    return other if other.ids == side.ids and other.decisions is not None else None


def spans_of(tokens: Sequence[bytes | None], document: bytes) -> tuple[tuple[int, int], ...] | None:
    """Byte spans by the tokens; None where they do not make up the document."""
    known = [token for token in tokens if token is not None]
    spans = token_spans(known, document) if len(known) == len(tokens) else None
    return None if spans is None else tuple(spans)
