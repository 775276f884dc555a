"""Near-collisions: words that a cache or a table takes for one another if it looks at too little of them.

Keys are made of the first bytes, of padded bytes, of folded halves, of sums; and what is compared on a hit may be the
hash alone. Each document brings a word and a near one, in turns and between spaces, so that the second is looked up
when the first is known. Lengths are those around 8, 16, 24 and 32 bytes, where keys end. Document k depends on the seed
and k only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tokassay.corpora.corpus import Corpus, from_documents
from tokassay.corpora.document import Document
from tokassay.corpora.draws import Draws

DOCUMENTS = 4000
LENGTHS = (2, 3, 4, 6, 7, 8, 9, 12, 14, 15, 16, 17, 22, 23, 24, 25, 30, 31, 32, 33, 48, 64)
LETTERS = b"abcdefghijklmnopqrstuvwxyz"
ROUNDS = 4


def word(draws: Draws) -> bytes:
    """Random small letters of one of the lengths."""
    return bytes(draws.choice(LETTERS) for _ in range(draws.choice(LENGTHS)))


def one_letter(data: bytes, draws: Draws) -> bytes:
    """One letter is another."""
    at = draws.below(len(data))
    return data[:at] + bytes((draws.choice(LETTERS),)) + data[at + 1 :]


def last_letter(data: bytes, draws: Draws) -> bytes:
    """The last letter is another: keys of the first bytes are equal."""
    return data[:-1] + bytes((draws.choice(LETTERS),))


def first_letter(data: bytes, draws: Draws) -> bytes:
    """The first letter is another: keys of the last bytes are equal."""
    return bytes((draws.choice(LETTERS),)) + data[1:]


def anagram(data: bytes, draws: Draws) -> bytes:
    """Two letters change places: sums and exclusive ors of bytes are equal."""
    a, b = sorted((draws.below(len(data)), draws.below(len(data))))
    return data[:a] + data[b : b + 1] + data[a + 1 : b] + data[a : a + 1] + data[b + 1 :] if a < b else data


def halves(data: bytes, draws: Draws) -> bytes:
    """The halves change places: what folds them into one does not see it."""
    return data[len(data) // 2 :] + data[: len(data) // 2]


def words_of_eight(data: bytes, draws: Draws) -> bytes:
    """The same bit is turned at the same place of two words of eight bytes: their exclusive or stays."""
    if len(data) < 16:
        return one_letter(data, draws)
    made, at = bytearray(data), draws.below(8)
    made[at] ^= 1
    made[at + 8] ^= 1
    return bytes(made)


def padded(data: bytes, draws: Draws) -> bytes:
    """A NUL follows: keys padded with zeros are equal."""
    return data + b"\0" * draws.length(4)


def case(data: bytes, draws: Draws) -> bytes:
    """One letter is a capital: bit 5."""
    at = draws.below(len(data))
    return data[:at] + data[at : at + 1].upper() + data[at + 1 :]


def high_bit(data: bytes, draws: Draws) -> bytes:
    """Bit 7 of one byte is set: signed bytes and seven-bit keys are equal. It is no UTF-8 then."""
    at = draws.below(len(data))
    return data[:at] + bytes((data[at] | 0x80,)) + data[at + 1 :]


def longer(data: bytes, draws: Draws) -> bytes:
    """It goes on: keys of the first bytes are equal."""
    return data + word(draws)


def wrapped(data: bytes, draws: Draws) -> bytes:
    """256 bytes longer: a length kept in a byte is equal."""
    return data + data[:1] * 256


Near = Callable[[bytes, Draws], bytes]
NEARS: tuple[Near, ...] = (
    one_letter, last_letter, first_letter, anagram, halves, words_of_eight, padded, case, high_bit, longer, wrapped,
)  # fmt: skip


def documents(size: int, seed: int) -> Iterator[Document]:
    """The first `size` documents of a seed; each kind comes in turn."""
    for k in range(size):
        draws = Draws("collisions", seed, k)
        near = NEARS[k % len(NEARS)]
        known = word(draws)
        other = near(known, draws)
        between = draws.choice((b" ", b"\n", b", ", b"1"))
        data = between.join((known, other) * draws.length(ROUNDS)) + between
        yield Document(f"collisions {seed}/{k} {near.__name__}", data, (near.__doc__ or "").rstrip("."))


def open_collisions(spec: str, size: int, seed: int) -> Corpus:
    """The corpus `collisions:<size>` of a seed."""
    return from_documents(spec, spec, lambda _: documents(size, seed))
