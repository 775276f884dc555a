"""WordPiece: the examples of BERT's own tests, tokenizers on drawn texts, and what the contract refuses."""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest
import tokenizers
from tokassay.harness.vocab_wordpiece import BERT_WORDS, WORDS
from tokassay.oracles import bert
from tokassay.oracles.classes import classes
from tokassay.oracles.decisions import LONGEST, TOO_LONG, UNKNOWN_WORD
from tokassay.oracles.errors import OracleError, Reject, Unsupported
from tokassay.oracles.make import make_oracle
from tokassay.oracles.oracle import Oracle
from tokassay.oracles.wordpiece import WordPiece, joined

PUBLISHED = "clean+cjk-spaces+lowercase+strip-accents"
CASED = "clean+cjk-spaces"
TOKENIZERS = "clean-private+cjk-spaces+strip-accents+lowercase-each"
# google-research/bert, tokenization_test.py
VOCABULARY = ["[UNK]", "[CLS]", "[SEP]", "want", "##want", "##ed", "wa", "un", "runn", "##ing", ","]
# What a word may hold: letters with and without case and marks, signs, blanks, controls, CJK, ill-classed characters.
DRAWN = [
    *"aAbéÉèİßΣσςοΟ1_-.,;^$`'~ \t\n\r\u00a0\u2028\u3000",
    *"\u0301\u0327\u1dfa\u0903\u200b\u00ad\ufeff\x00\x07\x7f\x85\ufffd\ue000\u0378\u166d",
    *"中豈\u3400かガ한𝐀🙂ǅﬁＡ", "\u1112\u1161\u11ab",
]  # fmt: skip


def contract(**change: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "algorithm": "wordpiece", "vocabulary": "", "normalizer": PUBLISHED, "pretokenizer": [BERT_WORDS],
        "specials": "off", "special_tokens": [], "added_tokens": [], "unknown": 0, "continuing_prefix": "##",
        "max_word_chars": 100, "gaps": "dropped", "unicode": "16.0", "byte_policy": "replace",
    }  # fmt: skip
    return fields | change


def ids(texts: list[str]) -> dict[bytes, int]:
    return {text.encode(): number for number, text in enumerate(texts)}


def published(**change: Any) -> Oracle:
    return make_oracle(contract(**change), ids(VOCABULARY))


def words(text: str, normalizer: str = PUBLISHED) -> list[str]:
    """The words of a text, as a contract with that normalizer cuts them."""
    oracle = make_oracle(contract(normalizer=normalizer), ids(VOCABULARY))
    data = text.encode()
    [(scanned, _)] = [oracle._scanned(data, each) for each in oracle._segments(data)]
    return [str(each) for each in oracle._pieces(scanned)]


@pytest.mark.parametrize(
    ("text", "normalizer", "expected"),
    [
        ("ah\u535a\u63a8zz", PUBLISHED, ["ah", "\u535a", "\u63a8", "zz"]),
        (" \tHeLLo!how  \n Are yoU?  ", PUBLISHED, ["hello", "!", "how", "are", "you", "?"]),
        ("H\u00e9llo", PUBLISHED, ["hello"]),
        (" \tHeLLo!how  \n Are yoU?  ", CASED, ["HeLLo", "!", "how", "Are", "yoU", "?"]),
    ],
)
def test_words_of_the_published_examples(text: str, normalizer: str, expected: list[str]) -> None:
    assert words(text, normalizer) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("UNwant\u00e9d,running", [7, 4, 5, 10, 8, 9]),
        ("", []),
        ("unwanted running", [7, 4, 5, 8, 9]),
        ("unwantedX running", [0, 8, 9]),
    ],
)
def test_ids_of_the_published_examples(text: str, expected: list[int]) -> None:
    assert published().encode(text.encode()) == expected


def test_the_limit_counts_characters_after_the_normalizer() -> None:
    oracle = make_oracle(contract(max_word_chars=3), ids(["[UNK]", "a", "##a"]))
    assert oracle.encode(b"aaa") == [1, 2, 2]
    assert oracle.encode(b"aaaa") == [0]
    assert oracle.encode("a\u0301a\u0301a\u0301".encode()) == [1, 2, 2]  # six characters, three without their marks
    assert [each["path"] for each in oracle.decisions(b"aaaa aaa b") if each["stage"] == "lookup"] == [
        TOO_LONG, LONGEST, LONGEST, LONGEST, UNKNOWN_WORD,
    ]


def test_spans_are_the_documents_bytes() -> None:
    text = "UNwant\u00e9d, running \u4e2dx"
    spans = published().spans(text.encode())
    assert [text.encode()[start:end].decode() for start, end in spans] == [
        "UN", "want", "\u00e9d", ",", "runn", "ing", "\u4e2d", "x",
    ]


def test_decoding_puts_a_space_between_words() -> None:
    oracle = published()
    assert oracle.decode([7, 4, 5, 10, 8, 9, 0]) == b"unwanted , running [UNK]"
    assert oracle.decode([4, 5]) == b"##wanted"
    assert joined([], b"##") == b""
    with pytest.raises(OracleError, match="no token has id 99"):
        oracle.decode([99])


def test_ill_formed_bytes_are_cleaned_away_or_refused() -> None:
    assert published().encode(b"un\xffwanted") == [7, 4, 5]
    with pytest.raises(Reject):
        published(byte_policy="reject").encode(b"un\xffwanted")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"byte_policy": "byte-alphabet"}, "byte policy"),
        ({"byte_policy": "raw"}, "byte policy"),
        ({"gaps": "kept"}, "gaps"),
        ({"normalizer": "nfc"}, "normalizer 'nfc'"),
        ({"unicode": "9.0"}, "no table of Unicode 9.0"),
    ],
)
def test_what_is_not_modelled_is_refused_by_name(change: dict[str, Any], what: str) -> None:
    with pytest.raises((Unsupported, OracleError), match=what):
        make_oracle(contract(**change), ids(VOCABULARY))


@pytest.mark.parametrize("name", ["unknown", "continuing_prefix", "max_word_chars"])
def test_a_contract_without_its_parts_is_refused(name: str) -> None:
    with pytest.raises(OracleError, match=name):
        make_oracle(contract(**{name: None}), ids(VOCABULARY))


def test_other_oracles_do_not_take_it_for_theirs() -> None:
    with pytest.raises(Unsupported, match="wordpiece"):
        Oracle(contract(), ids(VOCABULARY))


def test_accents_go_from_the_canonical_decomposition() -> None:
    """Against the interpreter's; marks that are not nonspacing stay, in the order of their combining classes."""
    chance = random.Random(3)
    letters = "aéǖ한豈\u0301\u0327\u0345\u302e\U0001d165\U0001d16d\u0903 "
    known = bert.tables("15.0", "15.0")
    texts = ["".join(chance.choices(letters, k=chance.randrange(1, 8))) for _ in range(3000)]
    for text in texts:
        decomposed = unicodedata.normalize("NFD", text)
        expected = "".join(each for each in decomposed if unicodedata.category(each) != "Mn")
        assert bert.normalize(text, ("strip-accents",), known) == expected, repr(text)


# ---- against tokenizers


def engine(
    texts: list[str], splitter: str = "BertPreTokenizer", specials: tuple[str, ...] = (), **options: bool
) -> tokenizers.Tokenizer:
    asked = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": True, "lowercase": True} | options
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False) | {"special": True}
    root = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": texts.index(text), "content": text} | flags for text in specials],
        "normalizer": {"type": "BertNormalizer"} | asked, "pre_tokenizer": {"type": splitter}, "post_processor": None,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": False},
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": {text: number for number, text in enumerate(texts)},
        },
    }  # fmt: skip
    return tokenizers.Tokenizer.from_str(json.dumps(root))


def drawn(seed: int, count: int) -> Iterator[str]:
    chance = random.Random(seed)
    for _ in range(count):
        yield "".join(chance.choices(DRAWN, k=chance.randrange(1, 14)))


def vocabulary() -> list[str]:
    """Pieces of the drawn texts, so that some words are made up of them."""
    chance = random.Random(1)
    letters = sorted({part for each in DRAWN for part in bert.normalize(each, bert.steps(TOKENIZERS), TABLES)} - {" "})
    pieces = ["".join(chance.choices(letters, k=size)) for size in (2, 3) for _ in range(200)]
    return list(dict.fromkeys(["[UNK]", *letters, *("##" + each for each in letters[::2]), *pieces,
                               *("##" + each for each in pieces)]))  # fmt: skip


TABLES = bert.tables("8.0", "17.0")


@pytest.mark.parametrize("splitter", list(WORDS))
@pytest.mark.parametrize("options", [{}, {"strip_accents": False}, {"lowercase": False, "strip_accents": False}])
def test_tokenizers_gives_the_same_ids_offsets_and_texts(splitter: str, options: dict[str, bool]) -> None:
    texts = vocabulary()
    theirs = engine(texts, splitter, **options)
    named = [step for step in TOKENIZERS.split("+") if options.get({"lowercase-each": "lowercase"}.get(
        step, step.replace("-", "_")), True)]  # fmt: skip
    # Its classes are of 8.0, its lower case is of 17.0; the expression of Whitespace knows 16.0.
    versions = {"normalization": "8.0", "casing": "17.0", "unicode": "8.0" if splitter.startswith("Bert") else "16.0"}
    ours = make_oracle(
        contract(normalizer="+".join(named), pretokenizer=[WORDS[splitter]], **versions), ids(texts)
    )
    seen = 0
    for text in drawn(2, 1500):
        made = theirs.encode(text, add_special_tokens=False)
        data = text.encode()
        assert ours.encode(data) == made.ids, repr(text)
        spans = [(len(data[:start].decode()), len(data[:end].decode())) for start, end in ours.spans(data)]
        assert spans == made.offsets, repr(text)
        assert ours.decode(made.ids).decode() == theirs.decode(made.ids, skip_special_tokens=False), repr(text)
        seen += sum(number > 0 for number in made.ids)
    assert seen > 1000  # not all of it is unknown


def test_special_tokens_are_found_before_the_normalizer() -> None:
    texts = ["[UNK]", "[CLS]", "[SEP]", "[", "cls", "]", "a"]
    theirs = engine(texts, specials=("[CLS]", "[SEP]"))
    named = [["[CLS]", 1], ["[SEP]", 2]]
    on, off = (make_oracle(contract(specials=mode, special_tokens=named), ids(texts)) for mode in ("on", "off"))
    for text in ("[CLS] a[SEP]", "[cls]a[CLS", "a [CLS][CLS]"):
        theirs.encode_special_tokens = False
        assert on.encode(text.encode()) == theirs.encode(text, add_special_tokens=False).ids
        theirs.encode_special_tokens = True
        assert off.encode(text.encode()) == theirs.encode(text, add_special_tokens=False).ids


def test_the_published_rule_is_not_that_of_tokenizers() -> None:
    """Three differences of tokenizers from the rule that its normalizer is named after."""
    texts = ["[UNK]", "ο", "##σ", "##ς", "a", "\U0002b820"]
    theirs, ours = engine(texts), make_oracle(contract(), ids(texts))
    for text, right, got in (
        ("ΟΣ", [1, 3], [1, 2]),  # the final sigma
        ("\ue000a", [0], [4]),  # a private character is no control character
        ("a\U0002b820", [4, 5], [0]),  # the block begins at 2B820
    ):
        assert (ours.encode(text.encode()), theirs.encode(text).ids) == (right, got)


@pytest.mark.parametrize(
    ("rule", "step"), [("lowercase", "lowercase-each"), ("clean", "clean-other"), ("clean", "clean-private")]
)
def test_a_wrong_step_would_be_seen(rule: str, step: str) -> None:
    texts = ["[UNK]", "α", "##σ", "##ς", "a", "##a"]
    right, wrong = (
        make_oracle(contract(normalizer=PUBLISHED.replace(rule, new)), ids(texts)) for new in (rule, step)
    )
    assert any(right.encode(each) != wrong.encode(each) for each in ("ΑΣ".encode(), "\ue000a".encode()))


def test_tables_of_8_0_are_those_that_tokenizers_has() -> None:
    """Another source than ours: what its normalizer removes and strips, and where its pre-tokenizer cuts."""
    table = classes("8.0")
    known = [each for each in range(0x110000) if not 0xD800 <= each < 0xE000 and chr(each) not in "xX"]
    text = "x".join(map(chr, known))
    off = {"handle_chinese_chars": False, "lowercase": False}
    cleaned = tokenizers.normalizers.BertNormalizer(clean_text=True, strip_accents=False, **off).normalize_str(text)
    kept = set(cleaned)
    gone = {each for each in known if chr(each) not in kept} - {each for each in known if each in table.white_space}
    controls = {each for each in known if table.category(each) in ("Cc", "Cf", "Co")}
    assert gone == controls - table.white_space | {0xFFFD}
    stripped = tokenizers.normalizers.BertNormalizer(clean_text=False, strip_accents=True, **off).normalize_str(text)
    assert {each for each in known if table.category(each) == "Mn"}.isdisjoint(map(ord, set(stripped)))
    gone = {ord(each) for each in set(text) - set(stripped)}
    may = {each for each in known if table.category(each) == "Mn" or 0xAC00 <= each < 0xD7A4}
    may |= set(map(ord, TABLES.forms.mapping))
    assert gone <= may
    assert gone == {each for each in may if bert.normalize(chr(each), ("strip-accents",), TABLES) != chr(each)}
    assert isinstance(make_oracle(contract(unicode="8.0"), ids(VOCABULARY)), WordPiece)
