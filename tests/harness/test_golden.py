"""Golden digests of the embedded corpora: three implementations come to them, whatever ill-formed bytes do."""

import pytest
from tokassay.corpora.corpus import Corpus, from_documents
from tokassay.corpora.document import Document
from tokassay.corpora.open import open_corpus
from tokassay.harness import golden


@pytest.mark.parametrize("vocabulary", golden.VOCABULARIES)
@pytest.mark.parametrize("engine", ["tiktoken", "dat-bpe", "oracle"])
def test_as_frozen(engine: str, vocabulary: str) -> None:
    """tiktoken shares no code with us: the digests are not only our own opinion."""
    assert golden.digests(engine, vocabulary) == golden.frozen()["vocabularies"][vocabulary]


def test_ill_formed_documents_have_no_part_in_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ill-formed documents put between the others move no digest of the well-formed part."""

    def spoiled(spec: str) -> Corpus:
        def documents(_: object) -> list[Document]:
            found = []
            for i, document in enumerate(open_corpus(spec).documents()):
                found += [Document(f"bad {i}", b"\xff%d" % i), document]
            return found

        return from_documents(spec, spec, documents)

    monkeypatch.setattr(golden, "open_corpus", spoiled)
    assert golden.digests("dat-bpe", "gpt2") == golden.frozen()["vocabularies"]["gpt2"]


def test_a_moved_id_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check can fail: one more document in the corpus and the digest is another."""

    def longer(spec: str) -> Corpus:
        return from_documents(spec, spec, lambda _: [*open_corpus(spec).documents(), Document("one more", b"x")])

    monkeypatch.setattr(golden, "open_corpus", longer)
    assert golden.digests("dat-bpe", "gpt2") != golden.frozen()["vocabularies"]["gpt2"]
