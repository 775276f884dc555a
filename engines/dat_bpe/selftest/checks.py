"""What a check is: a name, and something that is asked for when its turn comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """`run` returns "" if what the name says holds, else what was found instead."""

    name: str
    run: Callable[[], str]


@dataclass(frozen=True)
class Outcome:
    """One check's result; `problem` is "" where it holds."""

    name: str
    problem: str


def equal(found: object, expected: object) -> str:
    """"" or what differs, short enough to be read."""
    return "" if found == expected else f"{str(found)[:200]}, not {str(expected)[:200]}"


def none_of(wrong: Iterable[object]) -> str:
    """"" where nothing is wrong, else how many there are and the first of them."""
    listed = list(wrong)
    return f"{len(listed)} wrong, the first {str(listed[0])[:200]}" if listed else ""


def outcomes(checks: Iterable[Check]) -> Iterator[Outcome]:
    """Runs them in order. A check that raises has failed: it must not hide the others."""
    for check in checks:
        try:
            problem = check.run()
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        yield Outcome(check.name, problem)
