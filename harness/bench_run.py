"""One run of `tokassay bench`: what is asked for, in which order it is measured, and the report's object."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from tokassay.engines.client import HostError, HostFailure
from tokassay.engines.environments import cache_root, installed
from tokassay.engines.roster import EngineSpec, load_roster
from tokassay.harness import ablation
from tokassay.harness.bench import (
    ENGINES,
    ENTRIES,
    PIECE,
    PLAIN,
    REFERENCES,
    STATES,
    WHOLE,
    Cell,
    Contestant,
    Opener,
    Reference,
    contestant,
    elsewhere,
    opener,
    run_cell,
)
from tokassay.harness.bench_growth import CRAFTED, run_growth
from tokassay.harness.bench_load import FIRST, run_load
from tokassay.harness.bench_report import SCHEMA, cell_json, means, measured
from tokassay.harness.bench_sweep import describe, points
from tokassay.harness.bench_threads import run_threads
from tokassay.harness.environment import capture
from tokassay.harness.errors import AGREED, NOTHING, InputError
from tokassay.harness.hosts import find_spec, nearest
from tokassay.harness.load import Loaded, load_vocabulary
from tokassay.harness.page_cache import drop
from tokassay.harness.texts import Half, entries_of, kinds, load_text, missing

VOCABULARIES = ("gpt2", "cl100k")
TEXTS = ("english", "verses", "code", "mixed", "cjk", "unique")
THREADS_TEXT, THREADS_BYTES = "code", 34_000_000
THREADED = ("batch-flat", WHOLE)
GROWTH_REPEAT = 3
CPU = 1
PROFILE = "dat-bpe[profile=true]"
Tick = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What is asked for; an empty tuple stands for the default. `size` is bytes of each half of a text."""

    vocabularies: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    repeat: int = 7
    cpu: int = CPU
    size: int = 8_000_000
    tables: bool = True
    load: bool = False
    growth: bool = False
    threads: bool = False
    ablation: bool = False
    sweep: bool = False
    switches: Path | None = None
    short: bool = False
    roster: tuple[Path, ...] = ()
    command: str = "tokassay bench"
    usable: tuple[int, ...] = ()  # processors


def run(plan: Plan, console: Console) -> dict[str, Any]:
    """Measure what the plan asks for; the report's object. Raises InputError before anything is measured."""
    begun = datetime.now(UTC)
    roster = load_roster(*plan.roster)
    plan = checked(plan)
    switches = ablation.switches(plan.switches) if plan.ablation else []
    if plan.sweep:
        who = points(roster)
    else:
        who = ablation.contestants(switches, roster) if plan.ablation else contestants(plan, roster, console)
    vocabularies = [load_vocabulary(name) for name in plan.vocabularies]
    reference = Reference(
        [contestant(name, roster) for name in REFERENCES], opener(roster), contestant(PIECE, roster),
        contestant(PLAIN, roster),
    )
    report: dict[str, Any] = {
        "schema": SCHEMA,
        "command": plan.command,
        "started": begun.isoformat(timespec="seconds"),
        "tokassay": version("tokassay"),
        "machine": {**capture(), "load_average": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None},
        "cpu": plan.cpu,
        "repeat": plan.repeat,
        "subject": who[0].label,
        "engines": [],
        "texts": [],
        "switches": [vars(one) for one in switches],
        "sweep": describe(who) if plan.sweep else None,
        "cells": [],
        "means": [],
        "load": [],
        "growth": [],
        "threads": [],
    }
    with alone(console), elsewhere([plan.cpu]), progress(console) as bar:
        report["engines"] = [about(one, vocabularies, opener(roster), refuse=True) for one in who]
        run_all(plan, roster, who, vocabularies, reference, report, bar)
    report["references"] = sorted(reference.sources)
    report["means"] = means(report["cells"], report["subject"])
    report["finished"] = datetime.now(UTC).isoformat(timespec="seconds")
    report["exit_code"] = AGREED if measured(report) else NOTHING
    return report


def checked(plan: Plan) -> Plan:
    """The plan with its defaults, every name known and every text at hand. Raises InputError."""
    texts = plan.texts or (*TEXTS, *(("short",) if plan.short else ()))
    known = kinds()
    for name in texts:
        if name not in known:
            raise InputError(f"no kind of text is called {name}", where="--text", remedy=nearest(name, known))
    for flag, words, allowed in (("--entry", plan.entries, ENTRIES), ("--state", plan.states, STATES)):
        for word in words:
            if word not in allowed:
                raise InputError(f"{word} is not known", where=flag, remedy=f"use {', '.join(allowed)}")
    entries = plan.entries or ((WHOLE,) if plan.sweep else ENTRIES)
    for name in plan.texts:
        measured_by = entries_of(name) or ENTRIES
        if not set(entries) & set(measured_by):
            raise InputError(
                f"{name} is measured by {', '.join(measured_by)} only", where="--entry",
                remedy=f"give one of these, or leave {name} out",
            )
    if plan.threads and not plan.tables and not set(entries) & set(THREADED):
        raise InputError(
            f"two threads are measured by {', '.join(THREADED)} only", where="--entry", remedy="give one of these"
        )
    needed = [*texts] if plan.tables or plan.ablation or plan.sweep else []
    needed += ["english"] * plan.load + [THREADS_TEXT] * plan.threads
    absent = missing(needed)
    if absent:
        raise InputError(
            f"{', '.join(absent)} {'is' if len(absent) == 1 else 'are'} not in the cache", where="--text",
            remedy=f"run: tokassay corpora fetch {' '.join(absent)}",
        )
    usable = processors()
    if plan.threads and len(usable) < 2:
        raise InputError("there is one processor only", where="--threads", remedy="run it where there are two")
    return replace(
        plan, texts=texts, usable=usable, vocabularies=plan.vocabularies or VOCABULARIES, entries=entries,
        states=plan.states or STATES[:2],
    )


def processors() -> tuple[int, ...]:
    """Those that this process may use; none where the platform does not tell."""
    return tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()


def processor(asked: int | None) -> int:
    """The processor to measure on: the one asked for, or, if none was, the usual one or the last. InputError."""
    usable = processors()
    if asked is None:
        return CPU if CPU in usable or not usable else usable[-1]
    if usable and asked not in usable:
        raise InputError(
            f"there is no processor {asked} for this process", where="--cpu",
            remedy=f"use {' or '.join(map(str, usable))}",
        )
    return asked


def contestants(plan: Plan, roster: Mapping[str, EngineSpec], console: Console) -> list[Contestant]:
    """Who takes part: those named, all of which must be installed, or the default ones that are."""
    if plan.engines:
        found = [contestant(name, roster) for name in plan.engines]
        absent = [one.spec.name for one in found if not installed(one.spec)]
        if absent:
            raise InputError(
                f"{absent[0]} is not installed", where="--engines", remedy=f"run: tokassay engines install {absent[0]}"
            )
        return found
    found = [Contestant(name, find_spec(name, roster)) for name in ENGINES]
    for one in found:
        if not installed(one.spec):
            console.print(
                f"[dim]note:[/] {one.label} is left out; run: tokassay engines install {one.label}", highlight=False
            )
    return [one for one in found if installed(one.spec)]


def about(
    who: Contestant, vocabularies: Sequence[Loaded], open_one: Opener, *, refuse: bool = False
) -> dict[str, Any]:
    """What the report says of an engine: its version by its own word, with the first vocabulary that it serves.

    With `refuse`, InputError where its loading fails, not for want of support, and it has options: they are wrong.
    """
    told = who.spec.pinned
    for loaded in vocabularies:
        try:
            with open_one(who, loaded) as host:
                told = str(host.hello()["version"])
            break
        except HostFailure as error:
            if refuse and who.options and isinstance(error, HostError):
                raise InputError(
                    f"cannot be loaded: {error}", where=who.label, remedy="correct its options, or leave them out"
                ) from error
    entries = {entry: who.spec.entry_points.get(entry.replace("-", "_"), "") for entry in ENTRIES}
    return {
        "engine": who.label, "version": told, "requirement": who.spec.requirement, "options": dict(who.options),
        "build": who.spec.build_digest(), "entries": entries,
    }


def run_all(
    plan: Plan,
    roster: Mapping[str, EngineSpec],
    who: Sequence[Contestant],
    vocabularies: Sequence[Loaded],
    reference: Reference,
    report: dict[str, Any],
    bar: Progress,
) -> None:
    """Every section that is asked for, in order, into the report."""
    pinned = opener(roster, cpus=[plan.cpu])
    cold = opener(roster, cpus=[plan.cpu], before_load=drop)
    if plan.tables or plan.ablation or plan.sweep:
        for name in plan.texts:
            text = load_text(name, plan.size)
            report["texts"].append(text.to_json())
            cells = [
                Cell(loaded, text, entry)
                for loaded in vocabularies
                for entry in plan.entries
                if not text.entries or entry in text.entries
            ]
            run_cells(plan, cells, who, pinned, reference, report, bar)
            reference.forget()
        report["cells"].sort(key=lambda cell: plan.vocabularies.index(cell["asked"]))
    if plan.ablation or plan.sweep:
        return
    for asked, loaded in zip(plan.vocabularies, vocabularies, strict=True):
        if plan.load:
            half = Half(load_text("english", 1_000_000).a.data[:FIRST])
            everybody = loaders(who, roster)
            for one in everybody:  # what an adapter makes of a vocabulary once and for all is made now
                about(one, [loaded], pinned)
            with task(bar, f"{asked}, load", 2 * plan.repeat * len(everybody)) as tick:
                rows = run_load(
                    loaded, half, everybody, open_one=pinned, open_cold=cold, reference=reference, repeat=plan.repeat,
                    tick=tick,
                )
            source = reference.source(loaded, half)
            report["load"] += [{"vocab": loaded.name, "reference": source, **row.to_json()} for row in rows]
        if plan.growth:
            steps = len(CRAFTED) * 2 * GROWTH_REPEAT * len(who)
            with task(bar, f"{asked}, growth", steps) as tick:
                grown = run_growth(
                    loaded, who, open_one=pinned, reference=reference, repeat=min(plan.repeat, GROWTH_REPEAT), tick=tick
                )
            report["growth"] += [{"vocab": loaded.name, **row.to_json()} for row in grown]
        if plan.threads:
            report["threads"] += threads(plan, asked, loaded, who, roster, reference, bar)
        reference.forget()


def loaders(who: Sequence[Contestant], roster: Mapping[str, EngineSpec]) -> list[Contestant]:
    """Who takes part, and besides: dat-bpe from a profile, first, and the references, which load the same thing."""
    names = {one.spec.name for one in who}
    opened = [contestant(PROFILE, roster)] if "dat-bpe" in names else []
    absent = [Contestant(name, roster[name]) for name in REFERENCES if name not in names and name in roster]
    return list({one.label: one for one in [*opened, *who, *absent]}.values())


def run_cells(
    plan: Plan,
    cells: Sequence[Cell],
    who: Sequence[Contestant],
    pinned: Opener,
    reference: Reference,
    report: dict[str, Any],
    bar: Progress,
) -> None:
    """Cells one after the other, each with its own line of progress."""
    asked = {load_vocabulary(name).name: name for name in plan.vocabularies}
    for cell in cells:
        what = f"{cell.loaded.name}, {cell.text.kind}, {cell.entry}"
        with task(bar, what, plan.repeat * len(who)) as tick:
            results = run_cell(
                cell, who, open_one=pinned, reference=reference, states=plan.states, repeat=plan.repeat, tick=tick
            )
        report["cells"] += [{**cell_json(result), "asked": asked[cell.loaded.name]} for result in results]


def threads(
    plan: Plan,
    asked: str,
    loaded: Loaded,
    who: Sequence[Contestant],
    roster: Mapping[str, EngineSpec],
    reference: Reference,
    bar: Progress,
) -> list[dict[str, Any]]:
    """Two threads beside two processes, for the whole text and for a batch of documents."""
    other = next(one for one in plan.usable if one != plan.cpu)
    cpus = (other, plan.cpu)
    text = load_text(THREADS_TEXT, THREADS_BYTES)
    found = []
    for entry in [one for one in THREADED if one in plan.entries]:
        cell = Cell(loaded, text, entry)
        with task(bar, f"{asked}, two threads, {entry}", plan.repeat * len(who)) as tick:
            rows = run_threads(
                cell, who, opener_on=lambda n, on: opener(roster, threads=n, cpus=on), reference=reference, cpus=cpus,
                repeat=plan.repeat, tick=tick,
            )
        found += [
            {"vocab": loaded.name, "text": text.kind, "bytes": len(text.a.data), **row.to_json()} for row in rows
        ]
    return found


@contextmanager
def alone(console: Console) -> Iterator[None]:
    """Wait until no other bench of this user measures on this machine: two at once would measure each other."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    path = cache_root() / "bench.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            console.print("[dim]note:[/] another bench is measuring; waiting for it", highlight=False)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def progress(console: Console) -> Iterator[Progress]:
    """A bar on standard error; where that is no terminal, a line as each part begins."""
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(bar_width=16), MofNCompleteColumn(),
        TextColumn("{task.fields[engine]}"), TimeElapsedColumn(),
        console=console, transient=True, disable=not console.is_terminal,
    )
    with bar:
        yield bar


@contextmanager
def task(bar: Progress, what: str, steps: int) -> Iterator[Tick]:
    """One line of progress: call what it gives with the engine's name before each step."""
    line = bar.add_task(what, total=steps, completed=0, engine="")
    if not bar.console.is_terminal:
        bar.console.print(f"[dim]measuring:[/] {what}", highlight=False)
    begun = False

    def tick(engine: str) -> None:
        nonlocal begun
        bar.update(line, engine=engine, advance=1 if begun else 0)
        begun = True

    try:
        yield tick
    finally:
        bar.remove_task(line)
