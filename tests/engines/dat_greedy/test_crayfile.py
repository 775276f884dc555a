"""The CRAY file: written and read by the format's own words, refused where it is not whole, mapped and not copied."""

from __future__ import annotations

import mmap
import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
from tokassay.engines.dat_greedy import Greedy, LoadError, crayfile
from tokassay.oracles.firstfit import file_bytes, first_fit

# Two tokens, `a` (7) and `ab` (3), in slots of our own choice: t = BASE[s] + c, and CHECK[t] == s.
A, AB = 101, 120
BASE, CHECK, VALUES = [0] * 130, [-1] * 130, [-1] * 130
BASE[0], BASE[A] = A - ord("a"), AB - ord("b")
CHECK[A], CHECK[AB] = 0, A
VALUES[A], VALUES[AB] = 7, 3
BY_HAND = b"CRAY" + struct.pack("<II", 2, 130) + struct.pack("<390i", *BASE, *CHECK, *VALUES)


def test_a_file_made_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "hand.dat"
    path.write_bytes(BY_HAND)
    greedy = Greedy.open(path)
    assert greedy.encode(b"abaabab").tolist() == [3, 7, 3, 3]
    assert greedy.decode([7, 3]) == b"aab"
    assert greedy.tokens() == {b"ab": 3, b"a": 7}
    assert (greedy.n_vocab, greedy.lossless, greedy.problems()) == (8, False, [])
    assert greedy.arrays.to_bytes() == BY_HAND


def test_a_written_file_is_the_format_s(tmp_path: Path, random_tokens: Callable[..., dict[bytes, int]]) -> None:
    tokens = random_tokens(1, 300)
    path = tmp_path / "made.dat"
    Greedy.from_tokens(tokens).save(path)
    assert path.read_bytes() == file_bytes(*first_fit(tokens))
    assert os.listdir(tmp_path) == ["made.dat"]
    assert Greedy.open(path).tokens() == tokens


def test_opening_maps_and_copies_nothing(tmp_path: Path, random_tokens: Callable[..., dict[bytes, int]]) -> None:
    path = tmp_path / "made.dat"
    Greedy.from_tokens(random_tokens(1, 300)).save(path)
    greedy = Greedy.open(path)
    owner = greedy.arrays.check
    while isinstance(owner, numpy.ndarray):
        assert not owner.flags.owndata and not owner.flags.writeable
        owner = owner.base if owner.base is not None else owner
    assert isinstance(owner.obj if isinstance(owner, memoryview) else owner, mmap.mmap)


def test_a_file_in_place_of_one_that_is_mapped(tmp_path: Path) -> None:
    path = tmp_path / "one.dat"
    Greedy.from_tokens({b"a": 0, b"b": 1}).save(path)
    former = Greedy.open(path)
    Greedy.from_tokens({b"a": 1, b"b": 0}).save(path)
    assert former.encode(b"ab").tolist() == [0, 1]
    assert Greedy.open(path).encode(b"ab").tolist() == [1, 0]


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder.dat").mkdir()
    with pytest.raises(OSError):
        Greedy.from_tokens({b"a": 0}).save(tmp_path / "folder.dat")
    assert os.listdir(tmp_path) == ["folder.dat"]


def test_buffers_at_every_alignment() -> None:
    for shift in range(5):
        data = bytearray(b"x" * shift + BY_HAND)
        greedy = Greedy.from_bytes(memoryview(data)[shift:])
        assert greedy.encode("aab").tolist() == [7, 3]


def test_copied_and_pickled() -> None:
    greedy = pickle.loads(pickle.dumps(Greedy.from_bytes(BY_HAND, unmatched="bytes")))
    assert greedy.encode(b"ab!").tolist() == [3, 8 + ord("!")]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "0 bytes are no header"),
        (BY_HAND[:11], "11 bytes are no header"),
        (b"YARC" + BY_HAND[4:], "begins with b'YARC'"),
        (b"CRAY" + struct.pack("<II", 1, 130) + BY_HAND[12:], "version 1"),
        (b"CRAY" + struct.pack("<II", 2, 0), "0 slots"),
        (b"CRAY" + struct.pack("<II", 2, 2**31) + BY_HAND[12:], "2147483648 slots"),
        (b"CRAY" + struct.pack("<II", 2, 2**32 - 1) + BY_HAND[12:], "4294967295 slots"),
        (b"CRAY" + struct.pack("<II", 2, 131) + BY_HAND[12:], "131 slots make 1584"),
        (b"CRAY" + struct.pack("<II", 2, 2**31 - 1) + BY_HAND[12:], "2147483647 slots make"),
        (BY_HAND[:-1], "130 slots make 1572"),
        (BY_HAND + b"\0", "1573 bytes"),
    ],
    ids=range(11),
)
def test_what_is_no_whole_file_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "bad.dat"
    path.write_bytes(data)
    with pytest.raises(LoadError, match=said) as caught:
        Greedy.open(path)
    assert (caught.value.where, caught.value.remedy) == (str(path), "build or fetch the file again")
    with pytest.raises(LoadError, match=said):
        Greedy.from_bytes(data)


def test_every_truncation_of_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.dat"
    for size in range(len(BY_HAND)):
        path.write_bytes(BY_HAND[:size])
        with pytest.raises(LoadError):
            Greedy.open(path)


def test_what_is_no_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.dat", "nul\0byte"):
        with pytest.raises(LoadError, match="give the path of a CRAY file"):
            Greedy.open(path)


@pytest.mark.parametrize(
    ("array", "slot", "value", "said"),
    [
        ("check", 0, 0, "CHECK of the root is 0"),
        ("check", AB, 130, "slot 120: its parent 130 is past the last slot"),
        ("base", A, 2**31 - 1, "slot 120: no byte leads to it from its parent 101"),
        ("base", 0, -200, "slot 101: no byte leads to it from its parent 0"),
        ("values", A, -2, "slot 101: VALUES is -2"),
        ("values", 5, 1, "slot 5: it is free and has the value 1"),
        ("values", A, 3, "id 3 stands for two tokens"),
    ],
)
def test_looking_through_a_file_finds_what_is_planted(array: str, slot: int, value: int, said: str) -> None:
    arrays = {"base": list(BASE), "check": list(CHECK), "values": list(VALUES)}
    arrays[array][slot] = value
    made = crayfile.Arrays(**{name: numpy.array(row, numpy.int32) for name, row in arrays.items()})
    assert any(said in each for each in crayfile.problems(made))


def test_a_change_that_makes_another_vocabulary_is_no_problem() -> None:
    """120 is 116 past the root's base: `t` leads there once CHECK names the root."""
    check = numpy.array(CHECK, numpy.int32)
    check[AB] = 0
    made = crayfile.Arrays(numpy.array(BASE, numpy.int32), check, numpy.array(VALUES, numpy.int32))
    assert crayfile.problems(made) == [] and Greedy(made).tokens() == {b"t": 3, b"a": 7}


def test_slots_that_lead_in_a_circle_are_told() -> None:
    base, check, values = (numpy.array(row, numpy.int32) for row in (BASE, CHECK, VALUES))
    check[50], check[51], base[50], base[51] = 51, 50, 51 - 1, 50 - 1  # each is the other's child by byte 1
    assert crayfile.problems(crayfile.Arrays(base, check, values)) == ["2 slots cannot be reached from the root"]
