"""The general path against every machine, the oracle and Hugging Face's splits; documents, threads, caches, time."""

from __future__ import annotations

import itertools
import json
import pickle
import random
from collections.abc import Callable
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokassay.corpora.open import open_corpus
from tokassay.corpora.tuples import REPRESENTATIVES
from tokassay.engines.dat_bpe import Encoder, LoadError, PatternError, _core
from tokassay.engines.dat_bpe.programs import compile_expression
from tokassay.oracles.bytepolicy import scan
from tokassay.oracles.pretokenize import Pretokenizer
from tokenizers import pre_tokenizers

BYTES = {bytes([byte]): byte for byte in range(256)}
SUFFIXES = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
BLANKS = r"\s*[\r\n]+|\s+(?!\S)|\s+"
# As published, written out here again. The line breaks in DeepSeek's classes are the characters themselves.
DEEPSEEK = (
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
    " ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
)
FAMILIES: dict[str, tuple[str, ...]] = {
    "gpt2": (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",),
    "cl100k": (SUFFIXES + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + BLANKS,),
    "qwen2": (SUFFIXES + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + BLANKS,),
    "qwen3.5": (SUFFIXES + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + BLANKS,),
    "o200k": (
        rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{SUFFIXES}?|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{SUFFIXES}?|"
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + BLANKS,
    ),
    "tekken": (
        rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*|\p{{N}}|"
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*|" + BLANKS,
    ),
    "deepseek": DEEPSEEK,
}
# Without a machine: what StarCoder's Digits before GPT-2 come to, and others that a tokenizer.json may hold.
OTHERS: dict[str, tuple[str, ...]] = {
    "digits then gpt2": (r"\p{N}", *FAMILIES["gpt2"]),
    "words and gaps": (r"\p{L}+",),
    "nothing": (),
    "three": (r"\s+", r"[^\p{L}]+(?=\p{L})", r"\p{Lu}\p{Ll}*|(?<=\p{Ll})\p{Lu}"),
    "lazy": (r"'.*?'|\p{N}+?(?=\p{N}{3}|\P{N}|$)|(?>\p{L}+|\s{2,})",),
}
MORE = [each.encode() for each in "龥・\u3040ー\u3099Z\u9fa6~[\u2028"]


def document_sets() -> list[bytes]:
    kinds = [kind for _, kind in REPRESENTATIVES] + MORE
    chance = random.Random(3)
    made = [b"".join(pair) for k in (1, 2) for pair in itertools.product(kinds, repeat=k)]
    made += [b"".join(chance.choices(kinds, k=chance.randint(3, 14))) for _ in range(6000)]
    for spec in ("battery", "fuzz:1500"):
        made += [each.data for each in open_corpus(spec, seed=5).documents()]
    return made


DOCUMENTS = document_sets()


@cache
def machine(name: str) -> Encoder:
    return Encoder.from_ranks(BYTES, pattern=(FAMILIES | OTHERS)[name])


@cache
def general(name: str) -> Encoder:
    return Encoder.from_ranks(BYTES, pattern=(FAMILIES | OTHERS)[name], general=True)


def ends(encoder: Encoder, document: bytes) -> list[int]:
    return [end for _, end in encoder.pretokens(document)]


def oracle_ends(pretokenizer: Pretokenizer, document: bytes) -> list[int]:
    scanned = scan(document, "byte-alphabet")
    starts = scanned.starts
    if starts is None:
        return list(accumulate(len(piece.encode()) for piece in pretokenizer.pieces(scanned.text)))
    return [starts[at] for at in accumulate(map(len, pretokenizer.pieces(scanned.text)))]


def test_which_path_is_taken() -> None:
    for name in FAMILIES:
        assert (machine(name).pretokenizer_path, machine(name).pattern) == ("machine", name)
        assert (general(name).pretokenizer_path, general(name).pattern) == ("general", "general")
        assert machine(name).expressions == general(name).expressions == FAMILIES[name]
        by_name = Encoder.from_ranks(BYTES, pattern=name)
        assert by_name.pretokenizer_path == "machine"
        assert by_name.pattern == name
    for name in OTHERS:
        assert machine(name).pretokenizer_path == "general"


@pytest.mark.parametrize("name", [*FAMILIES, *OTHERS])
def test_machine_general_path_and_oracle_are_of_one_mind(name: str) -> None:
    """Battery, fuzz, all pairs of character and byte classes, and mixtures."""
    expressions = (FAMILIES | OTHERS)[name]
    # The oracle reads no look-behind and no atomic group: there the general path is held to itself alone.
    oracle = Pretokenizer(expressions, "16.0") if name not in ("three", "lazy") else None
    one, other = machine(name), general(name)
    for document in DOCUMENTS:
        found = ends(other, document)
        assert ends(one, document) == found, document
        if oracle is not None:
            assert oracle_ends(oracle, document) == found, document


@pytest.mark.parametrize("name", list(FAMILIES))
def test_blocks_of_64_bytes_are_cut_as_the_machine_does(name: str) -> None:
    """On every level of instructions that this processor has; long mixtures, so that what is undecided at a block's end
    is met."""
    encoder = machine(name)
    chance = random.Random(17)
    common = [b"a", b"B", b" ", b" ", b".", b"1", "é".encode(), "漢".encode(), "ー".encode(), b"\n", b"\0", b"'", b"  ",
              b"the ", b" of", b"12", b"'s"]  # fmt: skip
    long_ones = [b"".join(chance.choices(common, k=chance.choice([40, 90, 300]))) for _ in range(4000)]
    for document in [*long_ones, *DOCUMENTS]:
        expected = ends(encoder, document)
        for level in range(_core.best_level() + 1):
            assert encoder._tables.block_pretokens(document, level) == expected, (level, document)


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "deepseek", "digits then gpt2", "words and gaps", "three"])
def test_pieces_are_those_of_tokenizers(name: str) -> None:
    """Sequence of Split(isolated), as tokenizers carries it out."""
    splits = [pre_tokenizers.Split(tokenizers.Regex(each), "isolated") for each in (FAMILIES | OTHERS)[name]]
    theirs = pre_tokenizers.Sequence(splits)
    checked = 0
    for document in DOCUMENTS:
        try:
            text = document.decode()
        except UnicodeDecodeError:
            continue
        byte_at = [0, *accumulate(len(each.encode()) for each in text)]
        expected = [byte_at[end] for _, (_, end) in theirs.pre_tokenize_str(text)]
        for encoder in (machine(name), general(name)):
            assert ends(encoder, document) == expected, document
        checked += 1
    assert checked > 3000


@given(st.one_of(st.binary(max_size=60), st.lists(st.sampled_from([*MORE, b"a", b" ", b"1", b"\n"])).map(b"".join)))
def test_any_bytes(document: bytes) -> None:
    for name in FAMILIES:
        assert ends(machine(name), document) == ends(general(name), document)


@pytest.mark.parametrize("version", ["15.0", "15.1", "16.0", "17.0"])
def test_each_unicode_version_has_its_own_categories(version: str) -> None:
    """U+1C89 is a letter since 16.0, U+088F since 17.0."""
    number = ("15.0", "15.1", "16.0", "17.0").index(version)
    for name in ("gpt2", "deepseek"):
        for wants_general in (False, True):
            encoder = Encoder.from_ranks(BYTES, pattern=FAMILIES[name], unicode=version, general=wants_general)
            assert (len(encoder.pretokens("a\u1c89b")) == 1) is (number >= 2)
            assert (len(encoder.pretokens("a\u088fb")) == 1) is (number >= 3)


def test_deepseek_by_hand() -> None:
    """Numbers by threes; each run of CJK and each rest is a text of its own, so blanks before them stay whole."""
    pieces = {
        "1234567": ["123", "456", "7"], "a 12": ["a", " ", "12"], "x   12": ["x", "   ", "12"],
        "x   y": ["x", "  ", " y"], "  漢": ["  ", "漢"], "漢字かな": ["漢字かな"], "カ・タ": ["カ", "・", "タ"],
        ".foo.Bar": [".foo", ".Bar"], ".été": [".", "été"], "!aé": ["!a", "é"], "a\u0301b": ["a\u0301b"],
        " .\n\nx": [" .\n\n", "x"], "・\nx": ["・", "\n", "x"], "\0\0\0a": ["\0\0", "\0a"], "\0\x01 ": ["\0\x01", " "],
        "\u3040か": ["\u3040か"], "it's": ["it", "'s"], " \r\n \n x": [" \r\n \n", " x"], "\u200bword": ["\u200bword"],
        "한국어 1": ["한국어", " ", "1"], "²³x": ["²³", "x"], "\u9fa6一": ["\u9fa6", "一"],
    }
    for text, expected in pieces.items():
        for encoder in (machine("deepseek"), general("deepseek")):
            assert [text.encode()[a:b].decode() for a, b in encoder.pretokens(text)] == expected, text


def test_ids_by_every_way(ranks_of: Callable[[str], dict[bytes, int]]) -> None:
    """Batches, threads, caches, special tokens, the trace build and a copy: one answer, which is the machine's."""
    chance = random.Random(9)
    texts = [b"".join(chance.choices([*DOCUMENTS, b"<|x|>", b" the word's 12345 "], k=3)) for _ in range(400)]
    for name in ("cl100k", "deepseek"):
        options: dict[str, Any] = {"pattern": FAMILIES[name], "specials": {"<|x|>": 90_000}}
        plain = Encoder.from_ranks(ranks_of("gpt2"), **options)
        encoders = [
            Encoder.from_ranks(ranks_of("gpt2"), general=True, cache_bits=bits, **options) for bits in (0, 4, 16)
        ]
        encoders.append(pickle.loads(pickle.dumps(encoders[0])))
        assert encoders[-1].pretokenizer_path == "general"
        values, offsets = plain.encode_batch(texts, specials=True)
        for encoder in encoders:
            for threads in (1, 3):
                found = encoder.encode_batch(texts, specials=True, threads=threads)
                assert found[0].tolist() == values.tolist()
                assert found[1].tolist() == offsets.tolist()
        for i, text in enumerate(texts[:100]):
            ids, decisions = encoders[0].trace_ids(text, specials=True)
            assert ids.tolist() == values[int(offsets[i]) : int(offsets[i + 1])].tolist()
            pieces = [each for each in decisions if each["stage"] in ("pretokenize", "special")]
            assert [each["start"] for each in pieces[1:]] == [each["end"] for each in pieces[:-1]]


def test_a_piece_is_traced_with_the_alternative_that_took_it() -> None:
    traced = [each for each in machine("digits then gpt2").trace(b"a1 -") if each["stage"] == "pretokenize"]
    assert [(each["path"], each["start"], each["end"], each["rule"]) for each in traced] == [
        ("general", 0, 1, r" ?\p{L}+"), ("general", 1, 2, r" ?\p{N}+"), ("general", 2, 4, r" ?[^\s\p{L}\p{N}]+"),
    ]
    gaps = [each for each in machine("words and gaps").trace(b"--a\xff\x80") if each["stage"] == "pretokenize"]
    assert [each["rule"] for each in gaps] == ["gap", r"\p{L}+"]
    traced = machine("deepseek").trace("12\0-漢 \n".encode())
    rules = [each["rule"] for each in traced if each["stage"] == "pretokenize"]
    assert rules == ["numbers", "gap", "symbols", "letters", "newlines"]
    scans = [each for each in general("deepseek").trace("a漢\xe9".encode()) if each["stage"] == "scan"]
    assert [(each["offset"], each["accepted"]) for each in scans] == [(0, 1), (1, 3), (4, 2)]


def test_a_cut_by_a_special_token_is_an_end_of_the_text() -> None:
    encoder = Encoder.from_ranks(BYTES, pattern=[r"^a|b$|c(?!d)"], specials={"<>": 300})
    spans = [each for each in encoder.trace(b"aab<>acd", specials=True) if each["stage"] == "pretokenize"]
    assert [(each["start"], each["end"]) for each in spans] == [(0, 1), (1, 2), (2, 3), (5, 6), (6, 8)]


LONG = {
    "a+b": b"a", "(?:a|aa)+b": b"a", "(?>a+)b": b"a", "a++b": b"a", "(?>(?:a|b)+)c": b"ab", r"\s+(?!\S)|\s+": b" ",
    r"\s++$|x": b" ", "(?=a*b)a|c": b"a", "(?:(?:a+b)+c)+d": b"aab", "(?<=a)a*b": b"a", "(?=(?:a|b)*c)a": b"ab",
    "a*?b": b"a", "(?!a*b)a": b"a", "(?:a++b++)*+c": b"aaaaaaaab", "(?:x+x+)+y": b"x",
    "(?:(?=(?:a|b)++c)a|b)+d": b"ab", "(?:a?a?a?a?a?a?b)?a{6}b": b"a",
}  # fmt: skip


@pytest.mark.parametrize("expression", list(LONG))
def test_long_texts_that_make_other_engines_backtrack(expression: str) -> None:
    """A million bytes each: with more than linear time these would not end before the test is stopped."""
    document = (LONG[expression] * 1_000_000)[:1_000_000]
    assert ends(Encoder.from_ranks(BYTES, pattern=[expression]), document)[-1] == len(document)


@pytest.mark.parametrize("kind", [b"a", b" ", b"\n", b"1", "漢".encode(), b"\xff", b"\0", b"'", b" \n", b"\0a", b"  1"])
def test_long_runs_of_deepseek(kind: bytes) -> None:
    document = (kind * 1_000_000)[:600_000]
    assert ends(machine("deepseek"), document) == ends(general("deepseek"), document)


@pytest.mark.parametrize("name", ["gtp2", "cl100k_basis", "o200k-base"])
def test_a_name_that_is_none_is_no_expression(name: str) -> None:
    with pytest.raises(LoadError, match="no pattern has the name") as caught:
        Encoder.from_ranks(BYTES, pattern=name)
    assert "deepseek" in caught.value.remedy
    assert ends(Encoder.from_ranks(BYTES, pattern=["ab"]), b"cabab") == [1, 3, 5]


def test_a_sequence_names_the_expression_at_fault() -> None:
    with pytest.raises(PatternError, match=r"own.tiktoken, character 1 of the pattern .*\\p\{Han\}"):
        Encoder.from_ranks(BYTES, pattern=[r"\p{N}", r"x\p{Han}"], where="own.tiktoken")


def test_the_programs_of_the_native_cases_are_what_the_compiler_makes() -> None:
    """They are frozen, as those scripts run without this package; to write them anew: see the assertion."""
    cases = json.loads((Path(__file__).parents[2] / "native" / "programs.json").read_text(encoding="utf-8"))
    assert tuple(cases["deepseek, interpreted"]["expressions"]) == DEEPSEEK
    for name, case in cases.items():
        compiled = [compile_expression(each).words.tolist() for each in case["expressions"]]
        assert case["words"] == compiled, f"{name}: set words to [compile_expression(e).words.tolist(), ...]"
