"""Generated corpora: frozen digests, one document by its number, shapes, and what each promises."""

from __future__ import annotations

import base64
import codecs
import json
import random
from importlib.resources import files
from itertools import islice

import numpy as np
import pytest
from tokassay.corpora.corpus import Corpus, content
from tokassay.corpora.document import CorpusError
from tokassay.corpora.draws import Draws
from tokassay.corpora.fuzz import MIXTURES, fuzz_document
from tokassay.corpora.joined import ruled
from tokassay.corpora.lengths import CONSTRUCTIONS, MOST, lengths
from tokassay.corpora.open import open_corpus
from tokassay.corpora.tuples import REPRESENTATIVES

GOLDEN = json.loads(files("tokassay.fixtures").joinpath("golden", "corpora.json").read_text("utf-8"))


def gpt2_tokens() -> dict[bytes, int]:
    lines = files("tokassay.fixtures").joinpath("vocab", "r50k_base.tiktoken").read_bytes().splitlines()
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines)}


def opened(spec: str, seed: int = 0) -> Corpus:
    tokens = gpt2_tokens() if spec.startswith(("concat", "borders")) else None
    return open_corpus(spec, seed=seed, tokens=tokens)


@pytest.mark.parametrize("row", GOLDEN["corpora"], ids=lambda row: f"{row['spec']} seed {row['seed']}")
def test_frozen_digest(row: dict[str, object]) -> None:
    spec, seed = str(row["spec"]), int(str(row["seed"]))
    found = content(opened(spec, seed))
    assert (found.documents, found.bytes, found.digest) == (row["documents"], row["bytes"], row["digest"])


@pytest.mark.parametrize(
    "spec", ["battery", "sample", "fuzz:200", "lengths:200", "classes:2", "concat:50", "specials:20"]
)
def test_documents_and_columns_say_the_same_twice(spec: str) -> None:
    corpus = opened(spec)
    from_columns = []
    for buffer, offsets, name in corpus.columns():
        assert offsets.dtype == np.uint64
        assert len(offsets) > 1
        for k in range(len(offsets) - 1):
            from_columns.append((name(k), bytes(buffer[int(offsets[k]) : int(offsets[k + 1])]), name.reason(k)))
    documents = [(d.name, d.data, d.reason) for d in corpus.documents()]
    assert documents == from_columns
    assert len({name for name, _, _ in documents}) == len(documents)


def test_a_fuzz_document_depends_on_seed_and_number_only() -> None:
    small = list(opened("fuzz:50", seed=7).documents())
    large = list(islice(opened("fuzz:8921", seed=7).documents(), 50))
    assert small == large
    assert fuzz_document(7, 49) == small[49]
    assert fuzz_document(8, 49).data != small[49].data


def test_fuzz_presets_have_their_sizes() -> None:
    assert sum(1 for _ in opened("fuzz").documents()) == 4821
    assert sum(1 for _ in opened("fuzz:8921").documents()) == 8921


def test_fuzz_mixes_arbitrary_bytes_with_valid_text() -> None:
    names, valid, invalid = set(), 0, 0
    for document in opened("fuzz").documents():
        names.add(document.name.split()[-1])
        try:
            document.data.decode()
            valid += 1
        except UnicodeDecodeError:
            invalid += 1
    assert names == {mixture.__name__ for mixture, _ in MIXTURES}
    assert sum(weight for _, weight in MIXTURES) == 100
    assert min(valid, invalid) > 1500


def test_draws_are_the_stated_function_of_random() -> None:
    unit = random.Random("fuzz/3/5").random
    draws = Draws("fuzz", 3, 5)
    assert draws.below(1000) == int(unit() * 1000)
    assert draws.choice("abcdef") == "abcdef"[int(unit() * 6)]
    assert draws.length(500) == int(500 ** unit())
    assert draws.chance(0.5) == (unit() < 0.5)


def test_lengths_are_every_one_to_1100_and_around_powers_to_a_million() -> None:
    wanted = lengths()
    assert wanted[:1100] == list(range(1, 1101))
    powers = [2**k for k in range(11, 20)] + [10**k for k in range(4, 7)]
    assert set(wanted[1100:]) == {n + d for n in powers for d in (-1, 0, 1)}
    assert wanted[-1] == MOST


def test_every_construction_has_the_length_it_says_and_all_bytes_stay_under_60_mb() -> None:
    total = 0
    seen: dict[str, list[int]] = {}
    for document in opened("lengths").documents():
        _, name, length = document.name.split()
        extra = 7 if name == "inside" else 0
        assert len(document.data) == int(length) + extra
        seen.setdefault(name, []).append(int(length))
        total += len(document.data)
    assert total <= 60_000_000
    assert {name: lengths(most) for name, (most, _) in CONSTRUCTIONS.items()} == seen


def test_classes_are_the_whole_product() -> None:
    assert len(REPRESENTATIVES) >= 40
    assert (
        len({data for _, data in REPRESENTATIVES}) == len({name for name, _ in REPRESENTATIVES}) == len(REPRESENTATIVES)
    )
    pairs = [document.data for document in opened("classes:2").documents()]
    assert pairs == [a + b for _, a in REPRESENTATIVES for _, b in REPRESENTATIVES]
    second = next(islice(opened("classes:3").documents(), len(REPRESENTATIVES) + 1, None))
    assert second.name == f"classes {REPRESENTATIVES[0][0]} {REPRESENTATIVES[1][0]} {REPRESENTATIVES[1][0]}"


def test_concat_joins_tokens_and_its_odd_half_is_well_formed() -> None:
    documents = list(opened("concat:400").documents())
    for document in documents[1::2]:
        codecs.decode(document.data, "utf-8")
    ill_formed = 0
    for document in documents[::2]:
        try:
            document.data.decode()
        except UnicodeDecodeError:
            ill_formed += 1
    assert ill_formed > 10
    assert documents[:100] == list(opened("concat:100").documents())


def test_concat_without_a_vocabulary_is_an_input_error() -> None:
    with pytest.raises(CorpusError) as caught:
        open_corpus("concat:5")
    assert caught.value.where == "concat:5"
    assert "vocabulary" in caught.value.remedy


def test_specials_stand_adjacent_overlapping_nested_and_nearly() -> None:
    data = {document.data for document in ruled(["<|a|>", "<|a|>b", "|><"])}
    assert {
        b"<|a|><|a|>",
        b"<|a|>b<|a|>",
        b"<|a|><",
        b"<|a|",
        b"|a|>",
        b"a<|a|>b",
        b"\xff<|a|>\xff",
        b"<|<|a|>",
    } <= data


def test_specials_join_real_paragraphs() -> None:
    corpus = open_corpus("specials:50", specials=["<|endoftext|>", "<|fim|>"])
    joined = [d.data for d in corpus.documents() if d.name.startswith("specials 0/")]
    assert len(joined) == 50
    assert all(b"<|endoftext|>" in data or b"<|fim|>" in data for data in joined)
    assert any(b"<|fim|>" in data for data in joined)
    assert all(data.decode() for data in joined)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("batery", "battery"),
        ("fuzz:x", "fuzz:N"),
        ("fuzz:0", "fuzz:N"),
        ("battery:3", "battery"),
        ("classes:", "classes"),
        ("nothing/like/this.txt", "path"),
        ("shakespear", "shakespeare"),
    ],
)
def test_a_wrong_spec_is_one_line_with_place_and_remedy(spec: str, words: str) -> None:
    if spec == "classes:":
        assert open_corpus(spec).name == "classes:3"
        return
    with pytest.raises(CorpusError) as caught:
        open_corpus(spec)
    assert caught.value.where
    assert words in caught.value.remedy
    assert "\n" not in f"{caught.value}{caught.value.remedy}"
