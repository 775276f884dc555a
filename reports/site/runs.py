"""A run's page: what it came to, coverage, divergences, digests, every count, the environment."""

from __future__ import annotations

from collections.abc import Iterator

from tokassay.reports import view
from tokassay.reports.site import benches
from tokassay.reports.site.divergences import LISTED, listed_row
from tokassay.reports.site.engines import page_of
from tokassay.reports.site.model import Run, Shown, Site, key_of
from tokassay.reports.site.overview import outcome
from tokassay.reports.site.parts import Cell, Code, Link, Section, table
from tokassay.reports.site.shell import Page, slug
from tokassay.reports.tables import Matrix, used_verdicts
from tokassay.reports.words import FAILING, counted, moment

SQUARES = 600  # of all matrices of a page


def pages(site: Site) -> Iterator[Page]:
    """A page a run of an audit or bench, and their list."""
    shown = {each.key: each for each in site.divergences}
    for run in site.runs:
        yield run_page(run, shown)
    yield from benches.pages(site)
    audits = (
        (
            Link(run.id, run.page),
            moment(str(run.tables.run["started"])),
            str(run.tables.run["suite"]),
            outcome(run.tables.banner.kind, run.tables.banner.headline),
            sum(run.tables.totals.values()),
            len(run.tables.failing),
        )
        for run in site.runs
    )
    yield Page(
        "runs/index.html",
        "Runs",
        "page.html.j2",
        {
            "lead": [],
            "sections": [
                Section(
                    "Audits",
                    tables=[
                        table(
                            "Audits, newest first",
                            ("audit", "began", "suite", "outcome", "verdicts", "failing divergences"),
                            audits,
                            alarms=("failing divergences",),
                        )
                    ],
                    empty="None is in these stores.",
                ),
                Section("Benches", tables=[benches.listed(site)], empty="None is in these stores."),
            ],
        },
    )


def run_page(run: Run, shown: dict[str, Shown]) -> Page:
    """The page of one audit."""
    t = run.tables
    verdicts = used_verdicts(t)
    mine = [shown[key_of(each)] for each in t.failing + t.declared]
    facts: list[tuple[str, Cell]] = [
        ("suite", str(t.run["suite"])),
        ("seed", str(t.run["seed"])),
        ("began", moment(str(t.run["started"]))),
        ("ended", moment(str(t.run["finished"])) if t.run["finished"] is not None else "it did not"),
        ("exit code", f"{t.run['exit_code']}, {t.run['exit_meaning']}"),
        ("blocks", f"{t.blocks:,}, {t.reused:,} of them reused"),
        ("tokassay", str(t.run["tokassay"])),
    ]
    sections = [
        Section(
            "Divergences",
            tables=[table("Divergences of this run", LISTED, map(listed_row, mine))],
            empty="No document differs from its contract.",
        ),
        Section(
            "Contracts",
            tables=[
                table(
                    "Contracts, with the variants that engines declare",
                    ("contract", "digest", "core", "variants"),
                    (
                        (c.label, Code(c.digest), Code(c.core), ", ".join(f"{k} {v}" for k, v in c.variants.items()))
                        for c in t.contracts
                    ),
                )
            ],
        ),
        Section(
            "Corpora",
            tables=[
                table(
                    "Corpora",
                    ("corpus", "specification", "documents", "bytes", "problems"),
                    (
                        (
                            Link(c["name"], f"corpora/{slug(c['name'])}.html"),
                            Code(c["spec"]),
                            c["documents"],
                            c["bytes"],
                            "; ".join(view.problems(c)) or None,
                        )
                        for c in t.corpora
                    ),
                )
            ],
        ),
        Section(
            "Engines",
            tables=[
                table(
                    "Builds that took part",
                    ("engine", "version", "requirement", "Python", "platform"),
                    (
                        (Link(e.name, page_of(e.name)), e.version, e.requirement, e.python, e.platform)
                        for e in t.engines
                    ),
                )
            ],
        ),
        Section(
            "Not served",
            tables=[
                table(
                    "Why engines took no part",
                    ("engine", "contract", "operations", "verdict", "reason"),
                    ((r.engine, r.contract, r.operations, r.verdict, r.reason) for r in t.reasons),
                )
            ],
        )
        if t.reasons
        else None,
        Section(
            "Every count",
            text=[t.check.sentence, *t.check.problems[:20]],
            tables=[
                table(
                    "Verdicts by contract, engine, corpus, domain and operation",
                    ("engine", "contract", "corpus", "domain", "operation", "documents", *verdicts),
                    (
                        (
                            row["engine"],
                            row["label"],
                            row["corpus"],
                            row["domain"],
                            row["operation"],
                            int(row["documents"]),
                            *(int(row[v]) for v in verdicts),
                        )
                        for row in t.coverage.to_dict("records")
                    ),
                    alarms=[v for v in verdicts if v in FAILING],
                    more=Link("every count", "downloads.html"),
                    limit=120,
                )
            ],
        ),
        Section(
            "Corpus digests",
            tables=[
                table(
                    "What engines are held to, and who has it",
                    ("corpus", "contract", "domain", "operations", "digest", "equal", "differs", "none"),
                    (
                        (
                            row["corpus"],
                            row["label"],
                            row["domain"],
                            ", ".join(row["operations"]),
                            Code(row["digest"][:16]),
                            ", ".join(row["equal"] or row["alone"]) or None,
                            ", ".join(row["differs"]) or None,
                            ", ".join(row["none"]) or None,
                        )
                        for row in view.digest_rows(t)
                    ),
                    limit=120,
                )
            ],
        ),
        Section(
            "Environment", facts=t.environment, tables=[table("Packages", ("package", "version"), t.packages.items())]
        ),
        Section("Again", text=["This command repeats the run:"], commands=[str(t.run["command"])]),
    ]
    return Page(
        run.page,
        f"Audit {run.id}",
        "run.html.j2",
        {
            "t": t,
            "matrices": matrices(t.matrices),
            "facts": facts,
            "sections": [each for each in sections if each is not None],
            "engine_page": {e.name: page_of(e.name) for e in t.engines},
            "notes": t.banner.notes + t.notes,
            "documents": counted(sum(c["documents"] for c in t.corpora), "document"),
            "corpus_page": {c["name"]: f"corpora/{slug(c['name'])}.html" for c in t.corpora},
        },
    )


def matrices(found: list[Matrix]) -> list[Matrix]:
    """Those that fit on a page: where there are many squares, those in which something failed, as far as they fit."""
    if sum(len(each.engines) * len(each.corpora) for each in found) <= SQUARES:
        return found
    shown, room = [], SQUARES
    for each in found:
        squares = len(each.engines) * len(each.corpora)
        if squares <= room and any(s.tone == "fail" for row in each.squares.values() for s in row.values() if s):
            shown.append(each)
            room -= squares
    return shown
