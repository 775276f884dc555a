"""Generated text between markers in Markdown, so that no sentence about a result is typed in and then forgotten.

`<!-- tokassay:NAME key=value … -->` begins such a stretch and `<!-- /tokassay -->` ends it. What stands between is made
by the maker NAME from data; the same data give the same text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tokassay.reports import sentences
from tokassay.reports.errors import ReportError
from tokassay.reports.site.sources import Sources

BEGIN = re.compile(r"<!-- tokassay:(?P<name>[a-z-]+)(?P<options>(?: +[a-z]+=[^\s>]+)*) *-->")
END = "<!-- /tokassay -->"
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Facts:
    """What sentences are made from: the roster, the vectors, our faults, and the report of a bench (or {})."""

    sources: Sources
    bench: Mapping[str, Any]


Maker = Callable[[Facts, Mapping[str, str]], str]


def roster(facts: Facts, _: Mapping[str, str]) -> str:
    """How many engines the roster has."""
    engines = facts.sources.engines
    ours = [each.name for each in engines if each.ours]
    return sentences.roster([each.name for each in engines], ours, sum(each.unavailable for each in engines))


def known(facts: Facts, _: Mapping[str, str]) -> str:
    """How many vectors record faults of how many engines."""
    return sentences.known(
        (known.vector, known.engine, known.open) for vector in facts.sources.vectors for known in vector.known
    )


def own_faults(facts: Facts, _: Mapping[str, str]) -> str:
    """Our own past faults: the count and the table."""
    found = facts.sources.faults
    rows = [(each.found, each.part, each.input, each.what, f"`{each.test}`") for each in found]
    counted = sentences.faults([each.of for each in found])
    return f"{counted}\n\n{table(('found', 'part', 'input', 'what was wrong', 'test'), rows)}"


def speeds(facts: Facts, options: Mapping[str, str]) -> str:
    """The cells of the bench with these `vocab`, `entry` and `state`: a table, and who made it when."""
    asked = {key: options[key] for key in ("vocab", "entry", "state") if key in options}
    texts = options["text"].split(",") if "text" in options else None
    cells = [
        cell
        for cell in facts.bench.get("cells", [])
        if all(str(cell[key]) == value for key, value in asked.items()) and (texts is None or cell["text"] in texts)
    ]
    if not cells:
        return "Nothing was measured."
    engines = list(dict.fromkeys(str(row["engine"]) for cell in cells for row in cell["engines"]))
    rows = []
    for cell in cells:
        found = {str(row["engine"]): row for row in cell["engines"]}
        rows.append((str(cell["text"]), *(_speed(found.get(engine)) for engine in engines)))
    machine = facts.bench.get("machine") or {}
    where = f" on {machine['cpu']}" if machine.get("cpu") else ""
    said = [sentences.speed(cell) for cell in cells[:1]]
    under = ", ".join(f"{value}" for value in asked.values())
    least = all(row["mb_s"].get("low") is None for cell in cells for row in cell["engines"] if row.get("mb_s"))
    shown = f"median ({'least–greatest' if least else 'interval'})"
    when = str(facts.bench["started"])[:10]
    head = f"Megabytes of input a second of CPU time ({under}): {shown}, measured {when}{where}."
    return f"{head} {' '.join(said)}\n\n{table(('text', *engines), rows)}"


def _speed(row: Mapping[str, Any] | None) -> str:
    """A row's figure; what has none is what it is."""
    if row is None:
        return "–"
    return sentences.spread(row.get("mb_s")) if row["verdict"] == "exact" else str(row["verdict"])


MAKERS: Mapping[str, Maker] = {"roster": roster, "known": known, "own-faults": own_faults, "speeds": speeds}


def table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [columns, ("---",) * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


@dataclass(frozen=True)
class Spliced:
    """A document with its stretches made anew. `stale` are those that were not what they are now, as `line: name`."""

    text: str
    stretches: int
    stale: tuple[str, ...]


def splice(text: str, facts: Facts, where: str) -> Spliced:
    """Make every stretch of a document anew. Markers in fenced code are no markers.

    Raises ReportError that names the line, for a marker without an end, or a name that no maker has.
    """
    fenced = [found.span() for found in FENCE.finditer(text)]
    parts: list[str] = []
    stale: list[str] = []
    done = stretches = 0
    for found in BEGIN.finditer(text):
        if any(start <= found.start() < end for start, end in fenced):
            continue
        line = text.count("\n", 0, found.start()) + 1
        if found.start() < done:
            raise ReportError(
                "a marker inside of another's stretch", where=f"{where}:{line}", remedy=f"end the first with {END}"
            )
        maker = MAKERS.get(found["name"])
        if maker is None:
            raise ReportError(
                f"nothing makes {found['name']!r}", where=f"{where}:{line}", remedy=f"names are {', '.join(MAKERS)}"
            )
        end = text.find(END, found.end())
        if end < 0:
            raise ReportError("a marker without an end", where=f"{where}:{line}", remedy=f"put {END} behind the text")
        options = dict(word.split("=", 1) for word in found["options"].split())
        before = text[found.end() : end]
        # A stretch that stands in a line stays in it.
        block = "\n" in before
        made = maker(facts, options)
        made = f"\n{made}\n" if block or "\n" in made else made
        if made != before:
            stale.append(f"{line}: {found['name']}")
        parts += [text[done : found.end()], made]
        done, stretches = end, stretches + 1
    return Spliced("".join([*parts, text[done:]]), stretches, tuple(stale))
