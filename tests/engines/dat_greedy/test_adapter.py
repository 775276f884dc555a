"""The adapter: what it honours of a contract, and what it refuses by name."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tokassay.engines.adapters import dat_greedy as module
from tokassay.engines.dat_greedy import Greedy


class Unsupported(Exception):
    """What a host puts into an adapter's module."""


CONTRACT: dict[str, Any] = {
    "algorithm": "greedy-longest", "normalizer": "none", "pretokenizer": [], "specials": "off", "special_tokens": [],
    "added_tokens": [], "add_prefix_space": False, "byte_fallback": False, "unicode": "16.0", "byte_policy": "raw",
}
BYTES = {bytes([byte]): byte for byte in range(256)}


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., module.Adapter]:
    monkeypatch.setattr(module, "Unsupported", Unsupported, raising=False)
    path = tmp_path / "vocab.dat"

    def make(tokens: dict[bytes, int] | None = None, **changes: Any) -> module.Adapter:
        Greedy.from_tokens(BYTES | {b"ab": 256} if tokens is None else tokens).save(path)
        adapter = module.Adapter()
        adapter.load(CONTRACT | changes, {"dat": str(path)}, 1, {})
        return adapter

    return make


def test_operations(load: Callable[..., module.Adapter]) -> None:
    adapter = load()
    document = adapter.prepare(b"ab\xffa")
    ids = adapter.encode(document)
    assert ids.tolist() == [256, 255, 97]
    assert adapter.decode(ids) == document
    assert adapter.offsets(document) == [(0, 2), (2, 3), (3, 4)]
    values, counts = adapter.encode_batch([document, b"", document], 2)
    assert (values.tolist(), counts.tolist(), str(counts.dtype)) == ([256, 255, 97] * 2, [3, 0, 3], "uint32")
    assert all(hasattr(adapter, operation) for operation in adapter.operations)


def test_the_unknown_id_is_crayon_s(load: Callable[..., module.Adapter]) -> None:
    assert load({b"a": 0, b"b": 1}, unknown=1).encode(b"a?b").tolist() == [0, 1, 1]
    with pytest.raises(Unsupported, match="unknown 0"):
        load({b"a": 0, b"b": 1}, unknown=0)
    with pytest.raises(Unsupported, match="a byte has no token"):
        load({b"a": 0})


@pytest.mark.parametrize(
    "changes",
    [
        {"algorithm": "bpe-ranks"}, {"normalizer": "nfc"}, {"byte_policy": "replace"}, {"add_prefix_space": True},
        {"byte_fallback": True}, {"pretokenizer": ["."]}, {"specials": "on"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_it_refuses_by_name(load: Callable[..., module.Adapter], changes: dict[str, Any]) -> None:
    with pytest.raises(Unsupported, match=next(iter(changes))):
        load(**changes)


def test_no_file(load: Callable[..., module.Adapter]) -> None:
    with pytest.raises(Unsupported, match="31 bits"):
        module.Adapter().load(CONTRACT, {"tiktoken": "ranks"}, 1, {})


def test_every_entry_of_a_bench_gives_the_same_ids(load: Callable[..., module.Adapter]) -> None:
    adapter = load()
    documents = [b"abcab", b"", b"\xff\x00", b"ab" * 300]
    right = [Greedy.from_tokens(BYTES | {b"ab": 256}).encode(document).tolist() for document in documents]
    assert adapter.entries == ("whole", "documents_list", "batch_flat", "batch_list")
    assert [adapter.whole(document).tolist() for document in documents] == right
    assert [adapter.documents_list(document) for document in documents] == right
    assert adapter.batch_list(documents, 1) == adapter.batch_list(documents, 2) == right
    values, offsets = adapter.batch_flat(documents, 2)
    assert [values[a:b].tolist() for a, b in pairwise(offsets.tolist())] == right
