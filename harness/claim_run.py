"""Run a claim again: correctness first, then the engine and the vendor's baselines in one bench, then the verdict."""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from tokassay.engines.environments import EnvironmentFault, cache_root, environment_of, install, installed
from tokassay.engines.roster import EngineSpec, load_roster
from tokassay.harness import bench_run
from tokassay.harness.bench_run import Plan
from tokassay.harness.claim_contracts import first_unlike
from tokassay.harness.claim_gate import prove, run_audit
from tokassay.harness.claim_texts import gather
from tokassay.harness.claim_verdict import SCHEMA, Evidence, judge, proofs
from tokassay.harness.claims import Claim, Here
from tokassay.harness.environment import capture
from tokassay.harness.errors import InputError
from tokassay.harness.hosts import find_spec
from tokassay.harness.load import load_vocabulary
from tokassay.harness.progress import Live

PACKAGE = "package:"
# What one more text may take of the time that the first one took: sizes are alike, machines are not.
MARGIN = 1.2


@dataclass(frozen=True)
class Options:
    """How a claim is run. `corpora` are the user's texts by name; None stands for what the claim's file says."""

    store: Path = Path("tokassay.sqlite")
    corpora: Mapping[str, str] = field(default_factory=dict)
    roster: tuple[Path, ...] = ()
    minutes: float | None = None
    repeat: int | None = None
    size: int | None = None
    texts: tuple[str, ...] = ()
    cpu: int | None = None
    offline: bool = False
    proof: str | None = None
    command: str = "tokassay claim run"

    def spelled(self, name: str) -> Options:
        """The same with the command line that runs one claim so."""
        words = ["tokassay", "claim", "run", name]
        words += [word for key, spec in self.corpora.items() for word in ("--corpus", f"{key}={spec}")]
        words += [word for text in self.texts for word in ("--text", text)]
        given = (("--minutes", self.minutes), ("--repeat", self.repeat), ("--cpu", self.cpu))
        words += [word for flag, value in given if value is not None for word in (flag, f"{value:g}")]
        words += ["--size", f"{self.size / 1e6:g}"] if self.size is not None else []
        words += ["--offline"] if self.offline else []
        words += ["--proof", self.proof] if self.proof is not None else []
        words += [word for path in self.roster for word in ("--roster", str(path))]
        return replace(self, command=shlex.join(words))


def run_claim(claim: Claim, options: Options, console: Console) -> dict[str, Any]:
    """The object that `claim run --json` prints. Raises InputError for what the user asked wrongly."""
    begun, started = time.monotonic(), datetime.now(UTC)
    evidence = Evidence(missing=claim.not_here, machine=machine(), corpora=tuple(options.corpora))
    here = asked(claim, options)
    if here is not None:
        claim = replace(claim, here=here)
        evidence = gathered(claim, here, options, console, begun)
    return {
        "schema": SCHEMA,
        "id": secrets.token_hex(6),
        "claim": claim.name,
        "started": started.isoformat(timespec="seconds"),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "tokassay": version("tokassay"),
        "command": options.command,
        "about": about(claim),
        **judge(claim, evidence),
        "audit": without(evidence.audit, "divergences"),
        "proofs": proofs(evidence),
        "texts": [
            {**text, "own": text["kind"] in (*options.corpora, *(here.texts if here else ()))}
            for report in evidence.reports for text in report["texts"]
        ],
        "absent": dict(evidence.absent),
        "engines": engines_of(evidence.reports),
        "contracts": {name: dict(value) for name, value in evidence.contracts.items()},
        "machine": dict(evidence.machine),
        "bench": list(evidence.reports),
    }


def asked(claim: Claim, options: Options) -> Here | None:
    """The claim's equivalent, with what the command line puts in its place."""
    if claim.here is None:
        return None
    given = {
        name: value for name, value in (
            ("minutes", options.minutes), ("repeat", options.repeat), ("size", options.size),
            ("proof", options.proof),
        ) if value is not None
    }
    here = replace(claim.here, **given)  # type: ignore[arg-type]
    if options.texts:
        for text in options.texts:
            if text not in claim.texts:
                raise InputError(f"{text} is no text of {claim.name}", where="--text",
                                 remedy=f"use {', '.join(claim.texts)}")
        here = replace(
            here, texts=tuple(one for one in here.texts if one in options.texts),
            left_out=tuple(one for one in here.left_out if one in options.texts),
        )
    return here


def machine() -> dict[str, Any]:
    """What the report says of the machine."""
    return {**capture(), "load_average": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None}


def without(values: Mapping[str, Any] | None, name: str) -> dict[str, Any] | None:
    """A copy that lacks one name; None of None."""
    return None if values is None else {key: value for key, value in values.items() if key != name}


def gathered(claim: Claim, here: Here, options: Options, console: Console, begun: float) -> Evidence:
    """Everything that a verdict needs, in order: engines, texts, vocabularies, gate, bench."""

    def say(text: str) -> None:
        console.print(f"[dim]{claim.name}:[/] {text}", highlight=False)

    roster = load_roster(*options.roster)
    known = Evidence(machine=machine(), corpora=tuple(options.corpora))
    if reason := installing(claim, roster, options.offline, say):
        return replace(known, missing=reason)
    texts = gather(claim, options.corpora, fetch=not options.offline, say=say)
    for name, reason in texts.absent.items():
        say(f"{name} is left out: {reason}")
    try:
        paths = {word: vocabulary(word, roster[here.engine]) for word in here.vocabularies}
        loaded = {word: load_vocabulary(path) for word, path in paths.items()}
    except InputError as error:
        return replace(known, missing=f"a vocabulary cannot be loaded: {error}; {error.remedy}")
    known = replace(
        known, absent=texts.absent, asked={word: one.name for word, one in loaded.items()},
        contracts={
            one.name: {"algorithm": one.contract.algorithm, "digest": one.contract.digest} for one in loaded.values()
        },
    )
    served = [paths[word] for word, one in loaded.items() if one.contract.algorithm in roster[here.engine].algorithms]
    say(f"auditing {here.engine}")
    with Live(console, len(here.audit) * len(served)) as live:
        known = replace(known, audit=run_audit(
            claim, served, store=options.store, roster=options.roster, jobs=len(os.sched_getaffinity(0)), progress=live,
        ))
    named = {paths[word]: one for word, one in loaded.items()}
    prove(claim, named, suite=here.proof, store=options.store, roster=options.roster, say=say)
    if here.computes:
        known = replace(known, other=first_unlike(here, roster))
    plan = plan_of(claim, here, tuple(paths.values()), options)
    try:
        reports, late = benched(plan, texts.names, here.minutes * 60 - (time.monotonic() - begun), console, say)
    except InputError as error:
        return replace(known, missing=f"it cannot be measured: {error}; {error.remedy}")
    if any(figure.kind == "load_ms" for figure in claim.figures):
        reports += loading(plan, console, say)
    return replace(known, reports=reports, absent={**known.absent, **late})


def installing(claim: Claim, roster: Mapping[str, EngineSpec], offline: bool, say: Callable[[str], None]) -> str:
    """Install what the claim needs; why the engine or a baseline cannot be, else ""."""
    for name in claim.engines:
        spec = find_spec(name.partition("[")[0], roster, where=f"claim {claim.name}")
        if installed(spec):
            continue
        if offline:
            return f"{name} is not installed; run: tokassay engines install {name}"
        say(f"installing {spec.requirement}")
        try:
            install(spec)
        except EnvironmentFault as error:
            return f"{name} cannot be installed here: {error}"
    return ""


def vocabulary(word: str, spec: EngineSpec) -> str:
    """A vocabulary's name or path: `package:FILE` is a copy of that file of the engine's own package. InputError.

    A copy, so that only the file that is named lies there: Crayon reads what lies beside it too.
    """
    if not word.startswith(PACKAGE):
        return word
    name = word.removeprefix(PACKAGE)
    environment = environment_of(spec).path
    for path in sorted(environment.rglob(name)):
        copy = cache_root() / "claims" / environment.name / name
        if not copy.is_file() or copy.read_bytes() != path.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        return str(copy)
    raise InputError(f"{spec.name} brings no {name}", where=word, remedy=f"run: tokassay engines install {spec.name}")


def plan_of(claim: Claim, here: Here, vocabularies: tuple[str, ...], options: Options) -> Plan:
    """What bench is asked for."""
    return Plan(
        vocabularies=vocabularies, entries=(here.entry,), engines=claim.engines, states=(here.state,),
        repeat=here.repeat, cpu=bench_run.processor(options.cpu), size=here.size, roster=options.roster,
        threads=(here.threads,), store=options.store, proof=here.proof,
        command=options.command,
    )


def benched(
    plan: Plan, names: Sequence[str], seconds: float, console: Console, say: Callable[[str], None]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Bench's reports, and the texts that there was no time for.

    The first text is measured by itself, to see how long one takes, then as many others as will fit.
    """
    begun = time.monotonic()
    reports = [bench_run.run(replace(plan, texts=tuple(names[:1])), console)]
    each = (time.monotonic() - begun) * MARGIN
    room = max(0, int((seconds - (time.monotonic() - begun)) / max(each, 1e-9)))
    rest = names[1 : 1 + room]
    late = dict.fromkeys(names[1 + room :], f"no time was left (a text takes {each:.0f} s here; --minutes)")
    for name, reason in late.items():
        say(f"{name} is left out: {reason}")
    if rest:
        reports.append(bench_run.run(replace(plan, texts=tuple(rest)), console))
    return reports, late


def loading(plan: Plan, console: Console, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Bench's report of loading; none where the text that it loads with is not here."""
    try:
        return [bench_run.run(replace(plan, texts=(), states=(), tables=False, load=True), console)]
    except InputError as error:
        say(f"loading is not measured: {error}")
        return []


def engines_of(reports: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every engine that took part, once."""
    found: dict[str, dict[str, Any]] = {}
    for report in reports:
        for engine in report["engines"]:
            found.setdefault(engine["engine"], dict(engine))
    return list(found.values())


def about(claim: Claim) -> dict[str, Any]:
    """What the claim's file states, as plain values; `differs` is how the equivalent differs."""
    here = claim.here
    return {
        "vendor": claim.vendor, "package": claim.package, "summary": claim.summary, "date": claim.date,
        "hardware": claim.hardware, "corpus": claim.corpus, "baseline": claim.baseline,
        "entry_point": claim.entry_point, "source": vars(claim.source), "further": [vars(one) for one in claim.further],
        "contradictions": list(claim.contradictions),
        "here": None if here is None else {
            "engine": here.engine, "baselines": [one for one in claim.engines if one != here.engine],
            "vocabularies": list(here.vocabularies), "texts": list(here.texts), "left_out": list(here.left_out),
            "entry": here.entry, "state": here.state, "threads": here.threads, "size": here.size,
            "repeat": here.repeat, "minutes": here.minutes, "differs": here.differs,
        },
    }
