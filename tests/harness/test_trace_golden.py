"""`tokassay trace` on three inputs that engines have gone wrong on, word for word; the facts in it are checked apart.

The files beside this one are what is printed, with the version left out. They are read by people: whoever knows UTF-8
should find each line self-explanatory.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tokassay.engines.dat_bpe import Encoder
from tokassay.harness.cli import main
from tokassay.harness.load import load_vocabulary
from tokassay.oracles.oracle import Oracle

GOLDEN = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class Facts:
    """What is known of an input: its ids, its pieces and tokens as (start, end), and the merges as (bytes, rank)."""

    ids: list[int]
    pieces: list[tuple[int, int]]
    tokens: list[tuple[int, int]]
    merges: list[tuple[str, int]]


def byte_id(byte: int) -> int:
    """GPT-2's id of a byte: the printable ones of Latin-1 come first, then the others (`bytes_to_unicode`)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    return [*printable, *(each for each in range(256) if each not in printable)].index(byte)


# Ids and pieces as published for a checked encoder; 4464 and 21253 are the ranks of `yp` and `9a e9` in the rank file.
FACTS = {
    "e0407970": Facts(
        [byte_id(0xE0), byte_id(0x40), 4464], [(0, 1), (1, 2), (2, 4)], [(0, 1), (1, 2), (2, 4)], [("7970", 4464)]
    ),
    "898881ab": Facts([231, 230, 223, 104], [(0, 3), (3, 4)], [(0, 1), (1, 2), (2, 3), (3, 4)], []),
    "bd9b9ae9": Facts([121, 249, 21253], [(0, 1), (1, 4)], [(0, 1), (1, 2), (2, 4)], [("9ae9", 21253)]),
}
# General category of what each byte stands for in the byte alphabet: a number above 7F, else the byte's own.
CLASSES = {
    "e0407970": ["Ll", "Po", "Ll", "Ll"],  # U+00E0, @, y, p
    "898881ab": ["Ll", "Lu", "Ll", "Pi"],  # U+012B, U+012A, U+0123, U+00AB
    "bd9b9ae9": ["No", "Lu", "Ll", "Ll"],  # U+00BD, U+013D, U+013C, U+00E9
}


def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> str:
    monkeypatch.setenv("COLUMNS", "180")
    with pytest.raises(SystemExit) as stop:
        main(["trace", *words])
    assert not stop.value.code
    return capsys.readouterr().out


@pytest.mark.parametrize("engine", ["oracle", "dat-bpe"])
@pytest.mark.parametrize("document", FACTS)
def test_what_is_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, engine: str, document: str
) -> None:
    out = printed(capsys, monkeypatch, engine, "--hex", document)
    shown = re.sub(rf"^({engine}) \S+", r"\1", out)
    assert shown == (GOLDEN / f"trace-{document}-{engine}.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tracers() -> dict[str, Callable[[bytes], list[dict[str, Any]]]]:
    loaded = load_vocabulary("gpt2")
    oracle = Oracle(loaded.contract.to_json(), loaded.vocabulary.tokens)
    return {"oracle": oracle.decisions, "dat-bpe": Encoder.load("gpt2", ignore_merges=False).trace}


@pytest.mark.parametrize("engine", ["oracle", "dat-bpe"])
@pytest.mark.parametrize("document", FACTS)
def test_the_facts(tracers: dict[str, Callable[[bytes], list[dict[str, Any]]]], engine: str, document: str) -> None:
    told, facts = tracers[engine](bytes.fromhex(document)), FACTS[document]
    assert [each["id"] for each in told if each["stage"] == "lookup"] == facts.ids
    assert [(each["start"], each["end"]) for each in told if each["stage"] == "pretokenize"] == facts.pieces
    assert [(each["start"], each["end"]) for each in told if each["stage"] == "lookup"] == facts.tokens
    merges = [(each["left"] + each["right"], each["rank"]) for each in told if each["stage"] == "merge"]
    assert merges == facts.merges
    scans = [each for each in told if each["stage"] == "scan"]
    assert [each["class"] for each in scans] == CLASSES[document]
    assert [(each["offset"], each["accepted"], each["next"]) for each in scans] == [(n, 1, n + 1) for n in range(4)]


@pytest.mark.parametrize("document", FACTS)
def test_the_files_say_the_facts(document: str) -> None:
    facts, data = FACTS[document], bytes.fromhex(document)
    for engine in ("oracle", "dat-bpe"):
        text = (GOLDEN / f"trace-{document}-{engine}.txt").read_text(encoding="utf-8")
        assert text.splitlines()[-1] == f"ids {' '.join(map(str, facts.ids))}"
        for number in facts.ids:
            assert f"is token {number} " in text
        for _, rank in facts.merges:
            assert f"rank {rank} " in text
        for byte in data:
            if byte > 0x7F:
                assert f"{byte:02X} stands alone, as U+" in text
        rows = [line.split("│") for line in text.splitlines() if "│" in line]
        pieces = [row[3].strip() for row in rows if row[2].strip() == "pretokenize"]
        assert [bytes.fromhex(each) for each in pieces] == [data[start:end] for start, end in facts.pieces]
