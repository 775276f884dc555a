"""A divergence's page: the smallest input in hex and text, both answers, the stage, the trace, the command."""

from __future__ import annotations

from collections.abc import Iterator

from tokassay.reports import view
from tokassay.reports.site.known import index_section
from tokassay.reports.site.model import Shown, Site
from tokassay.reports.site.parts import Cell, Code, Link, Section, Tag, table
from tokassay.reports.site.shell import Page, slug
from tokassay.reports.words import counted, moment

LISTED = ("divergence", "verdict", "engine", "against", "contract", "stage", "documents", "smallest input")


def pages(site: Site) -> Iterator[Page]:
    """A page a divergence, and their list."""
    for shown in site.divergences:
        yield divergence_page(site, shown)
    failing = [each for each in site.divergences if each.divergence.fails]
    declared = [each for each in site.divergences if not each.divergence.fails]
    yield Page(
        "divergences/index.html",
        "Divergences",
        "page.html.j2",
        {
            "lead": ["A divergence is one cause: documents that share contract, engine, verdict and first decision."],
            "sections": [
                Section(
                    "Found by audits",
                    tables=[table("Failing divergences", LISTED, map(listed_row, failing))],
                    empty="No audit in these stores found one that fails.",
                ),
                Section(
                    "Declared differences",
                    text=["They are between declared variants, and nobody's fault."] if declared else [],
                    tables=[table("Declared differences", LISTED, map(listed_row, declared))],
                    empty="There is none.",
                ),
                index_section(site),
            ],
        },
    )


def listed_row(shown: Shown) -> tuple[Cell, ...]:
    """A divergence in a list."""
    d = shown.divergence
    return (
        Link(shown.key, shown.page),
        Tag(d.verdict, "bad" if d.fails else "said"),
        Link(d.engine, f"engines/{slug(d.engine)}.html"),
        d.against,
        d.contract,
        shown.stage or None,
        d.total,
        Code(beginning(shown.data)),
    )


def beginning(data: bytes, most: int = 12) -> str:
    """The first bytes in hex, and how many there are where that is not all."""
    if not data:
        return "empty"
    return data[:most].hex(" ") + (f" … {counted(len(data), 'byte')}" if len(data) > most else "")


def divergence_page(site: Site, shown: Shown) -> Page:
    """The page of one divergence."""
    d, minimal = shown.divergence, shown.divergence.minimal
    reduced = minimal is not None and minimal.reduced
    answers = minimal if minimal is not None and reduced else d
    facts: list[tuple[str, Cell]] = [
        ("verdict", Tag(d.verdict, "bad" if d.fails else "said")),
        ("engine", Link(d.engine, f"engines/{slug(d.engine)}.html")),
        ("against", d.against),
        ("contract", d.contract),
        ("stage", shown.stage or None),
        ("operation", d.operation),
        ("documents that show it", d.total),
        ("corpus", Link(d.corpus, f"corpora/{slug(d.corpus)}.html")),
        ("domain", d.domain),
    ]
    runs = table(
        "Runs that show it",
        ("run", "began"),
        ((Link(run.id, run.page), moment(str(run.tables.run["started"]))) for run in shown.runs),
    )
    return Page(
        shown.page,
        f"{d.engine} against {d.against}: {shown.stage or d.verdict}",
        "divergence.html.j2",
        {
            "fails": d.fails,
            "explanation": shown.explanation,
            "notes": [
                *((f"By contract: {change}" for change in minimal.changes) if minimal is not None else ()),
                *((minimal.sentence,) if minimal is not None and minimal.outcome != "not asked" else ()),
                f"Seen in {view.place(d)}.",
            ],
            "facts": facts,
            "data": shown.data if d.examined else None,
            "label": "Smallest input" if reduced else "Input",
            "answers": [(d.engine, answers.got), (d.against, answers.expected)] if d.examined else [],
            "split": answers.split,
            "command": shown.command,
            "trace": site.picture(shown.key),
            "untraced": site.untraced.get(shown.key, "No trace was made."),
            "sections": [
                Section("Signature", text=["What makes it one divergence:"], commands=[d.signature]),
                Section("Runs", tables=[runs]),
            ],
        },
    )
