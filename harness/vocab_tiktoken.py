"""Reader of tiktoken rank files: one `base64 rank` a line."""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Mapping

from tokassay.harness.errors import InputError
from tokassay.harness.parsed import Parsed, check_id, require_bytes
from tokassay.harness.vocabulary import settle_ranks

REFETCH = "the file is damaged or no rank file: fetch it again and compare its SHA-256"


def read_ranks(data: bytes, where: str) -> tuple[dict[bytes, int], list[str]]:
    """Token bytes -> rank, and notes. Raises InputError with `where:line` for anything ill-formed.

    A lone `=` stands for the empty token, as tiktoken reads it (the last line of Whisper's file): no piece is
    ever empty, so it is never encoded, but it decodes to nothing, so it stays in the vocabulary.
    """
    tokens: dict[bytes, int] = {}
    seen: dict[int, int] = {}
    notes: list[str] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        line = line.rstrip(b"\r")
        if not line:
            continue
        place = f"{where}:{number}"
        token, rank = _read_line(line, place)
        if not token:
            notes.append(f"line {number} is the empty token (id {rank}): decoded to nothing, never encoded")
        if token in tokens:
            raise InputError(f"token {token!r} is listed twice", where=place, remedy=REFETCH)
        if rank in seen:
            raise InputError(f"rank {rank} is given twice, first on line {seen[rank]}", where=place, remedy=REFETCH)
        tokens[token] = rank
        seen[rank] = number
    require_bytes(tokens, where)
    return tokens, notes


def _read_line(line: bytes, place: str) -> tuple[bytes, int]:
    fields = line.split(b" ")
    if len(fields) != 2 or not fields[1].isdigit() or len(fields[1]) > 10:
        raise InputError("not a line of `base64 rank`", where=place, remedy=REFETCH)
    try:
        token = b"" if fields[0] == b"=" else a2b_base64(fields[0], strict_mode=True)
    except Base64Error as error:
        raise InputError(f"bad base64: {error}", where=place, remedy=REFETCH) from None
    return token, check_id(int(fields[1]), place)


def parse(
    data: bytes,
    where: str,
    *,
    pretokenizer: tuple[str, ...],
    specials: Mapping[str, int],
    normalizer: str = "none",
    unreachable: int | None = None,
) -> Parsed:
    """A rank file under the pattern and special tokens that the caller names: the file carries neither."""
    tokens, notes = read_ranks(data, where)
    notes += check_specials(tokens, specials, where)
    return Parsed(
        settled=settle_ranks(tokens, specials, unreachable=unreachable),
        normalizer=normalizer,
        pretokenizer=pretokenizer,
        special_tokens=sorted_specials(specials),
        notes=notes,
    )


def sorted_specials(specials: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """By id, then text, as a contract lists them."""
    return tuple(sorted(specials.items(), key=lambda item: (item[1], item[0])))


def check_specials(tokens: Mapping[bytes, int], specials: Mapping[str, int], where: str) -> list[str]:
    """Notes on texts that share an id (o200k_harmony has two); InputError for an empty text or a taken id."""
    ordinary = set(tokens.values())
    texts: dict[int, str] = {}
    notes: list[str] = []
    for text, number in specials.items():
        if not text:
            raise InputError("a special token is empty", where=where, remedy="give it a text")
        if check_id(number, where) in ordinary:
            raise InputError(
                f"special token {text!r} has id {number}, which is an ordinary token's",
                where=where,
                remedy="give the special tokens that belong to this vocabulary",
            )
        if number in texts:
            notes.append(f"special tokens {texts[number]!r} and {text!r} share the id {number}")
        texts.setdefault(number, text)
    return notes
