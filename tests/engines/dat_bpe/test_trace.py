"""The trace build: the same ids as the plain one, and decisions that account for them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tokassay.engines.dat_bpe import Encoder


def replay(encoder: Encoder, document: bytes, decisions: list[dict[str, Any]]) -> list[int]:
    """The ids that the recorded pieces and merges make, carried out here."""
    ids: list[int] = []
    symbols: list[bytes] = []
    start = end = 0

    def close() -> None:
        for symbol in symbols:
            number = encoder.token_id(symbol)
            assert number is not None
            ids.append(number)
        symbols.clear()

    for decision in decisions:
        if decision["stage"] == "pretokenize":
            close()
            assert decision["start"] == end
            start, end = decision["start"], decision["end"]
            symbols.extend(document[i : i + 1] for i in range(start, end))
        elif decision["stage"] == "merge":
            assert decision["offset"] == start
            at = index = 0
            while at < decision["position"]:
                at += len(symbols[index])
                index += 1
            assert at == decision["position"]
            assert [symbol.hex() for symbol in symbols[index : index + 2]] == [decision["left"], decision["right"]]
            joined = symbols[index] + symbols[index + 1]
            assert encoder.token_id(joined) == decision["rank"]
            symbols[index : index + 2] = [joined]
        elif decision["stage"] == "special":
            close()
            ids.append(decision["id"])
            end = decision["end"]
    close()
    return ids


def test_a_lead_byte_proposes_and_is_not_believed(encoder_of: Callable[[str], Encoder]) -> None:
    decisions = encoder_of("gpt2").trace(b"\xe0@yp")
    scan = [each for each in decisions if each["stage"] == "scan"]
    assert scan[0] == {
        "stage": "scan", "offset": 0, "path": "ill-formed byte-alphabet", "proposed": 3, "accepted": 1, "value": 0xE0,
        "class": "Ll", "next": 1,
    }
    assert [each["value"] for each in scan[1:]] == [0x40, 0x79, 0x70]


def test_hello_world(encoder_of: Callable[[str], Encoder]) -> None:
    decisions = encoder_of("gpt2").trace(b"hello world")
    pieces = [(each["start"], each["end"], each["rule"]) for each in decisions if each["stage"] == "pretokenize"]
    assert pieces == [(0, 5, "letters"), (5, 11, "letters")]
    looked_up = [(each["start"], each["end"], each["id"]) for each in decisions if each["stage"] == "lookup"]
    assert looked_up == [(0, 5, 31373), (5, 11, 995)]
    scan = [each for each in decisions if each["stage"] == "scan"]
    assert (scan[5]["class"], scan[5]["path"], scan[0]["class"]) == ("S", "ascii", "Ll")


def test_decisions_account_for_the_ids(ranks_of: Callable[[str], dict[bytes, int]], vocabulary: str) -> None:
    """Scans tile the document; pieces and merges, carried out again, give the ids; look-ups are the ids."""
    pattern = {"gpt2": "gpt2", "cl100k_base": "cl100k", "o200k_base": "o200k"}[vocabulary]
    encoder = Encoder.from_ranks(
        ranks_of(vocabulary), pattern=pattern, specials={"<|endoftext|>": 300_000}, ignore_merges=False
    )
    chance = random.Random(2)
    parts = [*"aAsS1 \t\n'./漢é\u0301", "don't", "the ", "word", "<|endoftext|>", "🙂", "x" * 60]
    for _ in range(500):
        document = "".join(chance.choices(parts, k=chance.randint(0, 12))).encode()
        document += bytes(chance.choices(range(256), k=chance.randint(0, 6)))
        ids, decisions = encoder.trace_ids(document, specials=True)
        assert ids.tolist() == encoder.encode(document, specials=True).tolist()
        assert replay(encoder, document, decisions) == ids.tolist()
        given = [each["id"] for each in decisions if each["stage"] in ("lookup", "special")]
        assert given == ids.tolist()
        at = 0
        for each in decisions:
            if each["stage"] == "special":
                assert each["start"] == at
                at = each["end"]
            elif each["stage"] == "scan":
                assert each["offset"] == at
                assert each["next"] == at + each["accepted"]
                at = each["next"]
        assert at == len(document)


def test_an_empty_document_has_no_decisions(encoder: Encoder) -> None:
    assert encoder.trace(b"") == []
