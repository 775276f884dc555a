"""Hypothesis strategies for documents, for this project's property tests and anybody's.

Hypothesis is imported when a strategy is asked for, so that importing this module costs nothing. Every strategy gives
bytes, and shrinks to the fewest and plainest parts. Those that know a vocabulary are given its tokens or texts:

    from hypothesis import given
    from tokassay.corpora.strategies import at_borders, documents

    @given(documents())
    def test_round_trip(data: bytes) -> None: ...

    @given(at_borders(ranks))  # token bytes -> id
    def test_ids(data: bytes) -> None: ...

| strategy | documents |
|---|---|
| `arbitrary_bytes`, `well_formed`, `near_utf8` | any bytes, any text, cut and broken sequences |
| `mixed`, `repeated` | all of them in turn, a short unit many times |
| `class_tuples` | representatives of character and byte classes side by side (the corpus `classes`) |
| `around` | digits, contractions and marks beside a class |
| `versions` | code points that Unicode versions class differently, in company |
| `long_runs` | one class, or two in turn, hundreds or thousands of times |
| `near_collisions` | a word and one that poor keys take for it |
| `joined_tokens`, `at_borders` | tokens of a vocabulary joined; real text changed at their borders |
| `near_added` | added tokens, cut ones, blanks and classes in a row |
| `documents` | any of those that need no vocabulary |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tokassay.corpora.added import BLANKS
from tokassay.corpora.around import CENTRES
from tokassay.corpora.borders import CHANGES, MOST_CHANGES, WINDOW, cut
from tokassay.corpora.collisions import LENGTHS, NEARS
from tokassay.corpora.draws import Draws
from tokassay.corpora.fuzz import SPACES, UNITS, WORDS
from tokassay.corpora.runs import LENGTHS as RUN_LENGTHS
from tokassay.corpora.tuples import REPRESENTATIVES
from tokassay.corpora.versions import COMPANY, runs

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

MOST = 400


def arbitrary_bytes(most: int = MOST) -> SearchStrategy[bytes]:
    """Any bytes up to `most`."""
    from hypothesis import strategies as st

    return st.binary(max_size=most)


def well_formed(most: int = MOST // 4) -> SearchStrategy[bytes]:
    """Well-formed UTF-8 of up to `most` code points: any but surrogates, words and white space mixed in."""
    from hypothesis import strategies as st

    character = st.characters(codec="utf-8")
    part = st.one_of(character, st.sampled_from(WORDS), st.sampled_from(SPACES))
    return st.lists(part, max_size=most).map(lambda parts: "".join(parts).encode())


def near_utf8(most: int = MOST // 4) -> SearchStrategy[bytes]:
    """Cut, broken and whole sequences side by side: the strings that UTF-8 scanners get wrong."""
    from hypothesis import strategies as st

    part = st.one_of(st.sampled_from(UNITS), st.binary(min_size=1, max_size=1))
    return st.lists(part, max_size=most).map(b"".join)


def class_tuples(most: int = 12) -> SearchStrategy[bytes]:
    """Representatives of up to `most` classes side by side (tuples.py); shrinks to the fewest and plainest.
    """
    from hypothesis import strategies as st

    return st.lists(st.sampled_from(_classes()), max_size=most).map(b"".join)


def mixed(most: int = 12) -> SearchStrategy[bytes]:
    """Valid text and arbitrary bytes in turn."""
    from hypothesis import strategies as st

    part = st.one_of(arbitrary_bytes(24), well_formed(12), near_utf8(8))
    return st.lists(part, max_size=most).map(b"".join)


def repeated() -> SearchStrategy[bytes]:
    """A short unit many times: long pieces, ties between equal merges."""
    from hypothesis import strategies as st

    return st.builds(lambda unit, n: unit * n, class_tuples(3), st.integers(0, 200))


def around(most: int = 3) -> SearchStrategy[bytes]:
    """Up to `most` digits, contractions or marks, each with a class on either side of it or none."""
    from hypothesis import strategies as st

    side = st.sampled_from([b"", *_classes()])
    centre = st.sampled_from([each.encode() for centres in CENTRES.values() for each in centres])
    part = st.builds(lambda before, centre, after: before + centre + after, side, centre, side)
    return st.lists(part, min_size=1, max_size=most).map(b"".join)


def versions(most: int = 4) -> SearchStrategy[bytes]:
    """Up to `most` code points whose class is not the same in all Unicode versions of the tree, each in company."""
    from hypothesis import strategies as st

    point = st.one_of([st.integers(first, last).map(chr) for first, last, _ in runs()])
    part = st.builds(lambda form, point: form.replace("{}", point).encode(), st.sampled_from(COMPANY), point)
    return st.lists(part, min_size=1, max_size=most).map(b"".join)


def long_runs(most: int = RUN_LENGTHS[-2]) -> SearchStrategy[bytes]:
    """One class, or two in turn, up to `most` bytes, between short words or alone."""
    from hypothesis import strategies as st

    unit = st.lists(st.sampled_from(_classes()), min_size=1, max_size=2).map(b"".join)
    near = [n for n in RUN_LENGTHS if n <= most]
    size = st.one_of(st.integers(1, min(300, most)), st.sampled_from(near)) if near else st.integers(1, most)
    edges = st.sampled_from([(b"", b""), (b"it's ", b" 1st"), (b" ", b"\n")])
    return st.builds(lambda unit, size, edge: edge[0] + unit * max(1, size // len(unit)) + edge[1], unit, size, edges)


def near_collisions() -> SearchStrategy[bytes]:
    """A word and one that is nearly it, in turns: what a cache with a poor key takes for the same."""
    from hypothesis import strategies as st

    word = st.sampled_from(LENGTHS).flatmap(lambda n: st.text(st.sampled_from("etaoinsr"), min_size=n, max_size=n))
    between = st.sampled_from([b" ", b"\n", b", ", b"1"])

    def made(known: str, near: int, seed: int, between: bytes, times: int) -> bytes:
        other = NEARS[near](known.encode(), Draws("strategies", seed, 0))
        return between.join((known.encode(), other) * times) + between

    return st.builds(
        made, word, st.integers(0, len(NEARS) - 1), st.integers(0, 999), between, st.integers(1, 3)
    )


def joined_tokens(tokens: Mapping[bytes, int], most: int = 30) -> SearchStrategy[bytes]:
    """Up to `most` tokens of a vocabulary joined, a space between some: the borders of merges."""
    from hypothesis import strategies as st

    token = st.sampled_from(sorted((each for each in tokens if each), key=tokens.__getitem__))
    return st.lists(st.one_of(token, st.just(b" ")), max_size=most).map(b"".join)


def at_borders(tokens: Mapping[bytes, int]) -> SearchStrategy[bytes]:
    """Words and white space changed at up to four borders of their tokens (the corpus `borders`)."""
    from hypothesis import strategies as st

    change = st.tuples(st.integers(0, len(CHANGES) - 1), st.integers(0, WINDOW), st.integers(0, 999))

    def made(data: bytes, changes: list[tuple[int, int, int]]) -> bytes:
        parts = cut(data, tokens)
        for kind, place, seed in changes:
            if len(parts) > 1:
                CHANGES[kind](parts, 1 + place % (len(parts) - 1), Draws("strategies", seed, 0))
        return b"".join(parts)

    return st.builds(made, well_formed(12), st.lists(change, max_size=MOST_CHANGES))


def near_added(texts: Sequence[str], most: int = 8) -> SearchStrategy[bytes]:
    """Up to `most` of: an added token, its beginning, blanks, a class."""
    from hypothesis import strategies as st

    begun = [text[:k] for text in texts for k in range(1, len(text) + 1)]
    part = st.one_of(
        st.sampled_from([text.encode() for text in texts]), st.sampled_from(_classes()),
        st.sampled_from([blank.encode() for blank in BLANKS]), st.sampled_from([each.encode() for each in begun]),
    )
    return st.lists(part, max_size=most).map(b"".join)


def _classes() -> list[bytes]:
    return [data for _, data in REPRESENTATIVES]


def documents() -> SearchStrategy[bytes]:
    """Any of the above that needs no vocabulary."""
    from hypothesis import strategies as st

    return st.one_of(
        class_tuples(), near_utf8(), well_formed(), arbitrary_bytes(), mixed(), repeated(), around(), versions(),
        long_runs(300), near_collisions(),
    )
