"""`tokassay bench` as a user runs it: its object keeps its schema, its pages say how they were made, its exit codes."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console
from tokassay.harness import cli
from tokassay.harness.ablation import Switch, contestants, switches
from tokassay.harness.bench import ENTRIES
from tokassay.harness.bench_report import BEGIN, END, between_markers, markdown, measured, tables, voids
from tokassay.harness.bench_run import alone
from tokassay.harness.bench_suite import bench_suite, suites
from tokassay.harness.commands.bench import words
from tokassay.harness.errors import InputError
from tokassay.harness.load import load_vocabulary
from tokassay.harness.store import Store
from tokassay.harness.texts import kinds
from tokassay.reports.json import schema

SPEEDY = Path(__file__).parents[1] / "engines" / "planted" / "speedy.toml"
TINY = str(Path(__file__).with_name("gate-tiny.toml"))
CPU = str(min(os.sched_getaffinity(0)))
# The reference, tiktoken, gives other ids than the planted engines, whose id of a byte is its value.
SMALL = ("--text", "unique", "--size", "0.02", "--cpu", CPU, "--repeat", "2")


@pytest.fixture(scope="module", autouse=True)
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One store for all tests here: what was proved once is not proved again."""
    folder = tmp_path_factory.mktemp("workspace")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


def bench(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        cli.main(["bench", "--proof", TINY, *arguments])
    told = capsys.readouterr()
    return int(stop.value.code or 0), told.out, told.err


@pytest.fixture(scope="module")
def report(workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A whole run on crafted text: two real engines, and a planted one whose ids are wrong."""
    folder = tmp_path_factory.mktemp("bench")
    capture = folder / "out"
    with pytest.raises(SystemExit) as stop, capture.open("w") as out, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", out)
        cli.main(
            ["bench", *SMALL, "--proof", TINY, "--seed", "7", "--vocab", "gpt2", "--engines", "dat-bpe,tiktoken,none",
             "--entry", "whole,batch-list", "--roster", str(SPEEDY), "--json", "--markdown", str(folder / "page.md")]
        )
    assert stop.value.code == 0
    found: dict[str, Any] = json.loads(capture.read_text("utf-8"))
    found["page"] = (folder / "page.md").read_text("utf-8")
    return found


def test_the_object_keeps_its_schema(report: dict[str, Any]) -> None:
    found = {name: value for name, value in report.items() if name != "page"}
    checker = jsonschema.Draft202012Validator(json.loads(schema("bench")))
    checker.check_schema(json.loads(schema("bench")))
    checker.validate(found)
    for spoil in (
        {"schema": "tokassay.bench/1"},
        {"more": 1},
        {"exit_code": 1},
        {"cells": [{**found["cells"][0], "state": "lukewarm"}]},
    ):
        with pytest.raises(jsonschema.ValidationError):
            checker.validate({**found, **spoil})


def test_a_void_row_with_a_speed_breaks_the_schema(report: dict[str, Any]) -> None:
    """The schema itself says it: figures stand beside exact ids and nowhere else."""
    checker = jsonschema.Draft202012Validator(json.loads(schema("bench")))
    found = {name: value for name, value in report.items() if name != "page"}
    cell = found["cells"][0]
    rows = {row["engine"]: row for row in cell["engines"]}
    assert rows["none"]["verdict"] == "void" and rows["none"]["mb_s"] is None
    forged = {**rows["none"], "mb_s": rows["dat-bpe"]["mb_s"]}
    with pytest.raises(jsonschema.ValidationError):
        checker.validate({**found, "cells": [{**cell, "engines": [forged]}]})


def test_cells_are_what_was_asked_for(report: dict[str, Any]) -> None:
    places = [(cell["entry"], cell["state"]) for cell in report["cells"]]
    assert sorted(places) == sorted((e, s) for e in ("whole", "batch-list") for s in ("cold", "warm"))
    for cell in report["cells"]:
        verdicts = {row["engine"]: row["verdict"] for row in cell["engines"]}
        assert verdicts == {"dat-bpe": "exact", "tiktoken": "exact", "none": "void"}
        assert cell["reference"] == "tiktoken 0.14.0" and len(cell["digest"]) == 64
        assert [len(row["cpu_ns"]) for row in cell["engines"]] == [2, 2, 0]
    digests = {(cell["entry"], cell["state"]): cell["digest"] for cell in report["cells"]}
    assert len(set(digests.values())) == 4  # another half, and another cut, are other documents
    assert report["subject"] == "dat-bpe"


def test_the_page_says_how_it_was_made(report: dict[str, Any]) -> None:
    page = report["page"]
    assert "`tokassay bench --vocab gpt2 --text unique --size 0.02 --engines dat-bpe,tiktoken,none " in page
    assert "in an order drawn with seed 7" in page
    assert "tiktoken 0.14.0" in page and report["machine"]["cpu"] in page
    assert f"| unique | void | {report['cells'][0]['digest'][:8]}" not in page
    heads = [line for line in page.splitlines() if line.startswith("## ")]
    assert "## gpt2, whole, cold: first pass of a fresh process, load excluded" in heads
    void = "none (gpt2, unique, whole, cold): void: the gate suite was not passed (neutral): classes:1: "
    assert any(void in line for line in page.splitlines())
    for row in report["cells"][0]["engines"]:
        if row["mb_s"]:
            assert f"({row['mb_s']['min']:.3g}"[:3] in page
    table = next(line for line in page.splitlines() if line.startswith("| unique |") and " void " in line)
    assert table.count("|") == 7  # text, three engines, ratio, ids


def test_only_what_stands_between_the_markers_is_replaced(report: dict[str, Any]) -> None:
    page = f"# By hand\n\nbefore\n{BEGIN}\nold\n{END}\nafter\n"
    made = between_markers(page, "# Title\n\nnew\n")
    assert made == f"# By hand\n\nbefore\n{BEGIN}\nnew\n{END}\nafter\n"
    assert between_markers("anything", "# Title\n") == "# Title\n"


def test_nothing_measured_is_exit_4(capsys: pytest.CaptureFixture[str]) -> None:
    """A void row is shown and is no failure of the run, unless there is nothing else."""
    code, out, _ = bench(
        capsys, *SMALL, "--vocab", "gpt2", "--engines", "none", "--entry", "whole", "--roster", str(SPEEDY)
    )
    assert code == 4
    assert "void" in out and "nothing was measured" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--text", "klingon"), ("klingon", "known are")),
        (("--entry", "half"), ("half is not known", "documents-list")),
        (("--state", "hot"), ("hot is not known", "cold, first, warm, replay")),
        (("--engines", "gigatokn"), ("gigatokn", "gigatoken")),
        (("--engines", "dat-bpe[cache_bits"), ("not closed",)),
        (("--vocab", "gpt9"), ("gpt9",)),
        (("--ablation", "--switches", "no-such.toml"), ("no-such.toml",)),
        (("--ablation", "--load"), ("--ablation", "apart from --load")),
        (("--cache-sweep", "--growth"), ("--cache-sweep", "apart from --growth")),
        (("--cache-sweep", "--ablation"), ("--cache-sweep", "apart from --ablation")),
        (("--size", "inf"), ("--size", "inf")),
        (("--markdown", "no-such-folder/page.md"), ("--markdown", "no-such-folder/page.md")),
        (("--engines", "tiktoken[size=1]"), ("tiktoken has no option 'size'", "it has piece")),
        (("--engines", "tokenizers[size=1]"), ("tokenizers has no option 'size'", "it has none")),
        (("--engines", "dat-bpe[cache_bits=1,cache_bits=2]"), ("gives cache_bits twice",)),
        (("--engines", "dat-bpe[cache_bits=foo]"), ("dat-bpe[cache_bits=foo]", "cache_bits 'foo'", "use 0 to 24")),
        (("--engines", "dat-bpe[level=foo]"), ("dat-bpe[level=foo]", "scalar")),
        (("--engines", "dat-bpe", "--ablation"), ("--engines", "leave it out")),
        (("--switches", "no-such.toml"), ("--switches", "--ablation only")),
        (("--figure", "a.svg"), ("--figure", "--cache-sweep only")),
        (("--load", "--entry", "whole"), ("--text", "leave it out")),
        (("--cpu", "4096"), ("--cpu", "no processor 4096")),
        (("--text", "short", "--entry", "whole"), ("short is measured by documents-list",)),
        *(((option, given), (option, "names nothing")) for option in ("--engines", "--text", "--vocab", "--state")
          for given in ("", ",")),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    engines = () if "--engines" in arguments or "--ablation" in arguments else ("--engines", "dat-bpe")
    code, _, err = bench(capsys, *(() if "--text" in arguments else SMALL), *engines, *arguments)
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert all(word in err for word in words), err


def test_threads_without_an_entry_of_theirs_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = bench(capsys, "--scaling", "--entry", "batch-list")
    assert code == 2
    assert "--entry: two threads are measured by batch-flat, whole only" in err


def test_a_text_that_is_not_at_hand_is_named_with_its_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKASSAY_CACHE", str(tmp_path))
    code, _, err = bench(capsys, "--text", "verses")
    assert code == 2
    assert "run: tokassay corpora fetch kjv web shakespeare" in err


def test_an_engine_that_is_not_installed_is_named_with_its_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKASSAY_CACHE", str(tmp_path))
    code, _, err = bench(capsys, *SMALL, "--engines", "quicktok-v1")
    assert code == 2
    assert "run: tokassay engines install quicktok-v1" in err


def test_load_is_a_table_of_its_own(report: dict[str, Any]) -> None:
    """Built from an object by hand: what is void shows a verdict and no milliseconds."""
    spread = {"median": 2.0, "min": 1.0, "max": 3.0, "mad": 1.0, "low": 1.0, "high": 3.0}
    rows: list[dict[str, Any]] = [
        {"engine": "a", "verdict": "exact", "detail": "", "ms": spread, "cpu_ms": spread},
        {"engine": "b", "verdict": "void", "detail": "x", "ms": None, "cpu_ms": None},
    ]
    rows = [
        {"vocab": "gpt2", "reference": "r", "state": "warm", "ms_p95": 2.5 if row["ms"] else None,
         "cpu_ms_p95": 2.6 if row["ms"] else None, **row}
        for row in rows
    ]
    half = {"median": 4.0, "min": 3.0, "max": 5.0}
    rows = [{**rows[0], "state": "cold", "cpu_ms": half}, *rows]
    made = {**report, "cells": [], "ranking": [], "proofs": [], "load": rows}
    (table,) = tables(made)
    two = "2.00 (1.00–3.00)"
    assert table.rows == [
        ["a", "cold", two, "2.50", "4.00 (3.00–5.00)", "2.60", "1.00"], ["a", "warm", two, "2.50", two, "2.60", "1.00"],
        ["b", "warm", "void", "–", "void", "–", "–"],
    ]
    assert voids(made) == ["b (gpt2, load, warm): void: x"]
    assert measured(made) and not measured({**made, "load": rows[2:]})


def test_ids_a_second_beside_megabytes(report: dict[str, Any]) -> None:
    """cold: 20,000 bytes at the median speed, as many ids as tiktoken gives for them."""
    cell = report["cells"][0]
    assert 0 < cell["tokens"] < cell["bytes"]
    row = next(row for row in cell["engines"] if row["engine"] == "tiktoken")
    right = f"; {row['mb_s']['median'] * cell['tokens'] / cell['bytes']:.1f} M ids/s"
    shown = tables(report, tokens=True)[0].rows[0]
    assert shown[2].endswith(right) and "ids/s" not in shown[3]  # of the void one
    assert "ids/s" not in str(tables(report))


def test_names_are_parted_by_commas_outside_of_brackets() -> None:
    assert words("--x", ["a,b", "c"]) == ("a", "b", "c")
    assert words("--x", ["dat-bpe[x=1,y=2],tiktoken", "a,,b "]) == ("dat-bpe[x=1,y=2]", "tiktoken", "a", "b")
    assert words("--x", None) == ()


def test_a_second_bench_waits_for_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at once would measure each other."""
    monkeypatch.setenv("TOKASSAY_CACHE", str(tmp_path))
    said, entered = io.StringIO(), threading.Event()

    def second() -> None:
        with alone(Console(file=said, width=200)):
            entered.set()

    with alone(Console(file=io.StringIO())):
        waiting = threading.Thread(target=second)
        waiting.start()
        assert not entered.wait(0.3)
    waiting.join(10)
    assert entered.is_set() and "another bench is measuring" in said.getvalue()


# -- ablation ---------------------------------------------------------------------------------------------


def test_every_switch_of_the_preset_is_an_option_the_encoder_takes(capsys: pytest.CaptureFixture[str]) -> None:
    """Each row of presets/ablation.toml is run: a switch that is misspelled would be an error, never a figure."""
    code, out, _ = bench(
        capsys, *SMALL[:-1], "1", "--vocab", "gpt2", "--entry", "whole", "--state", "cold", "--ablation", "--json"
    )
    assert code == 0
    found = json.loads(out)
    jsonschema.validate(found, json.loads(schema("bench")))
    (cell,) = found["cells"]
    assert [row["engine"] for row in cell["engines"]] == ["dat-bpe", *(f"without {s.name}" for s in switches())]
    assert {row["verdict"] for row in cell["engines"]} == {"exact"}
    page = markdown(found)
    assert page.startswith("# Ablation\n") and all(one.what in page for one in switches())


def test_a_switch_that_the_encoder_has_not_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table = tmp_path / "switches.toml"
    table.write_text('[[switch]]\nname = "x"\noption = "no_such"\noff = 0\nwhat = "y"\n', "utf-8")
    code, _, err = bench(capsys, *SMALL, "--ablation", "--switches", str(table))
    assert code == 2
    assert "switch x: dat-bpe has no option 'no_such'; it has cache_bits, level" in err


@pytest.mark.parametrize("text", ["", "[[switch]]\nname = 1\n", "[[switch"])
def test_a_table_of_switches_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "switches.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError) as caught:
        switches(path)
    assert caught.value.where == str(path)


def test_each_contestant_has_one_option_off() -> None:
    from tokassay.engines.roster import load_roster

    made = contestants([Switch("cache", "cache_bits", 0, "")], load_roster())
    assert [(one.label, dict(one.options)) for one in made] == [("dat-bpe", {}), ("without cache", {"cache_bits": 0})]


# -- what is measured -------------------------------------------------------------------------------------


def test_a_file_of_ones_own_by_threads_states_and_aliases(
    capsys: pytest.CaptureFixture[str], workspace: Path
) -> None:
    """Every axis at once: cells are their product, each with its own digest, and the run is in the store."""
    lines = [f"{place}: some words of a line, and {place * 7919} more\n" for place in range(400)]
    (workspace / "own.txt").write_text("".join(lines), "utf-8")
    cpus = len(os.sched_getaffinity(0))
    threads = (1, 2) if cpus > 1 else (1,)
    code, out, _ = bench(
        capsys, "--corpus", "own.txt@lines", "--size", "0.01", "--cpu", CPU, "--repeat", "1", "--vocab", "gpt2",
        "--engine", "again=dat-bpe,dat-bpe", "--entry", "batch,bytes", "--state", "cold,first,warm,replay",
        "--threads", ",".join(map(str, threads)), "--json",
    )
    found = json.loads(out)
    assert code == 0
    jsonschema.validate(found, json.loads(schema("bench")))
    places = [(cell["entry"], cell["threads"], cell["state"]) for cell in found["cells"]]
    states = ("cold", "first", "warm", "replay")
    # `bytes` is one call a document: no number of threads is told to it
    assert places == [("batch-flat", n, s) for n in threads for s in states] + [("bytes", 1, s) for s in states]
    assert [one["engine"] for one in found["engines"]] == ["again", "dat-bpe"]
    by_state = {cell["state"]: cell for cell in found["cells"][:4]}
    assert by_state["cold"]["sha256"] == by_state["first"]["sha256"] == by_state["replay"]["sha256"]
    assert by_state["warm"]["sha256"] != by_state["cold"]["sha256"]
    for cell in found["cells"]:
        assert cell["text"] == "own.txt@lines" and cell["domain"] == "neutral" and cell["tokens"] > 0
        assert cell["bytes_token"] == pytest.approx(cell["bytes"] / cell["tokens"], abs=1e-4)
        for row in cell["engines"]:
            assert (row["verdict"], row["proved"], len(row["ns"])) == ("exact", "neutral", 1)
            assert row["peak_bytes"] >= row["steady_bytes"] > 1 << 20
            assert row["ratio"]["resolved"] is False  # one round resolves nothing
    lacks = ["battery", "lengths", "classes", "fuzz"]
    assert found["gate"] == {"suite": "gate-tiny", "lacks": lacks} and found["ranking"] == found["means"] == []
    assert all("Checked on the suite gate-tiny only" in table.notes[-1] for table in tables(found)[:-1])
    with sqlite3.connect(workspace / "tokassay.sqlite") as db:
        kept = db.execute("SELECT report FROM v_bench WHERE id = ?", (found["id"],)).fetchall()
        rows = "SELECT COUNT(*) FROM v_measurement WHERE bench = ? AND mb_s > 0 AND build <> ''"
        speeds = db.execute(rows, (found["id"],)).fetchone()
    assert [json.loads(row[0]) for row in kept] == [found]
    assert speeds == (2 * len(places),)


def test_ill_formed_documents_are_held_to_each_engines_own_variants(
    capsys: pytest.CaptureFixture[str], workspace: Path
) -> None:
    (workspace / "ill.txt").write_bytes(b"".join(b"line %d of w\xf0rds \xff\xfe\n" % place for place in range(200)))
    code, out, _ = bench(
        capsys, "--corpus", "ill.txt@lines", "--domain", "bytes", "--size", "0.003", "--cpu", CPU, "--repeat", "1",
        "--vocab", "gpt2", "--engine", "dat-bpe,tiktoken", "--entry", "bytes,batch-list", "--state", "cold", "--json",
    )
    found = json.loads(out)
    assert code == 0
    jsonschema.validate(found, json.loads(schema("bench")))
    plain, batch = found["cells"]
    assert (plain["domain"], plain["reference"]) == ("bytes", "oracle, byte-alphabet@16.0")
    # `bytes` of tiktoken is `_encode_bytes`, which has ids of its own for them; its batch takes text alone.
    assert [row["verdict"] for row in plain["engines"]] == ["exact", "exact"]
    assert [row["verdict"] for row in batch["engines"]] == ["exact", "void"]
    assert "are rejected as declared" in batch["engines"][1]["detail"]
    assert [row["proved"] for row in plain["engines"]] == ["bytes", "bytes"]
    assert {one["domain"] for one in found["proofs"]} == {"bytes"}


def test_documents_of_each_size_are_a_text(capsys: pytest.CaptureFixture[str]) -> None:
    more = ("--vocab", "gpt2", "--engine", "dat-bpe", "--entry", "batch-list", "--state", "cold", "--json")
    found = json.loads(bench(capsys, *SMALL, *more, "--document", "64,1000")[1])
    assert [(cell["text"], cell["documents"]) for cell in found["cells"]] == [("unique/64", 313), ("unique/1000", 20)]
    # A list of ids of each document, and ints above 256, which Python keeps none of: more blocks than ids is wrong.
    for cell in found["cells"]:
        assert cell["documents"] <= cell["engines"][0]["allocations"] <= cell["tokens"] + 3 * cell["documents"] + 100


def test_decoding_is_a_bench_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = bench(
        capsys, *SMALL, "--vocab", "gpt2", "--engine", "dat-bpe,tiktoken", "--operation", "decode", "--state", "warm",
        "--json",
    )
    (cell,) = json.loads(out)["cells"]
    assert code == 0 and cell["entry"] == "decode"
    assert [(row["verdict"], row["form"]) for row in cell["engines"]] == [("exact", "bytes")] * 2


@pytest.mark.parametrize("name", suites())
def test_every_suite_of_a_bench_can_be_asked(name: str) -> None:
    asked = bench_suite(name)
    assert set(asked["texts"]) <= set(kinds()) and set(asked["entries"]) <= set(ENTRIES)
    assert all(load_vocabulary(vocabulary) for vocabulary in asked["vocabularies"])


def test_a_suite_fills_what_the_command_line_leaves_open(
    capsys: pytest.CaptureFixture[str], workspace: Path
) -> None:
    suite = 'description = "x"\nvocabularies = ["gpt2"]\ntexts = ["unique"]\nentries = ["whole"]\nstates = ["cold"]\n'
    (workspace / "own.toml").write_text(suite, "utf-8")
    more = ("--size", "0.02", "--cpu", CPU, "--repeat", "1", "--engine", "dat-bpe", "--suite", "own.toml", "--json")
    cells = json.loads(bench(capsys, *more, "--state", "warm")[1])["cells"]
    assert [(cell["text"], cell["entry"], cell["state"]) for cell in cells] == [("unique", "whole", "warm")]
    (workspace / "wrong.toml").write_text('text = ["unique"]\n', "utf-8")
    code, _, err = bench(capsys, "--engine", "dat-bpe", "--suite", "wrong.toml")
    assert code == 2 and "wrong.toml: text is no list of a bench's suite; known: vocabularies" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--threads", "two"), "--threads: two is no number from 1 to 1024"),
        (("--threads", "1024", "--entry", "batch"), "--threads: there"),
        (("--threads", "2", "--entry", "documents-list"), "several threads are measured by batch-flat, whole"),
        (("--domain", "bytes"), "--domain: is of --corpus"),
        (("--operation", "decode", "--entry", "whole"), "decoding has one entry point"),
        (("--operation", "train"), "use encode or decode"),
        (("--suite", "none-such"), "use quick, standard or a TOML file"),
        (("--proof", "no-such-gate"), "no suite named no-such-gate"),
    ],
)
def test_wrong_axes_are_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    code, _, err = bench(capsys, *SMALL, "--engine", "dat-bpe", *arguments)
    assert code == 2 and said in err and len(err.strip().splitlines()) == 1, err


@pytest.mark.parametrize(("text", "said"), [("", "names nothing"), ("texts = []", "texts is empty")])
def test_an_empty_suite_does_not_stand_for_everything(tmp_path: Path, text: str, said: str) -> None:
    """Its defaults are two vocabularies, six texts and four entry points: hours that nobody asked for."""
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        bench_suite(str(file))


def test_what_was_measured_is_shown_where_it_cannot_be_kept(
    capsys: pytest.CaptureFixture[str], workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Store, "add_bench", full)
    (workspace / "kept.txt").write_text("".join(f"a line and {n}\n" for n in range(200)), "utf-8")
    code, out, err = bench(
        capsys, "--corpus", "kept.txt@lines", "--size", "0.01", "--cpu", CPU, "--repeat", "1", "--vocab", "gpt2",
        "--engine", "dat-bpe", "--entry", "whole", "--state", "cold", "--json",
    )
    found = json.loads(out)
    assert code == found["exit_code"] == 5 and "database or disk is full" in err
    jsonschema.validate(found, json.loads(schema("bench")))
    assert found["cells"][0]["engines"][0]["mb_s"]
