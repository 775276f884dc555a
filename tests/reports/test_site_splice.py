"""Sentences in Markdown are what the data say; a lie is seen."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from tokassay.harness.cli import main
from tokassay.reports import sentences
from tokassay.reports.errors import ReportError
from tokassay.reports.site.sources import Engine, Fault, Known, Sources, Vector
from tokassay.reports.splice import END, Facts, splice

ROOT = Path(__file__).resolve().parent.parent.parent
SPREAD = {"median": 421.4, "min": 400.0, "max": 440.0}
BENCH = {
    "started": "2026-11-30T10:00:00Z",
    "machine": {"cpu": "Example CPU"},
    "cells": [
        {"vocab": "v", "text": "prose", "entry": "whole", "state": "warm", "engines": [
            {"engine": "slow", "verdict": "exact", "mb_s": {"median": 9.87, "min": 9.0, "max": 10.0}},
            {"engine": "fast", "verdict": "exact", "mb_s": SPREAD},
            {"engine": "wrong", "verdict": "void", "mb_s": None}]},
        {"vocab": "v", "text": "code", "entry": "whole", "state": "cold", "engines": []},
    ],
}  # fmt: skip


def facts() -> Facts:
    known = (Known("x", "a", "1", "1", "", "", True, ""), Known("x", "b", "1", "1", "", "2", False, ""))
    vector = Vector("x", "gpt2", "encode", "must", b"", 1, "", "", "", "", "", "", known)
    engines = (Engine("mine", True, "tokassay"), Engine("a", False, "a==1"))
    return Facts(Sources((), "0", engines, (vector,), (Fault("mine", "d", "p", "i|j", "w", "t.py"),)), BENCH)


def run(words: Sequence[str]) -> int:
    with pytest.raises(SystemExit) as stop:
        main([*words])
    return int(stop.value.code or 0)


def documents() -> list[Path]:
    return [
        path
        for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
        if re.search(r"^[^`]*<!-- tokassay:", path.read_text("utf-8"), re.MULTILINE)
    ]


def test_every_committed_sentence_is_true_of_its_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert {path.relative_to(ROOT).as_posix() for path in documents()} >= {"README.md", "docs/BIAS.md"}
    assert run(["report", "splice", "--check", *map(str, documents())]) == 0, capsys.readouterr().out


def test_the_counts_are_those_of_the_files(capsys: pytest.CaptureFixture[str]) -> None:
    """Counted again, by hand, from the files themselves."""
    readme = (ROOT / "README.md").read_text("utf-8")
    engines = tomllib.loads((ROOT / "engines" / "engines.toml").read_text("utf-8"))
    assert f"{len(engines)} engines are in the roster" in readme
    assert f"{sum('unavailable' in table for table in engines.values())} cannot be asked" in readme
    wrong, healed = set(), set()
    for path in (ROOT / "fixtures" / "vectors").glob("*.json"):
        for vector in json.loads(path.read_text("utf-8"))["vectors"]:
            for engine in {row["engine"] for row in vector.get("engines", [])}:
                rows = [row for row in vector["engines"] if row["engine"] == engine]
                bad = [row for row in rows if not right(vector, row)]
                if bad and not any("like" in row for row in rows):
                    wrong.add((vector["id"], engine))
                    newest = max(rows, key=lambda row: tuple(map(int, re.findall(r"\d+", row["version"]))))
                    healed |= {(vector["id"], engine)} if right(vector, newest) else set()
    told = re.search(r"(\d+) vectors record (\d+) divergences of (\d+) engines\. A later release healed (\d+)", readme)
    assert told is not None
    counts = len({v for v, _ in wrong}), len(wrong), len({e for _, e in wrong}), len(healed)
    assert tuple(map(int, told.groups())) == counts


def right(vector: dict[str, object], row: dict[str, object]) -> bool:
    """Whether a recorded answer is the vector's own, by the fields of the files."""
    if vector.get("operation", "encode") != "encode":
        return row["outcome"] == "text" and row.get("text_hex", row.get("ids_sha256")) == vector["input_hex"]
    if row["outcome"] != vector.get("outcome", "ids"):
        return False
    return all(row.get(key) == vector.get(key) for key in ("ids", "ids_sha256", "count"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"\d+ engines are in the roster", "1 engines are in the roster"),
        (r"A later release healed", "No release healed"),
        (r"\| english \|", "| english |9"),
    ],
)
def test_a_planted_lie_is_caught(tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    told = re.sub(old, new, text, count=1)
    assert told != text, "the lie must change something"
    lie = tmp_path / "README.md"
    lie.write_text(told, encoding="utf-8")
    bench = ["--bench", str(ROOT / "docs" / "data" / "bench.json")]
    assert run(["report", "splice", "--check", *bench, str(lie)]) == 1
    assert "not what the data say" in capsys.readouterr().out
    assert lie.read_text("utf-8") == told, "--check changes nothing"
    assert run(["report", "splice", *bench, str(lie)]) == 0
    assert lie.read_text("utf-8") == text


def test_changed_data_make_a_sentence_stale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench = json.loads((ROOT / "docs" / "data" / "bench.json").read_text("utf-8"))
    for cell in bench["cells"]:
        for row in cell["engines"]:
            if row["engine"] == "dat-bpe":
                row.update(verdict="void", mb_s=None)
    (tmp_path / "bench.json").write_text(json.dumps(bench))
    words = ["report", "splice", "--check", "--json", "--bench", str(tmp_path / "bench.json"), str(ROOT / "README.md")]
    assert run(words) == 1
    found = json.loads(capsys.readouterr().out)
    assert [re.sub(r"\d+: ", "", each) for each in found["files"][0]["stale"]] == ["speeds"]


def test_what_stands_around_a_stretch_stays() -> None:
    text = f"before <!-- tokassay:roster -->old{END} after\n\n<!-- tokassay:own-faults -->\nold\n{END}\nend\n"
    made = splice(text, facts(), "x.md")
    assert made.text == (
        f"before <!-- tokassay:roster -->2 engines are in the roster, mine of them ours.{END} after\n\n"
        "<!-- tokassay:own-faults -->\n1 fault of our own is recorded: 1 of mine.\n\n"
        "| found | part | input | what was wrong | test |\n| --- | --- | --- | --- | --- |\n"
        f"| d | p | i\\|j | w | `t.py` |\n{END}\nend\n"
    )
    assert made.stale == ("1: roster", "3: own-faults") and splice(made.text, facts(), "x.md").stale == ()


def test_a_row_that_is_not_exact_has_no_figure() -> None:
    text = f"<!-- tokassay:speeds vocab=v entry=whole state=warm -->\n{END}"
    made = splice(text, facts(), "x.md").text
    assert "| prose | 9.87 (9.00–10.0) | 421 (400–440) | void |" in made
    assert "fast encodes 421 MB/s, slow 9.87 MB/s. wrong gave other ids and has no speed." in made
    assert "Nothing was measured." in splice(text.replace("vocab=v", "vocab=w"), facts(), "x.md").text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("\n<!-- tokassay:nothing -->" + END, "x.md:2"),
        ("<!-- tokassay:roster -->", "without an end"),
        ("<!-- tokassay:roster --><!-- tokassay:known -->" + END, "inside of another"),
    ],
)
def test_a_bad_marker_is_told_with_its_line(text: str, told: str) -> None:
    with pytest.raises(ReportError) as caught:
        splice(text, facts(), "x.md")
    assert told in f"{caught.value.where} {caught.value}" and caught.value.remedy


def test_markers_in_code_are_no_markers() -> None:
    text = f"```\n<!-- tokassay:roster -->old{END}\n```\n"
    assert splice(text, facts(), "x.md").text == text


def test_no_marker_is_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.md").write_text("nothing")
    assert run(["report", "splice", "--check", str(tmp_path / "x.md")]) == 2
    assert run(["report", "splice", str(tmp_path / "none.md")]) == 2
    assert "none.md" in capsys.readouterr().err


def test_sentences_count_one_as_one() -> None:
    assert sentences.roster(["a"], []) == "1 engine is in the roster, none of them ours."
    assert sentences.known([("v", "e", True)]) == "1 vector records 1 divergence of 1 engine. None has healed."
    assert sentences.claims(["void"]) == "1 claim was run: 1 void."
    assert (
        sentences.claims(["void", "supported", "new word"]) == "3 claims were run: 1 supported, 1 void and 1 new word."
    )
    assert sentences.roster([], []) and sentences.known([]) and sentences.claims([]) and sentences.faults([])
