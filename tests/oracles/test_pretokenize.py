"""Pretokenizers: the contract's Unicode version, what each published engine follows, and the reading of patterns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import regex
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tokassay.oracles import pattern
from tokassay.oracles.classes import CODE_POINTS, VERSIONS, changing, classes
from tokassay.oracles.errors import Unsupported
from tokassay.oracles.oracle import Oracle
from tokassay.oracles.pretokenize import Pretokenizer, representative, strangers
from tokenizers import Regex, pre_tokenizers

VOCABULARIES = ("gpt2", "cl100k_base", "o200k_base")
CHARACTERS = [chr(each) for each in range(CODE_POINTS) if not 0xD800 <= each < 0xE000]
BYTE_RANKS = {bytes([each]): each for each in range(256)}


def kept_by_tiktoken(published: str, text: str) -> str:
    """What a pattern matches in the text: tiktoken drops the rest."""
    encoding = tiktoken.Encoding("probe", pat_str=published, mergeable_ranks=BYTE_RANKS, special_tokens={})
    return bytes(encoding.encode_ordinary(text)).decode()


def kept_by_tokenizers(published: str, text: str) -> str:
    """The same, by a Split that is inverted: what the pattern does not match is removed."""
    split = pre_tokenizers.Split(Regex(published), "removed", invert=True)
    return "".join(piece for piece, _ in split.pre_tokenize_str(text))


@pytest.mark.parametrize("kept", [kept_by_tiktoken, kept_by_tokenizers], ids=["tiktoken", "tokenizers"])
def test_the_pinned_engines_follow_16_0_exactly(kept: Callable[[str, str], str]) -> None:
    """Every code point but the surrogates: those of a category in the table are of that category in the engine."""
    table = classes("16.0")
    for category in sorted({*table.names} - {"Cs"}):
        ranges = [(first, last) for first, last, name in table.ranges if name == category]
        text = "".join(chr(each) for first, last in ranges for each in range(first, last + 1))
        assert kept(rf"\p{{{category}}}+", text) == text, category
    # The probe can fail: these three are of another category in 15.0, 15.1 and 17.0.
    assert kept(r"\p{Cn}+", "\u2ffc\u1c89\u088f") == "\u088f"


def test_byte_level_scanner_of_tokenizers_follows_16_0_exactly(make_contract: Callable[..., dict[str, Any]]) -> None:
    """ByteLevel(use_regex=True), in five surroundings, over all that change and a 97th of the rest."""
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    ours = Pretokenizer(make_contract("gpt2")["pretokenizer"], "16.0")
    for character in [*map(chr, sorted(changing())), *CHARACTERS[::97]]:
        text = f"a{character}b 1{character}1 !{character}! {character} {character} '{character}"
        theirs = [text[start:end] for _, (start, end) in level.pre_tokenize_str(text)]
        assert ours.pieces(text) == theirs, f"U+{ord(character):04X}"


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_changing_code_points_in_words_as_tiktoken_has_them(
    vocabulary: str, make_oracle: Callable[..., Oracle], make_tiktoken: Callable[[str], tiktoken.Encoding]
) -> None:
    oracle, engine = make_oracle(vocabulary), make_tiktoken(vocabulary)
    for code_point in sorted(changing())[::3]:
        text = f"a{chr(code_point)}b 1{chr(code_point)}1!{chr(code_point)} A{chr(code_point)}"
        assert oracle.encode(text.encode()) == engine.encode_ordinary(text), f"U+{code_point:04X}"


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_has_its_own_pieces(version: str, make_contract: Callable[..., dict[str, Any]]) -> None:
    """U+1C89 is a letter since 16.0, U+088F since 17.0; before, each is unassigned and parts the letters."""
    ours = Pretokenizer(make_contract("gpt2")["pretokenizer"], version)
    number = VERSIONS.index(version)
    assert ours.pieces("a\u1c89b") == (["a\u1c89b"] if number >= 2 else ["a", "\u1c89", "b"])
    assert ours.pieces("a\u088fb") == (["a\u088fb"] if number >= 3 else ["a", "\u088f", "b"])
    # U+0558 is unassigned in all four; the regex library already takes it for a letter.
    assert ours.pieces("a\u0558b") == ["a", "\u0558", "b"]


@pytest.mark.parametrize("version", VERSIONS)
def test_matched_text_has_the_tables_categories(version: str) -> None:
    """After the translation the library's category of every code point is the table's."""
    table = classes(version)
    matched = Pretokenizer([r"\p{L}+"], version).matched_text("".join(map(chr, range(CODE_POINTS))))
    assert len(matched) == CODE_POINTS
    for category in table.names:
        ranges = [(first, last) for first, last, name in table.ranges if name == category]
        held = "".join(matched[first : last + 1] for first, last in ranges)
        assert regex.compile(rf"\P{{{category}}}").search(held) is None, category
    changed = {each for each in range(CODE_POINTS) if matched[each] != chr(each)}
    assert changed == set(strangers(version))


def test_long_s_really_is_a_contraction(make_contract: Callable[..., dict[str, Any]]) -> None:
    """(?i:'s) is simple case folding: U+017F folds to s; U+FB05 (a ligature) does not fold to st."""
    for vocabulary in ("cl100k_base", "o200k_base"):
        ours = Pretokenizer(make_contract(vocabulary)["pretokenizer"], "16.0")
        reference = tiktoken.Encoding(
            "probe",
            pat_str=make_contract(vocabulary)["pretokenizer"][0],
            mergeable_ranks=BYTE_RANKS,
            special_tokens={},
        )
        assert reference.encode_ordinary("x'\u017f") == list("x'\u017f".encode())
        pieces = ours.pieces("x'\u017fa")
        assert pieces == (["x", "'\u017f", "a"] if vocabulary == "cl100k_base" else ["x'\u017f", "a"])


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_both_spellings_of_a_pattern_give_the_same_ids(
    vocabulary: str,
    make_contract: Callable[..., dict[str, Any]],
    make_ranks: Callable[[str], dict[bytes, int]],
    make_tiktoken: Callable[[str], tiktoken.Encoding],
) -> None:
    first = Oracle(make_contract(vocabulary), make_ranks(vocabulary))
    later = Oracle(make_contract(vocabulary, pretokenizer=[make_tiktoken(vocabulary)._pat_str]), make_ranks(vocabulary))
    for text in ("a\n\n   ", "a \n", " \n\n x", "\n", "it'S 1234  ", "\u3000\u3000x", "a \r\n\r\n", "\n \n a"):
        assert first.encode(text.encode()) == later.encode(text.encode()), repr(text)


def test_the_two_spellings_of_cl100k_part_a_trailing_run_differently(
    make_contract: Callable[..., dict[str, Any]], make_tiktoken: Callable[[str], tiktoken.Encoding]
) -> None:
    first = Pretokenizer(make_contract("cl100k_base")["pretokenizer"], "16.0")
    later = Pretokenizer([make_tiktoken("cl100k_base")._pat_str], "16.0")
    assert first.pieces("a\n\n   ") == ["a", "\n\n", "   "]
    assert later.pieces("a\n\n   ") == ["a", "\n\n   "]


TEXT = st.lists(
    st.one_of(
        st.sampled_from(["'s", "'S", "'ll", " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u0085", "123", "/"]),
        st.text(max_size=4),
        st.sampled_from(["word", "Word", "WORD", "e\u0301", "春眠", "नमस्ते", "!?", "...", "\u1c89", "\u088f", "\u0558"]),
    ),
    max_size=12,
).map("".join)


@given(TEXT, st.sampled_from(VOCABULARIES), st.sampled_from(VERSIONS))
def test_pieces_join_to_the_text_and_carry_rules(
    make_contract: Callable[..., dict[str, Any]], text: str, vocabulary: str, version: str
) -> None:
    ours = _pretokenizer(make_contract(vocabulary)["pretokenizer"][0], version)
    text = text.encode("utf-8", "ignore").decode()
    pieces = ours.pieces(text)
    assert "".join(pieces) == text
    ruled = list(ours.ruled_pieces(text))
    assert [text[start:end] for start, end, _ in ruled] == pieces
    assert all(rule in ours.patterns[0].alternatives for _, _, rule in ruled)


_BUILT: dict[tuple[str, str], Pretokenizer] = {}


def _pretokenizer(published: str, version: str) -> Pretokenizer:
    key = (published, version)
    if key not in _BUILT:
        _BUILT[key] = Pretokenizer([published], version)
    return _BUILT[key]


def test_splits_apply_in_order_and_gaps_are_kept() -> None:
    """As Hugging Face's Sequence of Split(isolated)."""
    patterns = [r"\p{N}{1,3}", r" ?\p{L}+"]
    theirs = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(each), "isolated") for each in patterns])
    ours = Pretokenizer(patterns, "16.0")
    for text in ("ab12345 cd, e", "  x  ", "", "--", "1a1 a"):
        assert ours.pieces(text) == [piece for piece, _ in theirs.pre_tokenize_str(text)]
        assert [text[start:end] for start, end, _ in ours.ruled_pieces(text)] == ours.pieces(text)
    assert [rule for _, _, rule in ours.ruled_pieces("a-1")] == [r" ?\p{L}+", "gap", "gap"]


def test_a_group_does_not_change_what_a_piece_is() -> None:
    assert Pretokenizer(["(a)(b)?"], "16.0").pieces("abxa") == ["ab", "x", "a"]


def test_an_empty_match_is_no_piece() -> None:
    assert Pretokenizer(["a*"], "16.0").pieces("baab") == ["b", "aa", "b"]


def test_dollar_is_the_end_alone() -> None:
    """Python's $ also matches before a last newline; a published pattern's does not."""
    assert Pretokenizer(["a$"], "16.0").pieces("aa\n") == ["aa\n"]
    assert Pretokenizer(["a$"], "16.0").pieces("aa") == ["a", "a"]
    assert Pretokenizer(["[$]"], "16.0").pieces("a$b") == ["a", "$", "b"]


@pytest.mark.parametrize(
    ("published", "named"),
    [
        (r"\w+", r"\w"),
        (r"\bx", r"\b"),
        (r"\p{Han}", r"\p{Han}"),
        (r"[\p{L}&&[^x]]", "&&"),
        (r"[[:alpha:]]", "[:"),
        (r"(?<=x)y", "(?<="),
        (r"(?m:^x)", "(?m:"),
    ],
)
def test_what_is_not_modelled_is_refused_by_name(published: str, named: str) -> None:
    with pytest.raises(Unsupported) as caught:
        Pretokenizer([published], "16.0")
    assert named in str(caught.value)


def test_alternatives_and_literals_are_read() -> None:
    read = pattern.read(r"a|(?:b|c)|[|\]x-z]|\||[一-龥]+|$")
    assert read.alternatives == ("a", "(?:b|c)", r"[|\]x-z]", r"\|", "[一-龥]+", r"\Z")
    assert read.literals == ((0x4E00, 0x4E00), (0x4E00, 0x9FA5))


def test_a_range_over_strangers_is_refused_and_one_without_is_not() -> None:
    assert Pretokenizer(["[一-龥]+"], "16.0").pieces("a春眠b") == ["a", "春眠", "b"]
    with pytest.raises(Unsupported, match=r"U\+0558"):
        Pretokenizer(["[\u0550-\u0560]+"], "16.0")


def test_representatives_fold_to_nothing_ascii_and_keep_out_of_literals() -> None:
    table = classes("16.0")
    assert representative("Ll", table, []) == "\u0101"
    assert representative("Ll", table, [(0x101, 0x101)]) == "\u0103"
    for category in set(strangers("16.0").values()):
        assert not representative(category, table, []).casefold().isascii()
