"""`tokassay nightly`: everything that is done every night, in one command that goes on where it was killed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from tokassay.harness.commands.options import Json, Roster, print_json

app = typer.Typer()


@app.command()
def nightly(
    folder: Annotated[
        Path, typer.Option("--dir", help="The workspace: store, report, and a folder for each night.")
    ] = Path("nightly"),
    suite: Annotated[str, typer.Option(help="The audit's suite, or a TOML file.")] = "standard",
    engine: Annotated[list[str] | None, typer.Option(help="An engine, `installed`, or `all` (default).")] = None,
    vocab: Annotated[list[str] | None, typer.Option(help="A vocabulary in place of the suite's.")] = None,
    corpus: Annotated[list[str] | None, typer.Option(help="A corpus in place of the suite's.")] = None,
    roster: Roster = None,
    engine_minutes: Annotated[
        float, typer.Option(min=0.01, help="Time that one engine may work in the audit, and again against itself.")
    ] = 10.0,
    jobs: Annotated[int, typer.Option(min=0, help="Blocks at a time; 0: as many as there are processors.")] = 0,
    bench: Annotated[
        str | None, typer.Option(help="The words after `tokassay bench`; default --vocab gpt2 --text english --size 1.")
    ] = None,
    skip: Annotated[
        list[str] | None, typer.Option(help="Leave out a stage: fetch, install, self, bench or report; again for more.")
    ] = None,
    tolerance: Annotated[float, typer.Option(min=0.0, max=0.9, help="That of `tokassay gate`.")] = 0.05,
    night: Annotated[
        str | None, typer.Option(help="The night's name; default: the unfinished one, or a new one after today's date.")
    ] = None,
    accept: Annotated[
        str | None, typer.Option(help="Run nothing: make this night one that later ones are held to.")
    ] = None,
    github: Annotated[
        bool, typer.Option("--github", help="Print what the gate found as GitHub workflow commands, too.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Fetch, install, audit, self-difference, bench, gate and report; a killed night goes on where it stopped.

    The exit code is the worst of the stages', in the order 1, 5, 2, 3, 4, 0. Where there is a night to hold this one
    to, what the audit found counts only if the gate says that it is new.
    """
    import shlex

    from tokassay.corpora.open import check_spec
    from tokassay.engines.roster import load_roster
    from tokassay.harness.errors import AGREED, InputError, writing
    from tokassay.harness.hosts import find_spec
    from tokassay.harness.load import check_name
    from tokassay.harness.nightly import BENCH, NEEDED, STAGES, Nights, Plan, run, texts_of
    from tokassay.harness.suites import load_suite
    from tokassay.harness.texts import check_kind

    with writing(f"--dir {folder}", "name a folder that can be written"):
        folder.mkdir(parents=True, exist_ok=True)
    nights = Nights(folder)
    if accept is not None:
        told = nights.accept(accept)
        if as_json:
            print_json(told.to_json())
        else:
            typer.echo(f"night {told.id} is accepted: later ones are held to it")
        raise typer.Exit(AGREED)
    optional = [stage for stage in STAGES if stage not in NEEDED]
    for stage in skip or ():
        if stage not in optional:
            raise InputError(f"{stage} cannot be left out", where="--skip", remedy=f"use {', '.join(optional)}")
    load_suite(suite)  # told now, and not when everything was fetched
    listed = load_roster(*(roster or ()))
    for name in engine or ():
        if name not in ("all", "installed"):
            find_spec(name, listed, "--engine")
    for name in vocab or ():
        check_name(name)
    for spec in corpus or ():
        check_spec(spec)
    try:
        shlex.split(bench or "")
    except ValueError as error:
        raise InputError(f"cannot be read: {error}", where="--bench", remedy="close what is quoted") from None
    for kind in texts_of(bench or BENCH):
        check_kind(kind)
    plan = Plan(
        suite=absolute(suite), engines=tuple(engine or ("all",)), vocabularies=tuple(map(absolute, vocab or ())),
        corpora=tuple(map(absolute, corpus or ())), rosters=tuple(str(path.resolve()) for path in roster or ()),
        engine_minutes=engine_minutes, jobs=jobs, skip=tuple(dict.fromkeys(skip or ())), bench=bench or BENCH,
        tolerance=tolerance,
    )  # fmt: skip
    done = run(nights, nights.begin(plan, night), plan, lambda text: typer.echo(text, err=True))
    if github:
        show_commands(nights.home(done.id) / "gate.json")
    if as_json:
        print_json(done.to_json())
    else:
        for one in done.stages:
            count = "" if one.counts else "; the gate says what of it is new"
            typer.echo(f"{one.stage:8} {one.code}  {one.seconds:8.1f} s  {'; '.join(one.said[:3])}{count}")
        typer.echo(f"night {done.id}: exit code {done.exit_code}; {nights.home(done.id) / 'night.log'}")
    raise typer.Exit(done.exit_code or AGREED)


def show_commands(path: Path) -> None:
    """The gate's object of a file as workflow commands; nothing where there was no gate."""
    import json

    from tokassay.reports.annotations import workflow_commands

    if path.is_file() and (text := path.read_text(encoding="utf-8")):
        for line in workflow_commands(json.loads(text)):
            typer.echo(line)


def absolute(word: str) -> str:
    """A name as it is; a path (PATH or PATH@READER) from here, as the stages run in the workspace's folder."""
    path, at, reader = word.partition("@")
    return f"{Path(path).resolve()}{at}{reader}" if path and os.path.exists(path) else word
