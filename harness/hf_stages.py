"""The stages of a tokenizer.json before the model: normalizer and pre_tokenizer as contract fields, or reasons
why not."""

from __future__ import annotations

import re
from typing import Any

from tokassay.harness import known
from tokassay.oracles.errors import Unsupported
from tokassay.oracles.pattern import read

# The regular expression that ByteLevel applies itself (`use_regex`): GPT-2's, as published.
GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


METASPACE = "\u2581"
# Steps of a contract's normalizer, and how a tokenizer.json writes them.
STEPS: dict[str, dict[str, Any]] = {
    "nfc": {"type": "NFC"},
    "nfkc": {"type": "NFKC"},
    "lowercase-each": {"type": "Lowercase"},
    "prepend-metaspace": {"type": "Prepend", "prepend": METASPACE},
    "metaspace": {"type": "Replace", "pattern": {"String": " "}, "content": METASPACE},
}


def flatten(stage: Any, inner: str, path: str) -> list[tuple[str, dict[str, Any]]]:
    """The stages of a Sequence in order, each with its JSON path; [] for none."""
    if stage is None:
        return []
    if not isinstance(stage, dict):
        return [(path, {"type": f"{type(stage).__name__} in place of an object"})]
    if stage.get("type") != "Sequence":
        return [(path, stage)]
    return [
        row
        for number, item in enumerate(stage.get(inner) or [])
        for row in flatten(item, inner, f"{path}.{inner}[{number}]")
    ]


def normalizer(stage: Any) -> tuple[str, list[str]]:
    """The contract's normalizer, and reasons why it is not modelled."""
    steps: list[str] = []
    reasons: list[str] = []
    for path, row in flatten(stage, "normalizers", "normalizer"):
        step = _step(row)
        if not step:
            reasons.append(f"{path}: {row.get('type')}")
        elif steps[-1:] != [step] or step == "prepend-metaspace":  # what is normal already stays as it is
            steps.append(step)
    return ("none" if reasons else "+".join(steps) or "none"), reasons


def _step(row: dict[str, Any]) -> str:
    """The contract's name of a normalizer, or ""."""
    for step, written in STEPS.items():
        if all(row.get(key) == value for key, value in written.items()):
            return step
    return ""


def pretokenizer(stage: Any) -> tuple[tuple[str, ...], str, bool, list[str]]:
    """The regular expressions in order, what becomes of the gaps between matches, whether a space is put before the
    text, and reasons why it is not modelled."""
    stages = flatten(stage, "pretokenizers", "pre_tokenizer")
    if not stages or stages[-1][1].get("type") != "ByteLevel":
        return (), "kept", False, ["pre_tokenizer: does not end in ByteLevel"]
    patterns: list[str] = []
    reasons: list[str] = []
    gaps = "kept"
    for path, row in stages[:-1]:
        pattern, reason = _split(row)
        if reason:
            reasons.append(f"{path}: {reason}")
            continue
        patterns.append(pattern)
        # A pattern that leaves no gap, as most published ones do, has an alternative for any character.
        if row.get("behavior") == "Removed" and pattern not in known.patterns().values():
            gaps = "dropped"
    last = stages[-1][1]
    prefix = bool(last.get("add_prefix_space", True))
    if last.get("use_regex", True):
        patterns.append(GPT2_PATTERN)
    if prefix and len(stages) > 1:
        # There the space goes before every piece of the earlier splits, not once before the text.
        reasons.append(f"{stages[-1][0]}.add_prefix_space: after other splits")
    if gaps == "dropped" and not all(pattern in known.patterns().values() for pattern in patterns[1:]):
        reasons.append("pre_tokenizer: gaps are dropped between the matches of one pattern and not of another")
    return tuple(patterns), gaps, prefix, reasons


def no_pretokenizer(stage: Any, steps: tuple[str, ...]) -> list[str]:
    """Reasons why a text is not one piece. A split at the spaces that the normalizer left none of is none."""
    rows = flatten(stage, "pretokenizers", "pre_tokenizer")
    idle = {"type": "Split", "pattern": {"String": " "}}
    return [
        f"{path}: {row.get('type')} over characters is not modelled"
        for path, row in rows
        if not ("metaspace" in steps and all(row.get(key) == value for key, value in idle.items()))
    ]


def _split(row: dict[str, Any]) -> tuple[str, str]:
    """(pattern, "") or ("", reason)."""
    kind = row.get("type")
    if kind == "Digits":
        return (r"\p{N}" if row.get("individual_digits") else r"\p{N}+"), ""
    if kind != "Split":
        return "", f"{kind} is not modelled"
    given = row.get("pattern")
    if not isinstance(given, dict) or not any(isinstance(given.get(key), str) for key in ("Regex", "String")):
        return "", "Split without a pattern"
    pattern = given["Regex"] if isinstance(given.get("Regex"), str) else re.escape(given["String"])
    reason = _unread(pattern) or _other_dialect(pattern)
    if reason:
        return "", reason
    # Isolated keeps matches and gaps, inverted or not. Removed and inverted keeps the matches alone.
    behavior = row.get("behavior")
    if behavior == "Isolated" or (behavior == "Removed" and row.get("invert")):
        return pattern, ""
    return "", f"Split with behavior {behavior}{' and invert' if row.get('invert') else ''} is not modelled"


def _unread(pattern: str) -> str:
    """Why the oracle does not read a pattern, or ""."""
    import regex

    try:
        regex.compile(read(pattern).source, regex.VERSION0)
    except Unsupported as error:
        return str(error)
    except (regex.error, IndexError) as error:
        return f"pattern {pattern!r}: {error}"
    return ""


def _other_dialect(pattern: str) -> str:
    """What a tokenizer.json's own engine (tokenizers with Oniguruma, Ruby's syntax) reads otherwise than the contract
    does, or ""."""
    in_class = False
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == "\\":
            braced = pattern[at + 1 : at + 2] in tuple("pPxu") and pattern[at + 2 : at + 3] == "{"
            at = (pattern.find("}", at) + 1 or len(pattern)) if braced else at + 2
            continue
        if in_class:
            in_class = letter != "]"
        elif letter == "[":
            in_class = True
            at += pattern[at + 1 : at + 2] == "^"
        elif letter in "^$":
            return f"pattern construct {letter} at {at} of {pattern!r} means the edge of a line to tokenizers"
        elif letter == "}" and pattern[at + 1 : at + 2] == "+":
            return f"pattern construct }}+ at {at} of {pattern!r} is not possessive to tokenizers"
        at += 1
    return ""


def decoder_of_characters(steps: tuple[str, ...]) -> dict[str, Any]:
    """The decoder that goes with a model over characters: U+2581 is a space again, and what was put before the text is
    taken off."""
    back: list[dict[str, Any]] = [
        {"type": "Replace", "pattern": {"String": METASPACE}, "content": " "}, {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]  # fmt: skip
    if "prepend-metaspace" in steps:
        back.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {"type": "Sequence", "decoders": back}


def post_processor(stage: Any) -> str:
    """Its name. ByteLevel only moves offsets, so it is none."""
    names = [str(row.get("type")) for _, row in flatten(stage, "processors", "post_processor")]
    names = [name for name in names if name != "ByteLevel"]
    return "+".join(names) or "none"
