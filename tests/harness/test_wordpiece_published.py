"""The published vocabularies of WordPiece and of RWKV, against ids that others published and engines that read them."""

from __future__ import annotations

from itertools import islice

import pytest
from tokassay.corpora.archives import iter_members
from tokassay.corpora.fetch import fetch_archive, fetch_file, find_entry
from tokassay.corpora.open import open_corpus
from tokassay.engines import frames
from tokassay.engines.environments import install
from tokassay.engines.roster import load_roster
from tokassay.harness import known
from tokassay.harness.hosts import open_host, target
from tokassay.harness.load import Loaded, load_vocabulary
from tokassay.harness.vocab_verify import verify
from tokassay.oracles.make import make_oracle
from tokassay.oracles.oracle import Oracle

pytestmark = [pytest.mark.network, pytest.mark.timeout(900)]

# name -> tokens, special tokens aside
TOKENS = {"bert_base_uncased": 30_517, "nepali_wordpiece": 30_517, "rwkv_world": 65_529}
GOLD = "llama_cpp_python-0.3.36/vendor/llama.cpp/models/ggml-vocab-bert-bge.gguf"


def fetched(name: str) -> Loaded:
    encoding = known.find(name)
    assert encoding is not None
    fetch_file(find_entry(encoding.catalog))
    return load_vocabulary(name)


def oracle(loaded: Loaded) -> Oracle:
    return make_oracle(loaded.contract.to_json(), loaded.vocabulary.tokens, loaded.vocabulary.merges)


@pytest.mark.parametrize("name", TOKENS)
def test_they_are_as_published(name: str) -> None:
    fetched(name)
    row = verify(name)
    assert (row.tokens, row.failures) == (TOKENS[name], [])


@pytest.fixture(scope="module")
def gold() -> tuple[list[bytes], list[list[int]]]:
    """47 texts with the ids that llama.cpp publishes; the file's vocabulary is that of BERT base uncased."""
    archive = fetch_archive(find_entry("llama-cpp-gold"))
    members = dict(iter_members(archive, want=lambda path: path.startswith(GOLD)))
    texts = members[f"{GOLD}.inp"].split(b"\n__ggml_vocab_test__\n")
    expected = [list(map(int, line.split())) for line in members[f"{GOLD}.out"].decode().split("\n")]
    assert len(texts) == len(expected) == 47
    return texts, expected


def test_ids_that_llama_cpp_publishes(gold: tuple[list[bytes], list[list[int]]]) -> None:
    texts, expected = gold
    bert = oracle(fetched("bert_base_uncased"))
    assert [bert.encode(text) for text in texts] == expected


@pytest.mark.parametrize("name", ["tokenizers", "morpheme", "kitoken", "splintr-rs", "tokie"])
def test_engines_give_those_ids_and_decode_them(gold: tuple[list[bytes], list[list[int]]], name: str) -> None:
    roster = load_roster()
    if roster[name].environment == "own":
        install(roster[name])
    loaded = fetched("bert_base_uncased")
    contract = target(name, loaded.contract, roster).contract
    with open_host(name, loaded, contract, roster=roster) as host:
        rows = host.encode(gold[0]).output.rows()  # type: ignore[union-attr]
        if "decode" in roster[name].operations:
            told = host.measure([b"hello, world unaffable"], "decode")
            kept = host.kept()
            assert isinstance(kept, frames.Texts) and not told.error_count
            assert kept.texts == [b"hello , world unaffable"]
    assert rows == gold[1]


def test_nepali_as_its_own_file_says() -> None:
    import tokenizers

    loaded = fetched("nepali_wordpiece")
    theirs = tokenizers.Tokenizer.from_file(str(loaded.source_path))
    theirs.no_padding()
    theirs.encode_special_tokens = True
    ours = oracle(loaded)
    texts = [each.data.decode() for each in islice(open_corpus("sample").documents(), 400)]
    texts.append("नेपाल एक सुन्दर देश हो। काठमाडौं, HIMALAYA!")
    assert [ours.encode(text.encode()) for text in texts] == [
        theirs.encode(text, add_special_tokens=False).ids for text in texts
    ]


@pytest.mark.parametrize("name", ["rwkv", "pyrwkv-tokenizer", "dat-greedy"])
def test_engines_of_rwkv_give_the_oracles_ids(name: str) -> None:
    roster = load_roster()
    if roster[name].environment == "own":
        install(roster[name])
    loaded = fetched("rwkv_world")
    ours = oracle(loaded)
    documents = [each.data for each in islice(open_corpus("sample").documents(), 300)]
    with open_host(name, loaded, target(name, loaded.contract, roster).contract, roster=roster) as host:
        rows = host.encode(documents).output.rows()  # type: ignore[union-attr]
    assert rows == [ours.encode(document) for document in documents]


def test_the_references_own_reader_reads_the_same_tokens() -> None:
    """Python's literal reader, line by line: what the reference's loader evaluates."""
    import ast

    loaded = fetched("rwkv_world")
    rows = [line for line in loaded.source_path.read_text(encoding="utf-8").split("\n") if line]
    read = {}
    for line in rows:
        literal = ast.literal_eval(line[line.index(" ") + 1 : line.rindex(" ")])
        read[literal.encode() if isinstance(literal, str) else literal] = int(line[: line.index(" ")])
    assert dict(loaded.vocabulary.tokens) == read
