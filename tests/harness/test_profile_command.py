"""`tokassay profile`: built, shown, verified, and every wrong use told with the file, the place and the remedy."""

from __future__ import annotations

import json
import os
from base64 import b64decode
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from tokassay.engines.dat_bpe import Encoder
from tokassay.harness import cli

FOLDER = Path(str(files("tokassay.fixtures"))) / "vocab"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
TEXT = "Hello world, 1234567 naïve 漢字 don't\n\n  x"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        cli.main(["profile", *words])
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


def run_json(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code, out, _ = run(capsys, *words, "--json")
    return code, json.loads(out)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("profiles") / "gpt2.profile"
    with pytest.raises(SystemExit) as caught:
        cli.main(["profile", "build", "gpt2", "-o", str(path)])
    assert not caught.value.code
    return path


def test_a_build_encodes_as_tiktoken(built: Path) -> None:
    ranks = {b64decode(token): int(rank) for token, rank in (
        line.split() for line in (FOLDER / "r50k_base.tiktoken").read_bytes().splitlines()
    )}
    reference = tiktoken.Encoding("gpt2", pat_str=GPT2, mergeable_ranks=ranks, special_tokens={})
    encoder = Encoder.load(built)
    assert encoder.encode(TEXT).tolist() == reference.encode_ordinary(TEXT)
    assert encoder.name == "gpt2"
    assert encoder.encode(b"hello world").tolist() == [31373, 995]
    assert encoder.encode("<|endoftext|>", specials=True).tolist() == [50256]


def test_build_says_size_tokens_and_digest(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "deep" / "own.profile"
    code, told = run_json(capsys, "build", str(FOLDER / "r50k_base.tiktoken"), "--pattern", "gpt2", "-o", str(path))
    assert (code, told["path"], told["tokens"], told["exit_code"]) == (0, str(path), 50256, 0)
    assert told["size"] == path.stat().st_size
    _, verified = run_json(capsys, "verify", str(path))
    assert verified["sha256"] == told["sha256"]
    assert not [each for each in path.parent.iterdir() if each != path]


def test_a_file_that_is_there_is_not_written_over_unasked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "own.profile"
    path.write_bytes(b"mine")
    code, _, err = run(capsys, "build", "gpt2", "-o", str(path))
    assert code == 2 and "is there already; give --replace" in err and path.read_bytes() == b"mine"
    assert run_json(capsys, "build", "gpt2", "-o", str(path), "--replace")[0] == 0
    assert Encoder.load(path).encode(b"hello world").tolist() == [31373, 995]
    # What is in the cache is made anew without being asked.
    monkeypatch.setenv("TOKASSAY_CACHE", str(tmp_path))
    assert [run_json(capsys, "build", "gpt2")[0] for _ in range(2)] == [0, 0]


def test_a_file_that_is_called_as_all_are_needs_a_place(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    units = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = [chr(byte) for byte in units] + [chr(0x100 + i) for i in range(256 - len(units))]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({
        "model": {
            "type": "BPE", "vocab": {letter: i for i, letter in enumerate([*letters, "ab", "bc", "abc"])},
            "merges": ["b c", "a b", "ab c"],
        },
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}, "normalizer": None,
        "decoder": {"type": "ByteLevel"}, "added_tokens": [], "post_processor": None,
    }), encoding="utf-8")
    code, _, err = run(capsys, "build", str(path))
    assert code == 2
    assert "-o" in err
    own = tmp_path / "own.profile"
    code, told = run_json(capsys, "build", str(path), "-o", str(own))
    assert (code, told["tokens"]) == (0, 259)
    # "b c" comes first in the list: "abc" is never made of "ab" and "c".
    assert Encoder.load(own).encode(b"abc").tolist() == [letters.index("a"), 257]


def test_the_default_place_is_the_users_cache(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKASSAY_CACHE", str(tmp_path))
    code, told = run_json(capsys, "build", "gpt2", "--unicode", "17.0")
    assert (code, told["path"]) == (0, str(tmp_path / "profiles" / "gpt2-17.0.profile"))
    assert Encoder.load(told["path"]).unicode == "17.0"


def test_another_contract_has_another_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the next to open gpt2's profile would be given what was split otherwise."""
    monkeypatch.setenv("TOKASSAY_CACHE", str(tmp_path))
    ranks = str(FOLDER / "r50k_base.tiktoken")
    calls = [("gpt2",), ("gpt2", "--pattern", "cl100k"), (ranks, "--pattern", "gpt2"), (ranks, "--pattern", "cl100k")]
    told = [run_json(capsys, "build", *words)[1] for words in calls]
    digests = [each["contract"][:12] for each in told]
    assert [Path(each["path"]).name for each in told] == [
        "gpt2.profile", f"gpt2-{digests[1]}.profile", f"r50k_base-{digests[2]}.profile",
        f"r50k_base-{digests[3]}.profile",
    ]
    assert len(set(digests)) == 4  # the file names no special tokens, the encoding does


def test_a_pipe_is_no_vocabulary(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    code, _, err = run(capsys, "build", str(tmp_path / "pipe"), "--pattern", "gpt2")
    assert code == 2
    assert f"{tmp_path / 'pipe'}: no regular file" in err


def test_what_cannot_be_verified_is_not_damaged(
    capsys: pytest.CaptureFixture[str], built: Path, tmp_path: Path
) -> None:
    """1 says that a profile is damaged; of what is none, or is of another version, nothing can be said."""
    data = bytearray(built.read_bytes())
    path = tmp_path / "a.profile"
    for change, said in ((b"none", "not a profile"), (bytes(8), "not a profile"), (data[:8] + b"\x63", "version 99")):
        path.write_bytes(change + data[len(change):])
        code, out, err = run(capsys, "verify", str(path), "--json")
        assert (code, json.loads(out)["schema"]) == (2, "tokassay.error/1")
        assert said in err
    path.write_bytes(data[:-1])
    assert run(capsys, "verify", str(path))[0] == 1


def test_show(capsys: pytest.CaptureFixture[str], built: Path) -> None:
    code, told = run_json(capsys, "show", str(built))
    assert (code, told["tokens"], told["unicode"], told["version"]) == (0, 50256, "16.0", 4)
    assert told["added"] == [["<|endoftext|>", 50256, 0]]
    ends = [place["at"] + place["size"] for place in told["sections"].values()]
    assert max(ends) <= told["size"]
    assert all(place["at"] % 64 == 0 for place in told["sections"].values())
    code, out, _ = run(capsys, "show", str(built))
    assert code == 0
    assert "tokens: 50256" in out


def test_verify_finds_a_changed_byte(capsys: pytest.CaptureFixture[str], built: Path, tmp_path: Path) -> None:
    data = bytearray(built.read_bytes())
    data[len(data) // 2] ^= 1
    path = tmp_path / "changed.profile"
    path.write_bytes(data)
    code, told = run_json(capsys, "verify", str(path))
    assert (code, told["exit_code"]) == (1, 1)
    assert "SHA-256" in told["problem"]
    code, _, err = run(capsys, "verify", str(path))
    assert code == 1
    assert str(path) in err
    assert "tokassay profile build" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "absent.profile"), "No such file"),
        (("verify", "absent.profile"), "No such file"),
        (("show", str(FOLDER)), "no regular file"),
        (("show", str(FOLDER / "r50k_base.tiktoken")), "not a profile"),
        (("build", "nosuch"), "no encoding and no file is called 'nosuch'"),
        (("build", str(FOLDER / "r50k_base.tiktoken")), "--pattern"),
        (("build", "gpt2@greedy-longest"), "no profile can be made of greedy-longest"),
        (("build", "gpt2", "--unicode", "9.0"), "no tables of Unicode"),
        (("build", "gpt2", "-o", "/proc/x/y.profile"), "cannot be written"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    lines = [line for line in err.splitlines() if line.strip()]
    assert len(lines) == 1
    assert said in lines[0]
