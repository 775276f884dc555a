"""One run of `tokassay bench`: what is asked for, in which order it is measured, and the report's object."""

from __future__ import annotations

import os
import secrets
import shlex
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from tokassay.engines.client import HostError, HostFailure
from tokassay.engines.environments import OTHER, cache_root, installed
from tokassay.engines.roster import EngineSpec, load_roster
from tokassay.harness import ablation
from tokassay.harness.bench import (
    ALIASES,
    COLD,
    DECODE,
    ENGINES,
    ENTRIES,
    MORE_ENTRIES,
    PIECE,
    PLAIN,
    REFERENCES,
    STATES,
    THREADED,
    WARM,
    WHOLE,
    Barred,
    Cell,
    Contestant,
    Opener,
    Reference,
    contestant,
    elsewhere,
    op_of,
    opener,
    relabelled,
    run_cell,
)
from tokassay.harness.bench_growth import CRAFTED, run_growth
from tokassay.harness.bench_load import FIRST, run_load
from tokassay.harness.bench_memory import run_memory
from tokassay.harness.bench_rank import rankings
from tokassay.harness.bench_report import SCHEMA, cell_json, means, measured
from tokassay.harness.bench_sweep import describe, points
from tokassay.harness.bench_threads import run_threads
from tokassay.harness.environment import capture
from tokassay.harness.errors import AGREED, INFRASTRUCTURE, NOTHING, InputError
from tokassay.harness.hosts import ORACLE, find_spec, nearest, open_host
from tokassay.harness.load import Loaded, load_vocabulary
from tokassay.harness.page_cache import drop
from tokassay.harness.precision import Watch
from tokassay.harness.proof import LIGHT, Gate, build_of, versioned
from tokassay.harness.rates import VOID
from tokassay.harness.store import Store
from tokassay.harness.suites import Suite, load_suite
from tokassay.harness.texts import Half, Text, entries_of, kinds, load_corpus, load_text, missing

VOCABULARIES = ("gpt2", "cl100k")
TEXTS = ("english", "verses", "code", "mixed", "cjk", "unique")
THREADS_TEXT, THREADS_BYTES = "code", 34_000_000
SCALED = ("batch-flat", WHOLE)
GROWTH_REPEAT = 3
CPU = 1
PROFILE = "dat-bpe[profile=true]"
OURS = "this repository"  # the home of our own engines in the roster
Tick = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What is asked for; an empty tuple stands for the default. `size` is bytes of each half of a text.

    `threads` are numbers of threads, each with cells of its own; `scaling` is the section of two threads beside two
    processes. `proof` names the gate suite.
    """

    vocabularies: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    corpora: tuple[str, ...] = ()
    documents: tuple[int, ...] = ()
    entries: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    repeat: int = 7
    cpu: int = CPU
    size: int = 8_000_000
    tables: bool = True
    load: bool = False
    growth: bool = False
    threads: tuple[int, ...] = (1,)
    scaling: bool = False
    ablation: bool = False
    sweep: bool = False
    switches: Path | None = None
    short: bool = False
    roster: tuple[Path, ...] = ()
    command: str = "tokassay bench"
    usable: tuple[int, ...] = ()  # processors
    decode: bool = False
    domain: str = "neutral"
    seed: int = 0
    store: Path = Path("tokassay.sqlite")
    proof: str = LIGHT


def run(plan: Plan, console: Console) -> dict[str, Any]:
    """Measure what the plan asks for; the report's object, which is also in the store. Raises InputError before
    anything is measured."""
    begun = datetime.now(UTC)
    roster = load_roster(*plan.roster)
    plan = checked(plan)
    suite = load_suite(plan.proof, "--proof")
    switches = ablation.switches(plan.switches) if plan.ablation else []
    if plan.sweep:
        who = points(roster)
    else:
        who = ablation.contestants(switches, roster) if plan.ablation else contestants(plan, roster, console)
    vocabularies = [load_vocabulary(name) for name in plan.vocabularies]
    reference = Reference(
        [contestant(name, roster) for name in REFERENCES], opener(roster), contestant(PIECE, roster),
        contestant(PLAIN, roster),
        oracle=lambda loaded, contract: open_host(ORACLE, loaded, contract, roster=roster, cpu_limit=False),
    )
    report: dict[str, Any] = {
        "schema": SCHEMA,
        "id": secrets.token_hex(6),
        "command": plan.command,
        "started": begun.isoformat(timespec="seconds"),
        "tokassay": version("tokassay"),
        "machine": {**capture(), "load_average": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None},
        "cpu": plan.cpu,
        "repeat": plan.repeat,
        "order_seed": plan.seed,
        "subject": who[0].label,
        "warnings": [],
        "engines": [],
        "texts": [],
        "switches": [vars(one) for one in switches],
        "sweep": describe(who) if plan.sweep else None,
        "proofs": [],
        "cells": [],
        "ranking": [],
        "means": [],
        "load": [],
        "growth": [],
        "threads": [],
    }
    store = Store(plan.store)
    with closing(store), closing(Proofs(store, roster, suite, plan, report)) as proofs, alone(console):
        bench = Bench(plan, roster, who, vocabularies, reference, proofs, report)
        watch = Watch(processors_of(plan, max(plan.threads)))
        watch.start()
        with elsewhere([plan.cpu]), progress(console) as bar:
            report["engines"] = [about(one, vocabularies, opener(roster), refuse=True) for one in who]
            bench.all(bar)
        watch.stop()
        report["warnings"] = watch.warnings
        report["references"] = sorted(reference.sources)
        report["means"] = means(report["cells"], report["subject"])
        if not plan.ablation and not plan.sweep:
            report["ranking"] = rankings(report["cells"], [one.label for one in who if one.spec.home == OURS])
        report["finished"] = datetime.now(UTC).isoformat(timespec="seconds")
        report["exit_code"] = AGREED if measured(report) else NOTHING
        try:
            store.add_bench(report)
        except sqlite3.Error as error:  # a full disk, say: what took hours is shown all the same
            report["exit_code"] = INFRASTRUCTURE
            console.print(f"tokassay: {plan.store}: the run could not be kept ({error})", markup=False, highlight=False)
    return report


@dataclass
class Proofs:
    """The gate, as a bench asks it: each build once for an entry point, number of threads and domain."""

    store: Store
    roster: Mapping[str, EngineSpec]
    suite: Suite
    plan: Plan
    report: dict[str, Any]

    def __post_init__(self) -> None:
        more = [word for path in self.plan.roster for word in ("--roster", str(path))]
        self._gate = Gate(self.store, self.roster, self.suite, again=self._again, diff=more)
        self._more = more
        self._bars: dict[tuple[str, str, str, int, str], Barred | None] = {}

    def close(self) -> None:
        self._gate.close()

    def barred(
        self, who: Sequence[Contestant], asked: str, loaded: Loaded, entry: str, threads: int, domain: str,
        tick: Tick = lambda _: None,
    ) -> dict[str, Barred]:
        """Who may not be measured there, and why; the proofs are in the report."""
        found = {}
        for one in who:
            key = (one.label, loaded.contract.digest, entry, threads, domain)
            if key not in self._bars:
                (proof,) = self._gate.prove(one, asked, loaded, entry, threads, [domain], tick)
                self.report["proofs"].append(vars(proof))
                self._bars[key] = proof.bar()
            if (bar := self._bars[key]) is not None:
                found[one.label] = bar
        return found

    def _again(self, who: Contestant, entry: str, threads: int, vocab: str, domain: str) -> str:
        text = ["--text", "unique"] if domain == "neutral" else ["--corpus", "battery", "--domain", domain]
        return self.command(who, entry, threads, vocab, text)

    def command(self, who: Contestant, entry: str, threads: int, vocab: str, text: Sequence[str]) -> str:
        """The command line that measures one engine in one cell, once; `text` are its options that say on what."""
        options = ",".join(f"{name}={spelled(value)}" for name, value in who.options.items())
        name = versioned(who, self.roster)
        words = ["tokassay", "bench", "--engine", f"{name}[{options}]" if options else name, "--vocab", vocab, *text]
        words += ["--operation", "decode"] if entry == DECODE else ["--entry", entry]
        words += ["--threads", str(threads)] if threads > 1 else []
        return shlex.join([*words, "--repeat", "1", "--proof", self.plan.proof, *self._more])


def spelled(value: Any) -> str:
    """An option's value as the command line writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def processors_of(plan: Plan, count: int) -> list[int]:
    """`count` processors to keep an engine on: the one asked for, and then the others."""
    return [plan.cpu, *(one for one in plan.usable if one != plan.cpu)][:count]


def checked(plan: Plan) -> Plan:
    """The plan with its defaults, every name known and every text at hand. Raises InputError."""
    texts = plan.texts or (() if plan.corpora else (*TEXTS, *(("short",) if plan.short else ())))
    known = kinds()
    for name in texts:
        if name not in known:
            raise InputError(f"no kind of text is called {name}", where="--text", remedy=nearest(name, known))
    named = (*ENTRIES, *MORE_ENTRIES, *ALIASES)
    for flag, words, allowed in (("--entry", plan.entries, named), ("--state", plan.states, STATES)):
        for word in words:
            if word not in allowed:
                raise InputError(f"{word} is not known", where=flag, remedy=f"use {', '.join(allowed)}")
    entries = tuple(dict.fromkeys(ALIASES.get(one, one) for one in plan.entries)) or (
        (WHOLE,) if plan.sweep else (DECODE,) if plan.decode else ENTRIES
    )
    for name in plan.texts:
        measured_by = entries_of(name) or (*ENTRIES, *MORE_ENTRIES, DECODE)
        if not set(entries) & set(measured_by):
            raise InputError(
                f"{name} is measured by {', '.join(measured_by)} only", where="--entry",
                remedy=f"give one of these, or leave {name} out",
            )
    if plan.scaling and not plan.tables and not set(entries) & set(SCALED):
        raise InputError(
            f"two threads are measured by {', '.join(SCALED)} only", where="--entry", remedy="give one of these"
        )
    if max(plan.threads) > 1 and not set(entries) & set(THREADED):
        raise InputError(
            f"several threads are measured by {', '.join(THREADED)} only", where="--threads",
            remedy="give one of these with --entry",
        )
    needed = [*texts] if plan.tables or plan.ablation or plan.sweep else []
    needed += ["english"] * plan.load + [THREADS_TEXT] * plan.scaling
    absent = missing(needed)
    if absent:
        raise InputError(
            f"{', '.join(absent)} {'is' if len(absent) == 1 else 'are'} not in the cache", where="--text",
            remedy=f"run: tokassay corpora fetch {' '.join(absent)}",
        )
    usable = processors()
    most = max(*plan.threads, 2 if plan.scaling else 1)
    if most > 1 and len(usable) < most:
        there = "is one processor" if len(usable) < 2 else f"are {len(usable)} processors"
        raise InputError(f"there {there} only", where="--threads", remedy=f"run it where there are {most}")
    return replace(
        plan, texts=texts, usable=usable, vocabularies=plan.vocabularies or VOCABULARIES, entries=entries,
        states=plan.states or (COLD, WARM),
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
        found = relabelled([contestant(name, roster) for name in plan.engines])
        for one in found:
            if one.spec.unavailable:
                raise InputError(f"{one.label} is unavailable: {one.spec.unavailable}", where="--engines", remedy=OTHER)
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
    entries = {entry: who.spec.entry_points.get(op_of(entry), "") for entry in (*ENTRIES, *MORE_ENTRIES, DECODE)}
    return {
        "engine": who.label, "version": told, "requirement": who.spec.requirement, "options": dict(who.options),
        "build": build_of(who), "entries": entries,
    }


def loaders(who: Sequence[Contestant], roster: Mapping[str, EngineSpec]) -> list[Contestant]:
    """Who takes part, and besides: dat-bpe from a profile, first, and the references, which load the same thing."""
    names = {one.spec.name for one in who}
    opened = [contestant(PROFILE, roster)] if "dat-bpe" in names else []
    absent = [Contestant(name, roster[name]) for name in REFERENCES if name not in names and name in roster]
    return list({one.label: one for one in [*opened, *who, *absent]}.values())


@dataclass
class Bench:
    """One run: what takes part, and the report that each section writes into."""

    plan: Plan
    roster: Mapping[str, EngineSpec]
    who: Sequence[Contestant]
    vocabularies: Sequence[Loaded]
    reference: Reference
    proofs: Proofs
    report: dict[str, Any]

    def all(self, bar: Progress) -> None:
        """Every section that is asked for, in order."""
        plan, report = self.plan, self.report
        if plan.tables or plan.ablation or plan.sweep:
            for text in self.texts():
                report["texts"].append(text.to_json())
                self.cells(text, bar)
                self.reference.forget()
            report["cells"].sort(key=lambda cell: plan.vocabularies.index(cell["asked"]))
        if plan.ablation or plan.sweep:
            return
        for asked, loaded in zip(plan.vocabularies, self.vocabularies, strict=True):
            if plan.load:
                self.load(asked, loaded, bar)
            if plan.growth:
                self.growth(asked, loaded, bar)
            if plan.scaling:
                self.scaling(asked, loaded, bar)
            self.reference.forget()

    def texts(self) -> Iterator[Text]:
        """The texts that are asked for, one after the other."""
        plan = self.plan
        found = [partial(load_text, name, plan.size) for name in plan.texts]
        found += [partial(load_corpus, spec, plan.size, domain=plan.domain) for spec in plan.corpora]
        for load in found:
            text = load()
            yield from (text.cut_to(size) for size in plan.documents) if plan.documents else [text]

    def cells(self, text: Text, bar: Progress) -> None:
        """All cells of one text, each with its own line of progress."""
        plan = self.plan
        for asked, loaded in zip(plan.vocabularies, self.vocabularies, strict=True):
            for entry in plan.entries:
                if text.entries and entry not in text.entries:
                    continue
                for threads in [n for n in plan.threads if n == 1 or entry in THREADED]:
                    self.cell(asked, Cell(loaded, text, entry, threads), bar)

    def cell(self, asked: str, cell: Cell, bar: Progress) -> None:
        """One cell: the proofs, the timed rounds, and the pass for memory."""
        plan, who = self.plan, self.who
        pinned = opener(self.roster, threads=cell.threads, cpus=processors_of(plan, cell.threads))
        barred = self.barred(asked, cell.loaded, cell.entry, bar, cell.threads, cell.text.domain)
        with task(bar, cell.name, (plan.repeat + 1) * len(who)) as tick:
            results = run_cell(
                cell, who, open_one=pinned, reference=self.reference, states=plan.states, repeat=plan.repeat,
                seed=plan.seed, barred=barred, tick=tick,
            )
            if plan.tables:
                run_memory(results, who, open_one=pinned, reference=self.reference, tick=tick)
        for result in results:
            for row, one in zip(result.rows, who, strict=True):
                row.proved = "" if row.engine in barred else cell.text.domain
                if row.verdict == VOID and not row.command:
                    on = [*self.on(cell.text), "--state", result.state]
                    row.command = self.proofs.command(one, cell.entry, cell.threads, asked, on)
            self.report["cells"].append({**cell_json(result), "asked": asked})

    def on(self, text: Text) -> list[str]:
        """The options that say which text it is."""
        kind, size = text.kind, [f"{self.plan.size / 1e6:g}"]
        cut = ["--document", str(text.a.document)] if self.plan.documents else []
        kind = kind.removesuffix(f"/{text.a.document}") if cut else kind
        domain = ["--domain", text.domain] if text.domain != "neutral" else []
        return ["--corpus" if kind in self.plan.corpora else "--text", kind, *domain, *cut, "--size", *size]

    def barred(
        self, asked: str, loaded: Loaded, entry: str, bar: Progress, threads: int = 1, domain: str = "neutral",
        who: Sequence[Contestant] = (),
    ) -> dict[str, Barred]:  # fmt: skip
        """Who has no speed there, by the gate suite."""
        who = who or self.who
        with task(bar, f"{asked}, {entry}: the gate suite", len(who)) as tick:
            return self.proofs.barred(who, asked, loaded, entry, threads, domain, tick)

    def load(self, asked: str, loaded: Loaded, bar: Progress) -> None:
        """Loading, cold and warm, and the first hundred bytes."""
        plan, pinned = self.plan, opener(self.roster, cpus=[self.plan.cpu])
        cold = opener(self.roster, cpus=[plan.cpu], before_load=drop)
        half = Half(load_text("english", 1_000_000).a.data[:FIRST])
        everybody = loaders(self.who, self.roster)
        for one in everybody:  # what an adapter makes of a vocabulary once and for all is made now
            about(one, [loaded], pinned)
        barred = self.barred(asked, loaded, WHOLE, bar, who=everybody)
        with task(bar, f"{asked}, load", 2 * plan.repeat * len(everybody)) as tick:
            rows = run_load(
                loaded, half, everybody, open_one=pinned, open_cold=cold, reference=self.reference, repeat=plan.repeat,
                barred=barred, tick=tick,
            )
        source = self.reference.source(loaded, half)
        self.report["load"] += [{"vocab": loaded.name, "reference": source, **row.to_json()} for row in rows]

    def growth(self, asked: str, loaded: Loaded, bar: Progress) -> None:
        """Crafted texts at two sizes."""
        plan, who = self.plan, self.who
        barred = self.barred(asked, loaded, WHOLE, bar)
        with task(bar, f"{asked}, growth", len(CRAFTED) * 2 * GROWTH_REPEAT * len(who)) as tick:
            grown = run_growth(
                loaded, who, open_one=opener(self.roster, cpus=[plan.cpu]), reference=self.reference,
                repeat=min(plan.repeat, GROWTH_REPEAT), barred=barred, tick=tick,
            )
        self.report["growth"] += [{"vocab": loaded.name, **row.to_json()} for row in grown]

    def scaling(self, asked: str, loaded: Loaded, bar: Progress) -> None:
        """Two threads beside two processes, for the whole text and for a batch of documents."""
        plan, who = self.plan, self.who
        other = next(one for one in plan.usable if one != plan.cpu)
        text = load_text(THREADS_TEXT, THREADS_BYTES)
        for entry in [one for one in SCALED if one in plan.entries]:
            barred = {
                **self.barred(asked, loaded, entry, bar, threads=2), **self.barred(asked, loaded, entry, bar)
            }
            with task(bar, f"{asked}, two threads, {entry}", plan.repeat * len(who)) as tick:
                rows = run_threads(
                    Cell(loaded, text, entry), who,
                    opener_on=lambda n, on: opener(self.roster, threads=n, cpus=on), reference=self.reference,
                    cpus=(other, plan.cpu), repeat=plan.repeat, barred=barred, tick=tick,
                )
            self.report["threads"] += [
                {"vocab": loaded.name, "text": text.kind, "bytes": len(text.a.data), **row.to_json()} for row in rows
            ]


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
