"""Claims: a vendor's published figures as data, one TOML file each under fixtures/claims. Loaded strictly, and checked.

A file states the claim (who, what in our words, from which source, on which machine and text, against whom) and the
nearest honest equivalent that can be run here. docs/CLAIMS.md has every key.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from tokassay.harness.bench import ENTRIES, STATES
from tokassay.harness.errors import InputError
from tokassay.harness.hosts import nearest
from tokassay.harness.texts import entries_of, kinds

FOLDER = "claims"
# What a figure is of, and its unit. `ratio` is of two speeds: above 1 the engine is the faster. What bench does not
# measure is `other`: such a figure must say why it is not verified here.
KINDS = {
    "ratio": "times", "mb_s": "MB/s", "ids_s": "million ids a second", "load_ms": "ms", "other": "",
}
LESS_IS_MORE = ("load_ms",)
T = TypeVar("T")
ROUNDING = 0.01  # of a quotient that the file states
# A page, a package whose own description says it (a package URL: the registry is its reader's), or a page of ours.
ADDRESSES = ("https://", "pkg:pypi/", "pkg:npm/", "docs/")
KINDS_OF_ADDRESS = "give one of https://, pkg:pypi/NAME@VERSION, pkg:npm/NAME@VERSION, or docs/PAGE for a page of ours"


@dataclass(frozen=True)
class Source:
    """Where the figures stand. `read` is the day on which they were read there."""

    title: str
    address: str
    read: str


@dataclass(frozen=True)
class Needs:
    """What must be there for a figure to be judged: cores, a processor by a part of its name, a text of the user's; or
    `other`: why it cannot be judged anywhere but there, while what is measured is shown."""

    cores: int = 0
    cpu: str = ""
    corpus: str = ""
    other: str = ""


@dataclass(frozen=True)
class Figure:
    """One figure: `value`, or a range `low` to `high`, in the unit of its kind.

    `against` is the baseline engine of a ratio. `vocabulary` and `baseline_vocabulary` default to the claim's first.
    `texts` narrows it to some of the claim's texts. `parts` are the two numbers whose quotient the figure is, and
    `per_core` what it comes to on each of its `cores`. `not_here` says why nothing can be measured.
    """

    name: str
    says: str
    kind: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    against: str = ""
    engine: str = ""
    vocabulary: str = ""
    baseline_vocabulary: str = ""
    texts: tuple[str, ...] = ()
    cores: int = 0
    per_core: float | None = None
    parts: tuple[float, ...] = ()
    needs: Needs = field(default_factory=Needs)
    not_here: str = ""

    @property
    def floor(self) -> float | None:
        """What must be reached: the figure, or the lower end of the range; None where there is no number."""
        return self.value if self.value is not None else self.low

    @property
    def top(self) -> float | None:
        """The upper end of a range; None where there is none."""
        return self.high

    @property
    def unit(self) -> str:
        return KINDS[self.kind]


@dataclass(frozen=True)
class Here:
    """The nearest honest equivalent: what is run, on which texts, how long. `size` is bytes of each half of a text.

    `texts` are of the vendor's own kind, `left_out` the kinds that the vendor did not show. `proof` is the gate suite
    that a build must pass, `audit` are the corpora on which its divergences are looked for. A vocabulary `package:FILE`
    is a file of the engine's own package. `computes` is another contract that the engine computes than the one it is
    compared with: (its own, the other's).
    """

    engine: str
    vocabularies: tuple[str, ...]
    texts: tuple[str, ...]
    entry: str
    differs: str
    left_out: tuple[str, ...] = ()
    state: str = "cold"
    threads: int = 1
    size: int = 1_000_000
    repeat: int = 7
    minutes: float = 10.0
    proof: str = "gate-light"
    audit: tuple[str, ...] = ("battery", "classes:2", "concat:2000", "fuzz:2000")
    computes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Claim:
    """A vendor's claim. `here` is None where nothing of it can be run, and `not_here` then says why."""

    name: str
    vendor: str
    package: str
    summary: str
    date: str
    hardware: str
    corpus: str
    baseline: str
    entry_point: str
    source: Source
    figures: tuple[Figure, ...]
    here: Here | None = None
    not_here: str = ""
    contradictions: tuple[str, ...] = ()
    further: tuple[Source, ...] = ()

    @property
    def engines(self) -> tuple[str, ...]:
        """The engine, then every baseline, each once."""
        if self.here is None:
            return ()
        named = [self.here.engine, *(f.engine for f in self.figures), *(f.against for f in self.figures)]
        return tuple(dict.fromkeys(filter(None, named)))

    @property
    def texts(self) -> tuple[str, ...]:
        """The vendor's own kinds, then those left out."""
        return () if self.here is None else tuple(dict.fromkeys((*self.here.texts, *self.here.left_out)))


def names() -> list[str]:
    """The shipped claims, in order."""
    found = (entry.name for entry in files("tokassay.fixtures").joinpath(FOLDER).iterdir())
    return sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml"))


def load_claim(name: str) -> Claim:
    """A shipped claim by its name, or one of a file. Raises InputError with the place in it and the remedy."""
    path = Path(name)
    if name.endswith(".toml"):
        if not path.is_file():
            raise InputError("no such file", where=name, remedy="name a claim's TOML file, or see: tokassay claim list")
        return parse(path.read_text(encoding="utf-8"), name=path.stem, where=name)
    known = names()
    if name not in known:
        raise InputError(f"no claim is called {name}", where="tokassay claim", remedy=nearest(name, known))
    text = files("tokassay.fixtures").joinpath(FOLDER, f"{name}.toml").read_text(encoding="utf-8")
    return parse(text, name=name, where=f"claims/{name}.toml")


def parse(text: str, *, name: str, where: str) -> Claim:
    """A claim from TOML text, checked; `where` names the file in errors."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(str(error), where=where, remedy="mend the TOML at that place") from error
    tables = {
        "source": _made(Source, data.pop("source", None), f"{where}: source"),
        "figures": tuple(
            _figure(one, f"{where}: figure {place}") for place, one in enumerate(_list(data.pop("figure", None)), 1)
        ),
        "further": tuple(
            _made(Source, one, f"{where}: further {place}")
            for place, one in enumerate(_list(data.pop("further", [])), 1)
        ),
    }
    if "here" in data:
        tables["here"] = _made(Here, data.pop("here"), f"{where}: here")
    claim = _made(Claim, {**data, **tables, "name": name}, where)
    check(claim, where)
    return claim


def _figure(table: object, where: str) -> Figure:
    if isinstance(table, dict) and "needs" in table:
        table = {**table, "needs": _made(Needs, table["needs"], f"{where}: needs")}
    return _made(Figure, table, where)


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []


def _made(kind: type[T], table: object, where: str) -> T:
    """A dataclass from a TOML table: no key unknown, none that is needed missing, each of its type."""
    if not isinstance(table, Mapping):
        raise InputError("is missing", where=where, remedy=f"add the table [{where.rpartition(' ')[2]}]")
    known = {one.name: one for one in fields(kind)}  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            raise InputError(f"unknown key {key}", where=where, remedy=f"known keys: {', '.join(known)}")
    values: dict[str, Any] = {}
    for key, one in known.items():
        if key not in table:
            if one.default is MISSING and one.default_factory is MISSING:
                raise InputError(f"{key} is missing", where=where, remedy=f"add {key} = ...")
            continue
        values[key] = _typed(table[key], str(one.type), f"{where}: {key}")
    return kind(**values)


def _typed(value: Any, kind: str, where: str) -> Any:
    """The value, if it is of the kind that the field is declared with; lists become tuples. Raises InputError."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "str" and isinstance(value, str | date):
        return str(value)
    if kind == "int" and isinstance(value, int) and number:
        return value
    if kind.startswith("float") and number:
        return float(value)
    if kind == "tuple[str, ...]" and isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(value)
    if kind == "tuple[float, ...]" and isinstance(value, list):
        return tuple(_typed(one, "float", where) for one in value)
    if kind not in ("str", "int") and not isinstance(value, str | int | float | list | dict):
        return value  # made already
    raise InputError(f"{value!r} is not of type {kind}", where=where, remedy="correct it, see docs/CLAIMS.md")


def check(claim: Claim, where: str) -> None:
    """Raise InputError unless the claim is complete and its arithmetic holds."""
    for name in ("vendor", "summary", "date", "hardware", "corpus", "baseline", "entry_point"):
        _must(getattr(claim, name).strip(), f"{name} is empty", where, f"state it, or that the source does not: {name}")
    for source in (claim.source, *claim.further):
        _must(source.address.startswith(ADDRESSES), f"{source.address!r} is no address", where, KINDS_OF_ADDRESS)
        _day(source.read, where)
    _must(claim.figures, "has no [[figure]]", where, "add one")
    _must((claim.here is None) == bool(claim.not_here), "needs either [here] or not_here", where, "give one of the two")
    if claim.here is not None:
        _must(claim.here.entry in ENTRIES, f"{claim.here.entry} is no entry point", where, f"use {', '.join(ENTRIES)}")
        _must(claim.here.state in STATES, f"{claim.here.state} is no state", where, f"use {', '.join(STATES)}")
        for text in claim.texts:
            by = entries_of(text) if text in kinds() else ()
            only = f"{text} is measured by {', '.join(by)} only"
            _must(not by or claim.here.entry in by, only, where, "leave it out")
        _must(len(claim.here.computes) in (0, 2), "computes takes two vocabularies", where, "its own, then the other's")
    seen = [figure.name for figure in claim.figures]
    _must(len(set(seen)) == len(seen), "two figures have one name", where, "give each its own")
    for figure in claim.figures:
        _check_figure(claim, figure, f"{where}: figure {figure.name}")


def _check_figure(claim: Claim, figure: Figure, where: str) -> None:
    _must(figure.kind in KINDS, f"{figure.kind} is no kind", where, f"use {', '.join(KINDS)}")
    single, ranged = figure.value is not None, figure.low is not None or figure.high is not None
    _must(not (single and ranged), "has a value and a range", where, "give value, or low and high")
    if ranged:
        _must(
            figure.low is not None and figure.high is not None and figure.low < figure.high, "is no range", where,
            "give low and high",
        )
    measured = figure.kind != "other" and not figure.not_here and claim.here is not None
    if figure.kind != "other":
        _must(figure.floor is not None and figure.floor > 0, "has no number", where, "give value, or low and high")
    else:
        _must(figure.not_here or claim.not_here, "cannot be measured", where, "say why: not_here")
    if figure.kind == "ratio":
        _must(figure.against or not measured, "has no baseline", where, 'give against = "tiktoken"')
    if measured and claim.here is not None:
        for text in figure.texts:
            _must(text in claim.texts, f"{text} is no text of the claim", where, f"use {', '.join(claim.texts)}")
        for vocabulary in filter(None, (figure.vocabulary, figure.baseline_vocabulary)):
            _must(
                vocabulary in claim.here.vocabularies, f"{vocabulary} is no vocabulary of the claim", where,
                f"use {', '.join(claim.here.vocabularies)}",
            )
    if figure.parts:
        _must(len(figure.parts) == 2 and figure.parts[1] > 0, "parts are not two", where, "give [this, other]")
        _near(figure.parts[0] / figure.parts[1], figure.value, "the quotient of its parts", where)
    _must(bool(figure.cores) == (figure.per_core is not None), "cores and per_core go together", where, "give both")
    if figure.per_core is not None:
        _near((figure.floor or 0.0) / figure.cores, figure.per_core, "what it comes to on each core", where)


def _near(found: float, stated: float | None, what: str, where: str) -> None:
    if stated is None or abs(found - stated) > ROUNDING * abs(stated):
        raise InputError(f"{what} is {found:.4g} and not {stated}", where=where, remedy="correct one of the two")


def _must(holds: object, message: str, where: str, remedy: str) -> None:
    if not holds:
        raise InputError(message, where=where, remedy=remedy)


def _day(text: str, where: str) -> None:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise InputError(f"{text!r} is no day", where=where, remedy="write it as 2026-11-30") from None
