"""Sentences about results, made from data. What stands in a page or in the README about a result is one of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tokassay.reports.words import counted, listed, number

CLAIM_VERDICTS = ("supported", "supported in part", "not supported", "not verifiable", "void")


def roster(names: Sequence[str], ours: Sequence[str], unavailable: int = 0) -> str:
    """How many engines there are, which are ours, and how many of them nobody can ask."""
    if not names:
        return "The roster is empty."
    own = [name for name in names if name in ours]
    said = f", {listed(own)} of them ours" if own else ", none of them ours"
    said += f"; {number(unavailable)} cannot be asked, each for a reason that is given" if unavailable else ""
    return f"{counted(len(names), 'engine')} {'is' if len(names) == 1 else 'are'} in the roster{said}."


def known(pairs: Iterable[tuple[str, str, bool]]) -> str:
    """What vectors say of other engines, from (vector, engine, whether its newest asked release is still wrong)."""
    rows = list(pairs)
    if not rows:
        return "No divergence of another engine is recorded."
    vectors, engines = {row[0] for row in rows}, {row[1] for row in rows}
    still = [row for row in rows if row[2]]
    healed = len(rows) - len(still)
    end = f" A later release healed {'one' if healed == 1 else number(healed)}." if healed else " None has healed."
    return (
        f"{counted(len(vectors), 'vector')} {'records' if len(vectors) == 1 else 'record'} "
        f"{counted(len(rows), 'divergence')} of {counted(len(engines), 'engine')}.{end}"
    )


def faults(parts: Sequence[str]) -> str:
    """Our own past faults, from the implementation of each."""
    if not parts:
        return "No fault of ours is recorded."
    kinds = list(dict.fromkeys(parts))
    told = listed([f"{number(parts.count(kind))} of {kind}" for kind in kinds])
    return f"{counted(len(parts), 'fault')} of our own {'is' if len(parts) == 1 else 'are'} recorded: {told}."


def claims(verdicts: Iterable[str]) -> str:
    """What became of vendors' claims, from the newest verdict on each."""
    found = list(verdicts)
    if not found:
        return "No claim has been run."
    kinds = [*CLAIM_VERDICTS, *sorted(set(found) - set(CLAIM_VERDICTS))]
    told = listed([f"{number(found.count(kind))} {kind}" for kind in kinds if kind in found])
    return f"{counted(len(found), 'claim')} {'was' if len(found) == 1 else 'were'} run: {told}."


def asked(coverage: Mapping[str, int], engines: int, contracts: int, corpora: int) -> str:
    """What the newest answers amount to."""
    if not coverage["documents"]:
        return "No finished audit is in these stores."
    return (
        f"{number(coverage['answers'])} answers of {counted(engines, 'engine')} under "
        f"{counted(contracts, 'contract')} on {counted(corpora, 'corpus', 'corpora')} are counted here."
    )


def rows_of(cell: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows of a bench's cell that have a speed, fastest first."""
    told = [row for row in cell["engines"] if row["verdict"] == "exact" and row.get("mb_s")]
    return sorted(told, key=lambda row: -float(row["mb_s"]["median"]))


def speed(cell: Mapping[str, Any]) -> str:
    """Who is fastest in a cell of a bench, and by how much, only of engines whose ids were proved there."""
    rows = rows_of(cell)
    place = f"{cell['text']} text under {cell['vocab']}, {cell['entry']}, {cell['state']}"
    void = [str(row["engine"]) for row in cell["engines"] if row["verdict"] == "void"]
    end = f" {listed(void)} gave other ids and {'has' if len(void) == 1 else 'have'} no speed." if void else ""
    if not rows:
        return f"On {place}, no engine was verified.{end}"
    first = rows[0]
    said = f"On {place}, {first['engine']} encodes {figure(first['mb_s']['median'])} MB/s"
    if len(rows) == 1:
        return f"{said}; no other engine was verified.{end}"
    second = rows[1]
    return f"{said}, {second['engine']} {figure(second['mb_s']['median'])} MB/s.{end}"


def coverage(cells: Sequence[str]) -> str:
    """What a ranking stands on."""
    return f"Over {counted(len(cells), 'cell')} that every ranked engine verified: {listed(list(cells)) or 'none'}."


def figure(value: float) -> str:
    """A measured number: three digits, thousands separated."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def spread(found: Mapping[str, Any] | None) -> str:
    """A median and its interval: the bootstrap's where there is one, else least and greatest."""
    if not found:
        return "–"
    low, high = ("min", "max") if found.get("low") is None else ("low", "high")
    return f"{figure(found['median'])} ({figure(found[low])}–{figure(found[high])})"
