"""A vector's page: a document with its right answer, the rule that makes it right, and what engines gave."""

from __future__ import annotations

from collections.abc import Iterator

from tokassay.reports.site.model import Site
from tokassay.reports.site.parts import Cell, Code, Link, Section, Tag, table
from tokassay.reports.site.scoreboard import vector_page
from tokassay.reports.site.shell import Page, slug
from tokassay.reports.site.sources import Vector
from tokassay.reports.words import counted


def pages(site: Site) -> Iterator[Page]:
    """A page a vector that an engine failed."""
    for vector in site.sources.vectors:
        if vector.known:
            yield vector_page_of(site, vector)


def index_section(site: Site) -> Section:
    """The known faults as a part of the list of divergences."""
    rows = [
        (
            Link(vector.title or vector.id, vector_page(vector.id)),
            vector.vocabulary,
            vector.stage,
            counted(len({each.engine for each in vector.known}), "engine"),
            Tag("open", "bad") if any(each.open for each in vector.known) else Tag("healed", "good"),
        )
        for vector in site.sources.vectors
        if vector.known
    ]
    return Section(
        "Known of other engines",
        text=["Each is a vector: a small document with the right ids, the rule that makes them right and its source."],
        tables=[table("Vectors that an engine failed", ("fault", "vocabulary", "stage", "failed by", "state"), rows)],
        empty="No vectors were given.",
    )


def vector_page_of(site: Site, vector: Vector) -> Page:
    """The page of one vector."""
    facts: list[tuple[str, Cell]] = [
        ("vector", Code(vector.id)),
        ("vocabulary", vector.vocabulary),
        ("operation", vector.operation),
        ("stage", vector.stage),
        ("level", vector.level),
        ("right answer", Code(vector.right)),
    ]
    if vector.times > 1:
        facts.append(("document", f"the bytes below, {vector.times:,} times"))
    rows = (
        (
            Link(each.engine, f"engines/{slug(each.engine)}.html"),
            Tag("open", "bad") if each.open else Tag("healed", "good"),
            each.first_bad,
            each.last_bad,
            each.last_good or None,
            each.first_good or None,
            Code(each.given),
        )
        for each in vector.known
    )
    columns = ("engine", "state", "first wrong", "last wrong", "right before", "right since", "given")
    return Page(
        vector_page(vector.id),
        title_of(vector),
        "divergence.html.j2",
        {
            "fails": any(each.open for each in vector.known),
            "explanation": vector.rule,
            "notes": [f"Source: {vector.source}."] if vector.source else [],
            "facts": facts,
            "data": vector.data,
            "label": "Repeated bytes" if vector.times > 1 else "Input",
            "answers": [],
            "split": None,
            "command": vector.command,
            "trace": site.picture(vector.id),
            "untraced": site.untraced.get(vector.id, "No trace was made."),
            "sections": [Section("Engines", tables=[table("What engines gave, by version", columns, rows)])],
        },
    )


def title_of(vector: Vector) -> str:
    """Its title as a heading."""
    return vector.title[:1].upper() + vector.title[1:] if vector.title else vector.id
