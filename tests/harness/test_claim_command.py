"""`tokassay claim` as a user runs it: planted engines, a tiny text, the whole way from the file to page and store."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tokassay.harness import cli
from tokassay.reports.json import schema

TINY = Path(__file__).with_name("gate-tiny.toml")
ROSTER = Path(__file__).parents[1] / "engines" / "planted" / "claims.toml"
CPU = str(min(os.sched_getaffinity(0)))
CLAIM = """
vendor = "Planted"
package = "planted 1.0"
summary = "As fast as it says."
date = "2026-11"
hardware = "this one"
corpus = "the sample"
baseline = "plain"
entry_point = "one call a document"
[source]
title = "this test"
address = "https://example.org/planted"
read = "2026-11-30"
[here]
engine = "right"
vocabularies = ["gpt2"]
texts = ["sample"]
entry = "documents-list"
state = "cold"
size = 20_000
repeat = 1
audit = ["GATE"]
differs = "nothing differs"
[[figure]]
name = "the ratio"
says = "so many times plain"
kind = "ratio"
value = 0.000001
against = "plain"
"""


class Ran:
    """One run: exit code, the object, what was told, and where its files are."""

    def __init__(self, code: int, report: dict[str, Any], err: str, folder: Path) -> None:
        self.code, self.report, self.err, self.folder = code, report, err, folder


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One store for all, so that a build is proved once."""
    return tmp_path_factory.mktemp("store") / "s.sqlite"


@pytest.fixture
def ran(tmp_path: Path, capsys: pytest.CaptureFixture[str], store: Path) -> Any:
    """ran(text, *arguments): write the claim, run it, and hold its object to the schema."""
    gate = tmp_path / "gate.txt"
    gate.write_text("hello world\nIn the beginning\n12345\n", encoding="utf-8")

    def run(text: str = CLAIM, *arguments: str) -> Ran:
        path = tmp_path / "planted.toml"
        path.write_text(text.replace("GATE", f"{gate}@lines"), encoding="utf-8")
        words = ["claim", "run", str(path), "--roster", str(ROSTER), "--offline", "--cpu", CPU, "--json",
                 "--proof", str(TINY),
                 "--store", str(store), "--out", str(tmp_path / "out"), *arguments]
        with pytest.raises(SystemExit) as stop:
            cli.main(words)
        told = capsys.readouterr()
        report = json.loads(told.out) if told.out else {}
        if report and report["schema"] != "tokassay.error/1":
            checker = jsonschema.Draft202012Validator(json.loads(schema("claim")))
            checker.check_schema(json.loads(schema("claim")))
            checker.validate(report)
        return Ran(int(stop.value.code or 0), report, told.err, tmp_path)

    return run


def test_supported_from_file_to_store(ran: Any, store: Path) -> None:
    one = ran(CLAIM, "--repeat", "2")
    assert (one.code, one.report["verdict"]) == (0, "supported")
    (figure,) = one.report["figures"]
    (cell,) = figure["cells"]
    assert (cell["text"], cell["outcome"]) == ("sample", "reached") and cell["measured"]["median"] > 0
    assert one.report["audit"]["passed"] and one.report["audit"]["documents"] == 3
    # Both did the same work, in the one cell that was measured: two rounds each, the digest tiktoken's.
    (row, base) = one.report["bench"][0]["cells"][0]["engines"]
    assert [(r["engine"], r["verdict"], len(r["cpu_ns"])) for r in (row, base)] == [
        ("right", "exact", 2), ("plain", "exact", 2),
    ]
    pairs = sorted(b / a for a, b in zip(row["cpu_ns"], base["cpu_ns"], strict=True))
    assert cell["measured"]["low"] == pytest.approx(pairs[0], rel=1e-3)
    names = sorted(path.name for path in (one.folder / "out").iterdir())
    assert names == ["chart.png", "chart.svg", "claim.json", "index.html"]
    page = (one.folder / "out" / "index.html").read_text("utf-8")
    assert "Planted: supported" in page and "<script" not in page and "https://example.org/planted" in page
    assert "src=" not in page and "<svg role=" in page
    query = "SELECT claim, verdict, json_extract(report, '$.sentence') FROM v_claim_run WHERE id = ?"
    with sqlite3.connect(store) as kept:
        rows = kept.execute(query, (one.report["id"],)).fetchall()
    assert rows == [("planted", "supported", one.report["sentence"])]
    assert one.report["command"].startswith("tokassay claim run ") and "--roster" in one.report["command"]


def test_a_figure_that_is_not_reached_is_exit_1(ran: Any) -> None:
    one = ran(CLAIM.replace("value = 0.000001", "value = 1000000.0"))
    assert (one.code, one.report["verdict"]) == (1, "not supported")


def test_wrong_ids_on_the_timed_text_are_void(ran: Any) -> None:
    """Right on the whole gate, one id too many where a text has a word: the page names the document and the id."""
    one = ran(CLAIM.replace('engine = "right"', 'engine = "wrong"'))
    assert (one.code, one.report["verdict"]) == (1, "void")
    assert one.report["audit"]["passed"]
    first = one.report["divergences"][0]
    assert first["voids"] and "should be the end" in first["explanation"]
    assert "should be the end" in (one.folder / "out" / "index.html").read_text("utf-8")
    assert one.report["figures"][0]["cells"][0]["measured"] is None


def test_wrong_ids_on_the_gate_alone_are_void(ran: Any, tmp_path: Path) -> None:
    """The text that is timed has nothing of the fault; the gate has, and the command that shows it is given."""
    text = tmp_path / "text.txt"
    text.write_text("nothing of the kind is here\n" * 400, encoding="utf-8")
    gate = tmp_path / "other.txt"
    gate.write_text("hello\nthis and that\n", encoding="utf-8")
    claim = CLAIM.replace('engine = "right"', 'engine = "wrong"').replace('"GATE"', f'"{gate}@lines"')
    one = ran(claim.replace('texts = ["sample"]', "texts = []"), "--corpus", f"mine={text}@lines")
    assert (one.code, one.report["verdict"]) == (1, "void")
    (found,) = one.report["divergences"]
    assert found["voids"] and found["input"] == b"this and that".hex()
    assert len(found["got"]) == len(found["expected"]) + 1
    assert found["command"].startswith("tokassay diff wrong ")
    assert [one["text"] for one in one.report["figures"][0]["cells"]] == ["mine"]


def test_an_engine_that_cannot_be_installed_is_exit_4(ran: Any) -> None:
    one = ran(CLAIM.replace('engine = "right"', 'engine = "elsewhere"'))
    assert (one.code, one.report["verdict"]) == (4, "not verifiable")
    assert "tokassay engines install elsewhere" in one.report["figures"][0]["why"]
    assert one.report["bench"] == [] and (one.folder / "out" / "index.html").is_file()
    assert not (one.folder / "out" / "chart.svg").exists()


def test_texts_that_are_not_here_are_named_and_the_sample_stands_in(
    ran: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKASSAY_CACHE", str(tmp_path / "empty"))
    one = ran(CLAIM.replace('texts = ["sample"]', 'texts = ["english", "verses"]'))
    assert (one.code, one.report["verdict"]) == (4, "not verifiable")
    assert set(one.report["absent"]) == {"english", "verses"}
    assert "tokassay corpora fetch" in one.report["absent"]["english"]
    assert [text["kind"] for text in one.report["texts"]] == ["sample"]


def test_a_users_text_is_measured_first(ran: Any, tmp_path: Path) -> None:
    text = tmp_path / "owt.txt"
    text.write_text("some web text\n" * 2000, encoding="utf-8")
    one = ran(CLAIM, "--corpus", f"owt={text}@lines")
    assert one.code == 0
    assert [(cell["text"], cell["own"]) for cell in one.report["figures"][0]["cells"]] == [
        ("owt", True), ("sample", True),
    ]


@pytest.mark.parametrize("option", ["--out", "--store"])
def test_what_cannot_be_written_is_said_before_anything_is_measured(ran: Any, tmp_path: Path, option: str) -> None:
    place = tmp_path / "taken"
    place.write_text("mine", encoding="utf-8")
    one = ran(CLAIM, option, str(place))
    assert one.code == 2 and str(place) in one.err and "proving" not in one.err and "measuring" not in one.err
    assert place.read_text(encoding="utf-8") == "mine"



@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--corpus", "owt"), "owt is no NAME=SPEC"),
        (("--corpus", "owt=./no-such-file.txt"), "--corpus owt=./no-such-file.txt"),
        (("--corpus", "english=./x"), "english is the name of another text"),
        (("--text", "verses"), "verses is no text of planted"),
    ],
)
def test_wrong_use_names_the_place(ran: Any, arguments: tuple[str, ...], said: str) -> None:
    one = ran(CLAIM, *arguments)
    assert one.code == 2 and said in one.err and one.report["schema"] == "tokassay.error/1"


def test_list_and_show(capsys: pytest.CaptureFixture[str]) -> None:
    for words, expected in ((["list"], "gigatoken"), (["show", "gigatoken"], "24,530 / 144 cores = 170 a core"),
                            (["show", "tenya"], "not run here: no engine of its contract")):
        cli_exit(["claim", *words])
        assert expected in capsys.readouterr().out
    cli_exit(["claim", "list", "--json"])
    listed = json.loads(capsys.readouterr().out)["claims"]
    assert len(listed) >= 14 and set(listed[0]) == {
        "claim", "vendor", "figures", "engines", "not_here", "source", "summary",
    }
    cli_exit(["claim", "show", "crayon", "--json"])
    assert json.loads(capsys.readouterr().out)["here"]["engine"] == "xerv-crayon"


def cli_exit(words: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(words)
    assert not stop.value.code


def test_without_a_name_it_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(["claim", "run"])
    assert stop.value.code == 2 and "names one claim, or --all" in capsys.readouterr().err
