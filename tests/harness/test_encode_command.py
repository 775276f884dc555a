"""`tokassay encode`: GPT-2's ids as published with the earlier audit, and one clear line for every wrong use."""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from tokassay.engines.dat_bpe import Encoder
from tokassay.harness.cli import main

# Fixed points of GPT-2, input in hex -> ids.
FIXED = {
    "": [],
    "6162": [397],
    "68656c6c6f": [31373],
    "48656c6c6f": [15496],
    "610062": [64, 188, 65],
    "61ff62": [64, 187, 65],
    "68656c6c6f20776f726c64": [31373, 995],
    "898881ab": [231, 230, 223, 104],
    "bd9b9ae9": [121, 249, 21253],
    "b12773": [109, 6, 82],
}


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """(exit code, standard output, standard error) of one command line."""
    with pytest.raises(SystemExit) as stop:
        main(words)
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


@pytest.mark.parametrize("engine", ["dat-bpe", "oracle"])
@pytest.mark.parametrize("hexadecimal", FIXED)
def test_fixed_points(capsys: pytest.CaptureFixture[str], engine: str, hexadecimal: str) -> None:
    code, out, err = run(capsys, "encode", "--engine", engine, "--vocab", "gpt2", "--hex", hexadecimal)
    assert (code, out, err) == (0, " ".join(map(str, FIXED[hexadecimal])) + "\n", "")


@pytest.mark.parametrize("lead", ["e0", "e1", "e2", "e3", "ee", "ef"])
def test_a_lead_without_its_sequence_stands_alone(capsys: pytest.CaptureFixture[str], lead: str) -> None:
    _, whole, _ = run(capsys, "encode", "--hex", f"{lead}407970")
    _, alone, _ = run(capsys, "encode", "--hex", lead)
    _, rest, _ = run(capsys, "encode", "--text", "a@yp")
    assert whole.split() == alone.split() + rest.split()[1:]


def test_every_byte_once(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "encode", "--hex", bytes(range(256)).hex())
    assert len(out.split()) == 222


@pytest.mark.parametrize("engine", ["dat-bpe", "oracle", "tiktoken", "tokenizers"])
def test_special_tokens_only_where_asked(capsys: pytest.CaptureFixture[str], engine: str) -> None:
    words = ["encode", "--engine", engine, "--text", "a<|endoftext|>b"]
    assert run(capsys, *words, "--specials")[1] == "64 50256 65\n"
    assert "50256" not in run(capsys, *words)[1].split()


def test_text_file_and_standard_input(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "document"
    path.write_bytes(b"a\xffb")
    assert run(capsys, "encode", "--file", str(path))[1] == "64 187 65\n"
    assert run(capsys, "encode", "--text", "a\udcffb")[1] == "64 187 65\n"
    for words in ([], ["--file", "-"]):
        script = "from tokassay.harness.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", script, "encode", *words], input=b"a\xffb", capture_output=True, check=True
        )
        assert done.stdout == b"64 187 65\n"


@pytest.mark.parametrize("engine", ["dat-bpe", "oracle"])
def test_spans(capsys: pytest.CaptureFixture[str], engine: str) -> None:
    _, out, _ = run(capsys, "encode", "--engine", engine, "--hex", "898881ab", "--spans")
    assert out.splitlines() == [
        r"pretokens [\x89\x88\x81][\xab]",
        r"tokens [\x89][\x88][\x81][\xab]",
        r"231  0..1  [\x89]",
        r"230  1..2  [\x88]",
        r"223  2..3  [\x81]",
        r"104  3..4  [\xab]",
    ]
    _, out, _ = run(capsys, "encode", "--engine", engine, "--text", "hello world", "--spans")
    assert out.splitlines()[:2] == ["pretokens [hello][ world]", "tokens [hello][ world]"]


@pytest.mark.parametrize("engine", ["dat-bpe", "oracle", "tiktoken"])
def test_json(capsys: pytest.CaptureFixture[str], engine: str) -> None:
    code, out, _ = run(capsys, "encode", "--engine", engine, "--text", "hello world", "--json")
    value = json.loads(out)
    assert code == 0
    assert (value["outcome"], value["ids"], value["spans"]) == ("ids", [31373, 995], [[0, 5], [5, 11]])
    assert value["tokens"] == [b"hello".hex(), b" world".hex()]
    # The leaf by its written rule: u64 bytes, u8 status, u32 count, u32 ids.
    assert value["leaf"] == hashlib.sha256(struct.pack("<QBIII", 11, 0, 2, 31373, 995)).hexdigest()
    assert value["document"] == {"bytes": 11, "sha256": hashlib.sha256(b"hello world").hexdigest()}
    assert all(len(value[name]) == 16 for name in ("contract", "core"))
    assert value["version"]
    assert value["pretokens"] == (None if engine == "tiktoken" else [[0, 5], [5, 11]])


def test_engines_of_one_core_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    ours, theirs = (
        json.loads(run(capsys, "encode", "--engine", engine, "--text", "x", "--json")[1])
        for engine in ("dat-bpe", "tiktoken")
    )
    assert ours["core"] == theirs["core"]
    assert ours["contract"] != theirs["contract"]
    assert ours["leaf"] == theirs["leaf"]


def test_variants_after_the_name(capsys: pytest.CaptureFixture[str]) -> None:
    # tiktoken's own rule joins ill-formed bytes into one piece; the oracle follows it when asked to.
    _, theirs, _ = run(capsys, "encode", "--engine", "tiktoken", "--hex", "898881ab")
    _, same, _ = run(capsys, "encode", "--engine", "oracle:tiktoken-bytes", "--hex", "898881ab")
    assert theirs == same == "231 230 43769\n"


def test_a_rejection_is_not_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "encode", "--engine", "tokenizers", "--hex", "ff")
    assert (code, out) == (1, "")
    assert err.startswith("tokassay: tokenizers: rejects the document")
    code, out, _ = run(capsys, "encode", "--engine", "tokenizers", "--hex", "ff", "--json")
    assert (code, json.loads(out)["outcome"]) == (1, "reject")


WRONG = {
    "an unknown engine": (["--engine", "tiktokn", "--text", "a"], "did you mean tiktoken?"),
    "an unknown vocabulary": (["--vocab", "gpt9", "--text", "a"], "gpt9"),
    "two inputs": (["--hex", "61", "--text", "a"], "--hex and --text were given together"),
    "half a byte": (["--hex", "898"], "--hex, column 3: half a byte"),
    "no hex": (["--hex", "xyz"], "--hex, column 1: 'x' is not a hex digit"),
    "a missing file": (["--file", "no/such/file"], "no/such/file: no such file"),
    "a missing roster": (["--roster", "no/such/file", "--text", "a"], "no/such/file"),
    "an unknown policy": (["--contract", "lenient", "--text", "a"], "lenient"),
    "an unknown policy after the name": (["--engine", "oracle:lenient", "--text", "a"], "lenient"),
    "an unknown Unicode version": (["--engine", "oracle@9.0", "--text", "a"], "9.0"),
    "an engine for other vocabularies": (["--engine", "sentencepiece", "--text", "a"], "sentencepiece"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_use_is_one_clear_line(capsys: pytest.CaptureFixture[str], case: str) -> None:
    words, told = WRONG[case]
    code, out, err = run(capsys, "encode", *words)
    assert (code, out) == (2, "")
    assert err.startswith("tokassay: ") and err.count("\n") == 1
    assert told in err
    assert ";" in err, "a remedy"


def test_a_truncated_rank_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "half.tiktoken"
    path.write_bytes(b"IQ== 0\nIg== 1\nIw")
    code, out, err = run(capsys, "encode", "--vocab", str(path), "--pattern", "gpt2", "--text", "a")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{path}:3" in err


def test_a_profile_is_opened_as_it_is_or_refused_by_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "a.profile"
    Encoder.load("gpt2").save(path)
    words = ("encode", "--vocab", str(path), "--text", "hello")
    assert run(capsys, *words) == (0, "31373\n", "")
    for more in (("--spans",), ("--json",), ("--engine", "tiktoken"), ("--pattern", "gpt2")):
        code, out, err = run(capsys, *words, *more)
        assert (code, out.count("\n"), err.count("\n")) == (2, more == ("--json",), 1)
        assert f"{path}: a profile" in err and "give the vocabulary that it was built from" in err
    path.write_bytes(path.read_bytes()[:-1])
    code, _, err = run(capsys, *words)
    assert code == 2 and "should have" in err


def test_a_rank_file_without_a_pattern(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "ranks.tiktoken"
    path.write_bytes(b"IQ== 0\n")
    code, out, err = run(capsys, "encode", "--vocab", str(path), "--text", "a")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "pattern" in err
