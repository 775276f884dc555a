"""Reader of GPT-2's pair of files: `vocab.bpe` (merges) and `encoder.json` (ids), plain or gzipped."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from tokassay.harness.alphabet import from_alphabet
from tokassay.harness.errors import InputError
from tokassay.harness.parsed import Parsed, check_id, require_bytes
from tokassay.harness.vocab_tiktoken import sorted_specials
from tokassay.harness.vocabulary import Pair, settle_pairs

REFETCH = "the file is damaged or of another format: fetch it again and compare its SHA-256"
PARTNERS = (("vocab.bpe", "encoder.json"), ("merges.txt", "vocab.json"))


def partner(path: Path) -> tuple[Path, Path] | None:
    """(merges, ids) for either file of a pair, found by its name beside it; None where the name is of no pair."""
    for merges, ids in PARTNERS:
        if merges in path.name:
            return path, path.with_name(path.name.replace(merges, ids))
        if ids in path.name:
            return path.with_name(path.name.replace(ids, merges)), path
    return None


def read_merges(data: bytes, where: str) -> list[tuple[Pair, str]]:
    """The pairs in order, each with its place. A first line `#version` is passed over. Raises InputError."""
    pairs: list[tuple[Pair, str]] = []
    for number, line in enumerate(_text(data, where).split("\n"), 1):
        line = line.removesuffix("\r")
        if not line or (number == 1 and line.startswith("#version")):
            continue
        pairs.append((read_pair(line.split(" "), f"{where}:{number}"), f"{where}:{number}"))
    return pairs


def read_pair(parts: list[str], place: str) -> Pair:
    """Two alphabet strings as bytes. Raises InputError."""
    decoded = [decode(part) for part in parts]
    if len(decoded) != 2 or not decoded[0] or not decoded[1]:
        raise InputError("not a merge of two byte-alphabet strings", where=place, remedy=REFETCH)
    return decoded[0], decoded[1]


# A list of merges names each token many times over.
decode = lru_cache(maxsize=1 << 19)(from_alphabet)


def unique_merges(listed: list[tuple[Pair, str]], tokens: dict[bytes, int]) -> tuple[tuple[Pair, ...], list[str]]:
    """The merges whose parts and product are tokens, each once, and notes. Raises InputError.

    Of a merge listed twice the last place counts: so it is in GPT-2's own code and in tokenizers, which both put the
    list into a table.
    """
    seen: dict[Pair, str] = {}
    notes: list[str] = []
    for pair, place in listed:
        left, right = pair
        if not (left in tokens and right in tokens and left + right in tokens):
            token = next(token for token in (left, right, left + right) if token not in tokens)
            raise InputError(f"the merge needs {token!r}, which has no id", where=place, remedy=REFETCH)
        if pair in seen:
            notes.append(f"{place}: merge {pair[0]!r} {pair[1]!r} is listed twice; its last place counts")
            del seen[pair]
        seen[pair] = place
    return tuple(seen), notes


def read_json(data: bytes, where: str) -> Any:
    """JSON with duplicate keys refused. Raises InputError with line and column."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for place, key in enumerate(keys) if key in keys[:place])
            raise InputError(f"key {twice!r} is given twice", where=where, remedy=REFETCH)
        return table

    try:
        return json.loads(_text(data, where), object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON: {error.msg}", where=f"{where}:{error.lineno}:{error.colno}", remedy=REFETCH
        ) from None
    except RecursionError:
        raise InputError("nested too deeply", where=where, remedy=REFETCH) from None


def _text(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8", where=f"{where}, byte {error.start}", remedy=REFETCH) from None


def read_ids(table: Any, where: str) -> dict[str, int]:
    """A vocabulary object: string -> id, no id twice. Raises InputError."""
    if not isinstance(table, dict) or not table:
        raise InputError("not an object of token -> id", where=where, remedy=REFETCH)
    seen: dict[int, str] = {}
    for key, number in table.items():
        place = f"{where}[{key!r}]"
        if check_id(number, place) in seen:
            raise InputError(f"id {number} is also that of {seen[number]!r}", where=place, remedy=REFETCH)
        seen[number] = key
    return table


def parse(merges: bytes, ids: bytes, where: tuple[str, str], *, pretokenizer: tuple[str, ...]) -> Parsed:
    """The pair of files. An entry that is neither a byte nor made by a merge is a special token (`<|endoftext|>`)."""
    listed = read_merges(merges, where[0])
    table = read_ids(read_json(ids, where[1]), where[1])
    made = {left + right for (left, right), _ in listed}
    tokens: dict[bytes, int] = {}
    specials: dict[str, int] = {}
    for key, number in table.items():
        token = from_alphabet(key)
        if token is not None and (len(token) == 1 or token in made):
            tokens[token] = number
        else:
            specials[key] = number
    require_bytes(tokens, where[1])
    pairs, notes = unique_merges(listed, tokens)
    settled = settle_pairs(tokens, pairs, specials, ignore_merges=False)
    return Parsed(settled=settled, pretokenizer=pretokenizer, special_tokens=sorted_specials(specials), notes=notes)
