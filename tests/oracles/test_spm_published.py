"""The oracle on published models: ids that others published, and sentencepiece itself on embedded text."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from tokassay.corpora.fetch import fetch_file, find_entry
from tokassay.corpora.open import open_corpus
from tokassay.harness import known
from tokassay.harness.load import load_vocabulary
from tokassay.harness.oracle_here import oracle_here

PUBLISHED: dict[str, Any] = json.loads(Path(__file__).with_name("published_pieces.json").read_text(encoding="utf-8"))
NAMES = ("llama2", "mistral_v1", "mistral_v7", "albert", "cogview", "spm_botchan_unigram", "spm_kyoto_unigram")

pytestmark = pytest.mark.network  # `nox -s network`: the models are fetched


def fetched(name: str) -> Any:
    encoding = known.find(name)
    assert encoding is not None
    fetch_file(find_entry(encoding.catalog))
    return load_vocabulary(name)


def test_published_ids_of_llama_2() -> None:
    loaded = fetched("llama2")
    oracle = oracle_here(loaded.contract, loaded)
    assert len(PUBLISHED["llama2"]) == 47
    for text, ids in PUBLISHED["llama2"]:
        assert oracle.encode(bytes.fromhex(text)) == ids, text


def test_public_cases_of_mistral() -> None:
    loaded = fetched("mistral_v1")
    oracle = oracle_here(loaded.contract, loaded)
    assert len(PUBLISHED["mistral_v1"]) == 9
    for case, text, ids in PUBLISHED["mistral_v1"]:
        assert oracle.encode(bytes.fromhex(text)) == ids, case


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_of_text_and_of_bytes(name: str) -> None:
    """All of the battery and the sample are an audit: tokassay audit --vocab NAME --engine sentencepiece."""
    loaded = fetched(name)
    oracle = oracle_here(loaded.contract, loaded)
    reference = sentencepiece.SentencePieceProcessor(model_file=str(loaded.source_path))
    texts = [one.data for spec in ("sample", "battery", "fuzz:500") for one in open_corpus(spec, seed=0).documents()]
    for document in random.Random(0).sample(texts, 1500):
        right = reference.encode(document, out_type="offset_mapping")
        assert oracle.encode(document) == right["ids"], document
        assert oracle.spans(document) == right["offsets"], document
        assert oracle.decode(right["ids"]) == reference.decode(right["ids"]).encode(), document
