"""The first page: what the newest audit, bench and claims came to."""

from __future__ import annotations

from collections.abc import Iterator

from tokassay.reports import sentences
from tokassay.reports.site.claims import tag_of
from tokassay.reports.site.figures import first
from tokassay.reports.site.model import Site
from tokassay.reports.site.parts import Link, Section, Tag, table
from tokassay.reports.site.scoreboard import asked, recorded
from tokassay.reports.site.shell import Page, slug
from tokassay.reports.words import moment


def pages(site: Site) -> Iterator[Page]:
    """index.html."""
    names = [each.name for each in site.sources.engines]
    ours = [each.name for each in site.sources.engines if each.ours]
    newest = site.runs[0] if site.runs else None
    sections = [
        Section(
            "What is here",
            text=[
                sentences.roster(names, ours, sum(each.unavailable for each in site.sources.engines)),
                asked(site),
                recorded(site),
                own(site),
                sentences.claims(seen[0].verdict for seen in site.claims.values()),
            ],
            links=[
                Link(
                    "Scoreboard: wrong documents, crashes and known faults of every implementation", "scoreboard.html"
                ),
                Link(
                    "Divergences: each with its bytes, ids, stage and a command that shows it", "divergences/index.html"
                ),
                Link("Engines: what each declares, how it fared, how fast it is", "engines/index.html"),
                Link("Downloads: every table as CSV, Parquet and JSON", "downloads.html"),
            ],
        ),
        first(site),
        Section(
            "Speeds",
            text=speeds(site),
            empty="No bench is in these stores.",
            links=[Link(f"Bench of {moment(each.started)}", f"runs/{slug(each.id)}.html") for each in site.benches[:3]],
        ),
        Section(
            "Claims",
            tables=[
                table(
                    "The newest verdict on each claim",
                    ("claim", "verdict"),
                    (
                        (Link(name, f"claims/{slug(name)}.html"), tag_of(seen[0].verdict))
                        for name, seen in site.claims.items()
                    ),
                )
            ],
            empty="No claim has been run.",
        ),
        Section(
            "Newest runs",
            tables=[
                table(
                    "The newest audits",
                    ("audit", "began", "outcome"),
                    (
                        (
                            Link(run.id, run.page),
                            moment(str(run.tables.run["started"])),
                            outcome(run.tables.banner.kind, run.tables.banner.headline),
                        )
                        for run in site.runs
                    ),
                    limit=8,
                    more=Link("all runs", "runs/index.html"),
                )
            ],
            empty="No audit is in these stores.",
        ),
    ]
    yield Page(
        "index.html",
        "Overview",
        "page.html.j2",
        {
            "banner": newest.tables.banner if newest else None,
            "lead": [
                f"The newest audit, {newest.id}, began {moment(str(newest.tables.run['started']))}."
                if newest
                else "There is no audit in these stores."
            ],
            "sections": sections,
        },
    )


def own(site: Site) -> str:
    """Our own past faults, counted."""
    return sentences.faults([fault.of for fault in site.sources.faults])


def speeds(site: Site) -> list[str]:
    """A sentence a cell of the newest bench: the first few."""
    if not site.benches:
        return []
    cells = site.benches[0].report.get("cells", [])
    return [sentences.speed(cell) for cell in cells[:4]]


def outcome(kind: str, headline: str) -> Tag:
    """A run's outcome as a word with a colour."""
    return Tag(headline, {"agreed": "good", "mismatch": "bad", "broken": "bad"}.get(kind, "warn"))
