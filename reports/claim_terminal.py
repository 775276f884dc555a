"""A claim on the terminal: its verdict with what was measured, or what its file states."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from tokassay.reports.claim import WORDS, claimed, groups, measured, share
from tokassay.reports.words import exactly, short

WIDTH = 132  # of what goes to a file or a pipe
STYLES = {
    "supported": "bold green", "supported in part": "bold yellow", "not supported": "bold red",
    "not verifiable": "bold", "void": "bold red",
}


def print_claim(report: Mapping[str, Any]) -> None:
    """The verdict, a table a figure, the divergences, and where the page is, on standard output."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
    console.print(Text.assemble((f"{report['claim']}: {report['verdict']}", STYLES[report["verdict"]])))
    console.print(report["sentence"], markup=False)
    for group in groups(report):
        table = Table(title=group["unit"], title_justify="left")
        heads = ("figure", "text", "claimed", "ours", "of it", "engine, MB/s", "baseline, MB/s", "")
        for place, column in enumerate(heads):
            table.add_column(column, justify="right" if 1 < place < len(heads) - 1 else "left", overflow="fold")
        for row in group["rows"]:
            for figure, cell in row["cells"]:
                table.add_row(*(Text(one) for one in (
                    figure["name"], cell["text"], claimed(figure), measured(cell["measured"]), share(cell["share"]),
                    _number(cell["engine_mb_s"]), _number(cell["baseline_mb_s"]),
                    ": ".join(filter(None, (WORDS.get(cell["outcome"], cell["outcome"]), cell["detail"]))),
                )))
        console.print(table)
        for figure in group["figures"]:
            if figure["per_core"] is not None:
                said = f"{short(figure['per_core'])} {figure['unit']} a core, over {figure['cores']} cores"
                console.print(f"{figure['name']}: {said}", markup=False)
    for one in report["divergences"]:
        console.print(f"{one['where']} ({one['domain']}): {one['explanation']}", markup=False)
        for line in str(one["command"]).splitlines():
            console.print(f"  {line}", markup=False, soft_wrap=True)
    for name, reason in report["absent"].items():
        console.print(f"{name} is left out: {reason}", markup=False)
    if report.get("report"):
        console.print(f"page: {report['report'][0]}", markup=False, soft_wrap=True)


def _number(value: float | None) -> str:
    return "–" if value is None else short(value)


def about_lines(claim: Mapping[str, Any]) -> Iterator[str]:
    """What the file states, line by line."""
    yield f"{claim['name']}: {claim['vendor']} ({claim['package'] or 'no package'}), {claim['date']}"
    yield claim["summary"]
    for name in ("hardware", "corpus", "baseline", "entry_point"):
        yield f"  {name.replace('_', ' ')}: {claim[name]}"
    for source in (claim["source"], *claim["further"]):
        yield f"  source: {source['title']}, {source['address']}, read on {source['read']}"
    for figure in claim["figures"]:
        yield f"  figure {figure['name']}: {figure['says']}"
        if figure["per_core"] is not None:
            yield f"    {exactly(figure['value'])} / {figure['cores']} cores = {short(figure['per_core'])} a core"
        if figure["parts"]:
            this, other = figure["parts"]
            yield f"    {exactly(this)} / {exactly(other)} = {short(this / other)}"
        if figure["not_here"]:
            yield f"    not here: {figure['not_here']}"
    for one in claim["contradictions"]:
        yield f"  contradiction: {one}"
    here = claim["here"]
    if here is None:
        yield f"  not run here: {claim['not_here']}"
        return
    yield f"  run here as: {here['engine']}, {', '.join(here['vocabularies'])}, {here['entry']}, {here['state']}"
    yield f"    texts: {', '.join(here['texts'])}; left out by the vendor: {', '.join(here['left_out']) or 'none'}"
    yield f"    {here['differs']}"
