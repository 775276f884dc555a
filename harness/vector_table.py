"""The known divergences of other engines as a page in Markdown: docs/DIVERGENCES.md is this page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tokassay.harness.pieces import view
from tokassay.harness.vectors import DECLARED, Vector

BYTES = 24  # of a document, that a cell spells out
LETTERS = 120  # of an answer: a panic's message can be long
COLUMNS = (
    "engine", "first bad", "last bad", "right before", "right after", "input", "vocabulary", "what", "stage", "vector",
    "right", "given",
)
HEAD = """\
# Divergences

Answers of other engines that a written rule contradicts, as `fixtures/vectors` has them. Each was found by running the
release that is named, made as small as it goes, and held by hand to the rule that stands below. A row is one cause in
one engine; what is recorded as like another vector has none. Versions are the first and the last that were asked and
wrong, and those beside them that were right.
`tokassay vectors check` asks again, and says so where one has healed; `tokassay vectors reproduce VECTOR ENGINE` writes
a script that needs the package alone, and a report for its authors. This page is made by
`tokassay vectors list --markdown docs/DIVERGENCES.md`.

"""


def markdown(vectors: Iterable[Vector]) -> str:
    """The page: a row for each engine and vector on which it was ever wrong; then the rules."""
    wrong = sorted(_wrong(vectors), key=lambda pair: (pair[1], pair[0].id))
    rows = [COLUMNS, ("---",) * len(COLUMNS), *(_row(vector, engine) for vector, engine in wrong)]
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    rules = sorted({vector.id: _rule(vector) for vector, _ in wrong}.items())
    return HEAD + "\n".join(lines) + "\n\n## Rules\n\n" + "\n".join(rule for _, rule in rules) + "\n"


def _wrong(vectors: Iterable[Vector]) -> Iterator[tuple[Vector, str]]:
    for vector in vectors:
        for engine in dict.fromkeys(one.engine for one in vector.engines):
            if "first_bad" in vector.history(engine) and not any(one.like for one in vector.of(engine)):
                yield vector, engine


def _row(vector: Vector, engine: str) -> tuple[str, ...]:
    history = vector.history(engine)
    given = [one.answer for one in vector.of(engine) if not vector.right(one.answer)][-1]
    return (
        engine, history["first_bad"], history["last_bad"], history.get("last_good", ""), history.get("first_good", ""),
        _shown(vector), vector.vocabulary, vector.title, vector.stage, f"`{vector.id}`", vector.expected.told(),
        given.told()[:LETTERS],
    )


def _rule(vector: Vector) -> str:
    level = " (Declared: engines of other variants rightly give other ids.)" if vector.level == DECLARED else ""
    return f"- `{vector.id}`: {vector.rule} *Source:* {vector.source}.{level}"


def _shown(vector: Vector) -> str:
    """The document in hex, and as text."""
    if vector.repeat is not None:
        return f"`{vector.repeat[0]}` {vector.repeat[1]:,} times"
    more = " …" if len(vector.document) > BYTES else ""
    beginning = vector.document[:BYTES]
    return f"`{beginning.hex(' ')}` {view(beginning)}{more}"
