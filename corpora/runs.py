"""Very long runs of each class: buffers, counters and recursion meet their ends in one character said often enough.

`lengths` has every length of a few constructions; this has every representative of tuples.py at few lengths: around
256, 4,096 and 65,536 bytes, and a megabyte. Each runs alone, inside of a sentence, and in turns with the next
representative. `runs` goes to a megabyte (230 MB); `runs:small` to 70,000 bytes, `runs:N` to N.
"""

from __future__ import annotations

from collections.abc import Iterator

from tokassay.corpora.corpus import Corpus, from_documents
from tokassay.corpora.document import Document
from tokassay.corpora.tuples import REPRESENTATIVES

LENGTHS = (255, 256, 257, 4095, 4096, 4097, 65535, 65537, 1 << 20)
MOST, SMALL = LENGTHS[-1], 70_000


def run(unit: bytes, size: int) -> bytes:
    """`unit` again and again, as often as it fits into `size` bytes, once at least."""
    return unit * max(1, size // len(unit))


def documents(most: int = MOST) -> Iterator[Document]:
    """Every representative at every length up to `most`, in three forms."""
    following = [*REPRESENTATIVES[1:], REPRESENTATIVES[0]]
    for (name, data), (other, beside) in zip(REPRESENTATIVES, following, strict=True):
        for size in LENGTHS:
            if size > most:
                break
            yield Document(f"runs {name} {size}", run(data, size), f"{name} and nothing else")
            inside = b"it's " + run(data, size) + b" 1st"
            yield Document(f"runs {name} {size} inside", inside, f"{name} inside of a sentence")
            turns = run(data + beside, size)
            yield Document(f"runs {name} {size} in turns", turns, f"{name} and {other} in turns")


def open_runs(spec: str, most: int) -> Corpus:
    """The corpus `runs` up to a length in bytes."""
    return from_documents(spec, spec, lambda _: documents(most))
