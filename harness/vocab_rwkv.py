"""RWKV World's vocabulary: lines of an id, a Python literal and the number of its bytes; greedy longest match.

    257 'ab' 2
    5000 b'\\xe4\\xb8' 2

A literal is of `str`, whose UTF-8 is the token, or of `bytes`. Nothing is evaluated: it is read here, strictly.
"""

from __future__ import annotations

import re

from tokassay.harness.contract import GREEDY
from tokassay.harness.errors import InputError
from tokassay.harness.parsed import Parsed, check_id, require_bytes
from tokassay.harness.vocab_gpt2 import REFETCH
from tokassay.harness.vocabulary import Settled, Vocabulary

_LINE = re.compile(r"(0|[1-9][0-9]*) (b?)(['\"])(.*)\3 ([0-9]+)")
_HEAD = re.compile(rb"[0-9]+ b?['\"]")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[\\'\"abfnrtv])", re.DOTALL)
_LETTERS = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 0x5C, "'": 0x27, '"': 0x22}


def is_lines(data: bytes) -> bool:
    """Whether the first line begins as one of this format."""
    return _HEAD.match(data) is not None


def parse(data: bytes, where: str) -> Parsed:
    """All tokens. Raises InputError with the line for what is not of the form, for a wrong length, and for an id or a
    token that is there twice."""
    tokens: dict[bytes, int] = {}
    seen: set[int] = set()
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        bad = data.count(b"\n", 0, error.start) + 1
        raise InputError("not UTF-8", where=f"{where}:{bad}", remedy=REFETCH) from None
    for number, line in enumerate(lines[:-1] if lines[-1] == "" else lines, 1):
        place = f"{where}:{number}"
        found = _LINE.fullmatch(line.removesuffix("\r"))
        if found is None:
            raise InputError("not an id, a literal and its length", where=place, remedy=REFETCH)
        token = _bytes(found[4], found[3], bool(found[2]), place)
        identity = check_id(int(found[1]), place)
        if len(token) != int(found[5]):
            raise InputError(f"{len(token)} bytes, and {found[5]} are stated", where=place, remedy=REFETCH)
        if token in tokens or identity in seen or not token:
            what = f"id {identity}" if identity in seen else f"token {token!r}"
            raise InputError(f"{what} is there twice" if token else "an empty token", where=place, remedy=REFETCH)
        tokens[token] = identity
        seen.add(identity)
    require_bytes(tokens, where)
    parsed = Parsed(Settled(Vocabulary(tokens, None, {}), GREEDY, False), byte_policy="raw")
    if 0 not in seen:
        parsed.notes.append("no token has id 0, which models use as the end of a document")
    return parsed


def _bytes(body: str, quote: str, is_bytes: bool, place: str) -> bytes:
    """The bytes of a literal's body."""
    parts: list[str] = []
    at = 0
    while at < len(body):
        character = body[at]
        if character == quote or (is_bytes and not character.isascii()):
            raise InputError(f"{character!r} inside a literal", where=place, remedy=REFETCH)
        if character != "\\":
            parts.append(character)
            at += 1
            continue
        found = _ESCAPE.match(body, at)
        if found is None or (is_bytes and found[1][0] in "uU"):
            raise InputError(f"escape {body[at : at + 2]!r} is not known", where=place, remedy=REFETCH)
        code = _LETTERS.get(found[1])
        try:
            parts.append(chr(int(found[1][1:], 16) if code is None else code))
        except (ValueError, OverflowError):
            raise InputError(f"{found[0]} is no character", where=place, remedy=REFETCH) from None
        at = found.end()
    try:
        return "".join(parts).encode("latin-1" if is_bytes else "utf-8")
    except UnicodeEncodeError:
        raise InputError("a surrogate has no UTF-8", where=place, remedy=REFETCH) from None
