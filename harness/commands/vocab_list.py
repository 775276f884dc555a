"""`tokassay vocab list`: the known encodings, and the catalogue's other vocabularies."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Annotated, Any

import typer

STATES = "state: embedded in the package, fetched, or to fetch with `tokassay vocab fetch NAME`"
SIGNS = "is: = the same tokens, merges and special tokens; ~ the same tokens and merges"


def list_vocabularies(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """The known encodings, and the catalogue's other vocabularies: embedded, fetched or to fetch."""
    encodings, others = _encodings(), _others()
    if as_json:
        typer.echo(json.dumps({"encodings": encodings, "catalogue": others}))
        return
    shown = [row | {"is": _like(row["alike"]), "tokens": row["tokens"] and f"{row['tokens']:,}"} for row in encodings]
    _table("Known encodings, loaded by name", ("name", "family", "tokens", "algorithm", "is", "state"), shown)
    typer.echo(f"{SIGNS}\n{STATES}\n")
    _table("Further files of the catalogue, fetched by name and loaded by path", ("name", "format", "state"), others)
    licences: dict[str, list[str]] = defaultdict(list)
    for row in (*encodings, *others):
        licences[row["licence"]].append(row["name"])
    typer.echo("Licences (no file of Llama's is part of the package)")
    from rich.console import Console
    from rich.padding import Padding

    for licence, names in licences.items():
        typer.echo(f"  {licence or 'made here'}")
        Console().print(Padding(", ".join(names), (0, 0, 0, 4)), highlight=False)


def _encodings() -> list[dict[str, Any]]:
    from tokassay.corpora.fetch import find_entry
    from tokassay.harness import known
    from tokassay.harness.identity import alike, identities
    from tokassay.harness.load import known_path

    rows = []
    for each in known.encodings():
        identity = identities().get(each.name)
        found = [] if identity is None else [row for row in alike(identity) if row.name != each.name]
        rows.append(
            {
                "name": each.name,
                "aliases": list(each.aliases),
                "family": each.family,
                "tokens": identity.count if identity else None,
                "special_tokens": identity.special_count if identity else None,
                "algorithm": identity.algorithm if identity else None,
                "format": each.format,
                "state": "embedded" if each.file else "fetched" if known_path(each) else "to fetch",
                "alike": [{"name": row.name, "order": row.order, "specials": row.specials} for row in found],
                "catalogue": each.catalog,
                "licence": find_entry(each.catalog).licence if each.catalog else "",
                "sha256": each.sha256,
            }
        )
    return rows


def _others() -> list[dict[str, Any]]:
    from tokassay.corpora.fetch import cached_file, catalogue
    from tokassay.harness import known

    named = {each.catalog for each in known.encodings() if each.catalog}
    return [
        {
            "name": entry.slug,
            "title": entry.name,
            "format": entry.format,
            "state": "fetched" if not entry.tree and cached_file(entry) else "to fetch",
            "licence": entry.licence,
            "notes": entry.notes,
        }
        for entry in catalogue()
        if entry.kind == "vocab" and entry.slug not in named
    ]


def _like(alike: list[dict[str, Any]]) -> str:
    """The first known vocabulary that one is like, with a sign."""
    close = [each for each in alike if each["order"]]
    return f"{'=' if close[0]['specials'] else '~'}{close[0]['name']}" if close else ""


def _table(title: str, columns: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for column in columns:
        # A name is there to be copied: it is never cut short.
        table.add_column(column, no_wrap=column == "name", justify="right" if column == "tokens" else "left")
    for row in rows:
        table.add_row(*["-" if row[column] in (None, "") else str(row[column]) for column in columns])
    Console().print(table)
