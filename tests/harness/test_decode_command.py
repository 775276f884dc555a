"""`tokassay decode`: exact bytes, and bad ids named by their position."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tokassay.harness.cli import main
from tokassay.harness.errors import InputError
from tokassay.harness.ids import parse_ids


def run(capsysbinary: pytest.CaptureFixture[bytes], *words: str) -> tuple[int, bytes, str]:
    with pytest.raises(SystemExit) as stop:
        main(["decode", *words])
    out, err = capsysbinary.readouterr()
    return int(stop.value.code or 0), out, err.decode()


@pytest.mark.parametrize(
    ("ids", "data"),
    [
        ("31373 995", b"hello world"),
        ("64 187 65", b"a\xffb"),
        ("64 188 65", b"a\x00b"),
        ("121 249 21253", b"\xbd\x9b\x9a\xe9"),
        ("64 50256 65", b"a<|endoftext|>b"),
    ],
)
def test_exact_bytes_and_nothing_else(capsysbinary: pytest.CaptureFixture[bytes], ids: str, data: bytes) -> None:
    assert run(capsysbinary, *ids.split()) == (0, data, "")
    assert run(capsysbinary, "--hex", *ids.split()) == (0, data.hex().encode() + b"\n", "")


def test_json(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    _, out, _ = run(capsysbinary, "--json", "31373", "995")
    value = json.loads(out)
    assert (value["ids"], value["bytes"]) == ([31373, 995], b"hello world".hex())
    assert value["tokens"] == [b"hello".hex(), b" world".hex()]


def test_what_encode_printed_can_be_piped_in() -> None:
    script = "from tokassay.harness.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, "decode"], input=b"31373 995\n", capture_output=True, check=True
    )
    assert done.stdout == b"hello world"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["31373", "50257"], "id 2: gpt2 has no token 50257"),
        (["31373", "-1"], "id 2: '-1' is not an id"),
        (["31373", "4294967296"], "id 2: 4294967296 is not an id"),
        (["hello"], "id 1: 'hello' is not an id"),
        (["--vocab", "gpt9", "1"], "gpt9"),
    ],
)
def test_a_bad_id_is_named_by_its_position(
    capsysbinary: pytest.CaptureFixture[bytes], words: list[str], told: str
) -> None:
    code, out, err = run(capsysbinary, *words)
    assert (code, out, err.count("\n")) == (2, b"", 1)
    assert told in err and ";" in err


def test_ids_may_come_as_a_list() -> None:
    assert parse_ids(["[31373,", "995]"]) == [31373, 995]
    assert parse_ids([]) == []
    with pytest.raises(InputError, match="'٣'"):
        parse_ids(["٣"])
