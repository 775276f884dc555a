"""What a site is made of, beside the stores: the roster, what is known of engines, our own faults. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Engine:
    """An engine of the roster. `facts` are (name, value) of what its table declares; `notes` is shown as it is."""

    name: str
    ours: bool
    requirement: str
    facts: tuple[tuple[str, str], ...] = ()
    notes: str = ""

    @property
    def unavailable(self) -> bool:
        """Whether nobody can ask it: it is a row with a reason."""
        return "unavailable" in dict(self.facts)


@dataclass(frozen=True)
class Known:
    """An answer of an engine that a written rule contradicts, by versions. `open`: its newest answer is still wrong.
    `given` is the newest wrong answer, in words."""

    vector: str
    engine: str
    first_bad: str
    last_bad: str
    last_good: str
    first_good: str
    open: bool
    given: str


@dataclass(frozen=True)
class Vector:
    """A document with its right answer, the rule and its source. `data` is what is repeated `times`."""

    id: str
    vocabulary: str
    operation: str
    level: str
    data: bytes
    times: int
    stage: str
    title: str
    rule: str
    source: str
    right: str
    command: str
    known: tuple[Known, ...] = ()


@dataclass(frozen=True)
class Fault:
    """A wrong answer that a part of ours has given, and the test that holds it now. `of` is the implementation."""

    of: str
    found: str
    part: str
    input: str
    what: str
    test: str


@dataclass(frozen=True)
class Sources:
    """All of it. `stores` are read through their views; `version` is that of the package."""

    stores: tuple[Path, ...]
    version: str
    engines: tuple[Engine, ...] = ()
    vectors: tuple[Vector, ...] = ()
    faults: tuple[Fault, ...] = ()
