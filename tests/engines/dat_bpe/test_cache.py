"""The pretoken cache at each of its sizes: a hit gives what a miss gave, and what was driven out is encoded again."""

from __future__ import annotations

import random
from functools import cache
from importlib.resources import files

import numpy
import pytest
from tokassay.engines.dat_bpe import Encoder, _core

SIZES = range(8, 21)


@cache
def groups() -> list[list[bytes]]:
    """Pretokens of GPT-2 that a careless key would take for one another; the smallest cache holds a group of them."""
    chance = random.Random(11)
    # Keys are padded with NUL, and lengths stand beside them: so many that some share a place in the smallest cache.
    made = [[bytes([mark]) + b"\0" * more for more in range(15)] for mark in b'!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~']
    made += [[byte * size for size in range(1, 41)] for byte in (b"\0", b"\xff")]
    made += [[letter * size for size in range(1, 33)] for letter in (b"a", b"ab", "д".encode(), "漢".encode())]
    # Around 15 and 31 bytes, where one cache ends and the next; one byte changed at each place.
    for size in (7, 8, 9, 14, 15, 16, 17, 30, 31, 32, 33):
        word = bytes(chance.choices(b"etaoin", k=size))
        made.append([word[:at] + b"z" + word[at + 1 :] for at in range(size)])
    return made


@cache
def pieces() -> list[bytes]:
    """Each is one pretoken of GPT-2: real words, and all groups."""
    sample = (files("tokassay.fixtures") / "sample" / "shakespeare.txt").read_bytes()
    words = [b" " + word for word in sample.split() if word.isalpha()][:4000]
    return words + [piece for group in groups() for piece in group]


@cache
def flood() -> list[bytes]:
    """Far more words than small caches hold, so that they drive others out; and so many that differ in one part of the
    key only, that some share a place in the largest: a comparison that leaves a part out takes one for another."""
    chance = random.Random(12)

    def word(size: int) -> bytes:
        return bytes(chance.choices(b"abcdefghij", k=size))

    made = [word(chance.randint(3, 15)) for _ in range(20_000)]
    made += [b"abcdefgh" + word(7) for _ in range(3000)] + [word(8) + b"abcdefg" for _ in range(3000)]
    for at in range(0, 31, 8):
        whole = word(31)
        made += [(whole[:at] + word(8) + whole[at + 8 :])[:31] for _ in range(800)]
    return made


@cache
def plain() -> Encoder:
    """Neither cache, nor any other optimization."""
    return Encoder.load("gpt2", cache_bits=0, level="scalar", without=list(_core.USES))


@cache
def right(kind: str) -> list[list[int]]:
    return [plain().encode_list(piece) for piece in (pieces() if kind == "pieces" else flood())]


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("cache") / "gpt2.profile")
    Encoder.load("gpt2").save(path)
    return path


@pytest.mark.parametrize("bits", SIZES)
def test_a_hit_equals_a_miss(profile: str, bits: int) -> None:
    encoder = Encoder.open(profile, cache_bits=bits)
    # A cache has its full size after 32 kB.
    assert [encoder.encode_list(piece) for piece in flood()] == right("flood")
    for piece, ids in zip(pieces(), right("pieces"), strict=True):
        assert [encoder.encode_list(piece) for _ in range(2)] == [ids, ids]
    for group in groups():
        ids = [plain().encode_list(piece) for piece in group]
        for _ in range(3):
            assert [encoder.encode_list(piece) for piece in group] == ids
    assert [encoder.encode_list(piece) for piece in flood()] == right("flood")
    assert [encoder.encode_list(piece) for piece in reversed(pieces())] == right("pieces")[::-1], "driven out"


@pytest.mark.parametrize("bits", SIZES)
def test_in_batches_over_threads_too(profile: str, bits: int) -> None:
    """A thread has a cache of its own, and a batch looks up many pieces before the first that is missing is encoded."""
    encoder = Encoder.open(profile, cache_bits=bits)
    documents = pieces() + flood() + pieces()
    ids = [number for row in (*right("pieces"), *right("flood"), *right("pieces")) for number in row]
    for threads in (1, 3):
        assert numpy.array_equal(encoder.encode_batch(documents, threads=threads)[0], ids)


def test_each_is_one_pretoken() -> None:
    encoder = plain()
    assert all(encoder.pretokens(piece) == [(0, len(piece))] for piece in pieces() + flood())
    assert {len(piece) for piece in pieces()} >= set(range(1, 41))
