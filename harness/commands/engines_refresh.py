"""`tokassay engines refresh`: a newer release of an engine in the roster, once it has passed its check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer


def refresh(
    name: Annotated[str, typer.Argument(help="An engine of the roster; engines with its lock go with it.")],
    to: Annotated[str, typer.Option("--to", help="The version; without it, the newest that installs here.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Do all of it, and leave roster and lock alone.")] = False,
    corpus: Annotated[
        list[str] | None, typer.Option(help="What both releases encode; without it, battery, sample and fuzz:500.")
    ] = None,
    roster: Annotated[
        list[Path] | None, typer.Option("--roster", help="A roster file with engines from outside the tree.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Pin the newest release, or a named one: lock with hashes, environment, check, an audit beside the pinned one.

    Roster and lock are changed only where the check passes. Exit codes: 0 nothing is worse, 1 wrong ids or documents
    that only the new one fails, 4 no published ids were there to compare, 5 it cannot be installed or does not run.
    """
    from rich.console import Console
    from tokassay.engines.roster import load_roster
    from tokassay.harness.hosts import find_spec
    from tokassay.harness.progress import Live
    from tokassay.harness.refresh import CORPORA, WHERE
    from tokassay.harness.refresh import refresh as refresh_engine

    engines = load_roster(*(roster or ()))
    spec = find_spec(name, engines, where=WHERE)
    with Live(Console(stderr=True), 0) as live:
        found = refresh_engine(
            spec, engines, live, to=to, dry_run=dry_run, corpora=tuple(corpus or CORPORA), rosters=tuple(roster or ()),
        )
    if as_json:
        print(json.dumps(found.to_json()))
    else:
        _print(found)
    raise typer.Exit(found.exit_code)


def _print(found: Any) -> None:
    typer.echo(f"{found.package}: pinned {found.pinned}, asked for {found.version}")
    for one in found.engines:
        for checked in (one.before, one.after):
            ids = "; ".join(f"{row['vocabulary']} {row['ids']}" for row in checked.tried) or "no ids compared"
            told = f"; {checked.note()}" if checked.note() else ""
            typer.echo(f"  {one.old.name} {checked.version or 'does not run'}: {ids}{told}")
        both = one.compared
        if both.blocks:
            typer.echo(
                f"  {both.documents:,} verdicts in {both.blocks:,} blocks: {both.blocks_changed:,} blocks have another "
                f"output, {both.documents_changed:,} documents another verdict or other wrong ids; "
                f"{both.documents_worse:,} fail that did not"
            )
            for name, verdicts in both.verdicts.items():
                typer.echo(f"    {name}: " + ", ".join(f"{count:,} {verdict}" for verdict, count in verdicts.items()))
        for sign, causes in (("+", both.appear), ("-", both.vanish)):
            for cause in causes:
                where = f"{cause['verdict']} on {cause['documents']:,}, {cause['contract']}"
                typer.echo(f"  {sign} {where}: {cause['explanation']}\n    {cause['command']}")
    if found.diff:
        typer.echo(found.diff)
    typer.echo("roster and lock are changed" if found.changed else f"nothing is changed: {found.why}")
