"""Who was wrong, and how often: every implementation by the same count, ours and the oracle among them."""

from __future__ import annotations

from collections.abc import Iterator

from tokassay.reports import sentences
from tokassay.reports.site.model import Site, once, wrong
from tokassay.reports.site.parts import Cell, Code, Link, Section, Tag, table
from tokassay.reports.site.shell import Page, slug
from tokassay.reports.site.sources import Known

ORACLE, HARNESS = "oracle", "harness"
COLUMNS = (
    "implementation",
    "wrong documents",
    "documents asked",
    "crashes",
    "errors",
    "timeouts",
    "out of memory",
    "known faults, open",
    "known faults, healed",
    "past faults of ours",
    "version",
)
RED = (COLUMNS[1], *COLUMNS[3:8])
COUNTED = (
    "Of each cell (contract, engine, corpus, domain, operation) the newest finished run counts, and of each engine the "
    "version that was run last. A document counts once for a contract, by the operation in which most of them failed. "
    "Wrong: other ids than the contract's under the engine's own declared variants, or no one answer. Where nothing "
    "was asked of an implementation, its cells are dashes."
)
KNOWN = (
    "A known fault is an answer, recorded as a vector, that a written rule contradicts; it is healed where a later "
    "release gave the right one. Faults are found by looking: who was looked at longest has most."
)
OWN = (
    "These are the wrong answers that an audited build of ours has given, with the test that holds each now. The "
    "oracle is what others are held to; where a written rule contradicts it, it is wrong, and stands here."
)


def pages(site: Site) -> Iterator[Page]:
    """scoreboard.html."""
    names = [*site.engines, ORACLE, HARNESS]
    known = sorted((each for each in site.known if each.open), key=lambda each: (each.engine, each.vector))
    healed = sorted((each for each in site.known if not each.open), key=lambda each: (each.engine, each.vector))
    columns = ("engine", "known fault", "vocabulary", "stage", "wrong in", "right", "given")
    parts = [
        Section(
            "The count",
            text=[asked(site), COUNTED],
            tables=[table("Faults by implementation", COLUMNS, (row(site, name) for name in names), alarms=RED)],
        ),
        Section(
            "Known faults that are open",
            text=[recorded(site), KNOWN],
            tables=[
                table(
                    "Known faults whose newest asked release is wrong",
                    columns,
                    (known_row(site, each) for each in known),
                )
            ],
        ),
        Section(
            "Known faults that have healed",
            tables=[
                table(
                    "Known faults that a later release mended",
                    (*columns[:5], "right since", "was given"),
                    (known_row(site, each) for each in healed),
                )
            ],
            empty="None has.",
        ),
        Section(
            "Our own past faults",
            text=[sentences.faults([fault.of for fault in site.sources.faults]), OWN],
            tables=[
                table(
                    "Faults of our engines, the oracle and the harness",
                    ("part", "found", "input", "what was wrong", "test"),
                    (
                        (marked(fault.part), fault.found, marked(fault.input), marked(fault.what), Code(fault.test))
                        for fault in site.sources.faults
                    ),
                )
            ],
        ),
    ]
    yield Page("scoreboard.html", "Scoreboard", "page.html.j2", {"lead": [], "sections": parts})


def asked(site: Site) -> str:
    """How much the count stands on."""
    cells = site.coverage
    return sentences.asked(once(cells), cells["engine"].nunique(), cells["label"].nunique(), cells["corpus"].nunique())


def recorded(site: Site) -> str:
    """What the vectors say."""
    return sentences.known((each.vector, each.engine, each.open) for each in site.known)


def row(site: Site, name: str) -> tuple[Cell, ...]:
    """An implementation's row."""
    cells = site.coverage[site.coverage["engine"] == name]
    counts = once(cells)
    engine = site.engines.get(name)
    ours = name in (ORACLE, HARNESS) or (engine is not None and engine.ours)
    mine = [each for each in site.known if each.engine == name]
    past = sum(fault.of == name for fault in site.sources.faults) if ours else None
    shown: tuple[Cell, ...] = (None,) * 6
    if len(cells):
        shown = (wrong(counts), counts["documents"], *(counts[kind] for kind in ("crash", "error", "timeout", "oom")))
    here = name if name in (ORACLE, HARNESS) else Link(name, f"engines/{slug(name)}.html")
    return (
        (here, *((Tag("ours", "said"),) if ours else ())),
        *shown,
        sum(each.open for each in mine),
        sum(not each.open for each in mine),
        past,
        str(cells["version"].iloc[0]) if len(cells) else None,
    )


def known_row(site: Site, known: Known) -> tuple[Cell, ...]:
    """A known fault's row: the last but one cell is the right answer, or the release that gave it again."""
    vector = site.vectors[known.vector]
    versions = known.first_bad if known.first_bad == known.last_bad else f"{known.first_bad} to {known.last_bad}"
    return (
        Link(known.engine, f"engines/{slug(known.engine)}.html"),
        Link(vector.title or vector.id, vector_page(vector.id)),
        vector.vocabulary,
        vector.stage,
        versions,
        Code(vector.right) if known.open else known.first_good,
        Code(known.given),
    )


def vector_page(name: str) -> str:
    """Where a vector's page is."""
    return f"divergences/{slug('vector-' + name)}.html"


def marked(text: str) -> Cell:
    """Markdown's inline code as code; nothing else of it is read."""
    return tuple(Code(part) if n % 2 else part for n, part in enumerate(text.split("`")) if part)
