"""The oracle of SentencePiece models, held to sentencepiece itself and to published ids."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from tokassay.oracles import spm, spm_bpe, spm_file, unigram
from tokassay.oracles.errors import OracleError, Reject, Unsupported
from tokassay.oracles.spm_charsmap import Charsmap
from tokassay.oracles.spm_normalize import UserDefined

SPEC = importlib.util.spec_from_file_location("piece_models", Path(__file__).parents[1] / "piece_models.py")
assert SPEC is not None and SPEC.loader is not None
models: Any = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(models)
HEAD, NORMAL, UNUSED, USER_DEFINED = models.HEAD, models.NORMAL, models.UNUSED, models.USER_DEFINED
SPACE = "\u2581"


def contract_of(data: bytes, **changed: Any) -> dict[str, Any]:
    """What a model file means, by this test's own reading of it."""
    model = spm_file.parse(data)
    whitespace = [word for word, on in (("collapse", model.collapse), ("suffix", model.suffix)) if on]
    unknown = [number for number, piece in enumerate(model.pieces) if piece[2] == models.UNKNOWN]
    return {
        "algorithm": "bpe-scores" if model.kind == models.BPE else "unigram-viterbi", "specials": "off",
        "normalizer": "charsmap" if model.charsmap else "none", "byte_policy": "replace-each-byte",
        "byte_fallback": model.byte_fallback, "unknown": unknown[0] if unknown else None,
        "add_prefix_space": model.prefix, "whitespace": whitespace, **changed,
    }  # fmt: skip


def oracle_of(data: bytes, **changed: Any) -> spm.SentencePiece:
    return spm.SentencePiece(contract_of(data, **changed), spm.Tables(spm_file.parse(data)))


def ties() -> list[Any]:
    """Pieces of one letter and equal scores, so that every run is full of ties; unused ones in between."""
    rows = [*HEAD, (SPACE, -1.0, NORMAL), ("a", -1.0, NORMAL), ("b", -1.5, NORMAL), ("ab", -3.0, USER_DEFINED)]
    rows += [("a" * n, -float(n), NORMAL) for n in (2, 3, 5)]
    rows += [("ba", -2.0, UNUSED), ("aab", -2.0, UNUSED), (SPACE + "a", -2.0, NORMAL), ("bb", -2.0, NORMAL)]
    return [*rows, ("baba", -2.0, UNUSED), ("bbaa", -2.5, NORMAL), ("bba", -2.0, UNUSED)]


def llama_like() -> list[Any]:
    """Byte fallback, and runs of spaces that all have one score."""
    letters = [(letter, -1000.0 - n, NORMAL) for n, letter in enumerate(SPACE + "hewrld\u65e5\ufffd")]
    words = [(SPACE + "h", -2.0, NORMAL), ("el", -3.0, NORMAL), (SPACE + "hel", -4.0, NORMAL), ("lo", -5.0, NORMAL)]
    return [*HEAD, *models.BYTES, *words, *letters, *[(SPACE * n, -1e9, NORMAL) for n in range(2, 9)]]


@cache
def charsmap() -> bytes:
    """The map of the rule nmt_nfkc."""
    return spm_file.parse(trained(vocab_size=110)).charsmap


def bpe(rows: list[Any], **options: Any) -> bytes:
    return models.model(rows, models.BPE, **options)  # type: ignore[no-any-return]


def trained(**options: Any) -> bytes:
    return models.trained(**options)  # type: ignore[no-any-return]


# Made when they are first asked for.
CASES: dict[str, Callable[[], bytes]] = {
    "bpe, byte fallback": lambda: trained(
        vocab_size=400, model_type="bpe", byte_fallback=True, normalization_rule_name="identity",
        remove_extra_whitespaces=False,
    ),
    "bpe, nmt_nfkc": lambda: trained(vocab_size=120, model_type="bpe"),
    "bpe, user-defined": lambda: trained(
        vocab_size=130, model_type="bpe", user_defined_symbols=("the", "th", "(", "hel", "\u0301x", " w", "  ")
    ),
    "unigram, nmt_nfkc": lambda: trained(vocab_size=110, model_type="unigram"),
    "unigram, nfkc_cf": lambda: trained(vocab_size=110, normalization_rule_name="nfkc_cf"),
    "unigram, byte fallback": lambda: trained(vocab_size=380, byte_fallback=True, user_defined_symbols=("the", "(")),
    "unigram, suffix": lambda: trained(vocab_size=110, treat_whitespace_as_suffix=True),
    "unigram, no prefix": lambda: trained(vocab_size=110, add_dummy_prefix=False, remove_extra_whitespaces=False),
    "bpe ties": lambda: bpe(ties()),
    "unigram ties": lambda: models.model(ties(), models.UNIGRAM),
    "llama-like": lambda: bpe(llama_like(), fallback=True),
    "collapse without a map": lambda: bpe(ties(), collapse=True),
    "suffix, collapse": lambda: bpe(ties(), collapse=True, suffix=True, charsmap=charsmap()),
}  # fmt: skip


@cache
def case(name: str) -> bytes:
    return CASES[name]()


ATOMS = [
    *"aabb  hello the()", "aaa", "bbaa", "  ", SPACE, "\u65e5\u672c", "\ufb01", "e\u0301", "\u0301x", "\u3000", "\xa0",
    "\t", "\n", "\x00", "\u200b", "\ufffd", "\u00bd", "\uff76\uff9e", "\U0001f999", "<s>", "<unk>", "<0x0A>", " w",
]  # fmt: skip
RAW = [b"\xff", b"\x80", b"\xe2\x82", b"\xed\xa0\x80", b"\xf5", b"\xc0\xaf", b"\xf0\x9f\xa6"]


def documents(seed: int, count: int) -> list[bytes]:
    draw = random.Random(seed)
    fixed = [b"", b" ", b"  ", b"a", SPACE.encode(), (SPACE + " a" + SPACE).encode(), b" a  b ", b"\xff", b"h" * 300]
    fixed += [b" " * n + end for n in range(1, 24) for end in (b"", b"h", b"a")] + [b"a" * n for n in range(2, 40)]
    atoms = [atom.encode() for atom in ATOMS]
    for _ in range(count):
        many = draw.randint(1, 24)
        fixed.append(b"".join(draw.choice(RAW if draw.random() < 0.05 else atoms) for _ in range(many)))
    return fixed


@pytest.mark.parametrize("name", list(CASES))
def test_ids_spans_and_texts_are_those_of_sentencepiece(name: str) -> None:
    data = case(name)
    oracle, reference = oracle_of(data), sentencepiece.SentencePieceProcessor(model_proto=data)
    for document in documents(1, 500):
        right = reference.encode(document, out_type="offset_mapping")
        assert oracle.encode(document) == right["ids"] == reference.encode(document), document
        assert oracle.spans(document) == right["offsets"], document
        assert oracle.decode(right["ids"]) == reference.decode(right["ids"]).encode(), document


@pytest.mark.parametrize("name", ["llama-like", "unigram, byte fallback", "bpe, user-defined", "unigram, no prefix"])
def test_any_ids_decode_as_sentencepiece_decodes_them(name: str) -> None:
    data = case(name)
    oracle, reference = oracle_of(data), sentencepiece.SentencePieceProcessor(model_proto=data)
    draw, pieces = random.Random(2), len(spm_file.parse(data).pieces)
    for _ in range(500):
        ids = [draw.randrange(pieces) for _ in range(draw.randint(0, 12))]
        assert oracle.decode(ids) == reference.decode(ids).encode(), ids
    with pytest.raises(OracleError, match="no piece has id"):
        oracle.decode([pieces])


# The models of huggingface/tokenizers#1213 and of google/sentencepiece#747, without their character maps, which change
# nothing here; the ids are those of the public cases.
U1213 = [
    *HEAD, (SPACE, -1.6798900365829468, 1), ("e", -2.463223695755005, 1), ("h", -2.9632225036621094, 1),
    ("l", -2.963223695755005, 1), ("y", -2.963223695755005, 1), ("b", -2.963224411010742, 1),
    (SPACE + "good", -2.963224411010742, 1), ("o", -3.8202736377716064, 1), ("'", -3.963223695755005, 1),
    ("m", -3.963223695755005, 1), ("p", -3.963223695755005, 1), ("s", -3.963223695755005, 1),
    ("t", -3.963223695755005, 1), ("u", -3.963223695755005, 1), ("w", -3.963223695755005, 1),
    ("ood", -3.9632251262664795, 1), ("a", -3.963226795196533, 1), ("g", -4.042060375213623, 1),
    ("d", -4.042160511016846, 1), ("oo", -4.042160511016846, 1),
]  # fmt: skip
UTIE = [
    *HEAD, (SPACE, -1.0, 1), ("o", -1.0, 1), ("oo", -2.0, 1), ("ooo", -3.0, 1), (".", -2.0, 1),
    ("........", -16.0, 1), ("n", -1.0, 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "ids"), [("ooooo", [3, 5, 6]), (".........", [3, 7, 8])])
def test_of_paths_with_one_score_the_longest_last_piece_wins(text: str, ids: list[int]) -> None:
    """Public cases pb-097 and pb-098."""
    assert oracle_of(models.model(UTIE, models.UNIGRAM)).encode(text.encode()) == ids


def test_an_odd_run_has_its_single_letter_first() -> None:
    """docs/GUARD.md: sentencepiece 0.2.2 and 0.2.3 put it first, 0.2.1 last behind some texts."""
    assert oracle_of(models.model(U1213, models.UNIGRAM)).encode(b"nooo")[-2:] == [10, 22]


def test_sums_are_rounded_to_32_bits() -> None:
    """In 64 bits the two paths differ by 1e-9 and the other one wins; in 32 bits they tie."""
    base = 20_000.0
    rows = [*HEAD, (SPACE, -base, 1), ("a", -1.0, 1), ("b", -1.0, 1), ("ab", -2.0000002384185791, 1)]
    data = models.model(rows, models.UNIGRAM)
    reference = sentencepiece.SentencePieceProcessor(model_proto=data)
    assert oracle_of(data).encode(b"ab") == reference.encode(b"ab") == [3, 6]
    assert -base - 1.0 - 1.0 > -base - 2.0000002384185791


def test_an_unknown_character_costs_the_least_score_less_ten() -> None:
    rows = [*HEAD, (SPACE, -1.0, 1), ("xy", -12.0, 1), ("z", -5.0, 1), ("yz", -1.0, 1)]
    data = models.model(rows, models.UNIGRAM)
    assert oracle_of(data).encode(b"xyz") == sentencepiece.SentencePieceProcessor(model_proto=data).encode(b"xyz")
    assert oracle_of(data).encode(b"xyz") == [3, 4, 5]  # 17 against 12 + 10 + 1


def test_long_documents_are_set_off() -> None:
    """Past 100,000 the sums are set off, which changes how they round."""
    data = models.model([*U1213[:4], *[(p, s * 37, k) for p, s, k in U1213[4:]]], models.UNIGRAM)
    draw = random.Random(3)
    document = "".join(draw.choice(["oo", "o", "good ", "ood", "by ", "e", "mood"]) for _ in range(4000)).encode()
    reference = sentencepiece.SentencePieceProcessor(model_proto=data)
    ids = reference.encode(document)
    assert sum(reference.get_score(number) for number in ids) < -2 * unigram.RESET
    assert oracle_of(data).encode(document) == ids


def test_the_heap_is_the_definition() -> None:
    draw = random.Random(4)
    rank_of = spm_bpe.by_piece(spm_bpe.ranks({row[0].encode(): row[1] for row in ties()[3:]}))
    for _ in range(400):
        text = "".join(draw.choice("aab" + SPACE) for _ in range(draw.randint(1, 30))).encode()
        begun = spm_bpe.symbols(text, UserDefined([b"ab"] if draw.random() < 0.5 else []))
        told: tuple[list[Any], list[Any]] = [], []
        slow = spm_bpe.naive(begun, rank_of, lambda *join: told[0].append(join))  # noqa: B023
        fast = spm_bpe.linked(begun, rank_of, lambda *join: told[1].append(join))  # noqa: B023
        assert (slow, told[0]) == (fast, told[1])


def test_minus_zero_is_below_zero() -> None:
    assert spm_bpe.ranks({b"a": -0.0, b"b": 0.0, b"c": -1.0}) == {b"b": 0, b"a": 1, b"c": 2}


def test_a_trace_says_the_same_as_the_ids() -> None:
    for name in CASES:
        oracle = oracle_of(case(name))
        for document in documents(5, 60):
            told = oracle.decisions(document)
            looked = [each for each in told if each["stage"] == "lookup"]
            assert [each["id"] for each in looked] == oracle.encode(document), name
            assert [(each["start"], each["end"]) for each in looked] == oracle.spans(document), name
    stages = [(each["stage"], each["path"]) for each in oracle_of(case("llama-like")).decisions(b"hel")]
    assert stages[:4] == [
        ("normalize", "prefix space"), ("merge", "highest score, leftmost"), ("merge", "highest score, leftmost"),
        ("merge", "highest score, leftmost"),
    ]  # fmt: skip


def test_byte_policies() -> None:
    data = case("llama-like")
    with pytest.raises(Reject) as caught:
        oracle_of(data, byte_policy="reject").encode(b"he\xffl")
    assert caught.value.offset == 2
    # One U+FFFD for a maximal subpart, or one a byte; `replace` reads it as text, so that a map may change it.
    replaced = oracle_of(data, byte_policy="replace")
    assert replaced.encode(b"h\xe2\x82") == oracle_of(data).encode("h\ufffd".encode())
    assert oracle_of(data).encode(b"h\xe2\x82") == oracle_of(data).encode("h\ufffd\ufffd".encode())
    assert replaced.spans(b"h\xe2\x82")[-1] == (1, 3)
    mapped = trained(vocab_size=120, model_type="bpe")
    assert oracle_of(mapped, byte_policy="replace").encode(b"h\xff") == oracle_of(mapped).encode(b"h ")
    assert oracle_of(mapped).encode(b"h\xff") != oracle_of(mapped).encode(b"h ")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"specials": "on"}, "special tokens"), ({"normalizer": "nfc"}, "normalizer"),
        ({"byte_policy": "byte-alphabet"}, "byte policy"), ({"pretokenizer": [r"\s"]}, "pretokenizer"),
        ({"whitespace": ["trim"]}, "white space"), ({"algorithm": "bpe-ranks"}, "algorithm"),
        ({"ignore_merges": True}, "ignore_merges"),
    ],
)  # fmt: skip
def test_what_is_not_modelled_is_refused_by_name(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(Unsupported, match=said):
        oracle_of(case("llama-like"), **changed)


def test_a_map_is_read_as_sentencepiece_reads_it() -> None:
    """Every character that a map changes, and some pairs of them, against sentencepiece's own normalizer."""
    data = trained(vocab_size=110, add_dummy_prefix=False, remove_extra_whitespaces=False)
    reference = sentencepiece.SentencePieceProcessor(model_proto=data)
    blob = charsmap()
    map_ = Charsmap(blob)
    changed = [chr(c) for c in range(0x30000) if not 0xD800 <= c < 0xE000 and map_.longest(chr(c).encode(), 0)]
    assert len(changed) > 3000
    oracle = oracle_of(data)
    draw = random.Random(6)
    texts = ["".join(changed[n : n + 50]) for n in range(0, len(changed), 50)]
    marks = "e\u0301\u3099\u1161\u11a8 "
    texts += ["".join(draw.choice(changed) + draw.choice(marks) for _ in range(40)) for _ in range(50)]
    for text in texts:
        assert oracle.normalized(text.encode()).data == reference.normalize(text).encode()
    with pytest.raises(OracleError, match="not whole"):
        Charsmap(blob[:100])
    assert map_.begins("\uff21".encode()) and not map_.begins(b"(")
