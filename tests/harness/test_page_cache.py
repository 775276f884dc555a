"""Files out of the page cache: they are, or it is said that they are not."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest
from tokassay.engines.client import Unsupported
from tokassay.harness.page_cache import cached, drop


def test_dropped_or_told(tmp_path: Path) -> None:
    """Where the file system has no page cache of its own (memory, some overlays), it is said; a figure that is called
    cold and is not is never shown."""
    path, beside, other = tmp_path / "vocab", tmp_path / "vocab.made-of-it", tmp_path / "other"
    for each in (path, beside, other):
        each.write_bytes(os.urandom(50_000))
    try:
        drop([str(path)])
    except Unsupported as error:
        assert "page cache" in str(error)
        return
    assert (cached(path), cached(beside), cached(other)) == (False, False, True)
    beside.read_bytes()
    assert cached(beside)


def test_a_file_that_stays_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "vocab"
    path.write_bytes(b"x" * 50_000)
    monkeypatch.setattr(os, "posix_fadvise", lambda *_: None)
    with pytest.raises(Unsupported, match="vocab stays in the page cache"):
        drop([str(path)])


def test_a_platform_that_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "vocab"
    path.write_bytes(b"x")
    with monkeypatch.context() as patch:
        patch.setattr(ctypes, "CDLL", lambda _: object())
        with pytest.raises(Unsupported, match="does not say"):
            drop([str(path)])
    monkeypatch.delattr(os, "posix_fadvise")
    with pytest.raises(Unsupported, match="does not drop"):
        drop([str(path)])


def test_an_empty_file_is_in_no_cache(tmp_path: Path) -> None:
    path = tmp_path / "vocab"
    path.write_bytes(b"")
    assert not cached(path)
