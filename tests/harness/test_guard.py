"""freeze and check: the first document and token on which an engine's ids changed, with an engine made for it.

The engine's ids are its document's bytes, so what must be found is worked out here, from the documents alone.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokassay.corpora.open import open_corpus
from tokassay.harness import golden_file, guard
from tokassay.harness.cli import main

SPEC = importlib.util.spec_from_file_location("guarded", Path(__file__).with_name("guarded.py"))
assert SPEC is not None and SPEC.loader is not None
guarded = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(guarded)

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run a command in this process: exit code, standard output, standard error."""

    def run(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            main([str(word) for word in words])
        except SystemExit as stop:
            out, err = capsys.readouterr()
            return int(stop.code or 0), out, err
        raise AssertionError("no exit")

    return run


@pytest.fixture
def frozen(tmp_path: Path, cli: Cli) -> Path:
    """A golden file of the engine at version 1.0 on two corpora."""
    vocabulary = guarded.tokenizer_json(tmp_path)
    path = tmp_path / "golden.json"
    code, out, _ = cli(
        "freeze", "--vocab", vocabulary, "--engine", "bytewise", "--roster", guarded.roster(tmp_path, "1.0"),
        "--corpus", "repeats", "--corpus", "versions:0", "--out", path,
    )
    assert code == 0 and f"written: {path}" in out
    return path


def check(cli: Cli, path: Path, roster: Path, *more: object) -> tuple[int, dict[str, Any]]:
    code, out, err = cli("check", path, "--roster", roster, "--json", *more)
    assert out, err
    report: dict[str, Any] = json.loads(out)
    assert report["exit_code"] == code
    return code, report


def test_the_same_engine_gives_the_same(frozen: Path, cli: Cli, tmp_path: Path) -> None:
    code, report = check(cli, frozen, guarded.roster(tmp_path, "1.0"))
    assert code == 0 and report["changes"] == [] and report["settings"] == []
    assert [row["same"] for row in report["corpora"]] == [True, True]


def test_the_frozen_ids_are_the_engines_own(frozen: Path) -> None:
    """The bytes of every document, worked out from the corpus."""
    golden = golden_file.read_golden(frozen)
    documents = [document.data for document in open_corpus("repeats").documents()]
    part = golden.corpora[0].parts[0]
    assert part.kept is not None and part.documents == len(documents) == golden.corpora[0].documents
    assert part.kept.values.tolist() == [byte for document in documents for byte in document]
    assert part.kept.counts.tolist() == [len(document) for document in documents]


def test_a_changed_id_is_named_by_its_first_document_and_token(frozen: Path, cli: Cli, tmp_path: Path) -> None:
    code, report = check(cli, frozen, guarded.roster(tmp_path, "2.0", guarded.PAIRED))
    assert code == 1
    repeats, versions = report["corpora"]
    documents = list(open_corpus("repeats").documents())
    wrong = [(number, document) for number, document in enumerate(documents) if b"oo" in document.data]
    number, document = wrong[0]
    at = document.data.index(b"oo")
    first = repeats["first"]
    assert (repeats["differ"], repeats["domains"]) == (len(wrong), {"neutral": len(wrong)})
    assert (first["number"], first["name"], first["hex"]) == (number, document.name, document.data.hex())
    assert (first["token"], first["frozen_id"], first["now_id"]) == (at, ord("o"), 1000)
    assert first["span"] == [at, at + 2]
    assert first["frozen"] == list(document.data) and first["now"] == [*document.data[:at], 1000]
    assert versions["same"] and versions["first"] is None
    assert report["changes"] == ["engine version: bytewise 1.0 is now 2.0"]
    assert "the engine's version alone changed" in report["sentence"]


def test_the_first_is_the_first_of_the_corpus_and_not_of_a_domain(cli: Cli, tmp_path: Path) -> None:
    """Domains are asked one after the other: a document that comes first in the corpus may be asked last."""
    texts, path = tmp_path / "texts.txt", tmp_path / "golden.json"
    texts.write_bytes("one\n\u1c89 oo\nooo\n\u1c8a oo\n".encode())
    roster = guarded.roster(tmp_path, "1.0")
    words = ("--vocab", guarded.tokenizer_json(tmp_path), "--engine", "bytewise", "--roster", roster)
    assert cli("freeze", *words, "--corpus", texts, "--out", path)[0] == 0
    code, report = check(cli, path, guarded.roster(tmp_path, "2.0", guarded.PAIRED))
    row = report["corpora"][0]
    assert code == 1 and row["domains"] == {"neutral": 1, "unicode": 2}
    assert (row["first"]["number"], row["first"]["domain"], row["first"]["token"]) == (1, "unicode", 4)


def test_the_words_say_it_too(frozen: Path, cli: Cli, tmp_path: Path) -> None:
    code, out, _ = cli("check", frozen, "--roster", guarded.roster(tmp_path, "2.0", guarded.PAIRED))
    assert code == 1
    assert "token 0: id 111 is now 1000" in out and "hex   6f 6f" in out and "bytes 0..2: 6f 6f" in out
    assert "versions:0" in out and "as frozen" in out


def test_code_points_that_versions_class_differently_are_named(frozen: Path, cli: Cli, tmp_path: Path) -> None:
    """U+1C89 is unassigned before 16.0: in the tables of the Unicode Character Database, not by the code under test."""
    ids = "list(item.replace(chr(0x1c89).encode(), b'?'))"
    code, out, _ = cli("check", frozen, "--roster", guarded.roster(tmp_path, "2.0", ids))
    assert code == 1
    assert "U+1C89 is Cn in 15.0, Cn in 15.1, Lu in 16.0, Lu in 17.0" in out
    assert "each of them holds a code point that Unicode versions from 15.0 on class differently" in out


def test_another_version_with_the_same_ids_agrees_and_says_so(frozen: Path, cli: Cli, tmp_path: Path) -> None:
    code, report = check(cli, frozen, guarded.roster(tmp_path, "1.1"))
    assert code == 0 and report["changes"] == ["engine version: bytewise 1.0 is now 1.1"]


def test_a_document_that_fails_now_differs(frozen: Path, cli: Cli, tmp_path: Path) -> None:
    fails = "assert item != b'nooo', 'planted'"
    code, report = check(cli, frozen, guarded.roster(tmp_path, "1.1", fails=fails))
    first = report["corpora"][0]["first"]
    assert code == 1 and report["corpora"][0]["differ"] == 1
    assert (first["text"], first["endings"]) == ("'nooo'", ["ids", "failure"]) and "planted" in first["detail"]


def test_a_document_that_ends_the_process_differs(frozen: Path, cli: Cli, tmp_path: Path) -> None:
    fails = "import os; item != b'nooo' or os._exit(3)"
    code, report = check(cli, frozen, guarded.roster(tmp_path, "1.1", fails=fails))
    first = report["corpora"][0]["first"]
    assert (code, first["text"], first["endings"]) == (1, "'nooo'", ["ids", "failure"]) and "crash" in first["detail"]


def test_what_another_engine_refuses_is_counted_apart(frozen: Path, cli: Cli, tmp_path: Path) -> None:
    roster = guarded.roster(tmp_path, "1.0", name="ascii-only", prepare="document.decode('ascii').encode()")
    code, report = check(cli, frozen, roster, "--engine", "ascii-only")
    documents = [document.data for document in open_corpus("repeats").documents()]
    assert code == 0 and report["corpora"][0]["refused"] == sum(not data.isascii() for data in documents)
    assert report["changes"] == ["engine: bytewise 1.0 is now ascii-only 1.0"]


def test_the_same_engine_must_not_begin_to_refuse(frozen: Path, cli: Cli, tmp_path: Path) -> None:
    roster = guarded.roster(tmp_path, "1.1", prepare="document.decode('ascii').encode()")
    code, report = check(cli, frozen, roster)
    assert code == 1 and report["corpora"][0]["first"]["endings"] == ["ids", "reject"]


def test_both_files_may_move_together(frozen: Path, cli: Cli, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("golden.json", "tokenizer.json"):
        (tmp_path / name).rename(moved / name)
    assert check(cli, moved / "golden.json", guarded.roster(tmp_path, "1.0"))[0] == 0
    (moved / "tokenizer.json").unlink()
    code, _, err = cli("check", moved / "golden.json", "--roster", guarded.roster(tmp_path, "1.0"))
    assert code == 2 and "vocabulary.given" in err and "--vocab" in err


def test_two_freezes_are_one_file(frozen: Path, cli: Cli, tmp_path: Path) -> None:
    again = tmp_path / "again.json"
    words = ("--vocab", tmp_path / "tokenizer.json", "--engine", "bytewise", "--roster", tmp_path / "bytewise-1.0.toml")
    assert cli("freeze", *words, "--corpus", "repeats", "--corpus", "versions:0", "--out", again)[0] == 0
    assert again.read_bytes() == frozen.read_bytes()


def test_a_file_is_not_replaced_unasked_and_a_bad_path_is_told(frozen: Path, cli: Cli, tmp_path: Path) -> None:
    words = ("--vocab", tmp_path / "tokenizer.json", "--engine", "bytewise", "--roster", tmp_path / "bytewise-1.0.toml",
             "--corpus", "repeats")
    before = frozen.read_bytes()
    code, _, err = cli("freeze", *words, "--out", frozen)
    assert code == 2 and "is there already" in err and "--replace" in err and frozen.read_bytes() == before
    for out in (tmp_path / "no" / "folder.json", tmp_path):
        code, _, err = cli("freeze", *words, "--out", out)
        assert code == 2 and str(out) in err and "Traceback" not in err
    assert cli("freeze", *words, "--out", frozen, "--replace")[0] == 0
    assert len(golden_file.read_golden(frozen).corpora) == 1
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".golden")]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "--out"),
        (("--out", "x.json"), "--vocab"),
        (("--out", "x.json", "--vocab", "gpt2", "--embedded"), "--vocab"),
        (("--out", "x.json", "--vocab", "gpt2", "--engine", "tokeniser"), "did you mean tokenizers"),
        (("--out", "x.json", "--vocab", "gpt2", "--engine", "tokenizers==0.0.1"), "engines install tokenizers==0.0.1"),
        (("--out", "x.json", "--vocab", "gpt2", "--engine", "sentencepiece"), "does not serve"),
        (("--out", "x.json", "--vocab", "gpt2", "--engine", "tiktoken", "--corpus", "batery"), "battery"),
    ],
)  # fmt: skip
def test_wrong_use(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = cli("freeze", *words)
    assert code == 2 and told in err and not list(tmp_path.iterdir())


def test_a_corpus_that_is_another_one_is_no_result(cli: Cli, tmp_path: Path) -> None:
    """Ids of other documents say nothing: exit 5, not 1."""
    texts = tmp_path / "texts.txt"
    texts.write_bytes(b"one\ntwo\n")
    roster, path = guarded.roster(tmp_path, "1.0"), tmp_path / "golden.json"
    words = ("--vocab", guarded.tokenizer_json(tmp_path), "--engine", "bytewise", "--roster", roster)
    assert cli("freeze", *words, "--corpus", f"{texts}@lines", "--out", path)[0] == 0
    assert check(cli, path, roster)[0] == 0
    for other in (b"one\ntvo\n", b"one\ntwo\nthree\n", b"one\n"):
        texts.write_bytes(other)
        code, _, err = cli("check", path, "--roster", roster)
        assert code == 5 and "is not the one that was frozen" in err, err


def test_a_version_that_is_not_the_one_asked_for_is_refused(frozen: Path, cli: Cli, tmp_path: Path) -> None:
    """The roster's own pin is the project's environment: what is installed there decides, and is asked."""
    roster = guarded.roster(tmp_path, "3.0")
    roster.write_text(roster.read_text().replace('"bytewise"\n', '"bytewise==9.9"\n', 1))
    code, _, err = cli("check", frozen, "--roster", roster, "--engine", "bytewise==9.9")
    assert code == 2 and "it says that it is 3.0" in err


def test_ids_past_the_limit_are_kept_as_digests(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokassay.harness.guard_ask.KEPT", 100)
    path, roster = tmp_path / "golden.json", guarded.roster(tmp_path, "1.0")
    words = ("--vocab", guarded.tokenizer_json(tmp_path), "--engine", "bytewise", "--roster", roster)
    code, out, _ = cli("freeze", *words, "--corpus", "repeats", "--out", path)
    assert code == 0 and "digest only" in out and path.stat().st_size < 4000
    assert check(cli, path, roster)[0] == 0
    code, out, _ = cli("check", path, "--roster", guarded.roster(tmp_path, "2.0", guarded.PAIRED))
    assert code == 1 and "its ids were not kept" in out


def test_special_tokens_are_frozen_where_there_are_any(cli: Cli, tmp_path: Path) -> None:
    """By default: the added tokens of a file that is not modelled, matched and not matched."""
    path, roster = tmp_path / "golden.json", guarded.roster(tmp_path, "1.0")
    code, out, _ = cli("freeze", "--vocab", guarded.tokenizer_json(tmp_path), "--engine", "bytewise", "--roster",
                       roster, "--out", path)  # fmt: skip
    assert code == 0 and f"{guard.WITH_SPECIALS} +specials" in out
    assert [corpus.spec for corpus in golden_file.read_golden(path).corpora] == [*guard.CORPORA, guard.WITH_SPECIALS]
    ids = "[1000] if self.specials == 'on' and b'<s>' in item else list(item)"
    code, report = check(cli, path, guarded.roster(tmp_path, "2.0", ids))
    assert code == 1 and [row["corpus"] for row in report["corpora"] if not row["same"]] == [guard.WITH_SPECIALS]


def test_a_file_that_contradicts_itself_is_refused(frozen: Path, cli: Cli, tmp_path: Path) -> None:
    """Digests of other ids than are kept: neither can be believed."""
    value = json.loads(frozen.read_text())
    part = value["corpora"][0]["parts"][0]
    part["blocks"] = ["0" * 64] * len(part["blocks"])
    part["digest"] = hashlib.sha256(bytes(32 * len(part["blocks"]))).hexdigest()
    frozen.write_text(json.dumps(value))
    code, _, err = cli("check", frozen, "--roster", guarded.roster(tmp_path, "1.0"))
    assert code == 2 and "contradict each other" in err


def test_without_an_engine_the_formats_own_is_asked(cli: Cli, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_bytes(b"hello world\n")
    code, out, err = cli("freeze", "--vocab", "gpt2", "--corpus", texts, "--out", tmp_path / "g.json", "--json")
    assert code == 0, err
    assert json.loads(out)["engine"]["name"] == "tiktoken"
    assert golden_file.read_golden(tmp_path / "g.json").corpora[0].parts[0].kept.values.tolist() == [31373, 995]


def test_a_changed_vocabulary_file_is_told_and_ids_decide(frozen: Path, cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()), indent=1))
    code, report = check(cli, frozen, guarded.roster(tmp_path, "1.0"))
    assert code == 0 and len(report["changes"]) == 1 and "vocabulary file" in report["changes"][0]


def test_spans_of_a_library_that_counts_characters_are_bytes(cli: Cli, tmp_path: Path) -> None:
    """tokenizers itself, on a file that is not modelled: `cd` gets another id, and lies at bytes 6..8, characters 5..7.

    Its tokens are told by the file.
    """
    model = {"type": "WordLevel", "vocab": {"é": 0, "ab": 1, "cd": 2, "?": 3}, "unk_token": "?"}
    more: dict[str, Any] = {
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "decoder": None,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "added_tokens": [],
    }
    vocabulary = guarded.tokenizer_json(tmp_path, model=model, **more)
    texts, path = tmp_path / "texts.txt", tmp_path / "golden.json"
    texts.write_text("é ab cd\n", encoding="utf-8")
    assert cli("freeze", "--vocab", vocabulary, "--corpus", texts, "--out", path)[0] == 0
    assert golden_file.read_golden(path).corpora[0].parts[0].kept.values.tolist() == [0, 1, 2]
    model["vocab"] = {"é": 0, "ab": 1, "cd": 3, "?": 2}
    guarded.tokenizer_json(tmp_path, model=model, **more)
    code, out, _ = cli("check", path, "--json")
    report = json.loads(out)
    first = report["corpora"][0]["first"]
    assert (code, first["token"], first["frozen_id"], first["now_id"], first["span"]) == (1, 2, 2, 3, [6, 8])
    assert (first["frozen_token"], first["now_token"]) == ("?", "cd")  # by the file as it is now
    assert "vocabulary file" in report["changes"][0]
    assert [change["name"] for change in report["settings"]] == ["tokenizer.json: model.vocab"]


def test_a_modelled_vocabulary_shows_its_tokens(cli: Cli, tmp_path: Path) -> None:
    """Two engines of the roster that differ by design: tiktoken and greedy-longest are not one algorithm, so the
    ids of GPT-2 by tiktoken are held to a planted engine of the same contract that is wrong on one byte."""
    planted = Path(__file__).parents[1] / "engines" / "planted" / "planted.toml"
    path, texts = tmp_path / "golden.json", tmp_path / "texts.txt"
    texts.write_bytes(b"hello world\nan ~ tilde\n")
    code, _, err = cli("freeze", "--vocab", "gpt2", "--engine", "tiktoken", "--corpus", f"{texts}@lines", "--out", path)
    assert code == 0, err
    code, out, _ = cli("check", path, "--engine", "one-byte", "--roster", planted)
    assert code == 1, out
    assert "[ ~]" in out


def test_without_a_file_the_embedded_digests_are_checked(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokassay.harness.golden.VOCABULARIES", ("gpt2",))
    code, out, _ = cli("check", "--engine", "dat-bpe")
    assert code == 0 and out.count("as frozen") == 4
    frozen = json.loads(json.dumps(__import__("tokassay.harness.golden").harness.golden.frozen()))
    frozen["vocabularies"]["gpt2"]["battery"]["neutral"]["digest"] = "0" * 64
    monkeypatch.setattr("tokassay.harness.golden.frozen", lambda: frozen)
    code, out, _ = cli("check", "--engine", "dat-bpe", "--json")
    assert code == 1 and [row["same"] for row in json.loads(out)["digests"]] == [False, True, True, True]


def test_texts_of_a_project_move_with_the_file(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path is written as seen from the golden file, wherever freeze and check are called from."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_bytes(b"one\ntwo\n")
    roster = guarded.roster(tmp_path, "1.0")
    guarded.tokenizer_json(tmp_path)
    words = ("--vocab", "tokenizer.json", "--engine", "bytewise", "--roster", roster, "--corpus", "texts/a.txt")
    assert cli("freeze", *words, "--out", "golden.json")[0] == 0
    assert golden_file.read_golden(Path("golden.json")).corpora[0].spec == "texts/a.txt"
    monkeypatch.chdir("/")
    assert check(cli, tmp_path / "golden.json", roster)[0] == 0
