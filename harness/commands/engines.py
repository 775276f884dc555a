"""`tokassay engines`: what can be audited, what is installed, whether it runs, and what is newer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from tokassay.harness.commands.engines_install import install
from tokassay.harness.commands.engines_refresh import refresh

app = typer.Typer(help="List, show, install, check and refresh the engines of the roster.", no_args_is_help=True)
app.command("install")(install)
app.command("refresh")(refresh)

Roster = Annotated[
    list[Path] | None, typer.Option("--roster", help="A roster file with engines from outside the tree.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


@app.command("list")
def list_engines(
    outdated: Annotated[
        bool, typer.Option("--outdated", help="Each pinned version beside the newest that can be installed here.")
    ] = False,
    roster: Roster = None,
    as_json: AsJson = False,
) -> None:
    """The roster: versions, environments, and what each engine serves.

    With --outdated, exit code 5 if a package's client could not be asked.
    """
    from tokassay.engines.roster import load_roster
    from tokassay.harness.engine_rows import row

    engines = load_roster(*(roster or ()))
    if outdated:
        _outdated(list(engines.values()), as_json)
        return
    rows = [row(spec) for spec in engines.values()]
    if as_json:
        print(json.dumps({"engines": rows}))
        return
    columns = ("engine", "requirement", "installed", "byte_policy", "unicode", "algorithms")
    _table(columns, [[_word(one[column]) for column in columns] for one in rows])
    for one in rows:
        if one["absence"]:
            typer.echo(f"{one['engine']}: {one['absence']}")


def _outdated(specs: list[Any], as_json: bool) -> None:
    from rich.console import Console
    from tokassay.engines.newest import newest
    from tokassay.harness.engine_rows import outdated_rows
    from tokassay.harness.errors import AGREED, INFRASTRUCTURE

    with Console(stderr=True).status("asking package clients"):
        rows = outdated_rows(specs, newest(specs))
    code = INFRASTRUCTURE if any(row["outdated"] is None for row in rows) else AGREED
    if as_json:
        print(json.dumps({"engines": rows, "exit_code": code}))
    else:
        columns = ("engine", "pinned", "pinned_released", "newest", "newest_released", "outdated")
        told = [row | {"outdated": "not known" if row["outdated"] is None else row["outdated"]} for row in rows]
        _table(columns, [[_word(row[column]) for column in columns] for row in told])
        for row in rows:
            if row["problem"]:
                typer.echo(f"{row['engine']}: {row['problem']}")
        late = [row["engine"] for row in rows if row["outdated"]]
        typer.echo(f"outdated: {', '.join(late)}; see: tokassay engines refresh NAME" if late else "none is outdated")
    raise typer.Exit(code)


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="NAME or NAME==VERSION.")], roster: Roster = None, as_json: AsJson = False
) -> None:
    """All that an engine declares (contracts, loading, bytes, threads, cache, calls, claims), and what it says."""
    from tokassay.engines.roster import load_roster
    from tokassay.harness.engine_rows import whole_row
    from tokassay.harness.hosts import find_spec

    found = whole_row(find_spec(name, load_roster(*(roster or ())), where="tokassay engines show"))
    if as_json:
        print(json.dumps(found))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for key, value in found.items():
        for label, text in _lines(key.replace("_", " "), value):
            table.add_row(label, text)
    Console(markup=False, highlight=False).print(table)


def _lines(label: str, value: Any) -> list[tuple[str, str]]:
    """A line a value; of a table, one an entry. What is not declared has none."""
    if isinstance(value, dict):
        return [line for key, one in value.items() for line in _lines(f"{label}: {key.replace('_', ' ')}", one)]
    return [(label, _word(value))] if value not in ("", [], None) else []


@app.command()
def check(
    names: Annotated[list[str] | None, typer.Argument(help="Engines; all that are installed without one.")] = None,
    roster: Roster = None,
    as_json: AsJson = False,
) -> None:
    """Start each engine, ask its version, and have it encode "hello world" under a vocabulary of each algorithm it
    serves; its ids are held to the published ones.

    Exit codes: 0 all that were compared are right, 1 wrong ids, 4 none were compared, 5 an engine does not run.
    """
    from rich.console import Console
    from tokassay.engines.environments import installed
    from tokassay.engines.roster import load_roster
    from tokassay.harness.engine_check import Checked, exit_code
    from tokassay.harness.engine_check import check as check_one
    from tokassay.harness.hosts import find_spec

    engines = load_roster(*(roster or ()))
    specs = [find_spec(name, engines, where="tokassay engines check") for name in names or ()]
    specs = specs or [spec for spec in engines.values() if installed(spec)]
    checked: list[Checked] = []
    with Console(stderr=True).status("checking") as status:
        for spec in specs:
            status.update(f"checking {spec.name}")
            checked.append(check_one(spec))
    code = exit_code(checked)
    if as_json:
        print(json.dumps({"engines": [one.to_json() for one in checked], "exit_code": code}))
    else:
        columns = ("engine", "version", "ok", "network", "checked", "note")
        _table(columns, [_told(one) for one in checked])
    raise typer.Exit(code)


def _told(checked: Any) -> list[str]:
    network = checked.limits.get("network", "") if isinstance(checked.limits, dict) else _word(checked.limits or "")
    ids = "; ".join(f"{row['vocabulary']} {_word(row['ids'])}" for row in checked.tried)
    return [checked.engine, checked.version, _word(checked.ok), network, ids, checked.note()]


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(str(one) for one in value) if isinstance(value, list) else str(value)


def _table(columns: tuple[str, ...], rows: list[list[str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column.replace("_", " "), overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(markup=False).print(table)
