"""`tokassay vocab`: list, fetch, show, verify."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tokassay.harness import known
from tokassay.harness.cli import main

FOLDER = known.vocabulary_folder()


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["vocab", *words])
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


def run_json(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    code, out, _ = run(capsys, *words, "--json")
    return code, json.loads(out)


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    code, listed = run_json(capsys, "list")
    assert code == 0
    states = {row["name"]: row["state"] for row in listed["encodings"]}
    assert [name for name, state in states.items() if state == "embedded"] == [
        "gpt2",
        "cl100k_base",
        "o200k_base",
        "o200k_harmony",
        "traps",
    ]
    assert states["llama3"] == "to fetch"
    assert any(row["name"] == "smart-solidity" for row in listed["catalogue"])
    code, out, _ = run(capsys, "list")
    assert (code, "cl100k_base" in out) == (0, True)


def test_show(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = run_json(capsys, "show", "gpt2", "--ids")
    assert code == 0
    assert shown["file_sha256"] == "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"
    assert shown["contract"]["special_tokens"] == [["<|endoftext|>", 50256]]
    assert bytes.fromhex(shown["ids"]["31373"]) + bytes.fromhex(shown["ids"]["995"]) == b"hello world"
    assert bytes.fromhex(shown["ids"]["50256"]) == b"<|endoftext|>"
    code, out, _ = run(capsys, "show", "gpt2", "--ids")
    assert code == 0
    assert "contract.algorithm: bpe-ranks" in out
    assert "\n995\tb' world'\n" in out


def test_show_a_rank_file_with_named_pattern_and_specials(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    specials = tmp_path / "specials.json"
    specials.write_text('{"<|endoftext|>": 50256}', encoding="utf-8")
    path = str(FOLDER / "r50k_base.tiktoken")
    code, shown = run_json(capsys, "show", path, "--pattern", "gpt2", "--specials", str(specials))
    _, named = run_json(capsys, "show", "gpt2")
    assert (code, shown["contract_digest"]) == (0, named["contract_digest"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "nosuch"), "no encoding and no file is called 'nosuch'"),
        (("show", str(FOLDER / "r50k_base.tiktoken")), "--pattern"),
        (("fetch", "nosuch"), "no catalogue entry is called 'nosuch'"),
        (("verify", "llama3"), "tokassay vocab fetch llama3"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    code, out, err = run(capsys, *words)
    assert code == 2
    assert out == ""
    lines = [line for line in err.splitlines() if line.strip()]
    assert len(lines) == 1
    assert said in lines[0]


def test_fetch_of_an_embedded_one_needs_no_client(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    code, fetched = run_json(capsys, "fetch", "gpt2", "cl100k")
    assert code == 0
    assert [row["embedded"] for row in fetched["fetched"]] == [True, True]
    assert Path(fetched["fetched"][0]["path"]).name == "r50k_base.tiktoken"


def test_verify(capsys: pytest.CaptureFixture[str]) -> None:
    code, report = run_json(capsys, "verify", "gpt2")
    (row,) = report["vocabularies"]
    assert (code, report["exit_code"], row["failures"]) == (0, 0, [])
    assert (row["tokens"], row["exceptions"], row["unreachable"]) == (50256, 0, 0)
    assert row["sample"] == [31373, 995]


def test_verify_says_what_is_not_as_stated(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    gpt2 = known.find("gpt2")
    assert gpt2 is not None
    monkeypatch.setattr(known, "find", lambda _: replace(gpt2, unreachable=7, sample=(1, 2)))
    code, report = run_json(capsys, "verify", "gpt2")
    assert (code, report["exit_code"]) == (1, 1)
    said = " ".join(report["vocabularies"][0]["failures"])
    assert "0 tokens are unreachable by merging, 7 are stated" in said
    assert "[31373, 995], published are [1, 2]" in said
