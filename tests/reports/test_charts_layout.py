"""Whatever the names and numbers are: every label is inside of the figure, and none lies on another."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from tokassay.reports.charts.chart import Chart
from tokassay.reports.charts.claim import claim
from tokassay.reports.charts.gallery import KINDS, ROWS

Rows = list[dict[str, Any]]
VERDICTS = ("exact", "exact", "exact", "exact", "void", "unverified", "crash (signal 11)", "unsupported")
STAGES = ("scan", "pretokenize", "merge", "", "special", "decode")
NOW = "2026-03-{:02}T02:00:00Z"


def engines(count: int, name: str) -> list[str]:
    return [name.format(number) for number in range(count)]


def values(count: int, span: float) -> list[float]:
    """Geometrically from 3.7 to 3.7 times the span."""
    return [3.7 * span ** (number / max(count - 1, 1)) for number in range(count)]


def cells(count: int, name: str, span: float, texts: int = 2, **more: Any) -> Rows:
    """Cells of a bench; where there are many, some have no speed."""
    found = []
    for text in range(texts):
        for number, (engine, value) in enumerate(zip(engines(count, name), values(count, span), strict=True)):
            verdict = VERDICTS[(number + text) % len(VERDICTS)] if count > 4 else "exact"
            found.append({
                "text": f"text{text}", "engine": engine, "verdict": verdict, "mb_s": value, "mb_s_low": value * 0.93,
                "mb_s_high": value * 1.06, "vocab": "cl100k_base", "entry": "documents-list", "state": "warm",
                "threads": 1, "ours": number == 0, **more,
            })  # fmt: skip
    return found


def many(chart: str, count: int, name: str, span: float, parts: int = 2) -> Rows:
    """Rows of a chart: `count` engines (or switches, trainers, corpora), `parts` texts, corpora, runs or sizes."""
    who, figures = engines(count, name), values(count, span)
    if chart == "throughput":
        return cells(count, name, span, parts)
    if chart == "states":
        return cells(count, name, span, parts, state="cold") + cells(count, name, span, parts)
    if chart == "documents":
        return [
            {**row, "text": f"docs-{size}", "bytes": 10**6, "documents": 10**6 / size, "verdict": "exact"}
            for size in (16, 256, 65536) for row in cells(count, name, span, 1)
        ]  # fmt: skip
    if chart == "threads":
        return [
            {"engine": engine, "threads": threads, "verdict": "exact", "gain": 1 + (threads - 1) * 0.8 / (at + 1),
             "low": 1.0, "high": 1 + (threads - 1) * 0.9 / (at + 1), "vocab": "gpt2", "entry": "batch", "text": "code"}
            for at, engine in enumerate(who) for threads in ((2,) if parts == 1 else (2, 4, 8, 64))
        ]  # fmt: skip
    if chart == "load":
        return [
            {"engine": engine, "state": state, "verdict": "exact" if at % 5 < 4 else "crash", "p50": value,
             "p95": value * 1.4, "vocab": "gpt2", "ours": at == 0}
            for at, (engine, value) in enumerate(zip(who, figures, strict=True)) for state in ("cold", "warm")
        ]  # fmt: skip
    if chart == "ladder":
        return [
            {"text": f"text{part}", "switch": engine, "verdict": "exact" if at % 6 < 5 else "void",
             "gain": 0.9 + value / figures[-1], "low": 0.8 + value / figures[-1], "high": 1 + value / figures[-1]}
            for part in range(parts) for at, (engine, value) in enumerate(zip(who, figures, strict=True))
        ]  # fmt: skip
    if chart == "cache":
        return [
            {"text": engine, "state": state, "bits": bits, "memory": 32 << bits if bits else 0, "verdict": "exact",
             "mb_s": value * (1 + bits / 20), "mb_s_low": value, "mb_s_high": value * 2.1}
            for engine, value in zip(who, figures, strict=True) for state in ("cold", "warm")
            for bits in (0, *range(8, 8 + max(parts, 2) * 3))
        ]  # fmt: skip
    if chart == "agreement":
        return [
            {"engine": engine, "mb_s": value, "mb_s_low": value * 0.9, "mb_s_high": value * 1.1, "ours": at == 0,
             "documents": at / count, "boundaries": 0.5 + at / count / 2}
            for at, (engine, value) in enumerate(zip(who, figures, strict=True))
        ]  # fmt: skip
    if chart == "training":
        return [
            {"trainer": engine, "bytes": size, "seconds": value * size / 1e5, "equal": at % 2 == 0}
            for at, (engine, value) in enumerate(zip(who, figures, strict=True)) for size in (1e5, 1e6)
        ]  # fmt: skip
    if chart == "volumes":
        return [
            {"corpus": engine, "domain": domain, "bytes": int(value * 1000), "documents": int(value)}
            for engine, value in zip(who, figures, strict=True) for domain in ("neutral", "unicode", "bytes")
        ]  # fmt: skip
    if chart == "coverage":
        return [
            {"engine": engine, "corpus": f"corpus-{part}", "verdict": verdict, "documents": int(value), "ours": at == 0}
            for at, (engine, value) in enumerate(zip(who, figures, strict=True)) for part in range(parts)
            for verdict in (("match", "differ"), ("match",), ("match", "declared"), ("unsupported",))[(at + part) % 4]
        ]  # fmt: skip
    if chart == "stages":
        return [
            {"engine": engine, "stage": stage, "verdict": "declared" if at % 3 == 2 else "differ"}
            for at, engine in enumerate(who) for stage in STAGES[: 1 + at % len(STAGES)]
        ]  # fmt: skip
    if chart == "pipeline":
        return [
            {"stage": STAGES[at % len(STAGES)], "source": ("vectors", "store")[at % 2], "count": int(value)}
            for at, value in enumerate(figures)
        ]  # fmt: skip
    if chart == "trend":
        return [
            {"started": NOW.format(run + 1), "engine": engine, "cell": f"cell {part}", "value": value * (1 + run % 2),
             "low": value * (1 + run % 2) * 0.95, "high": value * (1 + run % 2) * 1.05, "ours": at == 0}
            for run in range(4) for part in range(parts)
            for at, (engine, value) in enumerate(zip(who, figures, strict=True))
        ]  # fmt: skip
    assert chart == "trend-verdicts"
    return [
        {"started": NOW.format(run + 1), "verdict": verdict, "documents": int(count * span * (run + 1))}
        for run in range(max(parts, 2)) for verdict in ("match", "declared", "differ", "crash")
    ]  # fmt: skip


def draw(chart: str, rows: Rows) -> Chart:
    make: Callable[[Any], Chart] = ROWS[chart]
    return make(rows)


LONG = "an-engine-with-a-very-long-name[cache_bits=17,profile=true]-{}"
CASES = {
    "one engine and one cell": (1, "engine-{}", 1.0, 1),
    "25 engines with long names": (25, LONG, 20.0, 2),
    "seven engines, a span of a million": (7, "engine-{}", 1e6, 3),
}


def written(figure: Figure) -> list[tuple[str, float, float, float, float]]:
    """Every text that is drawn, with its box in pixels of 1/100 inch."""
    seen: list[Text] = []
    plain = Text.draw

    def spy(self: Text, renderer: object) -> None:
        if self.get_visible() and self.get_text().strip():
            seen.append(self)
        plain(self, renderer)  # type: ignore[arg-type]

    figure.set_dpi(100)
    canvas = FigureCanvasAgg(figure)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", spy)
        canvas.draw()
    found = []
    for text in dict.fromkeys(seen):
        box = text.get_window_extent(canvas.get_renderer())
        found.append((text.get_text(), box.x0, box.y0, box.x1, box.y1))
    return found


def faults(figure: Figure) -> list[str]:
    """Texts that leave the figure, and pairs that overlap by more than a hundredth of an inch each way."""
    wide, high = figure.get_size_inches() * 100
    texts = written(figure)
    found = [
        f"{text!r} is outside: {x0:.0f} {y0:.0f} {x1:.0f} {y1:.0f} of {wide:.0f} {high:.0f}"
        for text, x0, y0, x1, y1 in texts
        if x0 < 0 or y0 < 0 or x1 > wide or y1 > high
    ]
    for (a, ax0, ay0, ax1, ay1), (b, bx0, by0, bx1, by1) in combinations(texts, 2):
        if min(ax1, bx1) - max(ax0, bx0) > 1 and min(ay1, by1) - max(ay0, by0) > 1:
            found.append(f"{a!r} lies on {b!r}")
    return found


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", KINDS)
def test_no_label_is_cut_off_or_lies_on_another(name: str, case: str) -> None:
    chart: Chart = draw(name, many(name, *CASES[case]))
    assert faults(chart.figure) == []
    assert chart.figure.get_size_inches()[0] == pytest.approx(4.4)
    assert chart.title and chart.caption.endswith(".") and chart.alt.endswith(".") and len(chart.table)


@pytest.mark.parametrize("case", CASES)
def test_nor_in_the_chart_of_a_claim(case: str) -> None:
    count, name, span, parts = CASES[case]
    figures = [
        {"name": name.format(part), "kind": kind, "against": name.format("rival"),
         "claimed": {"value": None, "low": span, "high": span * (part + 1)},
         "cells": [
             {"text": text, "vocabulary": "gpt2", "own": at % 2 == 0, "outcome": ("missed", "void", "unasked")[at % 3],
              "measured": None if at % 3 else {"median": value, "low": value * 0.9, "high": value * 1.1}}
             for at, (text, value) in enumerate(zip(engines(count, name), values(count, span), strict=True))
         ]}
        for part in range(parts) for kind in ("ratio", "mb_s")
    ]  # fmt: skip
    chart = claim({"claim": "x", "about": {"vendor": LONG.format(1)}, "figures": figures})
    assert faults(chart.figure) == []
    assert chart.figure.get_size_inches()[0] == pytest.approx(4.4)


def test_long_names_can_be_told_apart() -> None:
    for name in ("throughput", "states", "load", "ladder", "volumes", "coverage", "stages"):
        texts = [text for text, *_ in written(draw(name, many(name, *CASES["25 engines with long names"])).figure)]
        labels = {text for text in texts if text.startswith("an-engine")}
        assert len(labels) >= 25, name


def test_labels_that_overlap_or_leave_the_figure_are_seen() -> None:
    figure = Figure(figsize=(4, 1))
    figure.text(0.1, 0.5, "first")
    figure.text(0.12, 0.5, "second")
    figure.text(0.95, 0.1, "beyond the edge")
    found = [fault.split(":")[0] for fault in faults(figure)]
    assert found == ["'beyond the edge' is outside", "'first' lies on 'second'"]
