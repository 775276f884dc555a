"""Fixed points, published vectors, special tokens, decoding, and every form of input."""

from __future__ import annotations

import copy
import gc
import hashlib
import json
import os
import pickle
import threading
from array import array
from collections.abc import Callable
from importlib.resources import files
from inspect import signature
from pathlib import Path
from typing import Any

import numpy
import pytest
from tokassay.engines.dat_bpe import Encoder

# Published for GPT-2 by the system whose method this audit follows, and checked there with an independent encoder.
FIXED = [
    (b"", []),
    (b"ab", [397]),
    (b"hello", [31373]),
    (b"Hello", [15496]),
    (b"a\0b", [64, 188, 65]),
    (b"a\xffb", [64, 187, 65]),
    (b"hello world", [31373, 995]),
    (b"\x89\x88\x81\xab", [231, 230, 223, 104]),
    (b"\xbd\x9b\x9a\xe9", [121, 249, 21253]),
    (b"\xb1's", [109, 6, 82]),
]
# What dat-bpe does not model: it says so, and the vector is somebody else's.
MODELLED = {"specials", "byte_policy"}
EMBEDDED = {"gpt2", "cl100k_base", "o200k_base"}  # a vector of another is held by tests/harness/test_vectors.py


def vectors() -> list[dict[str, Any]]:
    folder = files("tokassay.fixtures") / "vectors"
    found = []
    for name in ("dev-cases.json", "llama-cpp-gpt2.json", "third-party.json"):
        for vector in json.loads((folder / name).read_text(encoding="utf-8"))["vectors"]:
            contract = vector["contract"]
            if vector["vocabulary"] not in EMBEDDED:
                continue
            if set(contract) <= MODELLED and contract.get("byte_policy", "byte-alphabet") == "byte-alphabet":
                found.append(vector)
    return found


@pytest.mark.parametrize(("document", "ids"), FIXED, ids=[document.hex() or "empty" for document, _ in FIXED])
def test_fixed_points(encoder_of: Callable[[str], Encoder], document: bytes, ids: list[int]) -> None:
    encoded = encoder_of("gpt2").encode(document)
    assert encoded.dtype == numpy.uint32
    assert encoded.tolist() == ids


def test_all_byte_values_in_order(encoder_of: Callable[[str], Encoder]) -> None:
    encoder = encoder_of("gpt2")
    document = bytes(range(256))
    ids = encoder.encode(document)
    assert len(ids) == 222
    assert encoder.decode(ids) == document


@pytest.mark.parametrize("lead", [0xE0, 0xE1, 0xE2, 0xE3, 0xEE, 0xEF])
def test_a_lead_byte_does_not_take_what_follows(encoder_of: Callable[[str], Encoder], lead: int) -> None:
    """The lead stands alone; then come the pieces of `@yp` after a letter."""
    encoder = encoder_of("gpt2")
    alone = encoder.encode(bytes([lead])).tolist()
    after_a_letter = encoder.encode(b"a@yp").tolist()[1:]
    assert encoder.encode(bytes([lead]) + b"@yp").tolist() == alone + after_a_letter


def test_spans_of_the_published_cases(encoder_of: Callable[[str], Encoder]) -> None:
    encoder = encoder_of("gpt2")
    assert [list(span) for span in encoder.pretokens(b"\x89\x88\x81\xab")] == [[0, 3], [3, 4]]
    assert [list(span) for span in encoder.pretokens(b"\xbd\x9b\x9a\xe9")] == [[0, 1], [1, 4]]
    ids, spans = encoder.encode_spans(b"hello world")
    assert (ids.tolist(), spans.tolist()) == ([31373, 995], [[0, 5], [5, 11]])
    assert spans.dtype == numpy.uint64


@pytest.mark.parametrize("vector", vectors(), ids=lambda vector: vector["id"])
def test_published_vectors(encoder_of: Callable[[str], Encoder], vector: dict[str, Any]) -> None:
    encoder = encoder_of(vector["vocabulary"])
    if "input_repeat" in vector:
        document = bytes.fromhex(vector["input_repeat"]["hex"]) * vector["input_repeat"]["times"]
    else:
        document = bytes.fromhex(vector["input_hex"])
    if vector["operation"] == "decode":
        assert encoder.decode(vector["ids"]) == document
        return
    ids = encoder.encode(document, specials=vector["contract"].get("specials") == "on")
    if "ids" in vector:
        assert ids.tolist() == vector["ids"]
        return
    assert (len(ids), ids[:4].tolist(), ids[-4:].tolist()) == (vector["count"], vector["head"], vector["tail"])
    assert hashlib.sha256(ids.astype("<u4").tobytes()).hexdigest() == vector["ids_sha256"]


def test_special_tokens_on_and_off(encoder_of: Callable[[str], Encoder]) -> None:
    encoder = encoder_of("gpt2")
    assert encoder.encode(b"<|endoftext|>", specials=True).tolist() == [50256]
    assert encoder.encode(b"a<|endoftext|>b", specials=True).tolist() == [64, 50256, 65]
    assert encoder.encode(b"<|endoftext|>").tolist() == [27, 91, 437, 1659, 5239, 91, 29]
    assert encoder.encode(b"a<|endoftext|b", specials=True).tolist() == encoder.encode(b"a<|endoftext|b").tolist()
    assert encoder.encode(b"<|endoftext|>" * 3, specials=True).tolist() == [50256] * 3


def test_specials_leftmost_then_longest(ranks_of: Callable[[str], dict[bytes, int]]) -> None:
    specials = {"<a>": 60000, "<a><b>": 60001, "b>x": 60002, "x<a": 60003, "Ω": 60004}
    encoder = Encoder.from_ranks(ranks_of("gpt2"), pattern="gpt2", specials=specials)
    assert encoder.encode("<a><b><a>Ω", specials=True).tolist() == [60001, 60000, 60004]
    # The longest wins only among those that start leftmost.
    assert encoder.encode("x<a><b>x", specials=True).tolist() == [60003, *encoder.encode("><").tolist(), 60002]
    ids = encoder.encode("x<a><b>x", specials=True)
    assert encoder.decode(ids) == b"x<a><b>x"


def test_the_pattern_sees_a_special_token_as_the_end(encoder_of: Callable[[str], Encoder]) -> None:
    """`\\s+(?!\\S)` takes all blanks before the cut, as at the end of a document."""
    encoder = encoder_of("cl100k_base")
    ids = encoder.encode(b"a   <|endoftext|> \n b", specials=True).tolist()
    left, right = encoder.encode(b"a   ").tolist(), encoder.encode(b" \n b").tolist()
    assert ids == [*left, 100257, *right]


def test_every_form_of_input(encoder: Encoder) -> None:
    text = "naïve café – 漢字 \r\n 1234 '\u017f"
    data = text.encode()
    expected = encoder.encode(data).tolist()
    forms: list[Any] = [text, bytearray(data), memoryview(data), numpy.frombuffer(data, numpy.uint8)]
    for form in forms:
        assert encoder.encode(form).tolist() == expected
    values, offsets = encoder.encode_batch(forms)
    assert values.tolist() == expected * 4
    assert offsets.tolist() == [len(expected) * i for i in range(5)]


def test_a_lone_surrogate_is_named(encoder: Encoder) -> None:
    with pytest.raises(UnicodeEncodeError, match=r"position 1: surrogates not allowed"):
        encoder.encode("a\ud83d")
    with pytest.raises(UnicodeEncodeError):
        encoder.encode_batch(["a", "\udfff"])


def test_what_is_not_bytes_is_refused(encoder: Encoder) -> None:
    for wrong in (None, 3, ["a"], memoryview(b"abcdef")[::2]):
        with pytest.raises((TypeError, BufferError, ValueError)):
            encoder.encode(wrong)  # type: ignore[arg-type]
    with pytest.raises(BufferError):
        encoder.encode_batch([b"a", memoryview(b"abcdef")[::2]])


@pytest.mark.parametrize("kind", [numpy.int32, numpy.float64, numpy.uint16, object])
def test_numbers_are_no_document(encoder: Encoder, kind: type) -> None:
    """The buffer protocol would lend their memory as bytes, and an array of objects its pointers."""
    numbers: Any = numpy.array([104, 105]).astype(kind)
    forms = [numbers] if kind is object else [numbers, memoryview(numbers)]
    for form in forms:
        for call in (encoder.encode, encoder.encode_spans, encoder.pretokens):
            with pytest.raises((TypeError, BufferError)):
                call(form)
        with pytest.raises((TypeError, BufferError)):
            encoder.encode_batch([form])


def test_one_document_is_no_list_of_documents(encoder: Encoder) -> None:
    """The numbers of an array of bytes, taken one by one, each lend one byte: they were as many documents."""
    row = numpy.frombuffer(b"abc", numpy.uint8)
    for one in ("abc", b"abc", bytearray(b"abc"), memoryview(b"abc"), row, array("B", b"abc")):
        with pytest.raises(TypeError, match=r"give a list of documents, or use encode$"):
            encoder.encode_batch(one)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"give a list of documents, or use encode_list$"):
            encoder.encode_batch_lists(one)  # type: ignore[arg-type]


def test_arrays_of_documents_are_lists(encoder: Encoder) -> None:
    expected = encoder.encode_batch_lists([b"abc", b"def"])
    many: list[Any] = [
        numpy.array([b"abc", "def"], object), numpy.array([b"abc", b"def"]), numpy.array(["abc", "def"]),
        numpy.frombuffer(b"abcdef", numpy.uint8).reshape(2, 3), (b"abc", "def"), iter([b"abc", b"def"]),
    ]
    for documents in many:
        assert encoder.encode_batch_lists(documents) == expected


def test_the_document_that_is_refused_is_named(encoder: Encoder) -> None:
    wrong: list[tuple[Any, type[Exception], str]] = [
        (5, TypeError, r"^documents\[2\]: a bytes-like"),
        (memoryview(b"abcd")[::2], BufferError, r"^documents\[2\]: .*contiguous"),
        (numpy.zeros(2, numpy.uint16), TypeError, r"^documents\[2\]: a document is bytes"),
        ("a\ud800", UnicodeEncodeError, r"position 1: surrogates not allowed \(documents\[2\]\)$"),
    ]
    for document, kind, message in wrong:
        for call in (encoder.encode_batch, encoder.encode_batch_lists):
            with pytest.raises(kind, match=message):
                call(["a", b"b", document, 7])


def test_what_ids_cannot_be_written_into(encoder: Encoder) -> None:
    room = numpy.zeros(8, numpy.uint32)
    read_only = room.copy()
    read_only.flags.writeable = False
    for out in (None, [0, 0], room[::2], room.reshape(2, 4), room.astype(numpy.int64), read_only):
        with pytest.raises(TypeError, match=r"^out: a writable, contiguous numpy.uint32\[n\] is needed: "):
            encoder.encode_into(b"a", out)  # type: ignore[arg-type]


# -- the methods that are bound to C --------------------------------------------------------------------------


class Loud(Encoder):
    """A subclass with a method of its own."""

    def encode(self, data: Any, *, specials: bool = False) -> Any:
        return super().encode(data.upper(), specials=specials)


def test_the_names_that_are_documented(encoder: Encoder) -> None:
    room = numpy.zeros(8, numpy.uint32)
    ids = encoder.encode(data=b"hello").tolist()
    assert encoder.encode_list(data=b"hello") == ids
    assert encoder.encode_spans(data=b"hello")[0].tolist() == ids
    assert room[: encoder.encode_into(data=b"hello", out=room)].tolist() == ids
    for name in ("encode", "encode_list", "encode_spans", "encode_into"):
        documented, bound = (signature(getattr(each, name)) for each in (Encoder, encoder))
        assert [*documented.parameters][1:] == [*bound.parameters], name


def test_a_subclass_has_its_own_methods(ranks_of: Callable[[str], dict[bytes, int]]) -> None:
    ranks = ranks_of("gpt2")
    loud, plain = (kind.from_ranks(ranks, pattern="gpt2") for kind in (Loud, Encoder))
    for other in (loud, pickle.loads(pickle.dumps(loud))):
        assert other.encode(b"hello").tolist() == plain.encode(b"HELLO").tolist()
        assert other.encode_list(b"hello") == plain.encode_list(b"hello")


def test_a_bound_method_is_pickled(encoder_of: Callable[[str], Encoder], tmp_path: Path) -> None:
    """As `map(encoder.encode, ...)` of a process pool does it."""
    built = encoder_of("gpt2")
    built.save(tmp_path / "a.profile")
    for encoder in (built, Encoder.open(tmp_path / "a.profile")):
        for name in ("encode", "encode_list", "encode_batch", "decode"):
            call = getattr(encoder, name)
            given: Any = {"encode_batch": [b"hello"], "decode": [1, 2]}.get(name, b"hello")
            assert str(pickle.loads(pickle.dumps(call))(given)) == str(call(given))


@pytest.mark.parametrize("threads", [1.5, numpy.float64(2), "2", None])
def test_threads_are_whole(encoder: Encoder, threads: Any) -> None:
    with pytest.raises(TypeError):
        encoder.encode_batch([b"a"], threads=threads)


def test_copied_and_pickled(encoder_of: Callable[[str], Encoder]) -> None:
    encoder = encoder_of("gpt2")
    document = b"naive \xff <|endoftext|> 1234  x"
    expected = encoder.encode(document, specials=True).tolist()
    for other in (copy.copy(encoder), copy.deepcopy(encoder), pickle.loads(pickle.dumps(encoder))):
        assert other.encode(document, specials=True).tolist() == expected
        assert (other.name, other.pattern, other.unicode) == (encoder.name, encoder.pattern, encoder.unicode)
        assert (other.specials, other.n_vocab, other.ignore_merges) == (
            encoder.specials, encoder.n_vocab, encoder.ignore_merges
        )
    assert other.trace(document) == encoder.trace(document)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forked_while_threads_encode(encoder_of: Callable[[str], Encoder]) -> None:
    encoder = encoder_of("gpt2")
    documents = [b"some words and 123 \xff" * n for n in range(1, 60)]
    expected = encoder.encode_batch(documents)[0].tolist()
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            encoder.encode_batch(documents, threads=2)

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    try:
        children = []
        for _ in range(5):
            child = os.fork()
            if child == 0:
                same = encoder.encode_batch(documents, threads=3)[0].tolist() == expected
                os._exit(0 if same else 3)
            children.append(child)
        assert [os.waitpid(child, 0)[1] for child in children] == [0] * 5
    finally:
        done.set()
        for worker in workers:
            worker.join()


def test_the_encoder_may_go_while_it_works(ranks_of: Callable[[str], dict[bytes, int]]) -> None:
    encoder = Encoder.from_ranks(ranks_of("gpt2"), pattern="gpt2")
    document = b"some words and 123 " * 200_000
    expected = encoder.encode(document)
    found = []
    worker = threading.Thread(target=lambda encode: found.append(encode(document)), args=(encoder.encode,))
    worker.start()
    del encoder
    gc.collect()
    worker.join()
    assert found[0].tolist() == expected.tolist()


def test_a_document_cannot_shrink_while_it_is_encoded(encoder_of: Callable[[str], Encoder]) -> None:
    encoder = encoder_of("gpt2")
    document = bytearray(b"some words and 123 " * 400_000)
    worker = threading.Thread(target=encoder.encode, args=(document,))
    worker.start()
    refused = 0
    while worker.is_alive():
        try:
            document.append(0)
        except BufferError:
            refused += 1
    worker.join()
    assert refused
    document.clear()


def test_decode_names_the_wrong_id(encoder: Encoder) -> None:
    for wrong in (encoder.n_vocab, 2**32 - 1, 2**32, -1, 2**70):
        with pytest.raises(ValueError, match=f"id {wrong} at index 2"):
            encoder.decode([0, 1, wrong, wrong])
    for kind in ([1.5], ["a"], numpy.array([1.0]), 1, "a", iter([1]), [[1, 2]], numpy.empty((0, 2), numpy.uint32)):
        with pytest.raises(TypeError):
            encoder.decode(kind)
    assert encoder.decode([]) == b""
    assert encoder.decode(numpy.array([0, 1], numpy.int64)) == encoder.token_bytes(0) + encoder.token_bytes(1)


def test_token_bytes_and_ids_agree_with_the_file(
    encoder: Encoder, vocabulary: str, ranks_of: Callable[[str], dict[bytes, int]]
) -> None:
    ranks = ranks_of(vocabulary)
    assert all(encoder.token_id(token) == rank for token, rank in ranks.items())
    assert all(encoder.token_bytes(rank) == token for token, rank in ranks.items())
    assert encoder.n_vocab == max(encoder.specials.values()) + 1
    assert all(encoder.token_bytes(number) == text.encode() for text, number in encoder.specials.items())
    with pytest.raises(ValueError, match="not in the vocabulary"):
        encoder.token_bytes(encoder.n_vocab)
    with pytest.raises(TypeError):
        encoder.token_bytes(1.5)  # type: ignore[arg-type]
    assert encoder.token_id(b"\xff\xfe\xfd\xfc") is None


def test_every_token_is_reached_by_merging(encoder: Encoder) -> None:
    """So that a whole-piece look-up is exact for these three, and `ignore_merges` changes nothing."""
    assert encoder.unreachable == 0
    assert encoder.unreachable_ids() == []
