"""Hypothesis strategies: each gives what it says."""

from __future__ import annotations

import subprocess
import sys

from hypothesis import find, given
from tokassay.corpora import strategies


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


def test_importing_the_strategies_does_not_import_hypothesis() -> None:
    code = "import sys, tokassay.corpora.strategies as s; print('hypothesis' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
