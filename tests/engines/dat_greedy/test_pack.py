"""First-fit packing against the plain one of the oracles, which tries b = 1, 2, 3 …"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from tokassay.engines.dat_greedy import Greedy, LoadError, _core, crayfile
from tokassay.oracles.firstfit import first_fit

Tokens = dict[bytes, int]


def rows(arrays: crayfile.Arrays) -> tuple[list[int], list[int], list[int]]:
    return arrays.base.tolist(), arrays.check.tolist(), arrays.values.tolist()


@pytest.mark.parametrize("order", ["depth", "levels"])
@pytest.mark.parametrize("singles", [bytes(range(256)), bytes(range(1, 128)), b"a\xff", b""], ids=len)
def test_the_arrays_are_those_of_plain_first_fit(
    random_tokens: Callable[..., Tokens], order: str, singles: bytes
) -> None:
    for seed, count in enumerate((0, 1, 50, 900)):
        tokens = random_tokens(seed, count, singles)
        assert rows(crayfile.pack(tokens, order=order)) == first_fit(tokens, order)


@pytest.mark.parametrize("order", ["depth", "levels"])
def test_a_cartridge_of_367_tokens(gpt2_tokens: Tokens, order: str) -> None:
    tokens = dict(sorted(gpt2_tokens.items(), key=lambda item: item[1])[:367])
    assert rows(crayfile.pack(tokens, order=order)) == first_fit(tokens, order)


def test_slots_that_nobody_can_use_do_not_change_the_search() -> None:
    """Without a token that begins with NUL, slot 1 and others stay free for ever: words of 64 are passed over."""
    tokens = {bytes([high, low]): 256 * high + low for high in range(200, 240) for low in range(100, 256)}
    assert rows(crayfile.pack(tokens)) == first_fit(tokens)


def test_the_order_of_the_tokens_and_their_ids_do_not_matter(random_tokens: Callable[..., Tokens]) -> None:
    tokens = random_tokens(3, 200)
    packed = crayfile.pack(tokens)
    turned = crayfile.pack(dict(reversed(tokens.items())))
    assert rows(packed) == rows(turned)
    renamed = crayfile.pack({token: 7 * number for token, number in tokens.items()})
    assert (rows(renamed)[:2], renamed.values.max()) == (rows(packed)[:2], 7 * packed.values.max())


def test_both_orders_are_one_vocabulary(gpt2_tokens: Tokens) -> None:
    by_depth, by_levels = (Greedy(crayfile.pack(gpt2_tokens, order=order)) for order in ("depth", "levels"))
    assert by_depth.arrays.base.tolist() != by_levels.arrays.base.tolist()
    assert by_depth.tokens() == by_levels.tokens() == dict(sorted(gpt2_tokens.items(), key=lambda item: item[1]))
    assert by_depth.problems() == by_levels.problems() == []


def test_the_empty_token_is_left_out() -> None:
    assert rows(crayfile.pack({b"": 5, b"a": 0})) == first_fit({b"a": 0})
    assert rows(crayfile.pack({})) == ([0, 0], [-1, -1], [-1, -1])


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        ({b"a": -1}, "outside"), ({b"a": 2**31}, "outside"), ({"a": 0}, "'a': 0"), ({b"a": True}, "True"),
        ({b"a": 0.5}, "0.5"),
    ],
)
def test_what_the_file_cannot_hold(tokens: Any, said: str) -> None:
    with pytest.raises(LoadError, match=said):
        crayfile.pack(tokens)
    assert crayfile.pack({b"a": 2**31 - 1}).values.max() == 2**31 - 1


def test_an_order_that_is_none() -> None:
    with pytest.raises(LoadError, match="use depth or levels"):
        crayfile.pack({b"a": 0}, order="breadth")


def test_the_interpreter_is_free_while_it_packs(cl100k_tokens: Tokens) -> None:
    """Another thread's steps fall into the first half of one call: a lock that is held gives way only at its end."""
    tokens = list(cl100k_tokens)
    text = numpy.frombuffer(b"".join(tokens), numpy.uint8)
    offsets = numpy.cumsum([0, *map(len, tokens)], dtype=numpy.uint64)
    ids = numpy.arange(len(tokens), dtype=numpy.uint32)
    times: list[float] = []

    def pack() -> None:
        times.append(time.perf_counter())
        _core.pack(text, offsets, ids, True)
        times.append(time.perf_counter())

    thread = threading.Thread(target=pack)
    steps = []
    thread.start()
    while thread.is_alive():
        steps.append(time.perf_counter())
    first, last = times
    assert sum(first < step < (first + last) / 2 for step in steps) > 10
