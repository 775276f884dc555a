"""`tokassay engines install`: the environment of one engine, or of all."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

UNAVAILABLE, ALREADY, MADE, FAILED = "unavailable", "already", "installed", "failed"


def install(
    name: Annotated[str | None, typer.Argument(help="NAME or NAME==VERSION.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Every engine of the roster, one after the other; a failure stops none.")
    ] = False,
    roster: Annotated[
        list[Path] | None, typer.Option("--roster", help="A roster file with engines from outside the tree.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Make the environment of one engine, at its pinned version or at another, or those of all.

    What is there is kept, so that --all goes on where it was interrupted. Why an engine could not be installed is kept
    too: an audit shows it. Exit code 5 if any could not.
    """
    from tokassay.engines.roster import load_roster
    from tokassay.harness.errors import InputError
    from tokassay.harness.hosts import find_spec

    engines = load_roster(*(roster or ()))
    if everything == (name is not None):
        raise InputError(
            "names one engine, or --all", where="tokassay engines install", remedy="see: tokassay engines list"
        )
    if name is not None:
        _one(find_spec(name, engines, where="tokassay engines install"), as_json)
        return
    _all(list(engines.values()), as_json)


def _one(spec: Any, as_json: bool) -> None:
    from rich.console import Console
    from tokassay.engines.environments import install as install_engine
    from tokassay.engines.environments import installed

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


def _all(specs: list[Any], as_json: bool) -> None:
    from rich.console import Console
    from tokassay.harness.errors import AGREED, INFRASTRUCTURE

    console = Console(stderr=True, markup=False, highlight=False)
    rows: list[dict[str, Any]] = []
    with console.status("") as status:
        for number, spec in enumerate(specs, 1):
            status.update(f"{number} of {len(specs)}: {spec.requirement}")
            row = attempt(spec)
            rows.append(row)
            told = f": {row['reason']}" if row["reason"] else ""
            console.print(f"{row['seconds']:7.1f} s  {row['engine']}  {row['outcome']}{told}", soft_wrap=True)
    failed = [row["engine"] for row in rows if row["outcome"] == FAILED]
    code = INFRASTRUCTURE if failed else AGREED
    seconds = round(sum(row["seconds"] for row in rows), 1)
    if as_json:
        print(json.dumps({"engines": rows, "seconds": seconds, "exit_code": code}))
    else:
        outcomes = [row["outcome"] for row in rows]
        counts = [f"{outcomes.count(word)} {word}" for word in (MADE, ALREADY, UNAVAILABLE, FAILED)]
        print(f"{len(rows)} engines: {', '.join(counts)}; {seconds:,.1f} s")
    raise typer.Exit(code)


def attempt(spec: Any) -> dict[str, Any]:
    """One engine of all: what came of it, the seconds it took, and why not where it failed or is unavailable."""
    from tokassay.engines.environments import EnvironmentFault, installed
    from tokassay.engines.environments import install as install_engine

    row = {"engine": spec.name, "requirement": spec.requirement, "outcome": ALREADY, "seconds": 0.0, "reason": ""}
    if spec.unavailable:
        return row | {"outcome": UNAVAILABLE, "reason": spec.unavailable}
    if installed(spec):
        return row
    begun = time.monotonic()
    try:
        install_engine(spec)
        row["outcome"] = MADE
    except EnvironmentFault as error:
        row |= {"outcome": FAILED, "reason": error.reason or str(error)}
    return row | {"seconds": round(time.monotonic() - begun, 1)}
