"""Splitting expressions, read: from their text to a tree, with whatever is not supported refused by name and place.

The syntax is that of Perl as far as the engines that publishers rely on (fancy-regex, Oniguruma) and the `regex`
library read it alike. Where these part ways, or where the meaning would come from data that this package lacks
(scripts, word characters, cases outside of ASCII), the construct is refused. Settled here:

    .    any character but U+000A
    \\s   White_Space;  \\d  \\p{Nd};  \\p{..}  general categories and their groups
    ^ \\A  the beginning of the text, $ \\z its end: never that of a line. The text is what is split: the whole of it
         between two special tokens, or one piece that an expression before has made
    (?i) simple case folding: the ASCII letters, U+017F with s and U+212A with k
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import NoReturn

from tokassay.engines.dat_bpe.charsets import LAST, SPACE, CharSet, between, negated, of_categories, union
from tokassay.engines.dat_bpe.errors import PatternError
from tokassay.engines.dat_bpe.generate_tables import CATEGORIES

DEPTH_MOST = 60
REPEAT_MOST = 1000
_NAMES = {
    "Letter": "L", "Cased_Letter": "LC", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Titlecase_Letter": "Lt",
    "Modifier_Letter": "Lm", "Other_Letter": "Lo", "Mark": "M", "Nonspacing_Mark": "Mn", "Spacing_Mark": "Mc",
    "Enclosing_Mark": "Me", "Number": "N", "Decimal_Number": "Nd", "Letter_Number": "Nl", "Other_Number": "No",
    "Punctuation": "P", "Connector_Punctuation": "Pc", "Dash_Punctuation": "Pd", "Open_Punctuation": "Ps",
    "Close_Punctuation": "Pe", "Initial_Punctuation": "Pi", "Final_Punctuation": "Pf", "Other_Punctuation": "Po",
    "Symbol": "S", "Math_Symbol": "Sm", "Currency_Symbol": "Sc", "Modifier_Symbol": "Sk", "Other_Symbol": "So",
    "Separator": "Z", "Space_Separator": "Zs", "Line_Separator": "Zl", "Paragraph_Separator": "Zp", "Other": "C",
    "Control": "Cc", "Format": "Cf", "Surrogate": "Cs", "Private_Use": "Co", "Unassigned": "Cn",
}
_CONTROLS = {"r": 13, "n": 10, "t": 9, "f": 12, "v": 11}
_HEX = frozenset("0123456789abcdefABCDEF")
# Escapes that engines know and this package does not, and why.
_UNSUPPORTED = {
    "w": "word characters need data beyond categories", "W": "word characters need data beyond categories",
    "b": "word boundaries need data beyond categories", "B": "word boundaries need data beyond categories",
    "Z": "engines differ on whether it is before a last newline; write \\z",
    "G": "engines differ", "K": "engines differ", "R": "engines differ", "X": "grapheme clusters need data",
    "h": "engines differ", "H": "engines differ", "N": "engines differ",
    "k": "back-references take more than linear time",
}


@dataclass(frozen=True)
class Chars:
    """One character of a set."""

    chars: CharSet


@dataclass(frozen=True)
class Sequence:
    """One after the other; without items: nothing."""

    items: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    """The first of the branches with which the rest can match."""

    branches: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """`least` to `most` (None: any number) times; greedy, or lazy."""

    item: Node
    least: int
    most: int | None
    lazy: bool = False


@dataclass(frozen=True)
class Atomic:
    """What matches first, and nothing else."""

    item: Node


@dataclass(frozen=True)
class Look:
    """Whether the item matches here (ahead) or up to here (behind), taking nothing."""

    item: Node
    behind: bool
    negated: bool


@dataclass(frozen=True)
class Edge:
    """The beginning or the end of the text."""

    end: bool


Node = Chars | Sequence | Choice | Repeat | Atomic | Look | Edge


@dataclass(frozen=True)
class Expression:
    """An expression that was read: its top-level branches, and each as it was written."""

    branches: tuple[Node, ...]
    texts: tuple[str, ...]


def nullable(node: Node) -> bool:
    """Whether it can match nothing."""
    match node:
        case Chars():
            return False
        case Sequence(items):
            return all(nullable(item) for item in items)
        case Choice(branches):
            return any(nullable(branch) for branch in branches)
        case Repeat(item, least):
            return least == 0 or nullable(item)
        case Atomic(item):
            return nullable(item)
        case _:
            return True


def nothing_last(node: Node) -> bool:
    """Whether, if it can match nothing, that is the last that it tries."""
    match node:
        case Sequence(items):
            return not nullable(node) or all(nothing_last(item) for item in items)
        case Choice(branches):
            return not any(nullable(branch) for branch in branches[:-1]) and nothing_last(branches[-1])
        case Repeat(item, _, most, lazy):
            return not nullable(node) or most == 0 or (not lazy and nothing_last(item))
        case Atomic(item):
            return nothing_last(item)
        case _:
            return True


def width(node: Node) -> int | None:
    """How many characters it takes, always; None: not always as many."""
    match node:
        case Chars():
            return 1
        case Sequence(items):
            widths = [width(item) for item in items]
            return None if None in widths else sum(each for each in widths if each is not None)
        case Choice(branches):
            found = {width(branch) for branch in branches}
            return found.pop() if len(found) == 1 else None
        case Repeat(item, least, most):
            one = width(item)
            return one * least if one is not None and least == most else None
        case Atomic(item):
            return width(item)
        case _:
            return 0


class _Reader:
    """A cursor over the text of one expression."""

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.where = where
        self.at = 0
        self.fold = False
        self.depth = 0

    def refuse(self, what: str, why: str, at: int | None = None) -> NoReturn:
        place = self.at if at is None else at
        raise PatternError(
            f"pattern construct {what} is not supported: {why}",
            where=f"{self.where}, character {place} of the pattern {self.text!r}",
            remedy="write the expression without it (docs/FORMATS.md has the syntax)",
        )

    def sees(self, start: str) -> bool:
        return self.text.startswith(start, self.at)

    def takes(self, start: str) -> bool:
        if self.sees(start):
            self.at += len(start)
            return True
        return False

    # ---- branches, items, quantifiers

    def branches(self) -> tuple[tuple[Node, ...], tuple[str, ...]]:
        nodes: list[Node] = []
        texts: list[str] = []
        while True:
            start = self.at
            nodes.append(self.sequence())
            texts.append(self.text[start : self.at])
            if not self.takes("|"):
                return tuple(nodes), tuple(texts)

    def sequence(self) -> Node:
        items: list[Node] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            items.append(self.quantified())
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def quantified(self) -> Node:
        start = self.at
        item = self.item()
        quantifier = self.at
        counts = self.counts()
        if counts is None:
            return item
        least, most, fixed = counts
        if isinstance(item, (Look, Edge)):
            self.refuse(self.text[start : self.at], "an assertion cannot be repeated", start)
        if nullable(item) and (least, most) != (0, 1):
            self.refuse(self.text[start : self.at], "what is repeated can match nothing, where engines differ", start)
        lazy = self.takes("?")
        possessive = not lazy and self.takes("+")
        if lazy and fixed:
            self.refuse(self.text[quantifier : self.at], "engines differ on a fixed count with ?", quantifier)
        if self.text[self.at : self.at + 1] in ("*", "+", "?") and self.at < len(self.text):
            self.refuse(self.text[quantifier : self.at + 1], "one quantifier after another", quantifier)
        if self.sees("{") and self._braces(self.at) is not None:
            self.refuse(self.text[quantifier : self.at + 1], "one quantifier after another", quantifier)
        repeated = Repeat(item, least, most, lazy)
        return Atomic(repeated) if possessive else repeated

    def counts(self) -> tuple[int, int | None, bool] | None:
        """(least, most, whether one number was written) of a quantifier, which is taken; None: there is none."""
        for sign, least, most in (("*", 0, None), ("+", 1, None), ("?", 0, 1)):
            if self.takes(sign):
                return least, most, False
        if not self.sees("{"):
            return None
        found = self._braces(self.at)
        if found is None:
            self.refuse("{", "a brace that is no quantifier; write \\{")
        least, most, fixed, end = found
        if least > REPEAT_MOST or (most or 0) > REPEAT_MOST or (most is not None and most < least):
            self.refuse(self.text[self.at : end], f"counts are in order and at most {REPEAT_MOST}")
        self.at = end
        return least, most, fixed

    def _braces(self, at: int) -> tuple[int, int | None, bool, int] | None:
        close = self.text.find("}", at)
        low, comma, high = self.text[at + 1 : close if close >= 0 else at + 1].partition(",")
        if not _is_number(low) or (high and not _is_number(high)):
            return None
        most = int(high) if high else None if comma else int(low)
        return int(low), most, not comma, close + 1

    def item(self) -> Node:
        start = self.at
        letter = self.text[self.at]
        if letter == "(":
            return self.group()
        if letter == "[":
            return Chars(self.bracket())
        if letter == "\\":
            return self.escaped()
        self.at += 1
        if letter == ".":
            return Chars(negated(between(10, 10)))
        if letter in "^$":
            return Edge(letter == "$")
        if letter in "*+?{":
            self.refuse(letter, "a quantifier of nothing", start)
        return Chars(self.folded(between(ord(letter), ord(letter)), start))

    def group(self) -> Node:
        start = self.at
        self.depth += 1
        if self.depth > DEPTH_MOST:
            self.refuse("(", f"more than {DEPTH_MOST} groups in one another")
        fold = self.fold
        node: Node
        if not self.takes("(?"):
            self.at += 1
            node = self.inside(start)
        elif self.takes(":"):
            node = self.inside(start)
        elif self.takes(">"):
            node = Atomic(self.inside(start))
        elif self.takes("=") or self.takes("!"):
            sign = self.text[self.at - 1]
            node = Look(self.inside(start), False, sign == "!")
        elif self.takes("<=") or self.takes("<!"):
            sign = self.text[self.at - 1]
            node = self.behind(Look(self.inside(start), True, sign == "!"), start)
        elif self.takes("i:") or self.takes("-i:"):
            self.fold = self.text[start + 2] == "i"
            node = self.inside(start)
        elif self.takes("i)"):
            if start > 0:
                self.refuse("(?i)", "engines differ on how far it reaches; write (?i:...)", start)
            self.fold = fold = True
            node = Sequence(())
        elif self.takes("P<") or self.takes("<"):
            close = self.text.find(">", self.at)
            if close < 0 or not self.text[self.at : close].isidentifier():
                self.refuse(self.text[start : start + 4], "a group of this kind", start)
            self.at = close + 1
            node = self.inside(start)
        else:
            self.refuse(self.text[start : start + 3], "a group of this kind", start)
        self.fold = fold
        self.depth -= 1
        return node

    def inside(self, start: int) -> Node:
        nodes, _ = self.branches()
        if not self.takes(")"):
            self.refuse("(", "it is not closed", start)
        return nodes[0] if len(nodes) == 1 else Choice(nodes)

    def behind(self, node: Look, start: int) -> Look:
        branches = node.item.branches if isinstance(node.item, Choice) else (node.item,)
        if any(width(branch) is None for branch in branches):
            self.refuse(self.text[start : start + 4], "look-behind of no fixed width", start)
        return node

    # ---- characters

    def escaped(self) -> Node:
        start = self.at
        letter = self.text[self.at + 1 : self.at + 2]
        if letter in ("A", "z"):
            self.at += 2
            return Edge(letter == "z")
        chars, point = self.escape()
        return Chars(chars if point is None else self.folded(chars, start))

    def escape(self) -> tuple[CharSet, int | None]:
        """The characters that an escape stands for, and the code point if it is one."""
        start = self.at
        letter = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if letter in ("p", "P"):
            return self.property(start, letter == "P"), None
        if letter in ("s", "S"):
            return (SPACE if letter == "s" else negated(SPACE)), None
        if letter in ("d", "D"):
            digits = of_categories("Nd")
            return (digits if letter == "d" else negated(digits)), None
        if letter in _CONTROLS:
            point = _CONTROLS[letter]
        elif letter == "0" and self.text[self.at : self.at + 1] not in tuple("0123456789"):
            point = 0
        elif letter in ("x", "u"):
            point = self.hexadecimal(start, 2 if letter == "x" else 4)
        elif letter and letter.isascii() and not letter.isalnum() and letter.isprintable():
            point = ord(letter)
        else:
            why = "back-references take more than linear time" if letter.isdigit() else "an escape without a meaning"
            self.refuse(self.text[start : self.at], _UNSUPPORTED.get(letter, why), start)
        return between(point, point), point

    def hexadecimal(self, start: int, size: int) -> int:
        digits, end = self.text[self.at : self.at + size], self.at + size
        if self.sees("{"):
            end = self.text.find("}", self.at) + 1
            digits = self.text[self.at + 1 : end - 1]
            size = len(digits) if 1 <= len(digits) <= 6 else 7
        value = int(digits, 16) if len(digits) == size and _HEX.issuperset(digits) else LAST + 1
        if value > LAST or 0xD800 <= value < 0xE000:
            self.refuse(self.text[start : start + 10], "it names no character", start)
        self.at = end
        return value

    def property(self, start: int, inverted: bool) -> CharSet:
        if self.takes("{"):
            close = self.text.find("}", self.at)
            name = self.text[self.at : close] if close >= 0 else ""
            self.at = close + 1
        else:
            name = self.text[self.at : self.at + 1]
            self.at += 1
        short = _NAMES.get(name, name)
        if not short or not (short in CATEGORIES or short in {"L", "M", "N", "P", "S", "Z", "C", "LC"}):
            end = self.text.find("}", start) + 1 or start + 3
            self.refuse(self.text[start:end], "only general categories have tables here", start)
        if self.fold and short[0] in "LM":
            self.refuse(self.text[start : self.at], "under (?i) letters and marks fold into each other", start)
        chars = of_categories(short)
        return negated(chars) if inverted else chars

    def bracket(self) -> CharSet:
        start = self.at
        self.at += 1
        inverted = self.takes("^")
        parts: list[CharSet] = []
        first = self.at
        while not self.sees("]") or self.at == first:
            if self.at >= len(self.text):
                self.refuse("[", "it is not closed", start)
            parts.append(self.member(first))
        self.at += 1
        chars = union(parts)
        return negated(chars) if inverted else chars

    def member(self, first: int) -> CharSet:
        start = self.at
        chars, point = self.character(first)
        if self.sees("--"):
            self.refuse("--", "engines differ on it in a class; escape it")
        if not self.sees("-") or self.text[self.at + 1 : self.at + 2] == "]":
            return chars if point is None else self.folded(chars, start)
        self.at += 1
        _, last = self.character(first)
        if point is None or last is None or last < point:
            self.refuse(self.text[start : self.at], "no range of characters", start)
        return self.folded(between(point, last), start)

    def character(self, first: int) -> tuple[CharSet, int | None]:
        """One character, or set by an escape, of a class whose members begin at `first`."""
        letter = self.text[self.at : self.at + 1]
        if letter == "\\":
            return self.escape()
        if letter in ("[", "]") or self.text[self.at : self.at + 2] in ("&&", "--", "~~", "||"):
            what = self.text[self.at : self.at + 2] if letter != "]" else "[]"
            self.refuse(what, "engines differ on it in a class; escape it")
        if letter == "-" and self.at != first and self.text[self.at + 1 : self.at + 2] != "]":
            self.refuse("-", "a range without a beginning; escape it")
        if not letter:
            self.refuse("[", "it is not closed", first - 1)
        self.at += 1
        return between(ord(letter), ord(letter)), ord(letter)

    def folded(self, chars: CharSet, at: int) -> CharSet:
        """A range of code points, and under (?i) what folds to the same."""
        if not self.fold:
            return chars
        (first, last) = (chars[-2][0], chars[-1][0] - 1) if chars[-1][1] == 0 else (chars[-1][0], LAST)
        extra = [chars]
        for point in range(first, last + 1):
            letter = chr(point)
            if letter in "sS\u017f":
                extra += [between(ord(each), ord(each)) for each in "sS\u017f"]
            elif letter in "kK\u212a":
                extra += [between(ord(each), ord(each)) for each in "kK\u212a"]
            elif letter.isascii():
                other = ord(letter.swapcase())
                extra.append(between(other, other))
            elif letter != letter.lower() or letter != letter.upper() or letter != letter.casefold() or (
                unicodedata.category(letter) == "Cn"
            ):
                self.refuse(f"U+{point:04X} under (?i)", "there are no cases here outside of ASCII", at)
        return union(extra)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9


def read_expression(text: str, where: str = "pattern") -> Expression:
    """Reads an expression. Raises PatternError (a LoadError) that names the construct that is not supported."""
    reader = _Reader(text, where)
    branches, texts = reader.branches()
    if reader.at < len(text):
        reader.refuse(")", "it closes nothing")
    whole = Choice(branches)
    if nullable(whole) and not nothing_last(whole):
        reader.refuse(text, "it prefers to match nothing, and engines differ on how to go on from there", 0)
    return Expression(branches, texts)
