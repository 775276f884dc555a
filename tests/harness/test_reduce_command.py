"""`tokassay reduce`: two engines, a divergence of a store, or a command; and what an audit makes of its divergences."""

from __future__ import annotations

import json
import random
import shlex
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tokassay.harness.cli import main
from tokassay.harness.differ import Side
from tokassay.harness.pool import HostPool
from tokassay.harness.question import Command

STAGES = Path(__file__).parents[1] / "engines" / "planted" / "stages.toml"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["reduce", *words])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


@pytest.fixture
def check(tmp_path: Path) -> Callable[[str], str]:
    """A command that runs a Python expression over the bytes `d` of the document and ends with its value."""

    def write(expression: str) -> str:
        path = tmp_path / "check.py"
        path.write_text(f"import sys, os, time\nd = open(sys.argv[-1], 'rb').read()\nsys.exit({expression})\n")
        return shlex.join([sys.executable, "-S", str(path)])

    return write


def test_a_unicode_difference_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """U+1C89, a letter since Unicode 16.0, ends its piece before a contraction; unassigned, it takes the apostrophe."""
    words = ("oracle@15.0", "oracle", "--vocab", "gpt2", "--text", "abc \u1c89's d", "--json")
    code, out, _ = run(capsys, *words)
    value = json.loads(out)
    assert (code, value["outcome"], value["complete"]) == (1, "reduced", True)
    assert bytes.fromhex(value["minimal"]) == "\u1c89's".encode()
    assert (value["left"]["ids"], value["right"]["ids"]) == ([157, 110, 231, 6, 82], [157, 110, 231, 338])
    assert (value["difference"]["stage"], value["difference"]["known"]) == ("classify", "traced")
    (change,) = value["changes"]
    assert change["field"] == "unicode" and "U+1C89 is Cn in 15.0, Lu in 16.0" in change["sentence"]
    assert value["command"] == "tokassay diff oracle@15.0 oracle --vocab gpt2 --hex e1b2892773"


def test_the_answer_for_a_person(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out_file = tmp_path / "smallest"
    code, out, _ = run(capsys, "oracle", "oracle:reject", "--hex", "616263ff646566", "-o", str(out_file))
    lines = out.splitlines()
    assert code == 1
    assert lines[0].startswith("reduced: 7 bytes to 1 in ")
    assert lines[1:3] == ["minimal  80", "as text  [\\x80]"]
    assert any(line.startswith("first differing decision (inferred): scan: ") for line in lines)
    assert any(line.startswith("by contract: ") and "the byte policy" in line for line in lines)
    assert lines[-1] == "show it: tokassay diff oracle oracle:reject --vocab gpt2 --hex 80"
    assert out_file.read_bytes() == b"\x80"


def test_nothing_to_reduce_and_nothing_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "oracle", "oracle", "--text", "a")[0] == 0
    code, out, _ = run(capsys, "oracle", "sentencepiece", "--text", "a")
    assert (code, out.splitlines()[-1]) == (4, "nothing was compared: a side cannot take part")


def test_a_commands_exit_status(
    capsys: pytest.CaptureFixture[str], check: Callable[[str], str], tmp_path: Path
) -> None:
    """0 is interesting unless --status says otherwise; the file itself is left alone."""
    path = tmp_path / "hay.txt"
    path.write_bytes(b"hay needle hay")
    code, out, _ = run(capsys, "--run", check("0 if b'needle' in d else 1"), str(path))
    assert (code, out.splitlines()[1]) == (0, "minimal  6e 65 65 64 6c 65")
    assert path.read_bytes() == b"hay needle hay"
    code, out, _ = run(capsys, "--run", check("3 if b'x' in d else 0"), "--status", "3", "--text", "a x b", "--json")
    value = json.loads(out)
    assert (code, value["minimal"], value["signature"]) == (0, b"x".hex(), "exit status 3")


@pytest.mark.parametrize(
    ("expression", "status"), [("os.abort() if b'x' in d else 0", "-6"), ("time.sleep(60 * (b'x' in d))", "timeout")]
)
def test_a_command_that_falls_or_hangs(
    capsys: pytest.CaptureFixture[str], check: Callable[[str], str], expression: str, status: str
) -> None:
    words = ("--run", check(expression), "--status", status, "--text", "ax", "--timeout", "3", "--json")
    code, out, _ = run(capsys, *words)
    assert (code, json.loads(out)["minimal"]) == (0, b"x".hex())


def test_a_command_that_does_not_end_so(capsys: pytest.CaptureFixture[str], check: Callable[[str], str]) -> None:
    """It is said how it ended instead."""
    asked = "the command does not end with 0 on this document"
    for expression, ended in (
        ("7", "status 7"), ("os.kill(os.getpid(), 9)", "signal SIGKILL (-9)"), ("time.sleep(60)", "not within 0.5 s")
    ):
        code, out, _ = run(capsys, "--run", check(expression), "--text", "abc", "--timeout", "0.5")
        assert (code, out) == (4, f"{asked}: {ended}; --status names what is interesting\n")


def test_what_a_command_starts_is_ended_with_it(
    capsys: pytest.CaptureFixture[str], check: Callable[[str], str], tmp_path: Path
) -> None:
    """Where it hangs, and where it leaves a child behind, which must not be waited for either."""
    pids = tmp_path / "pids"
    start = f"os.system('sleep 600 & echo $! >> {pids}')"
    for rest in ("or time.sleep(60)", "or 0"):
        words = ("--run", check(f"{start} {rest}"), "--status", "timeout", "--text", "abc", "--timeout", "2")
        run(capsys, *words, "--seconds", "0")
    found = [int(pid) for pid in pids.read_text().split()]
    assert len(found) >= 6
    deadline = time.monotonic() + 20  # on a loaded machine a killed process takes its turn to die
    while any(map(_runs, found)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for pid in found if _runs(pid)] == []


def _runs(pid: int) -> bool:
    """Whether a process is there and not just waiting to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("engines", [True, False])
def test_what_cannot_be_written_is_told_before_the_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, engines: bool
) -> None:
    path = tmp_path / "document"
    path.write_bytes(b"a\xff")
    words = ["oracle", "oracle:reject", "--file", str(path)] if engines else ["--run", "true", str(path)]
    for out_file, told in ((tmp_path, "is a directory"), (tmp_path / "no" / "file", "no such folder")):
        code, out, err = run(capsys, *words, "-o", str(out_file))
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert told in err
    code, out, err = run(capsys, *words, "-o", str(path))
    assert (code, out) == (2, "")
    assert "that is the document itself" in err
    assert path.read_bytes() == b"a\xff"


@pytest.mark.parametrize("json_asked", [True, False])
def test_a_result_that_could_not_be_written_is_shown(
    capsys: pytest.CaptureFixture[str], check: Callable[[str], str], tmp_path: Path, json_asked: bool
) -> None:
    """The folder goes away while the reduction goes on."""
    folder = tmp_path / "folder"
    folder.mkdir()
    command = check(f"(os.path.isdir({str(folder)!r}) and os.rmdir({str(folder)!r})) or b'x' not in d")
    words = ["--run", command, "--text", "a x b", "-o", str(folder / "file"), *(["--json"] if json_asked else [])]
    code, out, err = run(capsys, *words)
    assert (code, err.count("\n")) == (2, 1)
    assert "no such file or directory" in err
    assert (json.loads(out)["minimal"] == "78") if json_asked else ("minimal  78" in out)


def test_an_interrupted_reduction_shows_what_it_has(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out_file = tmp_path / "smallest"

    def ask(question: Command, document: bytes) -> str | None:
        if len(document) == 4:
            raise KeyboardInterrupt
        return "exit status 0" if b"x" in document else None

    monkeypatch.setattr(Command, "__call__", ask)
    code, out, _ = run(capsys, "--run", "true", "--text", "abcdefghixyzvwrs", "-o", str(out_file))
    assert code == 130
    assert out.startswith("reduced: 16 bytes to 8 in ")
    assert "; it was interrupted, so it may not be the smallest\nminimal  69 78 79 7a" in out
    assert out_file.read_bytes() == b"ixyzvwrs"
    code, out, err = run(capsys, "--run", "true", "--text", "abcd")
    assert (code, out, err) == (130, "", "tokassay: interrupted\n")


def test_two_engines_interrupted(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """No host is left with half an answer: the smallest document is asked once more, and shown."""
    one, count = HostPool.ask, 0

    def ask(pool: HostPool, document: bytes, **options: bool) -> Side:
        nonlocal count
        count += 1
        if count == 15:
            pool._ready().encode = _interrupts  # type: ignore[method-assign]
        return one(pool, document, **options)

    monkeypatch.setattr(HostPool, "ask", ask)
    code, out, _ = run(capsys, "oracle", "oracle:reject", "--hex", "61626364656667ff6869")
    assert code == 130
    assert "; it was interrupted, so it may not be the smallest" in out
    assert "oracle:reject" in out.splitlines()[-1]


def test_what_takes_the_oracle_too_long_is_not_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Its own limit is a quarter of an hour."""
    start = time.monotonic()
    document = random.Random(1).randbytes(3_000_000)
    with tempfile.NamedTemporaryFile() as file:
        file.write(document)
        file.flush()
        code, out, _ = run(capsys, "dat-bpe", "oracle", "--file", file.name, "--seconds", "1")
    assert code == 4
    assert out.startswith("not reduced: the time was up before 3,000,000 bytes were asked as often as they must be")
    assert time.monotonic() - start < 60


def _interrupts(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["oracle", "--text", "a"], "two engines are compared"),
        (["oracle", "oracl", "--text", "a"], "did you mean oracle?"),
        (["oracle", "oracle", "--text", "a", "--operation", "decode"], "decode cannot be reduced"),
        (["a", "b", "--run", "true"], "--run stands alone"),
        (["oracle", "--divergence", "1"], "--divergence names both engines"),
        (["--divergence", "first"], "'first' names no divergence"),
        (["--divergence", "1", "--store", "nowhere.sqlite"], "there is no store here"),
        (["--run", "true", "nowhere.txt"], "nowhere.txt: no such file"),
        (["--run", "./nowhere.sh", "--text", "a"], "./nowhere.sh"),
        (["--run", "true", "--text", "a", "--status", "abc"], "'abc' is no exit status"),
        (["--run", "true", "--text", "a", "--status", "300"], "'300' is no exit status"),
        (["--run", "true", "--text", "a", "--status", "-65"], "'-65' is no exit status"),
        (["--run", "true", "file.txt", "--text", "a"], "file.txt was given beside another document"),
        (["--run", "true", "file.txt", "--hex", "61"], "file.txt was given beside another document"),
    ],
)
def test_a_wrong_use_is_one_clear_line(capsys: pytest.CaptureFixture[str], words: list[str], told: str) -> None:
    code, out, err = run(capsys, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert told in err


# -- in an audit --------------------------------------------------------------------------------------------------


def test_an_audit_makes_its_divergences_minimal(run_audit: Callable, capsys: pytest.CaptureFixture[str]) -> None:
    """One row a failing divergence, which `reduce --divergence` can start from; the honest engine has none."""
    documents = [b"some text", b"before ~ after", b"more TRIGGER text"]
    found = run_audit("honest", "one-byte", "raises", documents=documents, reduce_s=240.0)
    rows = {row["left"]: row for row in found.rows("SELECT * FROM v_reduction WHERE run = ?")}
    smallest = {name: bytes.fromhex(row["minimal"]) for name, row in rows.items()}
    assert smallest == {"one-byte": b"~", "raises": b"TRIGGER"}
    one = rows["one-byte"]
    assert (one["outcome"], one["complete"], one["bytes"], one["stage"]) == ("reduced", 1, 14, "id map")
    assert (json.loads(one["got"]), json.loads(one["expected"])) == ([92], [93])  # } and ~ in GPT-2
    assert "--hex 7e" in one["command"] and "--roster" in one["command"]
    roster = str(STAGES.with_name("planted.toml"))
    words = ("--divergence", f"{found.outcome.run[:8]}.{one['ordinal']}", "--store", str(found.store))
    code, out, _ = run(capsys, *words, "--roster", roster, "--json")
    value = json.loads(out)
    assert (code, value["minimal"], value["document"]) == (1, "7e", documents[1].hex())


def test_ten_thousand_failing_documents_are_one_divergence(run_audit: Callable, tmp_path: Path) -> None:
    """Of a block's failing documents 200 are looked at; the others are counted with those that are like them."""
    path = tmp_path / "lines.txt"
    path.write_bytes(b"".join(b"line %d ~ of %d\n" % (i, i * i) for i in range(10_000)))
    found = run_audit("one-byte", corpora=(f"{path}@lines",), reduce_s=240.0)
    assert found.verdicts("one-byte") == {"differ": 10_000}
    (divergence,) = found.divergences("one-byte")
    assert divergence["documents"] == 10_000
    (row,) = found.rows("SELECT * FROM v_reduction WHERE run = ?")
    assert bytes.fromhex(row["minimal"]) == b"~"


def test_divergences_of_one_cause_are_one(run_audit: Callable) -> None:
    """An engine that declares the wrong byte policy fails on each kind of ill-formed byte; it is one cause."""
    documents = [b"\xe0\xa8", b"\xb6\x85\xd3>", b"a b \x81\xab"]
    found = run_audit("replaces", documents=documents, roster=(STAGES,), reduce_s=240.0)
    rows = found.rows("SELECT * FROM v_reduction WHERE run = ? ORDER BY ordinal")
    assert rows and [row["like"] for row in rows] == [None, *[0] * (len(rows) - 1)]
    assert all("byte policy replace" in row["changes"] for row in rows)


def test_nothing_is_reduced_unless_it_is_asked_for(run_audit: Callable) -> None:
    found = run_audit("one-byte", documents=[b"a ~ b"])
    (row,) = found.rows("SELECT * FROM v_reduction WHERE run = ?")
    assert (row["outcome"], row["minimal"], row["bytes"]) == ("not asked", "", 5)


def test_what_shows_only_when_timed_is_not_laid_to_the_document(run_audit: Callable) -> None:
    found = run_audit("when-timed", documents=[b"hello world"], reduce_s=240.0)
    (row,) = found.rows("SELECT * FROM v_reduction WHERE run = ?")
    assert (row["outcome"], row["minimal"]) == ("agree", "")
