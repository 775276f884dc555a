"""Reader of Mistral's tekken JSON: ranks in the file, the first ids kept for special tokens."""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64
from typing import Any

from tokassay.harness.errors import InputError
from tokassay.harness.parsed import Parsed, check_id, require_bytes
from tokassay.harness.vocab_gpt2 import REFETCH, read_json
from tokassay.harness.vocab_tiktoken import check_specials, sorted_specials
from tokassay.harness.vocabulary import settle_ranks


def parse(data: bytes, where: str) -> Parsed:
    """The first `default_vocab_size - default_num_special_tokens` ranks; id = rank + number of special tokens.

    Special tokens come from the file where it lists them; older files name none, only how many ids they take.
    """
    root = read_json(data, where)
    config = root.get("config") if isinstance(root, dict) else None
    if not isinstance(config, dict) or not isinstance(root.get("vocab"), list):
        raise InputError("no `config` object and `vocab` list", where=where, remedy=REFETCH)
    offset = check_id(config.get("default_num_special_tokens"), f"{where}: config.default_num_special_tokens")
    size = check_id(config.get("default_vocab_size"), f"{where}: config.default_vocab_size") - offset
    if not isinstance(config.get("pattern"), str):
        raise InputError("not a regular expression", where=f"{where}: config.pattern", remedy=REFETCH)
    if not 256 <= size <= len(root["vocab"]):
        raise InputError(
            f"{len(root['vocab'])} entries where config asks for {size}",
            where=f"{where}: vocab",
            remedy=REFETCH,
        )
    tokens = {
        _token(row, rank, f"{where}: vocab[{rank}]"): rank + offset for rank, row in enumerate(root["vocab"][:size])
    }
    if len(tokens) != size:
        raise InputError("a token is listed twice", where=f"{where}: vocab", remedy=REFETCH)
    require_bytes(tokens, f"{where}: vocab")
    specials = _specials(root.get("special_tokens") or [], where)
    notes = [f"ids are ranks + {offset}; {len(root['vocab']) - size} entries past the vocabulary size are unused"]
    notes += check_specials(tokens, specials, f"{where}: special_tokens")
    if not specials:
        notes.append(f"the file names no special tokens; ids 0 to {offset - 1} are kept for them")
    return Parsed(
        settled=settle_ranks(tokens, specials),
        pretokenizer=(config["pattern"],),
        special_tokens=sorted_specials(specials),
        notes=notes,
    )


def _token(row: Any, rank: int, place: str) -> bytes:
    if not isinstance(row, dict) or row.get("rank") != rank or not isinstance(row.get("token_bytes"), str):
        raise InputError(f"not the entry of rank {rank}", where=place, remedy=REFETCH)
    try:
        return a2b_base64(row["token_bytes"], strict_mode=True)
    except (Base64Error, ValueError) as error:
        raise InputError(f"bad base64: {error}", where=f"{place}.token_bytes", remedy=REFETCH) from None


def _specials(rows: Any, where: str) -> dict[str, int]:
    table: dict[str, int] = {}
    for place, row in enumerate(rows if isinstance(rows, list) else [rows]):
        here = f"{where}: special_tokens[{place}]"
        if not isinstance(row, dict) or not isinstance(row.get("token_str"), str):
            raise InputError("no token_str", where=here, remedy=REFETCH)
        if row["token_str"] in table:
            raise InputError(f"{row['token_str']!r} is listed twice", where=here, remedy=REFETCH)
        table[row["token_str"]] = check_id(row.get("rank"), here)
    return table
