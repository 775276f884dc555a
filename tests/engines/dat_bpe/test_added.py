"""Added tokens with flags, NFC and the prefix space: against tokenizers on text, against the oracle on any bytes."""

from __future__ import annotations

import copy
import itertools
import pickle
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokassay.engines.dat_bpe import AddedToken, Encoder, LoadError
from tokassay.oracles.oracle import Oracle
from tokenizers import AddedToken as Theirs
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
BYTES = pre_tokenizers.ByteLevel.alphabet()
FLAGS = ("lstrip", "rstrip", "single_word", "normalized")
SETS = [flags for size in range(5) for flags in itertools.combinations(FLAGS, size)]
# Texts that overlap, that hold each other, that a normalizer changes; none begins with a blank.
TEXTS = ("<M>", "mm", "<M>m", "e\u0301", "\u00f3x", "m \u0301", "_-")
PARTS = [
    "<M>", "mm", "m", "<", "M>", "e\u0301", "\u00e9", "o\u0301x", "\u00f3x", "x", " ", "  ", "\n", "\t", "\u00a0",
    "\u3000", "\u0301", "\u0323", "a", "_", "1", "-", ".", "春", "Ⓐ", "\u200d", "Ⅷ", "²", "\u212b", "\uac00",
    "\u11a8", "🙂",
]
ILL_FORMED = [b"\xff", b"\xe9", b"\xcc", b"\xc2", b"\xe2\x80", b"\xf0\x9f\x99", b"\xa0"]
# Merges, so that pieces are not only bytes: of the byte alphabet's names.
MERGES = [("x", "x"), ("Ġ", "m"), ("Ã", "©"), ("Ċ", "Ċ"), ("<", "M"), ("Ġ", "Ġ")]


def tokens_of(chosen: list[tuple[str, tuple[str, ...]]]) -> list[AddedToken]:
    return [
        AddedToken(text, 1000 + number, **dict.fromkeys(flags, True)) for number, (text, flags) in enumerate(chosen)
    ]


def vocabulary() -> dict[str, int]:
    table = {name: number for number, name in enumerate(sorted(BYTES))}
    for left, right in MERGES:
        table[left + right] = len(table)
    return table


def raw(name: str) -> bytes:
    keep = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in keep]
    point = [byte if byte in keep else 0x100 + rest.index(byte) for byte in range(256)]
    return bytes(point.index(ord(letter)) for letter in name)


def tokenizers_of(tokens: list[AddedToken], *, nfc: bool, prefix: bool) -> Tokenizer:
    table = vocabulary()
    filler = len(table)
    while filler < 1000:  # its own numbering of added tokens begins behind the vocabulary
        table[f"\u4e00{filler}"] = filler
        filler += 1
    made = Tokenizer(models.BPE(vocab=table, merges=MERGES))
    if nfc:
        made.normalizer = normalizers.NFC()  # type: ignore[assignment]
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)  # type: ignore[assignment]
    for token in tokens:
        flags = {name: getattr(token, name) for name in FLAGS}
        made.add_special_tokens([Theirs(token.text, **flags)])
    return made


def ours_of(tokens: list[AddedToken], *, nfc: bool, prefix: bool) -> Encoder:
    return Encoder.from_ranks(
        {raw(name): number for name, number in vocabulary().items()}, pattern="gpt2", added=tokens,
        normalizer="nfc" if nfc else "none", prefix_space=prefix,
    )


def oracle_of(tokens: list[AddedToken], *, nfc: bool, prefix: bool) -> Oracle:
    contract: dict[str, Any] = {
        "algorithm": "bpe-ranks", "normalizer": "nfc" if nfc else "none", "pretokenizer": [GPT2], "specials": "on",
        "special_tokens": [], "ignore_merges": False, "add_prefix_space": prefix, "byte_fallback": False,
        "added_tokens": [[each.text, each.id, [name for name in FLAGS if getattr(each, name)]] for each in tokens],
        "unicode": "16.0", "byte_policy": "byte-alphabet",
    }
    return Oracle(contract, {raw(name): number for name, number in vocabulary().items()})


def check_text(text: str, ours: Encoder, theirs: Tokenizer) -> None:
    """Ids; and spans wherever no normalizer changed a byte."""
    found = theirs.encode(text, add_special_tokens=False)
    ids, spans = ours.encode_spans(text, specials=True)
    assert ids.tolist() == found.ids, ascii(text)
    if theirs.normalizer is None or theirs.normalizer.normalize_str(text) == text:
        width = [len(text[:at].encode()) for at in range(len(text) + 1)]
        starts = {width[start] for start, _ in found.offsets}
        for (start, end), (a, b), number in zip(spans.tolist(), found.offsets, found.ids, strict=True):
            if number >= 1000:
                assert (start, end) == (width[a], width[b]), ascii(text)
            else:  # theirs are whole characters
                assert width[a] <= start <= end <= width[b], ascii(text)
        assert starts <= set(width)


def check_bytes(document: bytes, ours: Encoder, oracle: Oracle) -> None:
    ids, spans = ours.encode_spans(document, specials=True)
    assert ids.tolist() == oracle.encode(document)
    assert [tuple(span) for span in spans.tolist()] == oracle.spans(document)
    assert ours.encode(document, specials=True).tolist() == ids.tolist()
    assert ours.decode(ids) == oracle.decode(ids.tolist())


@pytest.mark.parametrize("nfc", [False, True], ids=["plain", "nfc"])
@pytest.mark.parametrize("prefix", [False, True], ids=["", "prefix"])
@pytest.mark.parametrize("flags", SETS, ids=lambda flags: "-".join(flags) or "none")
def test_each_set_of_flags(flags: tuple[str, ...], prefix: bool, nfc: bool) -> None:
    """All tokens with the same flags, and beside tokens with none."""
    chance = random.Random(str((flags, prefix, nfc)))
    for chosen in (
        [(text, flags) for text in TEXTS],
        [("<M>", flags), ("mm", ()), ("\u00f3x", ("normalized",)), ("e\u0301", flags)],
    ):
        tokens = tokens_of(chosen)
        ours, theirs = ours_of(tokens, nfc=nfc, prefix=prefix), tokenizers_of(tokens, nfc=nfc, prefix=prefix)
        oracle = oracle_of(tokens, nfc=nfc, prefix=prefix)
        for _ in range(60):
            text = "".join(chance.choices(PARTS, k=chance.randint(0, 12)))
            check_text(text, ours, theirs)
            parts = [part.encode() for part in PARTS] + ILL_FORMED
            check_bytes(b"".join(chance.choices(parts, k=chance.randint(0, 12))), ours, oracle)


CHOICES = st.lists(
    st.tuples(st.sampled_from(TEXTS), st.sets(st.sampled_from(FLAGS)).map(lambda names: tuple(sorted(names)))),
    max_size=5, unique_by=lambda pair: pair[0],
)


@settings(deadline=None)
@given(CHOICES, st.booleans(), st.booleans(), st.lists(st.lists(st.sampled_from(PARTS), max_size=14), max_size=4))
def test_any_mix_of_flags(
    chosen: list[tuple[str, tuple[str, ...]]], nfc: bool, prefix: bool, texts: list[list[str]]
) -> None:
    tokens = tokens_of(chosen)
    theirs = tokenizers_of(tokens, nfc=nfc, prefix=prefix)
    oracle = oracle_of(tokens, nfc=nfc, prefix=prefix)
    if not tokens:
        assert Encoder.from_ranks({raw(name): each for name, each in vocabulary().items()}, pattern="gpt2")
        return
    ours = ours_of(tokens, nfc=nfc, prefix=prefix)
    for parts in texts:
        check_text("".join(parts), ours, theirs)
        check_bytes("".join(parts).encode(), ours, oracle)
        check_bytes(b"\xe9".join(part.encode() for part in parts), ours, oracle)


def test_batches_traces_and_copies_agree() -> None:
    tokens = tokens_of([("<M>", ("lstrip", "rstrip")), ("e\u0301", ("normalized", "single_word")), ("mm", ())])
    ours = ours_of(tokens, nfc=True, prefix=True)
    oracle = oracle_of(tokens, nfc=True, prefix=True)
    chance = random.Random(3)
    parts = [part.encode() for part in PARTS] + ILL_FORMED
    documents = [b"".join(chance.choices(parts, k=chance.randint(0, 30))) for _ in range(300)]
    expected = [oracle.encode(document) for document in documents]
    for encoder in (ours, pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)):
        for threads in (1, 3):
            values, offsets = encoder.encode_batch(documents, threads=threads, specials=True)
            cuts = offsets.tolist()
            assert [values[a:b].tolist() for a, b in itertools.pairwise(cuts)] == expected
    for document, ids in zip(documents, expected, strict=True):
        traced, decisions = ours.trace_ids(document, specials=True)
        assert traced.tolist() == ids
        stages = ("special", "normalize", "pretokenize", "lookup")
        fields = ("stage", "start", "end", "id")
        found, wanted = (
            [{name: each.get(name) for name in fields} for each in side if each["stage"] in stages]
            for side in (decisions, oracle.decisions(document))
        )
        key = str
        assert sorted(found, key=key) == sorted(wanted, key=key), document


def test_without_specials_their_text_is_text() -> None:
    tokens = tokens_of([("<M>", ("lstrip",)), ("e\u0301", ("normalized",))])
    ours = ours_of(tokens, nfc=True, prefix=False)
    plain = ours_of([], nfc=True, prefix=False)
    document = "a <M> e\u0301".encode()
    assert ours.encode(document).tolist() == plain.encode(document).tolist()
    assert plain.decode(plain.encode(document)) == "a <M> \u00e9".encode()


def test_what_a_span_means() -> None:
    tokens = tokens_of([("<M>", ("lstrip", "rstrip"))])
    ids, spans = ours_of(tokens, nfc=True, prefix=False).encode_spans("a  <M>\n e\u0301z", specials=True)
    assert ids.tolist()[1] == 1000
    assert spans.tolist() == [[0, 1], [1, 8], [8, 11], [11, 12]]
    ids, spans = ours_of(tokens, nfc=False, prefix=True).encode_spans("-", specials=True)
    assert (ids.tolist(), spans.tolist()) == ([220, 12], [[0, 0], [0, 1]])


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ([AddedToken("a", 300), AddedToken("a", 301)], "'a' is given twice"),
        ([AddedToken("", 300)], "no text"),
        ([AddedToken("\ud800", 300)], "surrogate"),
        ([AddedToken("q", 5)], "is that of an ordinary token"),
        ([AddedToken("<M>", 300, rstrip=True), AddedToken("\u3000x", 301)], "begins with one"),
        ([AddedToken(" ", 300, rstrip=True)], "begins with one"),
        ([AddedToken("e\u0301", 300, normalized=True), AddedToken("\u00e9", 301, normalized=True)], "one after NFC"),
    ],
)
def test_tokens_that_cannot_be(tokens: list[AddedToken], words: str) -> None:
    with pytest.raises(LoadError, match=words):
        ours_of(tokens, nfc=True, prefix=False)


def test_blanks_of_two_passes_are_no_matter() -> None:
    """A raw token has taken its blanks before the normalized ones are looked for."""
    tokens = [AddedToken("<M>", 1000, rstrip=True), AddedToken(" x", 1001, normalized=True)]
    ours, theirs = ours_of(tokens, nfc=False, prefix=False), tokenizers_of(tokens, nfc=False, prefix=False)
    for text in ("<M> x", "a x<M>  x x", " x<M>\n x"):
        check_text(text, ours, theirs)


def test_an_unknown_normalizer_is_refused() -> None:
    with pytest.raises(LoadError, match="nfkc"):
        Encoder.from_ranks({bytes([byte]): byte for byte in range(256)}, pattern="gpt2", normalizer="nfkc")
