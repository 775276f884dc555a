"""`tokassay trace`: what our encoder and the oracle say of the inputs that other encoders went wrong on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from rich.table import Table
from tokassay.harness.cli import main

TRACED = ["dat-bpe", "oracle"]


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "250")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["trace", *words])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def decisions(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    code, out, _ = run(capsys, *words, "--json")
    assert code == 0
    found: list[dict[str, Any]] = json.loads(out)["decisions"]
    return found


@pytest.mark.parametrize("engine", TRACED)
def test_a_lead_whose_sequence_does_not_follow(capsys: pytest.CaptureFixture[str], engine: str) -> None:
    first = next(d for d in decisions(capsys, engine, "--hex", "e0407970") if d["stage"] == "scan")
    assert (first["offset"], first["accepted"], first["next"]) == (0, 1, 1)
    _, out, _ = run(capsys, engine, "--hex", "e0407970")
    assert "E0 leads three bytes, but the next byte, 40, is no continuation (80-BF)" in out
    assert "E0 stands alone, as U+00E0 à of the byte alphabet" in out
    assert "[yp] is token 4464" in out
    assert out.splitlines()[-1] == "ids 156 31 4464"


@pytest.mark.parametrize("engine", TRACED)
@pytest.mark.parametrize(
    ("document", "pieces", "words"),
    [
        ("898881ab", [[0, 3], [3, 4]], "89 is a continuation byte (80-BF), and no lead byte claims it"),
        ("bd9b9ae9", [[0, 1], [1, 4]], "E9 leads three bytes, but the document ends after one"),
    ],
)
def test_bytes_that_are_no_characters(
    capsys: pytest.CaptureFixture[str], engine: str, document: str, pieces: list[list[int]], words: str
) -> None:
    found = decisions(capsys, engine, "--hex", document)
    assert [[d["start"], d["end"]] for d in found if d["stage"] == "pretokenize"] == pieces
    assert [d["accepted"] for d in found if d["stage"] == "scan"] == [1, 1, 1, 1]
    assert words in run(capsys, engine, "--hex", document)[1]


@pytest.mark.parametrize("engine", TRACED)
def test_merges_and_tokens(capsys: pytest.CaptureFixture[str], engine: str) -> None:
    found = decisions(capsys, engine, "--text", "hello world")
    assert [d["id"] for d in found if d["stage"] == "lookup"] == [31373, 995]
    assert [[d["start"], d["end"]] for d in found if d["stage"] == "pretokenize"] == [[0, 5], [5, 11]]


@pytest.mark.parametrize("engine", TRACED)
def test_special_tokens(capsys: pytest.CaptureFixture[str], engine: str) -> None:
    found = decisions(capsys, engine, "--text", "a<|endoftext|>b", "--specials")
    assert [(d["start"], d["end"], d["id"]) for d in found if d["stage"] == "special"] == [(1, 14, 50256)]
    assert "[<|endoftext|>] is special token 50256" in run(capsys, engine, "--text", "a<|endoftext|>b", "--specials")[1]


def test_a_hundred_rows_are_shown_unless_all_are_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many rows are lines and no table of rich, which takes milliseconds for each."""
    document = "abcdef \u8a9e" * 40
    total = len(decisions(capsys, "oracle", "--text", document))
    code, out, _ = run(capsys, "oracle", "--text", document)
    stages = ("scan", "pretokenize", "merge", "lookup")
    assert (code, sum(out.count(f"\u2502 {stage} ") for stage in stages)) == (0, 100)
    assert f"rows 1 to 100 of {total:,}; --all shows them" in out
    assert "… 400 bytes" in out
    monkeypatch.setattr(Table, "add_row", None)
    code, out, _ = run(capsys, "oracle", "--text", document, "--all")
    assert (code, "--all" in out) == (0, False)
    lines = [line for line in out.splitlines() if line.partition(" ")[0].isdigit()]
    assert len(lines) == total
    assert " ".join(lines[0].split()) == "0 scan 61 1/1 [a] U+0061, class Ll (letter) ascii 1"


def test_an_engine_that_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "tiktoken", "--text", "a")
    assert (code, out) == (4, "")
    assert "tiktoken cannot be traced" in err


def test_a_rejected_document(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "oracle:reject", "--hex", "ff")
    assert code == 1
    assert "rejects the document" in err


def test_a_wrong_use_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "dat-bp", "--text", "a")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "did you mean dat-bpe?" in err
