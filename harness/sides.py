"""Asking one engine about one document, whatever becomes of it: ids, tokens, spans, decisions, or how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tokassay.engines.client import HostFailure, Unsupported
from tokassay.engines.frames import IDS, REJECT, Ids
from tokassay.engines.roster import EngineSpec
from tokassay.harness.differ import Decision, Side
from tokassay.harness.hosts import ORACLE, Target, open_host, oracle_spec
from tokassay.harness.load import Loaded
from tokassay.harness.pieces import token_spans


def ask_side(
    target: Target,
    loaded: Loaded,
    document: bytes,
    *,
    roster: Mapping[str, EngineSpec],
    trace: bool = True,
) -> Side:
    """What `target` does with `document`, in a host of its own. Never raises for what an engine does or cannot do."""
    name, variants, version = target.name, target.variants, ""
    try:
        with open_host(
            target.spec.name, loaded, target.contract, roster={**roster, target.spec.name: target.spec}
        ) as host:
            version = str(host.hello().get("version", ""))
            answer = host.encode([document])
            output = answer.output
            if not isinstance(output, Ids):
                return Side(name, version, variants, "error", "the engine answered with something other than ids")
            status = int(output.status[0])
            if status != IDS:
                kind, message = answer.errors[0][1:] if answer.errors else ("", "")
                detail = f"{kind}: {message}" if kind else ""
                failed = "oom" if kind == "MemoryError" else "error"
                return Side(name, version, variants, "reject" if status == REJECT else failed, detail)
            ids = tuple(output.rows()[0])
            tokens = tokens_of(loaded, ids)
            spans = spans_of(tokens, document)
            decisions: tuple[Decision, ...] | None = None
            if trace:
                try:
                    decisions = tuple(host.trace(document))
                except HostFailure:
                    decisions = None  # not a word about its decisions: the comparison is then inferred
            return Side(name, version, variants, "ids", "", ids, tokens, spans, decisions)
    except Unsupported as error:
        return Side(name, version, variants, "unsupported", error.detail)
    except HostFailure as error:
        return Side(name, version, variants, error.verdict, error.detail)


def stand_in(
    target: Target, side: Side, loaded: Loaded, document: bytes, roster: Mapping[str, EngineSpec]
) -> Side | None:
    """The oracle under the variants of a side that is not traced, where it gives the same ids; else None."""
    if side.outcome != "ids" or side.decisions is not None:
        return None
    name = f"{ORACLE}:{target.variants}"
    other = ask_side(Target(name, oracle_spec(), target.contract), loaded, document, roster=roster)
    return other if other.ids == side.ids and other.decisions is not None else None


def tokens_of(loaded: Loaded, ids: Sequence[int]) -> tuple[bytes | None, ...]:
    """The bytes of each id by the vocabulary; None for an id that it does not have (or whose file is opaque)."""
    table = loaded.vocabulary.ids()
    return tuple(table.get(number) for number in ids)


def spans_of(tokens: Sequence[bytes | None], document: bytes) -> tuple[tuple[int, int], ...] | None:
    """Byte spans by the tokens' bytes; None where they do not make up the document."""
    known = [token for token in tokens if token is not None]
    spans = token_spans(known, document) if len(known) == len(tokens) else None
    return None if spans is None else tuple(spans)
