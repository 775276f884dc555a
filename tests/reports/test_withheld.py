"""No figure of an edited report is shown where the report itself does not say that the ids were right."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from tokassay.harness.store import Store
from tokassay.reports.charts.sources import measurements, parse
from tokassay.reports.downloads import views
from tokassay.reports.withheld import withheld


def speed(value: float) -> dict[str, float]:
    return {"median": value, "min": value, "max": value, "low": value, "high": value}


def row(engine: str, to: str, value: float) -> dict[str, Any]:
    return {"engine": engine, "verdict": "exact", "detail": "", "proved": "neutral", "cpu_ns": [9, 9], "ns": [9, 9],
            "mb_s": speed(value), "wall_mb_s": speed(value), "ns_call": speed(9.0), "ratio": speed(2.0), "ratio_to": to}


def proof(engine: str, **changes: Any) -> dict[str, Any]:
    return {"engine": engine, "vocab": "gpt2", "entry": "whole", "threads": 1, "domain": "neutral", "passed": True,
            **changes}


@pytest.fixture
def report() -> dict[str, Any]:
    cell = {"vocab": "gpt2", "asked": "gpt2", "text": "english", "entry": "whole", "state": "warm", "threads": 1,
            "domain": "neutral", "engines": [row("a", "b", 20.0), row("b", "a", 10.0)]}
    return {"schema": "tokassay.bench/2", "proofs": [proof("a"), proof("b")], "cells": [cell],
            "ranking": [{"engines": ["a", "b"]}], "means": [{"engine": "b"}]}


def shown(report: dict[str, Any]) -> list[tuple[str, str, bool, bool, bool]]:
    return [(one["engine"], one["verdict"], bool(one["mb_s"]), bool(one["cpu_ns"]), bool(one["ratio"]))
            for one in report["cells"][0]["engines"]]


def test_a_whole_report_stays_as_it_is(report: dict[str, Any]) -> None:
    before = copy.deepcopy(report)
    assert withheld(report) == report == before


WITHOUT = [("a", "exact", True, True, False), ("b", "void", False, False, False)]


@pytest.mark.parametrize(
    "edit",
    [
        lambda report: report["cells"][0]["engines"][1].update(verdict="void"),  # its figures were left
        lambda report: report["cells"][0]["engines"][1].update(proved=""),  # a barred row, made exact
        lambda report: report["proofs"][1].update(passed=False),
        lambda report: report["cells"][0].update(domain="bytes") or report["cells"][0]["engines"][0].update(
            proved="bytes"),  # of b there is a neutral proof only
    ],
    ids=["verdict", "proved", "proof", "domain"],
)  # fmt: skip
def test_an_edited_report_has_no_speed_for_what_it_did_not_prove(report: dict[str, Any], edit: Any) -> None:
    edit(report)
    found = withheld(report)
    assert shown(found) == WITHOUT
    assert found["ranking"] == found["means"] == []


def test_a_proof_with_one_thread_is_none_with_two(report: dict[str, Any]) -> None:
    report["proofs"].append(proof("b", threads=2, passed=False))
    assert withheld(report) == report
    report["cells"][0]["threads"] = 2
    assert shown(withheld(report)) == WITHOUT


def test_charts_draw_what_is_left(report: dict[str, Any]) -> None:
    report["proofs"][1]["passed"] = False
    table = measurements(parse(json.dumps(report), "a file"))
    assert list(table["mb_s"].fillna(0)) == [20.0, 0.0] and list(table["verdict"]) == ["exact", "void"]


@pytest.mark.parametrize("edited", ["verdict", "proof"])
def test_downloads_have_no_figure_of_a_void_row(report: dict[str, Any], tmp_path: Path, edited: str) -> None:
    whole = copy.deepcopy(report)
    if edited == "verdict":
        report["cells"][0]["engines"][1]["verdict"] = "void"
    else:
        report["proofs"][1]["passed"] = False
    store = Store(tmp_path / "s.sqlite")
    for name, one in (("a", whole), ("b", report)):
        row = {"id": name, "started": "s", "finished": "f", "command": "c", "tokassay": "0", "exit_code": 0}
        store.add_bench({**one, **row})
    store.close()
    table = views([tmp_path / "s.sqlite"])["v_measurement"].set_index(["bench", "engine"])
    figures = ["cpu_ns", "ns", "mb_s", "mb_s_low", "mb_s_high"]
    assert list(table.index[table["verdict"] == "void"]) == [("b", "b")]
    for place, row in table.iterrows():
        assert row[figures].isna().all() if place == ("b", "b") else row[figures].notna().all(), place
