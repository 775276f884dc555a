"""The adapter: what it honours of a contract, and what it refuses by name."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokassay.engines.adapters import dat_bpe as module


class Unsupported(Exception):
    """What a host puts into an adapter's module."""


PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CONTRACT: dict[str, Any] = {
    "algorithm": "bpe-ranks", "normalizer": "none", "pretokenizer": [PATTERN], "specials": "off",
    "special_tokens": [["<|endoftext|>", 50256]], "added_tokens": [], "ignore_merges": False,
    "add_prefix_space": False, "byte_fallback": False, "unicode": "16.0", "byte_policy": "byte-alphabet",
}


@pytest.fixture
def load(
    tmp_path: Path, ranks_of: Callable[[str], dict[bytes, int]], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., module.Adapter]:
    monkeypatch.setattr(module, "Unsupported", Unsupported, raising=False)
    path = tmp_path / "vocab.tiktoken"
    path.write_bytes(b"".join(b64encode(token) + b" %d\n" % rank for token, rank in ranks_of("gpt2").items()))

    def make(**changes: Any) -> module.Adapter:
        adapter = module.Adapter()
        adapter.load(CONTRACT | changes, {"tiktoken": str(path)}, 1, {})
        return adapter

    return make


def test_operations(load: Callable[..., module.Adapter]) -> None:
    adapter = load()
    document = adapter.prepare(b"hello world\xff")
    ids = adapter.encode(document)
    assert ids.tolist() == [31373, 995, 187]
    assert adapter.decode(ids) == document
    assert adapter.offsets(document) == [(0, 5), (5, 11), (11, 12)]
    values, counts = adapter.encode_batch([document, b"", document], 2)
    assert (values.tolist(), counts.tolist(), str(counts.dtype)) == ([31373, 995, 187] * 2, [3, 0, 3], "uint32")
    assert adapter.trace(document)[-1]["id"] == 187
    assert set(adapter.operations) == {"encode", "encode_batch", "decode", "offsets", "encode_spans"}
    assert all(hasattr(adapter, operation) for operation in adapter.operations)


def test_specials(load: Callable[..., module.Adapter]) -> None:
    assert load().encode(b"<|endoftext|>").tolist() == [27, 91, 437, 1659, 5239, 91, 29]
    assert load(specials="on").encode(b"<|endoftext|>").tolist() == [50256]
    assert load(specials="on", special_tokens=[]).encode(b"ab").tolist() == [397]


def test_stages_before_the_pretokenizer(load: Callable[..., module.Adapter]) -> None:
    """Ids of GPT-2: `é` is 2634, ` hello` 23748, `hello` 31373."""
    assert load(normalizer="nfc").encode("e\u0301".encode()).tolist() == [2634]
    assert load(add_prefix_space=True).encode(b"hello").tolist() == [23748]
    flagged = load(specials="on", added_tokens=[["<M>", 60_000, ["lstrip"]]])
    assert flagged.encode(b"hello  <M>hello").tolist() == [31373, 60_000, 31373]
    assert flagged.offsets(b"hello  <M>hello") == [(0, 5), (5, 10), (10, 15)]
    assert flagged.decode([60_000]) == b"<M>"
    assert load(added_tokens=[["hello", 60_000, ["lstrip"]]]).encode(b"hello").tolist() == [31373]


@pytest.mark.parametrize(
    "changes",
    [
        {"algorithm": "bpe-pairs"}, {"normalizer": "nfkc"}, {"byte_policy": "replace"}, {"byte_fallback": True},
        {"added_tokens": [["<M>", 50257, ["rstrip"]], [" x", 50258, []]]},
        {"pretokenizer": [r"\w+"]}, {"pretokenizer": [PATTERN, r"\p{Han}"]}, {"unicode": "9.0"},
    ],
    ids=lambda changes: "-".join(f"{key}" for key in changes),
)
def test_what_it_refuses_by_name(load: Callable[..., module.Adapter], changes: dict[str, Any]) -> None:
    words = {
        "pretokenizer": "pretokenizer: .*pattern construct", "unicode": "Unicode", "added_tokens": "begins with one",
    }
    key = next(iter(changes))
    with pytest.raises(Unsupported, match=words.get(key, key)):
        load(**changes)


def test_it_says_where_the_pretokenizer_is_interpreted(load: Callable[..., module.Adapter]) -> None:
    """What no machine is written for has a note and the same operations; the published pattern has none."""
    assert load().notes == ()
    two = load(pretokenizer=[r"\p{N}{1,3}", PATTERN])
    assert "interpreted" in two.notes[0]
    # "12345" goes by threes before GPT-2's pattern sees it; 10163 is "123", 2231 is "45" in GPT-2's vocabulary.
    assert two.encode(b"12345").tolist() == [10163, 2231]
    assert [each["rule"] for each in two.trace(b"a1") if each["stage"] == "pretokenize"] == [r" ?\p{L}+", r" ?\p{N}+"]
    none = load(pretokenizer=[])
    assert none.encode(b"hello world").tolist() == [31373, 995]
    assert [each["rule"] for each in none.trace(b"a 1") if each["stage"] == "pretokenize"] == ["whole"]
