"""What a check of frozen ids came to: documents that differ by corpus, the first of them, and what else changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tokassay.harness.errors import AGREED, MISMATCH, NOTHING
from tokassay.harness.golden_file import Frozen, Golden
from tokassay.harness.pieces import one_line
from tokassay.harness.transformers_guard import Change

SHOWN_BYTES = 4096  # of a document, in hex


@dataclass(frozen=True)
class Divergence:
    """The first document on which an engine no longer gives the frozen ids.

    `token` is the place of the first differing id; -1: ids were not kept, and the document is the first of its block.
    `span` (bytes of the document) is where the ids differ, by what the engine says of its tokens now; None where it
    says nothing. `frozen` and `now` are ids around the place, which begin with that at `first`; an ending other than
    `ids` stands for a document without any.
    """

    number: int
    name: str
    document: bytes
    domain: str
    token: int
    first: int
    frozen: tuple[int, ...]
    now: tuple[int, ...]
    frozen_id: int | None
    now_id: int | None
    endings: tuple[str, str] = ("ids", "ids")
    detail: str = ""
    span: tuple[int, int] | None = None
    tokens: tuple[str | None, str | None] = (None, None)
    code_points: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "name": self.name,
            "domain": self.domain,
            "bytes": len(self.document),
            "hex": self.document[:SHOWN_BYTES].hex(),
            "text": one_line(self.document),
            "token": self.token,
            "frozen_id": self.frozen_id,
            "now_id": self.now_id,
            "frozen_token": self.tokens[0],
            "now_token": self.tokens[1],
            "first": self.first,
            "frozen": list(self.frozen),
            "now": list(self.now),
            "endings": list(self.endings),
            "detail": self.detail,
            "span": None if self.span is None else list(self.span),
            "code_points": list(self.code_points),
        }

    def lines(self) -> list[str]:
        """The divergence in words, a sentence a line."""
        if self.token < 0:
            return [f"first divergent block begins with document {self.name!r} (number {self.number}, {self.domain});"
                    " its ids were not kept, so that document and token are not known"]
        size = f"{len(self.document):,} bytes"
        said = [f"first divergent document: {self.name!r} (number {self.number}, {self.domain}, {size})"]
        said.append(f"  text  {one_line(self.document)}")
        shown = self.document[:60].hex(" ")
        said.append(f"  hex   {shown}" + (" ..." if len(self.document) > 60 else ""))
        if self.endings != ("ids", "ids"):
            detail = f" ({self.detail})" if self.detail else ""
            said.append(f"  frozen: {self.endings[0]}; now: {self.endings[1]}{detail}")
            return said
        pairs = zip((self.frozen_id, self.now_id), self.tokens, strict=True)
        old, new = (
            "nothing" if number is None else str(number) + (f" [{token}]" if token is not None else "")
            for number, token in pairs
        )
        said.append(f"  token {self.token}: id {old} is now {new}")
        for word, ids in (("frozen", self.frozen), ("now", self.now)):
            before = "... " if self.first else ""
            said.append(f"  {word:6} {before}{' '.join(map(str, ids))}")
        if self.span is not None:
            start, end = self.span
            part = self.document[start:end]
            said.append(f"  bytes {start}..{end}: {part[:40].hex(' ')}{' ...' if len(part) > 40 else ''}")
        said += [f"  {line}" for line in self.code_points]
        return said


@dataclass(frozen=True)
class Row:
    """A corpus that was asked again: documents that differ by domain, and the first of them.

    `refused`: of two different engines, the documents that one of them refuses; they are not compared.
    """

    corpus: Frozen
    differ: Mapping[str, int]
    first: Divergence | None = None
    refused: int = 0
    unsupported: str = ""

    @property
    def same(self) -> bool:
        return not self.unsupported and not any(self.differ.values())

    @property
    def compared(self) -> int:
        """Documents whose ids were held against the frozen ones."""
        return 0 if self.unsupported else self.corpus.documents - self.refused

    def to_json(self) -> dict[str, Any]:
        return {
            "corpus": self.corpus.spec,
            "specials": self.corpus.specials,
            "documents": self.corpus.documents,
            "same": self.same,
            "differ": sum(self.differ.values()),
            "domains": dict(self.differ),
            "refused": self.refused,
            "unsupported": self.unsupported,
            "first": None if self.first is None else self.first.to_json(),
        }

    def lines(self) -> list[str]:
        """What differs in this corpus, in words; empty where nothing does."""
        if self.unsupported:
            return [f"{self.corpus.name}: cannot be asked: {self.unsupported}"]
        if self.same or self.first is None:
            return []
        count = sum(self.differ.values())
        parts = ", ".join(f"{n:,} {domain}" for domain, n in self.differ.items() if n)
        said = [f"{self.corpus.name}: {count:,} of {self.corpus.documents:,} documents have other ids ({parts})"]
        if self.differ.get("unicode") == count:
            said.append(
                "each of them holds a code point that Unicode versions from 15.0 on class differently"
            )
        return said + self.first.lines()


@dataclass
class Checked:
    """A whole check. `changes`: what is not as it was when the file was made, in words, ids apart."""

    golden: Golden
    now: Mapping[str, str]
    rows: list[Row] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    settings: list[Change] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0 all as frozen, 1 ids or settings are not, 4 nothing could be compared."""
        if any(row.differ and any(row.differ.values()) for row in self.rows) or self.settings:
            return MISMATCH
        if not sum(row.compared for row in self.rows) or any(row.unsupported for row in self.rows):
            return NOTHING
        return AGREED

    @property
    def sentence(self) -> str:
        """The result in one sentence, from the counts."""
        frozen, now = (f"{side['name']} {side['version']}" for side in (self.golden.engine, self.now))
        who = now if now == frozen else f"{now} (frozen: {frozen})"
        wrong = [row for row in self.rows if any(row.differ.values())]
        documents = sum(row.compared for row in self.rows)
        parts = []
        if wrong:
            count = sum(sum(row.differ.values()) for row in wrong)
            where = listed([row.corpus.name for row in wrong])
            parts.append(f"{count:,} of {documents:,} documents have other ids, in {where}")
        elif documents:
            corpora = f"{len(self.rows)} corpora" if len(self.rows) > 1 else "1 corpus"
            parts.append(f"all {documents:,} documents of {corpora} have the frozen ids")
        else:
            parts.append("nothing was compared")
        if self.settings:
            parts.append(f"{len(self.settings)} settings of the tokenizer's files changed")
        if wrong and self.changes and self.changes[0].startswith("engine version"):
            alone = " alone" if len(self.changes) == 1 and not self.settings else ""
            parts.append(f"the engine's version{alone} changed")
        return f"{who}: {'; '.join(parts)}."

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": "tokassay.check/1",
            "file": str(self.golden.path),
            "vocabulary": dict(self.golden.vocabulary),
            "contract": self.golden.contract.digest,
            "frozen": {**self.golden.engine, "tokassay": self.golden.tokassay},
            "now": dict(self.now),
            "changes": self.changes,
            "settings": [change.to_json() for change in self.settings],
            "corpora": [row.to_json() for row in self.rows],
            "sentence": self.sentence,
            "exit_code": self.exit_code,
        }


def listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""
