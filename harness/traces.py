"""A trace for a reader who knows UTF-8: every decision as one row, with what it means in words.

The words are made from the document's bytes and the record's own fields, never from an engine's private
path names, which are shown beside them as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tokassay.harness.alphabet import to_alphabet
from tokassay.harness.differ import Decision, Side
from tokassay.harness.pieces import bracketed
from tokassay.oracles.decisions import PREFIX_SPACE, STAGES

# One letter: the four classes of an engine that keeps no more; two: general categories, by their first letter.
CLASSES = {"L": "letter", "N": "number", "S": "white space", "O": "other"}
CATEGORIES = {
    "L": "letter",
    "M": "mark",
    "N": "number",
    "P": "punctuation",
    "S": "symbol",
    "Z": "separator",
    "C": "control or unassigned",
}
# Unicode Table 3-7: the second byte's range where it is narrower than 80..BF, and what the rest would make.
SECOND = {
    0xE0: (0xA0, 0xBF, "an overlong form"),
    0xED: (0x80, 0x9F, "a surrogate"),
    0xF0: (0x90, 0xBF, "an overlong form"),
    0xF4: (0x80, 0x8F, "above U+10FFFF"),
}
NUMBERS = ("no", "one", "two", "three", "four")
ORDINALS = ("", "first", "next", "third", "fourth")


@dataclass(frozen=True)
class Row:
    """One decision: where, at which stage, on which bytes, by which path, and what it means.

    `width` is proposed/accepted, `next` the offset a scan goes on from; a field that its stage lacks is ''. `inferred`
    says who told it, where it was not the engine itself.
    """

    offset: int
    stage: str
    path: str
    bytes: str
    width: str
    next: str
    meaning: str
    inferred: str = ""


def rows(decisions: Iterable[Decision], document: bytes, policy: str = "") -> list[Row]:
    """The rows of a trace, in the order of the decisions; `policy` is the byte policy they were taken under."""
    return [row(decision, document, policy) for decision in decisions]


def row(decision: Decision, document: bytes, policy: str = "") -> Row:
    """One decision as a row."""
    start, end = extent(decision, document)
    merged = str(decision["left"]) + str(decision["right"]) if decision["stage"] == "merge" else ""
    return Row(
        offset=start,
        stage=str(decision["stage"]),
        path=str(decision.get("rule") or decision.get("path") or ""),
        bytes=(bytes.fromhex(merged) or document[start:end]).hex(" "),
        width=f"{decision['proposed']}/{decision['accepted']}" if "proposed" in decision else "",
        next=str(decision.get("next", "")),
        meaning=meaning(decision, document, policy),
        inferred=str(decision.get("inferred", "")),
    )


def extent(decision: Decision, document: bytes) -> tuple[int, int]:
    """The byte span (start, end) that a decision is about. A merge's offset is its piece's, its position within; where
    it merges bytes that the document has not (a replacement, say), its span is empty, at the piece."""
    if "start" in decision and "end" in decision:
        return int(decision["start"]), int(decision["end"])
    start = int(decision.get("offset", 0))
    if decision["stage"] == "merge":
        merged = bytes.fromhex(str(decision["left"]) + str(decision["right"]))
        at = start + int(decision.get("position", 0))
        return (at, at + len(merged)) if document[at : at + len(merged)] == merged else (start, start)
    if "next" in decision:
        return start, int(decision["next"])
    return start, start + int(decision.get("accepted") or 0)


def meaning(decision: Decision, document: bytes, policy: str = "") -> str:
    """One decision in words."""
    stage = str(decision["stage"])
    start, end = extent(decision, document)
    piece = bracketed(document[start:end])
    if stage == "scan":
        return scanned(decision, document, policy)
    if stage == "classify":
        return named_class(str(decision.get("class", "")))
    if stage == "pretokenize":
        return f"the piece {piece}"
    if stage == "lookup":
        return f"{piece} is token {decision.get('id')}"
    if stage == "merge":
        left, right = (bytes.fromhex(str(decision[side])) for side in ("left", "right"))
        pair = f"{bracketed(left)} + {bracketed(right)}"
        return f"{pair} -> {bracketed(left + right)}, rank {decision.get('rank')}"
    if stage == "special":
        return f"{piece} is special token {decision.get('id')}"
    if stage == "normalize":
        return "a space is put before the text" if decision.get("path") == PREFIX_SPACE else f"{piece} is changed"
    return piece


def named_class(name: str) -> str:
    """`L` as `L (letter)`, `Lo` as `Lo (letter)`; `S` alone is White_Space."""
    word = CLASSES.get(name) or CATEGORIES.get(name[:1])
    return f"{name} ({word})" if word else name


def scanned(decision: Decision, document: bytes, policy: str) -> str:
    """What a scanner took and why: a well-formed sequence, or one byte and what was wrong with it."""
    start, end = extent(decision, document)
    taken = document[start:end]
    kind = f", class {named_class(str(decision['class']))}" if decision.get("class") else ""
    if not taken:
        return f"[{chr(int(decision.get('value', 0x20)))}] put before the text{kind}"
    try:
        points = " ".join(f"U+{ord(character):04X}" for character in taken.decode("utf-8"))
    except UnicodeDecodeError:
        return f"{fault(document, start)}: {stands_for(taken, policy)}{kind}"
    return f"{bracketed(taken)} {points}{kind}"


def stands_for(taken: bytes, policy: str) -> str:
    """What a byte policy makes of ill-formed bytes."""
    who = f"{taken.hex(' ').upper()} {'stands' if len(taken) == 1 else 'stand'}"
    if policy == "byte-alphabet" and len(taken) == 1:
        character = to_alphabet(taken)
        return f"{who} alone, as U+{ord(character):04X} {character} of the byte alphabet"
    if policy.startswith("replace"):
        return f"{who} for U+FFFD"
    return f"{who} alone" if len(taken) == 1 else f"{who} together"


def fault(document: bytes, at: int) -> str:
    """Why no well-formed UTF-8 sequence starts at `at`, where a byte of 80 or above is (Table 3-7)."""
    lead = document[at]
    if lead < 0xC0:
        return f"{lead:02X} is a continuation byte (80-BF), and no lead byte claims it"
    if lead in (0xC0, 0xC1):
        return f"{lead:02X} would lead an overlong form, and never occurs in UTF-8"
    if lead > 0xF4:
        return f"{lead:02X} never occurs in UTF-8"
    width = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    leads = f"{lead:02X} leads {NUMBERS[width]} bytes, but"
    low, high, else_it_is = SECOND.get(lead, (0x80, 0xBF, ""))
    for i in range(1, width):
        if at + i >= len(document):
            return f"{leads} the document ends after {NUMBERS[i]}"
        byte = document[at + i]
        which = f"the {ORDINALS[i + 1]} byte, {byte:02X}"
        if not 0x80 <= byte <= 0xBF:
            return f"{leads} {which}, is no continuation (80-BF)"
        if i == 1 and not low <= byte <= high:
            return f"{leads} {which}, is none of {low:02X}-{high:02X}: {else_it_is}"
    return f"{lead:02X} was not accepted"


def spoken(own: Collection[str], side: Side) -> str:
    """Which stages a side traced itself (`own`), and who told the others: `traced: scan, …; inferred from …: merge`."""
    told = [f"traced: {', '.join(ordered(own))}"] if own else []
    by: dict[str, set[str]] = {}
    for each in side.decisions or ():
        if "inferred" in each:
            by.setdefault(str(each["inferred"]), set()).add(str(each["stage"]))
    told += [f"inferred from {who}: {', '.join(ordered(stages))}" for who, stages in by.items()]
    return "; ".join(told) or "it tells nothing"


def ordered(stages: Collection[str]) -> list[str]:
    """Stages in the pipeline's order."""
    return [stage for stage in STAGES if stage in stages]
