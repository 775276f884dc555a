"""A claim's page: what it shows, what it must not, and that nothing hostile passes."""

from __future__ import annotations

import copy
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tokassay.reports.charts.chart import NoData
from tokassay.reports.charts.claim import claim, units
from tokassay.reports.claim import groups, render_body, render_claim, share, write_claim
from tokassay.reports.errors import ReportError

VOID_TAGS = {"meta", "link", "br", "hr", "img", "input"}


def cell(text: str, median: float | None, outcome: str, *, own: bool = True, detail: str = "") -> dict[str, Any]:
    measured = None if median is None else {
        "median": median, "low": median * 0.9, "high": median * 1.1, "spread": "least and greatest",
    }
    return {
        "text": text, "own": own, "vocabulary": "gpt2", "outcome": outcome, "detail": detail, "measured": measured,
        "engine_mb_s": None if median is None else median * 3, "baseline_mb_s": None if median is None else 3.0,
        "share": None if median is None else median / 100, "share_per_core": None,
    }


def figure(name: str, verdict: str, *cells: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "name": name, "says": f"{name}, in our words", "kind": "ratio", "unit": "times",
        "claimed": {"value": 100.0, "low": None, "high": None}, "against": "slow", "cores": None, "per_core": None,
        "parts": None, "verdict": verdict, "why": "for a reason", "cells": list(cells), **changes,
    }


@pytest.fixture
def report() -> dict[str, Any]:
    divergence = {
        "where": "audit, battery", "vocabulary": "gpt2", "domain": "neutral", "voids": True,
        "explanation": "it joins <b> & 'c'", "command": "tokassay diff fast oracle --hex 62", "documents": 2,
        "input": "620a", "token": 0, "got": [1, 2], "expected": [3], "against": "oracle",
    }
    source = {"title": "a page", "address": "https://example.org/a", "read": "2026-11-30"}
    return {
        "schema": "tokassay.claim/1", "id": "0" * 12, "claim": "made", "started": "2026-11-30T10:00:00+00:00",
        "finished": "2026-11-30T10:05:00+00:00", "tokassay": "0.1.0", "command": "tokassay claim run made",
        "about": {
            "vendor": "Made & Co", "package": "made 1.0", "summary": "Fast.", "date": "2026-11", "hardware": "any",
            "corpus": "any", "baseline": "slow", "entry_point": "encode", "source": source, "further": [source],
            "contradictions": ["it says <script>alert(1)</script>"],
            "here": {
                "engine": "fast", "baselines": ["slow"], "vocabularies": ["gpt2"], "texts": ["english"],
                "left_out": ["code"], "entry": "whole", "state": "warm", "threads": 1, "size": 1_000_000, "repeat": 7,
                "minutes": 10.0, "differs": "in nothing",
            },
        },
        "verdict": "void", "sentence": "Void: the ids differ.",
        "figures": [
            figure("100x", "void", cell("english", 50.0, "missed"), cell("code", None, "void", detail="ids differ")),
            figure("a core", "not verifiable", cell("english", 150.0, "unjudged", own=False), kind="mb_s", unit="MB/s",
                   claimed={"value": 14400.0, "low": None, "high": None}, against=None, cores=144, per_core=100.0),
            figure("GPU", "not verifiable", kind="other", unit="",
                   claimed={"value": None, "low": None, "high": None}),
        ],
        "divergences": [divergence],
        "audit": {"run": "1", "corpora": ["battery"], "command": "tokassay audit --engine fast", "passed": False,
                  "documents": 12, "failed": {"neutral": 2}, "verdicts": {"neutral": {"match": 10, "differ": 2}},
                  "more": 3},
        "proofs": [{"engine": "fast", "vocab": "/home/me/gpt2", "entry": "whole", "domain": "neutral", "passed": True,
                    "documents": 9, "failed": 0, "verdicts": {"match": 9}, "detail": "", "command": ""}],
        "texts": [{"kind": "english", "title": "prose", "sources": ["kjv"], "own": True,
                   "a": {"bytes": 10, "sha256": "ab" * 32}, "b": {"bytes": 10, "sha256": "ab" * 32}}],
        "absent": {"cjk": "no network"},
        "engines": [{"engine": "fast", "version": "1.0", "entries": {"whole": "encode"}}],
        "contracts": {"gpt2": {"algorithm": "bpe-ranks", "digest": "aa"}},
        "machine": {"cpu": "Xeon", "cores": 2, "platform": "Linux", "python": "3.11", "load_average": 0.1}, "bench": [],
    }


class Balanced(HTMLParser):
    """Fails where an element is closed that is not open; what stays open is left in `open`."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)
        if tag not in VOID_TAGS:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag


def test_the_page_shows_all_that_decides(report: dict[str, Any]) -> None:
    page = render_claim(report)
    for said in ("Made &amp; Co: void", "Void: the ids differ.", "100x, in our words",
                 "14,400 MB/s / 144 cores = 100 MB/s",
                 "left out by the vendor", "ids differ", "it joins &lt;b&gt; &amp;", "tokassay claim run made",
                 "And 3 divergences more", "left out: no network",
                 "fast (gpt2, whole) passed, 9 documents",
                 "https://example.org/a", "10 match, 2 differ"):
        assert said in page, said
    assert "<script" not in page and "http-equiv" not in page
    parser = Balanced()
    parser.feed(page)
    assert parser.open == [] and "script" not in parser.seen


def test_a_void_cell_has_no_number(report: dict[str, Any]) -> None:
    (group, *_) = groups(report)
    assert [(row["text"], row["measured"] is None) for row in group["rows"]] == [("english", False), ("code", True)]
    row = re.search(r"<tr><td>code.*?</tr>", render_claim(report), re.S)
    assert row is not None and "–" in row[0] and ">void<" in row[0] and not re.search(r"\d\.\d", row[0])


def test_the_body_stands_alone(report: dict[str, Any]) -> None:
    body = render_body(report, "<svg></svg>", "a caption")
    assert "<html" not in body and "<style" not in body and "a caption" in body and "<svg></svg>" in body
    assert str(body) in render_claim(report, "<svg></svg>", "a caption")


def test_the_chart_is_made_of_the_reports_numbers(report: dict[str, Any]) -> None:
    ratio, speed = units(report)
    assert [(row.kind, row.name, row.median, row.word) for row in ratio.rows] == [
        ("claimed", "100x", None, ""), ("own", "english", 50.0, ""), ("own", "code", None, "void")]
    assert [(row.kind, row.low, row.high) for row in speed.rows] == [
        ("claimed", 14400.0, 14400.0), ("left out", 135.0, 165.0)]
    assert speed.logarithmic and not ratio.logarithmic  # 135 beside 14,400; 45 beside 100
    chart = claim(report)
    assert "times slow: claimed 100, measured 50" in chart.caption
    assert "MB/s: claimed 14,400, measured 150" in chart.caption and chart.title.endswith("Made & Co")
    assert chart.alt == "Rows: 2 claimed figures over what was measured; 2 of 3 texts have a figure."
    assert list(chart.table["median"].dropna()) == [50.0, 150.0]
    bar = chart.figure.findobj(lambda one: (one.get_gid() or "").startswith("own--times"))
    assert [(one.get_x(), one.get_width()) for one in bar] == [(0, 50.0)]  # nothing of the void text
    dot = chart.figure.findobj(lambda one: (one.get_gid() or "").startswith("left_20out--MB"))
    assert [list(one.get_xdata()) for one in dot] == [[150.0]]
    svg = chart.svg()
    assert ">void<" in svg and ">claimed: 100x<" in svg and svg == claim(report).svg()


def test_a_range_is_drawn_from_end_to_end(report: dict[str, Any]) -> None:
    report["figures"][0]["claimed"] = {"value": None, "low": 10.0, "high": 35.0}
    report["figures"][1]["claimed"] = {"value": None, "low": 10.0, "high": 35_000.0}
    chart = claim(report)
    (bar,) = chart.figure.findobj(lambda one: (one.get_gid() or "").startswith("claimed--times"))
    assert (bar.get_x(), bar.get_width()) == (10, 25)
    (dots,) = chart.figure.findobj(lambda one: (one.get_gid() or "").startswith("claimed--MB"))
    assert list(dots.get_xdata()) == [10, 35_000]
    assert "claimed 10 to 35, measured 50" in chart.caption and ">10–35<" in chart.svg()


def test_the_chart_is_dark_where_the_page_is(report: dict[str, Any], tmp_path: Path) -> None:
    write_claim(report, tmp_path)
    for name in ("index.html", "chart.svg"):
        text = (tmp_path / name).read_text("utf-8")
        svg = text[text.index("<svg ") : text.index("</svg>")]
        (rules,) = re.findall(r"<style>@media screen and \(prefers-color-scheme:dark\)(.*?)</style>", svg, re.S)
        inked = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", svg.replace(rules, "")))
        # White and the three greys of the house have a dark colour; what has none is seen on both.
        assert {"#ffffff", "#1d1f22", "#575d66", "#d9d6cf"} <= inked
        assert all(f'[style*="fill: {one}"]' in rules for one in ("#ffffff", "#1d1f22", "#575d66", "#d9d6cf"))
        assert inked - {"#ffffff", "#1d1f22", "#575d66", "#d9d6cf"} == {"#0072b2", "#56b4e9", "#d55e00"}
    assert "background:#fff" not in (tmp_path / "index.html").read_text("utf-8")


def test_hidden_characters_of_a_claim_are_spelled_out(report: dict[str, Any]) -> None:
    report["about"]["vendor"] = "M\u202eade"
    report["figures"][0]["name"] = "100\x1bx"
    report["figures"][0]["cells"][0]["text"] = "e\u200bnglish"
    chart = claim(report)
    said = chart.svg() + chart.caption + chart.alt
    assert not {"\u202e", "\x1b", "\u200b"} & set(said)
    assert "M\\u{202E}ade" in chart.caption and "100\\u{1B}x" in said


def test_figures_with_the_same_cells_share_their_bars(report: dict[str, Any]) -> None:
    twin = copy.deepcopy(report["figures"][0])
    twin["name"] = "another"
    report["figures"].insert(1, twin)
    (first, _) = units(report)
    assert [(row.kind, row.name) for row in first.rows] == [
        ("claimed", "100x"), ("claimed", "another"), ("own", "english"), ("own", "code")]
    assert len(groups(report)[0]["rows"][0]["cells"]) == 2
    text = claim(report).svg()
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))


def test_without_a_number_there_is_no_chart(report: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "chart.svg").write_text("of a former run")
    bare = {**report, "figures": report["figures"][2:]}
    with pytest.raises(NoData):
        claim(bare)
    assert [path.name for path in write_claim(bare, tmp_path)] == ["index.html", "claim.json"]
    assert not (tmp_path / "chart.svg").exists()
    assert "What was measured" not in (tmp_path / "index.html").read_text("utf-8")


def test_the_files(report: dict[str, Any], tmp_path: Path) -> None:
    names = [path.name for path in write_claim(report, tmp_path / "deep" / "er")]
    assert names == ["index.html", "claim.json", "chart.svg", "chart.png"]
    assert json.loads((tmp_path / "deep" / "er" / "claim.json").read_text("utf-8")) == report
    (tmp_path / "file").write_text("")
    with pytest.raises(ReportError) as error:
        write_claim(report, tmp_path / "file")
    assert "--out" in error.value.remedy


@pytest.mark.parametrize(("value", "said"), [(None, "–"), (0.0153, "1.53 %"), (1.0, "100 %"), (41.9, "41.9×")])
def test_shares(value: float | None, said: str) -> None:
    assert share(value) == said
