"""RWKV World's form: literals against Python's own reader, and every damage with its line."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest
from tokassay.harness import vocab_rwkv
from tokassay.harness.errors import InputError
from tokassay.harness.load import load_vocabulary

SINGLE = "".join(f"{byte + 1} b'\\x{byte:02x}' 1\n" for byte in range(256))


def test_literals_are_those_of_python() -> None:
    chance = random.Random(0)
    letters = "aé'\"\\\n\r\t\x00\x7f\u2028中🙂 b"
    rows = []
    for number in range(4000):
        text = "".join(chance.choices(letters, k=chance.randrange(2, 7)))
        token = text.encode() if number % 2 else chance.randbytes(chance.randrange(2, 6))
        rows.append((number + 300, repr(text) if number % 2 else repr(token)))
    written, seen = SINGLE, set[bytes]()
    expected = {bytes([byte]): byte + 1 for byte in range(256)}
    for number, literal in rows:
        value = ast.literal_eval(literal)
        token = value.encode() if isinstance(value, str) else value
        if token not in seen:
            seen.add(token)
            written += f"{number} {literal} {len(token)}\n"
            expected[token] = number
    settled = vocab_rwkv.parse(written.encode(), "here").settled
    assert settled is not None and dict(settled.vocabulary.tokens) == expected
    assert (settled.algorithm, settled.vocabulary.merges) == ("greedy-longest", None)


@pytest.mark.parametrize("literal", ["'\\u00e9\\U0001f642'", '"it\'s"', "b'\\a\\b\\f\\v'", "'\\x41\\x42'", "'a b 7 c'"])
def test_further_escapes(literal: str) -> None:
    value = ast.literal_eval(literal)
    token = value.encode() if isinstance(value, str) else value
    settled = vocab_rwkv.parse(f"{SINGLE}999 {literal} {len(token)}\r\n".encode(), "here").settled
    assert settled is not None and settled.vocabulary.tokens[token] == 999


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("300 'ab' 3", "2 bytes, and 3 are stated"),
        ("300 'é' 1", "2 bytes, and 1 are stated"),
        ("300 'a' 'b' 2", "inside a literal"),
        ("300 'ab'.upper() 2", "not an id, a literal"),
        ("300 __import__('os') 2", "not an id, a literal"),
        ("300 b'é' 2", "inside a literal"),
        ("300 '\\N{DIGIT ONE}' 1", "escape"),
        ("300 '\\q' 2", "escape"),
        ("300 b'\\u0041' 1", "escape"),
        ("300 '\\ud800' 3", "surrogate"),
        ("300 '\\Uffffffff' 3", "no character"),
        ("300 '' 0", "empty token"),
        ("1 'ab' 2", "id 1 is there twice"),
        ("300 'a' 1", "is there twice"),
        ("4294967296 'ab' 2", "is not an id"),
        ("0300 'ab' 2", "not an id, a literal"),
        ("", "not an id, a literal"),
    ],
)
def test_damage_is_named_with_its_line(line: str, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        vocab_rwkv.parse(f"{SINGLE}{line}\n999 'zz' 2\n".encode(), "here")
    assert caught.value.where == "here:257" and caught.value.remedy


def test_bytes_that_are_no_text_and_a_missing_byte() -> None:
    with pytest.raises(InputError, match="not UTF-8") as caught:
        vocab_rwkv.parse(SINGLE.encode() + b"300 '\xff' 1\n", "here")
    assert caught.value.where == "here:257"
    with pytest.raises(InputError, match="byte 0xff has no token"):
        vocab_rwkv.parse("".join(SINGLE.splitlines(True)[:-1]).encode(), "here")


def test_a_file_is_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "anything.txt"
    path.write_text(f"{SINGLE}300 'ab' 2\n")
    loaded = load_vocabulary(path)
    assert (loaded.format, loaded.contract.algorithm, loaded.contract.byte_policy) == ("rwkv", "greedy-longest", "raw")
    assert any("no token has id 0" in note for note in loaded.notes)
    with pytest.raises(InputError, match="brings its own"):
        load_vocabulary(path, pattern="gpt2")
