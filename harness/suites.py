"""Suites: what an audit runs, as TOML. The named ones lie in presets; `--suite FILE` takes any other."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from tokassay.harness.errors import InputError

OPERATIONS = ("encode", "encode_batch", "decode", "offsets")
SPECIALS = ("off", "on")
# The kinds of documents that a suite must have to prove a build, and how many of them at least (docs/METHODOLOGY.md):
# bytes of the longest, classes in a row, documents. No number behind the kind is the kind's own, which is enough.
LEAST = {"battery": 0, "lengths": 1_100, "classes": 2, "fuzz": 2_000}
NOT_SUITES = ("bench", "ablation")  # presets of another verb


@dataclass(frozen=True)
class CorpusRequest:
    """One corpus of a suite: what to read, and with which operations and special-token policies. `fast`: it is for
    engines that encode at least so many megabytes a second of the real text before it (0: for all)."""

    spec: str
    operations: tuple[str, ...]
    specials: tuple[str, ...]
    fast: float = 0.0


@dataclass(frozen=True)
class Suite:
    """A suite; an engine that ends in `?` takes part where it is installed and is named where it is not.
    `vocabulary_minutes` are those that an engine may work on one vocabulary (None: as long as it takes)."""

    name: str
    description: str
    vocabularies: tuple[str, ...]
    engines: tuple[str, ...]
    corpora: tuple[CorpusRequest, ...]
    vocabulary_minutes: float | None = None
    # Whether somebody asked for just these engines; if not, others that serve a vocabulary may take their place.
    chosen: bool = True


def names() -> list[str]:
    found = (p.name.removesuffix(".toml") for p in files("tokassay.harness").joinpath("presets").iterdir())
    return sorted(name for name in found if name not in NOT_SUITES and not name.startswith("bench-"))


def load_suite(name: str, option: str = "--suite") -> Suite:
    """A suite by name or by file. Raises InputError with the place and the remedy."""
    named = files("tokassay.harness").joinpath("presets", f"{name}.toml")
    if "/" not in name and named.is_file():
        return replace(parse(named.read_text(encoding="utf-8"), name=name, where=f"suite {name}"), chosen=False)
    path = Path(name)
    if not path.is_file():
        raise InputError(
            f"no suite named {name} and no such file",
            where=option,
            remedy=f"name one of {', '.join(names())}, or a TOML file",
        )
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 (byte {error.start})", where=name, remedy="save it as UTF-8") from error
    shipped = files("tokassay.harness").joinpath("presets", f"{path.stem}.toml")
    if shipped.is_file() and shipped.read_text(encoding="utf-8") != text:
        # Proofs, runs and the gate know a suite by its name.
        raise InputError(
            f"{path.stem} is a suite of tokassay, and this file is another", where=name,
            remedy="give the file another name",
        )
    return parse(text, name=path.stem, where=name)


def parse(text: str, *, name: str, where: str) -> Suite:
    """A suite from TOML text; `where` names the file in errors."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(str(error), where=where, remedy="mend the TOML at that place") from error
    known = {"description", "vocabularies", "engines", "operations", "specials", "corpus", "vocabulary_minutes"}
    _known(data, known, where)
    operations = _words(data, "operations", where, OPERATIONS, default=("encode",))
    specials = _words(data, "specials", where, SPECIALS, default=("off",))
    tables = data.get("corpus")
    if not isinstance(tables, list) or not tables:
        raise InputError("has no [[corpus]] table", where=where, remedy='add [[corpus]] with spec = "battery"')
    corpora = []
    for i, table in enumerate(tables, 1):
        place = f"{where}: corpus {i}"
        _known(table, {"spec", "operations", "specials", "fast"}, place)
        spec = table.get("spec")
        if not isinstance(spec, str) or not spec:
            raise InputError(
                "has no spec", where=place, remedy='add spec = "battery" (tokassay corpora list names more)'
            )
        corpora.append(
            CorpusRequest(
                spec,
                _words(table, "operations", place, OPERATIONS, default=operations),
                _words(table, "specials", place, SPECIALS, default=specials),
                _positive(table, "fast", place) or 0.0,
            )
        )
    return Suite(
        name,
        str(data.get("description", "")),
        _words(data, "vocabularies", where, None, default=("gpt2",)),
        _words(data, "engines", where, None, default=("dat-bpe", "tiktoken", "tokenizers")),
        tuple(corpora),
        _positive(data, "vocabulary_minutes", where),
    )


def lacking(suite: Suite) -> tuple[str, ...]:
    """The kinds of LEAST that a suite has not, or fewer of; () for one that can prove a build."""
    found = set()
    for one in suite.corpora:
        kind, _, argument = one.spec.partition(":")
        number = argument.partition("/")[0]
        if kind in LEAST and "off" in one.specials and not (number.isdecimal() and int(number) < LEAST[kind]):
            found.add(kind)
    return tuple(kind for kind in LEAST if kind not in found)


def narrowed(
    suite: Suite,
    *,
    vocabularies: tuple[str, ...] = (),
    engines: tuple[str, ...] = (),
    corpora: tuple[str, ...] = (),
    operations: tuple[str, ...] = (),
    specials: tuple[str, ...] = (),
) -> Suite:
    """The suite with what the command line names in place of its own."""
    requests = suite.corpora
    if corpora:
        base = suite.corpora[0]
        requests = tuple(CorpusRequest(spec, base.operations, base.specials) for spec in corpora)
    requests = tuple(
        replace(r, operations=operations or r.operations, specials=specials or r.specials) for r in requests
    )
    return replace(
        suite,
        vocabularies=vocabularies or suite.vocabularies,
        engines=engines or suite.engines,
        chosen=suite.chosen or bool(engines),
        corpora=requests,
    )


def known_words(flag: str, words: list[str] | None) -> tuple[str, ...]:
    """The words of `--operation` or `--specials`; raises InputError for one that is none."""
    allowed = OPERATIONS if flag == "--operation" else SPECIALS
    for word in words or ():
        if word not in allowed:
            raise InputError(f"{word} is not known", where=flag, remedy=f"use {', '.join(allowed)}")
    return tuple(dict.fromkeys(words or ()))


def _known(table: dict[str, Any], allowed: set[str], where: str) -> None:
    for key in table:
        if key not in allowed:
            raise InputError(f"unknown key {key}", where=where, remedy=f"known keys: {', '.join(sorted(allowed))}")


def _positive(table: dict[str, Any], key: str, where: str) -> float | None:
    value = table.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise InputError(f"{key} is no number above 0", where=where, remedy=f"write {key} = 1.0")
    return float(value)


def _words(
    table: dict[str, Any], key: str, where: str, allowed: tuple[str, ...] | None, *, default: tuple[str, ...]
) -> tuple[str, ...]:
    value = table.get(key)
    if value is None:
        return default
    if not isinstance(value, list) or not value or not all(isinstance(v, str) and v for v in value):
        raise InputError(f"{key} is not a list of names", where=where, remedy=f'write {key} = ["{default[0]}"]')
    for word in value:
        if allowed is not None and word not in allowed:
            raise InputError(f"{key} has {word}", where=where, remedy=f"use {', '.join(allowed)}")
    return tuple(dict.fromkeys(value))
