"""A claim's page: the vendor's figure, ours, and what became of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tokassay.reports import sentences
from tokassay.reports.claim import chart_of, render_body
from tokassay.reports.site.model import Reported, Site
from tokassay.reports.site.parts import Cell, Code, Link, Section, Tag, table
from tokassay.reports.site.shell import Page, inert, slug
from tokassay.reports.words import moment

KINDS = {
    "supported": "good",
    "supported in part": "warn",
    "not supported": "bad",
    "not verifiable": "dim",
    "void": "bad",
}


def tag_of(verdict: str) -> Tag:
    """A verdict with its colour."""
    return Tag(verdict, KINDS.get(verdict, "dim"))


def engine_of(report: Mapping[str, Any]) -> str:
    """The engine that a claim's report is about; "" where it names none."""
    claim = report.get("claim")
    found = report.get("engine") or (claim.get("engine") if isinstance(claim, Mapping) else "")
    return str(found or "")


def pages(site: Site) -> Iterator[Page]:
    """A page a claim, and their list."""
    for name, seen in site.claims.items():
        yield claim_page(name, seen)
    rows = (
        (
            Link(name, f"claims/{slug(name)}.html"),
            tag_of(seen[0].verdict),
            engine_of(seen[0].report) or None,
            moment(seen[0].started),
        )
        for name, seen in site.claims.items()
    )
    yield Page(
        "claims/index.html",
        "Claims",
        "page.html.j2",
        {
            "lead": [sentences.claims(seen[0].verdict for seen in site.claims.values())],
            "sections": [
                Section(
                    "All claims",
                    tables=[table("The newest verdict on each claim", ("claim", "verdict", "engine", "run"), rows)],
                    empty="No claim has been run.",
                )
            ],
        },
    )


def claim_page(name: str, seen: list[Reported]) -> Page:
    """The page of one claim: its newest run as `claim run --out` shows it, and all of its runs."""
    report = seen[0].report
    chart, caption = drawn(report)
    runs = table(
        "Verdicts on this claim",
        ("run", "began", "verdict"),
        ((Code(each.id), moment(each.started), tag_of(each.verdict)) for each in seen),
    )
    return Page(
        f"claims/{slug(name)}.html",
        f"Claim {name}",
        "claim.html.j2",
        {"body": render_body(report, chart, caption), "sections": [Section("Runs", tables=[runs])]},
    )


def drawn(report: Mapping[str, Any]) -> tuple[str, str]:
    """The chart of a claim's report as markup, and its caption; both "" where there is nothing to draw."""
    chart = chart_of(report)
    return (inert(chart.svg()), chart.caption) if chart else ("", "")


def fields(heading: str, value: Mapping[str, Any]) -> list[Section]:
    """An object as sections: its plain values as facts, its lists of objects as tables, objects as sections below."""
    facts: list[tuple[str, Cell]] = []
    tables, below = [], []
    for key, each in value.items():
        if isinstance(each, Mapping) and each:
            below += fields(words(key), each)
        elif isinstance(each, list) and each and all(isinstance(one, Mapping) for one in each):
            columns = list(dict.fromkeys(str(name) for one in each for name in one))
            tables.append(
                table(
                    words(key),
                    [words(name) for name in columns],
                    ([plain(one.get(name)) for name in columns] for one in each),
                )
            )
        else:
            facts.append((words(key), plain(each)))
    return [Section(heading, facts=facts, tables=tables), *below] if facts or tables else below


def words(key: str) -> str:
    """A field's name as words."""
    return key.replace("_", " ")


def plain(value: Any) -> Cell:
    """A value of JSON as a cell."""
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return sentences.figure(value)
    text = json.dumps(value, ensure_ascii=False)
    return Code(text if len(text) <= 400 else f"{text[:400]}…")
