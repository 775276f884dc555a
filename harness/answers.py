"""What an engine gives for one document, or should give: ids (all, or count and digest), a text, or another end."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from tokassay.harness.errors import InputError
from tokassay.harness.pieces import view

IDS, TEXT = "ids", "text"
# An answer is kept whole up to this many ids; past it, as count, ends and digest.
WHOLE = 256
ENDS = 4
MAX_ID = 2**32 - 1
OUTCOMES = (IDS, TEXT, "reject", "crash", "error", "timeout", "oom", "flaky", "unsupported")


@dataclass(frozen=True)
class Field:
    """What a field of a file may hold: whether a value is `right`, and in `words` what is. `each`: a list of such."""

    right: Callable[[Any], bool]
    words: str
    each: bool = False
    null: bool = False

    def wrong(self, value: Any) -> str:
        """What is wrong, as the end of a sentence about the field; "" where it is right."""
        if value is None and self.null:
            return ""
        if not self.each:
            return "" if self.right(value) else f"is {_shown(value)}"
        if not isinstance(value, list):
            return f"is {_shown(value)}, not a list"
        return next((f"has {_shown(one)} in place {n}" for n, one in enumerate(value, 1) if not self.right(one)), "")


def _shown(value: Any, most: int = 60) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= most else f"{text[:most]}…"


def check_fields(value: Any, fields: Mapping[str, Field], where: str, needed: Sequence[str] = ()) -> None:
    """That an object of a file has these fields only, those that are `needed`, and each as it must be. InputError."""
    from tokassay.harness.hosts import nearest

    if not isinstance(value, Mapping):
        raise InputError(f"it is {_shown(value)}", where=where, remedy="give an object (docs/FORMATS.md#vectors)")
    for name in value:
        if name not in fields:
            raise InputError(f"unknown field {name!r}", where=where, remedy=nearest(str(name), fields))
    for name in needed:
        if name not in value:
            raise InputError(f"no `{name}`", where=where, remedy=f"give `{name}`: {fields[name].words}")
    for name, given in value.items():
        if told := fields[name].wrong(given):
            raise InputError(f"`{name}` {told}", where=where, remedy=f"give {fields[name].words}")


def is_text(value: Any) -> bool:
    """Whether it is a text that can be written: a lone surrogate cannot."""
    return isinstance(value, str) and not re.search("[\ud800-\udfff]", value)


def is_hex(value: Any) -> bool:
    """Whether it is bytes in hex."""
    try:
        bytes.fromhex(value)
    except (TypeError, ValueError):
        return False
    return True


def is_number(value: Any, least: int = 0, most: int = MAX_ID) -> bool:
    """Whether it is a whole number; true and 1.0 are none."""
    return type(value) is int and least <= value <= most


ID_WORDS = f"ids, whole numbers from 0 to {MAX_ID}"
ANSWER_FIELDS: Mapping[str, Field] = {
    "outcome": Field(lambda value: value in OUTCOMES, " | ".join(OUTCOMES)),
    "detail": Field(is_text, "a text"),
    "ids": Field(is_number, ID_WORDS, each=True, null=True),
    "count": Field(is_number, "the number of ids"),
    "head": Field(is_number, ID_WORDS, each=True),
    "tail": Field(is_number, ID_WORDS, each=True),
    "ids_sha256": Field(
        lambda value: is_text(value) and re.fullmatch("[0-9a-f]{64}", value) is not None, "64 hex digits, small letters"
    ),
    "text_hex": Field(is_hex, "bytes in hex"),
}
ENDS_ONLY = ("count", "head", "tail", "ids_sha256")
HELD = ("ids", *ENDS_ONLY, "text_hex")


@dataclass(frozen=True)
class Answer:
    """How one document ended. `outcome` is `ids`, `text` (decoded), or what happened instead (reject, crash, error,
    timeout, oom, flaky).

    `ids` is None where there are none, or where only `count`, `head`, `tail` and `digest` are kept: SHA-256, hex, over
    the ids as u32 little-endian, or over the text. `detail` says more of an outcome, and takes no part in a comparison.
    """

    outcome: str = IDS
    detail: str = ""
    ids: tuple[int, ...] | None = None
    count: int = 0
    head: tuple[int, ...] = ()
    tail: tuple[int, ...] = ()
    digest: str = ""
    text: bytes = b""

    @classmethod
    def of(cls, ids: Sequence[int]) -> Answer:
        """The answer that these ids are."""
        made = tuple(ids)
        digest = sha256(struct.pack(f"<{len(made)}I", *made)).hexdigest()
        whole = made if len(made) <= WHOLE else None
        return cls(ids=whole, count=len(made), head=made[:ENDS], tail=made[-ENDS:], digest=digest)

    @classmethod
    def of_text(cls, text: bytes) -> Answer:
        """The answer that this text is."""
        return cls(TEXT, text=text, digest=sha256(text).hexdigest())

    def same(self, other: Answer) -> bool:
        """Whether both came to the same end: the same ids, or the same kind of failure or refusal."""
        return (self.outcome, self.digest) == (other.outcome, other.digest)

    def to_json(self) -> dict[str, Any]:
        """As a vector keeps it; `detail` only where there is one."""
        made: dict[str, Any] = {"outcome": self.outcome}
        if self.outcome == TEXT:
            return {**made, "text_hex": self.text.hex()}
        if self.outcome == IDS and self.ids is not None:
            made["ids"] = list(self.ids)
        elif self.outcome == IDS:
            made |= {"count": self.count, "head": list(self.head), "tail": list(self.tail), "ids_sha256": self.digest}
        return made | ({"detail": self.detail} if self.detail else {})

    @classmethod
    def from_json(cls, value: Mapping[str, Any], where: str) -> Answer:
        """The answer that `to_json` wrote; fields that are no answer's are left alone. Raises InputError."""
        mine = {name: value[name] for name in ANSWER_FIELDS if name in value}
        check_fields(mine, ANSWER_FIELDS, where)
        outcome = mine.get("outcome", "reject" if mine.get("ids", ()) is None else IDS)
        given = [name for name in HELD if mine.get(name) is not None]
        of_ids = ENDS_ONLY if "ids" not in given and set(given) & set(ENDS_ONLY) else ("ids",)
        needed = {IDS: of_ids, TEXT: ("text_hex",)}.get(outcome, ())
        lacking, idle = [one for one in needed if one not in given], [one for one in given if one not in needed]
        if lacking or idle:
            raise InputError(
                f"outcome {outcome} {'without' if lacking else 'with'} `{[*lacking, *idle][0]}`", where=where,
                remedy="give `ids`, or `count`, `head`, `tail` and `ids_sha256`, for the outcome ids; `text_hex` for "
                       "text; none of them for another",
            )
        detail = mine.get("detail", "")
        if outcome == TEXT:
            return cls.of_text(bytes.fromhex(mine["text_hex"]))
        if outcome != IDS:
            return cls(outcome, detail)
        if "ids" in given:
            return replace(cls.of(mine["ids"]), ids=tuple(mine["ids"]), detail=detail)
        return cls(IDS, detail, None, mine["count"], tuple(mine["head"]), tuple(mine["tail"]), mine["ids_sha256"])

    def told(self) -> str:
        """In one line."""
        if self.outcome == TEXT:
            return f"text {view(self.text)}" if self.text else "no text"
        if self.outcome != IDS:
            return self.outcome + (f" ({self.detail})" if self.detail else "")
        if self.ids is not None and self.count <= 4 * ENDS:
            return " ".join(map(str, self.ids)) or "no ids"
        ends = " … ".join(" ".join(map(str, part)) for part in (self.head, self.tail))
        return f"{ends} ({self.count:,} ids, SHA-256 {self.digest[:12]})"
