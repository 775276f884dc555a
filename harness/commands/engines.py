"""`tokassay engines`: what can be audited, what is installed, and whether it runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(help="List, install and check the engines of the roster.", no_args_is_help=True)

SAMPLE = b"hello world"
Roster = Annotated[
    list[Path] | None, typer.Option("--roster", help="A roster file with engines from outside the tree.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


@app.command("list")
def list_engines(roster: Roster = None, as_json: AsJson = False) -> None:
    """The roster: versions, environments, and what each engine serves."""
    from tokassay.engines.environments import environment_of
    from tokassay.engines.roster import load_roster

    rows: list[dict[str, Any]] = []
    for spec in load_roster(*(roster or ())).values():
        environment = environment_of(spec)
        rows.append(
            {
                "engine": spec.name,
                "requirement": spec.requirement,
                "environment": spec.environment,
                "installed": environment.complete,
                "path": str(environment.path),
                "algorithms": list(spec.algorithms),
                "byte_policy": spec.byte_policy,
                "unicode": spec.unicode,
                "normalization": spec.normalization or spec.unicode,
                "specials": list(spec.specials),
                "operations": list(spec.operations),
                "licence": spec.licence,
                "home": spec.home,
            }
        )
    if as_json:
        print(json.dumps({"engines": rows}))
        return
    columns = ("engine", "requirement", "installed", "byte_policy", "unicode", "algorithms")
    _table(columns, [[_word(row[column]) for column in columns] for row in rows])


@app.command()
def install(
    name: Annotated[str, typer.Argument(help="NAME or NAME==VERSION.")], roster: Roster = None, as_json: AsJson = False
) -> None:
    """Make the environment of one engine, at its pinned version or at another."""
    from rich.console import Console
    from tokassay.engines.environments import install as install_engine
    from tokassay.engines.environments import installed
    from tokassay.engines.roster import load_roster
    from tokassay.harness.hosts import find_spec

    spec = find_spec(name, load_roster(*(roster or ())), where="tokassay engines install")
    before = installed(spec)
    with Console(stderr=True).status(f"installing {spec.requirement}"):
        environment = install_engine(spec)
    row = {
        "engine": spec.name,
        "requirement": spec.requirement,
        "path": str(environment.path),
        "interpreter": str(environment.interpreter),
        "already": before,
    }
    if as_json:
        print(json.dumps(row))
    else:
        print(f"{spec.requirement} is {'already ' if before else ''}installed in {environment.path}")


@app.command()
def check(
    names: Annotated[list[str] | None, typer.Argument(help="Engines; all that are installed without one.")] = None,
    roster: Roster = None,
    as_json: AsJson = False,
) -> None:
    """Start each engine, ask its version, load GPT-2 and encode "hello world"; exit 0 only where all is right."""
    from tokassay.engines.environments import installed
    from tokassay.engines.roster import load_roster
    from tokassay.harness.errors import AGREED, INFRASTRUCTURE, MISMATCH, NOTHING
    from tokassay.harness.hosts import find_spec

    engines = load_roster(*(roster or ()))
    specs = [find_spec(name, engines, where="tokassay engines check") for name in names or ()]
    specs = specs or [spec for spec in engines.values() if installed(spec)]
    rows = [_check(spec) for spec in specs]
    code = AGREED if rows else NOTHING
    if not all(row["ok"] for row in rows):
        code = MISMATCH if any(row["ids"] and not row["ok"] for row in rows) else INFRASTRUCTURE
    if as_json:
        print(json.dumps({"engines": rows, "exit_code": code}))
    else:
        columns = ("engine", "version", "python", "ok", "ids", "note")
        _table(columns, [[_word(row[column]) for column in columns] for row in rows])
    raise typer.Exit(code)


def _check(spec: Any) -> dict[str, Any]:
    """One engine's row: what it says of itself, the ids of the sample, and whether both are as they should be."""
    from tokassay.corpora.fetch import cache_dir
    from tokassay.engines.client import Host, HostFailure, Unsupported
    from tokassay.engines.environments import EnvironmentFault, interpreter
    from tokassay.harness.contract import GREEDY
    from tokassay.harness.known import encodings
    from tokassay.harness.load import as_greedy, load_vocabulary
    from tokassay.harness.materialize import materialize
    from tokassay.harness.variants import declared

    row: dict[str, Any] = {"engine": spec.name, "version": "", "python": "", "ok": False, "ids": [], "note": ""}
    try:
        with Host(spec, interpreter(spec)) as host:
            hello = host.hello()
            row.update(version=hello["version"], python=hello["python"], limits=hello["limits"])
            if spec.pinned and hello["version"] != spec.pinned:
                row["note"] = f"the roster pins {spec.pinned}"
                return row
            loaded = load_vocabulary("gpt2")
            if GREEDY in spec.algorithms:
                loaded = as_greedy(loaded, "gpt2")  # its tokens, which on the sample give the same ids
            if loaded.contract.algorithm not in spec.algorithms:
                row.update(ok=True, note="starts; has no byte-level BPE to try")
                return row
            contract = loaded.contract.with_variants(**declared(spec, loaded.contract))
            host.load(contract.to_json(), materialize(loaded, contract, cache_dir() / "vocab"))
            ids = host.encode([SAMPLE]).output.rows()[0]  # type: ignore[union-attr]
            right = list(next(one.sample for one in encodings() if one.name == "gpt2"))
            row.update(ids=ids, ok=ids == right, note="" if ids == right else f"should be {right}")
    except EnvironmentFault as error:
        row["note"] = f"{error}; {error.remedy}"
    except Unsupported as error:
        row.update(ok=True, note=f"starts; does not serve GPT-2: {error}")
    except HostFailure as error:
        row["note"] = f"{error.verdict}: {error.detail}"
    return row


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
    Console().print(table)
