"""The BPE models of a tokenizer.json that do not begin with single bytes: characters with byte fallback (Llama 2,
Mistral, Gemma), and the byte alphabet with a suffix at the end of words (CLIP)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tokassay.harness.alphabet import from_alphabet
from tokassay.harness.errors import InputError
from tokassay.harness.hf_added import read_added
from tokassay.harness.parsed import Parsed
from tokassay.harness.vocab_gpt2 import REFETCH, read_ids, unique_merges
from tokassay.harness.vocabulary import Pair, Settled, Vocabulary, unreachable_by_pairs

BYTE_TOKEN = re.compile(rb"<0x[0-9A-F]{2}>")


def characters(token: bytes) -> list[bytes]:
    """The characters of a token that is text; a token that stands for a byte is one symbol."""
    return [token] if BYTE_TOKEN.fullmatch(token) else [each.encode("utf-8") for each in token.decode("utf-8")]


def read_characters(
    model: dict[str, Any], merges: list[tuple[list[str], str]], added_rows: Any, where: str, parsed: Parsed
) -> None:
    """A model over characters with byte fallback. `merges`: the two texts of each, and its place. Reasons why it is not
    modelled go to `parsed.unmodelled`. Raises InputError."""
    table = read_ids(model.get("vocab"), f"{where}: model.vocab")
    added = read_added(added_rows, table, parsed.normalizer, where)
    parsed.notes += added.notes
    parsed.unmodelled += added.unmodelled
    if "prepend-metaspace" in parsed.normalizer and any("normalized" in flags for _, _, flags in added.others):
        parsed.unmodelled.append("added_tokens: normalized ones under a normalizer that prepends")
    pairs = [((_spelled(left, place), _spelled(right, place)), place) for (left, right), place in merges]
    made = {left + right for (left, right), _ in pairs}
    ignore_merges = bool(model.get("ignore_merges"))
    added_ids = {number for _, number, *_ in (*added.specials, *added.others)}
    tokens: dict[bytes, int] = {}
    dead: dict[str, int] = {}
    for key, number in table.items():
        token = _spelled(key, f"{where}: model.vocab")
        if len(key) == 1 or token in made or BYTE_TOKEN.fullmatch(token):
            tokens[token] = number
        elif number in added_ids:
            continue
        elif ignore_merges:
            tokens[token] = number
        else:
            dead[key] = number
    byte = next((byte for byte in range(256) if not _falls_back(byte, tokens)), None)
    if byte is not None:
        parsed.unmodelled.append(f"model.vocab: byte 0x{byte:02x} has no token")
        return
    kept, notes = unique_merges(pairs, tokens)
    parsed.notes += [*notes, *_dead(dead)]
    needed = ignore_merges and bool(unreachable_by_pairs(tokens, kept, characters))
    parsed.settled = Settled(Vocabulary(tokens, kept, added.texts() | dead, symbols=characters), "bpe-pairs", needed)
    parsed.byte_fallback = True
    parsed.special_tokens, parsed.added_tokens = added.specials, added.others


def _falls_back(byte: int, tokens: dict[bytes, int]) -> bool:
    """Whether a byte always has a token: its own, or that of the ASCII character that it is."""
    return b"<0x%02X>" % byte in tokens or (byte < 128 and bytes([byte]) in tokens)


def _dead(dead: dict[str, int]) -> list[str]:
    if not dead:
        return []
    text, number = next(iter(dead.items()))
    rest = f", and {len(dead) - 1} more like it" if len(dead) > 1 else ""
    return [f"{text!r} ({number}){rest}: made by no merge and no added token, so never encoded"]


def _spelled(text: str, place: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(f"{text!r} is not well-formed", where=place, remedy=REFETCH) from None


def ends(suffix: bytes) -> Callable[[bytes], list[bytes]]:
    """What merging a token begins with where the last byte of a word is written with `suffix`."""

    def symbols(token: bytes) -> list[bytes]:
        body = token.removesuffix(suffix)
        parts = [body[at : at + 1] for at in range(len(body))]
        return [*parts[:-1], parts[-1] + suffix] if body != token and parts else parts

    return symbols


def read_words(
    model: dict[str, Any], merges: list[tuple[list[str], str]], added_rows: Any, where: str, parsed: Parsed
) -> None:
    """A model over the byte alphabet with `end_of_word_suffix`; arguments as of `read_characters`."""
    suffix = str(model["end_of_word_suffix"])
    table = read_ids(model.get("vocab"), f"{where}: model.vocab")
    added = read_added(added_rows, table, parsed.normalizer, where)
    parsed.notes += added.notes
    parsed.unmodelled += added.unmodelled
    if model.get("ignore_merges"):
        parsed.unmodelled.append("model.ignore_merges: with an end_of_word_suffix")
    pairs = [(read_suffixed(parts, suffix, place), place) for parts, place in merges]
    settle_words(table, pairs, added.texts(), suffix, parsed, "model.vocab")
    parsed.special_tokens, parsed.added_tokens = added.specials, added.others


def read_suffixed(parts: list[str], suffix: str, place: str) -> Pair:
    """The two parts of a merge. Raises InputError."""
    left, right = (suffixed(part, suffix) for part in parts)
    if left is None or right is None:
        raise InputError("not a merge of two byte-alphabet strings", where=place, remedy=REFETCH)
    return left, right


def suffixed(key: str, suffix: str) -> bytes | None:
    """A token of the byte alphabet, with the suffix or without, as bytes; None for any other text."""
    body = key.removesuffix(suffix)
    raw = from_alphabet(body)
    return None if raw is None or not raw else raw + key[len(body) :].encode("utf-8")


def settle_words(
    table: dict[str, int], listed: list[tuple[Pair, str]], added: dict[str, int], suffix: str, parsed: Parsed,
    where: str,
) -> None:
    """Tokens (bytes and bytes with the suffix, and what merges make), the rest special or dead."""
    made = {left + right for (left, right), _ in listed}
    ending = suffix.encode("utf-8")
    singles = {bytes([byte]) for byte in range(256)}
    singles |= {single + ending for single in singles}
    tokens: dict[bytes, int] = {}
    dead: dict[str, int] = {}
    for key, number in table.items():
        token = suffixed(key, suffix)
        if token is not None and (token in singles or token in made):
            tokens[token] = number
        elif key not in added:
            dead[key] = number
    absent = sorted(singles - set(tokens))
    if absent:
        parsed.unmodelled.append(f"{where}: {absent[0]!r} has no token")
        return
    pairs, notes = unique_merges(listed, tokens)
    parsed.notes += [*notes, *_dead(dead)]
    parsed.settled = Settled(Vocabulary(tokens, pairs, added | dead, symbols=ends(ending)), "bpe-pairs", False)
    parsed.end_of_word = suffix
