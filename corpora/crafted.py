"""Texts made to be hard or strange: one pretoken of any length, words that never repeat, words made to collide.

Each is a function of a number of bytes (and of a seed where there is something to draw), so that a published size
and name give the same bytes everywhere. Any length is met exactly, at a character's border.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

CONSONANTS = np.frombuffer(b"bcdfghjklmnprstvwxyz", np.uint8)
VOWELS = np.frombuffer(b"aeiou", np.uint8)
SYLLABLES = len(CONSONANTS) * len(VOWELS)
WORD_SYLLABLES = 4
WORDS = SYLLABLES**WORD_SYLLABLES  # how many words of four syllables there are: 100,000,000
STRIDE = 61_803_399  # coprime to WORDS: multiples of it, taken modulo WORDS, visit every word once
HAN_FIRST, HAN_COUNT = 0x4E00, 0x4000  # the first 16,384 of the CJK unified ideographs, all letters of three bytes
COLLIDING = 1 << 16
ONE_PRETOKEN = ("letters", "spaces", "ideographs")  # under every published pattern


def letters(size: int, seed: int = 0) -> bytes:
    """`a` size times: one pretoken."""
    return b"a" * size


def spaces(size: int, seed: int = 0) -> bytes:
    """A space size times."""
    return b" " * size


def ideographs(size: int, seed: int = 0) -> bytes:
    """CJK ideographs drawn from 16,384, one pretoken without a border in it; filled up with `a` to `size` bytes."""
    drawn = np.random.default_rng(seed).integers(0, HAN_COUNT, size // 3) + HAN_FIRST
    return drawn.astype("<u4").tobytes().decode("utf-32-le").encode() + b"a" * (size % 3)


def words(first: int, count: int) -> npt.NDArray[np.uint8]:
    """Words `first` to `first + count` of an order in which none repeats. uint8 of shape (count, 9): a space, then four
    syllables of consonant and vowel. ValueError past the last."""
    if first + count > WORDS:
        raise ValueError(f"there are {WORDS:,} such words")
    number = np.arange(first, first + count, dtype=np.int64) * STRIDE % WORDS
    rows = np.full((count, 1 + 2 * WORD_SYLLABLES), ord(" "), np.uint8)
    for place in range(WORD_SYLLABLES):
        number, syllable = np.divmod(number, SYLLABLES)
        rows[:, 1 + 2 * place] = CONSONANTS[syllable // len(VOWELS)]
        rows[:, 2 + 2 * place] = VOWELS[syllable % len(VOWELS)]
    return rows


def unique(size: int, seed: int = 0) -> bytes:
    """Words of eight letters, each once. Seeds 0 to 7 share no word with one another up to 100 MB."""
    if not 0 <= seed < 8:
        raise ValueError("the seed of unique words is 0 to 7: each has words of its own")
    count = -(-size // (1 + 2 * WORD_SYLLABLES))
    return words(seed * (WORDS // 8), count).tobytes()[:size]


def colliding(size: int, seed: int = 0) -> bytes:
    """65,536 words of a space and 15 letters, over and over, whose two halves of eight bytes have one exclusive or:
    a hash that folds the halves without a key sends them all to one place."""
    number = np.arange(min(COLLIDING, -(-size // 16)), dtype=np.int64)
    rows = np.zeros((len(number), 16), np.uint8)
    rows[:, 0], rows[:, 8] = ord(" "), ord("c")
    for place in range(1, 8):
        number, letter = np.divmod(number, 14)
        rows[:, place] = ord("b") + letter  # b to o: with the last bit turned, c to n and so still a letter
        rows[:, 8 + place] = (ord("b") + letter) ^ 1
    block = rows.tobytes()
    return (block * -(-size // len(block)))[:size] if size else b""


CRAFTED: dict[str, Callable[[int, int], bytes]] = {
    "letters": letters,
    "spaces": spaces,
    "ideographs": ideographs,
    "colliding": colliding,
    "unique": unique,
}
