"""Texts of a bench: disjoint halves, cuts at characters' borders, and what is said where a source is not at hand."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from tokassay.engines.frames import documents_in
from tokassay.harness.errors import InputError
from tokassay.harness.texts import Half, borders, kinds, load_text, missing, split


def test_cuts_stand_at_characters_and_lose_nothing() -> None:
    data = ("aé漢😀" * 700).encode()
    for size in (4, 5, 50, 4096):
        cuts = borders(data, size)
        parts = [data[a:b] for a, b in pairwise(cuts)]
        assert b"".join(parts) == data
        assert all(0 < len(part) <= size for part in parts)
        assert "".join(part.decode() for part in parts) == data.decode()


def test_bytes_that_are_no_text_are_cut_too() -> None:
    assert borders(b"\x80" * 10, 4)[-1] == 10
    assert borders(b"", 4) == [0]


def test_bodies_hold_one_document_or_the_cuts() -> None:
    half = Half(b"x" * 10_000, 4096)
    assert documents_in(half.body(False)) == half.documents(False) == 1
    assert documents_in(half.body(True)) == half.documents(True) == 3


def test_halves_take_turns_and_are_thinned_evenly() -> None:
    groups = [bytes([65 + i % 26]) * 100 for i in range(40)]
    a, b = split(groups, 2_000)
    assert (a, b) == (b"".join(groups[0::2]), b"".join(groups[1::2]))
    a, b = split(groups, 500)
    assert len(a) == len(b) == 500
    # Five of the twenty groups of each half, at equal distances.
    assert a == b"".join(groups[i] for i in (6, 14, 22, 30, 38))


def test_a_half_ends_at_a_character() -> None:
    a, _ = split(["é".encode() * 50] * 2, 97)
    assert a.decode() == "é" * 48
    a, _ = split(["é".encode() * 50] * 2, 100)
    assert a.decode() == "é" * 50


def test_a_text_smaller_than_a_group_is_taken_from_all_over() -> None:
    """Groups are of 64 kB; a text of 60 bytes is no empty one."""
    lines = b"".join(b"%05d\n" % number for number in range(20_000))
    a, b = split([lines[:60_000], lines[60_000:]], 96)
    assert (len(a), len(b)) == (96, 96)
    assert a.split() == [b"%05d" % (1250 * place + line + (place > 0)) for place in range(8) for line in range(2)]
    a, _ = split(["é".encode() * 5000] * 2, 80)
    assert a.decode() == "é" * 40


def test_crafted_kinds_need_nothing_and_differ_in_their_halves() -> None:
    text = load_text("unique", 9_000)
    assert not set(text.a.data.split()) & set(text.b.data.split())
    assert text.to_json()["a"] == {"bytes": 9_000, "documents": 3, "sha256": text.a.sha256}
    assert missing(["unique", "letters"]) == []


def test_what_is_not_in_the_cache_is_named_with_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKASSAY_CACHE", str(tmp_path))
    with pytest.raises(InputError) as caught:
        load_text("cjk", 1000)
    assert caught.value.remedy == (
        "run: tokassay corpora fetch manpages-ja manpages-zh libreoffice-ja libreoffice-zh-cn"
    )
    with pytest.raises(InputError, match="no kind of text"):
        load_text("klingon", 1000)


def test_every_kind_has_a_title_and_a_source() -> None:
    for name, table in kinds().items():
        assert table["title"], name
        assert ("crafted" in table) != ("sources" in table), name
