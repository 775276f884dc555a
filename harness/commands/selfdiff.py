"""`tokassay audit --self`: each engine against itself, as a table by name."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from tokassay.harness.audit import Request
    from tokassay.harness.lanes import Vocabulary
    from tokassay.harness.selfdiff import Row


def against_itself(request: Request, console: Console, *, as_json: bool) -> int:
    """Run it, print it, and give the exit code: 0 all the same, 1 a difference or a failure, 4 nothing compared."""
    from tokassay.harness.audit import opened
    from tokassay.harness.budget import Budget
    from tokassay.harness.commands.options import print_json
    from tokassay.harness.lanes import Lanes
    from tokassay.harness.selfdiff import exit_code, run

    suite = request.suite
    lanes = Lanes(suite, request.roster, request.pattern, request.variants, 1)

    def documents(spec: str, vocabulary: Vocabulary) -> list[tuple[str, bytes]]:
        return [(document.name, document.data) for document in opened(spec, vocabulary, request.seed).documents()]

    try:
        vocabularies = lanes.vocabularies()
        specs = dict.fromkeys(asked.spec for asked in suite.corpora)
        corpora = [(spec, partial(documents, spec)) for spec in specs]
        with console.status("loading engines") as status:
            rows = run(lanes, vocabularies, corpora, status.update, budget=Budget(request.engine_s), jobs=request.jobs)
    finally:
        lanes.close()
    code = exit_code(rows)
    if as_json:
        print_json({
            "schema": "tokassay.self/1", "command": request.command, "seed": request.seed, "exit_code": code,
            "rows": [asdict(row) for row in rows],
        })
    else:
        show(rows)
    return code


def show(rows: list[Row]) -> None:
    """One line a way that is not the same everywhere, and a count of the others."""
    import sys

    from rich.console import Console
    from rich.table import Table
    from tokassay.harness.selfdiff import SAME

    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    table = Table("engine", "vocabulary", "corpus", "way", "verdict", "documents", "differ", "why or where")
    for row in rows:
        where = row.detail
        if row.first is not None:
            first = f"{row.first['name']}: got {row.first['got']}, before {row.first['baseline']}"
            where = f"{first} ({where})" if where else first
        differ = f"{row.differ:,}" if row.differ else ""
        table.add_row(
            row.engine, row.vocabulary, row.corpus, row.way, row.verdict, f"{row.documents:,}", differ, where
        )
    console.print(table)
    same = sum(row.verdict == SAME for row in rows)
    pairs = len({(row.engine, row.vocabulary, row.corpus) for row in rows})
    console.print(f"{same} of {len(rows)} ways are the same, over {pairs} of engine, vocabulary and corpus")
