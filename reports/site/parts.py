"""What pages are put together from: links, tables with a caption and headers, facts, sections, figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

ROWS = 200  # of one table; a page must stay small


@dataclass(frozen=True)
class Link:
    """A link; `href` is relative to the site's root."""

    text: str
    href: str


@dataclass(frozen=True)
class Code:
    """Text as it is typed, or an id."""

    text: str


@dataclass(frozen=True)
class Tag:
    """A word with a colour: `kind` is good, bad, said or dim. The word says it too: no colour stands alone."""

    text: str
    kind: str


Cell = str | int | float | None | Link | Code | Tag | Sequence["Link | Code | Tag | str"]


@dataclass(frozen=True)
class Table:
    """`columns` are names; the first cell of a row is its header. `total` counts the rows that there are, `more` is
    the page or file with all of them, relative to the site's root. A count in `alarms` is red where it is not zero."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    total: int
    more: Link | None = None
    alarms: frozenset[int] = frozenset()

    @cached_property
    def numbers(self) -> frozenset[int]:
        """The columns that hold counts and gaps alone; they are set to the right."""
        return frozenset(
            n
            for n in range(len(self.columns))
            if any(type(row[n]) is int for row in self.rows)
            and all(row[n] is None or type(row[n]) is int for row in self.rows)
        )


def table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    more: Link | None = None,
    alarms: Iterable[str] = (),
    limit: int = ROWS,
) -> Table:
    """A table of the first `limit` rows. The first cell of a row is its header."""
    made = [tuple(row) for row in rows]
    numbers = frozenset(list(columns).index(name) for name in alarms)
    return Table(caption, tuple(columns), tuple(made[:limit]), len(made), more, numbers)


@dataclass(frozen=True)
class Figure:
    """A chart: `svg` is markup of our own making, `alt` says what is to be seen, `table` has the same numbers."""

    svg: str
    alt: str
    caption: str
    table: Table | None = None


@dataclass(frozen=True)
class Section:
    """A part of a page under a heading. `facts` are names and values, `commands` are typed as they stand. A section
    that has nothing to show says `empty`."""

    heading: str
    text: Sequence[str] = ()
    facts: Sequence[tuple[str, Cell]] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    commands: Sequence[str] = ()
    empty: str = ""
    links: Sequence[Link] = field(default_factory=tuple)

    @property
    def id(self) -> str:
        """What links lead to."""
        return "".join(c if c.isalnum() else "-" for c in self.heading.lower()).strip("-")

    @property
    def shown(self) -> Sequence[Table]:
        """Its tables that have rows."""
        return [each for each in self.tables if each.rows]

    @property
    def bare(self) -> bool:
        """Whether there is nothing in it."""
        return not (self.text or self.facts or self.shown or self.figures or self.commands or self.links)
