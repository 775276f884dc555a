"""A trace for a reader who knows UTF-8: every decision as one row, with what it means in words.

The words are made from the document's bytes and the record's own fields, never from an engine's private
path names, which are shown beside them as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tokassay.harness.pieces import bracketed

CLASSES = {"L": "letter", "N": "number", "S": "white space", "O": "other"}
MAJOR = {
    "L": "letter",
    "M": "mark",
    "N": "number",
    "P": "punctuation",
    "S": "symbol",
    "Z": "separator",
    "C": "control",
}


@dataclass(frozen=True)
class Row:
    """One decision: where, at which stage, by which path, and what it means."""

    offset: int
    stage: str
    path: str
    bytes: str
    width: str
    value: str
    kind: str
    next: str
    meaning: str


def rows(decisions: Iterable[Mapping[str, Any]], document: bytes) -> list[Row]:
    """The rows of a trace, in the order of the decisions."""
    return [row(decision, document) for decision in decisions]


def row(decision: Mapping[str, Any], document: bytes) -> Row:
    """One decision as a row; a field that its stage does not have is ''."""
    stage = str(decision["stage"])
    start, end = extent(decision)
    width = f"{decision['proposed']}/{decision['accepted']}" if "proposed" in decision else ""
    return Row(
        offset=int(decision.get("offset", start)),
        stage=stage,
        path=str(decision.get("path") or decision.get("rule") or ""),
        bytes=document[start:end].hex(" "),
        width=width,
        value=shown_value(decision.get("value")),
        kind=str(decision.get("class") or ""),
        next=str(decision.get("next", "")),
        meaning=meaning(decision, document),
    )


def extent(decision: Mapping[str, Any]) -> tuple[int, int]:
    """The byte span (start, end) that a decision is about."""
    if "start" in decision and "end" in decision:
        return int(decision["start"]), int(decision["end"])
    start = int(decision.get("offset", 0))
    if "left" in decision and "right" in decision:
        return start, start + len(decision["left"]) // 2 + len(decision["right"]) // 2
    return start, start + int(decision.get("accepted") or 0)


def shown_value(value: object) -> str:
    """A code point as U+0041; anything else as it is."""
    return f"U+{value:04X}" if isinstance(value, int) else str(value or "")


def meaning(decision: Mapping[str, Any], document: bytes) -> str:
    """One decision in words."""
    stage = str(decision["stage"])
    start, end = extent(decision)
    piece = bracketed(document[start:end])
    if stage == "scan":
        return scanned(decision, document, start, end)
    if stage == "classify":
        return f"{piece} is {named_class(str(decision.get('class', '')))}"
    if stage == "pretokenize":
        return f"the piece {piece}"
    if stage == "lookup":
        return f"{piece} is token {decision.get('id')}"
    if stage == "merge":
        left, right = (bytes.fromhex(str(decision.get(side, ""))) for side in ("left", "right"))
        pair = f"{bracketed(left)} + {bracketed(right)}"
        return f"{pair} -> {bracketed(left + right)}, rank {decision.get('rank')}"
    if stage == "special":
        return f"{piece} is the special token {decision.get('id')}"
    return piece if end > start else ""


def named_class(name: str) -> str:
    """`L` as `L (letter)`, `Lo` as `Lo (letter)`."""
    word = CLASSES.get(name) or MAJOR.get(name[:1])
    return f"{name} ({word})" if word else name


def scanned(decision: Mapping[str, Any], document: bytes, start: int, end: int) -> str:
    """What a scanner took and why: a well-formed sequence, or one byte and what was wrong with it."""
    value = decision.get("value")
    taken = document[start:end]
    try:
        character = taken.decode("utf-8")
    except UnicodeDecodeError:
        stands = f", stands for {shown_value(value)}" if isinstance(value, int) and value > 0xFF else ""
        return f"ill-formed: {fault(document, start)}; taken alone{stands}"
    points = " ".join(f"U+{ord(c):04X}" for c in character)
    return f"{bracketed(taken)} {points}, {len(taken)} byte(s), well-formed"


def fault(document: bytes, at: int) -> str:
    """Why no well-formed UTF-8 sequence starts at `at`, where a byte of 80 or above is (Table 3-7)."""
    lead = document[at]
    if lead < 0xC0:
        return f"{lead:02x} is a continuation byte, and no lead byte claims it"
    if lead in (0xC0, 0xC1):
        return f"{lead:02x} would begin an overlong form"
    if lead > 0xF4:
        return f"{lead:02x} never occurs in UTF-8"
    width = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    low, high = SECOND.get(lead, (0x80, 0xBF))
    for i in range(1, width):
        want = f"{low:02x}-{high:02x}" if i == 1 else "80-bf"
        if at + i >= len(document):
            return f"{lead:02x} leads {width} bytes, and the document ends after {i}"
        byte = document[at + i]
        if not (low <= byte <= high if i == 1 else 0x80 <= byte <= 0xBF):
            return f"{lead:02x} leads {width} bytes, and byte {i + 1} must be {want} but is {byte:02x}"
    return f"{lead:02x} was not accepted"


# Unicode Table 3-7: the second byte's range where it is narrower than 80..BF.
SECOND = {0xE0: (0xA0, 0xBF), 0xED: (0x80, 0x9F), 0xF0: (0x90, 0xBF), 0xF4: (0x80, 0x8F)}
