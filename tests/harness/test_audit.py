"""The audit as a whole: sums, resuming, variants, contracts without an oracle, exit codes, the JSON object."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tokassay.harness.errors import InputError

PLANTED = Path(__file__).parents[1] / "engines" / "planted" / "planted.toml"
OPERATIONS = ("encode", "encode_batch", "decode", "offsets")
MIXED = [b"hello world", "naïve 日本語".encode(), b"", b"\xff", b"\xe0@yp", "\U000105c0x".encode(), b"a<|endoftext|>b"]


def command(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`tokassay` as a user runs it."""
    script = "from tokassay.harness.cli import main; main()"
    return subprocess.run([sys.executable, "-c", script, *words], cwd=cwd, capture_output=True, text=True, check=False)


def test_verdicts_add_up(run_audit: Callable) -> None:
    """Engines x documents x operations, in every domain, unsupported included."""
    engines = ("dat-bpe", "tiktoken", "tokenizers")
    run = run_audit(*engines, documents=MIXED, operations=OPERATIONS)
    assert run.outcome.exit_code == 0
    assert run.outcome.verdicts.total() == len(engines) * len(MIXED) * len(OPERATIONS)
    for engine in engines:
        for operation in OPERATIONS:
            assert run.verdicts(engine, operation).total() == len(MIXED)
    assert run.verdicts("tiktoken", "offsets") == {"unsupported": len(MIXED)}
    assert run.verdicts("tokenizers")["reject"] == 2


def test_digests_of_agreeing_engines_are_one(run_audit: Callable) -> None:
    run = run_audit("dat-bpe", "tiktoken", "tokenizers", documents=MIXED)
    cells = run.rows("SELECT * FROM v_cell WHERE run = ? AND domain = 'neutral'")
    assert len(cells) == 3
    assert len({c["digest"] for c in cells}) == 1
    assert all(c["digest"] == c["expected"] for c in cells)


def test_byte_policies_are_declared_and_explained(run_audit: Callable) -> None:
    """`B1 27 73`: under byte-alphabet B1 is a letter by itself; tiktoken's fallback merges across."""
    run = run_audit("dat-bpe", "tiktoken", documents=[bytes.fromhex("b12773")])
    assert run.verdicts("dat-bpe") == {"match": 1}
    assert run.verdicts("tiktoken") == {"declared": 1}
    (found,) = run.divergences("tiktoken")
    assert found["verdict"] == "declared"
    assert found["expected"] == "[109, 6, 82]"
    assert "tiktoken-bytes" in found["explanation"] and "byte-alphabet" in found["explanation"]


def test_unicode_versions_are_declared_and_explained(run_audit: Callable) -> None:
    """A letter new in 16.0 before `'s`: under 15.0 it is no letter and takes the apostrophe into its piece."""
    run = run_audit("dat-bpe", "tiktoken", documents=["\U000105c0's".encode()], variants={"unicode": "15.0"})
    assert run.verdicts("dat-bpe") == {"match": 1}
    assert run.verdicts("tiktoken") == {"declared": 1}
    (found,) = run.divergences("tiktoken")
    assert "Unicode 16.0" in found["explanation"] and "Unicode 15.0" in found["explanation"]
    assert "U+105C0" in found["explanation"]


def test_specials_on_and_off(run_audit: Callable) -> None:
    run = run_audit("dat-bpe", "tiktoken", "tokenizers", documents=[b"a<|endoftext|>b"], specials=("off", "on"))
    assert run.outcome.exit_code == 0
    assert {c["ids"] for c in run.rows("SELECT * FROM v_cell WHERE run = ?")} == {3, 9}


def test_a_second_run_asks_nothing_again(run_audit: Callable) -> None:
    documents = [*MIXED, bytes.fromhex("b12773")]
    first = run_audit("dat-bpe", "tiktoken", documents=documents, operations=OPERATIONS)
    second = run_audit("dat-bpe", "tiktoken", documents=documents, operations=OPERATIONS)
    cells = second.rows("SELECT * FROM v_cell WHERE run = ?")
    assert cells and all(c["reused"] for c in cells)
    assert second.outcome.verdicts == first.outcome.verdicts
    assert second.divergences("tiktoken") and [d["explanation"] for d in second.divergences("tiktoken")] == [
        d["explanation"] for d in first.divergences("tiktoken")
    ]


def test_another_document_asks_only_its_block_again(run_audit: Callable) -> None:
    run_audit("tiktoken", documents=MIXED)
    cells = run_audit("tiktoken", documents=[*MIXED, b"\xfe"]).rows("SELECT * FROM v_cell WHERE run = ?")
    assert {c["domain"]: c["reused"] for c in cells} == {"neutral": 1, "unicode": 1, "bytes": 0}


def test_another_contract_asked_for_is_another_key(run_audit: Callable) -> None:
    """`declared` is a difference from what was asked for: asked for the engine's own variants, it is a match."""
    documents = [b"hello", bytes.fromhex("b12773")]
    assert run_audit("tiktoken", documents=documents).verdicts("tiktoken") == {"match": 1, "declared": 1}
    own = run_audit("tiktoken", documents=documents, variants={"byte_policy": "tiktoken-bytes"})
    assert own.verdicts("tiktoken") == {"match": 2}
    assert own.divergences("tiktoken") == []


def test_an_operation_added_to_the_roster_is_asked(run_audit: Callable, tmp_path: Path) -> None:
    """A stored `unsupported` is no answer to a roster that has the operation now."""
    table = (PLANTED.read_text(encoding="utf-8").split("[one-byte]")[0]).replace(
        'adapter = "', f'adapter = "{PLANTED.parent}/'
    )
    roster = tmp_path / "roster.toml"
    roster.write_text(table.replace('["encode", "encode_batch", "decode"]', '["encode"]'), encoding="utf-8")
    asked: dict[str, Any] = {"documents": [b"hello"], "operations": ("decode",), "roster": (roster,)}
    assert run_audit("honest", **asked).verdicts("honest", "decode") == {"unsupported": 1}
    roster.write_text(table, encoding="utf-8")
    assert run_audit("honest", **asked).verdicts("honest", "decode") == {"match": 1}


def test_crashes_are_asked_again(run_audit: Callable) -> None:
    for _ in range(2):
        run = run_audit("crashes", documents=[b"a TRIGGER"])
        (cell,) = run.rows("SELECT * FROM v_cell WHERE run = ?")
        assert not cell["reused"]
        assert run.verdicts("crashes") == {"crash": 1}


def test_killed_and_run_again(tmp_path: Path) -> None:
    """kill -9 in the middle: the second run reuses every block that was finished and comes to the same digests."""
    words = [
        "audit",
        "--engine",
        "tiktoken",
        "--corpus",
        "fuzz:12000",
        "--operation",
        "encode",
        "--jobs",
        "1",
        "--json",
    ]
    whole = json.loads(command(*words, "--store", "whole.sqlite", "--out", "r1", cwd=tmp_path).stdout)
    script = "from tokassay.harness.cli import main; main()"
    store = tmp_path / "killed.sqlite"
    process = subprocess.Popen(
        [sys.executable, "-c", script, *words, "--store", str(store), "--out", "r2"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 200
    while _finished(store) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = _finished(store)
    assert done >= 2
    again = json.loads(command(*words, "--store", str(store), "--out", "r2", cwd=tmp_path).stdout)
    with sqlite3.connect(store) as db:
        reused = db.execute("SELECT SUM(reused) FROM run_result WHERE run = ?", (again["run"],)).fetchone()[0]
    assert reused == done
    assert again["digests"] == whole["digests"]
    assert again["exit_code"] == whole["exit_code"] == 0


def _finished(store: Path) -> int:
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
            return int(db.execute("SELECT COUNT(*) FROM result").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def test_digests_do_not_depend_on_jobs(run_audit: Callable) -> None:
    digests = set()
    for jobs in (1, 3):
        run = run_audit("tiktoken", corpora=("fuzz:9000",), store=f"{jobs}.sqlite", jobs=jobs)
        cells = run.rows("SELECT * FROM v_cell WHERE run = ? ORDER BY domain, ordinal")
        digests.add(tuple(c["digest"] for c in cells))
    assert len(digests) == 1


def test_json_has_one_object_of_the_published_schema(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"one\ntwo\xff\n")
    result = command("audit", "--engine", "tiktoken", "--corpus", "text@lines", "--json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    from tokassay.reports.json import schema

    jsonschema.validate(found, json.loads(schema()))
    assert found["exit_code"] == 0
    (engine,) = found["engines"]
    assert sum(engine["verdicts"].values()) == 1 * 2 * 4  # engines x documents x operations
    assert sum(sum(cell["verdicts"].values()) for cell in engine["cells"]) == 1 * 2 * 4
    assert (tmp_path / "report" / "index.html").is_file()


def test_nothing_verified_is_not_success(run_audit: Callable) -> None:
    """sentencepiece cannot serve GPT-2: every document is unsupported, and that is exit 4."""
    run = run_audit("sentencepiece", documents=[b"a", b"b"])
    assert run.outcome.verdicts == {"unsupported": 2}
    assert run.outcome.exit_code == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--engine", "tiktokn"], "did you mean tiktoken"),
        (["--suite", "smok"], "no suite named smok"),
        (["--corpus", "nowhere.txt"], "nowhere.txt"),
        (["--corpus", "fuzz:many"], "no count"),
        (["--corpus", "battery", "--corpus", "kjv"], "run: tokassay corpora fetch kjv"),
        (["--vocab", "gpt3"], "gpt3"),
        (["--contract", "bytes"], "byte policy bytes is not known"),
        (["--contract", "@14.0"], "unicode 14.0 is not known; use 8.0, 15.0, 15.1"),
        (["--operation", "encrypt"], "use encode"),
        (["--roster", "none.toml"], "none.toml"),
        (["--engine", "gigatoken"], "tokassay engines install gigatoken"),
        (["--vocab", "cut.tiktoken", "--pattern", "gpt2"], "cut.tiktoken:3"),
        (["--suite", "bad.toml"], "bad.toml"),
        (["--store", "text.sqlite"], "cannot be used as a store"),
    ],
)
def test_wrong_use_is_one_clear_line(tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "cut.tiktoken").write_bytes(b"IQ== 0\nIg== 1\nIw=")
    (tmp_path / "bad.toml").write_text("[[corpus]\n")
    (tmp_path / "text.sqlite").write_text("this is no database, though it is long enough to be looked at " * 20)
    result = command("audit", *words, cwd=tmp_path)
    assert result.returncode == 2, result.stderr
    lines = [line for line in result.stderr.splitlines() if line.startswith("tokassay: ")]
    assert len(lines) == 1 and message in lines[0]
    assert "Traceback" not in result.stderr


def test_a_declared_capability_that_is_not_there_is_a_failure(run_audit: Callable, tmp_path: Path) -> None:
    """A roster that promises offsets for an adapter without them: an error of every document, and exit 1."""
    planted = (Path(__file__).parents[1] / "engines" / "planted" / "planted.py").resolve()
    (tmp_path / "promises.toml").write_text(
        f"""[promises]
requirement = "planted"
environment = "project"
adapter = "{planted}"
algorithms = ["bpe-ranks"]
byte_policy = "tiktoken-bytes"
unicode = "16.0"
specials = ["off"]
operations = ["encode", "offsets"]
licence = "MIT"
home = "here"
options = {{ fault = "honest" }}
"""
    )
    run = run_audit("promises", documents=[b"a"], operations=("encode",), roster=(tmp_path / "promises.toml",))
    assert run.verdicts("promises") == {"error": 1}
    assert run.outcome.exit_code == 1
    assert "offsets" in run.divergences("promises")[0]["explanation"]


def test_an_unknown_engine_stops_before_the_store_has_a_run(run_audit: Callable) -> None:
    with pytest.raises(InputError):
        run_audit("nobody", documents=[b"a"])
