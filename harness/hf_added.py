"""The added tokens of a tokenizer.json: special tokens, other added tokens, flags, and what is wrong with their
ids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tokassay.harness.contract import ADDED_FLAGS, AddedToken
from tokassay.harness.errors import InputError
from tokassay.harness.parsed import check_id
from tokassay.harness.vocab_gpt2 import REFETCH


@dataclass
class Added:
    """`specials` are the plain special tokens by id; `others` are non-special or flagged ones by id."""

    specials: tuple[tuple[str, int], ...] = ()
    others: tuple[AddedToken, ...] = ()
    notes: list[str] = field(default_factory=list)
    unmodelled: list[str] = field(default_factory=list)

    def texts(self) -> dict[str, int]:
        """Text -> id of all of them."""
        return dict(self.specials) | {text: number for text, number, _ in self.others}


@dataclass(frozen=True)
class _Row:
    text: str
    number: int
    special: bool
    flags: tuple[str, ...]


def read_added(rows: Any, table: dict[str, int], normalizer: str, where: str) -> Added:
    """`rows` is the file's `added_tokens`, `table` its `model.vocab`. Raises InputError with the JSON path."""
    added = Added()
    if not isinstance(rows or [], list):
        raise InputError("not a list", where=f"{where}: added_tokens", remedy=REFETCH)
    read = [_row(row, f"{where}: added_tokens[{place}]") for place, row in enumerate(rows or [])]
    _check_twice(read, where)
    owners = {number: key for key, number in table.items()}
    for place, row in enumerate(read):
        known = table.get(row.text)
        here = f"added_tokens[{place}]"
        if known is not None and known != row.number:
            added.unmodelled.append(f"{here}: {row.text!r} has id {row.number}, in model.vocab {known}")
        elif known is None and row.number in owners:
            added.unmodelled.append(f"{here}: id {row.number} is that of {owners[row.number]!r}")
    _note_gap(read, table, added)
    drop = "normalized" if normalizer == "none" and not _apart(read) else None
    flagged = [(row, tuple(flag for flag in row.flags if flag != drop)) for row in read]
    flagged.sort(key=lambda pair: pair[0].number)
    added.specials = tuple((row.text, row.number) for row, flags in flagged if row.special and not flags)
    added.others = tuple((row.text, row.number, flags) for row, flags in flagged if flags or not row.special)
    if read:
        added.notes.append(f"the file itself matches its {len(read)} added tokens in text: that is specials = on")
    return added


def _row(row: Any, place: str) -> _Row:
    if not isinstance(row, dict) or not isinstance(row.get("content"), str) or not row["content"]:
        raise InputError("no content", where=place, remedy=REFETCH)
    flags = tuple(flag for flag in ADDED_FLAGS if row.get(flag, flag == "normalized" and not row.get("special")))
    return _Row(row["content"], check_id(row.get("id"), f"{place}.id"), bool(row.get("special")), flags)


def _check_twice(rows: Iterable[_Row], where: str) -> None:
    texts: set[str] = set()
    numbers: set[int] = set()
    for place, row in enumerate(rows):
        if row.text in texts or row.number in numbers:
            what = repr(row.text) if row.text in texts else f"id {row.number}"
            raise InputError(f"{what} is added twice", where=f"{where}: added_tokens[{place}]", remedy=REFETCH)
        texts.add(row.text)
        numbers.add(row.number)


def _note_gap(rows: list[_Row], table: dict[str, int], added: Added) -> None:
    """The library numbers added tokens on from the vocabulary's size, so an id past a gap is renumbered there."""
    expected = len(table)
    for row in rows:
        if row.text in table:
            continue
        if row.number != expected:
            gap = f"added token {row.text!r} has id {row.number} after a gap: tokenizers gives it {expected}"
            added.notes.append(gap)
            return
        expected += 1


def _apart(rows: list[_Row]) -> bool:
    """Whether the two passes, raw tokens first, can give other matches than one leftmost-longest pass.

    Without a normalizer they differ only where a normalized and a raw token overlap, or where one is refused for a
    neighbour (`single_word`) that may be the other: a pass does not see the other's tokens.
    """
    kinds = {"normalized" in row.flags for row in rows}
    return len(kinds) > 1 and (any("single_word" in row.flags for row in rows) or _overlap(rows))


def _overlap(rows: list[_Row]) -> bool:
    """Whether a normalized and a raw added token can overlap in a text."""
    raw = [row.text for row in rows if "normalized" not in row.flags]
    normal = [row.text for row in rows if "normalized" in row.flags]
    if not raw or not normal:
        return False
    heads = ({text[:n] for text in group for n in range(1, len(text) + 1)} for group in (raw, normal))
    tails = ({text[n:] for text in group for n in range(len(text))} for group in (raw, normal))
    raw_heads, normal_heads = heads
    raw_tails, normal_tails = tails
    if raw_tails & normal_heads or normal_tails & raw_heads:
        return True
    return any(a in b or b in a for a in raw for b in normal)
