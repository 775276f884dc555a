"""`tokassay report charts`: what is drawn of a store and of benches, and what is said of the rest."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import typer
from tokassay.harness.commands.report_charts import charts
from tokassay.harness.errors import InputError
from tokassay.reports.charts.gallery import KINDS, ROWS, draw
from tokassay.reports.charts.sources import Sources, from_store, gains, measurements, parse, sweep, switches
from tokassay.reports.errors import ReportError
from typer.testing import CliRunner

Row = dict[str, Any]
APP = typer.Typer()
APP.command()(charts)


def call(*words: object) -> tuple[int, str]:
    """The exit code and standard output of the command."""
    told = CliRunner().invoke(APP, [str(word) for word in words])
    if told.exception is not None and not isinstance(told.exception, SystemExit):
        raise told.exception
    return told.exit_code, told.output


def exact(engine: str, value: float, **more: Any) -> Row:
    spread = {"median": value, "min": value - 9, "max": value + 9, "mad": 1.0, "low": value - 2, "high": value + 3}
    return {"engine": engine, "verdict": "exact", "detail": "", "mb_s": spread, "cpu_ns": [1], "ns": [1], **more}


def report(cells: list[Row], started: str = "2026-03-01T02:00:00+00:00", **more: Any) -> Row:
    return {
        "schema": "tokassay.bench/2", "started": started, "cells": cells, "load": [], "threads": [], "switches": [],
        "sweep": None, "engines": [
            {"engine": "dat-bpe", "requirement": "tokassay"}, {"engine": "other", "requirement": "other==1"}], **more,
    }  # fmt: skip


LIAR = {"engine": "liar", "verdict": "void", "detail": "ids differ", "mb_s": None, "cpu_ns": [], "ns": []}


def cell(
    text: str = "english", state: str = "warm", threads: int = 1, rows: list[Row] | None = None, **more: Any
) -> Row:
    return {
        "vocab": "gpt2", "text": text, "entry": "whole", "state": state, "threads": threads, "bytes": 1000,
        "documents": 10, "engines": rows or [exact("dat-bpe", 300.0), exact("other", 100.0), LIAR], **more,
    }  # fmt: skip


def test_rows_of_a_bench_have_the_bounds_and_the_marks() -> None:
    rows = measurements(report([cell()])).set_index("engine")
    assert rows.loc["dat-bpe", ["mb_s", "mb_s_low", "mb_s_high"]].tolist() == [300, 298, 303]
    assert rows["ours"].tolist() == [True, False, False] and rows.loc["liar", "mb_s"] != rows.loc["liar", "mb_s"]
    old = exact("dat-bpe[profile=true]", 300.0, mb_s={"median": 300.0, "min": 280.0, "max": 310.0})
    rows = measurements(report([cell(rows=[old])]))
    assert rows.loc[0, ["mb_s", "mb_s_low", "mb_s_high", "ours"]].tolist() == [300, 280, 310, True]


def test_several_threads_are_measured_by_wall_time() -> None:
    wall = {"median": 500.0, "min": 490.0, "max": 510.0, "mad": 1.0, "low": 495.0, "high": 505.0}
    one, two = exact("a", 300.0, ns=[100, 100, 120]), exact("a", 280.0, ns=[50, 60, 60], wall_mb_s=wall)
    made = report([cell(rows=[{**one, "wall_mb_s": wall}]), cell(threads=2, rows=[two])])
    assert measurements(made)["mb_s"].tolist() == [300, 500]
    found = gains(made)
    # 100/50, 100/60, 120/60: round by round.
    assert found[["threads", "gain", "low", "high"]].to_numpy().tolist() == [[2, 2.0, pytest.approx(5 / 3), 2.0]]
    alone = gains(report([cell(threads=2, rows=[two]), cell(threads=4, rows=[two])]))
    assert alone["verdict"].tolist() == ["no row of one thread"] * 2
    gain = {"median": 1.7, "min": 1.5, "max": 1.9}
    section = {"vocab": "gpt2", "text": "code", "entry": "batch-flat", "engine": "a", "verdict": "exact",
               "gain_threads": gain}  # fmt: skip
    assert gains(report([], threads=[section]))[["threads", "gain", "low"]].to_numpy().tolist() == [[2, 1.7, 1.5]]


def test_switches_and_sweeps_are_no_engines() -> None:
    on, off = exact("dat-bpe", 300.0, cpu_ns=[100, 100, 100]), exact("without cache", 200.0, cpu_ns=[150, 200, 160])
    made = report([cell(rows=[on, off])], switches=[{"name": "cache"}])
    found = switches(made)
    assert found[["switch", "gain", "low", "high"]].to_numpy().tolist() == [["cache", 1.6, 1.5, 2.0]]
    points = [{"engine": "none", "bits": 0, "bytes": 0}, {"engine": "2^8", "bits": 8, "bytes": 8192},
              {"engine": "2^9", "bits": 9, "bytes": 16384}]  # fmt: skip
    swept = report([cell(rows=[exact(p["engine"], 10.0 + p["bits"]) for p in points])],
                   sweep={"points": points, "processor": {"L2": 8192}})  # fmt: skip
    assert sweep(swept)[["bits", "memory", "mb_s"]].to_numpy().tolist() == [[0, 0, 10], [8, 8192, 18], [9, 16384, 19]]
    drawn = draw(Sources(benches=[made, swept]))
    assert {"ladder-gpt2-whole-warm", "cache-gpt2-whole"} <= {chart.name for chart in drawn.charts}
    assert dict(drawn.absent)["throughput"] == "no bench has cells"


def test_every_chart_is_drawn_or_named_with_the_reason() -> None:
    drawn = draw(Sources())
    assert drawn.charts == [] and [name for name, _ in drawn.absent] == list(KINDS)
    assert all(reason for _, reason in drawn.absent)
    sizes = [cell(f"docs-{size}", documents=count) for size, count in (("16", 60), ("1k", 2))]
    found = draw(Sources(benches=[report([cell(), cell(state="cold"), *sizes]),
                                  report([cell()], started="2026-03-02T02:00:00+00:00")]))  # fmt: skip
    # The latest bench that has the rows: the second has no documents of several sizes, and no cold state.
    assert [chart.name for chart in found.charts] == [
        "throughput-gpt2-whole-warm", "documents-gpt2-whole-warm", "trend"]
    assert dict(found.absent)["states"] == "no cell was measured both cold and warm (bench --state cold,warm)"


def test_a_store_and_benches_are_drawn(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    store, out = scenario("failing"), tmp_path / "charts"
    with sqlite3.connect(store) as db:
        db.execute("INSERT INTO bench VALUES ('b1', '2026-03-01', '2026-03-01', 'tokassay bench', '0.1.0', 0, ?)",
                   (json.dumps(report([cell()])),))  # fmt: skip
    code, told = call("--store", store, "--out", out, "--json", "--only", "volumes,stages,throughput,coverage,load")
    found = json.loads(told)
    assert code == found["exit_code"] == 0
    by_name = {chart["name"]: chart for chart in found["charts"]}
    assert list(by_name) == ["coverage-gpt2", "stages", "throughput-gpt2-whole-warm", "volumes"]
    assert found["absent"] == [{"name": "load", "reason": "no bench has load times (bench --load)"}]
    assert sorted(path.name for path in out.iterdir()) == sorted(
        f"{name}.{kind}" for name in by_name for kind in ("csv", "png", "svg"))
    # Counted by hand from the store: 702 + 41 + 389, 4,821 and 2,483 documents; 5 differences, a crash and 3 timeouts.
    assert "3 corpora, 8,436 documents" in by_name["volumes"]["caption"]
    assert "dat-bpe has 5 wrong answers (battery)" in by_name["coverage-gpt2"]["caption"]
    assert "tokenizers has 4 wrong answers (fuzz)" in by_name["coverage-gpt2"]["caption"]
    assert "3 divergences of 2 engines" in by_name["stages"]["caption"]
    assert from_store(store, "5f0c").run is not None


def test_rows_can_be_given(tmp_path: Path) -> None:
    given = tmp_path / "rows.csv"
    given.write_text("engine,mb_s,documents,reference\nlossy,80,0.5,tiktoken\n")
    told = tmp_path / "rows.json"
    told.write_text('[{"trainer": "a", "bytes": 10, "seconds": 1, "equal": true}]')
    code, out = call("--rows", f"agreement={given}", "--rows", f"training={told}", "--out", tmp_path / "o", "--only",
                     "agreement", "--only", "training")  # fmt: skip
    assert code == 0 and "lossy: 50.0 % of documents as tiktoken has them, at 80.0 MB/s." in out
    assert "a: 1.00 s for 10 B" in out and (tmp_path / "o" / "training.svg").is_file()


def test_nothing_drawn_is_exit_4(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, out = call("--only", "load")
    assert code == 4 and "not drawn: load: no bench is given (--bench FILE, or a store that has one)" in out
    assert not (tmp_path / "charts").exists()


def test_wrong_use_names_the_place_and_the_remedy(tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    for words, error, said in (
        (("--only", "pie"), ReportError, "no chart is called pie"),
        (("--bench", tmp_path / "none.json"), InputError, "cannot be read"),
        (("--rows", "pie=x"), InputError, "pie=x is not CHART=FILE"),
        (("--store", tmp_path / "none.sqlite"), ReportError, "there is no store here"),
    ):
        with pytest.raises(error, match=said) as caught:
            call(*words)
        assert caught.value.where and caught.value.remedy
    for text, said in (("{", "not JSON"), ('{"schema": "other/1"}', "not the report of a bench")):
        bad.write_text(text)
        with pytest.raises(ReportError, match=said):
            call("--bench", bad)
    assert parse('{"schema": "tokassay.bench/1"}', "x")["schema"] == "tokassay.bench/1"
    bad.write_text("nonsense")
    with pytest.raises(InputError, match="cannot be read as rows"):
        call("--rows", f"agreement={bad}")


GALLERY = Path(__file__).resolve().parents[2] / "docs" / "figures" / "charts"


@pytest.mark.parametrize("path", sorted((GALLERY / "rows").glob("*.csv")), ids=lambda path: path.stem)
def test_the_gallery_says_what_its_rows_say(path: Path) -> None:
    chart = ROWS[path.stem](pd.read_csv(path))
    page = " ".join((GALLERY.parents[1] / "CHARTS.md").read_text("utf-8").split())
    assert f"### {chart.name} ![{chart.alt}](figures/charts/{chart.name}.svg) {chart.caption} " in page
    told = (GALLERY / f"{chart.name}.svg").read_text("utf-8")
    # The words and numbers in the drawing, too; its lines may differ by the version of matplotlib.
    assert re.findall(r"<text [^>]*>([^<]*)", told) == re.findall(r"<text [^>]*>([^<]*)", chart.svg())
    assert len(told) < 60_000
