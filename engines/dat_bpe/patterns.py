"""The splitting patterns that the C machines carry out, by name and by their published regular expressions."""

from __future__ import annotations

from dataclasses import dataclass

# The numbers of pretokenize.h.
GPT2, CL100K, O200K = 0, 1, 2
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

NAMES: dict[str, Pattern] = {pattern.name: pattern for pattern in PUBLISHED.values()} | {
    "llama3": _CL100K, "cl100k_base": _CL100K, "o200k_base": _O200K, "r50k_base": _GPT2, "qwen": _QWEN2,
}


def find_pattern(text: str | tuple[str, ...]) -> Pattern | None:
    """The machine for a published expression or one of the names; None if there is none, as for several in a row."""
    return None if isinstance(text, tuple) else PUBLISHED.get(text) or NAMES.get(text)
