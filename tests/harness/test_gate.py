"""The gate on stores made by hand: what is new, worse, healed, absent, slower, lost or not comparable; exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokassay.harness import history
from tokassay.harness.cli import main
from tokassay.harness.errors import InputError
from tokassay.harness.history import Bench
from tokassay.harness.regression import Judgement, judge_bench, judge_run
from tokassay.harness.store import Result, Store

MATCH: list[list[Any]] = []  # rows of a result in which every document matches
WRONG = [[1, "differ", {"signature": "traced merge"}]]
MACHINE = {"cpu": "Some Processor", "cpu_features": ["avx2"], "cores": 4, "usable_cores": 4, "platform": "Linux"}


class Made:
    """A store with runs of hand-made rows, three documents a block."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = Store(path)
        self.hour = 0
        for name, specials in (("gpt2", "off"), ("cl100k", "off")):
            body = json.dumps({"specials": specials})
            row = {"digest": f"d-{name}", "core": f"c-{name}", "name": name, "body": body}
            self.store.insert("contract", row, keep=True)

    def run(self, name: str, *rows: dict[str, Any], finished: bool = True, suite: str = "s") -> str:
        """A run of rows: `engine`, and what is not as in the defaults below; divergences are those of its rows."""
        self.hour += 1
        when = f"2026-11-30T{self.hour:02}:00:00+00:00"
        run = name.ljust(12, "0")
        self.store.insert("run", {
            "id": run, "started": when, "finished": when if finished else None, "suite": suite,
            "command": "tokassay audit", "seed": 0, "jobs": 1, "exit_code": 0 if finished else None,
            "tokassay": "0.1.0", "environment": {},
        })  # fmt: skip
        for ordinal, given in enumerate(rows):
            self.row(run, ordinal, **given)
        return run

    def row(
        self, run: str, ordinal: int, engine: str, rows: Sequence[Sequence[Any]] = MATCH, contract: str = "gpt2",
        block: str = "b0", key: str = "", version: str = "1", result: int = 0,
    ) -> None:  # fmt: skip
        build = dict.fromkeys(("requirement", "lock", "adapter", "host", "python", "platform"), "")
        digest = f"{engine}-{version}"
        row = {"digest": digest, "engine": engine, "version": version, **build, "limits": {}}
        self.store.insert("build", row, keep=True)
        verdicts: dict[str, int] = {}
        whole = next((word for index, word, _ in rows if index < 0), None)
        words = [whole or "match"] * 3
        for index, word, _ in rows:
            if index >= 0:
                words[index] = word
        for word in words:
            verdicts[word] = verdicts.get(word, 0) + 1
        kept = Result(key or f"{digest}-{contract}-{block}", f"d-{contract}", "encode", "e", digest, "o", block, {},
                      verdicts=verdicts, rows=[list(each) for each in rows])  # fmt: skip
        number = result or self.store.add_result(run, kept)
        self.store.insert("run_result", {
            "run": run, "corpus": "corpus", "domain": "neutral", "ordinal": ordinal, "documents": 3, "bytes": 9,
            "engine": engine, "result": number, "reused": int(bool(result)),
        })  # fmt: skip
        for index, word, detail in rows:
            if word in ("differ", "crash") and isinstance(detail, dict):
                self.store.insert("divergence", {
                    "run": run, "ordinal": 100 * ordinal + index, "signature": detail["signature"], "verdict": word,
                    "contract": contract, "engine": engine, "against": "oracle", "operation": "encode",
                    "corpus": "corpus", "domain": "neutral", "documents": 1, "first": f"document {index}",
                    "input": "ff", "token": 0, "got": "[]", "expected": "[]", "stage": "merge",
                    "explanation": f"{word} of {engine}",
                    "command": f"tokassay diff {engine} oracle --hex ff",
                })  # fmt: skip

    def judged(self, run: str, baseline: str, **more: Any) -> Judgement:
        found = Judgement()
        with closing(history.reading(self.path)) as db:
            known = history.runs(db)
            mine, theirs = (history.find_run(known, word, option="--run") for word in (run, baseline))
            judge_run(found, db, mine, theirs, **more)
        return found


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path / "tokassay.sqlite")


def gate(made: Made, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    """Exit code and object of `tokassay gate WORDS --json`."""
    with pytest.raises(SystemExit) as end:
        main(["gate", "--store", str(made.path), *words, "--json"])
    printed = capsys.readouterr().out
    return int(end.value.code or 0), json.loads(printed) if printed else {}


# ---- ids


def test_an_engine_that_was_not_installed_is_new_and_not_worse(made: Made) -> None:
    absent = [[-1, "unsupported", "not installed: tokassay engines install a"]]
    before = made.run("aaaa", {"engine": "a", "rows": absent, "version": "none"}, {"engine": "b"})
    after = made.run("bbbb", {"engine": "a", "rows": WRONG}, {"engine": "b", "result": 2})
    found = made.judged(after, before)
    assert (len(found.new), found.common, sum(cell.worse for cell in found.cells)) == (1, 3, 0)
    assert found.exit_code == 1
    said = "\n".join(found.sentences())
    assert "worse:" not in said and "3 verdicts are of documents that the baseline did not ask" in said
    # The other way round it is lost, and still absent where it was absent.
    assert sum(cell.worse for cell in made.judged(before, after).cells) == 2
    again = made.run("cccc", {"engine": "a", "rows": absent, "version": "none2"}, {"engine": "b", "result": 2})
    assert made.judged(again, before).common == 6


def test_what_got_worse_is_said_once_an_engine_and_contract(made: Made) -> None:
    blocks = [f"b{number}" for number in range(6)]
    before = made.run("aaaa", *({"engine": "a", "block": block} for block in blocks))
    after = made.run("bbbb", *({"engine": "a", "block": block, "rows": WRONG, "version": "2"} for block in blocks))
    worse = [each for each in made.judged(after, before).sentences() if each.startswith("worse:")]
    assert worse == ["worse: a under gpt2, specials off, corpus: 6 of 18 verdicts (match -> differ 6)"]


def test_nothing_new(made: Made) -> None:
    made.run("a", {"engine": "x"}, {"engine": "y", "rows": WRONG})
    made.run("b", {"engine": "x"}, {"engine": "y", "rows": WRONG})
    found = made.judged("b", "a")
    assert found.exit_code == 0
    assert (found.common, found.verified) == (6, 5)
    assert not found.new and len(found.known) == 1 and not found.healed


def test_a_new_divergence_and_a_worse_verdict(made: Made) -> None:
    made.run("a", {"engine": "x"})
    made.run("b", {"engine": "x", "rows": WRONG, "version": "2"})
    found = made.judged("b", "a")
    assert found.exit_code == 1
    assert [row["signature"] for row in found.new] == ["traced merge"]
    (cell,) = found.cells
    assert (cell.worse, cell.better, dict(cell.changes)) == (1, 0, {"match -> differ": 1})
    said = "\n".join(found.sentences())
    assert "new divergence: x under gpt2, differ, traced merge: differ of x [ff]; 1 document" in said
    assert "tokassay diff x oracle --hex ff" in said


def test_a_known_divergence_on_one_more_document_is_worse(made: Made) -> None:
    """No new name, so only the comparison of documents shows it."""
    made.run("a", {"engine": "x", "rows": WRONG})
    made.run("b", {"engine": "x", "rows": [*WRONG, [2, "differ", None]], "version": "2"})
    found = made.judged("b", "a")
    assert not found.new and found.exit_code == 1 and found.cells[0].worse == 1


def test_one_document_healed_and_another_broken_is_worse(made: Made) -> None:
    """The same counts, the same name: documents are compared one by one."""
    made.run("a", {"engine": "x", "rows": WRONG})
    made.run("b", {"engine": "x", "rows": [[2, "differ", {"signature": "traced merge"}]], "version": "2"})
    found = made.judged("b", "a")
    assert not found.new and (found.cells[0].worse, found.cells[0].better) == (1, 1) and found.exit_code == 1


def test_healed_is_said_and_no_failure(made: Made) -> None:
    made.run("a", {"engine": "x", "rows": WRONG})
    made.run("b", {"engine": "x", "version": "2"})
    found = made.judged("b", "a")
    assert found.exit_code == 0 and [row["signature"] for row in found.healed] == ["traced merge"]
    assert any(sentence.startswith("healed: x under gpt2") for sentence in found.sentences())


@pytest.mark.parametrize(
    ("before", "now", "code"),
    [
        ("match", "declared", 0), ("declared", "match", 0), ("match", "reject", 1), ("match", "unsupported", 1),
        ("reject", "match", 0), ("unsupported", "differ", 1), ("differ", "crash", 0), ("reject", "timeout", 1),
    ],
)  # fmt: skip
def test_which_verdict_is_worse(made: Made, before: str, now: str, code: int) -> None:
    """Failures are of one rank: that one became another shows by its signature, which there is none of here."""
    for name, word in (("a", before), ("b", now)):
        made.run(name, {"engine": "x", "rows": [] if word == "match" else [[1, word, ""]], "version": name})
    assert made.judged("b", "a").exit_code == code


def test_a_new_divergence_in_documents_that_the_baseline_did_not_ask(made: Made) -> None:
    """No document got worse, and yet it is new."""
    made.run("a", {"engine": "x"})
    made.run("b", {"engine": "x"}, {"engine": "x", "block": "b1", "rows": WRONG})
    found = made.judged("b", "a")
    assert found.exit_code == 1 and len(found.new) == 1 and not any(cell.worse for cell in found.cells)
    assert "3 verdicts are of documents that the baseline did not ask" in found.sentences()


def test_the_same_name_under_another_contract_or_engine_is_new(made: Made) -> None:
    made.run("a", {"engine": "x", "rows": WRONG}, {"engine": "y"}, {"engine": "x", "contract": "cl100k"})
    made.run("b", {"engine": "x", "rows": WRONG}, {"engine": "y", "rows": WRONG, "version": "2"},
             {"engine": "x", "contract": "cl100k", "rows": WRONG, "version": "2"})  # fmt: skip
    found = made.judged("b", "a")
    assert {(row["engine"], row["contract"]) for row in found.new} == {("y", "gpt2"), ("x", "cl100k")}


def test_documents_beyond_those_looked_at_are_no_news(made: Made) -> None:
    """How many documents are looked at one by one depends on time; that there are more is no divergence of its own."""
    late = [[2, "differ", {"signature": history.NOT_EXAMINED}]]
    made.run("a", {"engine": "x", "rows": WRONG})
    made.run("b", {"engine": "x", "rows": [*WRONG, *late], "version": "2"})
    assert not made.judged("b", "a").new
    made.run("c", {"engine": "x"})
    made.run("d", {"engine": "x", "rows": late, "version": "3"})
    assert len(made.judged("d", "c").new) == 1  # where there was none at all, it is


def test_an_engine_that_is_gone(made: Made) -> None:
    made.run("a", {"engine": "x"}, {"engine": "y"})
    made.run("b", {"engine": "x"})
    found = made.judged("b", "a")
    assert found.exit_code == 1 and found.absent == [{"engine": "y", "contract": "gpt2"}]
    assert made.judged("b", "a", engines=["x"]).exit_code == 0
    # One that never verified anything is no loss.
    made.run("c", {"engine": "x"}, {"engine": "z", "rows": [[-1, "unsupported", "no such vocabulary"]]})
    assert made.judged("b", "c").exit_code == 0


def test_nothing_to_judge_is_not_success(made: Made) -> None:
    unsupported = {"engine": "x", "rows": [[-1, "unsupported", "serves something else"]]}
    made.run("a", unsupported)
    made.run("b", unsupported)
    assert made.judged("b", "a").exit_code == 4  # nothing verified
    made.run("c")
    assert made.judged("c", "a").exit_code == 4  # empty
    made.run("d", {"engine": "x", "block": "another"})
    made.run("e", {"engine": "x"})
    assert made.judged("d", "e").exit_code == 4  # no common block
    assert any("no block of documents in common" in sentence for sentence in made.judged("d", "e").sentences())


def test_what_there_was_no_time_for_is_neither_worse_nor_verified(made: Made) -> None:
    late = [[-1, "unsupported", "time: the engine's 5 minutes of this run were over"]]
    made.run("a", {"engine": "x"}, {"engine": "y"})
    made.run("b", {"engine": "x"}, {"engine": "y", "rows": late, "version": "2"})
    found = made.judged("b", "a")
    assert found.exit_code == 0 and sum(cell.for_time for cell in found.cells) == 3
    assert any("3 verdicts are missing because their engines' time was over" in each for each in found.sentences())
    made.run("c", {"engine": "y", "rows": late, "version": "2"})
    assert made.judged("c", "a", engines=["y"]).exit_code == 4
    made.run("d", {"engine": "x", "rows": WRONG}, {"engine": "y", "rows": WRONG})
    made.run("e", {"engine": "x", "version": "2"}, {"engine": "y", "rows": late, "version": "2"})
    healed = made.judged("e", "d").healed
    assert [row["engine"] for row in healed] == ["x"]  # what was not asked has not healed
    # And a baseline without time holds nobody to anything.
    assert made.judged("a", "c", engines=["y"]).exit_code == 4


def test_what_is_found_where_the_baseline_had_no_time_is_no_regression(made: Made) -> None:
    late = [[-1, "unsupported", "time: over"]]
    made.run("a", {"engine": "x"}, {"engine": "x", "block": "b1", "rows": late})
    made.run("b", {"engine": "x"}, {"engine": "x", "block": "b1", "rows": WRONG, "version": "2"})
    found = made.judged("b", "a")
    assert found.exit_code == 0 and not found.new and [row["signature"] for row in found.first] == ["traced merge"]
    assert any(each.startswith("asked for the first time: x under gpt2") for each in found.sentences())
    # Unless a document that the baseline did ask got worse.
    made.run("c", {"engine": "x", "rows": WRONG, "version": "3"}, {"engine": "x", "block": "b1", "rows": late})
    worse = made.judged("c", "a")
    assert worse.exit_code == 1 and len(worse.new) == 1 and not worse.first


@pytest.mark.parametrize("name", ["--engine", "--vocab"])
def test_a_name_of_which_nothing_is_compared_does_not_pass(
    made: Made, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """A misspelled name beside a right one: what was to be watched is not."""
    made.run("aa", {"engine": "x"})
    made.run("bb", {"engine": "x"})
    right = {"--engine": "x", "--vocab": "gpt2"}[name]
    code, found = gate(made, capsys, "--baseline", "aa", name, right)
    assert code == 0
    code, found = gate(made, capsys, "--baseline", "aa", name, right, name, "xx")
    assert code == 4 and "nothing could be compared of xx, which was asked for" in found["sentences"]


def test_rows_asked_again_are_counted_by_reason(made: Made) -> None:
    made.run("a", {"engine": "x", "key": "k1"}, {"engine": "y", "rows": [[1, "crash", None]], "key": "k2"})
    first = made.store.db.execute("SELECT id FROM result WHERE key = 'k1'").fetchone()[0]
    made.run(
        "b", {"engine": "x", "result": first}, {"engine": "y", "rows": [[1, "crash", None]], "key": "k2"},
        {"engine": "z", "key": "k3"}, {"engine": "w", "rows": [[-1, "unsupported", "time: over"]], "key": "k4"},
    )  # fmt: skip
    with closing(history.reading(made.path)) as db:
        asked = history.asked(db, "b".ljust(12, "0"))
    assert asked.to_json() == {"reused": 1, "new": 1, "for_time": 1, "again": {"crash": 1}}
    assert asked.sentence == ("rows: 1 reused, 1 measured for the first time, 1 again (crash 1), 1 left out for time")
    made.run("c", {"engine": "x", "key": "k1"})  # k1 could have been reused: that it was not is told
    with closing(history.reading(made.path)) as db:
        assert history.asked(db, "c".ljust(12, "0")).again == {"unchanged": 1}


# ---- which run


def test_words_for_runs(made: Made) -> None:
    for name, suite, finished in (("aa", "s", True), ("ab", "t", True), ("ac", "s", True), ("ad", "s", False)):
        made.run(name, suite=suite, finished=finished)
    with closing(history.reading(made.path)) as db:
        known = history.runs(db)

    def find(word: str, before: Any = None) -> str:
        return history.find_run(known, word, option="--run", before=before).id.rstrip("0")

    assert find("last") == "ac"
    assert find("previous", known[2]) == "aa"
    assert find("ab") == "ab"
    for word in ("a", "zz", ""):
        with pytest.raises(InputError):
            find(word)
    with pytest.raises(InputError, match="no finished run of the suite t before ab"):
        find("previous", known[1])


def test_wrong_use(made: Made, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    made.run("aa", {"engine": "x"})
    made.run("bb", {"engine": "x"}, finished=False)
    for words, said in (
        ((), "no baseline"),
        (("--run", "aa"), "needs --baseline"),
        (("--bench", "b"), "needs --bench-baseline"),
        (("--baseline", "aa", "--self", "x"), "needs --self-baseline"),
        (("--baseline", "aa"), "its own baseline"),
        (("--baseline", "bb"), "did not finish"),
        (("--baseline", "aa", "--run", "bb"), "did not finish"),
        (("--baseline", "zz"), "holds no run"),
        (("--bench-baseline", "previous"), "holds no such bench"),
    ):
        with pytest.raises(SystemExit) as end:
            main(["gate", "--store", str(made.path), *words])
        assert end.value.code == 2, words
        assert said in capsys.readouterr().err, words
    for path, said in ((tmp_path / "none.sqlite", "no store here"), (Path(__file__), "not a readable store")):
        with pytest.raises(SystemExit) as end:
            main(["gate", "--store", str(path), "--baseline", "aa"])
        assert end.value.code == 2 and said in capsys.readouterr().err


def test_the_command_writes_all_forms(made: Made, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    made.run("aa", {"engine": "x"})
    made.run("bb", {"engine": "x", "rows": WRONG, "version": "2"})
    xml, log = tmp_path / "gate.xml", tmp_path / "gate.sarif"
    code, found = gate(made, capsys, "--baseline", "previous", "--junit", str(xml), "--sarif", str(log))
    assert code == found["exit_code"] == 1 and found["schema"] == "tokassay.gate/1"
    assert "<failure" in xml.read_text("utf-8")
    assert {result["ruleId"] for result in json.loads(log.read_text("utf-8"))["runs"][0]["results"]} == {
        "differ",
        "worse",
    }
    with pytest.raises(SystemExit):
        main(["gate", "--store", str(made.path), "--baseline", "aa", "--github"])
    assert capsys.readouterr().out.startswith("::error title=x under gpt2%3A new divergence (differ)::differ of x%0A")


def test_self_differences_are_held_to_those_of_before(
    made: Made, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made.run("aa", {"engine": "x"})
    made.run("bb", {"engine": "x"})
    row = {"engine": "x", "vocabulary": "gpt2", "corpus": "c", "verdict": "differ", "detail": ""}
    for name, order in (("old", "same"), ("new", "differ")):
        rows = [{**row, "way": "threads"}, {**row, "way": "order", "verdict": order}]
        report = {"schema": "tokassay.self/1", "rows": rows}
        (tmp_path / name).write_text(json.dumps(report), encoding="utf-8")
    words = ["--baseline", "aa", "--self", str(tmp_path / "new"), "--self-baseline", str(tmp_path / "old")]
    code, found = gate(made, capsys, *words)
    assert code == 1 and [each["way"] for each in found["self"]["new"]] == ["order"]
    words[3], words[5] = words[5], words[3]
    code, found = gate(made, capsys, *words)
    assert code == 0 and [each["way"] for each in found["self"]["healed"]] == ["order"]
    report["rows"][1] = {**row, "way": "whatever else there is", "verdict": "unsupported"}
    (tmp_path / "old").write_text(json.dumps(report), encoding="utf-8")
    assert gate(made, capsys, *words)[1]["self"]["healed"] == []  # what was not asked has not healed
    report["rows"] = [row | {"way": "whatever else there is", "verdict": "unsupported", "detail": "time: over"}]
    (tmp_path / "new").write_text(json.dumps(report), encoding="utf-8")
    report["rows"] = [row | {"way": "order"}]
    (tmp_path / "old").write_text(json.dumps(report), encoding="utf-8")
    code, found = gate(made, capsys, *words)
    assert code == 0 and [each["way"] for each in found["self"]["first"]] == ["order"]
    # A report in which nothing was asked agrees with everything, and that is said.
    (tmp_path / "new").write_text(json.dumps({"schema": "tokassay.self/1", "rows": []}), encoding="utf-8")
    (tmp_path / "old").write_text(json.dumps({**report, "rows": [{**row, "way": "order"}]}), encoding="utf-8")
    words[3], words[5] = str(tmp_path / "new"), str(tmp_path / "old")
    code, found = gate(made, capsys, *words)
    assert found["not_comparable"] == ["1 self-difference of the baseline not asked, the first x gpt2 c order"]
    assert code == found["exit_code"] == 4 and "no engine was asked against itself" in found["sentences"]
    rows = [{**row, "way": "order", "verdict": "unsupported"}]
    (tmp_path / "new").write_text(json.dumps({"schema": "tokassay.self/1", "rows": rows}), encoding="utf-8")
    assert gate(made, capsys, *words)[0] == 4
    rows.append({**row, "way": "threads", "verdict": "same"})
    (tmp_path / "new").write_text(json.dumps({"schema": "tokassay.self/1", "rows": rows}), encoding="utf-8")
    code, found = gate(made, capsys, *words)
    assert code == 0 and "no engine was asked against itself" not in found["sentences"]


# ---- speed


def bench(name: str, times: dict[str, Sequence[float]], machine: dict[str, Any] | None = None, **changes: Any) -> Bench:
    """A bench of one cell: CPU nanoseconds a round by engine; none of an engine is a void row."""
    engines = [
        {"engine": engine, "verdict": "exact" if len(ns) else "void", "detail": "" if len(ns) else "document 3 differs",
         "cpu_ns": [int(each) for each in ns], "ns": [int(each) for each in ns],
         "mb_s": {"median": 1e9 / float(np.median(ns)), "low": 1.0, "high": 2.0} if len(ns) else None}
        for engine, ns in times.items()
    ]  # fmt: skip
    cell = {"vocab": "gpt2", "text": "english", "sha256": "s", "entry": "whole", "state": "warm", "threads": 1,
            "engines": engines, **changes}  # fmt: skip
    report = {
        "machine": machine or MACHINE,
        "engines": [{"engine": one, "version": "1"} for one in times],
        "cells": [cell],
    }
    return Bench(name, "2026-11-30", report)


def compared(now: Bench, before: Bench, tolerance: float = 0.05) -> Judgement:
    found = Judgement()
    judge_bench(found, now, before, tolerance)
    return found


# A round's time in ns, around 10 ms: even noise of 1 %, far outliers to the slow side, and two moods of the machine.
NOISE: dict[str, Callable[[np.random.Generator], Any]] = {
    "normal": lambda draws: 1e7 * np.exp(draws.normal(0, 0.01, 7)),
    "outliers": lambda draws: (
        1e7 * np.exp(draws.normal(0, 0.005, 7) + (draws.random(7) < 0.15) * draws.exponential(0.3, 7))
    ),
    "moods": lambda draws: 1e7 * np.exp(draws.normal(0, 0.005, 7) + (draws.random(7) < 0.3) * 0.03),
}


@pytest.mark.parametrize("shape", NOISE)
def test_the_same_engine_is_not_slower_than_itself(shape: str) -> None:
    """At most 5 of 500 are said to be slower by chance."""
    draws = np.random.default_rng(11)
    slower = 0
    for number in range(500):
        pair = [bench(f"{number}", {"x": NOISE[shape](draws)}) for _ in range(2)]
        slower += compared(*pair).exit_code == 3
    assert slower <= 5


@pytest.mark.parametrize(("shape", "least"), [("normal", 198), ("outliers", 160), ("moods", 198)])
def test_a_planted_slow_down_of_a_seventh_is_seen(shape: str, least: int) -> None:
    draws = np.random.default_rng(12)
    seen = 0
    for number in range(200):
        before = bench("a", {"x": NOISE[shape](draws)})
        seen += compared(bench(f"{number}", {"x": NOISE[shape](draws) / 0.85}), before).exit_code == 3
    assert seen >= least


def test_a_slow_down_of_a_tenth_is_seen_on_a_quiet_machine() -> None:
    draws = np.random.default_rng(13)
    quiet = NOISE["normal"]
    found = [compared(bench("b", {"x": quiet(draws) / 0.9}), bench("a", {"x": quiet(draws)})) for _ in range(200)]
    assert sum(each.exit_code == 3 for each in found) >= 190
    ratios = [each.speeds[0].ratio or 0 for each in found]
    assert np.mean(ratios) == pytest.approx(0.9, abs=0.005)
    assert any("slower: x, gpt2, english, whole, warm: " in sentence for sentence in found[0].sentences())


def test_the_tolerance_is_what_is_stated() -> None:
    """Times without any noise: the interval is one point, and the limit is sharp."""
    before = bench("a", {"x": [1000] * 7})
    for now, tolerance, code in ((1050, 0.05, 0), (1055, 0.05, 3), (1055, 0.06, 0), (1001, 0.0, 3)):
        assert compared(bench("b", {"x": [now] * 7}), before, tolerance).exit_code == code
    assert compared(bench("b", {"x": [900] * 7}), before).speeds[0].verdict == "faster"


def test_an_interval_that_reaches_the_limit_is_no_slow_down() -> None:
    """The ratio alone would be 0.91."""
    found = compared(bench("b", {"x": [900, 960, 1040, 1100, 1150, 1200, 1300]}), bench("a", {"x": [1000] * 7}))
    (speed,) = found.speeds
    assert speed.ratio == pytest.approx(0.909, abs=0.001) and (speed.high or 0) > 0.95
    assert speed.verdict == "same" and found.exit_code == 0


def test_a_speed_that_lost_its_proof_is_a_mismatch() -> None:
    found = compared(bench("b", {"x": [], "y": [1000] * 7}), bench("a", {"x": [1000] * 7, "y": [1000] * 7}))
    assert found.exit_code == 1
    assert any("lost: x, gpt2, english" in each and "void: document 3 differs" in each for each in found.sentences())


def test_what_cannot_be_compared_is_said() -> None:
    before = bench("a", {"x": [1000] * 7, "y": [1000] * 7})
    other = compared(bench("b", {"x": [9000] * 7}, machine={**MACHINE, "cpu": "Another"}), before)
    assert other.exit_code == 4 and not other.speeds
    assert any("not comparable: b was measured on Another" in each for each in other.sentences())
    fewer = compared(bench("b", {"x": [1000] * 7}), before)
    assert fewer.exit_code == 0 and fewer.incomparable == ["y is in a and not in b"]
    text = compared(bench("b", {"x": [1000] * 7}, sha256="another text"), before)
    assert text.exit_code == 4 and [each.verdict for each in text.speeds] == ["new"]
    few = compared(bench("b", {"x": [9000] * 2}), before)
    assert few.exit_code == 4 and few.speeds[0].verdict == "not resolvable"
    assert compared(bench("b", {"x": []}), bench("a", {"x": []})).exit_code == 4


def test_a_bench_is_judged_of_the_vocabularies_that_are_named() -> None:
    now, before = bench("b", {"x": [9000] * 7}, asked="cl"), bench("a", {"x": [1000] * 7}, asked="cl")
    for contracts, code in (((), 3), (("gpt2",), 3), (("cl",), 3), (("another",), 4)):
        found = Judgement()
        judge_bench(found, now, before, 0.05, (), contracts)
        assert found.exit_code == code, contracts


def test_several_threads_are_compared_by_wall_time() -> None:
    before, now = (bench(name, {"x": [1000] * 7}, threads=2) for name in "ab")
    now.report["cells"][0]["engines"][0]["cpu_ns"] = [9000] * 7
    assert compared(now, before).exit_code == 0
    now.report["cells"][0]["engines"][0]["ns"] = [9000] * 7
    assert compared(now, before).exit_code == 3


def test_a_machine_that_is_slower_as_a_whole_is_said() -> None:
    before = bench("a", {name: [1000] * 7 for name in "xyz"})
    said = compared(bench("b", {name: [1250] * 7 for name in "xyz"}), before).sentences()
    assert "the median of all 3 ratios is 0.800: the machine may have changed" in said


def test_benches_of_a_store(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    made.run("aa", {"engine": "x"})
    made.run("bb", {"engine": "x"})
    for name, ns in (("b1", 1000), ("b2", 1300)):
        report = bench(name, {"x": [ns] * 7}).report
        when = f"2026-11-30T0{name[1]}:00:00"
        named = {"id": name, "started": when, "finished": when, "command": "c", "tokassay": "0", "exit_code": 0}
        made.store.add_bench({**named, **report})
    code, found = gate(made, capsys, "--baseline", "aa", "--bench-baseline", "previous")
    assert code == 3 and found["speeds"][0]["ratio"] == pytest.approx(0.769, abs=0.001)
    code, _ = gate(made, capsys, "--bench-baseline", "b2", "--bench", "b1")
    assert code == 0
    code, _ = gate(made, capsys, "--baseline", "aa", "--bench-baseline", "b1", "--tolerance", "0.3")
    assert code == 0
