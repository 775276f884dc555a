"""Charts say what their rows say: marks, captions and tables are held to numbers worked out by hand."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tokassay.reports.charts.agreement import agreement
from tokassay.reports.charts.cache import cache
from tokassay.reports.charts.chart import Chart, NoData, gid
from tokassay.reports.charts.coverage import coverage
from tokassay.reports.charts.documents import documents
from tokassay.reports.charts.ladder import ladder
from tokassay.reports.charts.load import load
from tokassay.reports.charts.pipeline import pipeline
from tokassay.reports.charts.stages import stages
from tokassay.reports.charts.states import states
from tokassay.reports.charts.style import (
    DARK,
    INK,
    ON_FILL,
    ORANGE,
    PAPER,
    SKY,
    SOFT,
    contrast,
    figure,
    logarithmic,
    measure,
    shade,
    tick,
    ticks,
    wrap,
)
from tokassay.reports.charts.threads import threads
from tokassay.reports.charts.throughput import throughput
from tokassay.reports.charts.training import training
from tokassay.reports.charts.trend import trend, trend_verdicts
from tokassay.reports.charts.volumes import volumes
from tokassay.reports.errors import ReportError

Row = dict[str, Any]
XLINK = "{http://www.w3.org/1999/xlink}href"


def cell(text: str, engine: str, value: float, low: float, high: float, verdict: str = "exact", **more: Any) -> Row:
    return {"text": text, "engine": engine, "verdict": verdict, "mb_s": value, "mb_s_low": low, "mb_s_high": high,
            "vocab": "gpt2", "entry": "whole", "state": "warm", "threads": 1, **more}  # fmt: skip


ROWS = [
    cell("english", "ours", 300, 280, 310, ours=True),
    cell("english", "fast", 200, 190, 220),
    cell("english", "liar", 9000, 8000, 9900, "void", detail="ids differ"),
    cell("code", "ours", 150, 140, 170, ours=True),
    cell("code", "fast", 145, 130, 155),
    cell("code", "liar", math.nan, math.nan, math.nan, "crash (signal 11)"),
]


def parsed(chart: Chart, theme: Any = "auto") -> ElementTree.Element:
    return ElementTree.fromstring(chart.svg(theme))


def marks(chart: Chart, kind: str) -> set[str]:
    """The ids of a kind of mark in the drawing, without the chart's name."""
    found = [e.get("id", "") for e in parsed(chart).iter()]
    assert len(found) == len([one for one in found if one == ""]) + len({one for one in found if one}), "an id twice"
    return {one.removeprefix(f"{chart.name}-") for one in found if one.startswith(f"{chart.name}-{kind}--")}


def words(chart: Chart) -> list[str]:
    return [" ".join("".join(e.itertext()).split()) for e in parsed(chart).iter("{http://www.w3.org/2000/svg}text")]


def artist(chart: Chart, *name: object) -> Any:
    found = chart.figure.findobj(lambda one: one.get_gid() == gid(*name))
    assert len(found) == 1
    return found[0]


def point(chart: Chart, *name: object) -> tuple[float, float]:
    one = artist(chart, *name)
    return float(one.get_xdata()[0]), float(one.get_ydata()[0])


# -- one chart at a time ----------------------------------------------------------------------------------


def test_throughput_has_a_bar_where_ids_were_right_and_nowhere_else() -> None:
    chart = throughput(ROWS)
    assert chart.name == "throughput-gpt2-whole-warm"
    assert marks(chart, "bar") == {"bar--english--ours", "bar--english--fast", "bar--code--ours", "bar--code--fast"}
    assert marks(chart, "absent") == {"absent--english--liar", "absent--code--liar"}
    assert [artist(chart, "bar", "english", e).get_width() for e in ("ours", "fast")] == [300, 200]
    assert artist(chart, "bar", "english", "ours").get_x() == 0
    # The void engine's figures are nowhere: not in the words, the caption or the table; the axis ends behind 310.
    assert "9,000" not in " ".join([*words(chart), chart.caption]) and chart.figure.axes[0].get_xlim()[1] < 350
    assert chart.table.loc[chart.table["engine"].eq("liar"), "mb_s"].isna().all()
    assert {"void", "crash (signal 11)", "ours †", "300", "145"} <= set(words(chart))
    assert chart.caption == (
        "On english, ours gives 300 MB/s (280–310); next is fast with 200 MB/s (190–220); the quotient of the medians "
        "is 1.50. On code, ours gives 150 MB/s (140–170); next is fast with 145 MB/s (130–155); the quotient of the "
        "medians is 1.03, so that which is faster is not resolvable. 2 of 6 cells have no speed: 1 crash (signal 11), "
        "1 void. Each text has an axis of its own. † marks an engine of this project."
    )


def test_a_ratio_that_the_bench_has_is_not_made_anew() -> None:
    pair = {"ratio_to": "fast", "ratio": 1.04, "ratio_low": 1.01, "ratio_high": 1.07}
    told = throughput([{**ROWS[3], **pair, "resolved": True}, ROWS[4]]).caption
    assert "; the ratio is 1.04 (1.01–1.07). " in told
    told = throughput([{**ROWS[0], **pair, "resolved": False}, ROWS[1]]).caption
    assert "; the ratio is 1.04 (1.01–1.07), of too few rounds to tell them apart. " in told
    told = throughput([{**ROWS[0], **pair, "ratio_low": 0.99, "resolved": False}, ROWS[1]]).caption
    assert "; the ratio is 1.04 (0.990–1.07), so that which is faster is not resolvable. " in told


def test_throughput_over_a_wide_span_is_dots_on_a_logarithmic_axis() -> None:
    chart = throughput([cell("t", "a", 310, 300, 320), cell("t", "b", 10, 9, 11), cell("u", "a", 20, 18, 22)])
    assert marks(chart, "bar") == {"bar--u--a"} and marks(chart, "dot") == {"dot--t--a", "dot--t--b"}
    assert [axes.get_xscale() for axes in chart.figure.axes] == ["log", "linear"]
    assert "The axis of t is logarithmic, so speeds there are dots and not bars." in chart.caption
    linear = throughput([cell("t", "a", 300, 300, 300), cell("t", "b", 10, 10, 10)])
    assert linear.figure.axes[0].get_xscale() == "linear" and len(marks(linear, "bar")) == 2


def test_throughput_draws_one_place_and_only_with_a_speed() -> None:
    with pytest.raises(ReportError, match="vocab has the values gpt2, other"):
        throughput([*ROWS, {**ROWS[0], "vocab": "other"}])
    with pytest.raises(NoData, match="no cell is exact"):
        throughput([{**row, "verdict": "void"} for row in ROWS])
    with pytest.raises(NoData, match="no rows"):
        throughput([])
    with pytest.raises(ReportError, match="no column engine"):
        throughput([{"text": "t", "verdict": "exact"}])


def test_states_show_what_a_second_pass_gains() -> None:
    cold = [{**row, "state": "cold", "mb_s": row["mb_s"] / 1.25} for row in ROWS]
    chart = states([*cold, *ROWS, {**ROWS[0], "state": "replay", "mb_s": 7777}])
    assert words(chart).count("×1.25") == 4
    assert "On english, warm over cold: ours 1.25 and fast 1.25." in chart.caption
    assert "4 of 12 cells have no speed." in chart.caption
    assert len(marks(chart, "dot")) == 8 and len(marks(chart, "absent")) == 2
    assert point(chart, "dot", "cold", "english", "fast")[0] == 160
    assert 7777 not in chart.table["mb_s"].tolist()
    with pytest.raises(NoData, match="both cold and warm"):
        states(ROWS)


def test_documents_are_placed_by_their_mean_size() -> None:
    rows = [
        {**cell(f"docs-{size}", "a", speed, speed - 1, speed + 1), "bytes": 960_000, "documents": 960_000 // size}
        for size, speed in ((16, 20), (64, 50), (4096, 80))
    ]
    chart = documents([*rows, {**rows[0], "engine": "liar", "verdict": "void"}])
    assert [point(chart, "point", "a", x) for x in ("16", "64")] == [(16, 20), (64, 50)]
    assert "a: 20.0 (19.0–21.0) MB/s at 16 B a document, 80.0 (79.0–81.0) MB/s at 4.1 kB, 4.00 times." in chart.caption
    assert "Without a speed: liar void on docs-16." in chart.caption
    with pytest.raises(NoData, match="two sizes"):
        documents(rows[:1])


def test_threads_are_measured_against_the_ideal() -> None:
    rows = [
        {"engine": "a", "threads": 4, "verdict": "exact", "gain": 3.0, "low": 2.8, "high": 3.1},
        {"engine": "a", "threads": 2, "verdict": "exact", "gain": 1.8, "low": 1.7, "high": 1.9},
        {"engine": "b", "threads": 2, "verdict": "void", "gain": 2.0, "low": 2.0, "high": 2.0},
    ]
    chart = threads(rows)
    assert "a is 3.00 (2.80–3.10) times as fast with 4 threads as with one, 75.0 % of the ideal." in chart.caption
    assert "Without a figure: b (void)." in chart.caption
    assert marks(chart, "line") == {"line--a"} and len(marks(chart, "point")) == 3
    assert [list(data) for data in artist(chart, "ideal").get_data()] == [[1, 4], [1, 4]]
    assert point(chart, "point", "a", "1") == (1, 1)
    with pytest.raises(NoData, match="more than one thread"):
        threads([{**rows[0], "threads": 1}])


def test_load_shows_the_median_and_the_tail() -> None:
    chart = load([
        {"engine": "a", "state": "cold", "verdict": "exact", "p50": 40.0, "p95": 55.5, "vocab": "gpt2"},
        {"engine": "a", "state": "warm", "verdict": "exact", "p50": 1.25, "p95": 2.0, "vocab": "gpt2"},
        {"engine": "b", "state": "cold", "verdict": "error", "p50": None, "p95": None, "vocab": "gpt2"},
    ])
    assert "a: 40.0 ms cold (95 %: 55.5), 1.25 ms warm (95 %: 2.00). b has no figure." in chart.caption
    assert marks(chart, "dot") == {"dot--cold--a", "dot--warm--a"}
    assert marks(chart, "absent") == {"absent--cold--b", "absent--warm--b"}
    assert {"error", "not asked"} <= set(words(chart)) and chart.figure.axes[0].get_xscale() == "log"


def test_the_ladder_says_what_pays() -> None:
    rows = [
        {"text": "t", "switch": "cache", "verdict": "exact", "gain": 2.5, "low": 2.2, "high": 2.9},
        {"text": "t", "switch": "wide", "verdict": "exact", "gain": 0.9, "low": 0.8, "high": 1.1},
        {"text": "t", "switch": "words", "verdict": "void", "gain": 7.0, "low": 7.0, "high": 7.0},
    ]
    chart = ladder(rows)
    assert chart.caption == (
        "On t the most is gained by cache: 2.50 (2.20–2.90) times; 1 of 2 have all of their interval above 1."
    )
    bar, less = artist(chart, "bar", "t", "cache"), artist(chart, "bar", "t", "wide")
    assert (bar.get_x(), bar.get_width()) == (1, 1.5) and less.get_x() == 0.9
    assert less.get_hatch() and not bar.get_hatch() and marks(chart, "absent") == {"absent--t--words"}


def test_the_knee_is_the_smallest_cache_with_95_percent() -> None:
    speeds = {0: 99.0, 8: 50.0, 9: 94.9, 10: 95.0, 11: 100.0, 12: 97.0}
    rows = [
        {"text": "t", "state": "warm", "bits": bits, "memory": bits and 32 << bits, "verdict": "exact", "mb_s": speed}
        for bits, speed in speeds.items()
    ]
    chart = cache(rows, processor={"L2": 1 << 15, "L3": 1 << 17, "far": 1 << 40})
    assert point(chart, "knee", "warm", "t") == (10, 95)
    assert "t, warm: the knee is at 2¹⁰ entries with 95.0 MB/s, against 99.0 without a cache." in chart.caption
    assert "L2: 32 KiB" in words(chart) and "far" not in " ".join(words(chart))
    void = cache([{**row, "verdict": "void" if row["bits"] == 10 else "exact"} for row in rows])
    assert point(void, "knee", "warm", "t") == (11, 100)


def test_coverage_never_rounds_up_to_all() -> None:
    chart = coverage([
        {"engine": "a", "corpus": "x", "verdict": "match", "documents": 99_999},
        {"engine": "a", "corpus": "x", "verdict": "differ", "documents": 1},
        {"engine": "b", "corpus": "x", "verdict": "match", "documents": 2},
        {"engine": "b", "corpus": "x", "verdict": "declared", "documents": 1},
        {"engine": "b", "corpus": "x", "verdict": "unsupported", "documents": 50},
        {"engine": "c", "corpus": "x", "verdict": "match", "documents": 7},
        {"engine": "d", "corpus": "x", "verdict": "unsupported", "documents": 7},
        {"engine": "e", "corpus": "y", "verdict": "crash", "documents": 3},
    ])
    assert {"✗99.9", "≈66.6", "✓100", "–", "✗0.0"} <= set(words(chart))
    assert "Not one wrong answer: b and c. " in chart.caption and "Nothing was served by d." in chart.caption
    assert "a has 1 wrong answer (x). e has 3 wrong answers (y)." in chart.caption
    assert "100,070 answers" in chart.caption
    assert marks(chart, "square") == {*(f"square--{e}--x" for e in "abcd"), "square--e--y"}
    assert chart.table.set_index("engine").loc["b", "share"] == pytest.approx(2 / 3)


def test_stages_count_divergences_and_declared_ones_apart() -> None:
    rows = [
        *({"engine": "a", "stage": "scan", "verdict": "differ"} for _ in range(3)),
        {"engine": "a", "stage": "scan", "verdict": "declared"}, {"engine": "a", "stage": "", "verdict": "crash"},
        {"engine": "b", "stage": "merge", "verdict": "declared"},
        {"engine": "b", "stage": "decode", "verdict": "differ"},
    ]
    chart = stages(rows)
    assert {"3(1)", "1", "(1)", "not traced", "decode"} <= set(words(chart))
    assert chart.caption.startswith("5 divergences of 2 engines: 3 at scan, 1 at decode and 1 not traced.")
    assert "2 more differences declared. a has the most, 4." in chart.caption
    assert len(marks(chart, "square")) == 2 * 9  # seven stages, decode, not traced


def test_volumes_add_up() -> None:
    rows = [
        {"corpus": "big", "domain": "neutral", "bytes": 700, "documents": 7},
        {"corpus": "big", "domain": "neutral", "bytes": 200, "documents": 2},
        {"corpus": "big", "domain": "bytes", "bytes": 0, "documents": 1},
        {"corpus": "small", "domain": "unicode", "bytes": 100, "documents": 4},
    ]
    chart = volumes(rows)
    assert chart.caption == (
        "2 corpora, 14 documents, 1 kB. neutral: 9 documents, 900 B; unicode: 4 documents, 100 B; bytes: 1 document, "
        "0 B. The largest is big with 900 B, 90.0 % of all bytes."
    )
    assert point(chart, "dot", "bytes", "big", "neutral")[0] == 900
    assert point(chart, "dot", "documents", "small", "unicode")[0] == 4 and len(marks(chart, "dot")) == 6


def test_agreement_ranks_nothing() -> None:
    chart = agreement([
        {"engine": "lossy", "mb_s": 80.0, "documents": 0.25, "boundaries": 0.9999, "reference": "tiktoken"},
        {"engine": "same", "mb_s": 40.0, "documents": 1.0, "boundaries": 1.0, "reference": "tiktoken"},
        {"engine": "tiktoken", "mb_s": 20.0, "documents": 1.0, "boundaries": 1.0, "reference": "tiktoken"},
    ])
    assert "lossy: 25.0 % of documents and 99.99 % of boundaries as tiktoken has them, at 80.0 MB/s." in chart.caption
    assert "same: 100 % of documents and 100 % of boundaries" in chart.caption and "ranks nothing" in chart.caption
    assert "tiktoken: the reference, at 20.0 MB/s." in chart.caption
    assert point(chart, "dot", "documents", "lossy") == (25, 80)
    assert point(chart, "dot", "boundaries", "same") == (100, 40)
    with pytest.raises(NoData):
        agreement([{"engine": "a", "mb_s": 1.0}])


def test_training_with_other_merges_is_hollow() -> None:
    rows = [
        {"trainer": trainer, "bytes": size, "seconds": size / 1000, "equal": equal}
        for trainer, equal in (("good", True), ("bad", False), ("unknown", None)) for size in (1000, 2000)
    ]
    chart = training(rows)
    assert artist(chart, "point", "good", "1000").get_markerfacecolor() != PAPER
    assert artist(chart, "point", "bad", "1000").get_markerfacecolor() == PAPER
    assert artist(chart, "point", "unknown", "1000").get_markerfacecolor() == PAPER
    assert "good: 2.00 s for 2 kB, all with the reference's merges." in chart.caption
    assert "bad: 2.00 s for 2 kB, 2 of 2 with other merges." in chart.caption
    assert "unknown: 2.00 s for 2 kB, 2 of 2 not compared." in chart.caption


def test_the_pipeline_has_a_count_for_every_stage() -> None:
    chart = pipeline([
        {"stage": "scan", "source": "vectors", "count": 4}, {"stage": "scan", "source": "store", "count": 8},
        {"stage": "merge", "source": "store", "count": 2}, {"stage": "", "source": "vectors", "count": 3},
        {"stage": None, "source": "vectors", "count": 2},
    ])
    assert len(marks(chart, "stage")) == 9
    assert marks(chart, "count") == {"count--vectors--scan", "count--store--scan", "count--store--merge"}
    wide = artist(chart, "count", "store", "scan").get_width()
    assert artist(chart, "count", "vectors", "scan").get_width() == pytest.approx(wide / 2)
    assert chart.caption == (
        "9 frozen vectors: 4 at scan and 5 without a stage. 10 divergences in the store: 8 at scan and 2 at merge."
    )


def night(day: int, value: float, engine: str = "a") -> Row:
    return {"started": f"2026-03-{day:02}T02:00:00Z", "engine": engine, "cell": "c", "value": value, "low": value - 5,
            "high": value + 5}  # fmt: skip


def test_a_step_is_where_intervals_do_not_meet_or_where_it_is_said() -> None:
    rows = [night(1, 100), night(2, 108), night(3, 80), night(4, 84), *(night(day, 50, "b") for day in range(1, 5))]
    chart = trend(rows)
    assert marks(chart, "step") == {"step--c--a--2026-03-03T02_3a00_3a00Z"}
    assert "a, c: a step on 2026-03-03 from 108 (103–113) to 80.0 (75.0–85.0) MB/s, 0.741 times." in chart.caption
    assert "4 runs from 2026-03-01 to 2026-03-04, 2 series." in chart.caption
    said = trend(rows, [("2026-03-02T02:00:00Z", "b", "c")])
    assert marks(said, "step") == {"step--c--b--2026-03-02T02_3a00_3a00Z"}
    assert "No step was found." in trend(rows, []).caption
    with pytest.raises(NoData, match="two runs"):
        trend(rows[:1])


def test_verdicts_over_runs_are_added_up() -> None:
    rows = [
        {"started": f"2026-03-0{day}T02:00:00Z", "verdict": verdict, "documents": day * count}
        for day in (1, 2) for verdict, count in (("match", 100), ("match", 50), ("differ", 3))
    ]
    chart = trend_verdicts(rows)
    assert "match: 150 in the first run, 300 in the last. differ: 3 in the first run, 6 in the last." in chart.caption
    assert len(marks(chart, "point")) == 4


# -- what all have in common ------------------------------------------------------------------------------


def test_the_same_rows_give_the_same_bytes_in_any_process(tmp_path: Path) -> None:
    script = (
        "import sys, hashlib; sys.path.insert(0, sys.argv[1])\n"
        "from tokassay.reports.charts.throughput import throughput\n"
        "import json; rows = json.loads(sys.argv[2])\n"
        "print(hashlib.sha256(throughput(rows).svg().encode()).hexdigest())\n"
    )
    rows = ROWS[:4]
    digest = hashlib.sha256(throughput(rows).svg().encode()).hexdigest()
    assert hashlib.sha256(throughput(pd.DataFrame(rows)).svg().encode()).hexdigest() == digest
    for seed in ("1", "2"):
        told = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path), json.dumps(rows)], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        assert told.stdout.strip() == digest
    changed = [{**rows[0], "mb_s": 301.0}, *rows[1:]]
    assert hashlib.sha256(throughput(changed).svg().encode()).hexdigest() != digest


def test_an_svg_can_stand_in_a_page_and_be_read_aloud() -> None:
    chart = throughput([{**row, "engine": "<b>&amp;" if row["engine"] == "fast" else row["engine"]} for row in ROWS])
    root = parsed(chart)
    assert root.get("role") == "img" and root.get("aria-labelledby") == f"{chart.name}-title {chart.name}-alt"
    ids = [e.get("id") for e in root.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    other = throughput([{**row, "vocab": "cl100k"} for row in ROWS])
    assert not set(ids) & {e.get("id") for e in parsed(other).iter() if e.get("id")}
    text = chart.svg()
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    assert used and used <= set(ids)
    assert "<b>" not in text and text.startswith("<svg ") and "date" not in text and "<script" not in text
    assert not re.findall(r'(?:src|href)="(?!#)', text)


def colours(chart: Chart, theme: Any) -> set[str]:
    svg = "{http://www.w3.org/2000/svg}"
    found = set()
    for element in parsed(chart, theme).iter(f"{svg}text"):
        fill = re.search(r"fill: (#[0-9a-f]{6})", element.get("style", ""))
        found.add(fill[1] if fill else "#000000")
    return found


@pytest.mark.parametrize(("theme", "paper"), [("light", PAPER), ("dark", DARK[PAPER])])
def test_text_can_be_read_on_light_and_dark_pages(theme: str, paper: str) -> None:
    # As published: 21 for black on white, and the lightest grey that passes is #767676.
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") > 4.5 > contrast("#777777", "#ffffff")
    square = coverage([{"engine": "a", "corpus": "x", "verdict": one, "documents": 1} for one in ("match", "differ")])
    for chart in (throughput(ROWS), square, pipeline([{"stage": "scan", "source": "store", "count": 1}])):
        assert f'style="fill: {paper}"' in chart.svg(theme)  # type: ignore[arg-type]
        on_paper = colours(chart, theme) - {ON_FILL}
        assert on_paper and all(contrast(colour, paper) >= 4.5 for colour in on_paper), on_paper
    # On a filling, which is the same on both pages: from white to the whole colour.
    for base in (SKY, ORANGE):
        assert min(contrast(ON_FILL, shade(step / 10, base)) for step in range(11)) >= 4.5


def test_the_reader_chooses_light_or_dark_and_print_is_light() -> None:
    text = throughput(ROWS).svg()
    rules = re.search(r"<style>@media screen and \(prefers-color-scheme:dark\)\{(.*?)\}</style>", text, re.DOTALL)
    assert rules
    for light in (PAPER, INK, SOFT):
        assert f'[style*="fill: {light}"]' in rules[1] and f"fill:{DARK[light]}!important" in rules[1]
    assert DARK[PAPER] not in text.replace(rules[0], "")


def test_a_hostile_name_is_words_and_nothing_else() -> None:
    names = ["a$b$ \\frac{1}{2}", "<script>x</script>&", "line\x1b[31m\x00", "שלום \u202e", "'\"]]>"]
    chart = throughput([cell("t", name, 10 + at, 9, 11) for at, name in enumerate(names)])
    said = words(chart)
    assert "a$b$ \\frac{1}{2}" in said and "line\\u{1B}[31m\\u{0}" in said and "'\"]]>" in said
    assert "שלום \\u{202E}" in said
    assert len(marks(chart, "bar")) == 5 and chart.png().startswith(b"\x89PNG")


def test_a_table_runs_nothing_in_a_spreadsheet(tmp_path: Path) -> None:
    chart = throughput([cell("t", name, 10 + at, 9, 11) for at, name in enumerate(["=1+1", "@a", "plain"])])
    chart.save(tmp_path, [])
    lines = next(tmp_path.glob("*.csv")).read_text(encoding="utf-8").splitlines()[1:]
    assert sorted(line.split(",")[1] for line in lines) == ["'=1+1", "'@a", "plain"]


def test_a_smaller_file_says_the_same() -> None:
    chart = throughput([cell("t 1.23456", "a-0.98765", 0.0123, 0.0121, 0.0125)])
    assert {"0.0123", "a-0.98765", "t 1.23456"} <= set(words(chart))


def test_files_are_written_and_told(tmp_path: Path) -> None:
    chart = throughput(ROWS)
    paths = chart.save(tmp_path / "new" / "folder")
    assert [path.name for path in paths] == [f"{chart.name}.{kind}" for kind in ("svg", "png", "csv")]
    assert paths[0].read_text("utf-8") == chart.svg() and paths[1].read_bytes().startswith(b"\x89PNG")
    assert paths[2].read_text("utf-8").splitlines()[0] == "text,engine,verdict,mb_s,mb_s_low,mb_s_high,detail"
    (tmp_path / "file").write_text("")
    with pytest.raises(ReportError, match="cannot be written"):
        chart.save(tmp_path / "file" / "below")


def test_figures_in_words() -> None:
    assert [figure(v) for v in (0, 0.01234, 0.9996, 9.996, 42, 421.4, 999.6, 12345, 3.7e6)] == [
        "0", "0.0123", "1.00", "10.0", "42.0", "421", "1,000", "12,300", "3.70·10⁶"]
    assert [tick(v) for v in (0, 0.001, 0.5, 20, 5000, 1e6, 2.5e6)] == [
        "0", "10⁻³", "0.5", "20", "5,000", "10⁶", "2.5·10⁶"]
    assert not logarithmic([1, 30]) and logarithmic([1, 30.1]) and not logarithmic([0, 1e9]) and not logarithmic([])
    assert ticks(8, 120) == [10, 20, 50, 100] and ticks(1, 1e6) == [1, 100, 1e4, 1e6] and ticks(4, 4.5) == [4, 4.5]



def test_names_are_cut_where_they_can_be_and_keep_their_mark() -> None:
    for inches in (0.7, 1.2, 1.5, 1.6, 3.0):
        lines = wrap("dat-bpe[profile=true] †", inches, 9)
        assert "".join(lines).replace(" ", "") == "dat-bpe[profile=true]†"
        assert all(measure(line, 9)[0] <= inches for line in lines) and "†" not in lines
    assert wrap("two words", 0.4, 9) == ["two", "words"]
    cut = wrap("an-engine-with-a-name-that-is-far-too-long[option=17]-24 †", 1.5, 9, most=2)
    assert len(cut) == 2 and cut[0].startswith("an-engine") and cut[1].startswith("…") and cut[1].endswith("-24 †")
