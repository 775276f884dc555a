"""The release of a package with which its answer to one document began, or ceased, to be right.

`search` halves a range of releases; it knows nothing of engines. Releases that cannot be asked are stepped round, and
stay in the result: a first bad release is then one of several, and all of them are named. Halving assumes that between
two releases asked the answer stays as it is: how many were not asked is a part of the result, and `everything` asks
all of them, so that an answer that changes more than once is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from packaging.version import InvalidVersion, Version
from tokassay.engines.environments import Environment, EnvironmentFault, installed, with_version
from tokassay.engines.environments import install as install_engine
from tokassay.engines.releases import Release
from tokassay.engines.roster import EngineSpec
from tokassay.harness.answers import Answer
from tokassay.harness.errors import AGREED, MISMATCH, NOTHING, InputError
from tokassay.harness.hosts import Target
from tokassay.harness.load import Loaded
from tokassay.harness.probe import probe, within

RIGHT, WRONG, SKIPPED = "right", "wrong", "skipped"
LEAST = 2  # releases that must have been asked for a change to be found


@dataclass(frozen=True)
class Asked:
    """One release: `state` is right, wrong, or skipped with its `reason`. `says`: the version it says it is."""

    version: str
    state: str
    answer: Answer | None = None
    reason: str = ""
    says: str = ""

    def to_json(self) -> dict[str, Any]:
        answer = None if self.answer is None else self.answer.to_json()
        row = {"version": self.version, "state": self.state, "answer": answer}
        return row | {name: value for name in ("reason", "says") if (value := getattr(self, name))}


@dataclass(frozen=True)
class Change:
    """Two releases that were asked and differ; `between` could be `after` as well, had they been asked."""

    before: Asked
    after: Asked
    between: tuple[str, ...]

    @property
    def kind(self) -> str:
        """`first bad`, `first good`, or `other`: wrong both times, and differently."""
        return {RIGHT: "first good", WRONG: "first bad"}[self.after.state] if self.verdicts_differ else "other"

    @property
    def verdicts_differ(self) -> bool:
        return self.before.state != self.after.state

    def to_json(self) -> dict[str, Any]:
        ends = {"before": self.before.version, "after": self.after.version}
        return {"kind": self.kind, **ends, "between": list(self.between)}


@dataclass(frozen=True)
class Bisection:
    """What was asked of which releases, oldest first. `unasked` were not needed, by halving."""

    engine: str
    expected: Answer
    source: str
    asked: tuple[Asked, ...]
    unasked: tuple[str, ...]

    @property
    def answered(self) -> list[Asked]:
        return [one for one in self.asked if one.state != SKIPPED]

    @property
    def changes(self) -> list[Change]:
        """Every place where the answer changes from one asked release to the next, oldest first."""
        names = sorted_versions([*self.unasked, *(one.version for one in self.asked)])
        found = []
        for before, after in pairwise(self.answered):
            if before.answer is not None and after.answer is not None and not before.answer.same(after.answer):
                inside = names[names.index(before.version) + 1 : names.index(after.version)]
                found.append(Change(before, after, tuple(inside)))
        return found

    @property
    def exit_code(self) -> int:
        """0: every release asked is right; 1: some is not; 4: fewer than two could be asked."""
        if len(self.answered) < LEAST:
            return NOTHING
        return MISMATCH if any(one.state == WRONG for one in self.asked) else AGREED

    def to_json(self) -> dict[str, Any]:
        return {
            "engine": self.engine,
            "expected": self.expected.to_json(),
            "expected_by": self.source,
            "releases": [one.to_json() for one in self.asked],
            "unasked": list(self.unasked),
            "changes": [change.to_json() for change in self.changes],
            "exit_code": self.exit_code,
        }


def sorted_versions(versions: Sequence[str]) -> list[str]:
    """Oldest first, by the packaging rules (PEP 440)."""
    return sorted(versions, key=Version)


def search(count: int, ask: Callable[[int], str], *, everything: bool = False) -> dict[int, str]:
    """States of the releases 0 to count - 1 that were asked, among them both sides of a change where there is one.

    `ask(i)` is right, wrong or skipped. Without `everything`: the ends, then the middle of what is left.
    """
    states: dict[int, str] = {}

    def state(place: int) -> str:
        if place not in states:
            states[place] = ask(place)
        return states[place]

    if everything:
        return {place: state(place) for place in range(count)}
    low = next((place for place in range(count) if state(place) != SKIPPED), count)
    if low == count:
        return states
    high = next(place for place in reversed(range(count)) if state(place) != SKIPPED)
    while states[low] != states[high]:
        left = [place for place in range(low + 1, high) if place not in states]
        if not left:
            break
        _, middle = min((abs(2 * place - low - high), place) for place in left)
        if state(middle) == states[low]:
            low = middle
        elif states[middle] == states[high]:
            high = middle
    return states


def chosen(
    releases: Sequence[Release], first: str | None, last: str | None, *, pre: bool = False, build: bool = False
) -> tuple[list[Release], dict[str, str]]:
    """The releases from `first` to `last` that may be asked, oldest first, and why the others may not.

    Pre-releases and yanked releases are asked where they are the ends, or for `pre`. Raises InputError for an end that
    is no release.
    """
    ends = [_end(releases, text, option) for text, option in ((first, "--from"), (last, "--to"))]
    low, high = ends[0] or releases[0].order, ends[1] or releases[-1].order
    if low > high:
        raise InputError(f"{first} is newer than {last}", where="--from, --to", remedy="name the older release first")
    usable: list[Release] = []
    why: dict[str, str] = {}
    for one in releases:
        if not low <= one.order <= high:
            continue
        named = one.order in ends
        if one.yanked is not None and not named:
            reason = "yanked" + (f": {one.yanked}" if one.yanked else "")
        elif one.pre and not pre and not named:
            reason = "pre-release (--pre asks them)"
        else:
            reason = one.untestable(build=build)
        if reason:
            why[one.version] = reason
        else:
            usable.append(one)
    return usable, why


def _end(releases: Sequence[Release], text: str | None, option: str) -> Version | None:
    if text is None:
        return None
    try:
        version = Version(text)
    except InvalidVersion:
        version = None
    if version not in [one.order for one in releases]:
        known = ", ".join(one.version for one in releases)
        raise InputError(f"no release is called {text!r}", where=option, remedy=f"there are {known}")
    return version


def bisect(
    target: Target,
    loaded: Loaded,
    document: bytes,
    expected: tuple[Answer, str] | None,
    releases: Sequence[Release],
    skipped: Mapping[str, str],
    *,
    roster: Mapping[str, EngineSpec],
    everything: bool = False,
    timeout_s: float | None = None,
    install: Callable[[EngineSpec], Environment] = install_engine,
    tell: Callable[[str], None] = lambda _: None,
) -> Bisection:
    """Ask the releases of `target`'s engine until the change is found.

    `expected` is the right answer and who says so; None holds every release to the first one that answers. `skipped`
    has those that are not asked at all, and why. `tell` is called with what is being done, `install` to make an
    environment.
    """
    asked: dict[str, Asked] = {version: Asked(version, SKIPPED, reason=why) for version, why in skipped.items()}
    held = expected

    def ask(place: int) -> str:
        nonlocal held
        version = releases[place].version
        made = _ask(target, loaded, document, version, roster, timeout_s, install, tell)
        if made.answer is not None:
            held = held or (made.answer, f"{target.spec.name} {version}, the first that was asked")
            made = replace(made, state=RIGHT if made.answer.same(held[0]) else WRONG)
        asked[version] = made
        return made.state

    search(len(releases), ask, everything=everything)
    right = held or (Answer("unknown"), "nobody: no release could be asked")
    return Bisection(
        engine=target.spec.name,
        expected=right[0],
        source=right[1],
        asked=tuple(asked[version] for version in sorted_versions(list(asked))),
        unasked=tuple(one.version for one in releases if one.version not in asked),
    )


def _ask(
    target: Target,
    loaded: Loaded,
    document: bytes,
    version: str,
    roster: Mapping[str, EngineSpec],
    timeout_s: float | None,
    install: Callable[[EngineSpec], Environment],
    tell: Callable[[str], None],
) -> Asked:
    """One release, installed and asked."""
    spec = with_version(target.spec, version)
    try:
        if not installed(spec):
            tell(f"installing {spec.requirement}")
            install(spec)
    except EnvironmentFault as error:
        return Asked(version, SKIPPED, reason=str(error))
    tell(f"asking {spec.requirement}")
    probed = probe(within(replace(target, spec=spec), timeout_s), loaded, document, roster=roster)
    if probed.answer is None:
        return Asked(version, SKIPPED, reason=probed.reason, says=probed.says)
    return Asked(version, "", probed.answer, says=probed.says)
