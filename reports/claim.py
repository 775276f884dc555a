"""A claim's page: the verdict, the chart, what was measured, the divergences, the environment, how to repeat it.

`render_body` is the page's inside, for a site that has a head of its own; `write_claim` writes the page by itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from tokassay.reports import view
from tokassay.reports.errors import ReportError
from tokassay.reports.html import hex_rows
from tokassay.reports.page import environment
from tokassay.reports.words import counted, exactly, number, short
from tokassay.reports.write import _put

if TYPE_CHECKING:
    from tokassay.reports.charts.chart import Chart

NAMES = ("index.html", "claim.json", "chart.svg", "chart.png")
# What a verdict looks like: the banner's class of audit.css.
TONES = {
    "supported": "agreed", "supported in part": "nothing", "not supported": "mismatch", "not verifiable": "nothing",
    "void": "mismatch",
}
TAGS = {
    "supported": "ok", "reached": "ok", "supported in part": "warn", "unresolved": "warn", "not supported": "fail",
    "missed": "fail", "void": "fail", "not verifiable": "none", "unmeasured": "none",
    "unjudged": "none",
}
WORDS = {
    "unresolved": "not resolvable", "unmeasured": "not measured", "missed": "not reached", "unjudged": "not judged",
}


def render_claim(report: Mapping[str, Any], chart: str = "", caption: str = "") -> str:
    """The whole page; `chart` is the SVG of `chart_of`, `caption` that of the same chart."""
    return str(_templates().get_template("claim.html.j2").render(c=report, chart=Markup(chart), caption=caption))


def render_body(report: Mapping[str, Any], chart: str = "", caption: str = "") -> Markup:
    """The page's inside: sections, no head and no style."""
    module = _templates().get_template("claim_body.html.j2").module
    return Markup(module.body(report, Markup(chart), caption))


def _templates() -> Any:
    templates = environment()
    templates.filters.update(
        number=number, figure=short, exactly=exactly, claimed_number=claimed_number, share=share
    )
    templates.globals.update(
        view=view, counted=counted, groups=groups, hex_rows=hex_rows, tones=TONES, tags=TAGS, words=WORDS
    )
    return templates


def groups(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One table a unit: `unit`, `kind`, `against`, `figures`, and `rows`, one a text and vocabulary, whose `cells` are
    (figure, cell) of every figure that was measured by it."""
    made: dict[str, dict[str, Any]] = {}
    for found in report["figures"]:
        if not found["cells"]:
            continue
        head = {"unit": unit(found), "kind": found["kind"], "against": found["against"], "figures": [], "rows": {}}
        group = made.setdefault(unit(found), head)
        group["figures"].append(found)
        for one in found["cells"]:
            row = group["rows"].setdefault((one["text"], one["vocabulary"]), {**one, "cells": []})
            row["cells"].append((found, one))
    return [{**group, "rows": list(group["rows"].values())} for group in made.values()]


def claimed(figure: Mapping[str, Any]) -> str:
    """The claimed number, or both ends of the range, with its unit; a dash where there is none."""
    number = claimed_number(figure)
    return f"{number} {unit(figure)}" if number else "–"


def claimed_number(figure: Mapping[str, Any]) -> str:
    """The claimed number, or both ends of the range; "" where there is none."""
    said = figure["claimed"]
    if said["value"] is not None:
        return exactly(said["value"])
    return f"{exactly(said['low'])} to {exactly(said['high'])}" if said["low"] is not None else ""


def unit(figure: Mapping[str, Any]) -> str:
    """`times tiktoken`, `MB/s`."""
    beside = f" {figure['against']}" if figure["kind"] == "ratio" and figure["against"] else ""
    return f"{figure['unit']}{beside}"


def measured(found: Mapping[str, Any] | None) -> str:
    """The median and its interval."""
    return f"{short(found['median'])} ({short(found['low'])}–{short(found['high'])})" if found else "–"


def share(value: float | None) -> str:
    """A share of the claimed figure, as a multiple where it is more than ten times it."""
    if value is None:
        return "–"
    return f"{value:.1f}×" if value >= 10 else f"{100 * value:.3g} %"


def write_claim(report: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write the page, the report as JSON and the chart (where there is one); the files written. Raises ReportError."""
    page, data, vector, raster = (Path(folder) / name for name in NAMES)
    chart = chart_of(report)
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        for path in (vector, raster):
            path.unlink(missing_ok=True)
        if chart:
            _put(vector, chart.svg())
            raster.write_bytes(chart.png())
        _put(page, render_claim(report, chart.svg() if chart else "", chart.caption if chart else ""))
        _put(data, json.dumps(report, ensure_ascii=True, indent=1) + "\n")
    except OSError as error:
        raise ReportError(
            f"cannot be written ({error.strerror or error})", where=str(folder), remedy="give another folder with --out"
        ) from None
    return [page, data, *([vector, raster] if chart else [])]


def chart_of(report: Mapping[str, Any]) -> Chart | None:
    """The chart of a claim's report; None where there is nothing to draw. Here matplotlib is imported."""
    from tokassay.reports.charts.chart import NoData
    from tokassay.reports.charts.claim import claim

    try:
        return claim(report)
    except NoData:
        return None
