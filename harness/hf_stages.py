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
    stages = flatten(stage, "normalizers", "normalizer")
    if not stages:
        return "none", []
    if all(row.get("type") == "NFC" for _, row in stages):
        return "nfc", []
    return "none", [f"{path}: {row.get('type')}" for path, row in stages if row.get("type") != "NFC"]


def pretokenizer(stage: Any) -> tuple[tuple[str, ...], bool, list[str]]:
    """The regular expressions in order, whether a space is put before the text, and reasons why it is not
    modelled."""
    stages = flatten(stage, "pretokenizers", "pre_tokenizer")
    if not stages or stages[-1][1].get("type") != "ByteLevel":
        return (), False, ["pre_tokenizer: does not end in ByteLevel"]
    patterns: list[str] = []
    reasons: list[str] = []
    for path, row in stages[:-1]:
        pattern, reason = _split(row)
        if reason:
            reasons.append(f"{path}: {reason}")
        else:
            patterns.append(pattern)
    last = stages[-1][1]
    prefix = bool(last.get("add_prefix_space", True))
    if last.get("use_regex", True):
        patterns.append(GPT2_PATTERN)
    if prefix and len(stages) > 1:
        # There the space goes before every piece of the earlier splits, not once before the text.
        reasons.append(f"{stages[-1][0]}.add_prefix_space: after other splits")
    return tuple(patterns), prefix, reasons


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
    # Isolated keeps matches and gaps, inverted or not. Removed and inverted keeps the matches alone, which is the
    # same for a pattern that leaves no gap, as the published ones do: each has an alternative for any character.
    behavior = row.get("behavior")
    gapless = pattern in known.patterns().values()
    if behavior == "Isolated" or (behavior == "Removed" and row.get("invert") and gapless):
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


def post_processor(stage: Any) -> str:
    """Its name. ByteLevel only moves offsets, so it is none."""
    names = [str(row.get("type")) for _, row in flatten(stage, "processors", "post_processor")]
    names = [name for name in names if name != "ByteLevel"]
    return "+".join(names) or "none"
