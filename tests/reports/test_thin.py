"""A bench on a suite that proves too little says so beside every figure."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tokassay.harness.bench_report import tables
from tokassay.reports.charts.gallery import draw
from tokassay.reports.charts.sources import Sources
from tokassay.reports.site.benches import bench_page
from tokassay.reports.site.engines import verdict
from tokassay.reports.site.model import Reported
from tokassay.reports.site.sources import Sources as Known
from tokassay.reports.splice import Facts, speeds
from tokassay.reports.thin import thin

SAID = "Checked on the suite mine only, which lacks lengths and fuzz, or has few of them: no ranking is made of it."


@pytest.fixture
def report() -> dict[str, Any]:
    """A bench of two engines, as a suite of one's own gives it."""
    rows = [
        {"engine": name, "verdict": "exact", "detail": "", "form": "list", "cpu_ns": [9], "ns": [9], "ratio": None,
         "mb_s": {"median": value, "min": value, "max": value, "low": value, "high": value}, "steady_bytes": 0}
        for name, value in (("a", 20.0), ("b", 10.0))
    ]  # fmt: skip
    cell = {"vocab": "gpt2", "text": "english", "entry": "whole", "state": "warm", "threads": 1, "bytes": 9,
            "documents": 1, "tokens": 3, "digest": "ab" * 32, "domain": "neutral", "engines": rows}  # fmt: skip
    return {
        "schema": "tokassay.bench/2", "started": "2026-11-30T10:00:00Z", "subject": "a", "engines": [], "cells": [cell],
        "proofs": [], "switches": [], "sweep": None, "ranking": [], "means": [], "load": [], "growth": [],
        "threads": [], "gate": {"suite": "mine", "lacks": ["lengths", "fuzz"]},
    }


def everywhere(report: dict[str, Any]) -> list[str]:
    """What is shown of a bench: notes of its tables, a chart's caption, its page, the table of a README."""
    (chart,) = draw(Sources(benches=[report]), ["throughput"]).charts
    page = bench_page(Reported("x", "x", report["started"], "", report))
    (cells,) = [each for each in page.values["sections"] if each.heading == "Cells"]
    spliced = speeds(Facts(Known((), ""), report), {"vocab": "gpt2"})
    return ["\n".join(tables(report)[0].notes), chart.caption, " ".join(cells.text), spliced]


def test_it_stands_beside_every_figure(report: dict[str, Any]) -> None:
    assert thin(report) == SAID
    assert all(SAID in shown for shown in everywhere(report))
    only = {"x": "exact, on mine only"}
    tags = [verdict({"bench": bench, "verdict": word}, only) for bench, word in (("x", "exact"), ("y", "exact"))]
    assert [(tag.text, tag.kind) for tag in tags] == [("exact, on mine only", "warn"), ("exact", "good")]
    assert verdict({"bench": "x", "verdict": "void"}, only).text == "void"


@pytest.mark.parametrize("gate", [{"suite": "gate-light", "lacks": []}, None])
def test_nothing_is_said_of_a_whole_suite_or_of_an_older_report(report: dict[str, Any], gate: Any) -> None:
    whole = copy.deepcopy(report)
    whole["gate"] = gate
    if gate is None:
        del whole["gate"]
    assert thin(whole) == "" and not any("Checked on" in shown for shown in everywhere(whole))


def test_a_hostile_name_is_words(report: dict[str, Any]) -> None:
    report["gate"]["suite"] = "a\u202eb"
    assert "a\\u{202E}b only" in thin(report)
