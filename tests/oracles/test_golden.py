"""Ids from independent sources: the Saphira audit, public fault reports, llama.cpp's published strings."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
from tokassay.oracles.errors import Reject
from tokassay.oracles.oracle import Oracle

# The fixed points that the Saphira audit states for GPT-2: document, ids.
SAPHIRA = [
    (b"", []),
    (b"ab", [397]),
    (b"hello", [31373]),
    (b"Hello", [15496]),
    (b"a\x00b", [64, 188, 65]),
    (b"a\xffb", [64, 187, 65]),
    (b"hello world", [31373, 995]),
    (bytes.fromhex("898881ab"), [231, 230, 223, 104]),
    (bytes.fromhex("bd9b9ae9"), [121, 249, 21253]),
    (bytes.fromhex("b12773"), [109, 6, 82]),
]

VECTORS = [
    vector
    for name in ("dev-cases", "llama-cpp-gpt2", "third-party")
    for vector in json.loads((files("tokassay.fixtures") / "vectors" / f"{name}.json").read_text())["vectors"]
    if vector["vocabulary"] in ("gpt2", "cl100k_base", "o200k_base")  # the others': tests/harness/test_vectors.py
]


@pytest.mark.parametrize(("document", "ids"), SAPHIRA, ids=[document.hex() or "empty" for document, _ in SAPHIRA])
def test_saphira_fixed_points(make_oracle: Callable[..., Oracle], document: bytes, ids: list[int]) -> None:
    assert make_oracle("gpt2").encode(document) == ids


def test_saphira_spans(make_oracle: Callable[..., Oracle]) -> None:
    oracle = make_oracle("gpt2")
    assert oracle.spans(bytes.fromhex("898881ab")) == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert oracle.pretokens(bytes.fromhex("898881ab")) == [(0, 3), (3, 4)]
    assert oracle.spans(bytes.fromhex("bd9b9ae9")) == [(0, 1), (1, 2), (2, 4)]
    assert oracle.pretokens(bytes.fromhex("bd9b9ae9")) == [(0, 1), (1, 4)]
    assert oracle.pretokens(b"hello world") == [(0, 5), (5, 11)]


def test_saphira_all_bytes(make_oracle: Callable[..., Oracle]) -> None:
    assert len(make_oracle("gpt2").encode(bytes(range(256)))) == 222


def test_saphira_specials(make_oracle: Callable[..., Oracle]) -> None:
    oracle = make_oracle("gpt2", specials="on")
    assert oracle.encode(b"<|endoftext|>") == [50256]
    assert oracle.encode(b"a<|endoftext|>b") == [64, 50256, 65]


@pytest.mark.parametrize("lead", [b"\xe0", b"\xe1", b"\xe2", b"\xe3", b"\xee", b"\xef"])
def test_saphira_lead_stands_alone(make_oracle: Callable[..., Oracle], lead: bytes) -> None:
    """`E0 40 79 70`: the lead is one letter, the rest is as after any letter."""
    oracle = make_oracle("gpt2")
    alone, after_a = oracle.encode(lead + b"@yp"), oracle.encode(b"a@yp")
    assert alone[1:] == after_a[1:]
    assert oracle.decode(alone[:1]) == lead


def test_every_vector_is_there() -> None:
    assert len(VECTORS) >= 43 + 2 * 3 + 46 + 9
    assert len({vector["id"] for vector in VECTORS}) == len(VECTORS)


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["id"] for vector in VECTORS])
def test_vector(make_oracle: Callable[..., Oracle], vector: dict[str, Any]) -> None:
    oracle = make_oracle(vector["vocabulary"], **vector["contract"])
    if "input_repeat" in vector:
        document = bytes.fromhex(vector["input_repeat"]["hex"]) * vector["input_repeat"]["times"]
        ids = oracle.encode(document)
        if "ids" in vector:
            assert ids == vector["ids"]
            return
        assert (len(ids), ids[:4], ids[-4:]) == (vector["count"], vector["head"], vector["tail"])
        assert hashlib.sha256(struct.pack(f"<{len(ids)}I", *ids)).hexdigest() == vector["ids_sha256"]
        return
    document = bytes.fromhex(vector["input_hex"])
    if vector["operation"] != "encode":
        assert oracle.decode(vector["ids"]) == document
    elif vector["ids"] is None:
        with pytest.raises(Reject):
            oracle.encode(document)
    else:
        assert oracle.encode(document) == vector["ids"]
        spans = oracle.spans(document)
        assert len(spans) == len(vector["ids"])
        decided = [each for each in oracle.decisions(document) if each["stage"] in ("lookup", "special")]
        assert [each["id"] for each in decided] == vector["ids"]
        assert [(each["start"], each["end"]) for each in decided] == spans


def test_a_wrong_rank_is_noticed(
    make_contract: Callable[..., dict[str, Any]], make_ranks: Callable[[str], dict[bytes, int]]
) -> None:
    """The check itself is checked: a merge that comes too late breaks words that are built on it."""
    tokens = dict(make_ranks("gpt2"))
    tokens[b" con"] = 60_000
    faulty = Oracle(make_contract("gpt2"), tokens)
    wrong = [
        vector["id"]
        for vector in VECTORS
        if vector["vocabulary"] == "gpt2"
        and vector["operation"] == "encode"
        and not vector["contract"]
        and "input_hex" in vector
        and faulty.encode(bytes.fromhex(vector["input_hex"])) != vector["ids"]
    ]
    assert "llama-22" in wrong
