"""An engine's page: what it declares, how it fared by contract and corpus, its divergences, speeds and claims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tokassay.reports.sentences import figure
from tokassay.reports.site.claims import engine_of, tag_of
from tokassay.reports.site.counts import verdicts
from tokassay.reports.site.divergences import LISTED, listed_row
from tokassay.reports.site.model import Site, failed, once, wrong
from tokassay.reports.site.parts import Code, Link, Section, Tag, table
from tokassay.reports.site.scoreboard import known_row
from tokassay.reports.site.shell import Page, slug
from tokassay.reports.thin import thin
from tokassay.reports.words import moment


def pages(site: Site) -> Iterator[Page]:
    """A page an engine, and their list."""
    rows = []
    for name in site.engines:
        cells = site.coverage[site.coverage["engine"] == name]
        counts = once(cells)
        mine = site.engines[name]
        rows.append(
            (
                (Link(name, page_of(name)), *((Tag("ours", "said"),) if mine is not None and mine.ours else ())),
                mine.requirement if mine is not None else "not in the roster",
                str(cells["version"].iloc[0]) if len(cells) else None,
                outcome(len(cells), counts),
                sum(known.open for known in site.known if known.engine == name),
            )
        )
        yield engine_page(site, name)
    columns = ("engine", "requirement", "version audited", "newest audits", "known faults, open")
    yield Page(
        "engines/index.html",
        "Engines",
        "page.html.j2",
        {
            "lead": [
                "Each engine runs in a process of its own, at a pinned version, under the variants that it declares."
            ],
            "sections": [
                Section(
                    "All engines",
                    tables=[
                        table("Engines of the roster, and others that are spoken of", columns, rows, alarms=columns[4:])
                    ],
                )
            ],
        },
    )


def page_of(name: str) -> str:
    """Where an engine's page is."""
    return f"engines/{slug(name)}.html"


def outcome(cells: int, counts: dict[str, int]) -> Tag:
    """What the newest audits of an engine came to, in a word."""
    if not cells:
        return Tag("not audited", "dim")
    if failed(counts):
        return Tag(f"{wrong(counts):,} wrong" if wrong(counts) else "failed", "bad")
    return Tag("no fault seen", "good") if counts["match"] + counts["declared"] else Tag("nothing verified", "warn")


def engine_page(site: Site, name: str) -> Page:
    """The page of one engine."""
    engine = site.engines[name]
    cells = site.coverage[site.coverage["engine"] == name]
    known = sorted((each for each in site.known if each.engine == name), key=lambda each: (not each.open, each.vector))
    shown = [each for each in site.divergences if each.divergence.engine == name]
    claims = {claim: seen[0] for claim, seen in site.claims.items() if engine_of(seen[0].report) == name}
    sections = [
        Section(
            "What it declares",
            text=[engine.notes] if engine is not None and engine.notes else [],
            facts=engine.facts if engine is not None else [],
            empty="It is not in the roster.",
        ),
        Section(
            "Verdicts",
            tables=[verdicts(f"Documents by corpus, contract and operation: {name}", cells, "corpus", corpus_page)],
            empty="No audit in these stores asked it.",
        ),
        Section(
            "Divergences",
            tables=[table(f"Divergences that audits found in {name}", LISTED, map(listed_row, shown))],
            empty="No audit in these stores found one.",
        ),
        Section(
            "Known faults",
            tables=[
                table(
                    f"Vectors that {name} failed",
                    ("engine", "known fault", "vocabulary", "stage", "wrong in", "right, or right since", "given"),
                    (known_row(site, each) for each in known),
                )
            ],
            empty="None is recorded.",
        ),
        Section(
            "Speeds", tables=[speeds(site, name), proofs(site, name)], empty="No bench in these stores measured it."
        ),
        Section(
            "Claims",
            tables=[
                table(
                    f"Claims about {name}",
                    ("claim", "verdict", "run"),
                    (
                        (Link(claim, f"claims/{slug(claim)}.html"), tag_of(one.verdict), moment(one.started))
                        for claim, one in claims.items()
                    ),
                )
            ],
            empty="No claim about it has been run.",
        ),
    ]
    return Page(page_of(name), name, "page.html.j2", {"lead": [], "sections": sections})


def corpus_page(name: str) -> str:
    """Where a corpus's page is."""
    return f"corpora/{slug(name)}.html"


def speeds(site: Site, name: str) -> Any:
    """What benches measured of it: a speed where the timed output's digest was proved, else what happened."""
    rows = [row for row in site.rows("v_measurement") if row["engine"] == name]
    rows.sort(
        key=lambda row: (str(row["started"]), str(row["vocab"]), str(row["entry"]), str(row["state"])), reverse=True
    )
    columns = ("text", "vocabulary", "entry", "state", "threads", "verdict", "MB/s", "interval", "version", "bench")
    only = {each.id: f"exact, on {each.report['gate']['suite']} only" for each in site.benches if thin(each.report)}
    return table(
        f"Megabytes of input a second of CPU time: {name}",
        columns,
        (
            (
                row["text"],
                row["vocab"],
                row["entry"],
                row["state"],
                whole(row.get("threads")),
                verdict(row, only),
                *speed(row),
                row["version"],
                Link(str(row["bench"]), f"runs/{slug(str(row['bench']))}.html"),
            )
            for row in rows
        ),
        more=Link("every measurement", "downloads.html") if rows else None,
    )


def verdict(row: dict[str, Any], only: dict[str, str]) -> Tag:
    """A measurement's verdict; `only` has the words for exact ones of benches whose suite proves too little."""
    if row["verdict"] == "exact":
        return Tag(only[str(row["bench"])], "warn") if str(row["bench"]) in only else Tag("exact", "good")
    return Tag(str(row["verdict"]), "bad" if row["verdict"] == "void" else "dim")


def speed(row: dict[str, Any]) -> tuple[str, str]:
    """Median and interval, or dashes for a row without a speed."""
    if row["verdict"] != "exact" or row["mb_s"] is None or row["mb_s"] != row["mb_s"]:
        return "–", "–"
    interval = [row.get("mb_s_low"), row.get("mb_s_high")]
    known = all(value is not None and value == value for value in interval)
    return figure(float(row["mb_s"])), "–".join(figure(float(value or 0)) for value in interval) if known else "–"


def whole(value: Any) -> int | None:
    """A number that pandas may have made a float, or that is not there."""
    return None if value is None or value != value else int(value)


def proofs(site: Site, name: str) -> Any:
    """Whether its builds passed the gate suite, by vocabulary, entry point and domain."""
    rows = [row for row in site.rows("v_proof") if row["engine"] == name]
    return table(
        f"Gate suite: what {name} was proved on before it was timed",
        ("vocabulary", "entry", "domain", "outcome", "documents", "failed", "detail", "command"),
        (
            (
                row["vocab"],
                row["entry"],
                row["domain"],
                Tag("passed", "good") if row["passed"] else Tag("failed", "bad"),
                whole(row["documents"]),
                whole(row["failed"]),
                str(row["detail"] or "–"),
                Code(str(row["command"] or "")),
            )
            for row in rows
        ),
        alarms=("failed",),
    )
