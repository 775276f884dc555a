"""Files that hold anything: walked as plain integers would be, never past an end, never in a circle."""

from __future__ import annotations

import random
import struct

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokassay.engines.dat_greedy import Greedy, LoadError
from tokassay.oracles.firstfit import file_bytes, first_fit

Rows = tuple[list[int], list[int], list[int]]
LIMITS = [-(2**31), -(2**31) + 1, -256, -2, -1, 0, 1, 2, 255, 2**31 - 256, 2**31 - 2, 2**31 - 1]


def walked(rows: Rows, document: bytes) -> list[int]:
    """Ids by the format's words in plain integers; -1 - byte where no token starts. Nothing steps to the root."""
    base, check, values = rows
    ids, at = [], 0
    while at < len(document):
        state, best, found = 0, at + 1, -1 - document[at]
        for end in range(at + 1, len(document) + 1):
            step = base[state] + document[end - 1]
            if not 0 < step < len(check) or check[step] != state:
                break
            state = step
            if values[state] >= 0:
                best, found = end, values[state]
        ids.append(found)
        at = best
    return ids


def agree(rows: Rows, documents: list[bytes]) -> None:
    """Every way of asking a file of these rows: the right ids, or an error that says what; nothing else."""
    greedy = Greedy.from_bytes(file_bytes(*rows), unmatched="bytes")
    for document in documents:
        right = walked(rows, document)
        assert greedy.encode(document).tolist() == [each if each >= 0 else greedy.n_vocab - 1 - each for each in right]
    for use in (greedy.tokens, greedy.problems, lambda: greedy.decode(list(range(50)))):
        try:
            use()
        except ValueError as error:
            assert "stands for two tokens" in str(error) or "not in the vocabulary" in str(error)


@given(st.data())
def test_arrays_of_anything(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 40))
    near = st.integers(-3, count + 3) | st.sampled_from(LIMITS)
    base, check, values = (data.draw(st.lists(near, min_size=count, max_size=count)) for _ in range(3))
    agree((base, check, values), [bytes(range(45)), *data.draw(st.lists(st.binary(max_size=30), max_size=3))])


@pytest.mark.parametrize("seed", range(40))
def test_arrays_in_which_many_steps_are_possible(seed: int) -> None:
    """CHECK names a random state, BASE lies so that some byte leads there: deep walks, circles, the root as a child."""
    chance = random.Random(seed)
    count = chance.choice((2, 5, 30, 300))
    base = [chance.randint(-4, 4) for _ in range(count)]
    check = [chance.randrange(-1, count) for _ in range(count)]
    values = [chance.choice((-1, -1, chance.randrange(1000))) for _ in range(count)]
    documents = [bytes(chance.choices(range(8), k=60)) for _ in range(20)] + [bytes(chance.choices(range(256), k=60))]
    agree((base, check, values), documents)


def test_every_bit_of_a_small_file_flipped() -> None:
    tokens = {b"a": 0, b"ab": 1, b"abc": 2, b"\xff": 3, b"b\x00": 4}
    whole = file_bytes(*first_fit(tokens))
    documents = [b"abcab\xff\x00b\x00", bytes(range(256))]
    chance = random.Random(1)
    bits = chance.sample(range(96, 8 * len(whole)), 2500)
    for bit in [*range(96), *bits]:
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        if bit < 96:
            with pytest.raises(LoadError):
                Greedy.from_bytes(data)
            continue
        count = (len(data) - 12) // 12
        numbers = struct.unpack(f"<{3 * count}i", data[12:])
        agree((list(numbers[:count]), list(numbers[count : 2 * count]), list(numbers[2 * count :])), documents)


def test_a_circle_is_not_entered() -> None:
    """The root as the child of its own child: a walk would go round to the end of the document at every byte of it."""
    base, check, values = [0] * 300, [-1] * 300, [-1] * 300
    base[0], check[98], base[98], check[0] = 1, 0, -97, 98
    greedy = Greedy.from_bytes(file_bytes(base, check, values), unmatched="bytes")
    assert greedy.encode(b"a" * 1_000_000).tolist() == [ord("a")] * 1_000_000
    # A state that is its own child has another parent than the root, and is never come to.
    base[98], check[98] = 1, 98
    greedy = Greedy.from_bytes(file_bytes(base, check, values), unmatched="bytes")
    assert greedy.encode(b"a" * 1_000_000).tolist() == [ord("a")] * 1_000_000


def test_a_chain_as_deep_as_the_file() -> None:
    """One token of 3,000 bytes in which each of its beginnings is a token: read back without a table of all texts."""
    tokens = {b"a" * length: length for length in range(1, 3001)}
    greedy = Greedy.from_tokens(tokens)
    assert greedy.encode(b"a" * 7000).tolist() == [3000, 3000, 1000]
    assert greedy.decode([3000] * 100) == b"a" * 300_000
    assert greedy.problems() == []


def test_random_files() -> None:
    chance = random.Random(5)
    for _ in range(300):
        count = chance.randint(1, 60)
        rows = numpy.frombuffer(chance.randbytes(12 * count), "<i4").reshape(3, count).tolist()
        agree((rows[0], rows[1], rows[2]), [chance.randbytes(80)])
        with pytest.raises(LoadError):
            Greedy.from_bytes(chance.randbytes(chance.randint(0, 400)))
