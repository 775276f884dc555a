"""Reader of Hugging Face `tokenizer.json` files of the BPE family: over bytes, and (hf_symbols.py) over characters with
byte fallback or with a suffix at the end of words.

What the reader models becomes the contract; anything else makes the contract opaque, with each reason named.
Options that act after the ids (post-processor, padding, truncation) are named and never applied.
"""

from __future__ import annotations

from typing import Any

from tokassay.harness import vocab_wordpiece
from tokassay.harness.alphabet import from_alphabet
from tokassay.harness.errors import InputError
from tokassay.harness.hf_added import Added, read_added
from tokassay.harness.hf_stages import (
    METASPACE,
    decoder_of_characters,
    no_pretokenizer,
    normalizer,
    post_processor,
    pretokenizer,
)
from tokassay.harness.hf_symbols import read_characters, read_words
from tokassay.harness.parsed import Parsed, missing_byte
from tokassay.harness.vocab_gpt2 import REFETCH, read_ids, read_json, read_pair, unique_merges
from tokassay.harness.vocabulary import Pair, settle_pairs

# model option -> values under which it changes nothing
NEUTRAL: dict[str, tuple[object, ...]] = {
    "dropout": (None, 0, 0.0),
    "continuing_subword_prefix": (None, ""),
}
# options that can only act on a character with no token; with all 256 bytes there is none
IDLE = ("unk_token", "fuse_unk", "byte_fallback")
MODEL_KEYS = {"type", "vocab", "merges", "ignore_merges", "end_of_word_suffix", *NEUTRAL, *IDLE}
ROOT_KEYS = {
    "version",
    "truncation",
    "padding",
    "added_tokens",
    "normalizer",
    "pre_tokenizer",
    "post_processor",
    "decoder",
    "model",
}


def parse(data: bytes, where: str) -> Parsed:
    """A tokenizer.json. Raises InputError with the JSON path for what is ill-formed; names what is not modelled."""
    root = read_json(data, where)
    model = root.get("model") if isinstance(root, dict) else None
    if not isinstance(model, dict):
        raise InputError("no `model` object: not a tokenizer.json", where=where, remedy=REFETCH)
    parsed = Parsed(post_processor=post_processor(root.get("post_processor")))
    parsed.unmodelled += [f"{key}: unknown part" for key in sorted(set(root) - ROOT_KEYS)]
    if model.get("type") == "WordPiece":
        _name_options(root, parsed, {"type": "WordPiece"})
        return vocab_wordpiece.parse_json(root, model, where, parsed)
    parsed.normalizer, reasons = normalizer(root.get("normalizer"))
    parsed.unmodelled += reasons
    over_characters = model.get("byte_fallback") is True and METASPACE in str(root.get("normalizer"))
    if over_characters:
        reasons = no_pretokenizer(root.get("pre_tokenizer"), tuple(parsed.normalizer.split("+")))
    else:
        parsed.pretokenizer, parsed.gaps, parsed.add_prefix_space, reasons = pretokenizer(root.get("pre_tokenizer"))
    parsed.unmodelled += reasons
    parsed.unmodelled += _model_reasons(model)
    characters = decoder_of_characters(tuple(parsed.normalizer.split("+")))
    _name_options(root, parsed, characters if over_characters else {"type": "ByteLevel"})
    if parsed.unmodelled:
        return parsed
    if over_characters or model.get("end_of_word_suffix"):
        merges = _merge_rows(model.get("merges"), f"{where}: model.merges")
        read = read_characters if over_characters else read_words
        read(model, merges, root.get("added_tokens"), where, parsed)
    else:
        _read_model(model, root.get("added_tokens"), where, parsed)
    return parsed


def _model_reasons(model: dict[str, Any]) -> list[str]:
    kind = model.get("type", "BPE" if "merges" in model else None)
    if kind != "BPE":
        return [f"model.type: {kind}"]
    reasons = [f"model.{key}: {model[key]!r}" for key, neutral in NEUTRAL.items() if model.get(key) not in neutral]
    return reasons + [f"model.{key}: unknown option" for key in sorted(set(model) - MODEL_KEYS)]


def _name_options(root: dict[str, Any], parsed: Parsed, usual: dict[str, Any]) -> None:
    for key in ("truncation", "padding"):
        if root.get(key) is not None:
            named = f"{key}: {_short(root[key])} acts after the ids and is not part of the contract"
            parsed.notes.append(named)
    if parsed.post_processor != "none":
        parsed.notes.append(
            f"post_processor: {parsed.post_processor} is named, not applied: ids are compared before it"
        )
    stage = root.get("decoder")
    if not isinstance(stage, dict) or not all(stage.get(key) == value for key, value in usual.items()):
        said = f"decoder: {_short(stage)} is not the usual one; decoding is held to the tokens' own bytes"
        parsed.notes.append(said)
    elif stage.get("cleanup"):
        parsed.notes.append("decoder.cleanup: its changes to English punctuation are no part of the contract")


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _read_model(model: dict[str, Any], added_rows: Any, where: str, parsed: Parsed) -> None:
    table = read_ids(model.get("vocab"), f"{where}: model.vocab")
    listed = _read_merges(model.get("merges"), f"{where}: model.merges")
    ignore_merges = model.get("ignore_merges") or False
    added = read_added(added_rows, table, parsed.normalizer, where)
    parsed.notes += added.notes
    parsed.unmodelled += added.unmodelled
    tokens, dead, reasons = _ordinary(table, listed, added, bool(ignore_merges))
    parsed.unmodelled += reasons
    byte = missing_byte(tokens)
    if byte is not None:
        parsed.unmodelled.append(f"model.vocab: byte 0x{byte:02x} has no token")
    if parsed.unmodelled:
        return
    merges, notes = unique_merges(listed, tokens)
    parsed.notes += notes
    parsed.notes += [
        f"{text!r} ({number}) is made by no merge and is no added token: it is never encoded"
        for text, number in dead.items()
    ]
    parsed.settled = settle_pairs(tokens, merges, added.texts() | dead, ignore_merges=bool(ignore_merges))
    parsed.special_tokens, parsed.added_tokens = added.specials, added.others


def _ordinary(
    table: dict[str, int], listed: list[tuple[Pair, str]], added: Added, ignore_merges: bool
) -> tuple[dict[bytes, int], dict[str, int], list[str]]:
    """Ordinary tokens, dead texts and reasons.

    An entry that is neither a byte nor made by a merge is the text of an added token, or dead (unless whole
    pieces are looked up): GPT-2's `<|endoftext|>` in a file that does not add it.
    """
    made = {left + right for (left, right), _ in listed}
    added_ids = {number for _, number, *_ in (*added.specials, *added.others)}
    tokens: dict[bytes, int] = {}
    dead: dict[str, int] = {}
    reasons: list[str] = []
    for key, number in table.items():
        token = from_alphabet(key)
        if token is not None and (len(token) == 1 or token in made):
            tokens[token] = number
        elif number in added_ids:
            continue
        elif token is None:
            reasons.append(f"model.vocab[{key!r}]: not in the byte alphabet")
        elif ignore_merges:
            tokens[token] = number
        else:
            dead[_text(token, key)] = number
    return tokens, dead, reasons[:3]


def _text(token: bytes, key: str) -> str:
    try:
        return token.decode("utf-8")
    except UnicodeDecodeError:
        return key


def _read_merges(rows: Any, where: str) -> list[tuple[Pair, str]]:
    return [(read_pair(parts, place), place) for parts, place in _merge_rows(rows, where)]


def _merge_rows(rows: Any, where: str) -> list[tuple[list[str], str]]:
    """Merges as `"a b"` strings or as `["a", "b"]` lists, each with its place."""
    if not isinstance(rows, list):
        raise InputError("not a list of merges", where=where, remedy=REFETCH)
    listed: list[tuple[list[str], str]] = []
    for number, row in enumerate(rows):
        place = f"{where}[{number}]"
        if isinstance(row, str) and row.startswith("#version"):
            continue  # as in vocab.bpe; the library passes it over here too
        parts = row.split(" ") if isinstance(row, str) else row
        if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(part, str) and part for part in parts):
            raise InputError("not a merge", where=place, remedy='write "a b" or ["a", "b"]')
        listed.append((parts, place))
    return listed
