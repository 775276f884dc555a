"""What the HTML and Markdown templates share: groups of rows, digests by expectation, and the words beside them."""

from __future__ import annotations

import re
from typing import Any

from tokassay.reports.matrix import MatrixCell, command_of, rank
from tokassay.reports.tables import Divergence, Matrix, Square, Tables, used_verdicts
from tokassay.reports.words import FAILING, MEANING, VERDICTS, counted, failures

SIGNS = {"match": "=", "declared": "=", "part": "=", "reject": "–", "none": "–", "fail": "≠"}
SQUARES, GROUPS = 600, 400  # what of one kind a page can hold
STATES = ("equal", "differs", "none", "alone")
TONE_WORDS = {
    "match": "every output matches",
    "declared": "right; some differences or rejects are declared",
    "part": "right where it is offered; the rest is unsupported",
    "reject": "every document was rejected",
    "none": "nothing verified",
    "fail": "wrong, crashed, hung or flaky",
}


def square_lines(square: Square) -> list[str]:
    """The text of a matrix square: what failed first, then what matched, then the rest; zeros are left out."""
    counts = square.counts
    lines = [failures(counts)] if any(counts[v] for v in FAILING) else []
    lines += [f"{counts[v]:,} {v}" for v in ("match", "declared", "reject", "unsupported") if counts[v]]
    return lines


def bar(square: Square) -> list[tuple[str, float]]:
    """Shares of a square's verdicts in percent, for its bar; a failing part is at least 2 %, to be seen."""
    if not square.total:
        return []
    shares = [(v, 100 * square.counts[v] / square.total) for v in VERDICTS if square.counts[v]]
    widened = [(v, max(share, 2.0) if v in FAILING else share) for v, share in shares]
    whole = sum(share for _, share in widened)
    return [(v, 100 * share / whole) for v, share in widened]


def legend(matrices: list[Matrix]) -> list[tuple[str, str, str]]:
    """(tone, sign, words) of the tones that occur, in the order of TONE_WORDS."""
    seen = {s.tone for m in matrices for row in m.squares.values() for s in row.values() if s}
    return [(tone, SIGNS[tone], words) for tone, words in TONE_WORDS.items() if tone in seen]


def verdict_legend(tables: Tables) -> list[tuple[str, str]]:
    """(verdict, meaning) of the verdicts that occur."""
    return [(verdict, MEANING[verdict]) for verdict in used_verdicts(tables)]


def shows_squares(tables: Tables) -> bool:
    """Whether the squares of all contracts fit on a page."""
    return sum(len(each.engines) * len(each.corpora) for each in tables.matrices) <= SQUARES


def shows_matrix(tables: Tables) -> bool:
    """Whether the matrix says more than the squares: there are several vocabularies, or too many squares."""
    return len(tables.matrix.vocabularies) > 1 or bool(tables.matrix.blanks) or not shows_squares(tables)


def cell_link(tables: Tables, cell: MatrixCell) -> str:
    """Where a cell of the matrix leads to on an audit's page: its divergence, or its engine's row under its
    vocabulary."""
    heads = {ordinal: d.ordinal for d in tables.failing for ordinal in (d.ordinal, *(other for other, _ in d.alike))}
    shown = [heads[ordinal] for ordinal in cell.divergences if ordinal in heads]
    if shown:
        return f"#d{shown[0]}"
    found = tables.matrix
    return f"#p{found.vocabularies.index(cell.vocabulary)}-{found.engines.index(cell.engine)}"


def by_verdict(cells: list[MatrixCell]) -> list[tuple[str, list[str]]]:
    """(verdict, kinds) of a row of the matrix, the worst first."""
    found: dict[str, list[str]] = {}
    for cell in cells:
        found.setdefault(cell.verdict, []).append(cell.kind)
    return sorted(found.items(), key=lambda item: rank(item[0]))


def row_reasons(cells: list[MatrixCell]) -> list[str]:
    """Why documents of a row of the matrix were not served, each reason once."""
    return list(dict.fromkeys(reason for cell in cells for reason in cell.reasons))


def row_command(cells: list[MatrixCell]) -> str:
    """The command that asks for a row of the matrix again; "" where nothing of it has a verdict."""
    had = [cell for cell in cells if cell.specs]
    return command_of(had) if had else ""


def row_groups(tables: Tables) -> list[dict[str, Any]]:
    """Coverage grouped by contract, engine and corpus: a heading, the command that repeats it, and its rows. Where
    there are too many for a page, those in which something failed."""
    found: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in tables.coverage.to_dict("records"):
        key = tuple(str(row[name]) for name in ("label", "core", "engine", "corpus"))
        found.setdefault(key, []).append({str(name): value for name, value in row.items()})
    if len(found) > GROUPS:
        failed = [key for key, rows in found.items() if any(row[verdict] for row in rows for verdict in FAILING)]
        found = {key: found[key] for key in failed[:GROUPS]}
    return [
        {
            "label": label,
            "engine": engine,
            "version": rows[0]["version"],
            "corpus": corpus,
            "rows": rows,
            "command": tables.command(rows[0]),
        }
        for (label, _, engine, corpus), rows in found.items()
    ]


def digest_rows(tables: Tables) -> list[dict[str, Any]]:
    """Corpus digests, one row for each digest that engines are held to (or, without an oracle, that they gave).

    Engines under different variants share a row where the oracle's digests are equal, as on neutral documents; so do
    operations with one digest and the same engines.
    """
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for found in tables.digests.to_dict("records"):
        held = found["expected"] or found["digest"]
        key = (*(str(found[k]) for k in ("label", "core", "corpus", "domain", "operation")), held)
        row = rows.setdefault(
            key,
            {
                "label": found["label"],
                "corpus": found["corpus"],
                "domain": found["domain"],
                "digest": held,
                **{state: [] for state in STATES},
            },
        )
        if found["engine"] not in row[found["state"]]:
            row[found["state"]].append(found["engine"])
    merged: dict[tuple[Any, ...], dict[str, Any]] = {}
    for (*_, operation, held), row in rows.items():
        if held:
            same = (row["label"], row["corpus"], row["domain"], held, *(tuple(row[state]) for state in STATES))
            merged.setdefault(same, {**row, "operations": []})["operations"].append(operation)
    return list(merged.values())


def place(divergence: Divergence) -> str:
    """Where a divergence was seen, in one line."""
    parts = [divergence.contract, divergence.corpus, f"{divergence.domain} documents", divergence.operation]
    return ", ".join(parts) + f", first seen in {divergence.first}"


def ids_around(values: list[Any], split: int | None, before: int = 4, after: int = 8) -> list[tuple[str, str]]:
    """(kind, text) of ids around the first difference: kind is same, first, later or gap."""
    if not values:
        return [("gap", "none")]
    at = len(values) if split is None else split
    low, high = (0, before + after) if split is None else (max(0, at - before), at + after)
    shown: list[tuple[str, str]] = [("gap", "…")] if low else []
    for index in range(low, min(high, len(values))):
        kind = "same" if index < at else "first" if index == at else "later"
        shown.append((kind, id_text(values[index])))
    if split is not None and split >= len(values):
        shown.append(("first", "(end)"))
    return [*shown, ("gap", "…")] if high < len(values) else shown


def id_text(value: Any) -> str:
    """An id as digits, a span as start–end, anything else as it is."""
    if isinstance(value, list) and len(value) == 2:
        return f"{value[0]}–{value[1]}"
    return str(value)


def problems(corpus: dict[str, Any]) -> list[str]:
    """A corpus's bad lines, one sentence a reason."""
    lines = []
    for reason, detail in corpus["problems"].items():
        if isinstance(detail, dict):
            count = detail.get("count", 0)
            places = detail.get("first") or detail.get("places") or []
        else:
            count, places = (detail, []) if isinstance(detail, int) else (0, [detail])
        places = places if isinstance(places, list) else [places]
        first = f", first at {', '.join(map(str, places[:3]))}" if places else ""
        lines.append(f"{reason}: {counted(int(count), 'line')}{first}")
    return lines


def fence(text: str) -> str:
    """A Markdown code fence longer than any run of backticks in `text`."""
    return "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))


def bytes_of(digits: str) -> bytes:
    """Bytes of their hex."""
    return bytes.fromhex(digits)
