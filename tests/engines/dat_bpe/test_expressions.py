"""Splitting expressions: what they mean is what the `regex` library says, what is not supported is named."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy
import pytest
import regex
from hypothesis import assume, given
from hypothesis import strategies as st
from tokassay.engines.dat_bpe import LoadError, PatternError, _core
from tokassay.engines.dat_bpe.programs import compile_expression

UNICODE_16 = _core.UNICODE_VERSIONS.index("16.0")
# No category among these has changed in years, so that the library's tables and ours are of one mind.
LETTERS = "aAbBcksSKZ1²٣Ⅷ \t\n\r\u00a0\u3000'.-_é漢あ\u0301\u0903ǅʰ\u017f\u212a$+🙂\0\u200d"
ATOMS = [
    "a", "b", "A", "s", "k", "1", " ", "'", r"\.", "é", "漢", r"\n", r"\x41", r"\x{1F642}", r"\u0301", ".", r"\s",
    r"\S", r"\d", r"\D", r"\p{L}", r"\P{L}", r"\p{N}", r"\p{Nd}", r"\p{Lu}", r"\p{Ll}", r"\p{M}", r"\p{P}", r"\p{S}",
    r"\p{Zs}", r"\pL", r"\p{C}",
]
MEMBERS = [
    "a", "b", "a-c", r"\s", r"\p{L}", r"\p{N}", "1", r"\n", r"\r", "é", "漢", r"\-", "'", ".", r"\x30-\x39", r"\]",
]
QUANTIFIERS = [
    "", "", "", "*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}", "*?", "+?", "??", "{1,2}?", "*+", "++", "?+", "{1,2}+",
]
BEHIND = ["a", r"\s", "ab", "a|bb", "[ab]1", r"\p{L}\p{L}", "(?=a).", "[^a]", "漢|é", "a{2}"]
# The library lets the flag of one (?i:...) leak into negated classes elsewhere in the expression, so it stands apart.
FOLDED = ["a", "s", "k", "[a-k]", "'s|'t|'re", "a|B", r"\s", "1", r"[\p{N}a]", "\u017f", "[^1]", "\u2019s"]


def _class(inverted: bool, members: list[str]) -> str:
    return f"[{'^' if inverted else ''}{''.join(members)}]"


members = st.lists(st.sampled_from(MEMBERS), min_size=1, max_size=3)
plain = st.one_of(st.sampled_from(ATOMS), st.builds(_class, st.booleans(), members))
assertions = st.one_of(
    st.sampled_from([r"\A", r"\z", "^", "$"]),
    st.builds("(?<{}{})".format, st.sampled_from("=!"), st.sampled_from(BEHIND)),
)


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = st.builds("{}{})".format, st.sampled_from(["(", "(?:", "(?:", "(?>", "(?<name>"]), inner)
    repeated = st.builds("{}{}".format, st.one_of(plain, group), st.sampled_from(QUANTIFIERS))
    look = st.builds("(?{}{})".format, st.sampled_from("=!"), inner)
    items = st.lists(st.one_of(repeated, repeated, repeated, look, assertions), min_size=1, max_size=3).map("".join)
    return st.lists(items, min_size=1, max_size=3).map("|".join)


expressions = st.recursive(st.builds("{}{}".format, plain, st.sampled_from(QUANTIFIERS)), _larger, max_leaves=12)
folded = st.lists(
    st.one_of(
        st.builds("(?i:{}){}".format, st.sampled_from(FOLDED), st.sampled_from(QUANTIFIERS)),
        st.builds("{}{}".format, st.sampled_from(ATOMS[:-2]), st.sampled_from(QUANTIFIERS)),
    ),
    min_size=1, max_size=4,
).map("".join)
texts = st.one_of(st.text(LETTERS, max_size=24), st.text("ab1 s", max_size=24))


def library_ends(expression: str, text: str) -> list[int]:
    """The ends of matches and gaps, in bytes, by the `regex` library. $ is Rust's: the end alone."""
    byte_at = [0, *accumulate(len(each.encode()) for each in text)]
    ends: list[int] = []
    done = 0
    spelled = expression.replace("$", r"\Z").replace(r"\z", r"\Z").replace("(?<name>", "(").replace(r"\x{1F642}", "🙂")
    for match in regex.compile(spelled, regex.VERSION0).finditer(text):
        low, high = match.span()
        if low == high:
            continue
        ends += [byte_at[low]] if done < low else []
        ends.append(byte_at[high])
        done = high
    return ends + ([byte_at[-1]] if done < len(text) else [])


def our_ends(expression: str, text: str) -> list[int]:
    program = compile_expression(expression)
    return _core.split([(program.words, program.alternatives)], UNICODE_16, text)


def check(expression: str, text: str) -> None:
    try:
        program = compile_expression(expression)
    except PatternError as error:
        # The generator makes these; each is refused for its reason.
        reasons = ("can match nothing", "to match nothing", "an assertion cannot be repeated")
        assert any(reason in str(error) for reason in reasons)
        assume(False)
        return
    found = _core.split([(program.words, program.alternatives)], UNICODE_16, text)
    assert found == library_ends(expression, text)


@given(expressions, texts)
def test_any_expression_on_any_text(expression: str, text: str) -> None:
    check(expression, text)


@given(folded, texts)
def test_simple_case_folding(expression: str, text: str) -> None:
    check(expression, text)


@pytest.mark.parametrize(
    ("expression", "text", "pieces"),
    [
        # Backtracking, and its absence.
        (r"a+ab", "aaab", ["aaab"]), (r"a++ab", "aaab", ["aaab"]), ("(?>a|ab)c", "abc", ["abc"]),
        (r"\s+(?!\S)|\s+", "  x", [" ", " ", "x"]), ("a{2,3}", "aaaaaaa", ["aaa", "aaa", "a"]),
        ("a{2,3}?", "aaaaa", ["aa", "aa", "a"]), ("(?<=a)b", "abbb", ["a", "b", "bb"]), ("(?<!a)b", "abb", ["ab", "b"]),
        # Alternatives in order, not by length; edges of the text; a dot is no newline.
        ("a|ab", "ab", ["a", "b"]), ("^a", "aa", ["a", "a"]), (r"a$|\n", "a\n", ["a", "\n"]), ("a$", "aa", ["a", "a"]),
        (".+", "ab\nc", ["ab", "\n", "c"]), (r"(?i)st", "ſtST\u212a", ["ſt", "ST", "\u212a"]),
        ("(?i:k)", "K\u212aj", ["K", "\u212a", "j"]), ("(?i:[j-l])+", "\u212aJL1", ["\u212aJL", "1"]),
        # An empty match is no piece.
        ("a*", "baab", ["b", "aa", "b"]), ("(?:)", "ab", ["ab"]), ("", "ab", ["ab"]), ("x?", "axb", ["a", "x", "b"]),
        # Long names, one letter, complements, literal braces and brackets.
        (r"\p{Letter}+", "ab1", ["ab", "1"]), (r"\PN", "a1", ["a", "1"]), (r"[^\P{L}]", "a1", ["a", "1"]),
        (r"\{\}|]", "{}]", ["{}", "]"]), ("[a-]", "-b", ["-", "b"]), (r"[\s-]", "-b", ["-", "b"]),
        (r"[\^]", "^", ["^"]),
        (r"\p{LC}+", "aǅʰ", ["aǅ", "ʰ"]), (r"\u{1F642}", "🙂a", ["🙂", "a"]), ("(?P<x>a)b", "ab", ["ab"]),
        ("a(?-i:b)", "ab", ["ab"]), (r"\0", "\0a", ["\0", "a"]),
    ],
)  # fmt: skip
def test_by_hand(expression: str, text: str, pieces: list[str]) -> None:
    assert our_ends(expression, text) == list(accumulate(len(each.encode()) for each in pieces))


@pytest.mark.parametrize(
    ("expression", "construct", "at"),
    [
        (r"a\w", r"\w", 1), (r"\W+", r"\W", 0), (r"x\b", r"\b", 1), (r"\Z", r"\Z", 0), (r"(a)\1", r"\1", 3),
        (r"\G", r"\G", 0), (r"\K", r"\K", 0), (r"\R", r"\R", 0), (r"\X", r"\X", 0), (r"\h", r"\h", 0),
        (r"\p{Han}", r"\p{Han}", 0), (r"a[\p{Hiragana}]", r"\p{Hiragana}", 2),
        (r"\p{Alphabetic}", r"\p{Alphabetic}", 0),
        (r"\p{", r"\p{", 0), (r"\p{lu}", r"\p{lu}", 0), (r"\q", r"\q", 0), ("\\", "\\", 0), (r"\é", r"\é", 0),
        ("[[:alpha:]]", "[:", 1), ("[a&&b]", "&&", 2), ("[a--b]", "--", 2), ("[a~~b]", "~~", 2), ("[]a]", "[]", 1),
        ("[^]a]", "[]", 2), ("[a", "[", 0), ("[b-a]", "b-a", 1), (r"[\s-a]", r"\s-a", 1), ("[a-c-e]", "-", 4),
        (r"[a-\d]", r"a-\d", 1), ("(a", "(", 0), ("a)", ")", 1), ("*a", "*", 0), ("a|+", "+", 2), ("a**", "**", 1),
        ("a+*", "+*", 1), ("a{2}{3}", "{2}{", 1), ("a{2}?", "{2}?", 1), ("a{,3}", "{", 1), ("{2}", "{", 0),
        ("a{x}", "{", 1),
        ("a{3,2}", "{3,2}", 1), ("a{1001}", "{1001}", 1), ("a{9999999999}", "{", 1), ("(?:a*)*", "(?:a*)*", 0),
        ("(?:|a)+", "(?:|a)+", 0), ("(?=a)*", "(?=a)*", 0), ("^*", "^*", 0), ("(?<=a+)b", "(?<=", 0),
        ("(?s)a", "(?s", 0), ("(?m:^a)", "(?m", 0), ("a(?i)b", "(?i)", 1), ("(?x)a", "(?x", 0), ("(?#c)a", "(?#", 0),
        ("(?(1)a)", "(?(", 0), ("(?P=x)", "(?P", 0), ("(?R)", "(?R", 0), ("(?<1>a)", "(?<1", 0),
        ("(?i:é)", "U+00E9 under (?i)", 4),
        (r"(?i:\p{L})", r"\p{L}", 4), (r"(?i)[\p{Lu}]", r"\p{Lu}", 5), (r"(?i:[à-ý])", "U+00E0 under (?i)", 5),
        (r"\x{110000}", r"\x{110000}", 0),
        (r"\uD800", r"\uD800", 0), (r"\x4", r"\x4", 0), (r"\01", r"\0", 0), ("|a", "|a", 0), ("a??", "a??", 0),
        ("(?=a)|ab", "(?=a)|ab", 0), ("(" * 61 + "a" + ")" * 61, "(", 60),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_refused_by_name_and_place(expression: str, construct: str, at: int) -> None:
    with pytest.raises(PatternError) as caught:
        compile_expression(expression, "own.json")
    error = caught.value
    assert isinstance(error, LoadError)
    assert f"pattern construct {construct} is not supported: " in str(error)
    assert error.where == f"own.json, character {at} of the pattern {expression!r}"
    assert "docs/FORMATS.md" in error.remedy


def test_an_expression_that_grows_too_large_is_refused() -> None:
    with pytest.raises(PatternError, match="more than 65536 instructions"):
        compile_expression("(?:(?:ab){900}c){900}")


def test_characters_without_case_are_taken_under_case_folding() -> None:
    """Those that a folded literal may be fold to themselves, by Python's own tables."""
    taken = 0
    for point in range(0x80, 0x3100):
        letter = chr(point)
        try:
            program = compile_expression(f"(?i:{letter})")
        except PatternError:
            continue
        taken += 1
        assert letter in "\u017f\u212a" or {letter.lower(), letter.upper(), letter.casefold()} == {letter}
        assert program.words.dtype == numpy.uint32
    assert taken > 6000


def test_ill_formed_bytes_are_seen_as_their_characters_of_the_byte_alphabet(
    byte_character: Callable[[int], str],
) -> None:
    """A byte alone is matched where its character is: by category, by range, by itself; and never as another's part."""
    for byte in range(0x80, 0x100):
        letter = byte_character(byte)
        document = b"a" + bytes([byte]) + b"b"
        for expression in (letter, f"[{letter}-{letter}]", rf"\p{{{unicodedata.category(letter)}}}(?=b)"):
            program = compile_expression(expression)
            assert _core.split([(program.words, ())], UNICODE_16, document)[:2] == [1, 2] or expression[0] == "\\"
            assert 2 in _core.split([(program.words, ())], UNICODE_16, document)
        other = compile_expression(chr(0x144))
        assert _core.split([(other.words, ())], UNICODE_16, document) == [3]
    assert our_ends("[\u0100-\u0143]+", "a\u0100\u0143b") == [1, 5, 6]


def test_look_behind_goes_back_by_characters_in_ill_formed_text() -> None:
    alone = (b"\x80", b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc3", b"\x80\x80\x80\x80\x80")
    for before in (*alone, "漢".encode()):
        count = len(before) if before != "漢".encode() else 1
        for expression, held in ((rf"(?<=a.{{{count}}})b", True), (rf"(?<=a.{{{count + 1}}})b", False)):
            program = compile_expression(expression)
            ends = _core.split([(program.words, ())], UNICODE_16, b"a" + before + b"b")
            size = len(before) + 2
            assert ends == ([size - 1, size] if held else [size]), (before, expression)


WORDS: Any = compile_expression(r"(?:a|bb)+?(?>c*d)+e|\s++(?<=x)").words


def test_a_program_that_is_damaged_is_refused_or_does_no_harm() -> None:
    """Every word of a program replaced by others: refused, or carried out to the end of the text and no further."""
    document = b"abbacccdde abba x " * 20
    refused = run = 0
    for at in range(len(WORDS)):
        for value in (0, 1, 2, 5, 13, 14, 20, 0x7F, 0x80000000, 0x80000001, 0xFFFFFFFF, int(WORDS[at]) ^ 1):
            words = WORDS.copy()
            words[at] = value
            try:
                ends = _core.split([(words, ())], UNICODE_16, document)
            except ValueError as error:
                assert "no program" in str(error)
                refused += 1
                continue
            run += 1
            assert ends[-1] == len(document)
            assert ends == sorted(set(ends))
    assert refused > 400
    assert run > 500


@pytest.mark.parametrize("words", [[], [1], WORDS[:-1], WORDS[:8], [*WORDS, 0]], ids=len)
def test_what_is_no_program_is_refused(words: Any) -> None:
    with pytest.raises(ValueError, match="no program"):
        _core.split([(numpy.array(words, numpy.uint32), ())], UNICODE_16, b"a")
