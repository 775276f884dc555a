"""Hugging Face `tokenizer.json` files of the byte-level BPE family, read for this encoder alone.

What changes ids is either carried out or refused with its place in the file; nothing of that kind is passed over.
Options that act after the ids (post-processor, padding, truncation, decoder) are named in `notes` and never applied.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokassay.engines.dat_bpe.added import FLAGS, AddedToken
from tokassay.engines.dat_bpe.errors import LoadError, Refusal
from tokassay.engines.dat_bpe.patterns import PUBLISHED
from tokassay.engines.dat_bpe.ranks import read_file

Merge = tuple[bytes, bytes]
# The regular expression that ByteLevel applies itself (`use_regex`): GPT-2's, as published.
GPT2_EXPRESSION = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
ROOT_KEYS = {
    "version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder",
    "model",
}
# Model options and the values under which they change nothing.
NEUTRAL: dict[str, tuple[object, ...]] = {
    "dropout": (None, 0, 0.0),
    "continuing_subword_prefix": (None, ""),
    "end_of_word_suffix": (None, ""),
}
# What these do, they do to a character without a token: with all 256 bytes, which are asked for, there is none.
IDLE = {"unk_token", "fuse_unk", "byte_fallback"}
MODEL_KEYS = {"type", "vocab", "merges", "ignore_merges", *NEUTRAL, *IDLE}
WHOLE = "give the file as it was published"
REFUSED = "this encoder does not have it: use the library that wrote the file"


@dataclass(frozen=True)
class TokenizerFile:
    """What a file says, in the encoder's own terms; `merges` in order of priority, each once."""

    tokens: dict[bytes, int]
    merges: list[Merge]
    ignore_merges: bool
    normalizer: str
    patterns: tuple[str, ...]
    prefix_space: bool
    added: tuple[AddedToken, ...]
    post_processor: str
    notes: tuple[str, ...]


def _byte_alphabet() -> dict[str, int]:
    """GPT-2's byte alphabet, character -> byte: printing Latin-1 is itself, the rest follows from U+0100 on."""
    printing = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printing]
    return {chr(byte): byte for byte in printing} | {chr(0x100 + place): byte for place, byte in enumerate(others)}


_BYTE_OF = _byte_alphabet()


def read_tokenizer_json(path: str | Path) -> TokenizerFile:
    """The file at a path. LoadError names the place of what is wrong or cannot be carried out."""
    return parse_tokenizer_json(read_file(path, "a tokenizer.json"), str(path))


def parse_tokenizer_json(data: bytes, where: str) -> TokenizerFile:
    """As read_tokenizer_json, of bytes."""
    root = _json(data, where)
    if not isinstance(root, dict) or not isinstance(root.get("model"), dict):
        raise LoadError("no `model` object: not a tokenizer.json", where=where, remedy=WHOLE)
    for key in root:
        if key not in ROOT_KEYS:
            raise Refusal(f"unknown part {key!r}", where=f"{where}: {key}", remedy=REFUSED)
    model = root["model"]
    _check_model(model, where)
    patterns, prefix_space = _pre_tokenizer(root.get("pre_tokenizer"), where)
    rows = root.get("added_tokens") or []
    if not isinstance(rows, list):
        raise LoadError("not a list", where=f"{where}: added_tokens", remedy=WHOLE)
    contents = {str(row.get("content")) for row in rows if isinstance(row, dict)}
    tokens = _tokens(model.get("vocab"), contents, f"{where}: model.vocab")
    merges = _merges(model.get("merges"), tokens, f"{where}: model.merges")
    ignore_merges = bool(model.get("ignore_merges"))
    if not ignore_merges:
        # The text of an added token is in the vocabulary for its id alone.
        made = {left + right for left, right in merges}
        for text in contents & set(model["vocab"]):
            token = text.encode("utf-8")
            if len(token) > 1 and token not in made:
                tokens.pop(token, None)
    return TokenizerFile(
        tokens=tokens,
        merges=merges,
        ignore_merges=ignore_merges,
        normalizer=_normalizer(root.get("normalizer"), where),
        patterns=patterns,
        prefix_space=prefix_space,
        added=_added(rows, model["vocab"], f"{where}: added_tokens"),
        post_processor=_names(root.get("post_processor"), "processors"),
        notes=_notes(root),
    )


def _json(data: bytes, where: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) != len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise LoadError(f"key {twice!r} is given twice", where=where, remedy=WHOLE)
        return table

    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=unique)
    except UnicodeDecodeError as error:
        raise LoadError(f"not UTF-8 at byte {error.start}", where=where, remedy=WHOLE) from None
    except json.JSONDecodeError as error:
        place = f"{where}:{error.lineno}:{error.colno}"
        raise LoadError(f"not JSON: {error.msg}", where=place, remedy=WHOLE) from None
    except RecursionError:
        raise LoadError("not a tokenizer.json: too deep", where=where, remedy=WHOLE) from None


def _check_model(model: dict[str, Any], where: str) -> None:
    kind = model.get("type", "BPE" if "merges" in model else None)
    if kind != "BPE":
        raise Refusal(f"a model of type {kind!r}", where=f"{where}: model.type", remedy="give byte-level BPE")
    for key, value in model.items():
        if key not in MODEL_KEYS:
            raise Refusal(f"unknown option {key!r}", where=f"{where}: model.{key}", remedy=REFUSED)
        if key in NEUTRAL and value not in NEUTRAL[key]:
            raise Refusal(f"{key} {value!r} changes ids", where=f"{where}: model.{key}", remedy=REFUSED)


def _flat(stage: Any, inner: str, place: str) -> list[tuple[str, dict[str, Any]]]:
    """The stages of a Sequence in order, each with its place; none for null."""
    if stage is None:
        return []
    if not isinstance(stage, dict):
        raise LoadError(f"not an object: {_short(stage)}", where=place, remedy=WHOLE)
    if stage.get("type") != "Sequence":
        return [(place, stage)]
    rows = stage.get(inner)
    if not isinstance(rows, list):
        raise LoadError("a Sequence without a list", where=f"{place}.{inner}", remedy=WHOLE)
    return [each for number, row in enumerate(rows) for each in _flat(row, inner, f"{place}.{inner}[{number}]")]


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _normalizer(stage: Any, where: str) -> str:
    stages = _flat(stage, "normalizers", f"{where}: normalizer")
    for place, row in stages:
        if row.get("type") != "NFC":
            raise Refusal(f"normalizer {row.get('type')}", where=place, remedy=REFUSED)
    return "nfc" if stages else "none"


def _pre_tokenizer(stage: Any, where: str) -> tuple[tuple[str, ...], bool]:
    """(expressions in order, whether a space goes before the text)."""
    stages = _flat(stage, "pretokenizers", f"{where}: pre_tokenizer")
    if not stages or stages[-1][1].get("type") != "ByteLevel":
        raise Refusal("does not end in ByteLevel", where=f"{where}: pre_tokenizer", remedy="give byte-level BPE")
    patterns = [_split(row, place) for place, row in stages[:-1]]
    place, last = stages[-1]
    prefix = bool(last.get("add_prefix_space", True))
    if prefix and patterns:
        raise Refusal(
            "a space before every piece of the splits before it", where=f"{place}.add_prefix_space", remedy=REFUSED
        )
    if last.get("use_regex", True):
        patterns.append(GPT2_EXPRESSION)
    return tuple(patterns), prefix


def _split(row: dict[str, Any], place: str) -> str:
    kind = row.get("type")
    if kind == "Digits":
        return r"\p{N}" if row.get("individual_digits") else r"\p{N}+"
    if kind != "Split":
        raise Refusal(f"pre_tokenizer {kind}", where=place, remedy=REFUSED)
    given = row.get("pattern")
    if isinstance(given, dict) and isinstance(given.get("Regex"), str):
        pattern: str = given["Regex"]
    elif isinstance(given, dict) and isinstance(given.get("String"), str):
        pattern = re.escape(given["String"])
    else:
        raise LoadError("a Split without a pattern", where=f"{place}.pattern", remedy=WHOLE)
    behavior, invert = row.get("behavior"), bool(row.get("invert"))
    # Isolated keeps matches and gaps as pieces, inverted or not. Removed and inverted keeps the matches alone: the same
    # for the published expressions, which leave no gap.
    if behavior == "Isolated" or (behavior == "Removed" and invert and pattern in PUBLISHED):
        return pattern
    inverted = " and invert" if invert else ""
    raise Refusal(f"a Split with behavior {behavior}{inverted}", where=f"{place}.behavior", remedy=REFUSED)


def _names(stage: Any, inner: str) -> str:
    """The names of a post-processor's stages; ByteLevel only moves offsets and is none."""
    if not isinstance(stage, dict):
        return "none"
    rows = stage.get(inner) if stage.get("type") == "Sequence" else [stage]
    names = [str(row.get("type")) for row in rows or [] if isinstance(row, dict)]
    return "+".join(name for name in names if name != "ByteLevel") or "none"


def _notes(root: dict[str, Any]) -> tuple[str, ...]:
    notes = [
        f"{key}: {_short(root[key])} acts after the ids and is not applied"
        for key in ("truncation", "padding") if root.get(key) is not None
    ]
    processor = _names(root.get("post_processor"), "processors")
    if processor != "none":
        notes.append(f"post_processor: {processor} is named, not applied")
    decoder = root.get("decoder")
    if not isinstance(decoder, dict) or decoder.get("type") != "ByteLevel":
        notes.append(f"decoder: {_short(decoder)} is not ByteLevel; decoding gives the tokens' own bytes")
    return tuple(notes)


def _tokens(vocab: Any, contents: set[str], place: str) -> dict[bytes, int]:
    """Token bytes -> id. A key that is not in the byte alphabet must be an added token's text (`contents`)."""
    if not isinstance(vocab, dict):
        raise LoadError("not a map of tokens to ids", where=place, remedy=WHOLE)
    tokens: dict[bytes, int] = {}
    for key, number in vocab.items():
        if type(number) is not int or not 0 <= number < 2**32 - 1:
            raise LoadError(f"{key!r}: {_short(number)} is no id", where=place, remedy="give ids of 32 bits")
        token = _raw(key)
        if token is None and key not in contents:
            raise LoadError(f"{key!r} is not in the byte alphabet", where=place, remedy="give byte-level BPE")
        if token is not None and key in contents and token != key.encode("utf-8"):
            raise LoadError(
                f"{key!r} is the text of an added token, and names the token of other bytes ({token.hex()})",
                where=place, remedy="give the added token an id of its own",
            )
        if token is not None:
            tokens[token] = number
    for byte in range(256):
        if bytes([byte]) not in tokens:
            raise LoadError(
                f"byte 0x{byte:02x} has no token", where=place,
                remedy="byte-level BPE needs all 256 single bytes: any text may hold any of them",
            )
    return tokens


def _raw(key: str) -> bytes | None:
    """The bytes that a key of the byte alphabet names; None for another text."""
    try:
        return bytes(map(_BYTE_OF.__getitem__, key))
    except KeyError:
        return None


def _merges(rows: Any, tokens: dict[bytes, int], place: str) -> list[Merge]:
    """The merges in order, each once, in either spelling; of one listed twice the last place counts."""
    if not isinstance(rows, list):
        raise LoadError("not a list of merges", where=place, remedy=WHOLE)
    made: dict[Merge, None] = {}
    for number, row in enumerate(rows):
        parts = row.split(" ") if isinstance(row, str) else row
        if isinstance(row, str) and row.startswith("#version"):
            continue
        if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(part, str) for part in parts):
            raise LoadError(f"not a merge: {_short(row)}", where=f"{place}[{number}]", remedy='use "a b" or ["a", "b"]')
        left, right = map(_raw, parts)
        if not left or not right:
            raise LoadError(f"not in the byte alphabet: {_short(row)}", where=f"{place}[{number}]", remedy=WHOLE)
        for token in (left, right, left + right):
            if token not in tokens:
                raise LoadError(f"{token!r} has no id", where=f"{place}[{number}]", remedy=WHOLE)
        made.pop((left, right), None)
        made[left, right] = None
    return list(made)


def _added(rows: list[Any], vocab: dict[str, int], place: str) -> tuple[AddedToken, ...]:
    owners: dict[int, str] = {number: key for key, number in vocab.items()}
    made: list[AddedToken] = []
    for number, row in enumerate(rows):
        here = f"{place}[{number}]"
        if not isinstance(row, dict) or not isinstance(row.get("content"), str) or not row["content"]:
            raise LoadError("no content", where=here, remedy=WHOLE)
        text, identity = row["content"], row.get("id")
        if type(identity) is not int:
            raise LoadError(f"{text!r}: {_short(identity)} is no id", where=here, remedy=WHOLE)
        if vocab.get(text, identity) != identity:
            raise LoadError(f"{text!r} has id {identity}, in model.vocab {vocab[text]}", where=here, remedy=WHOLE)
        if text not in vocab and identity in owners:
            raise LoadError(f"{text!r}: id {identity} is that of {owners[identity]!r}", where=here, remedy=WHOLE)
        # A row without `normalized` has it unless the token is special, as in the library.
        flags = {name: bool(row.get(name, name == "normalized" and not row.get("special"))) for name in FLAGS}
        made.append(AddedToken(text, identity, **flags))
    return tuple(made)
