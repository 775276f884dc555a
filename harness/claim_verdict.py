"""The verdict on a claim: a pure function of the claim, of what bench reported, and of what the audit found.

Nothing is run here. The rules, in order:

1. Ids first. Where a document of the gate or of a text shows other ids than the contract's, in the domain of the
   figures, there is no speed, and the claim is *void*. Where the engine computes another contract than its baseline, a
   ratio of the two is void too: they do not do the same work.
2. A figure that needs a machine or a text that is not here is *not verifiable*; what was measured stands beside it.
3. A figure is reached on a text if the whole interval of what was measured lies above TOLERANCE of it, and missed if
   the whole interval lies below; else the two are not to be told apart.
4. *Supported*: reached on every text. *Supported in part*: on some, which are named. *Not supported*: on none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tokassay.harness.claims import LESS_IS_MORE, Claim, Figure
from tokassay.harness.errors import AGREED, MISMATCH, NOTHING
from tokassay.harness.resample import ratio_interval

SCHEMA = "tokassay.claim/1"
SUPPORTED, PART, NOT, UNVERIFIABLE, VOID = VERDICTS = (
    "supported", "supported in part", "not supported", "not verifiable", "void",
)
REACHED, MISSED, UNRESOLVED, DIFFERS, UNMEASURED = "reached", "missed", "unresolved", "void", "unmeasured"
FELL = ("crash", "timeout", "oom", "error", "flaky")  # the engine was asked, and failed
UNJUDGED = "unjudged"  # measured, and shown beside a figure of another machine
# A figure of another machine is reached by nine tenths of it: less than that is within what processors differ by.
TOLERANCE = 0.9
EXACT = "exact"
NEUTRAL = "neutral"
CODES = {SUPPORTED: AGREED, UNVERIFIABLE: NOTHING}


@dataclass(frozen=True)
class Evidence:
    """What was found. `reports` are bench's objects; `audit` what the engine did in the audit: `passed`, `documents`,
    `failed`, `command`, `divergences` (each with its `domain`), or None; `absent` texts and why they were left out;
    `machine` bench's; `contracts` each vocabulary's digest and algorithm by its name in the report, `asked` that name
    by the word of the claim; `other` the first divergence of the two contracts of `computes`; `missing` why nothing
    was run; `corpora` the names of texts that the user gave."""

    reports: Sequence[Mapping[str, Any]] = ()
    audit: Mapping[str, Any] | None = None
    absent: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    contracts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    asked: Mapping[str, str] = field(default_factory=dict)
    other: Mapping[str, Any] | None = None
    missing: str = ""
    corpora: tuple[str, ...] = ()


def judge(claim: Claim, evidence: Evidence) -> dict[str, Any]:
    """`verdict`, `sentence`, `why`, `figures` (each with its cells) and `divergences`, as plain values."""
    divergences = list(found_divergences(claim, evidence))
    figures = [judge_figure(claim, figure, evidence, divergences) for figure in claim.figures]
    verdict = overall([figure["verdict"] for figure in figures])
    return {
        "verdict": verdict,
        "sentence": sentence(verdict, figures),
        "figures": figures,
        "divergences": divergences,
    }


def overall(verdicts: Sequence[str]) -> str:
    """One verdict of many: void if any is; supported only if all are."""
    if VOID in verdicts:
        return VOID
    judged = [one for one in verdicts if one != UNVERIFIABLE]
    if not judged:
        return UNVERIFIABLE
    if all(one == SUPPORTED for one in verdicts):
        return SUPPORTED
    return NOT if all(one == NOT for one in judged) else PART


def exit_code(verdicts: Sequence[str]) -> int:
    """Of one run or of many: 1 where a claim is not borne out as it stands, 0 where one is supported, else 4."""
    codes = {CODES.get(one, MISMATCH) for one in verdicts}
    return next((code for code in (MISMATCH, AGREED) if code in codes), NOTHING)


# -- divergences ------------------------------------------------------------------------------------------


def found_divergences(claim: Claim, evidence: Evidence) -> Iterator[dict[str, Any]]:
    """Of the gate, of the texts, of the audit, of contracts; those that void a figure are marked `voids`."""
    if claim.here is None:
        return
    engine = claim.here.engine
    barred = set()
    for proof in proofs(evidence):
        # What an entry point does not serve at all is no wrong id.
        if proof["engine"] == engine and not proof["passed"] and set(proof["verdicts"]) - {"unsupported", "unverified"}:
            barred.add((proof["vocab"], proof["entry"]))
            yield {
                "where": f"gate suite, {proof['entry']}", "vocabulary": base(proof["vocab"]), "domain": proof["domain"],
                "voids": proof["domain"] == NEUTRAL, "explanation": proof["detail"], "command": proof["command"],
            }
    for cell, row in rows_of(evidence.reports, engine):
        if row["verdict"] == VOID and (cell["asked"], cell["entry"]) not in barred:
            yield {
                "where": f"text {cell['text']}, {cell['entry']}, {cell['state']}", "vocabulary": cell["vocab"],
                "domain": NEUTRAL, "voids": True, "explanation": f"{engine}: {row['detail']}",
                "command": row["command"],
            }
    of_audit = list((evidence.audit or {}).get("divergences", ()))
    for one in sorted(of_audit, key=lambda found: found["domain"] != NEUTRAL):
        yield {**one, "voids": one["domain"] == NEUTRAL}
    if evidence.other is not None:
        yield {**evidence.other, "voids": False}


def proofs(evidence: Evidence) -> list[Mapping[str, Any]]:
    """What bench proved of every engine on the gate suite, each once."""
    found = {
        (one["engine"], one["vocab"], one["entry"], one.get("threads", 1), one["domain"]): one
        for report in evidence.reports for one in report.get("proofs", ())
    }
    return list(found.values())


def base(path: str) -> str:
    """The name of a file, without its folders."""
    return path.rpartition("/")[2]


def rows_of(reports: Sequence[Mapping[str, Any]], engine: str) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """(cell, row) of an engine in every report."""
    for report in reports:
        for cell in report["cells"]:
            for row in cell["engines"]:
                if row["engine"] == engine:
                    yield cell, row


# -- one figure -------------------------------------------------------------------------------------------


def judge_figure(
    claim: Claim, figure: Figure, evidence: Evidence, divergences: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The figure's row: its verdict, why, and its cells."""
    cells = list(cells_of(claim, figure, evidence))
    if figure.kind != "load_ms" and (differing(cells) is not None or any(one["voids"] for one in divergences)):
        cells = [void(cell) for cell in cells]
    elif unmet(figure, evidence) or unlike_contracts(claim, figure, evidence):
        cells = [{**cell, "outcome": UNJUDGED} if cell["measured"] else cell for cell in cells]
    verdict, why = _verdict(claim, figure, evidence, divergences, cells)
    claimed = {"value": figure.value, "low": figure.low, "high": figure.high}
    return {
        "name": figure.name, "says": figure.says, "kind": figure.kind, "unit": figure.unit, "claimed": claimed,
        "against": figure.against or None, "cores": figure.cores or None, "per_core": figure.per_core,
        "parts": list(figure.parts) or None, "verdict": verdict, "why": why, "cells": cells,
    }


def differing(cells: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The first text on which the figure's engine has other ids; None where there is none."""
    return next((cell for cell in cells if str(cell["detail"]).startswith(f"{DIFFERS}: ")), None)


def void(cell: dict[str, Any]) -> dict[str, Any]:
    """The cell without its speed: there is none where the engine's ids are wrong on a neutral document."""
    if cell["measured"] is None:
        return cell
    blank = dict.fromkeys(("measured", "engine_mb_s", "baseline_mb_s", "share", "share_per_core"))
    return {**cell, **blank, "outcome": DIFFERS, "detail": "no speed: the engine's ids are wrong elsewhere"}


def _verdict(
    claim: Claim, figure: Figure, evidence: Evidence, divergences: Sequence[Mapping[str, Any]],
    cells: Sequence[Mapping[str, Any]],
) -> tuple[str, str]:
    if reason := figure.not_here or claim.not_here or evidence.missing:
        return UNVERIFIABLE, reason
    if figure.kind != "load_ms":
        first = next((one for one in divergences if one["voids"]), None)
        if first is not None:
            return VOID, f"ids differ: {first['explanation']} ({first['where']})"
        if (wrong := differing(cells)) is not None:  # of a figure whose engine is not the claim's
            return VOID, f"ids differ on {wrong['text']}: {wrong['detail'].removeprefix(f'{DIFFERS}: ')}"
    if reason := unlike_contracts(claim, figure, evidence):
        return VOID, reason
    if reason := unmet(figure, evidence):
        return UNVERIFIABLE, reason
    return weigh(figure, cells)


def weigh(figure: Figure, cells: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """A figure's verdict and why, of its cells alone."""
    by = {
        outcome: [str(cell["text"]) for cell in cells if cell["outcome"] == outcome]
        for outcome in (REACHED, MISSED, UNRESOLVED, UNMEASURED)
    }
    reached, missed, unresolved = by[REACHED], by[MISSED], by[UNRESOLVED]
    fell = [str(cell["text"]) for cell in cells if str(cell["detail"]).startswith(FELL)]
    if not reached and not missed:
        if unresolved:
            return UNVERIFIABLE, f"not resolvable: the interval holds the figure on {listed(unresolved)}"
        reasons = dict.fromkeys(str(cell["detail"]) for cell in cells if cell["detail"])
        return UNVERIFIABLE, "; ".join(reasons) or "nothing was measured"
    best = max((cell["measured"]["high"] for cell in cells if cell["measured"]), default=0.0)
    rest = [f"not reached on {listed(missed)}"] * bool(missed)
    rest += [f"not resolvable on {listed(unresolved)}"] * bool(unresolved)
    if not reached:
        return NOT, "; ".join(rest)
    rest += [f"no answer on {listed(fell)}"] * bool(fell)
    late = [text for text in by[UNMEASURED] if text not in fell]
    rest += [f"not measured on {listed(late)}"] * bool(late)
    own_missing = not any(cell["own"] for cell in cells if cell["outcome"] != UNMEASURED)
    if not missed and not unresolved and not fell and not own_missing:
        if figure.top is not None and figure.kind not in LESS_IS_MORE and best < TOLERANCE * figure.top:
            return PART, f"the lower end on {listed(reached)}; the upper end on none"
        return SUPPORTED, f"reached on {listed(reached)}" + (f"; {rest[-1]}" if late else "")
    return PART, "; ".join([f"supported on {listed(reached)} only", *rest])


def unmet(figure: Figure, evidence: Evidence) -> str:
    """What the figure needs and this machine has not; "" where it has all."""
    needs, machine, reasons = figure.needs, evidence.machine, []
    cores, cpu = int(machine.get("cores", 0)), str(machine.get("cpu", ""))
    if needs.cores > cores:
        reasons.append(f"it is of {needs.cores} cores, and this machine has {cores}")
    if needs.cpu and needs.cpu.lower() not in cpu.lower():
        reasons.append(f"it is of another processor ({needs.cpu})")
    if needs.corpus and needs.corpus not in evidence.corpora:
        reasons.append(f"its text is not at hand (--corpus {needs.corpus}=PATH)")
    return "; ".join([*reasons, *filter(None, [needs.other])])


def unlike_contracts(claim: Claim, figure: Figure, evidence: Evidence) -> str:
    """Why the two sides of a ratio do not do the same work; "" where they do."""
    if figure.kind != "ratio" or claim.here is None:
        return ""
    own, theirs = vocabularies(claim, figure)
    mine = evidence.contracts.get(evidence.asked.get(own, own))
    other = evidence.contracts.get(evidence.asked.get(theirs, theirs))
    if mine is None or other is None or mine["digest"] == other["digest"]:
        return ""
    said = (
        f"other ids: {figure.engine or claim.here.engine} computes {mine['algorithm']} (contract {mine['digest']}), "
        f"{figure.against} {other['algorithm']} (contract {other['digest']}); ids a second are no common unit"
    )
    found = evidence.other
    return said + (f"; first divergence: {found['explanation']}" if found is not None else "")


def vocabularies(claim: Claim, figure: Figure) -> tuple[str, str]:
    """The words for the engine's vocabulary and the baseline's."""
    first = claim.here.vocabularies[0] if claim.here else ""
    own = figure.vocabulary or first
    return own, figure.baseline_vocabulary or own


# -- what was measured ------------------------------------------------------------------------------------


def cells_of(claim: Claim, figure: Figure, evidence: Evidence) -> Iterator[dict[str, Any]]:
    """One row a text: what was measured, what it is of the claimed figure, and what that comes to."""
    if claim.here is None or figure.kind == "other" or figure.not_here or evidence.missing:
        return
    own, theirs = (evidence.asked.get(word, word) for word in vocabularies(claim, figure))
    engine = figure.engine or claim.here.engine
    if figure.kind == "load_ms":
        yield _row(figure, "load", True, own, *_loaded(evidence, engine, own))
        return
    for text in (*evidence.corpora, *(figure.texts or claim.texts)):
        is_own = text in evidence.corpora or text in claim.here.texts
        if text in evidence.absent:
            yield _row(figure, text, is_own, own, None, f"left out: {evidence.absent[text]}")
            continue
        yield _row(figure, text, is_own, own, *_measured(figure, evidence, engine, text, own, theirs))


def _row(
    figure: Figure, text: str, own: bool, vocabulary: str, measured: dict[str, Any] | None, detail: str
) -> dict[str, Any]:
    floor = figure.floor or 0.0
    void = detail.startswith(f"{DIFFERS}: ")
    outcome = outcome_of(figure, measured) if measured else DIFFERS if void else UNMEASURED
    share = float(f"{measured['median'] / floor:.4g}") if measured and floor else None
    per_core = figure.per_core if measured and figure.per_core is not None else None
    return {
        "text": text, "own": own, "vocabulary": vocabulary, "outcome": outcome, "detail": detail,
        "measured": {name: measured[name] for name in ("median", "low", "high", "spread")} if measured else None,
        "engine_mb_s": measured.get("engine_mb_s") if measured else None,
        "baseline_mb_s": measured.get("baseline_mb_s") if measured else None,
        "share": share,
        "share_per_core": float(f"{measured['median'] / per_core:.4g}") if measured and per_core else None,
    }


def outcome_of(figure: Figure, measured: Mapping[str, Any]) -> str:
    """Reached, missed, or not to be told apart."""
    floor = figure.floor or 0.0
    if figure.kind in LESS_IS_MORE:
        most = floor / TOLERANCE
        return REACHED if measured["high"] <= most else MISSED if measured["low"] > most else UNRESOLVED
    least = floor * TOLERANCE
    return REACHED if measured["low"] >= least else MISSED if measured["high"] < least else UNRESOLVED


def _loaded(evidence: Evidence, engine: str, vocabulary: str) -> tuple[dict[str, Any] | None, str]:
    for report in evidence.reports:
        for row in report.get("load", ()):
            if (row["engine"], row["vocab"], row["state"]) == (engine, vocabulary, "warm"):
                if row["ms"]:
                    return interval(row["ms"]), ""
                return None, f"{row['verdict']}: {row['detail']}"
    return None, "loading was not measured"


def interval(figure: Mapping[str, Any]) -> dict[str, Any]:
    """Median with bench's interval, or with least and greatest where it gives none."""
    between = figure.get("low") is not None and figure.get("high") is not None
    low, high = (figure["low"], figure["high"]) if between else (figure["min"], figure["max"])
    return {
        "median": figure["median"], "low": low, "high": high,
        "spread": "interval" if between else "least and greatest",
    }


def _measured(
    figure: Figure, evidence: Evidence, engine: str, text: str, own: str, theirs: str
) -> tuple[dict[str, Any] | None, str]:
    """What was measured on one text, or None and why."""
    cell, row = _find(evidence, engine, text, own)
    if row is None:
        return None, f"{text} was not measured"
    if not row["mb_s"]:
        return None, f"{row['verdict']}: {row['detail']}" if row["verdict"] != EXACT else "no speed"
    speed = interval(row["mb_s"])
    if figure.kind == "mb_s":
        return {**speed, "engine_mb_s": speed["median"]}, ""
    if figure.kind == "ids_s":
        each = cell["tokens"] / cell["bytes"]
        scaled = {name: float(f"{speed[name] * each:.5g}") for name in ("median", "low", "high")}
        return {**scaled, "spread": speed["spread"], "engine_mb_s": speed["median"]}, ""
    other_cell, base = _find(evidence, figure.against, text, theirs)
    if base is None or not base["mb_s"]:
        said = f"{base['verdict']}: {base['detail']}" if base is not None else "not measured"
        return None, f"the baseline {figure.against}: {said}"
    found = ratio(row, base) if other_cell is cell else apart(row["mb_s"], base["mb_s"])
    return {**found, "engine_mb_s": speed["median"], "baseline_mb_s": base["mb_s"]["median"]}, ""


def _find(
    evidence: Evidence, engine: str, text: str, vocabulary: str
) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
    for cell, row in rows_of(evidence.reports, engine):
        if (cell["text"], cell["vocab"]) == (text, vocabulary):
            return cell, row
    return {}, None


def ratio(row: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """The baseline's CPU time over the engine's, paired by round, with bench's interval: its own row's where that is of
    these two, else made as bench makes it."""
    told = row.get("ratio")
    if told and row.get("ratio_to") == base["engine"] and told.get("low") is not None:
        return interval(told)
    pairs = [max(theirs, 1) / max(mine, 1) for theirs, mine in zip(base["cpu_ns"], row["cpu_ns"], strict=False)]
    return interval(ratio_interval(pairs).to_json())


def apart(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Of two cells that were not measured in the same rounds: one's lower bound over the other's upper, and the other
    way."""
    a, b = interval(mine), interval(theirs)
    values = (a["median"] / b["median"], a["low"] / b["high"], a["high"] / b["low"])
    middle, low, high = (float(f"{one:.5g}") for one in values)
    return {"median": middle, "low": low, "high": high, "spread": f"{a['spread']}, not paired"}


# -- words ------------------------------------------------------------------------------------------------


def listed(words: Sequence[str]) -> str:
    """a, b and c."""
    unique = list(dict.fromkeys(words))
    return unique[0] if len(unique) == 1 else f"{', '.join(unique[:-1])} and {unique[-1]}" if unique else "nothing"


def sentence(verdict: str, figures: Sequence[Mapping[str, Any]]) -> str:
    """The verdict in a few sentences, made from the figures; why, where that is one for all that share it."""
    parts = []
    for one in (VOID, SUPPORTED, PART, NOT, UNVERIFIABLE):
        alike = [figure for figure in figures if figure["verdict"] == one]
        whys = list(dict.fromkeys(str(figure["why"]) for figure in alike))
        why = f" ({whys[0]})" if len(whys) == 1 and one in (verdict, PART) else ""
        parts += [f"{one}: {_names(alike)}{why}"] if alike else []
    head = {
        SUPPORTED: "Every figure is reached here.",
        PART: "Some of it is borne out here, some is not.",
        NOT: "No figure that can be checked here is reached.",
        UNVERIFIABLE: "Nothing of it can be checked here.",
        VOID: "Void: the ids are not those that the speeds are compared for.",
    }[verdict]
    return " ".join([head, *(f"{part[0].upper()}{part[1:]}." for part in parts)])


def _names(figures: Sequence[Mapping[str, Any]]) -> str:
    return listed([str(figure["name"]) for figure in figures])
