"""From a differing document to one sentence: the stage, the first differing decision, and a small piece of the input.

A finding is the detail of one document's verdict; findings of one signature become one divergence. Where both sides
can be traced the sentence is made from their decisions, elsewhere it is inferred from the pieces, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tokassay.harness.signature import NONE, Cause, Pair, around, ending, traced
from tokassay.oracles.decisions import IN_WORDS, STAGES, Difference, first_difference

Decisions = list[dict[str, Any]]
Tracer = Callable[[bytes], Decisions | None]

WINDOW = 256  # bytes of the input that a finding shows
AROUND = 4  # ids shown on either side of the first differing token
NEAR = 4  # bytes after a token in which an ill-formed one may have moved its border: a character's width
SHORT = 64  # bytes of a piece that nobody cuts by length
NOT_ISOLATED = "not isolated"  # how a failure begins that stands for a block's documents
TIMED = ", only when timed"  # how the name ends of a document that is right when it is asked again, alone
LEADING = {"pretokenize", "merge"}  # the stages that tokens follow from: without them a token says nothing of its cause
TRACED = 16384  # longest document that is traced; a trace holds some two records a byte


@dataclass(frozen=True)
class Finding:
    """Why one document is not a match. `token` is the index of the first differing token, None where there is none."""

    signature: str
    stage: str
    explanation: str
    input: str
    token: int | None
    got: list[int]
    expected: list[int]

    def detail(self) -> dict[str, Any]:
        return asdict(self)


def first_differing(a: Sequence[int], b: Sequence[int]) -> int:
    """The index of the first place where two sequences are not the same."""
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return i
    return min(len(a), len(b))


def explain(
    document: bytes,
    got: Sequence[int],
    expected: Sequence[int],
    *,
    got_status: int = 0,
    expected_status: int = 0,
    pieces: Callable[[int], bytes | None],
    trace_expected: Tracer,
    trace_got: Tracer | None,
    is_token: Callable[[bytes], bool] = lambda _: False,
    reaches: Callable[[bytes], bool] = lambda _: True,
    stages: Collection[str] | None = None,
    got_name: str = "the engine",
    expected_name: str = "the oracle",
) -> Finding:
    """The finding for one document.

    `pieces(id)` gives a token's bytes, None for an id that the vocabulary does not have; `is_token` says whether bytes
    are a token, `reaches` whether merging can form one. `trace_got` is None for an engine that cannot be traced: the
    stage is then inferred from where its tokens end. `stages` are those that both traces speak of (first_difference).
    """
    token = first_differing(got, expected)
    window, start = _window(document, expected, token, pieces)
    near = slice(max(0, token - AROUND), token + AROUND)
    shown: dict[str, Any] = {
        "input": window.hex(),
        "token": token,
        "got": list(got[near]),
        "expected": list(expected[near]),
    }
    if got_status != expected_status:
        names = ("gives ids", "rejects it", "fails on it")
        sentence = f"{got_name} {names[got_status]}, {expected_name} {names[expected_status]}"
        cause = Cause("ended", "scan", (names[got_status], names[expected_status]))
        return Finding(str(cause), cause.stage, sentence, **(shown | {"token": None}))
    theirs = trace_expected(document) if len(document) <= TRACED else None
    ours = trace_got(document) if trace_got is not None and theirs is not None else None
    agreed: Collection[str] = ()
    if theirs is not None and ours is not None:
        difference = first_difference(ours, theirs, (got_name, expected_name), stages)
        leading = {"pretokenize"} if _in_words(theirs) else LEADING
        if difference is not None and (stages is None or difference.stage != "lookup" or set(stages) >= leading):
            bad = _bad_scan(difference, document) if stages is not None and "scan" not in stages else None
            if bad is not None:
                # Pieces that part behind an ill-formed byte, and a side that does not tell how it scanned it.
                why = f"{difference.explanation}, after the ill-formed byte {document[bad]:02X} at {bad}"
                return _inferred("scan", f"inferred: {why}", shown)
            cause = traced(difference, theirs)
            return Finding(str(cause), cause.stage, difference.explanation, **shown)
        # Decisions from which the same ids would follow are not those that gave these: they say nothing of any stage.
        if stages is not None and not (difference is None and set(stages) >= leading):
            before = STAGES if difference is None else STAGES[: STAGES.index(difference.stage)]
            agreed = [stage for stage in before if stage in stages]
    if theirs is not None and _in_words(theirs):
        return _infer_word(theirs, got, expected, token, pieces, shown, got_name, expected_name)
    following = pieces(got[token + 1]) if token + 1 < len(got) else None
    border = following is not None and is_token((pieces(got[token]) or b"") + following)
    mine = pieces(got[token]) if token < len(got) else None
    beyond = mine is not None and is_token(mine) and not reaches(mine)
    return _infer(
        document, start, got, expected, token, pieces, theirs, border, beyond, shown, got_name, expected_name, agreed
    )


def _in_words(decisions: Decisions) -> bool:
    """Whether these are decisions of WordPiece, whose tokens' bytes are not the document's."""
    return any(each.get("path") in IN_WORDS for each in decisions)


def _infer_word(
    decisions: Decisions,
    got: Sequence[int],
    expected: Sequence[int],
    token: int,
    pieces: Callable[[int], bytes | None],
    shown: dict[str, Any],
    got_name: str,
    expected_name: str,
) -> Finding:
    """Tokens alone do not tell whether a stage before the look-up or the look-up itself is to blame: the last one it is
    told by."""
    given = [each for each in decisions if each["stage"] in ("special", "lookup")]
    mine, right = (pieces(ids[token]) if token < len(ids) else b"" for ids in (got, expected))
    if mine is None:
        sentence = f"inferred: {got_name} gives id {got[token]}, which the vocabulary does not have"
        return _inferred("id map", sentence, shown, ("unknown id", ""))
    place = f"at byte {given[token]['start']}" if token < len(given) else "behind the last word"
    how = str(given[token].get("path", "")) if token < len(given) else ""
    sentence = f"inferred: {place} {got_name} has {_quoted(mine)}, {expected_name} {_quoted(right)}"
    return _inferred("lookup", sentence + (f" ({how})" if how else ""), shown, ("", how))


def _bad_scan(difference: Difference, document: bytes) -> int | None:
    """The place of the ill-formed byte before two pieces part; None where there is none, or where it is not pieces."""
    if difference.stage != "pretokenize":
        return None
    ends = [int(each["end"]) for each in (difference.left, difference.right) if each is not None]
    return _ill_formed_before(document, min(ends) + NEAR)


def process_finding(verdict: str, why: str, document: bytes) -> Finding:
    """The finding for a document that brought its host down, or made the engine raise."""
    # One that was not isolated did not show it by itself, and is no witness.
    alone = not why.startswith(NOT_ISOLATED)
    how = why if alone else why.partition(": ")[2]
    cause = Cause("ended", "process", (ending(verdict, how), "" if alone else NOT_ISOLATED))
    return Finding(str(cause), cause.stage, why, document[:WINDOW].hex(), None, [], [])


def _window(
    document: bytes, expected: Sequence[int], token: int, pieces: Callable[[int], bytes | None]
) -> tuple[bytes, int]:
    """The part of the document around the first differing token, and the byte offset of that token."""
    start = sum(len(pieces(i) or b"") for i in expected[:token])
    if len(document) <= WINDOW:
        return document, start
    first = max(0, min(start - WINDOW // 4, len(document) - WINDOW))
    return document[first : first + WINDOW], start


def _infer(
    document: bytes,
    start: int,
    got: Sequence[int],
    expected: Sequence[int],
    token: int,
    pieces: Callable[[int], bytes | None],
    decisions: Decisions | None,
    border: bool,
    beyond: bool,
    shown: dict[str, Any],
    got_name: str,
    expected_name: str,
    agreed: Collection[str] = (),
) -> Finding:
    """The stage, from where the engine's first differing token ends and which pretoken of the oracle it lies in. Those
    that are `agreed` were decided alike."""
    mine = pieces(got[token]) if token < len(got) else b""
    right = pieces(expected[token]) if token < len(expected) else b""
    what = f"at byte {start} {got_name} has {_quoted(mine)}, {expected_name} {_quoted(right)}"
    if mine is None:
        sentence = f"inferred: {got_name} gives id {got[token]}, which the vocabulary does not have"
        return _inferred("id map", sentence, shown, ("unknown id", ""))
    if mine == right:
        return _inferred("id map", f"inferred: {what}: the same bytes under another id", shown)
    # Pieces of normalized text are cut by nobody and do not make up the document: nothing follows from where they end.
    cut = not decisions or any(d["stage"] in ("special", "pretokenize") for d in decisions)
    if cut and right == document[start : start + len(right or b"")] and mine != document[start : start + len(mine)]:
        return _inferred("id map", f"inferred: {what}: not the bytes that are there", shown, ("other bytes", ""))
    here = [d for d in decisions or () if d["stage"] in ("special", "pretokenize") and d["start"] <= start < d["end"]]
    place = here[0] if here else None
    end = start + len(mine)
    stage, why, kinds, classes = "merge", "", NONE, NONE
    cut_alike = "pretokenize" in agreed
    if place is not None and place["stage"] == "special":
        stage, why = "special", f"{expected_name} has special token {place['id']} there"
    elif place is not None and not cut_alike and (end > place["end"] or not mine):
        stage = "pretokenize"
        why = f"it leaves the pretoken [{place['start']}, {place['end']}) of rule {place.get('rule', '')}"
        kinds, classes = ("", str(place.get("rule", ""))), around(decisions or (), place["end"])
    elif beyond:
        stage, why = "lookup", f"no merging forms {_quoted(mine)} from its bytes, so it was looked up"
    elif cut and border and not cut_alike and not _one_kind(place, decisions or (), end):
        # Exact merging would have joined the two: the engine must have cut its pieces there.
        stage, why = "pretokenize", f"it does not join what follows, so it has a border at byte {end}"
        why += f" where {expected_name} has none"
        kinds, classes = ("", str((place or {}).get("rule", ""))), around(decisions or (), end)
    elif place is not None and (start, end) == (place["start"], place["end"]) and len(mine) > 1:
        stage, why = "lookup", "it takes the pretoken whole, which merging leaves in more than one token"
    bad = _ill_formed_before(document, end + NEAR)
    # No wrong scan makes merging form a token that is beyond it.
    if bad is not None and stage != "special" and not cut_alike and not beyond:
        # Inferred, so the likelier of two: what is wrong after an ill-formed byte is wrong because of it. Which of
        # several it was is a guess, and so is no part of what the fault is called.
        stage, why = "scan", f"{why + ', ' if why else ''}after the ill-formed byte {document[bad]:02X} at {bad}"
        kinds, classes = NONE, NONE
    return _inferred(stage, f"inferred: {what}" + (f"; {why}" if why else ""), shown, kinds, classes)


def _inferred(stage: str, sentence: str, shown: dict[str, Any], kinds: Pair = NONE, classes: Pair = NONE) -> Finding:
    return Finding(str(Cause("inferred", stage, kinds, classes)), stage, sentence, **shown)


def _one_kind(piece: dict[str, Any] | None, decisions: Iterable[dict[str, Any]], cut: int) -> bool:
    """Whether a cut lies in a short piece between two characters of one category: no pretokenizer cuts there, unless by
    length, so that it must be a merge that was left out."""
    before, after = around(decisions, cut, str)
    return piece is not None and piece["end"] - piece["start"] <= SHORT and before == after != ""


def _ill_formed_before(document: bytes, end: int) -> int | None:
    """The place of the last ill-formed byte before `end`, None where there is none."""
    at, found = 0, None
    for character in document.decode("utf-8", "surrogateescape"):
        if at >= end:
            break
        if 0xDC80 <= ord(character) <= 0xDCFF:
            found = at
        at += 1 if found == at else len(character.encode())
    return found


def _quoted(piece: bytes | None) -> str:
    if piece is None:
        return "an unknown id"
    return repr(piece)[1:] if piece else "nothing"
