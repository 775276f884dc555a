"""Published split patterns, read closely enough to know what they depend on.

A pattern is Perl-like syntax, which the publishers' engines (tiktoken: Rust's fancy-regex; Hugging Face: the
same or Oniguruma) and the `regex` library read alike for the constructs allowed here. What is not allowed is
refused by name, because its meaning would come from a library's own tables (`\\w`, `\\b`, scripts) or differs
between engines (set operations inside classes).

Three meanings are settled here:

* `\\s` is the White_Space property: 25 code points in every version since 6.3, among them U+0085 and not
  U+001C..001F (which Python's str.isspace adds), U+180E or U+FEFF (JavaScript's). `regex` agrees;
  pretokenize.py checks that.
* `$` outside a class is the end of the text alone, as in Rust. Python's would also match before a last
  newline.
* `(?i:...)` is simple case folding, so U+017F matches `(?i:'s)`, as in Rust. `regex` in VERSION0 does the
  same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tokassay.oracles.errors import Unsupported

# Values of General_Category and their groups that \p{...} may name.
_GROUPS = frozenset("LMNPSZC") | {"LC"}
_CATEGORIES = frozenset(re.findall("..", "LuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCsCoCn"))


@dataclass(frozen=True)
class Pattern:
    """A pattern after reading: `source` as `regex` must see it, `alternatives` its top-level branches (the
    same way), `literals` the ranges (first, last) of non-ASCII code points that it names."""

    published: str
    source: str
    alternatives: tuple[str, ...]
    literals: tuple[tuple[int, int], ...]


def read(published: str) -> Pattern:
    """Read a pattern; Unsupported names the first construct that is not modelled and its place."""
    pieces: list[str] = [""]
    literals: list[tuple[int, int]] = []
    depth = 0
    in_class = False
    range_from: int | None = None
    at = 0

    def refuse(what: str) -> Unsupported:
        return Unsupported(f"pattern construct {what} at {at} of {published!r} is not modelled")

    while at < len(published):
        character = published[at]
        end = at + 1
        literal: int | None = None
        if character == "\\":
            end, literal = _escape(published, at, refuse)
        elif in_class:
            if character == "]":
                in_class = False
            elif character == "[" or published[at : at + 2] in ("&&", "--", "~~"):
                raise refuse(f"{published[at : at + 2]!r} in a class")
            else:
                literal = ord(character)
        elif character == "[":
            in_class = True
            end += published[end : end + 1] == "^"
        elif character == "(":
            depth += 1
            if published[at : at + 2] == "(?" and not published.startswith(("(?:", "(?i:", "(?!", "(?="), at):
                raise refuse(repr(published[at : at + 4]))
        elif character == ")":
            depth -= 1
        elif character not in "|?*+{}$^.":
            literal = ord(character)
        if literal is not None and literal > 0x7F:
            low = literal if range_from is None else range_from
            literals.append((low, literal))
        dash = in_class and literal is not None and published[end : end + 1] == "-" and published[end + 1] != "]"
        text = published[at:end]
        if character == "|" and depth == 0 and not in_class:
            pieces.append("")
        else:
            pieces[-1] += r"\Z" if text == "$" and not in_class else text
        at = end
        range_from = None
        if dash:
            range_from = literal
            pieces[-1] += "-"
            at += 1
    return Pattern(published, "|".join(pieces), tuple(pieces), tuple(literals))


def _escape(published: str, at: int, refuse: Callable[[str], Unsupported]) -> tuple[int, int | None]:
    """(end of the escape that starts at `at`, the code point if it is a literal)."""
    letter = published[at + 1 : at + 2]
    if letter in ("p", "P"):
        close = published.find("}", at) if published[at + 2 : at + 3] == "{" else at + 2
        name = published[at + 3 : close] if published[at + 2 : at + 3] == "{" else published[at + 2 : at + 3]
        if name not in _GROUPS and name not in _CATEGORIES:
            raise refuse(published[at : close + 1])
        return close + 1, None
    if letter in "sSdD" and letter:
        return at + 2, None
    if letter in "rntfv0" and letter:
        return at + 2, {"r": 13, "n": 10, "t": 9, "f": 12, "v": 11, "0": 0}[letter]
    if letter in "xu" and letter:
        width = 2 if letter == "x" else 4
        digits = published[at + 2 : at + 2 + width]
        if len(digits) == width and all(digit in "0123456789abcdefABCDEF" for digit in digits):
            return at + 2 + width, int(digits, 16)
    if not letter or letter.isalnum():
        raise refuse(published[at : at + 2])
    return at + 2, ord(letter)
