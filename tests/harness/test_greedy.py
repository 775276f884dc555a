"""The contract `greedy-longest` from a vocabulary's name to verdicts: other tokens' algorithm, CRAY files, faults."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from tokassay.engines.dat_greedy.profiles import build_profile
from tokassay.harness import vocab_cray
from tokassay.harness.cli import main
from tokassay.harness.contract import Contract
from tokassay.harness.errors import InputError
from tokassay.harness.expect import own_bytes
from tokassay.harness.load import load_vocabulary, under
from tokassay.harness.materialize import materialize
from tokassay.harness.suites import load_suite, narrowed
from tokassay.oracles.firstfit import file_bytes, first_fit

BYTES = {bytes([byte]): byte for byte in range(256)}
FEW = {b"a": 0, b"b": 1, b"ab": 2}
MIXED = [b"hello world", "naïve 日本語".encode(), b"", b"\xff", b"\xe0@yp", b"\0\0", b"a" * 3000]
OPERATIONS = ("encode", "encode_batch", "decode", "offsets")
GREEDY = "gpt2@greedy-longest"


@pytest.fixture
def cray(tmp_path: Path) -> Callable[[dict[bytes, int]], Path]:
    def write(tokens: dict[bytes, int]) -> Path:
        path = tmp_path / "vocab.dat"
        path.write_bytes(file_bytes(*first_fit(tokens)))
        return path

    return write


def test_a_known_vocabulary_under_the_algorithm() -> None:
    ranks, greedy = load_vocabulary("gpt2"), load_vocabulary(GREEDY)
    assert greedy.contract.to_json() | {"pretokenizer": []} == {
        **ranks.contract.to_json(), "algorithm": "greedy-longest", "pretokenizer": [], "byte_policy": "raw",
    }
    assert (greedy.name, greedy.vocabulary.tokens) == (GREEDY, ranks.vocabulary.tokens)
    assert load_vocabulary("r50k_base@greedy-longest").contract == greedy.contract


def test_files_under_the_algorithm(tmp_path: Path, cray: Callable[..., Path]) -> None:
    path = tmp_path / "ranks.tiktoken"
    path.write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(token), number) for token, number in BYTES.items()))
    loaded = load_vocabulary(f"{path}@greedy-longest")  # needs no pattern
    assert (loaded.contract.algorithm, loaded.vocabulary.tokens) == ("greedy-longest", BYTES)
    with pytest.raises(InputError, match="has no pretokenizer"):
        load_vocabulary(f"{path}@greedy-longest", pattern="gpt2")
    as_cray = load_vocabulary(cray(BYTES))
    assert as_cray.contract == loaded.contract
    assert load_vocabulary(f"{as_cray.source_path}@greedy-longest").contract == loaded.contract
    (tmp_path / "tokenizer.json").write_text('{"model": {"type": "WordLevel", "vocab": {}}}', encoding="utf-8")
    with pytest.raises(InputError, match="tokens of this file are not known"):
        load_vocabulary(f"{tmp_path / 'tokenizer.json'}@greedy-longest")


def test_an_at_sign_that_names_no_algorithm(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="gpt2@greedy"):
        load_vocabulary("gpt2@greedy")
    assert under(None, ("a", "b")) == ("a", "b")
    assert under("greedy-longest", ("a", "b.dat")) == ("a@greedy-longest", "b.dat@greedy-longest")
    with pytest.raises(InputError, match="under 'bpe-ranks'"):
        under("bpe-ranks", ("a",))


def test_a_cray_file_as_a_vocabulary(cray: Callable[..., Path]) -> None:
    loaded = load_vocabulary(cray(BYTES | {b"ab\xff": 70_000, b"ab": 300}))
    assert loaded.vocabulary.tokens == BYTES | {b"ab": 300, b"ab\xff": 70_000}
    assert (loaded.format, loaded.contract.algorithm, loaded.contract.byte_policy) == ("cray", "greedy-longest", "raw")
    assert (loaded.contract.unknown, loaded.notes, own_bytes(loaded.contract)) == (None, [], True)


def test_a_cray_file_that_lacks_bytes(cray: Callable[..., Path]) -> None:
    loaded = load_vocabulary(cray(FEW))
    assert loaded.contract.unknown == 1
    assert "byte 0x00 has no token" in loaded.notes[0]
    assert loaded.contract.to_json()["unknown"] == 1 and not own_bytes(loaded.contract)
    assert Contract.from_json(loaded.contract.to_json()) == loaded.contract


def test_a_contract_without_an_unknown_id_has_the_form_that_it_had() -> None:
    assert "unknown" not in Contract("bpe-ranks", "00" * 32).to_json()
    for value in ("1", True, 1.5):
        with pytest.raises(InputError, match="unknown is"):
            Contract.from_json({"algorithm": "greedy-longest", "vocabulary": "0", "unknown": value})


WHOLE = file_bytes(*first_fit(FEW))
TWICE = first_fit(FEW)
TWICE[2][98] = 1


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (WHOLE[:10], "shorter than its header"),
        (WHOLE[:4] + struct.pack("<I", 3) + WHOLE[8:], "version 3"),
        (WHOLE[:-1], "do not hold 102 slots"),
        (WHOLE[:8] + struct.pack("<I", 0) + WHOLE[12:], "do not hold 0 slots"),
        (file_bytes(*TWICE), "id 1 stands for two tokens"),
    ],
    ids=range(5),
)
def test_cray_files_that_are_refused(data: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        vocab_cray.parse(data, "here")


def test_the_reader_enters_no_circle() -> None:
    base, check, values = [1, 0, 0], [1, 0, -1], [-1, 4, -1]
    base[1] = -5  # the root is no step of its child
    assert vocab_cray.parse(file_bytes(base, check, values), "here").settled.vocabulary.tokens == {b"\0": 4}  # type: ignore[union-attr]


def test_the_files_that_engines_load(tmp_path: Path, cray: Callable[..., Path]) -> None:
    loaded = load_vocabulary(cray(FEW))
    paths = materialize(loaded, loaded.contract, tmp_path / "cache")
    assert paths["dat"] == paths["source"] == str(loaded.source_path)
    greedy = load_vocabulary(GREEDY)
    made = materialize(greedy, greedy.contract, tmp_path / "cache")
    assert sorted(made) == ["dat", "rwkv", "source", "tiktoken"]
    assert load_vocabulary(made["rwkv"]).vocabulary.tokens == greedy.vocabulary.tokens
    assert "rwkv" not in paths  # it has no token for most bytes, and no id for a byte without one
    assert load_vocabulary(made["dat"]).vocabulary.tokens == greedy.vocabulary.tokens


def test_the_audit_of_our_engine(run_audit: Callable[..., Any]) -> None:
    run = run_audit("dat-greedy", documents=MIXED, operations=OPERATIONS, vocabulary=GREEDY)
    assert run.outcome.exit_code == 0
    for operation in OPERATIONS:
        assert run.verdicts("dat-greedy", operation) == {"match": len(MIXED)}


def test_the_audit_of_a_file_that_lacks_bytes(run_audit: Callable[..., Any], cray: Callable[..., Path]) -> None:
    run = run_audit("dat-greedy", documents=MIXED, operations=OPERATIONS, vocabulary=str(cray(FEW)))
    assert run.outcome.exit_code == 0
    for operation in ("encode", "encode_batch", "decode"):
        assert run.verdicts("dat-greedy", operation) == {"match": len(MIXED)}
    assert run.verdicts("dat-greedy", "offsets") == {"unsupported": len(MIXED)}


FAULTY = """
[faulty]
requirement = "tokassay"
environment = "project"
adapter = "faulty.py"
algorithms = ["greedy-longest"]
byte_policy = "raw"
unicode = "asked"
specials = ["off"]
operations = ["encode"]
licence = "MIT"
home = "here"
"""
ADAPTER = """
import struct

class Adapter:
    name, operations, rejects = "faulty", ("encode",), ()

    def version(self):
        return "1"

    def load(self, contract, files, threads, options):
        import base64
        rows = [line.split() for line in open(files["tiktoken"], "rb")]
        self.tokens = {base64.b64decode(token): int(number) for token, number in rows}

    def prepare(self, document):
        return document

    def encode(self, item):
        ids, at = [], 0
        while at < len(item):
            # The fault: a walk that fails gives the shortest token and not the longest.
            width = next(w for w in range(1, 99) if item[at:at + w] in self.tokens)
            ids.append(self.tokens[item[at:at + width]])
            at += width
        return ids
"""


def test_a_planted_fault_is_found(run_audit: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "faulty.toml").write_text(FAULTY)
    (tmp_path / "faulty.py").write_text(ADAPTER)
    run = run_audit(
        "dat-greedy", "faulty", documents=MIXED, vocabulary=GREEDY, roster=(tmp_path / "faulty.toml",)
    )
    assert run.outcome.exit_code == 1
    assert run.verdicts("dat-greedy") == {"match": len(MIXED)}
    # Right where no token is longer than a byte: the empty document, and ill-formed bytes that stand alone.
    assert run.verdicts("faulty") == {"match": 3, "differ": len(MIXED) - 3}
    assert all(GREEDY in found["command"] for found in run.divergences("faulty"))


def test_engines_that_serve_the_algorithm_join_where_none_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.txt").write_bytes(b"hello world\n\xff")

    def audit(*words: str) -> tuple[int, dict[str, Any]]:
        with pytest.raises(SystemExit) as done:
            main(["audit", "--corpus", "x.txt", "--jobs", "1", "--json", *words])
        return int(str(done.value.code)), json.loads(capsys.readouterr().out)

    code, found = audit("--vocab", "gpt2", "--algorithm", "greedy-longest")
    assert (code, [each["name"] for each in found["engines"]]) == (0, ["dat-greedy"])
    assert any("greedy-longest is served by dat-greedy and not dat-bpe" in note for note in found["notes"])
    code, found = audit("--vocab", GREEDY, "--engine", "dat-bpe")
    assert (code, [each["name"] for each in found["engines"]]) == (4, ["dat-bpe"])
    assert set(found["verdicts"]) == {"unsupported"}


def test_only_the_engines_of_a_named_suite_give_way(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('[[corpus]]\nspec = "battery"\n')
    assert [load_suite(name).chosen for name in ("smoke", "standard", str(own))] == [False, False, True]
    assert narrowed(load_suite("smoke"), engines=("tiktoken",)).chosen
    assert not narrowed(load_suite("smoke"), vocabularies=("gpt2",)).chosen


def test_encode_and_diff_take_the_name(capsys: pytest.CaptureFixture[str]) -> None:
    for engine in ("dat-greedy", "oracle"):
        with pytest.raises(SystemExit):
            main(["encode", "--engine", engine, "--vocab", GREEDY, "--text", "hello world"])
        assert capsys.readouterr().out == "31373 995\n"
    with pytest.raises(SystemExit) as done:
        main(["diff", "dat-greedy", "oracle", "--vocab", GREEDY, "--hex", "ff20e0"])
    assert done.value.code in (0, None)


def test_engines_check_tries_greedy_engines(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["engines", "check", "dat-greedy", "--json"])
    row = json.loads(capsys.readouterr().out)["engines"][0]
    assert (done.value.code, row["ok"], row["ids"]) == (0, True, [31373, 995])


def test_the_standard_profile_is_a_vocabulary(tmp_path: Path) -> None:
    path = build_profile("lite", tmp_path)
    expected = {
        base64.b64decode(token): int(number)
        for token, number in map(bytes.split, (files("tokassay.fixtures") / "vocab" / "r50k_base.tiktoken")
                                 .read_bytes().splitlines())
    }
    assert load_vocabulary(path).vocabulary.tokens == expected
