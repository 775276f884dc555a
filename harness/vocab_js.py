"""Reader of the rank files of the npm package tiktoken: JSON with a pattern, special tokens, and ranks as lines of
`! OFFSET base64 base64 ...`, where tokens are numbered from OFFSET on."""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64
from typing import Any

from tokassay.harness.errors import InputError
from tokassay.harness.parsed import Parsed, check_id, require_bytes
from tokassay.harness.vocab_gpt2 import REFETCH, read_ids, read_json
from tokassay.harness.vocab_tiktoken import check_specials, sorted_specials
from tokassay.harness.vocabulary import settle_ranks


def is_one(root: Any) -> bool:
    """Whether a JSON value is of this form."""
    return isinstance(root, dict) and isinstance(root.get("bpe_ranks"), str) and "pat_str" in root


def parse(data: bytes, where: str, *, normalizer: str | None = None, unreachable: int | None = None) -> Parsed:
    """Ranks, pattern and special tokens. The file names no normalizer: None is noted. Raises InputError."""
    root = read_json(data, where)
    if not is_one(root):
        raise InputError("no `bpe_ranks` text and `pat_str`", where=where, remedy=REFETCH)
    if not isinstance(root["pat_str"], str):
        raise InputError("not a regular expression", where=f"{where}: pat_str", remedy=REFETCH)
    tokens = read_ranks(root["bpe_ranks"], f"{where}: bpe_ranks")
    specials = read_ids(root["special_tokens"], f"{where}: special_tokens") if root.get("special_tokens") else {}
    notes = check_specials(tokens, specials, f"{where}: special_tokens")
    stated, count = root.get("explicit_n_vocab"), len(tokens) + len(specials)
    if stated is not None and stated != count:
        notes.append(f"explicit_n_vocab is {stated}, but there are {count} tokens: it is not relied upon")
    if min(tokens.values()):
        notes.append(f"ranks begin at {min(tokens.values())}")
    if normalizer is None:
        notes.append("the file names no normalizer: none is applied")
    return Parsed(
        settled=settle_ranks(tokens, specials, unreachable=unreachable),
        normalizer=normalizer or "none",
        pretokenizer=(root["pat_str"],),
        special_tokens=sorted_specials(specials),
        notes=notes,
    )


def read_ranks(text: str, where: str) -> dict[bytes, int]:
    """Token bytes -> rank. Raises InputError with the line, and the number of the token in it."""
    tokens: dict[bytes, int] = {}
    ids: set[int] = set()
    for number, line in enumerate(text.split("\n"), 1):
        if not line:
            continue
        head, _, rest = line.partition(" ")
        offset, *words = rest.split(" ")
        if head != "!" or not (offset.isascii() and offset.isdigit()) or len(offset) > 10:
            raise InputError("not a line of `! OFFSET base64 ...`", where=f"{where}, line {number}", remedy=REFETCH)
        for at, word in enumerate(words):
            place = f"{where}, line {number}, token {at}"
            try:
                token = a2b_base64(word, strict_mode=True)
            except (Base64Error, ValueError) as error:
                raise InputError(f"bad base64: {error}", where=place, remedy=REFETCH) from None
            rank = check_id(int(offset) + at, place)
            if token in tokens or rank in ids:
                what = repr(token) if token in tokens else f"rank {rank}"
                raise InputError(f"{what} is given twice", where=place, remedy=REFETCH)
            tokens[token] = rank
            ids.add(rank)
    require_bytes(tokens, where)
    return tokens
