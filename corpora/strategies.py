"""Hypothesis strategies for documents, for this project's property tests and anybody's.

Hypothesis is imported when a strategy is asked for, so that importing this module costs nothing.

    from hypothesis import given
    from tokassay.corpora.strategies import documents

    @given(documents())
    def test_round_trip(data: bytes) -> None: ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokassay.corpora.fuzz import SPACES, UNITS, WORDS
from tokassay.corpora.tuples import REPRESENTATIVES

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

    return st.lists(st.sampled_from([data for _, data in REPRESENTATIVES]), max_size=most).map(b"".join)


def mixed(most: int = 12) -> SearchStrategy[bytes]:
    """Valid text and arbitrary bytes in turn."""
    from hypothesis import strategies as st

    part = st.one_of(arbitrary_bytes(24), well_formed(12), near_utf8(8))
    return st.lists(part, max_size=most).map(b"".join)


def repeated() -> SearchStrategy[bytes]:
    """A short unit many times: long pieces, ties between equal merges."""
    from hypothesis import strategies as st

    return st.builds(lambda unit, n: unit * n, class_tuples(3), st.integers(0, 200))


def documents() -> SearchStrategy[bytes]:
    """Any of the above."""
    from hypothesis import strategies as st

    return st.one_of(class_tuples(), near_utf8(), well_formed(), arbitrary_bytes(), mixed(), repeated())
