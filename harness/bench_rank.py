"""Who is first: geometric means over the cells that every ranked engine verified, with these cells named.

An engine that verified other cells only, so that nothing would be left in common, is ranked apart, among its like; one
that verified none is named with its coverage and nothing else. Ours is marked, and gets what the others get.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tokassay.harness.rates import EXACT, geometric_mean
from tokassay.harness.resample import ratio_interval

KEY = ("vocab", "entry", "state", "threads", "domain")


def rankings(cells: Sequence[Mapping[str, Any]], ours: Iterable[str]) -> list[dict[str, Any]]:
    """Rankings of a report's cells, one or more for each vocabulary, entry point, state, threads and domain.

    `ours` are the labels of our own engines. In each: `cells` (texts' names), `engines` from the first to the last,
    `apart` (whether it is a further one of its key), `unverified` (engines without any cell).
    """
    marked = frozenset(ours)
    found = []
    for key in dict.fromkeys(key_of(cell) for cell in cells):
        own = [cell for cell in cells if key_of(cell) == key]
        found += _ranked(dict(zip(KEY, key, strict=True)), own, marked)
    return found


def key_of(cell: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a ranking is of."""
    return tuple(cell[name] for name in KEY)


def _ranked(key: dict[str, Any], cells: list[Mapping[str, Any]], ours: frozenset[str]) -> list[dict[str, Any]]:
    engines = list(dict.fromkeys(row["engine"] for cell in cells for row in cell["engines"]))
    exact = {engine: verified(cells, engine) for engine in engines}
    coverage = {engine: {"verified": len(exact[engine]), "asked": len(cells)} for engine in engines}
    left = sorted((one for one in engines if exact[one]), key=lambda one: (-len(exact[one]), engines.index(one)))
    none = [{"engine": one, **coverage[one], "ours": one in ours} for one in engines if not exact[one]]
    made: list[dict[str, Any]] = []
    while left or not made:
        common: list[str] = []
        taken: list[str] = []
        for one in left:
            both = [name for name in common if name in exact[one]] if taken else list(exact[one])
            if both:
                common, taken = both, [*taken, one]
        left = [one for one in left if one not in taken]
        rows = _rows([exact[one] for one in taken], common, taken, wall=key["threads"] > 1)
        for row in rows:
            row |= {**coverage[row["engine"]], "ours": row["engine"] in ours}
        made.append({**key, "cells": common, "engines": rows, "apart": bool(made), "unverified": none})
        none = []
    return made


def verified(cells: Iterable[Mapping[str, Any]], engine: str) -> dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """By text: the cells that an engine verified, and its row in them."""
    return {
        cell["text"]: (cell, row)
        for cell in cells
        for row in cell["engines"]
        if row["engine"] == engine and row["verdict"] == EXACT and row["cpu_ns"]
    }


def _rows(
    found: list[dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]], common: list[str], names: list[str], *,
    wall: bool,
) -> list[dict[str, Any]]:
    """Ranked rows: the first is the one with the greatest mean speed; `ratio` is of each to it, paired by round."""
    name = "wall_mb_s" if wall else "mb_s"
    time = "ns" if wall else "cpu_ns"
    means = [geometric_mean(one[text][1][name]["median"] for text in common) or 0.0 for one in found]
    order = sorted(range(len(names)), key=lambda place: -means[place])
    rows = []
    for place in order:
        ratios = _by_round(found[order[0]], found[place], common, lambda row: row[time])
        made = ratio_interval(ratios).to_json() if place != order[0] else None
        rows.append({"engine": names[place], "mb_s": float(f"{means[place]:.5g}"), "ratio": made})
    return rows


def _by_round(
    first: Mapping[str, Any], other: Mapping[str, Any], common: Sequence[str],
    times: Callable[[Mapping[str, Any]], Sequence[int]],
) -> list[float]:
    """In each round: how many times as fast as the first the other is, as a geometric mean over the cells."""
    rounds = min(len(times(one[text][1])) for one in (first, other) for text in common)
    return [
        math.exp(sum(
            math.log(max(times(first[text][1])[i], 1) / max(times(other[text][1])[i], 1)) for text in common
        ) / len(common))
        for i in range(rounds)
    ]  # fmt: skip
