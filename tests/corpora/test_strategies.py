"""Hypothesis strategies: each gives what it says."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from tokassay.corpora import strategies
from tokassay.corpora.tuples import REPRESENTATIVES
from tokassay.corpora.versions import runs

RANKS = {bytes([byte]): byte for byte in range(256)} | {b"he": 256, b"ll": 257, b"hell": 258, b" w": 259, b"or": 260}
TEXTS = ("<|endoftext|>", "[PAD]")


@given(strategies.well_formed())
def test_well_formed_text_decodes(data: bytes) -> None:
    assert data.decode().encode() == data


@given(strategies.documents())
def test_documents_are_bytes(data: bytes) -> None:
    assert isinstance(data, bytes)


def test_near_utf8_reaches_broken_sequences_and_shrinks_them() -> None:
    def broken(data: bytes) -> bool:
        return b"\xe2\x82" in data and b"\xe2\x82\xac" not in data

    assert find(strategies.near_utf8(), broken) == b"\xe2\x82"


STRATEGIES = {
    "around": strategies.around(), "versions": strategies.versions(), "long_runs": strategies.long_runs(5000),
    "near_collisions": strategies.near_collisions(), "joined_tokens": strategies.joined_tokens(RANKS),
    "at_borders": strategies.at_borders(RANKS), "near_added": strategies.near_added(TEXTS),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_each_gives_bytes(name: str) -> None:
    @settings(max_examples=30, suppress_health_check=list(HealthCheck), deadline=None)
    @given(STRATEGIES[name])
    def held(data: bytes) -> None:
        assert isinstance(data, bytes)

    held()


@given(strategies.versions(1))
def test_versions_hold_a_code_point_that_is_not_alike_in_all(data: bytes) -> None:
    assert any(first <= ord(character) <= last for character in data.decode() for first, last, _ in runs())


@given(strategies.joined_tokens(RANKS))
def test_joined_tokens_are_tokens_and_spaces(data: bytes) -> None:
    assert set(data) <= set(b"".join(RANKS))


def test_what_they_find_is_shrunk_to_the_fewest_parts() -> None:
    first = REPRESENTATIVES[0][1]
    assert find(strategies.long_runs(), lambda data: data.count(first) >= 4096).count(first) <= 4097
    assert find(strategies.near_added(TEXTS), lambda data: b"[PAD]" in data) == b"[PAD]"
    assert find(strategies.around(), lambda data: b"'ll" in data.lower()).lower() == b"'ll"


@given(st.data())
def test_a_user_may_draw_from_them(data: st.DataObject) -> None:
    assert isinstance(data.draw(strategies.near_collisions()), bytes)


def test_importing_the_strategies_does_not_import_hypothesis() -> None:
    code = "import sys, tokassay.corpora.strategies as s; print('hypothesis' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
