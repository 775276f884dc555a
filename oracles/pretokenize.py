"""Pretokenization by the published regular expressions, with the categories of the contract's Unicode
version.

Matching is the `regex` library's; categories are not. A character whose category in the library is not the
one in the contract's table is replaced, for matching only and one for one, by a representative: a character
that has the wanted category in both, that no pattern names, and that folds to no ASCII letter. So offsets
stay, and U+017F (which `(?i:'s)` really matches) stays itself.

Patterns are applied in order, each to every piece that the one before left: matches are pieces, and what lies
between matches is a piece too, unless the contract drops such gaps. An empty match is none. Each piece is a text of
its own: `$` and look-around stop at its ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import regex
from tokassay.oracles import pattern as reading
from tokassay.oracles.classes import CODE_POINTS, Classes, classes
from tokassay.oracles.errors import OracleError, Unsupported


@cache
def strangers(version: str) -> dict[int, str]:
    """Code points whose category in the `regex` library differs from the table's, with the category wanted.

    Raises OracleError if `\\s` of the library is not the table's White_Space: that could not be mended by
    category.
    """
    table = classes(version)
    of_category: dict[str, list[str]] = {}
    for first, last, category in table.ranges:
        of_category.setdefault(category, []).append("".join(map(chr, range(first, last + 1))))
    result = {
        ord(match[0]): category
        for category, texts in of_category.items()
        for match in regex.compile(rf"\P{{{category}}}").finditer("".join(texts))
    }
    everything = "".join(map(chr, range(CODE_POINTS)))
    if {match.start() for match in regex.finditer(r"\s", everything)} != table.white_space:
        raise OracleError(
            rf"\s of regex {regex.__version__} is not White_Space",
            where="package regex",
            remedy="install the version that pyproject.toml pins",
        )
    return result


def representative(category: str, table: Classes, avoid: Sequence[tuple[int, int]]) -> str:
    """A character of `category` both in the table and in the library, outside the ranges `avoid`."""
    wanted = regex.compile(rf"\p{{{category}}}")
    for first, last, name in table.ranges:
        if name != category:
            continue
        for code_point in range(max(first, 0x100), last + 1):
            character = chr(code_point)
            cases = character.casefold() + character.lower() + character.upper()
            if (
                wanted.match(character)
                and not any(each.isascii() for each in cases)
                and not any(low <= code_point <= high for low, high in avoid)
            ):
                return character
    raise Unsupported(f"no character can stand for category {category}")


class Pretokenizer:
    """The split patterns of a contract under one Unicode version."""

    def __init__(self, patterns: Sequence[str], version: str, *, gaps: bool = True) -> None:
        self.gaps = gaps
        self.table = classes(version)
        self.patterns = [reading.read(published) for published in patterns]
        self._compiled = [regex.compile(each.source, regex.VERSION0) for each in self.patterns]
        self._alternatives = [
            [regex.compile(branch, regex.VERSION0) for branch in each.alternatives] for each in self.patterns
        ]
        named = [literal for each in self.patterns for literal in each.literals]
        wanted = strangers(version) if patterns else {}
        for low, high in named:
            for code_point in range(low, high + 1):
                if code_point in wanted:
                    raise Unsupported(f"the pattern names U+{code_point:04X}, whose category is not the library's")
        stand_in = {category: representative(category, self.table, named) for category in set(wanted.values())}
        self._strangers = frozenset(map(chr, wanted))
        self._translation = {code_point: stand_in[category] for code_point, category in wanted.items()}

    def matched_text(self, text: str) -> str:
        """The text with representatives in place: what the patterns are matched against."""
        if text.isascii() or self._strangers.isdisjoint(text):
            return text
        return text.translate(self._translation)

    def pieces(self, text: str) -> list[str]:
        """The pieces of the text, in order; joined they are the text, if gaps are kept."""
        if not self.gaps:
            return [text[start:end] for start, end, _ in self.ruled_pieces(text)]
        matched = self.matched_text(text)
        parts = [matched] if matched else []
        for compiled in self._compiled:
            parts = [piece for part in parts for piece in _split(compiled, part)]
        if matched is text:
            return parts
        original = []
        at = 0
        for part in parts:
            original.append(text[at : at + len(part)])
            at += len(part)
        return original

    def ruled_pieces(self, text: str) -> Iterator[tuple[int, int, str]]:
        """(start, end, rule) of each piece in characters; the rule is the alternative of the last pattern
        that took it, as published, or "gap"."""
        matched = self.matched_text(text)
        spans = [(0, len(matched), "whole")] if matched else []
        for compiled, pattern, branches in zip(self._compiled, self.patterns, self._alternatives, strict=True):
            finer = []
            for start, end, _ in spans:
                part = matched[start:end]
                done = 0
                for match in compiled.finditer(part):
                    low, high = match.span()
                    if low == high:
                        continue
                    if done < low and self.gaps:
                        finer.append((start + done, start + low, "gap"))
                    # Alternatives are tried in order, so the first that matches here at all is the one that
                    # matched.
                    which = next(k for k, branch in enumerate(branches) if branch.match(part, low))
                    finer.append((start + low, start + high, pattern.alternatives[which]))
                    done = high
                if done < len(part) and self.gaps:
                    finer.append((start + done, end, "gap"))
            spans = finer
        yield from spans


def _split(compiled: regex.Pattern[str], text: str) -> list[str]:
    if compiled.groups == 0:
        found = compiled.findall(text)
        if sum(map(len, found)) == len(text):
            return [piece for piece in found if piece]
    parts = []
    done = 0
    for match in compiled.finditer(text):
        low, high = match.span()
        if low == high:
            continue
        if done < low:
            parts.append(text[done:low])
        parts.append(text[low:high])
        done = high
    if done < len(text):
        parts.append(text[done:])
    return parts
