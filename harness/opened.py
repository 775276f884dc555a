"""A corpus by its spec, with what a vocabulary adds to it."""

from __future__ import annotations

from tokassay.corpora.corpus import Corpus
from tokassay.corpora.open import FROM_VOCABULARY, open_corpus


def open_asked(spec: str, seed: int, vocab: str) -> Corpus:
    """The corpus; a vocabulary is loaded only for the sources that are made from one. Raises CorpusError."""
    if spec.partition(":")[0] not in FROM_VOCABULARY:
        return open_corpus(spec, seed=seed)
    from tokassay.harness.load import load_vocabulary

    loaded = load_vocabulary(vocab)
    return open_corpus(spec, seed=seed, tokens=loaded.vocabulary.tokens, specials=loaded.contract.texts)
