"""Each adapter of a package: known ids, its declared byte policy, special tokens, and what it cannot load."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from tokassay.engines import frames
from tokassay.engines.client import Host, Unsupported
from tokassay.engines.roster import load_roster

PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# tiktoken's published examples.
HELLO, END_AS_TEXT = [31373, 995], [27, 91, 437, 1659, 5239, 91, 29]
END = b"<|endoftext|>"
DOCUMENTS = [b"hello world", b"", END, b"\xff", "h\u00e9 \U0001f600".encode()]


def contract(**changes: Any) -> dict[str, Any]:
    return {
        "algorithm": "bpe-ranks",
        "normalizer": "none",
        "pretokenizer": [PATTERN],
        "specials": "off",
        "special_tokens": [["<|endoftext|>", 50256]],
        "added_tokens": [],
        "add_prefix_space": False,
        "byte_fallback": False,
        **changes,
    }


@contextmanager
def opened(name: str, files: Mapping[str, str], threads: int = 1, **changes: Any) -> Iterator[Host]:
    with Host(load_roster()[name], threads=threads) as host:
        host.load(contract(**changes), files)
        yield host


def ids(host: Host, documents: list[bytes], op: str = "encode", threads: int = 1) -> tuple[list[int], list[list[int]]]:
    output = host.encode(documents, op, threads=threads).output
    assert isinstance(output, frames.Ids)
    return output.status.tolist(), output.rows()


@pytest.mark.parametrize("name", ["tiktoken", "tokenizers", "sentencepiece"])
def test_the_version_is_the_pinned_one(name: str) -> None:
    spec = load_roster()[name]
    with Host(spec) as host:
        hello = host.hello()
    assert (hello["engine"], hello["version"]) == (name, spec.pinned)
    assert tuple(hello["operations"]) == spec.operations


def test_tiktoken_takes_all_bytes_alone_and_text_in_batches(gpt2: dict[str, str]) -> None:
    with opened("tiktoken", gpt2, threads=2) as host:
        status, rows = ids(host, DOCUMENTS)
        assert status == [0] * 5
        assert rows[:4] == [HELLO, [], END_AS_TEXT, [187]]
        for threads in (1, 2):
            assert ids(host, DOCUMENTS, "encode_batch", threads) == ([0, 0, 0, 1, 0], [*rows[:3], [], rows[4]])
        texts = host.encode(DOCUMENTS, "decode").output
        assert isinstance(texts, frames.Texts) and texts.texts == DOCUMENTS


def test_tiktoken_with_special_tokens_has_no_entry_for_ill_formed_bytes(gpt2: dict[str, str]) -> None:
    with opened("tiktoken", gpt2, specials="on") as host:
        for op in ("encode", "encode_batch"):
            status, rows = ids(host, [END, b"a" + END + b"\xff", b"hello world" + END], op)
            assert (status, rows) == ([0, 1, 0], [[50256], [], [*HELLO, 50256]])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"algorithm": "bpe-pairs"}, "ranks only"),
        ({"normalizer": "nfc"}, "no normalizer"),
        ({"add_prefix_space": True}, "prefix space"),
        ({"pretokenizer": ["a", "b"]}, "exactly one pattern"),
        ({"added_tokens": [["x", 1, ["lstrip"]]]}, "no added tokens"),
    ],
)
def test_tiktoken_says_what_it_cannot_honour(gpt2: dict[str, str], changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unsupported, match=reason), opened("tiktoken", gpt2, **changes):
        pass


def test_tokenizers_rejects_ill_formed_bytes(gpt2: dict[str, str]) -> None:
    with opened("tokenizers", gpt2, threads=2) as host:
        status, rows = ids(host, DOCUMENTS)
        assert status == [0, 0, 0, 1, 0]
        assert rows[:4] == [HELLO, [], END_AS_TEXT, []]
        for threads in (1, 2):
            assert ids(host, DOCUMENTS, "encode_batch", threads) == (status, rows)
        texts = host.encode(DOCUMENTS, "decode").output
        assert isinstance(texts, frames.Texts)
        assert texts.texts == [*DOCUMENTS[:3], b"", DOCUMENTS[4]]


def test_tokenizers_offsets_are_of_characters(gpt2: dict[str, str]) -> None:
    with opened("tokenizers", gpt2) as host:
        assert host.hello()["offset_unit"] == "chars"
        spans = host.encode(["h\u00e9llo \U0001f600".encode()], "offsets").output
        rows = ids(host, ["h\u00e9llo \U0001f600".encode()])[1]
    assert isinstance(spans, frames.Spans)
    # h, e-acute, llo; then a space and an emoji that two tokens share.
    assert spans.rows() == [[(0, 1), (1, 2), (2, 5), (5, 7), (6, 7)]]
    assert len(rows[0]) == 5


def test_tokenizers_special_tokens_come_with_the_file(gpt2_specials: dict[str, str]) -> None:
    with opened("tokenizers", gpt2_specials, specials="on") as host:
        assert ids(host, [b"hello world" + END]) == ([0], [[*HELLO, 50256]])
        texts = host.encode([b"hello world" + END], "decode").output
        assert isinstance(texts, frames.Texts) and texts.texts == [b"hello world" + END]
    with opened("tokenizers", gpt2_specials, specials="off") as host:
        assert ids(host, [END]) == ([0], [END_AS_TEXT])


def test_tokenizers_needs_its_file_and_its_threads(gpt2: dict[str, str]) -> None:
    with pytest.raises(Unsupported, match=r"needs a tokenizer\.json"), opened("tokenizers", {}):
        pass
    with opened("tokenizers", {"source": gpt2["tokenizer.json"]}, threads=2) as host:
        assert ids(host, [b"hello world"]) == ([0], [HELLO])
        answer = host.encode([b"hello world"], "encode_batch", threads=3)
        assert [error[1] for error in answer.errors] == ["Unsupported"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small SentencePiece model with byte fallback, trained on a few sentences."""
    folder = tmp_path_factory.mktemp("sp")
    text = folder / "text.txt"
    text.write_text("\n".join(f"hello world number {n} and some more words" for n in range(200)), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(folder / "small"),
        vocab_size=320,
        model_type="bpe",
        byte_fallback=True,
        normalization_rule_name="identity",  # the default one maps a real U+FFFD to a space, and only a real one
        minloglevel=2,
    )
    return str(folder / "small.model")


def test_sentencepiece_survives_every_byte_and_replaces_each(model: str) -> None:
    replacement = "\ufffd".encode()
    documents = [b"\xff", b"a\xff\xfeb", bytes(range(128, 256)), b"hello world"]
    replaced = [replacement, b"a" + replacement * 2 + b"b", replacement * 128, b"hello world"]
    with opened("sentencepiece", {"source": model}, algorithm="opaque") as host:
        status, rows = ids(host, documents)
        # 128 bytes 80..FF hold no well-formed sequence: each is one U+FFFD.
        assert (status, rows) == ([0] * 4, ids(host, replaced)[1])
        assert ids(host, documents, "encode_batch", 2) == (status, rows)
    assert rows[3] == sentencepiece.SentencePieceProcessor(model_file=model).encode("hello world")


def test_sentencepiece_reads_only_its_own_models(gpt2: dict[str, str], model: str) -> None:
    for files, algorithm in (({**gpt2, "source": gpt2["tokenizer.json"]}, "opaque"), ({"source": model}, "bpe-ranks")):
        with pytest.raises(Unsupported, match="only its own"), opened("sentencepiece", files, algorithm=algorithm):
            pass


def test_adapters_are_short() -> None:
    """10 to 40 lines is what an adapter should need; ours hold reasons for refusing and what a bench times, too. That
    of our own engine has its options besides, and one that is two rows of the roster two loaders. What is made of an
    engine's own account is apart, at the end."""
    engines = load_roster().values()
    rows = Counter(spec.adapter for spec in engines)
    for spec in engines:
        if spec.name == "dat-bpe" or spec.unavailable:
            continue
        serves, _, _ = Path(spec.adapter).read_text(encoding="utf-8").partition("    def trace(")
        assert len(serves.splitlines()) <= (100 if rows[spec.adapter] == 1 else 115), spec.name
