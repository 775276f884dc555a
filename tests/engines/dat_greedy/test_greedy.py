"""The engine against the oracle: ids on every input, every kind of input, spans, batches, and back to bytes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib.resources import files
from itertools import pairwise
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokassay.engines.dat_greedy import Greedy, LoadError, _core
from tokassay.oracles.greedy import greedy as plain

Tokens = dict[bytes, int]
Documents = list[bytes]
BYTES = {bytes([byte]): byte for byte in range(256)}


def expected(document: bytes, tokens: Tokens) -> list[int]:
    return [tokens[part] for part in plain(document, tokens)]


def test_equal_to_the_plain_matcher(
    random_tokens: Callable[..., Tokens], random_documents: Callable[..., Documents]
) -> None:
    for seed in range(6):
        tokens = random_tokens(seed, 40 * seed**2)
        greedy = Greedy.from_tokens(tokens)
        for document in random_documents(seed, 150):
            ids = greedy.encode(document)
            assert (ids.dtype, ids.tolist()) == (numpy.uint32, expected(document, tokens))
            assert greedy.decode(ids) == document


@given(
    st.dictionaries(st.binary(min_size=1, max_size=5), st.integers(256, 2**31 - 1), max_size=30),
    st.lists(st.binary(max_size=40), max_size=5),
)
def test_any_vocabulary_on_any_bytes(extra: Tokens, documents: Documents) -> None:
    tokens = {token: 10**6 + at for at, token in enumerate(extra)} | BYTES
    greedy = Greedy.from_tokens(tokens)
    documents.append(b"".join([*extra, *documents]))
    values, offsets = greedy.encode_batch(documents)
    for i, document in enumerate(documents):
        ids = expected(document, tokens)
        assert greedy.encode(document).tolist() == values[offsets[i] : offsets[i + 1]].tolist() == ids
        assert greedy.decode(ids) == document


def test_real_text_in_gpt2_s_tokens(gpt2_tokens: Tokens) -> None:
    greedy = Greedy.load("gpt2")
    for name in ("kjv.txt", "native.txt", "naughty-strings.txt", "python.txt"):
        document = (files("tokassay.fixtures") / "sample" / name).read_bytes()[:20_000]
        assert greedy.encode(document).tolist() == expected(document, gpt2_tokens)
    assert greedy.encode(b"hello world").tolist() == [31373, 995]  # here as in byte-level BPE


def test_it_is_not_bpe() -> None:
    """`ab` is the longest at 0 although merging by ranks would take `bcd` first."""
    tokens = BYTES | {b"bc": 256, b"bcd": 257, b"ab": 258}
    assert Greedy.from_tokens(tokens).encode(b"abcd").tolist() == [258, ord("c"), ord("d")]


def test_going_back_to_the_last_token_of_a_walk_that_failed() -> None:
    tokens = BYTES | {b"abcdefgh": 256, b"ab": 257, b"cdefgz": 258}
    greedy = Greedy.from_tokens(tokens)
    assert greedy.encode(b"abcdefg").tolist() == [257, *b"cdefg"]
    assert greedy.encode(b"abcdefgz").tolist() == [257, 258]
    assert greedy.encode(b"abcdefgh").tolist() == [256]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda b: numpy.frombuffer(b, numpy.uint8)])
@pytest.mark.parametrize("times", [1, 500])
def test_kinds_of_input(kind: Any, times: int) -> None:
    greedy = Greedy.from_tokens(BYTES | {b"\xc3\xa9": 256})
    text = "né " * times
    assert greedy.encode(kind(text.encode())).tolist() == [ord("n"), 256, 32] * times
    assert greedy.encode(text).tolist() == [ord("n"), 256, 32] * times


def test_what_is_no_document() -> None:
    greedy = Greedy.from_tokens(BYTES)
    for wrong in (None, 5, ["a"], numpy.arange(3), memoryview(b"abcd")[::2]):
        with pytest.raises((TypeError, BufferError, ValueError)):
            greedy.encode(wrong)  # type: ignore[arg-type]
    with pytest.raises(UnicodeEncodeError, match="position 1"):
        greedy.encode("a\ud800")
    with pytest.raises(TypeError, match="one bytes"):
        greedy.encode_batch(b"abc")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="one ndarray; give a list of documents"):
        greedy.encode_batch(numpy.frombuffer(b"abc", numpy.uint8))


def test_spans(random_tokens: Callable[..., Tokens], random_documents: Callable[..., Documents]) -> None:
    tokens = random_tokens(4, 300)
    greedy = Greedy.from_tokens(tokens)
    for document in random_documents(4, 80):
        ids, spans = greedy.encode_spans(document)
        parts = plain(document, tokens)
        assert ids.tolist() == [tokens[part] for part in parts]
        assert (spans.dtype, spans.shape) == (numpy.uint64, (len(parts), 2))
        assert [document[start:end] for start, end in spans.tolist()] == parts
        assert spans[:, 0].tolist() == [0, *spans[:-1, 1].tolist()][: len(parts)]


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_batches_over_threads(
    random_tokens: Callable[..., Tokens], random_documents: Callable[..., Documents], threads: int
) -> None:
    tokens = random_tokens(5, 300)
    greedy = Greedy.from_tokens(tokens)
    for documents in ([], [b""], random_documents(5, 300), [b"abcde" * 30_000] * 9 + [b""] * 5000):
        values, offsets = greedy.encode_batch(documents, threads=threads)
        assert (values.dtype, offsets.dtype, len(offsets)) == (numpy.uint32, numpy.uint64, len(documents) + 1)
        rows = [values[start:end].tolist() for start, end in pairwise(offsets.tolist())]
        known = {document: greedy.encode(document).tolist() for document in set(documents)}
        assert rows == [known[document] for document in documents]
        assert int(offsets[-1]) == len(values)


def test_threads_outside_their_range() -> None:
    for threads in (0, -1, 1025):
        with pytest.raises(ValueError, match=f"threads: {threads}"):
            Greedy.from_tokens(BYTES).encode_batch([b"a"], threads=threads)


def test_a_byte_at_which_no_token_starts_is_refused_by_its_place() -> None:
    greedy = Greedy.from_tokens({b"a": 0, b"ab": 1, b"\xff": 2})
    assert (greedy.lossless, greedy.encode(b"aab\xff").tolist()) == (False, [0, 1, 2])
    with pytest.raises(_core.Unmatched, match="byte 62, at offset 3") as caught:
        greedy.encode(b"aabb")
    assert (caught.value.document, caught.value.offset, caught.value.byte) == (0, 3, ord("b"))
    for threads in (1, 2):
        with pytest.raises(_core.Unmatched, match=r"byte 62, at offset 1 of document 2"):
            greedy.encode_batch([b"a", b"", b"\xffb", *[b"a" * 100_000] * 8], threads=threads)
    with pytest.raises(ValueError, match="byte 62, at offset 4000"):
        greedy.encode(b"a" * 3999 + b"\xffb")


def test_extra_ids_keep_what_no_token_begins_with(
    random_tokens: Callable[..., Tokens], random_documents: Callable[..., Documents]
) -> None:
    tokens = random_tokens(6, 60, b"ab\xff")
    greedy = Greedy.from_tokens(tokens, unmatched="bytes")
    assert greedy.lossless and greedy.n_vocab == len(tokens)
    for document in random_documents(6, 100):
        parts = plain(document, tokens, skip=True)
        ids = greedy.encode(document)
        assert ids.tolist() == [tokens[part] if part in tokens else len(tokens) + part[0] for part in parts]
        assert greedy.decode(ids) == document
        assert greedy.encode_batch([document, document])[0].tolist() == ids.tolist() * 2
    with pytest.raises(ValueError, match=f"id {len(tokens) + 256} at index 0"):
        greedy.decode([len(tokens) + 256])


def test_crayon_s_unknown_id_loses_the_byte() -> None:
    greedy = Greedy.from_tokens({b"a": 0, b"b": 1}, unmatched="unknown")
    assert greedy.encode(b"a?b").tolist() == [0, 1, 1]
    assert greedy.decode([0, 1, 1]) == b"abb"
    assert not greedy.lossless


def test_where_every_byte_is_a_token_nothing_is_unmatched() -> None:
    for unmatched in ("refuse", "bytes", "unknown"):
        greedy = Greedy.from_tokens(BYTES, unmatched=unmatched)
        assert greedy.lossless and greedy.encode(bytes(range(256))).tolist() == list(range(256))
    with pytest.raises(LoadError, match="use one of refuse, bytes, unknown"):
        Greedy.from_tokens(BYTES, unmatched="ignore")


def test_ids_that_are_none() -> None:
    greedy = Greedy.from_tokens({b"a": 3, b"bc": 2**31 - 1})
    assert greedy.decode([3, 2**31 - 1]) == greedy.decode(numpy.array([3, 2**31 - 1], numpy.int64)) == b"abc"
    assert greedy.decode([]) == greedy.decode(numpy.array([])) == b""
    for wrong in (0, 4, -1, 2**32, 2**64, 2**31):
        with pytest.raises(ValueError, match=f"id {wrong} at index 1"):
            greedy.decode([3, wrong])
    for kind in ([0.5], ["a"], [[3]], numpy.array([3.0])):
        with pytest.raises(TypeError):
            greedy.decode(kind)  # type: ignore[arg-type]


def test_looking_up_tokens(gpt2_tokens: Tokens) -> None:
    greedy = Greedy.load("gpt2")
    assert greedy.token_bytes(995) == b" world" and greedy.token_id(b" world") == 995
    assert greedy.token_id(b"") is greedy.token_id(b" worl\xff") is None
    assert greedy.n_vocab == len(gpt2_tokens) == 50256
    with pytest.raises(ValueError, match="id 50256 at index 0"):
        greedy.token_bytes(50256)


def test_one_engine_from_many_threads(gpt2_tokens: Tokens) -> None:
    greedy = Greedy.load("gpt2")
    document = (files("tokassay.fixtures") / "sample" / "udhr.txt").read_bytes()[:30_000]
    ids = greedy.encode(document).tolist()
    wrong: list[int] = []

    def work() -> None:
        for _ in range(20):
            if greedy.encode(document).tolist() != ids or greedy.decode(ids) != document:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_lists_of_int(random_tokens: Callable[..., Tokens], random_documents: Callable[..., Documents]) -> None:
    """The same ids as the arrays', ids past the table of shared ints included, again and again."""
    tokens = random_tokens(7, 200) | {b"zz": 2**31 - 1, b"zzz": 10**6}
    greedy = Greedy.from_tokens(tokens)
    for document in [*random_documents(7, 60), b"zzzzz" * 900]:
        ids = greedy.encode(document)
        for _ in range(3):
            made = greedy.encode_list(document)
            assert made == greedy.listed(ids) == ids.tolist()
        assert all(type(number) is int for number in made)
    kept = greedy.encode_list(b"zzz" * 3000 + b"zz")
    del greedy
    assert kept == [10**6] * 3000 + [2**31 - 1]
    with pytest.raises(ValueError, match="byte 62"):
        Greedy.from_tokens({b"a": 0}).encode_list(b"ab")
