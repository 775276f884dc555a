"""The matrix of the newest audit of the field: a verdict for every engine, vocabulary and kind of corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tokassay.reports.matrix import SIGNS, MatrixCell, size, tone_of
from tokassay.reports.site.engines import page_of
from tokassay.reports.site.model import Run, Site, key_of
from tokassay.reports.site.parts import Cell, Code, Link, Section, Tag, table
from tokassay.reports.site.shell import Page, slug
from tokassay.reports.words import FAILING, VERDICTS, VERIFIED, moment

PATH = "matrix/index.html"
COLUMNS = (
    "engine", "kind", "verdict", "documents", "bytes", "of", "documents by verdict", "why not all", "divergences",
    "command",
)  # fmt: skip
ABOUT = (
    "A square is one engine under one vocabulary on one kind of corpus. Its sign is the worst verdict that any of its "
    "documents got; a dot says that a part was not served. It leads to the divergence, or to what it stands on."
)


def pages(site: Site) -> Iterator[Page]:
    """matrix/index.html, and a page a vocabulary."""
    run = site.whole_field
    if run is None:
        values: dict[str, Any] = {"found": None}
        yield Page(PATH, "Matrix", "matrix.html.j2", values)
        return
    found = run.tables.matrix
    link = linked(run)
    facts: list[tuple[str, Cell]] = [
        ("audit", Link(run.id, run.page)),
        ("began", moment(str(run.tables.run["started"]))),
        ("suite", str(run.tables.run["suite"])),
        ("as a table", Link("CSV, JSON, Parquet", "downloads.html")),
    ]
    yield Page(
        PATH,
        "Matrix",
        "matrix.html.j2",
        {
            "found": found, "facts": facts, "about": ABOUT, "matrix_signs": SIGNS, "tone_of": tone_of,
            "rooted": lambda cell: f"../{link(cell)}", "vocabulary_page": page_of_vocabulary,
            "anchor_of": lambda name: f"#v{found.vocabularies.index(name)}",
        },
    )  # fmt: skip
    for vocabulary in found.vocabularies:
        rows = [cell for engine in found.engines for cell in found.row(engine, vocabulary)]
        yield Page(
            page_of_vocabulary(vocabulary),
            f"Matrix: {vocabulary}",
            "page.html.j2",
            {
                "lead": [f"Every cell of the matrix under {vocabulary}, with what it stands on."],
                "sections": [
                    Section(
                        "Cells",
                        tables=[
                            table(
                                f"Verdicts under {vocabulary} by engine and kind of corpus",
                                COLUMNS,
                                (row(cell, run) for cell in rows),
                                limit=len(rows),
                            )
                        ],
                        links=[Link("The whole matrix", PATH)],
                    )
                ],
            },
        )


def page_of_vocabulary(vocabulary: str) -> str:
    """Where the cells of a vocabulary are."""
    return f"matrix/{slug('of-' + vocabulary)}.html"


def linked(run: Run) -> Callable[[MatrixCell], str]:
    """What gives a cell's link: its first divergence, or its vocabulary's page."""
    keys = {each.ordinal: key_of(each) for each in run.tables.failing}

    def link(cell: MatrixCell) -> str:
        shown = [keys[ordinal] for ordinal in cell.divergences if ordinal in keys]
        return f"divergences/{shown[0]}.html" if shown else page_of_vocabulary(cell.vocabulary)

    return link


def row(cell: MatrixCell, run: Run) -> tuple[Cell, ...]:
    """A cell as a row of its vocabulary's page."""
    keys = {each.ordinal: key_of(each) for each in run.tables.failing}
    tone = "bad" if cell.verdict in FAILING else "good" if cell.verdict in VERIFIED else "dim"
    shown = tuple(Link(str(n), f"divergences/{keys[n]}.html") for n in cell.divergences if n in keys)
    return (
        Link(cell.engine, page_of(cell.engine)),
        cell.kind,
        Tag(f"{cell.verdict}{', in part' if cell.part else ''}", "said" if cell.verdict == "declared" else tone),
        cell.documents,
        size(cell.bytes),
        size(cell.asked),
        ", ".join(f"{cell.verdicts[v]:,} {v}" for v in VERDICTS if cell.verdicts.get(v)) or None,
        "; ".join(cell.reasons) or None,
        shown or None,
        Code(cell.command) if cell.command else None,
    )
