"""Ids from the command line, and the bytes they stand for."""

from __future__ import annotations

from collections.abc import Sequence

from tokassay.harness.errors import InputError
from tokassay.harness.load import Loaded
from tokassay.harness.vocabulary import MAX_ID


def parse_ids(words: Sequence[str]) -> list[int]:
    """Ids from decimal numbers; commas and brackets around them are let pass. Raises InputError with the position."""
    numbers: list[int] = []
    for word in " ".join(words).replace(",", " ").replace("[", " ").replace("]", " ").split():
        where = f"id {len(numbers) + 1}"
        if not (word.isascii() and word.isdigit()):
            raise InputError(f"{word!r} is not an id", where=where, remedy="ids are whole numbers from 0 on")
        if int(word) > MAX_ID:
            raise InputError(f"{word} is not an id", where=where, remedy=f"ids go up to {MAX_ID}")
        numbers.append(int(word))
    return numbers


def token_bytes(loaded: Loaded, numbers: Sequence[int]) -> list[bytes]:
    """The bytes of each id, special tokens as their text. Raises InputError with the position of an unknown one."""
    if loaded.unmodelled:
        raise InputError(
            f"this vocabulary is not modelled: {loaded.unmodelled[0]}",
            where=str(loaded.source_path),
            remedy="decode with the engine that the file belongs to",
        )
    table = loaded.vocabulary.ids()
    table.update((number, text.encode("utf-8")) for text, number, _ in loaded.contract.added_tokens)
    pieces: list[bytes] = []
    for position, number in enumerate(numbers, 1):
        if number not in table:
            raise InputError(
                f"{loaded.name} has no token {number}", where=f"id {position}", remedy=f"its ids go up to {max(table)}"
            )
        pieces.append(table[number])
    return pieces
