"""The encoder against itself: level, threads, cache size, each optimization, parts of long documents, kinds of input
and entry points give one digest. TOKASSAY_DIFFERENCES=1 (nox -s differences) takes more of each."""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy
import pytest
from tokassay.engines.dat_bpe import Encoder, _core

LONG = os.environ.get("TOKASSAY_DIFFERENCES", "") == "1"
LEVELS = _core.LEVELS[: _core.best_level() + 1]
PATTERNS = ["gpt2", "cl100k", "cl100k-trailing", "qwen2", "qwen3.5", "o200k", "tekken", "deepseek"]
THREADS = range(1, 33)
BITS = (0, *range(8, 21))


@cache
def sample() -> bytes:
    folder = files("tokassay.fixtures") / "sample"
    names = ("shakespeare", "udhr", "python", "native", "naughty-strings", "reina-valera")
    return b"\n".join((folder / f"{name}.txt").read_bytes() for name in names)


@cache
def documents() -> list[bytes]:
    """Stretches of the sample, cut anywhere; mixtures; and what has been got wrong before."""
    chance, text = random.Random(5), sample()
    kinds = [
        b"\xc3\xa9", b"\xc3\xa9\x80", b"\x80", b"\xff", b"\xff" * 15, b"\xff" * 16, b"ab", b" ", b"'s", b"\n", b"1",
        b"\xe2\x80", b"<|endoftext|>", *(part.encode() for part in ("漢", " \u0434", "ǅ\u0301", "\u00a0\u3000")),
    ]
    made = [b"".join(chance.choices(kinds, k=chance.randint(1, 60))) for _ in range(800)]
    for _ in range(400):
        start = chance.randrange(len(text))
        made.append(text[start : start + chance.choice((1, 7, 15, 16, 31, 32, 47, 48, 49, 63, 64, 65, 900))])
    # A text that ends at every place of a block, blanks over its border, pieces of every size where something changes.
    made += [text[1000 : 1000 + size] for size in range(200)]
    made += [b"x" * before + blank * count + b"y" for blank in (b" ", b"\n", b" \n", b"\t")
             for before in (0, 31, 50, 62, 63, 64) for count in (1, 2, 3, 63, 64, 65, 130)]
    made += [letter * size + tail for letter in (b"a", b"\xff", "д".encode(), b"\x80")
             for size in (14, 15, 16, 23, 24, 30, 31, 32, 33, 47, 48, 49, 95) for tail in (b"", b" b", b"\xc3")]
    # Long pieces, with places to cut and without.
    made += [bytes(chance.choices(b"abc", k=70_000)), "漢字かな交じり".encode() * 5000, b" " * 70_000, b"\xff" * 70_000,
             b"abcdefgh" * 8192 + "漢".encode() * 3, ("é" * 33_000).encode()]
    return made


def digest(values: Any, offsets: Any) -> str:
    return hashlib.sha256(values.astype("<u4").tobytes() + offsets.astype("<u8").tobytes()).hexdigest()


@cache
def saved(folder: str, vocabulary: str, pattern: str) -> Path:
    path = Path(folder) / f"{vocabulary}-{pattern}"
    if not path.exists():
        specials = {"<|endoftext|>": 300_000}
        source = Encoder.load(vocabulary)
        ranks = {source.token_bytes(i): i for i in range(source.n_vocab) if known(source, i)}
        Encoder.from_ranks(ranks, pattern=pattern, specials=specials).save(path)
    return path


def known(source: Encoder, number: int) -> bool:
    return number not in source.specials.values() and source._tables.token_bytes(number) is not None


@pytest.fixture(scope="module")
def open_with(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Encoder]:
    folder = str(tmp_path_factory.mktemp("profiles"))
    return lambda vocabulary, pattern, **settings: Encoder.open(saved(folder, vocabulary, pattern), **settings)


def plain(open_with: Callable[..., Encoder], vocabulary: str, pattern: str) -> Encoder:
    return open_with(vocabulary, pattern, level="scalar", cache_bits=0, without=list(_core.USES))


@pytest.mark.parametrize("specials", [False, True])
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("vocabulary", ["gpt2", "cl100k_base", "o200k_base"] if LONG else ["cl100k_base"])
def test_levels_and_optimizations(
    open_with: Callable[..., Encoder], vocabulary: str, pattern: str, specials: bool
) -> None:
    """A fresh encoder and the same again, whose caches are full, for each level with all, and without each, in turn."""
    expected = digest(*plain(open_with, vocabulary, pattern).encode_batch(documents(), specials=specials))
    for level in LEVELS:
        for without in ([], *([use] for use in _core.USES), ["cache", "wide"], list(_core.USES)):
            made = open_with(vocabulary, pattern, level=level, without=without)
            for _ in range(2):
                assert digest(*made.encode_batch(documents(), specials=specials)) == expected, (level, without)


@pytest.mark.parametrize("vocabulary", ["gpt2", "o200k_base"])
def test_cache_sizes_and_threads(open_with: Callable[..., Encoder], vocabulary: str) -> None:
    pattern = vocabulary.removesuffix("_base")
    expected = digest(*plain(open_with, vocabulary, pattern).encode_batch(documents()))
    for bits in BITS:
        made = open_with(vocabulary, pattern, cache_bits=bits)
        for _ in range(2):
            assert digest(*made.encode_batch(documents())) == expected, bits
    for threads in THREADS:
        made = open_with(vocabulary, pattern, cache_bits=10)
        assert digest(*made.encode_batch(documents(), threads=threads)) == expected, threads


@pytest.mark.parametrize("specials", [False, True])
@pytest.mark.parametrize("pattern", PATTERNS if LONG else ["gpt2", "cl100k", "o200k", "deepseek"])
def test_parts_of_long_documents(open_with: Callable[..., Encoder], pattern: str, specials: bool) -> None:
    """Over 4 MB with several threads a document is cut into parts; beside it stand short ones, and one that has no
    place for a cut."""
    vocabulary = "cl100k_base"
    text = (sample() + b" <|endoftext|> and<|endoftext|> 's ") * (4_700_000 // len(sample()) + 1)
    batch = [b"short", text, b"", text[: 1 << 21], b"x" * 4_300_000, "漢字".encode() * 10, text[7 : (1 << 22) + 9]]
    made = open_with(vocabulary, pattern)
    expected = digest(*made.encode_batch(batch, specials=specials))
    alone = numpy.concatenate([made.encode(each, specials=specials) for each in batch])
    assert hashlib.sha256(alone.tobytes()).hexdigest() == hashlib.sha256(
        made.encode_batch(batch, threads=2, specials=specials)[0].tobytes()).hexdigest()
    for threads in (2, 5, 32):
        for level in LEVELS if LONG else LEVELS[-1:]:
            other = open_with(vocabulary, pattern, level=level)
            assert digest(*other.encode_batch(batch, threads=threads, specials=specials)) == expected, (threads, level)


def test_kinds_of_input_and_entry_points(open_with: Callable[..., Encoder]) -> None:
    made = open_with("o200k_base", "o200k")
    texts = documents()
    values, offsets = made.encode_batch(texts)
    expected = [values[a:b].tolist() for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]
    assert made.encode_batch_lists(texts, threads=3) == expected
    joined = b"".join(texts)
    cuts = numpy.cumsum([0, *map(len, texts)], dtype=numpy.uint64)
    for threads in (1, 4):
        again = made.encode_buffer(joined, cuts, threads=threads)
        assert digest(*again) == digest(values, offsets)
    kinds: list[Callable[[bytes], Any]] = [
        bytes, bytearray, memoryview, lambda text: memoryview(b"x" + text + b"y")[1:-1],
        lambda text: numpy.frombuffer(text, numpy.uint8), lambda text: numpy.array(list(text), numpy.uint8),
    ]
    for text, ids in zip(texts, expected, strict=True):
        few = text[:4000]
        for kind in kinds if len(text) < 5000 else kinds[:3]:
            document = kind(text)
            assert made.encode(document).tolist() == ids
        assert made.encode_list(text) == ids
        out = numpy.full(len(ids) + 3, 7, numpy.uint32)
        assert made.encode_into(text, out) == len(ids)
        assert out.tolist() == [*ids, 7, 7, 7]
        assert made.encode_spans(text)[0].tolist() == ids
        try:
            string = few.decode()
        except UnicodeDecodeError:
            continue
        assert made.encode(string).tolist() == made.encode(few).tolist()


def test_a_part_of_a_cut_piece_is_not_taken_whole() -> None:
    """"abcd" is a token that merging does not reach. As a piece of its own it may be taken whole; where it stands
    before a character that no token joins to it, it may not (found by fuzzing)."""
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"bc": 256, b"abcd": 257}
    made = Encoder.from_ranks(ranks, pattern="gpt2")
    assert made.unreachable == 1
    assert made.encode("abcd 漢abcd漢 abcd".encode()).tolist() == [
        257, 32, *"漢".encode(), 97, 256, 100, *"漢".encode(), 32, 97, 256, 100]
    assert made.encode("abcd漢").tolist() == [97, 256, 100, *"漢".encode()]
    assert Encoder.from_ranks(ranks, pattern="gpt2", ignore_merges=False).encode("abcd").tolist() == [97, 256, 100]
