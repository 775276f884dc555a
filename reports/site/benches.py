"""A bench's page: every cell with its speeds where they were proved, the machine, its warnings, ranking and proofs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tokassay.reports import sentences
from tokassay.reports.site.claims import fields, plain, words
from tokassay.reports.site.engines import page_of
from tokassay.reports.site.figures import bench_figures
from tokassay.reports.site.model import Reported, Site
from tokassay.reports.site.parts import Cell, Code, Link, Section, Table, Tag, table
from tokassay.reports.site.shell import Page, slug
from tokassay.reports.thin import thin
from tokassay.reports.words import moment

FAILED = ("void", "error", "crash", "timeout", "oom")


def pages(site: Site) -> Iterator[Page]:
    """A page a bench."""
    for bench in site.benches:
        yield bench_page(bench)


def listed(site: Site) -> Table:
    """The benches, newest first."""
    return table(
        "Benches, newest first",
        ("bench", "began", "engines", "cells", "command"),
        (
            (
                Link(each.id, f"runs/{slug(each.id)}.html"),
                moment(each.started),
                ", ".join(str(engine["engine"]) for engine in each.report.get("engines", [])),
                len(each.report.get("cells", [])),
                Code(str(each.report.get("command", ""))),
            )
            for each in site.benches
        ),
    )


def bench_page(bench: Reported) -> Page:
    """The page of one bench. Fields that a report lacks are left out."""
    r = bench.report
    machine = r.get("machine", {})
    cells = r.get("cells", [])
    warnings = [f"{each.get('what', '')} Remedy: {each.get('remedy', '')}" for each in r.get("warnings", [])]
    sections = [
        Section(
            "Warnings",
            text=warnings,
            empty="Nothing was seen that makes the machine imprecise."
            if "warnings" in r
            else "The machine was not looked at.",
        ),
        *(
            Section(
                f"Ranking: {', '.join(str(each.get(k)) for k in ('vocab', 'entry', 'state') if each.get(k))}",
                text=[sentences.coverage(list(map(str, each.get("cells", []))))],
                tables=[ranking(each)],
            )
            for each in r.get("ranking", [])
        ),
        Section(
            "Cells",
            text=[*([words] if (words := thin(r)) else []), *(sentences.speed(cell) for cell in cells[:6])],
            tables=[
                table(
                    "Megabytes of input a second of CPU time, where the timed output has the reference's digest",
                    (
                        "engine",
                        "text",
                        "vocabulary",
                        "entry",
                        "state",
                        "verdict",
                        "MB/s",
                        "ratio to best",
                        "form",
                        "detail",
                    ),
                    cell_rows(cells),
                    more=Link("every measurement", "downloads.html"),
                )
            ],
            empty="It measured no cell.",
        ),
        *([Section("Charts", figures=drawn)] if (drawn := bench_figures(r)) else []),
        Section(
            "Proofs",
            tables=[
                table(
                    "Gate suite",
                    ("engine", "vocabulary", "entry", "domain", "outcome", "documents", "failed", "command"),
                    (
                        (
                            each.get("engine"),
                            each.get("vocab"),
                            each.get("entry"),
                            each.get("domain"),
                            Tag("passed", "good") if each.get("passed") else Tag("failed", "bad"),
                            each.get("documents"),
                            each.get("failed"),
                            Code(str(each.get("command", ""))),
                        )
                        for each in r.get("proofs", [])
                    ),
                )
            ],
            empty="This report has none.",
        ),
        Section(
            "Engines",
            tables=[
                table(
                    "What was measured",
                    ("engine", "version", "requirement", "options"),
                    (
                        (
                            Link(str(each["engine"]), page_of(str(each["engine"]))),
                            each.get("version"),
                            each.get("requirement"),
                            plain(each.get("options") or None),
                        )
                        for each in r.get("engines", [])
                    ),
                )
            ],
        ),
        Section(
            "Texts",
            tables=[
                table(
                    "Texts",
                    ("text", "what", "sources", "bytes of both halves"),
                    (
                        (
                            each["kind"],
                            each.get("title"),
                            ", ".join(map(str, each.get("sources", []))),
                            f"{each['a']['bytes']:,} and {each['b']['bytes']:,}",
                        )
                        for each in r.get("texts", [])
                    ),
                )
            ],
            empty="No text was read.",
        ),
        *others(r),
        *(fields("Machine", machine) if machine else []),
        Section("Again", text=["This command repeats it:"], commands=[str(r.get("command", ""))]),
    ]
    lead = [
        f"{moment(bench.started)}; {', '.join(map(str, r.get('references', []))) or 'no reference'} verified the ids.",
        "Figures hold for this machine; only their ratios mean something elsewhere.",
    ]
    return Page(
        f"runs/{slug(bench.id)}.html", f"Bench {bench.id}", "page.html.j2", {"lead": lead, "sections": sections}
    )


def cell_rows(cells: list[dict[str, Any]]) -> Iterator[tuple[Cell, ...]]:
    """A row an engine and cell; what has no speed is shown as what it is."""
    for cell in cells:
        for row in cell["engines"]:
            verdict = str(row["verdict"])
            kind = "good" if verdict == "exact" else "bad" if verdict in FAILED else "dim"
            yield (
                Link(str(row["engine"]), page_of(str(row["engine"]))),
                cell["text"],
                cell["vocab"],
                cell["entry"],
                cell["state"],
                Tag(verdict, kind),
                sentences.spread(row.get("mb_s")) if verdict == "exact" else "–",
                ratio(row),
                row.get("form") or None,
                row.get("detail") or None,
            )


def ratio(row: dict[str, Any]) -> str:
    """A row's ratio with its interval; where the interval contains 1, that the two cannot be told apart."""
    found = row.get("ratio")
    if not found or row["verdict"] != "exact":
        return "–"
    to = f" {row['ratio_to']}" if row.get("ratio_to") else ""
    end = ", not resolvable" if found.get("resolved") is False else ""
    return f"{sentences.spread(found)}{to}{end}"


def ranking(each: dict[str, Any]) -> Table:
    """A ranking with its coverage."""
    return table(
        "Geometric mean over the cells that all verified",
        ("engine", "MB/s", "ratio to the first", "verified cells", "asked"),
        (
            (
                (
                    Link(str(one["engine"]), page_of(str(one["engine"]))),
                    *((Tag("ours", "said"),) if one.get("ours") else ()),
                ),
                plain(one.get("mb_s")),
                ratio({**one, "ratio": scaled(one), "verdict": "exact"}),
                one.get("verified"),
                one.get("asked"),
            )
            for one in each.get("engines", [])
        ),
    )


def scaled(one: dict[str, Any]) -> dict[str, Any] | None:
    """A ranking's ratio as a spread."""
    if one.get("ratio") is None or one.get("low") is None:
        return None
    return {"median": one["ratio"], "low": one["low"], "high": one["high"], "resolved": one.get("resolved")}


def others(report: dict[str, Any]) -> Iterator[Section]:
    """Loading, growth and threads: each row as it is."""
    for name in ("load", "growth", "threads"):
        rows = report.get(name) or []
        if rows and isinstance(rows, list):
            columns = [key for key in rows[0] if not isinstance(rows[0][key], list)]
            yield Section(
                words(name).capitalize(),
                tables=[
                    table(
                        words(name),
                        [words(key) for key in columns],
                        (
                            [
                                sentences.spread(row[key])
                                if isinstance(row.get(key), dict) and "median" in row[key]
                                else plain(row.get(key))
                                for key in columns
                            ]
                            for row in rows
                        ),
                    )
                ],
            )
