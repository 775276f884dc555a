"""Table 3-7, against the interpreter's decoder and by the standard's own examples."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokassay.oracles import utf8

BORDERS = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF]
BORDERS += [0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF]

# Pieces that make ill-formed sequences of every kind likely.
NASTY = st.lists(
    st.one_of(
        st.sampled_from([bytes([each]) for each in BORDERS]),
        st.text(max_size=3).map(lambda text: text.encode("utf-8", "ignore")),
        st.binary(max_size=4),
    ),
    max_size=12,
).map(b"".join)


def python_width(data: bytes, offset: int) -> int:
    """Width of what the interpreter decodes at the offset, 0 if nothing."""
    for width in range(1, 5):
        try:
            if len(data[offset : offset + width].decode("utf-8")) == 1:
                return min(width, len(data) - offset)
        except UnicodeDecodeError:
            continue
    return 0


def test_all_border_quadruples_decode_as_the_interpreter_does() -> None:
    for quadruple in product(BORDERS, repeat=3):
        for last in (0x00, 0x7F, 0x80, 0xBF, 0xC0):
            data = bytes([*quadruple, last])
            assert utf8.sequence_width(data, 0) == python_width(data, 0), data.hex()


@given(NASTY)
def test_runs_cover_the_document_and_alternate(data: bytes) -> None:
    found = list(utf8.runs(data))
    assert [start for start, _, _ in found] == [0, *(end for _, end, _ in found)][: len(found)]
    assert (found[-1][1] if found else 0) == len(data)
    assert all(one[2] != other[2] for one, other in pairwise(found))
    for start, end, well_formed in found:
        if well_formed:
            data[start:end].decode("utf-8")
        else:
            assert all(utf8.sequence_width(data, at) == 0 for at in range(start, end))


@given(NASTY)
def test_runs_are_what_reading_step_by_step_gives(data: bytes) -> None:
    marks = []
    at = 0
    while at < len(data):
        width = utf8.sequence_width(data, at)
        marks += [width > 0] * max(1, width)
        at += max(1, width)
    assert [mark for start, end, mark in utf8.runs(data) for _ in range(start, end)] == marks


@given(NASTY)
def test_first_ill_formed_is_where_the_interpreter_stops(data: bytes) -> None:
    try:
        data.decode("utf-8")
        expected = None
    except UnicodeDecodeError as error:
        expected = error.start
    assert utf8.first_ill_formed(data) == expected


@pytest.mark.parametrize(
    ("data", "widths"),
    [
        # Unicode 3.9, Tables 3-8 to 3-11: each number is a maximal subpart, that is one U+FFFD.
        ("c0afe080bff08182", [1, 1, 1, 1, 1, 1, 1, 1]),
        ("eda080edbfbfedaf", [1, 1, 1, 1, 1, 1, 1, 1]),
        ("f4919293ff", [1, 1, 1, 1, 1]),
        ("e180e2f09192f1bf", [2, 1, 3, 2]),
    ],
)
def test_maximal_subparts_of_the_standards_tables(data: str, widths: list[int]) -> None:
    raw = bytes.fromhex(data)
    found = []
    at = 0
    while at < len(raw):
        assert utf8.sequence_width(raw, at) == 0
        found.append(utf8.maximal_subpart(raw, at))
        at += found[-1]
    assert found == widths


def test_proposed_width_is_only_a_proposal() -> None:
    assert [utf8.proposed_width(lead) for lead in (0x41, 0x80, 0xC0, 0xC2, 0xE0, 0xF4, 0xF5)] == [1, 1, 1, 2, 3, 4, 1]
    assert utf8.sequence_width(b"\xe0@yp", 0) == 0


def test_a_long_run_is_read_without_piling_up() -> None:
    data = "é春😀".encode() * 300_000 + b"\xff"
    assert list(utf8.runs(data)) == [(0, len(data) - 1, True), (len(data) - 1, len(data), False)]
