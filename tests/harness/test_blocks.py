"""Blocks: the rule that cuts a corpus, whatever chunks it comes in."""

import hashlib
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st
from tokassay.harness.blocks import MAX_BYTES, MAX_DOCUMENTS, Block, Names, cut
from tokassay.harness.domains import DOMAINS, domain_of


class Chunks:
    """A corpus that hands out its documents in chunks of the given sizes."""

    def __init__(self, documents: list[bytes], size: int) -> None:
        self.documents, self.size = documents, size

    def columns(self) -> Iterator[tuple[bytes, npt.NDArray[np.uint64], Callable[[int], str]]]:
        for first in range(0, len(self.documents), self.size):
            part = self.documents[first : first + self.size]
            # A buffer that begins before its first document, as a window on a mapped file does.
            offsets = np.cumsum([3, *map(len, part)]).astype(np.uint64)
            yield b"???" + b"".join(part), offsets, lambda k, first=first: f"document {first + k}"  # type: ignore[misc]


def naive(documents: list[bytes]) -> list[tuple[str, list[bytes]]]:
    """The rule as docs/FORMATS.md writes it, one document at a time."""
    blocks: list[tuple[str, list[bytes]]] = []
    for code, name in enumerate(DOMAINS):
        current: list[bytes] = []
        for document in (d for d in documents if domain_of(d) == code):
            size = sum(map(len, current)) + len(document)
            if current and (len(current) == MAX_DOCUMENTS or size > MAX_BYTES):
                blocks.append((name, current))
                current = []
            current.append(document)
        if current:
            blocks.append((name, current))
    return blocks


def contents(block: Block) -> tuple[str, list[bytes]]:
    return block.domain, [block.document(i) for i in range(block.documents)]


document = st.one_of(
    st.binary(max_size=5),
    st.integers(1, MAX_BYTES + 10).map(lambda n: b"x" * n),
    st.sampled_from([b"a" * (MAX_BYTES // 2), b"\xff" * (MAX_BYTES // 3)]),
)


@given(st.lists(document, max_size=12), st.integers(1, 5))
def test_the_rule_holds_for_any_chunks(documents: list[bytes], size: int) -> None:
    got = sorted((DOMAINS.index(b.domain), b.ordinal, contents(b)) for b in cut(Chunks(documents, size), Names()))
    assert [c for _, _, c in got] == naive(documents)


def test_a_block_ends_after_4096_documents() -> None:
    documents = [b"%d" % i for i in range(2 * MAX_DOCUMENTS + 1)]
    for size in (1, 1000, MAX_DOCUMENTS, 3 * MAX_DOCUMENTS):
        blocks = list(cut(Chunks(documents, size), Names()))
        assert [b.documents for b in blocks] == [MAX_DOCUMENTS, MAX_DOCUMENTS, 1]
        assert [d for b in blocks for d in contents(b)[1]] == documents


def test_a_larger_document_is_a_block_of_its_own() -> None:
    documents = [b"a", b"b" * (MAX_BYTES + 1), b"c"]
    blocks = list(cut(Chunks(documents, 2), Names()))
    assert [b.documents for b in blocks] == [1, 1, 1]


def test_names_and_indices_follow_the_documents() -> None:
    documents = [b"a", b"\xff", b"b", b"\xfe", b"c"]
    names = Names()
    for block in cut(Chunks(documents, 2), names):
        for i, index in enumerate(block.indices.tolist()):
            assert documents[index] == block.document(i)
            assert names[index] == f"document {index}"


def test_the_digest_counts_borders() -> None:
    def digest(*documents: bytes) -> str:
        (block,) = cut(Chunks(list(documents), 9), Names())
        return block.digest

    assert digest(b"ab", b"c") != digest(b"a", b"bc")
    by_hand = b"TKAD\x01" + (2).to_bytes(8, "little") + (2).to_bytes(8, "little") + (1).to_bytes(8, "little") + b"abc"
    assert digest(b"ab", b"c") == hashlib.sha256(by_hand).hexdigest()


def test_an_empty_corpus_has_no_block() -> None:
    assert list(cut(Chunks([], 3), Names())) == []
