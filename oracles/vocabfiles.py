"""Vocabulary files, read by the oracle's own parsers (the harness and the engines have theirs; tests
compare)."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tokassay.oracles.bytepolicy import ALPHABET
from tokassay.oracles.errors import OracleError

Tokens = dict[bytes, int]
Merges = list[tuple[bytes, bytes]]

_BYTE_OF = {character: byte for byte, character in ALPHABET.items()}


def read_ranks(path: Path) -> Tokens:
    """A tiktoken rank file: a line a token, base64 of its bytes, a space, its rank."""
    tokens: Tokens = {}
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line:
            continue
        try:
            encoded, rank = line.split()
            token = base64.b64decode(encoded, validate=True)
            tokens[token] = int(rank)
        except (ValueError, binascii.Error) as error:
            raise OracleError(
                f"not a rank line: {error}", where=f"{path}:{number}", remedy="fetch the file again"
            ) from None
    return tokens


def read_lines(path: Path) -> Tokens:
    """A vocab.txt: a line a token in UTF-8, its id the number of lines before it; an empty line is no token."""
    lines = path.read_bytes().split(b"\n")
    return {line: number for number, line in enumerate(lines) if line}


def read_gpt2(vocab_bpe: Path, encoder_json: Path, added: Iterable[str] | None = None) -> tuple[Tokens, Merges]:
    """GPT-2's pair of files: merges a line (after a `#version` line) and ids by token, in the byte alphabet.

    The ids hold `<|endoftext|>` too, which the byte alphabet happens to spell. Where the `added` texts are not known,
    ordinary tokens are only the 256 bytes and what some merge makes; where they are, all others: whole-piece look-up
    gives tokens that no merge makes.
    """
    ids = _json(encoder_json)
    lines = vocab_bpe.read_text(encoding="utf-8").split("\n")
    merges = [_pair(line, f"{vocab_bpe}:{number}") for number, line in enumerate(lines, 1) if _is_pair(line)]
    made = {left + right for left, right in merges}
    tokens = _tokens(ids, encoder_json, added or (), made)
    if added is not None:
        return tokens, merges
    return {token: identity for token, identity in tokens.items() if len(token) == 1 or token in made}, merges


def read_tokenizer_json(path: Path) -> tuple[Tokens, Merges]:
    """The `model` of a byte-level BPE tokenizer.json: its vocab without those of the file's added tokens that no merge
    makes, and its merges, in either spelling of a pair."""
    model, added = _bpe_model(path)
    merges = []
    for number, pair in enumerate(model["merges"]):
        line = pair if isinstance(pair, str) else " ".join(pair)
        merges.append(_pair(line, f"{path}: model.merges[{number}]"))
    return _tokens(model["vocab"], path, added, {left + right for left, right in merges}), merges


def read_texts(path: Path, end_of_word: str = "") -> tuple[Tokens, Merges]:
    """The same of a model over characters: tokens are texts, as they stand there. With `end_of_word` they are of the
    byte alphabet again, and end in that suffix or do not."""
    model, added = _bpe_model(path)

    def spelled(text: str) -> bytes:
        if not end_of_word:
            return text.encode("utf-8")
        body = text.removesuffix(end_of_word)
        return _raw(body, str(path)) + text[len(body) :].encode("utf-8")

    def is_spelled(text: str) -> bool:
        return not end_of_word or all(character in _BYTE_OF for character in text.removesuffix(end_of_word))

    pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in model["merges"]]
    merges = [(spelled(left), spelled(right)) for left, right in pairs]
    made = {left + right for left, right in merges}
    tokens = {spelled(text): int(number) for text, number in model["vocab"].items() if is_spelled(text)}
    for text in filter(is_spelled, added):
        if len(text) > 1 and spelled(text) not in made:
            tokens.pop(spelled(text), None)
    return tokens, merges


def _bpe_model(path: Path) -> tuple[dict[str, Any], set[str]]:
    """(the model of a tokenizer.json, the texts of its added tokens)."""
    file = _json(path)
    model, added = file.get("model"), file.get("added_tokens") or []
    if not isinstance(model, dict) or "merges" not in model or not isinstance(added, list):
        raise OracleError("no BPE model", where=f"{path}: model", remedy="give a tokenizer.json with a BPE model")
    return model, {token["content"] for token in added}


def _json(path: Path) -> dict[str, object]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise OracleError(f"not JSON: {error}", where=str(path), remedy="fetch the file again") from None
    if not isinstance(value, dict):
        raise OracleError("not a JSON object", where=str(path), remedy="give the file that holds the vocabulary")
    return value


def _is_pair(line: str) -> bool:
    return bool(line) and not line.startswith("#version")


def _pair(line: str, where: str) -> tuple[bytes, bytes]:
    # One space, never split(): a part may itself be a character that str.split takes for white space.
    left, space, right = line.partition(" ")
    if not left or not space or not right or " " in right:
        raise OracleError(f"not a merge: {line!r}", where=where, remedy="a merge is two tokens with one space between")
    return _raw(left, where), _raw(right, where)


def _raw(token: str, where: str) -> bytes:
    try:
        return bytes(_BYTE_OF[character] for character in token)
    except KeyError as error:
        raise OracleError(
            f"{error.args[0]!r} is not of the byte alphabet", where=where, remedy="use a byte-level vocabulary"
        ) from None


def _tokens(ids: object, path: Path, added: Iterable[str], made: set[bytes]) -> Tokens:
    """Tokens in the byte alphabet, without the `added` that no merge makes; one with another character is special and
    is left out."""
    if not isinstance(ids, dict):
        raise OracleError("no map of tokens to ids", where=str(path), remedy="give the file that holds the vocabulary")
    tokens = {
        _raw(token, str(path)): int(identity)
        for token, identity in ids.items()
        if all(character in _BYTE_OF for character in token)
    }
    for text in added:
        raw = bytes(_BYTE_OF[character] for character in text if character in _BYTE_OF)
        if 1 < len(text) == len(raw) and raw not in made:
            tokens.pop(raw, None)
    return tokens
