"""Crafted texts: their exact length, and the property each is made for."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tokassay.corpora.crafted import COLLIDING, CRAFTED, WORDS, colliding, ideographs, unique, words


@pytest.mark.parametrize("name", list(CRAFTED))
@pytest.mark.parametrize("size", [0, 1, 2, 3, 100, 64_000, 1_000_001])
def test_lengths_are_met_and_bytes_repeat(name: str, size: int) -> None:
    made = CRAFTED[name](size, 0)
    assert len(made) == size
    made.decode()
    assert made == CRAFTED[name](size, 0)


def test_one_pretoken_of_ideographs() -> None:
    text = ideographs(60_000).decode()
    assert re.fullmatch("[\u4e00-\u8dff]+", text)
    assert len(set(text)) > 10_000
    assert ideographs(600, 1) != ideographs(600, 0)


def test_words_never_repeat_within_a_seed_or_between_two() -> None:
    first, second = unique(900_000, 0).split(), unique(900_000, 1).split()
    both = first + second
    assert len(set(both)) == len(both) == 200_000
    assert all(len(word) == 8 for word in both)
    with pytest.raises(ValueError):
        unique(9, 8)
    with pytest.raises(ValueError):
        words(WORDS - 1, 2)


def test_colliding_words_are_distinct_and_fold_to_one_value() -> None:
    block = np.frombuffer(colliding(16 * COLLIDING), np.uint8).reshape(-1, 16)
    assert len({row.tobytes() for row in block}) == COLLIDING
    assert bool(np.isin(block[:, 1:], np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)).all())
    assert len({row.tobytes() for row in block[:, :8] ^ block[:, 8:]}) == 1
    assert colliding(32 * COLLIDING)[: 16 * COLLIDING] == block.tobytes()
