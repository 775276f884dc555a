"""The verdict of a run in one sentence, made from its counts; a hand-written conclusion would drift."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from tokassay.reports.cells import SumCheck, order
from tokassay.reports.words import (
    FAILING,
    OPERATIONS,
    VERDICTS,
    VERIFIED,
    counted,
    exit_meaning,
    failures,
    listed,
    number,
    tally,
)


@dataclass(frozen=True)
class Banner:
    """`kind` is agreed, mismatch, nothing, interrupted or broken; `notes` are what a reader must know besides."""

    kind: str
    headline: str
    sentence: str
    notes: list[str] = field(default_factory=list)


def totals(coverage: pd.DataFrame) -> dict[str, int]:
    """Verdict -> number of verdicts; every verdict is a key."""
    return {verdict: int(coverage[verdict].sum()) for verdict in VERDICTS}


def _only(coverage: pd.DataFrame, engine: str) -> str:
    """Where all of an engine's failures are, if they are not on text that every variant reads alike."""
    failing = coverage[(coverage["engine"] == engine) & (coverage[list(FAILING)].sum(axis=1) > 0)]
    places = {"bytes": ", all on ill-formed UTF-8", "unicode": ", all where Unicode versions differ"}
    return places.get(str(failing["domain"].iloc[0]), "") if failing["domain"].nunique() == 1 else ""


def banner(run: dict[str, Any], coverage: pd.DataFrame, corpora: pd.DataFrame, check: SumCheck) -> Banner:
    """Judge a run by its counts, and say where the run's own exit code or the sum check contradicts them."""
    counts = totals(coverage)
    failed = sum(counts[v] for v in FAILING)
    verified = sum(counts[v] for v in VERIFIED)
    by_engine = {str(name): totals(part) for name, part in coverage.groupby("engine", sort=True)}
    bad = {name: c for name, c in by_engine.items() if any(c[v] for v in FAILING)}
    good = [name for name, c in by_engine.items() if name not in bad and any(c[v] for v in VERIFIED)]
    scope = (
        f"{counted(int(corpora['documents'].sum()), 'document')} of {counted(len(corpora), 'corpus', 'corpora')} "
        f"under {listed(order(coverage['label'], ()))}"
    )
    operations = listed(order(coverage["operation"], OPERATIONS))
    notes = [] if check.ok else [check.sentence]
    if failed:
        who = listed([f"{name} ({failures(c)}{_only(coverage, name)})" for name, c in bad.items()])
        rest = f"; {listed(good)} agreed" if good else "; no engine agreed"
        kind, headline = "mismatch", "Mismatch" if counts["differ"] + counts["flaky"] else "An engine failed"
        sentence = f"{len(bad)} of {counted(len(by_engine), 'engine')} failed on {scope}: {who}{rest}."
    elif verified == 0:
        kind, headline = "nothing", "Nothing was verified"
        sentence = (
            f"Not one of {counted(sum(counts.values()), 'verdict')} is a match"
            + (f": {tally(counts)}" if sum(counts.values()) else "")
            + ". This is not a success."
        )
    else:
        kind, headline = "agreed", "All agreed"
        sentence = (
            f"{listed(good)} on {scope}, in {operations}: {tally(counts)}; "
            "no output was wrong, and nothing crashed, hung or was flaky."
        )
        idle = [name for name in by_engine if name not in good]
        if idle:
            notes.append(f"Nothing was verified of {listed(idle)}.")
    code = run["exit_code"]
    if run["finished"] is None:
        kind, headline = ("interrupted", "Not finished") if kind != "mismatch" else (kind, f"{headline}, not finished")
        notes.insert(0, "The run did not finish: the counts below are of the blocks it got to. Its command resumes it.")
    elif (code == 0) != (kind == "agreed") or (code == 1 and not failed):
        notes.append(f"The run recorded exit code {code} ({exit_meaning(code)}), which its verdicts do not bear out.")
    if not check.ok and run["finished"] is not None and kind == "agreed":
        kind, headline = "broken", "The counts do not add up"
        sentence = f"No conclusion: {number(check.counted)} verdicts were counted, {number(check.expected)} are due."
    return Banner(kind, headline, sentence, notes)
