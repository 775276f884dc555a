"""`tokassay corpora manifest`: every corpus of the catalogue: kind, counts, digest, languages, scripts, licence."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer


def manifest(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Corpora; without a name, all of the catalogue, `verses` and the samples."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """What each corpus holds: kind, documents, bytes, SHA-256 of the content, languages, scripts, share of valid UTF-8.

    A corpus that is not on this machine is a row with the reason. Exit codes: 0, 2 wrong use.
    """
    from rich.console import Console
    from tokassay.harness.corpus_manifest import SCHEMA, default_names, row_of, translations

    rows: list[dict[str, Any]] = []
    console = Console(stderr=True)
    asked = names or default_names()
    with console.status("") as status:
        for place, name in enumerate(asked, 1):
            status.update(f"[{place}/{len(asked)}] {name}")
            rows.append(row_of(name))
        verses = translations() if "verses" in asked else []
    if as_json:
        typer.echo(json.dumps({"schema": SCHEMA, "corpora": rows, "translations": verses}, ensure_ascii=True))
        return
    _print(rows, verses)


def _print(rows: list[dict[str, Any]], verses: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 200)
    table = Table("corpus", "kind", "documents", "bytes", "valid UTF-8", "SHA-256", "languages", "scripts", "licence")
    for row in rows:
        if row["reason"]:
            table.add_row(row["name"], row["kind"], row["reason"], "", "", "", row["languages"], "", row["licence"])
            continue
        share = f"{100 * row['valid_bytes'] / row['bytes']:.1f} %" if row["bytes"] else "–"
        scripts = list(row["scripts"])
        shown = ", ".join(scripts[:3]) + (f" and {len(scripts) - 3} more" if len(scripts) > 3 else "")
        counts = f"{row['documents']:,}", f"{row['bytes']:,}"
        table.add_row(
            row["name"], row["kind"], *counts, share, row["digest"][:12], row["languages"], shown, row["licence"]
        )
    console.print(table)
    if verses:
        table = Table("translation", "what it is", "language", "verses", "bytes", "read of, had before", "SHA-256")
        for row in verses:
            read = "; ".join(f"{s['name']} {s['read']:,}, {s['dropped']:,}" for s in row["sources"])
            counts = f"{row['documents']:,}", f"{row['bytes']:,}"
            table.add_row(row["name"], row["title"], row["language"], *counts, read, row["digest"][:12])
        console.print(table)
        total = sum(row["documents"] for row in verses), sum(row["bytes"] for row in verses)
        told = f"{len(verses)} translations, {total[0]:,} verses, {total[1]:,} bytes"
        console.print(f"{told}: each text of a translation once, whatever packages have it")
