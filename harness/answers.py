"""What an engine gives for one document, or should give: ids (all, or count and digest), a text, or another end."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from tokassay.harness.errors import InputError
from tokassay.harness.pieces import view

IDS, TEXT = "ids", "text"
# An answer is kept whole up to this many ids; past it, as count, ends and digest.
WHOLE = 256
ENDS = 4


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
        """The answer that `to_json` wrote. Raises InputError."""
        try:
            outcome = str(value.get("outcome", "reject" if value.get("ids", ()) is None else IDS))
            detail = str(value.get("detail", ""))
            if outcome == TEXT:
                return cls.of_text(bytes.fromhex(value["text_hex"]))
            if outcome != IDS:
                return cls(outcome, detail)
            if "ids" in value:
                made = cls.of([int(number) for number in value["ids"]])
                return cls(IDS, detail, tuple(map(int, value["ids"])), made.count, made.head, made.tail, made.digest)
            head, tail = (tuple(map(int, value[name])) for name in ("head", "tail"))
            return cls(IDS, detail, None, int(value["count"]), head, tail, str(value["ids_sha256"]))
        except (KeyError, TypeError, ValueError, struct.error) as error:
            raise InputError(
                f"not an answer: {type(error).__name__} {error}", where=where,
                remedy="give `outcome`, and for ids `ids`, or `count`, `head`, `tail` and `ids_sha256`",
            ) from None

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
