"""The tables of a vocabulary as its profile holds them, read by csrc/profile.h's layout and not through the encoder."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy
from numpy.typing import NDArray
from tokassay.engines.dat_bpe.encoder import Encoder

# In the order of csrc/profile.h.
KINDS = {
    "about": "u1", "added_text": "u1", "added_offsets": "<u8", "added_ids": "<u4", "added_flags": "u1", "text": "u1",
    "offsets": "<u4", "ids": "<u4", "by_id": "<u4", "nodes": "<i4", "values": "<u4", "pairs": "<u8", "filter": "<u8",
    "two": "<u4", "bytes": "<u4", "flags": "u1", "shorter": "<u4", "splits": "<u4", "words": "<u8", "front": "<u8",
    "cuts": "<u8", "never": "<u8",
}
SECTIONS = tuple(KINDS)
NUMBERS = ("count", "longest", "unreachable", "flags", "pair_bits", "filter_bits", "word_bits", "cut_bits", "slots",
           "pairs")
NONE = 2**32 - 1
U64 = numpy.uint64
GOLDEN, SECOND = U64(0x9E3779B97F4A7C15), U64(0xD6E8FEB86659FD93)
Words = NDArray[numpy.uint64]


@dataclass(frozen=True)
class Profile:
    """The head's numbers, and each section as an array."""

    head: dict[str, int]
    sections: dict[str, NDArray[Any]]


@cache
def encoder_of(name: str) -> Encoder:
    """The encoder of an embedded vocabulary."""
    return Encoder.load(name)


def block_of(name: str) -> bytes:
    """The profile's bytes. A test puts damaged ones in their place."""
    return bytes(encoder_of(name)._tables.profile(b"{}"))


@cache
def profile_of(name: str) -> Profile:
    """The tables of an embedded vocabulary."""
    block = block_of(name)
    head = dict(zip(NUMBERS, struct.unpack_from("<10I", block, 24), strict=True))
    # 24 bytes, ten numbers, six of the pattern, eight bytes of the Unicode version, a digest: then places.
    places = struct.unpack_from(f"<{2 * len(SECTIONS)}Q", block, 24 + 40 + 24 + 8 + 8)
    sections = {}
    for i, section in enumerate(SECTIONS):
        at, size = places[2 * i], places[2 * i + 1]
        sections[section] = numpy.frombuffer(block[at : at + size], KINDS[section])
    return Profile(head, sections)


def pair_hash(left: Words, right: Words) -> Words:
    """dat_pair_hash of csrc/pairs.h."""
    mixed = (left << U64(32) | right) * GOLDEN
    mixed ^= mixed >> U64(32)
    return mixed * SECOND


def cut_bit(left: Words, right: Words, bits: int) -> Words:
    """dat_cut_bit of csrc/cuts.h."""
    return ((left << U64(32) | right) * GOLDEN) >> U64(64 - bits)


def word_hash(low: Words, high: Words) -> Words:
    """dat_word_hash of csrc/words.h."""
    mixed = (low ^ (high << U64(5) | high >> U64(59))) * GOLDEN
    mixed ^= (mixed >> U64(32)) ^ high
    return mixed * SECOND


def has_bit(bits: Words, at: Words) -> NDArray[numpy.bool_]:
    """Whether each of these bits is set."""
    found: NDArray[numpy.bool_] = (bits[at >> U64(6)] >> (at & U64(63)) & U64(1)) != 0
    return found
