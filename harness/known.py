"""The known encodings (fixtures/vocab/encodings.toml): what a vocabulary file does not say about itself."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from tokassay.harness.errors import InputError


@dataclass(frozen=True)
class Encoding:
    """One table of encodings.toml. `file` is set where the file is embedded; `catalog` names its catalogue entry, ""
    for a file that was made here. `merges` is the embedded list of merges that goes with a file of ids."""

    name: str
    aliases: tuple[str, ...]
    format: str
    sha256: str
    file: str | None
    catalog: str
    pattern: str | None
    normalizer: str
    specials: dict[str, int]
    unreachable: int | None
    sample: tuple[int, ...]
    source: str
    family: str
    merges: str | None


def vocabulary_folder() -> Path:
    """Where the embedded vocabularies lie."""
    return Path(str(files("tokassay.fixtures").joinpath("vocab")))


@cache
def _table() -> dict[str, Any]:
    with (vocabulary_folder() / "encodings.toml").open("rb") as stream:
        return tomllib.load(stream)


def patterns() -> dict[str, str]:
    """Name -> published regular expression."""
    return dict(_table()["patterns"])


@cache
def encodings() -> tuple[Encoding, ...]:
    """All known encodings, in the file's order."""
    return tuple(_encoding(name, row) for name, row in _table()["encodings"].items())


def _encoding(name: str, row: dict[str, Any]) -> Encoding:
    specials: dict[str, int] = dict(row.get("specials", {}))
    for series in row.get("series", ()):
        for number in range(series["from"], series["to"] + 1):
            specials[series["text"].replace("{}", str(number))] = series["id"] + number - series["from"]
    return Encoding(
        name=name,
        aliases=tuple(row.get("aliases", ())),
        format=row["format"],
        sha256=row["sha256"],
        file=row.get("file"),
        catalog=row.get("catalog", ""),
        pattern=row.get("pattern"),
        normalizer=row.get("normalizer", "none"),
        specials=specials,
        unreachable=row.get("unreachable"),
        sample=tuple(row.get("sample", ())),
        source=row.get("source", ""),
        family=row.get("family", ""),
        merges=row.get("merges"),
    )


def find(name: str) -> Encoding | None:
    """The encoding of that name or alias, or None."""
    return next((e for e in encodings() if name == e.name or name in e.aliases), None)


def resolve_pattern(pattern: str | None, where: str) -> tuple[str, ...]:
    """A pattern's name, or a regular expression itself, as the contract's pretokenizer. Raises InputError.

    None is refused: which pattern belongs to a rank file is asked for, never guessed.
    """
    import regex

    names = ", ".join(patterns())
    remedy = f"give --pattern NAME ({names}) or a regular expression"
    if pattern is None:
        raise InputError("this format does not say which pattern splits the text", where=where, remedy=remedy)
    if pattern in patterns():
        return (patterns()[pattern],)
    known = find(pattern)
    if known is not None and known.pattern is not None:
        return (patterns()[known.pattern],)
    if not any(character in pattern for character in "\\[(|+*?. "):
        raise InputError(f"no pattern is called {pattern!r}", where="--pattern", remedy=remedy)
    try:
        regex.compile(pattern)
    except regex.error as error:
        raise InputError(f"not a regular expression: {error}", where="--pattern", remedy=remedy) from None
    return (pattern,)
