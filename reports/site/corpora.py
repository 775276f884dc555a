"""A corpus's page: what it is, and how every engine fared on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tokassay.reports import view
from tokassay.reports.site.counts import verdicts
from tokassay.reports.site.divergences import LISTED, listed_row
from tokassay.reports.site.engines import page_of
from tokassay.reports.site.model import Run, Site, failed, once
from tokassay.reports.site.parts import Code, Link, Section, table
from tokassay.reports.site.shell import Page, slug
from tokassay.reports.words import moment


def pages(site: Site) -> Iterator[Page]:
    """A page a corpus, and their list."""
    newest: dict[str, list[tuple[Run, dict[str, Any]]]] = {}
    for run in site.runs:
        for corpus in run.tables.corpora:
            newest.setdefault(str(corpus["name"]), []).append((run, corpus))
    rows = []
    for name in sorted(newest):
        corpus = newest[name][0][1]
        cells = site.coverage[site.coverage["corpus"] == name]
        bad = sum(failed(once(part)) > 0 for _, part in cells.groupby("engine"))
        rows.append(
            (
                Link(name, f"corpora/{slug(name)}.html"),
                Code(str(corpus["spec"])),
                corpus["documents"],
                corpus["bytes"],
                cells["engine"].nunique(),
                bad,
            )
        )
        yield corpus_page(site, name, newest[name])
    columns = ("corpus", "specification", "documents", "bytes", "engines asked", "engines that failed")
    yield Page(
        "corpora/index.html",
        "Corpora",
        "page.html.j2",
        {
            "lead": ["A document is a byte string, and never assumed to be UTF-8."],
            "sections": [
                Section(
                    "All corpora",
                    tables=[table("Corpora of the audits", columns, rows, alarms=columns[5:])],
                    empty="No audit is in these stores.",
                )
            ],
        },
    )


def corpus_page(site: Site, name: str, seen: list[tuple[Run, dict[str, Any]]]) -> Page:
    """The page of one corpus."""
    corpus = seen[0][1]
    cells = site.coverage[site.coverage["corpus"] == name]
    shown = [each for each in site.divergences if each.divergence.corpus == name]
    counts = cells.drop_duplicates(["engine", "label", "domain"]).groupby("domain")["documents"].max()
    sections = [
        Section(
            "What it is",
            text=view.problems(corpus),
            facts=[
                ("specification", Code(str(corpus["spec"]))),
                ("seed", str(corpus["seed"])),
                ("documents", corpus["documents"]),
                ("bytes", corpus["bytes"]),
                *((f"documents of the domain {domain}", int(number)) for domain, number in counts.items()),
            ],
        ),
        Section(
            "Verdicts",
            tables=[verdicts(f"Documents of {name} by engine, contract and operation", cells, "engine", page_of)],
            empty="No finished audit has results on it.",
        ),
        Section(
            "Divergences",
            tables=[table(f"Divergences shown by a document of {name}", LISTED, map(listed_row, shown))],
            empty="None is shown by a document of it.",
        ),
        Section(
            "Runs",
            tables=[
                table(
                    "Audits that read it",
                    ("run", "began", "specification", "seed", "documents"),
                    (
                        (
                            Link(run.id, run.page),
                            moment(str(run.tables.run["started"])),
                            Code(str(each["spec"])),
                            str(each["seed"]),
                            each["documents"],
                        )
                        for run, each in seen
                    ),
                )
            ],
        ),
    ]
    return Page(f"corpora/{slug(name)}.html", f"Corpus {name}", "page.html.j2", {"lead": [], "sections": sections})
