"""Long pieces and documents, threads, batches, caches: one digest, and nothing quadratic (it would not finish)."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import tiktoken
from tokassay.engines.dat_bpe import Encoder

MILLION = 1_000_000
CHANCE = random.Random(7)
LONG = {
    "a": "a" * MILLION,
    "one han character": "漢" * 300_000,
    "han": "".join(chr(CHANCE.randint(0x4E00, 0x9FFF)) for _ in range(300_000)),
    "letters": "".join(CHANCE.choices("abcdefghijklmnopqrstuvwxyz", k=MILLION)),
    "capitals and marks": "".join(CHANCE.choices("AB\u0301", k=300_000)),
    "digits": "".join(CHANCE.choices("0123456789", k=MILLION)),
    "marks before capitals": ("\u0301" + "A" * 1000) * 300,
    "apostrophes": "'" * MILLION,
    "slashes and newlines": "/\n" * 300_000,
}


# tiktoken gives up on a million blanks (its expressions backtrack): the pieces are those that the pattern names, and
# tiktoken merges them. Outside GPT-2 the newlines end the piece, which changes nothing here.
PIECES = {
    "spaces": [" " * MILLION],
    "spaces then a letter": [" " * (MILLION - 1), " x"],
    "newlines": ["\n" * MILLION],
    "spaces and newlines": [" \n" * (MILLION // 2)],
}


@pytest.mark.parametrize("kind", list(PIECES))
def test_long_blanks(encoder: Encoder, reference: tiktoken.Encoding, kind: str) -> None:
    expected = [one for piece in PIECES[kind] for one in reference._encode_single_piece(piece)]
    assert numpy.array_equal(encoder.encode("".join(PIECES[kind])), numpy.array(expected, numpy.uint32))


@pytest.mark.parametrize("kind", list(LONG))
def test_long_pieces_equal_tiktoken(encoder: Encoder, reference: tiktoken.Encoding, kind: str) -> None:
    text = LONG[kind]
    expected = numpy.array(reference.encode_ordinary(text), numpy.uint32)
    assert numpy.array_equal(encoder.encode(text), expected)


def test_long_ill_formed_runs(encoder: Encoder) -> None:
    """Letters of the byte alphabet, each one byte: one piece of a million bytes."""
    document = bytes(CHANCE.choices([0xC3, 0xFF, 0xE4, 0xF5], k=MILLION))
    assert encoder.decode(encoder.encode(document)) == document


def test_every_piece_length(encoder: Encoder, reference: tiktoken.Encoding) -> None:
    """Each length from 1 to 1,100 bytes, past the cache's 15 and the step from the plain search to the heap."""
    words = "".join(CHANCE.choices("etaoinshrdlu", k=1100))
    text = "\n".join(words[:length] for length in range(1, 1101))
    assert encoder.encode(text).tolist() == reference.encode_ordinary(text)
    for length in range(1, 130):
        alone = words[-length:]
        assert encoder.encode(alone).tolist() == reference.encode_ordinary(alone)


def documents() -> list[bytes]:
    chance = random.Random(3)
    made = [bytes(chance.choices(range(256), k=chance.randint(0, 300))) for _ in range(1500)]
    words = "the of and a 漢字 дом \n123'll"
    made += ["".join(chance.choices(words, k=chance.randint(0, 20_000))).encode() for _ in range(60)]
    made += [b"", b"", b"x" * 100_000, b""]
    chance.shuffle(made)
    return made


@pytest.mark.parametrize("dense", [False, True])
def test_one_document_over_threads(vocabulary: str, reference: tiktoken.Encoding, dense: bool) -> None:
    """A document alone is shared by the threads. Rare ideographs give more ids than there is room
    for at first."""
    text = "".join(chr(CHANCE.randint(0x3400, 0x4DBF)) + " a b" for _ in range(1000)) if dense else "The cat's hat 123 "
    document = text.encode() * (4_000_000 // len(text.encode()))
    expected = numpy.array(reference.encode_ordinary(document.decode()), numpy.uint32)
    assert (len(expected) > len(document) // 3 + 8) is dense
    encoder = Encoder.load(vocabulary)
    for threads in (2, 5):
        for _ in range(2):
            values, offsets = encoder.encode_batch([document], threads=threads)
            assert offsets.tolist() == [0, len(expected)]
            assert numpy.array_equal(values, expected)
        assert encoder._tables.idle == threads


def test_threads_and_batches_agree(encoder: Encoder) -> None:
    made = documents()
    singles = [encoder.encode(document, specials=True) for document in made]
    expected = numpy.concatenate(singles)
    cuts = numpy.concatenate([[0], numpy.cumsum([len(one) for one in singles])]).astype(numpy.uint64)
    joined = b"".join(made)
    offsets = numpy.concatenate([[0], numpy.cumsum([len(one) for one in made])]).astype(numpy.uint64)
    for threads in (1, 2, 3, 4, 5, 6, 7, 8):
        for values, found in (
            encoder.encode_batch(made, threads=threads, specials=True),
            encoder.encode_buffer(joined, offsets, threads=threads, specials=True),
        ):
            assert numpy.array_equal(values, expected)
            assert numpy.array_equal(found, cuts)
            assert (values.dtype, found.dtype) == (numpy.uint32, numpy.uint64)
    assert encoder.decode_batch(expected, cuts) == made


def test_no_documents_and_empty_documents(encoder: Encoder) -> None:
    for made in ([], [b""], [b"", b""]):
        values, offsets = encoder.encode_batch(made, threads=4)
        assert (values.tolist(), offsets.tolist()) == ([], [0] * (len(made) + 1))
    values, offsets = encoder.encode_buffer(b"", [0])
    assert (values.tolist(), offsets.tolist()) == ([], [0])


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([], "one number at least"),
        (3, "one row"),
        ([[0, 1], [2, 3]], "one row"),
        ([3, 1], "before"),
        ([0, 9], "past"),
        ([9], "past"),
        ([0, 5, 3, 5], "5 before 3 at 1"),
        ([-1, 5], "below zero"),
        (numpy.array([0, -3], numpy.int8), "below zero"),
        ([2**64 - 1, 2**64 - 1], "past"),
    ],
)
def test_wrong_offsets(encoder: Encoder, offsets: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encoder.encode_buffer(b"hello", offsets)
    with pytest.raises(ValueError, match=message):
        encoder.decode_batch([0] * 5, offsets)


@pytest.mark.parametrize("offsets", [[0.0, 2.7], [False, True], ["0", "5"], [0, 2**80], None, numpy.array([0, 5j])])
def test_offsets_are_integers(encoder: Encoder, offsets: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        encoder.encode_buffer(b"hello", offsets)
    with pytest.raises((TypeError, ValueError)):
        encoder.decode_batch([0] * 5, offsets)


def test_offsets_of_any_integer_type(encoder: Encoder) -> None:
    expected = encoder.encode_batch([b"he", b"", b"l"])[0].tolist()
    for kind in ("<u8", ">u8", "<i4", "u1"):
        offsets = numpy.array([0, 7, 2, 7, 2, 7, 3], kind)[::2]
        values, cuts = encoder.encode_buffer(b"hello", offsets)
        assert values.tolist() == expected
        assert [len(part) for part in encoder.decode_batch(values, cuts)] == [2, 0, 1]


def test_wrong_threads(encoder: Encoder) -> None:
    for threads in (0, -1, 1025):
        with pytest.raises(ValueError, match="threads"):
            encoder.encode_batch([b"a"], threads=threads)


@pytest.mark.parametrize("bits", [0, 1, 4, 8, 12, 16, 20])
def test_a_cache_of_any_size_changes_nothing(
    ranks_of: Callable[[str], dict[bytes, int]], encoder_of: Callable[[str], Encoder], bits: int
) -> None:
    made = documents()
    encoder = Encoder.from_ranks(ranks_of("cl100k_base"), pattern="cl100k", cache_bits=bits)
    expected = encoder_of("cl100k_base").encode_batch(made)[0]
    for _ in range(2):
        assert numpy.array_equal(encoder.encode_batch(made)[0], expected)
        made_again = encoder.encode_batch(made[::-1])[0]
        assert len(made_again) == len(expected)


def test_many_interpreter_threads_on_one_encoder(encoder: Encoder) -> None:
    from concurrent.futures import ThreadPoolExecutor

    made = documents()
    expected = [encoder.encode(document).tolist() for document in made]
    with ThreadPoolExecutor(8) as pool:
        assert [ids.tolist() for ids in pool.map(encoder.encode, made)] == expected


def test_memory_exhaustion_is_an_error_and_passes() -> None:
    """A piece whose merging needs more than the process may have: MemoryError, and the encoder goes on."""
    program = """
import resource
from tokassay.engines.dat_bpe import Encoder
encoder = Encoder.load("gpt2")
document = b"a" * 40_000_000
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 30_000_000, resource.RLIM_INFINITY))
for _ in range(3):
    for call in (encoder.encode, lambda data: encoder.encode_batch([data, b"x"], threads=2)):
        try:
            call(document)
        except MemoryError:
            pass
        else:
            raise SystemExit("no MemoryError")
print(encoder.encode(b"hello world").tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[31373, 995]\n"), done.stderr
