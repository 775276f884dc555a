"""Real text, changed at the borders of its tokens: what is rare in text is put where an encoder decides.

A document is a window of the embedded sample, cut into the longest tokens of the vocabulary from left to right; one to
four of the borders between them are then changed. The borders of a merging encoder are mostly the same and never need
be: an insertion into real text at a place where some token ends is what is wanted. Document k depends on the
vocabulary, the seed and k only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache

from tokassay.corpora.corpus import Corpus, from_documents
from tokassay.corpora.document import CorpusError, Document
from tokassay.corpora.draws import Draws
from tokassay.corpora.sample import sample
from tokassay.corpora.tuples import REPRESENTATIVES

DOCUMENTS = 4000
WINDOW = 240
MOST_CHANGES = 4
LONGEST = 64  # bytes of the longest token looked for


@cache
def _texts() -> tuple[bytes, ...]:
    return tuple(document.data for document in sample() if document.data)


def cut(data: bytes, tokens: Mapping[bytes, int]) -> list[bytes]:
    """The longest token at each place, from the left; a byte that begins none stands alone."""
    parts, at = [], 0
    while at < len(data):
        end = next((n for n in range(min(LONGEST, len(data) - at), 1, -1) if data[at : at + n] in tokens), 1)
        parts.append(data[at : at + end])
        at += end
    return parts


def inserted(parts: list[bytes], at: int, draws: Draws) -> None:
    """A representative is put in."""
    parts.insert(at, draws.choice(REPRESENTATIVES)[1])


def doubled(parts: list[bytes], at: int, draws: Draws) -> None:
    """The token behind the border comes twice."""
    parts.insert(at, parts[at])


def swapped(parts: list[bytes], at: int, draws: Draws) -> None:
    """The tokens on both sides change places."""
    parts[at - 1], parts[at] = parts[at], parts[at - 1]


def dropped(parts: list[bytes], at: int, draws: Draws) -> None:
    """The token behind the border is left out."""
    del parts[at]


def shortened(parts: list[bytes], at: int, draws: Draws) -> None:
    """The byte before the border is lost, so that characters of several bytes are cut."""
    parts[at - 1] = parts[at - 1][:-1]


def turned(parts: list[bytes], at: int, draws: Draws) -> None:
    """A bit of the byte behind the border is turned."""
    first = parts[at][:1] or b"\0"
    parts[at] = bytes((first[0] ^ 1 << draws.below(8),)) + parts[at][1:]


def repeated(parts: list[bytes], at: int, draws: Draws) -> None:
    """A representative comes many times."""
    parts.insert(at, draws.choice(REPRESENTATIVES)[1] * draws.length(40))


def ended(parts: list[bytes], at: int, draws: Draws) -> None:
    """The text ends at the border."""
    del parts[at:]


Change = Callable[[list[bytes], int, Draws], None]
# Insertions bring most: they are drawn three times as often.
CHANGES: tuple[Change, ...] = (
    inserted, inserted, inserted, doubled, swapped, dropped, shortened, turned, repeated, ended,
)  # fmt: skip


def window(draws: Draws) -> bytes:
    """Up to 240 bytes of a text of the sample, from one character to another."""
    data = draws.choice(_texts())
    start = draws.below(max(1, len(data) - WINDOW))
    part = data[start : start + WINDOW]
    return part.decode("utf-8", "ignore").encode() or part


def changed(data: bytes, tokens: Mapping[bytes, int], draws: Draws) -> tuple[bytes, list[str]]:
    """The text with one to four of its borders changed, and the changes' names."""
    parts, names = cut(data, tokens), []
    for _ in range(draws.length(MOST_CHANGES)):
        if len(parts) < 2:
            break
        change = draws.choice(CHANGES)
        change(parts, 1 + draws.below(len(parts) - 1), draws)
        names.append(change.__name__)
    return b"".join(parts), names


def documents(size: int, seed: int, tokens: Mapping[bytes, int]) -> Iterator[Document]:
    """The first `size` documents of a seed."""
    for k in range(size):
        draws = Draws("borders", seed, k)
        data, names = changed(window(draws), tokens, draws)
        yield Document(f"borders {seed}/{k}", data, f"real text, at borders of tokens: {', '.join(names)}")


def open_borders(spec: str, size: int, seed: int, tokens: Mapping[bytes, int] | None) -> Corpus:
    """The corpus `borders:<size>` of a seed. Raises CorpusError without a vocabulary."""
    if not tokens:
        raise CorpusError(
            "borders are those of a vocabulary's tokens and none was given", where=spec, remedy="name a vocabulary"
        )
    held = tokens
    return from_documents(spec, spec, lambda _: documents(size, seed, held))
