"""`tokassay diff`: two engines side by side on the inputs on which engines have been found to part."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest
from tokassay.harness.cli import main


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["diff", *words])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def planted(tmp_path: Path, body: str) -> str:
    """A roster with one engine, `planted`, whose adapter has this `encode`."""
    (tmp_path / "planted.py").write_text(
        dedent(
            """
            import os
            import time


            class Adapter:
                name = "planted"
                operations = ("encode",)
                rejects = ()

                def version(self):
                    return "1"

                def load(self, contract, files, threads, options):
                    pass

                def prepare(self, document):
                    return document

                def encode(self, item):
            """
        )
        + "        "
        + body
        + "\n"
    )
    path = tmp_path / "roster.toml"
    path.write_text(
        dedent(
            """
            [planted]
            requirement = "planted"
            environment = "project"
            adapter = "planted.py"
            algorithms = ["bpe-ranks"]
            byte_policy = "byte-alphabet"
            unicode = "16.0"
            specials = ["off"]
            operations = ["encode"]
            licence = "MIT"
            home = "none"
            timeout_s = 2
            memory_mb = 512
            """
        )
    )
    return str(path)


@pytest.mark.parametrize("document", ["e0407970", "898881ab", "bd9b9ae9", "b12773", "ff", ""])
def test_our_encoder_and_the_oracle_are_the_same(capsys: pytest.CaptureFixture[str], document: str) -> None:
    code, out, _ = run(capsys, "dat-bpe", "oracle", "--vocab", "gpt2", "--hex", document)
    assert code == 0
    assert out.splitlines()[-1] == "same"


def test_two_traced_sides(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "oracle", "oracle:replace", "--hex", "61ff62")
    assert code == 1
    assert "first differing token: 1" in out
    assert "first differing decision (traced): scan:" in out


def test_a_silent_side_is_explained_through_the_oracle_of_its_variants(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "oracle", "tiktoken", "--hex", "898881ab", "--json")
    value = json.loads(out)
    assert (code, value["same"], value["exit_code"]) == (1, False, 1)
    assert value["left"]["ids"] == [231, 230, 223, 104]
    assert value["right"]["ids"] == [231, 230, 43769]
    assert (value["left"]["traced"], value["right"]["traced"]) == (True, False)
    found = value["difference"]
    assert (found["token"], found["stage"], found["known"]) == (2, "pretokenize", "inferred")
    assert found["through"] == ["oracle:tiktoken-bytes@16.0"]


def test_a_planted_wrong_engine_is_inferred(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    roster = planted(tmp_path, "return [71, 68, 75, 75, 78]")  # hello, one letter a token: no merges at all
    code, out, _ = run(capsys, "oracle", "planted", "--text", "hello", "--roster", roster)
    assert code == 1
    assert "first differing token: 0" in out
    assert "first differing decision (inferred): merge:" in out


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ("os.abort()", "crash"),
        ("raise KeyboardInterrupt('planted')", "error"),
        ("time.sleep(60)", "timeout"),
        ("return [len(bytearray(1 << 40))]", "oom"),
        ("return [-1]", "error"),
        ("os.write(1, b'garbage'); os._exit(0)", "crash"),
    ],
)
def test_a_side_that_dies_is_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path, body: str, outcome: str) -> None:
    roster = planted(tmp_path, body)
    code, out, _ = run(capsys, "oracle", "planted", "--text", "hello", "--roster", roster, "--json")
    value = json.loads(out)
    assert (code, value["right"]["outcome"]) == (1, outcome)
    assert value["left"]["ids"] == [31373]
    assert f"planted: {outcome}" in value["difference"]["sentence"]


def test_a_rejection(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "dat-bpe", "tokenizers", "--hex", "61ff62")
    assert code == 1
    assert "tokenizers 0." in out and ": reject" in out
    assert "the first ill-formed byte is ff at offset 1" in out


def test_nothing_is_compared_where_a_side_cannot_take_part(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "oracle", "sentencepiece", "--text", "a")
    assert code == 4
    assert "nothing was compared" in out


def test_unicode_versions(capsys: pytest.CaptureFixture[str]) -> None:
    # U+1C89 CYRILLIC CAPITAL LETTER TJE came with Unicode 16.0 (UnicodeData.txt). As a letter it ends its piece before
    # the contraction; unassigned, it is one of the others and takes the apostrophe with it.
    words = ["oracle@15.0", "oracle@16.0", "--text", "\u1c89's"]
    code, out, _ = run(capsys, *words)
    assert code == 1
    assert "first differing decision (traced): classify:" in out


def test_a_long_document_is_cut_around_the_difference(capsys: pytest.CaptureFixture[str]) -> None:
    document = (b"hello world " * 100 + b"\xff" + b" hello" * 100).hex()
    words = ["oracle", "oracle:replace", "--hex", document]
    code, cut, _ = run(capsys, *words)
    assert code == 1
    assert "rows " in cut and "≠" in cut
    assert len(cut.splitlines()) < 60
    assert len(run(capsys, *words, "--all")[1].splitlines()) > 300


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["oracl", "tiktoken", "--text", "a"], "did you mean oracle?"),
        (["oracle", "tiktoken:lenient", "--text", "a"], "lenient"),
        (["oracle", "tiktoken", "--hex", "1"], "column 1"),
        (["oracle", "tiktoken", "--hex", "11", "--file", "x"], "given together"),
    ],
)
def test_a_wrong_use_is_one_clear_line(capsys: pytest.CaptureFixture[str], words: list[str], told: str) -> None:
    code, out, err = run(capsys, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert told in err
