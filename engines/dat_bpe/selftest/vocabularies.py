"""The embedded vocabularies' tables, each entry derived again from the rank file and the rules of each table."""

from __future__ import annotations

import random
from base64 import b64decode
from collections.abc import Iterator
from functools import cache, partial
from importlib.resources import files
from typing import Any

import numpy
from tokassay.engines.dat_bpe.selftest.checks import Check, equal, none_of
from tokassay.engines.dat_bpe.selftest.profile import (
    NONE,
    U64,
    Words,
    cut_bit,
    encoder_of,
    has_bit,
    pair_hash,
    profile_of,
    word_hash,
)

FILES = {"gpt2": "r50k_base", "cl100k_base": "cl100k_base", "o200k_base": "o200k_base"}
SHORT, SAMPLE = 4, 60  # bytes of tokens that are all merged again; longer ones a length
INDEX = 21


@cache
def ranks_of(name: str) -> dict[bytes, int]:
    """Token bytes -> rank, read here and not by the encoder's reader."""
    data = (files("tokassay.fixtures") / "vocab" / f"{FILES[name]}.tiktoken").read_bytes()
    return {b64decode(token): int(rank) for token, rank in (line.split() for line in data.splitlines())}


@cache
def in_order(name: str) -> list[bytes]:
    """The tokens by their index: ascending rank."""
    return sorted(ranks_of(name), key=ranks_of(name).__getitem__)


@cache
def _lists(name: str) -> tuple[list[int], list[int], list[int]]:
    nodes, values = profile_of(name).sections["nodes"], profile_of(name).sections["values"]
    return nodes[0::2].tolist(), nodes[1::2].tolist(), values.tolist()


@cache
def _by_first(name: str) -> dict[int, list[bytes]]:
    found: dict[int, list[bytes]] = {}
    for token in in_order(name):
        found.setdefault(token[0], []).append(token)
    return found


@cache
def _by_length(name: str) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for index, token in enumerate(in_order(name)):
        found.setdefault(len(token), []).append(index)
    return found


@cache
def _index(name: str) -> dict[bytes, int]:
    return {token: index for index, token in enumerate(in_order(name))}


def _found_check(name: str, first: int) -> str:
    """token_id and token_bytes of every token, and the ids' row and text of the profile."""
    tables, ranks, section = encoder_of(name)._tables, ranks_of(name), profile_of(name).sections
    wrong = []
    for token in _by_first(name)[first]:
        rank, index = ranks[token], _index(name)[token]
        start, stop = int(section["offsets"][index]), int(section["offsets"][index + 1])
        held = section["text"][start:stop].tobytes()
        told = tables.find(token), tables.token_bytes(rank)
        if told != (rank, token) or (held, int(section["ids"][index])) != (token, rank):
            wrong.append(token)
    return none_of(wrong)


def _walk_check(name: str, first: int) -> str:
    """t = BASE[s] + c with CHECK[t] = s, byte by byte; a value where a token ends, none where only a prefix does."""
    base, check, values = _lists(name)
    index, wrong, seen = _index(name), [], set()
    for token in _by_first(name)[first]:
        state = 0
        for depth, byte in enumerate(token, 1):
            step = base[state] + byte
            if not 0 <= step < len(check) or check[step] != state:
                wrong.append(token)
                break
            state = step
            if state not in seen:
                seen.add(state)
                if values[state] != index.get(token[:depth], NONE):
                    wrong.append(token[:depth])
    return none_of(wrong)


def _states_check(name: str) -> str:
    """As many used slots as there are prefixes, as many values as tokens: nothing is in the arrays besides."""
    _, check, values = _lists(name)
    prefixes = {token[:end] for token in in_order(name) for end in range(1, len(token) + 1)}
    return equal(sum(each >= 0 for each in check), len(prefixes)) or equal(
        sum(value != NONE for value in values), len(in_order(name)))


def _last_merge(name: str, token: bytes) -> tuple[bytes, bytes] | None:
    """What merging joins last to this token; None if it does not get there. The rule itself: of all neighbours whose
    joined bytes are a token, the one of the lowest rank, leftmost."""
    ranks, parts = ranks_of(name), [bytes([byte]) for byte in token]
    last = None
    while len(parts) > 1:
        joined = [ranks.get(parts[i] + parts[i + 1], NONE) for i in range(len(parts) - 1)]
        least = min(joined)
        if least == NONE:
            return None
        at = joined.index(least)
        last = parts[at], parts[at + 1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return last


@cache
def _pairs(name: str) -> tuple[Words, Words, Words, Words]:
    """(slot, left, right, merged) of each pair in the table."""
    slots = profile_of(name).sections["pairs"].astype(numpy.uint64)
    places = numpy.flatnonzero(slots != U64(2**64 - 1)).astype(numpy.uint64)
    used, mask = slots[places], U64((1 << INDEX) - 1)
    return places, used >> U64(2 * INDEX), used >> U64(INDEX) & mask, used & mask


@cache
def _pair_of(name: str) -> dict[int, tuple[int, int]]:
    _, left, right, merged = _pairs(name)
    return dict(zip(merged.tolist(), zip(left.tolist(), right.tolist(), strict=True), strict=True))


def _joined_check(name: str, length: int) -> str:
    """Every token of this length has one pair, whose bytes join to it, and the same parts in `splits`; it is marked as
    reached; and `shorter` is its longest proper prefix that is a token (all are reached)."""
    tokens, section, pair_of = in_order(name), profile_of(name).sections, _pair_of(name)
    splits, shorter, flags, wrong = section["splits"], section["shorter"], section["flags"], []
    for index in _by_length(name)[length]:
        token = tokens[index]
        pair = pair_of.get(index)
        parts = (int(splits[2 * index]), int(splits[2 * index + 1]))
        if length == 1:
            good = pair is None and parts == (NONE, NONE) and section["bytes"][token[0]] == index
        else:
            good = pair is not None and pair == parts and tokens[pair[0]] + tokens[pair[1]] == token
        prefix = next((token[:end] for end in range(length - 1, 0, -1) if token[:end] in _index(name)), b"")
        good = good and int(shorter[index]) == _index(name).get(prefix, NONE) and flags[index] == 1
        if not good:
            wrong.append(token)
    return none_of(wrong)


def _merged_check(name: str, length: int) -> str:
    """The pair is what plain merging joins last: for all short tokens, for a sample of each longer length."""
    tokens, indexes = in_order(name), _by_length(name)[length]
    if length > SHORT and len(indexes) > SAMPLE:
        indexes = random.Random(length).sample(indexes, SAMPLE)
    wrong = []
    for index in indexes:
        last, pair = _last_merge(name, tokens[index]), _pair_of(name).get(index)
        if length > 1 and (last is None or pair is None or last != (tokens[pair[0]], tokens[pair[1]])):
            wrong.append(tokens[index])
    return none_of(wrong)


def _unbroken(home: Words, place: Words, used: Any) -> str:
    """From where a search begins to where the entry lies no unit is free: else the search ends before it."""
    size = len(used)
    free = numpy.concatenate([[0], numpy.cumsum(~numpy.concatenate([used, used]))])
    begin, end = home.astype(numpy.int64), place.astype(numpy.int64)
    end = numpy.where(end < begin, end + size, end)
    return none_of(numpy.flatnonzero(free[end] != free[begin]).tolist())


def _pair_search_check(name: str) -> str:
    """Every pair passes the filter and is found from the line of its hash."""
    profile = profile_of(name)
    place, left, right, _ = _pairs(name)
    hashes = pair_hash(left, right)
    bit = hashes << U64(20) >> U64(64 - profile.head["filter_bits"])
    passes = has_bit(profile.sections["filter"].astype(numpy.uint64), bit)
    lines = (profile.sections["pairs"] != 2**64 - 1).reshape(-1, 8)
    # Lines are filled from their start, so that a full one has its last slot in use.
    gaps = numpy.flatnonzero((~lines[:, :-1] & lines[:, 1:]).any(axis=1))
    home = hashes >> U64(64 - profile.head["pair_bits"]) >> U64(3)
    different = len(set(zip(left.tolist(), right.tolist(), strict=True)))
    return (
        none_of(numpy.flatnonzero(~passes).tolist()) or none_of(gaps.tolist())
        or _unbroken(home, place >> U64(3), lines[:, -1]) or equal(different, len(in_order(name)) - 256)
    )


def _two_check(name: str, first: int) -> str:
    """Of each two bytes, the token that they are."""
    held = profile_of(name).sections["two"][first << 8 : (first + 1) << 8].tolist()
    wrong = [second for second in range(256) if held[second] != _index(name).get(bytes([first, second]), NONE)]
    return none_of(f"{first:02x}{second:02x}" for second in wrong)


@cache
def _words(name: str, section: str = "words") -> tuple[dict[tuple[int, int], tuple[int, int, int]], str]:
    rows = profile_of(name).sections[section].astype(numpy.uint64).reshape(-1, 4)
    used = rows[:, 1] != 0
    place = numpy.flatnonzero(used).astype(numpy.uint64)
    low, high, both = rows[used, 0], rows[used, 1], rows[used, 2]
    home = word_hash(low, high) >> U64(64 - (len(rows).bit_length() - 1))
    found = zip((both & U64(NONE)).tolist(), (both >> U64(32)).tolist(), rows[used, 3].tolist(), strict=True)
    return dict(zip(zip(low.tolist(), high.tolist(), strict=True), found, strict=True)), _unbroken(home, place, used)


def _words_check(name: str, length: int) -> str:
    """Every token of this length is a word, by its bytes and length, with its id and index, and reached by merging."""
    words, wrong = _words(name)[0], []
    for index in _by_length(name)[length]:
        token = in_order(name)[index]
        key = token.ljust(15, b"\0") + bytes([length])
        number = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
        if words.get(number) != (ranks_of(name)[token], index, 1):
            wrong.append(token)
    return none_of(wrong)


def _word_search_check(name: str) -> str:
    words, problem = _words(name)
    return problem or equal(len(words), sum(len(token) <= 15 for token in in_order(name)))


def _front_check(name: str) -> str:
    """The words of the first 4,096 tokens, as in the table of all."""
    front, problem = _words(name, "front")
    return problem or equal(front, {key: word for key, word in _words(name)[0].items() if word[1] < 4096})


def _borders(token: bytes) -> Iterator[tuple[int, int, int, int]]:
    """(last byte, first byte, left, right) of each border in a token where a character may begin and one side is not
    ASCII; left and right the code points, or -1 where that character is not whole in the token."""
    places = [
        at for at in range(1, len(token))
        if token[at] & 0xC0 != 0x80 and (token[at] >= 0x80 or token[at - 1] >= 0x80)
    ]
    for at in places:
        start = at - 1
        while start > 0 and token[start] & 0xC0 == 0x80:
            start -= 1
        end = at + 1
        while end < len(token) and token[end] & 0xC0 == 0x80:
            end += 1
        sides = []
        for part in (token[start:at], token[at:end]):
            try:
                sides.append(ord(part.decode()))
            except (UnicodeDecodeError, TypeError):
                sides.append(-1)
        # Continuation bytes behind a whole character: it is whole, and what follows it is cut nowhere.
        for width in range(end - at, 0, -1):
            if sides[1] == -1 and end - at > width:
                try:
                    sides[1] = ord(token[at : at + width].decode())
                except (UnicodeDecodeError, TypeError):
                    continue
        yield token[at - 1], token[at], sides[0], sides[1]


@cache
def _border_rows(name: str) -> dict[int, Any]:
    found: dict[int, set[tuple[int, int, int, int]]] = {}
    for token in in_order(name):
        if not token.isascii():
            for border in _borders(token):
                found.setdefault(border[1], set()).add(border)
    return {first: numpy.array(sorted(rows), numpy.int64).reshape(-1, 4) for first, rows in found.items()}


def _cut_check(name: str, first: int) -> str:
    """No border inside a token may be cut: not where both characters are whole there; and not whatever the rest of a
    character is that stands there in part."""
    profile, rows = profile_of(name), _border_rows(name)[first]
    never = has_bit(profile.sections["never"].astype(numpy.uint64), (rows[:, 0] << 8 | rows[:, 1]).astype(numpy.uint64))
    whole = (rows[:, 2] >= 0) & (rows[:, 3] >= 0)
    points = numpy.where(whole[:, None], rows[:, 2:], 0).astype(numpy.uint64)
    bit = cut_bit(points[:, 0], points[:, 1], profile.head["cut_bits"])
    kept = never | (whole & has_bit(profile.sections["cuts"].astype(numpy.uint64), bit))
    return none_of(rows[~kept].tolist())


def checks() -> Iterator[Check]:
    """For each embedded vocabulary: a check a first byte, a length, a border's first byte, of each of its tables."""
    for name in FILES:
        for first in sorted(_by_first(name)):
            yield Check(f"vocabulary/{name}/found/{first:02X}", partial(_found_check, name, first))
            yield Check(f"vocabulary/{name}/walk/{first:02X}", partial(_walk_check, name, first))
        yield Check(f"vocabulary/{name}/walk/nothing besides", partial(_states_check, name))
        for length in sorted(_by_length(name)):
            yield Check(f"vocabulary/{name}/joined/{length} bytes", partial(_joined_check, name, length))
            yield Check(f"vocabulary/{name}/merged/{length} bytes", partial(_merged_check, name, length))
            if length <= 15:
                yield Check(f"vocabulary/{name}/words/{length} bytes", partial(_words_check, name, length))
        yield Check(f"vocabulary/{name}/joined/search", partial(_pair_search_check, name))
        yield Check(f"vocabulary/{name}/words/search", partial(_word_search_check, name))
        yield Check(f"vocabulary/{name}/words/front", partial(_front_check, name))
        for first in range(256):
            yield Check(f"vocabulary/{name}/two/{first:02X}", partial(_two_check, name, first))
        for first in sorted(_border_rows(name)):
            yield Check(f"vocabulary/{name}/cuts/{first:02X}", partial(_cut_check, name, first))
