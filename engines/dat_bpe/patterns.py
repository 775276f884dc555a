"""The splitting patterns that the C machines carry out, by name and by their published regular expressions; and the
general path for all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tokassay.engines.dat_bpe.errors import LoadError
from tokassay.engines.dat_bpe.programs import compile_expression

# The numbers of pretokenize.h.
GPT2, CL100K, O200K, DEEPSEEK = 0, 1, 2, 3
NO_CONTRACTIONS, EXACT_CONTRACTIONS, FOLDED_CONTRACTIONS = 0, 1, 2


@dataclass(frozen=True)
class Pattern:
    """One machine and its parameters; `digits` 0 is any number of them (see csrc/pretokenize.h)."""

    name: str
    family: int
    contractions: int
    digits: int
    marks_are_letters: bool = False
    trailing_blanks: bool = False

    def parameters(self) -> dict[str, int]:
        """The keyword arguments of Tables."""
        return {
            "family": self.family,
            "contractions": self.contractions,
            "digits": self.digits,
            "marks_are_letters": self.marks_are_letters,
            "trailing_blanks": self.trailing_blanks,
        }


_GPT2 = Pattern("gpt2", GPT2, EXACT_CONTRACTIONS, 0)
_CL100K = Pattern("cl100k", CL100K, FOLDED_CONTRACTIONS, 3)
_CL100K_TRAILING = Pattern("cl100k-trailing", CL100K, FOLDED_CONTRACTIONS, 3, trailing_blanks=True)
_QWEN2 = Pattern("qwen2", CL100K, FOLDED_CONTRACTIONS, 1)
_QWEN35 = Pattern("qwen3.5", CL100K, FOLDED_CONTRACTIONS, 1, marks_are_letters=True)
_O200K = Pattern("o200k", O200K, FOLDED_CONTRACTIONS, 3)
_TEKKEN = Pattern("tekken", O200K, NO_CONTRACTIONS, 1)
_DEEPSEEK = Pattern("deepseek", DEEPSEEK, NO_CONTRACTIONS, 3)

_SUFFIXES = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_BLANKS = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"


def _cased(suffix: str, digits: str) -> str:
    lead = r"[^\r\n\p{L}\p{N}]?"
    words = f"{lead}{_UPPER}*{_LOWER}+{suffix}|{lead}{_UPPER}+{_LOWER}*{suffix}"
    return rf"{words}|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_BLANKS}"


# The expressions as published. Those with possessive quantifiers are tiktoken's since 0.9: GPT-2's and
# o200k's match what the originals match; cl100k's takes blanks at the end of the text as one piece, which is
# a machine of its own ("cl100k-trailing").
PUBLISHED: dict[str, Pattern] = {
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": _GPT2,
    r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": _GPT2,
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": _GPT2,
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s": _GPT2,
    _SUFFIXES + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _BLANKS: _CL100K,
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+":
        _CL100K,
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|"
    r"\s+(?!\S)|\s": _CL100K_TRAILING,
    _SUFFIXES + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _BLANKS: _QWEN2,
    _SUFFIXES + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + _BLANKS: _QWEN35,
    _cased(_SUFFIXES + "?", r"\p{N}{1,3}"): _O200K,
    _cased("", r"\p{N}"): _TEKKEN,
}

# Several expressions, each applied to the pieces of the one before. DeepSeek V3's are as in its tokenizer.json: the
# line breaks in its classes are the characters themselves.
SEQUENCES: dict[tuple[str, ...], Pattern] = {
    (
        r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+",
        r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^""" "\r\n"
        r"\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[" "\r\n" r"]*|\s*[" "\r\n" r"]+|\s+(?!\S)|\s+",
    ): _DEEPSEEK,
}

NAMES: dict[str, Pattern] = {pattern.name: pattern for pattern in (*PUBLISHED.values(), *SEQUENCES.values())} | {
    "llama3": _CL100K, "llama4": _O200K, "cl100k_base": _CL100K, "o200k_base": _O200K, "r50k_base": _GPT2,
    "qwen": _QWEN2,
}


@dataclass(frozen=True)
class Splitting:
    """How text is split: by the machine of a pattern, or, without one, by programs (words, alternatives)."""

    name: str
    pattern: Pattern | None
    expressions: tuple[str, ...]
    programs: tuple[tuple[Any, tuple[str, ...]], ...] | None

    def parameters(self) -> dict[str, Any]:
        """The keyword arguments of Tables."""
        return {**(self.pattern or _GPT2).parameters(), "programs": self.programs}


def find_pattern(text: str | Sequence[str]) -> Pattern | None:
    """The machine for a published expression, a sequence of them, or one of the names; None if there is none."""
    if isinstance(text, str):
        return PUBLISHED.get(text) or NAMES.get(text)
    expressions = tuple(text)
    return PUBLISHED.get(expressions[0]) if len(expressions) == 1 else SEQUENCES.get(expressions)


def splitting(text: str | Sequence[str], where: str, *, general: bool = False) -> Splitting:
    """How a published expression, a sequence of them, or a name splits text.

    general  by programs though there is a machine (to compare the two)

    Raises PatternError (a LoadError) for a construct that is not supported, LoadError for a name that is not known.
    """
    if not isinstance(text, str) and not (isinstance(text, Sequence) and all(isinstance(one, str) for one in text)):
        raise LoadError(f"pattern {text!r:.80}", where=where, remedy="give an expression as str, or several in a list")
    found = find_pattern(text)
    if isinstance(text, str):
        expressions = next((key for key, each in SEQUENCES.items() if found is each), None) or (
            next((key for key, each in PUBLISHED.items() if found is each and text not in PUBLISHED), text),
        )
    else:
        expressions = tuple(text)
    if found is not None and not general:
        return Splitting(found.name, found, expressions, None)
    if isinstance(text, str) and found is None and text.replace("_", "").replace("-", "").replace(".", "").isalnum():
        raise LoadError(
            f"no pattern has the name {text!r}", where=where,
            remedy=f"use one of {', '.join(NAMES)}, or give an expression; one that is but a word, as [{text!r}]",
        )
    compiled = [compile_expression(expression, where) for expression in expressions]
    programs = tuple((program.words, program.alternatives) for program in compiled)
    return Splitting("general", None, expressions, programs)
