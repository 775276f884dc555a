"""Two engines on one document, side by side: ids, tokens, spans, and the first differing decision.

A decision is *traced* where both sides speak of their own decisions, and *inferred* from ids and pieces where
one does not: an inference names the likeliest stage, and says that it is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tokassay.harness.explain import explain, first_differing
from tokassay.harness.signature import Cause, ending
from tokassay.oracles.decisions import STAGES, first_difference

Decision = Mapping[str, Any]
Span = tuple[int, int]
STATUS = {"ids": 0, "reject": 1}  # every other outcome: 2, as in a leaf


@dataclass(frozen=True)
class Side:
    """What one engine did with the document.

    `outcome` is `ids`, or what happened instead (reject, unsupported, crash, error, timeout, oom); `detail`
    says more of it. `tokens` are the bytes of the ids by the vocabulary (None: an id it does not have). `spans`
    are byte spans, None where those are not the document's bytes. `decisions` is None for a silent engine; `stages` are
    those that they speak of. A record that the engine did not make itself says who did (`inferred`).
    """

    name: str
    version: str = ""
    variants: str = ""
    outcome: str = "ids"
    detail: str = ""
    ids: tuple[int, ...] = ()
    tokens: tuple[bytes | None, ...] = ()
    spans: tuple[Span, ...] | None = None
    decisions: tuple[Decision, ...] | None = None
    stages: frozenset[str] = frozenset(STAGES)

    @property
    def told(self) -> frozenset[str]:
        """The stages that its decisions tell of: none for a silent engine."""
        return frozenset() if self.decisions is None else self.stages

    @property
    def complete(self) -> bool:
        """Whether its decisions tell of every stage."""
        return self.told == frozenset(STAGES)

    def to_json(self) -> dict[str, Any]:
        """As `--json` shows it: tokens in hex."""
        return {
            "engine": self.name,
            "version": self.version,
            "variants": self.variants,
            "outcome": self.outcome,
            "detail": self.detail,
            "ids": list(self.ids),
            "tokens": [None if token is None else token.hex() for token in self.tokens],
            "spans": None if self.spans is None else [list(span) for span in self.spans],
            "traced": self.decisions is not None,
            "stages": [stage for stage in STAGES if stage in self.told],
        }


@dataclass(frozen=True)
class Difference:
    """Why two sides differ.

    `token` is the index of the first differing token, None where a side gave no ids. `known` is `traced` where each
    side's own decisions were compared, else `inferred`; `through` names the oracles that stood in for silent sides;
    `signature` is the text of its cause (signature.py), the same for all documents that show one fault.
    """

    token: int | None
    stage: str
    known: str
    sentence: str
    signature: str
    through: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "token": self.token,
            "stage": self.stage,
            "known": self.known,
            "through": list(self.through),
            "signature": self.signature,
            "sentence": self.sentence,
        }


def same(a: Side, b: Side) -> bool:
    """Whether both came to the same end: the same ids, or the same refusal."""
    return a.outcome == b.outcome and a.ids == b.ids


def difference(
    a: Side,
    b: Side,
    document: bytes,
    stand_ins: tuple[Side | None, Side | None] = (None, None),
    is_token: Callable[[bytes], bool] = lambda _: False,
    reaches: Callable[[bytes], bool] = lambda _: True,
) -> Difference | None:
    """The first differing token and decision; None where the sides do not differ.

    `stand_ins` are traced sides that gave the same ids as `a` and `b`: an oracle under the same variants speaks for an
    engine that is silent, and what is found so is still `inferred`. `is_token` says whether bytes are a token,
    `reaches` whether merging can form one.
    """
    if same(a, b):
        return None
    if a.outcome != "ids" or b.outcome != "ids":
        return ended_otherwise(a, b, document)
    own = a.told & b.told
    completed = [spoken_for(side, other) for side, other in zip((a, b), stand_ins, strict=True)]
    through = [
        other.name
        for side, whole, other in zip((a, b), completed, stand_ins, strict=True)
        if other is not None and whole is not side
    ]
    a, b = completed
    # The side that tells less is the one whose pieces are read against the other's trace.
    got, expected = (b, a) if b.told < a.told else (a, b)
    finding = explain(
        document,
        got.ids,
        expected.ids,
        pieces=by_id(a, b),
        trace_expected=tracer(expected),
        trace_got=None if got.decisions is None else tracer(got),
        is_token=is_token,
        reaches=reaches,
        stages=got.told & expected.told,
        got_name=got.name,
        expected_name=expected.name,
    )
    # A class is recorded with the scan, an id with the look-up.
    stage = {"classify": "scan", "id map": "lookup"}.get(finding.stage, finding.stage)
    traced = finding.signature.startswith("traced") and not {stage, finding.stage}.isdisjoint(own)
    sentence = finding.explanation.removeprefix("inferred: ")
    token = first_differing(a.ids, b.ids)
    if traced:
        return Difference(token, finding.stage, "traced", sentence, finding.signature)
    return Difference(token, finding.stage, "inferred", sentence, finding.signature, tuple(through))


def spoken_for(side: Side, other: Side | None) -> Side:
    """`side` with the decisions of `other`, an oracle that gave the same ids, in the stages that it says nothing of.

    These records are marked `inferred`, in the order of `other`'s. Where the two part in a stage that both tell of, the
    one does not speak for the other: `side` is returned as it is.
    """
    if other is None or other.decisions is None or other.ids != side.ids or side.told >= other.told:
        return side
    mine = [dict(decision) for decision in side.decisions or ()]
    theirs = [dict(decision) for decision in other.decisions]
    if first_difference(mine, theirs, stages=side.told & other.told) is not None:
        return side
    mine.sort(key=lambda decision: int(decision["offset"]))
    own = {stage: iter([each for each in mine if each["stage"] == stage]) for stage in side.told}
    found: list[Decision] = []
    for decision in theirs:
        if decision["stage"] not in own:
            found.append({**decision, "inferred": other.name})
        elif (spoken := next(own[decision["stage"]], None)) is not None:
            found.append(spoken)
    for rest in own.values():
        found += rest
    return replace(side, decisions=tuple(found), stages=side.told | other.told)


def by_id(*sides: Side) -> Callable[[int], bytes | None]:
    """A look-up from id to token bytes over the ids that the sides gave."""
    table = {number: token for side in sides for number, token in zip(side.ids, side.tokens, strict=True)}
    return table.get


def tracer(side: Side) -> Callable[[bytes], list[dict[str, Any]] | None]:
    """The side's recorded decisions, in the form that `explain` asks for them."""
    return lambda _: None if side.decisions is None else [dict(decision) for decision in side.decisions]


def ended_otherwise(a: Side, b: Side, document: bytes) -> Difference:
    """A side gave no ids: its end is the difference. A rejection is laid to the first ill-formed byte."""
    ends = "; ".join(f"{s.name}: {s.outcome}" + (f" ({s.detail})" if s.detail else "") for s in (a, b))
    kinds = ending(a.outcome, a.detail), ending(b.outcome, b.detail)
    bad = first_ill_formed(document)
    if "reject" in (a.outcome, b.outcome) and bad is not None:
        return Difference(
            None,
            "scan",
            "inferred",
            f"{ends}; the first ill-formed byte is {document[bad]:02x} at offset {bad}",
            str(Cause("ended", "scan", kinds)),
        )
    return Difference(None, "process", "traced", ends, str(Cause("ended", "process", kinds)))


def first_ill_formed(document: bytes) -> int | None:
    """Offset of the first byte in no well-formed UTF-8 sequence (Unicode Table 3-7); None: there is none."""
    try:
        document.decode("utf-8")  # Python's strict decoder implements Table 3-7
    except UnicodeDecodeError as error:
        return error.start
    return None


def aligned(a: Side, b: Side) -> list[tuple[int | None, int | None]]:
    """Token indices side by side: those that begin at one byte share a row; by index without spans."""
    if a.spans is None or b.spans is None:
        longest = max(len(a.ids), len(b.ids))
        return [(i if i < len(a.ids) else None, i if i < len(b.ids) else None) for i in range(longest)]
    rows: list[tuple[int | None, int | None]] = []
    i = j = 0
    while i < len(a.spans) or j < len(b.spans):
        left = a.spans[i][0] if i < len(a.spans) else None
        right = b.spans[j][0] if j < len(b.spans) else None
        take_left = right is None or (left is not None and left <= right)
        take_right = left is None or (right is not None and right <= left)
        rows.append((i if take_left else None, j if take_right else None))
        i, j = i + take_left, j + take_right
    return rows


def pretoken_spans(side: Side) -> list[Span] | None:
    """Byte spans of the pretokens and of special tokens, in order; None for a side that does not tell them."""
    if "pretokenize" not in side.told or side.decisions is None:
        return None
    found = [d for d in side.decisions if d["stage"] in ("pretokenize", "special")]
    return sorted((int(d["start"]), int(d["end"])) for d in found)
