"""The façade: loaded both ways, text and bytes there and back, and exchanged under readers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokassay.engines.dat_greedy import CrayonVocab, Greedy, LoadError, profiles
from tokassay.oracles.greedy import greedy as plain

Tokens = dict[bytes, int]
NAMES = ("lite", "standard")


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    for name in NAMES:
        profiles.build_profile(name)


def right(text: bytes, tokens: Tokens) -> list[int]:
    return [tokens[part] for part in plain(text, tokens)]


def test_load_profile_makes_a_vocabulary_and_loads_into_one() -> None:
    made = CrayonVocab.load_profile("standard")
    assert (type(made), made.profile, made.is_profile_loaded, made.device) == (CrayonVocab, "standard", True, "cpu")
    vocab = CrayonVocab(device="auto")
    assert not vocab.is_profile_loaded
    assert vocab.load_profile("lite") is vocab
    assert (vocab.profile, vocab.vocab_size) == ("lite", 50_256)
    assert vocab.current_profile_path == profiles.find_profile("lite")
    vocab.load_profile("standard")
    assert (vocab.profile, vocab.vocab_size) == ("standard", 100_256)

    class Mine(CrayonVocab):
        pass

    assert type(Mine.load_profile("lite")) is Mine


def test_a_profile_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "few.dat"
    Greedy.from_tokens({b"ab": 0, b"c": 1}).save(path)
    for given_as in (path, str(path)):
        vocab = CrayonVocab.load_profile(given_as)
        assert (vocab.profile, vocab.tokenize("abc")) == (str(path), [0, 1])
    assert vocab.decode(vocab.tokenize(b"\xffab\0")) == b"\xffab\0"


@pytest.mark.parametrize("wrong", [b"lite", bytes(100), None, 5])
def test_a_profile_is_no_bytes(wrong: Any) -> None:
    """The contents of a file were taken for its name."""
    with pytest.raises(TypeError, match=f"by its name or its path, not as {type(wrong).__name__}"):
        CrayonVocab.load_profile(wrong)


def test_devices() -> None:
    assert CrayonVocab(device="cpu").device == "cpu"
    for device in ("cuda", "rocm", "gpu", ""):
        with pytest.raises(LoadError, match=f"device {device!r}") as caught:
            CrayonVocab(device=device)
        assert caught.value.remedy == "use auto or cpu"


@pytest.mark.parametrize("name", NAMES)
def test_ids(name: str, gpt2_tokens: Tokens, cl100k_tokens: Tokens) -> None:
    tokens = gpt2_tokens if name == "lite" else cl100k_tokens
    vocab = CrayonVocab.load_profile(name)
    for text in ("hello world", "naïve 日本語\n\n  x", "", "\0", "def f(x):\n    return x"):
        ids = vocab.tokenize(text)
        assert type(ids) is list and ids == right(text.encode(), tokens)
        of_bytes = vocab.tokenize(text.encode())
        assert (type(of_bytes), of_bytes.tolist()) == (numpy.ndarray, ids)
    both = vocab.tokenize(["hello", b"\xff", "", "é"])
    assert [type(row) for row in both] == [list, numpy.ndarray, list, list]
    assert [list(row) for row in both] == [right(each, tokens) for each in (b"hello", b"\xff", b"", "é".encode())]
    assert vocab.tokenize([]) == []
    assert vocab.tokenize(("a", "b"), threads=2) == [[tokens[b"a"]], [tokens[b"b"]]]


@given(st.binary(max_size=200) | st.text(st.characters(exclude_categories=["Cs"]), max_size=100))
def test_there_and_back(document: Any) -> None:
    for name in NAMES:
        vocab = CrayonVocab.load_profile(name)
        ids = vocab.tokenize(document)
        assert vocab.decode(ids) == document
        assert vocab.decode_bytes(ids) == (document.encode() if isinstance(document, str) else document)


def test_there_and_back_on_every_byte_and_on_text_of_many_scripts() -> None:
    pairs = bytes(byte for first in range(256) for second in range(256) for byte in (first, second))
    text = (files("tokassay.fixtures") / "sample" / "native.txt").read_text(encoding="utf-8")
    for name in NAMES:
        vocab = CrayonVocab.load_profile(name)
        assert vocab.decode(vocab.tokenize(pairs)) == pairs
        assert vocab.decode(vocab.tokenize(text)) == text


def test_a_part_of_a_character_is_replaced_or_refused() -> None:
    vocab = CrayonVocab.load_profile("lite")
    ids = vocab.tokenize("日")
    assert vocab.decode(ids[:1]) == "\ufffd"
    with pytest.raises(UnicodeDecodeError):
        vocab.decode(ids[:1], errors="strict")
    with pytest.raises(ValueError, match="id 50512 at index 0"):
        vocab.decode([50512])


def test_nothing_loaded() -> None:
    vocab = CrayonVocab()
    uses: list[Callable[[], Any]] = [
        lambda: vocab.tokenize("a"), lambda: vocab.decode([1]), lambda: vocab.decode_bytes([1]),
        lambda: vocab.vocab_size, lambda: vocab.profile, lambda: vocab.current_profile_path,
    ]
    for use in uses:
        with pytest.raises(LoadError, match="load_profile"):
            use()


def test_using_profile_gives_the_former_one_back() -> None:
    vocab = CrayonVocab.load_profile("lite")
    with vocab.using_profile("standard") as same:
        assert (same, vocab.profile) == (vocab, "standard")
        with vocab.using_profile("lite"):
            assert vocab.profile == "lite"
        assert vocab.profile == "standard"
    assert vocab.profile == "lite"
    with pytest.raises(KeyError), vocab.using_profile("standard"):
        raise KeyError
    assert vocab.profile == "lite"
    with pytest.raises(LoadError), vocab.using_profile("none"):
        pass
    assert vocab.profile == "lite"
    fresh = CrayonVocab()
    with fresh.using_profile("lite"):
        assert fresh.is_profile_loaded
    assert not fresh.is_profile_loaded


def test_a_load_that_fails_changes_nothing() -> None:
    vocab = CrayonVocab.load_profile("lite")
    for name in ("code", "none", "/no/such/file.dat"):
        with pytest.raises(LoadError):
            vocab.load_profile(name)
    assert vocab.tokenize("hello world") == [31373, 995]


def test_a_built_profile_that_was_cut_is_built_again() -> None:
    path = profiles.find_profile("lite")
    whole = path.read_bytes()
    cut = path.with_name("cut")
    cut.write_bytes(whole[:-4])
    cut.replace(path)
    assert CrayonVocab.load_profile("lite").tokenize("hello world") == [31373, 995]
    assert path.read_bytes() == whole


def test_exchanged_under_readers(gpt2_tokens: Tokens, cl100k_tokens: Tokens) -> None:
    """Four threads read while a fifth loads the one profile and the other: every answer is all of one of them."""
    text = (files("tokassay.fixtures") / "sample" / "kjv.txt").read_text(encoding="utf-8")[:3000]
    answers = [right(text.encode(), tokens) for tokens in (gpt2_tokens, cl100k_tokens)]
    vocab = CrayonVocab.load_profile("lite")
    seen: set[int] = set()
    wrong: list[Any] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            for ids in (vocab.tokenize(text), *vocab.tokenize([text, text])):
                if ids in answers:
                    seen.add(answers.index(ids))
                else:
                    wrong.append(ids)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for i in range(300):
        vocab.load_profile(NAMES[i % 2])
        with vocab.using_profile(NAMES[(i + 1) % 2]):
            pass
    while len(seen) < 2 and not wrong:
        for name in NAMES:
            vocab.load_profile(name)
    done.set()
    for reader in readers:
        reader.join()
    assert (wrong, seen) == ([], {0, 1})
