"""What each optimization of dat-bpe gives: the encoder with one of them off, beside the encoder with all of them on."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from tokassay.engines.roster import EngineSpec
from tokassay.harness.bench import Contestant, accepted
from tokassay.harness.errors import InputError
from tokassay.harness.hosts import find_spec

PRESET = "ablation.toml"
KEYS = {"name", "option", "off", "what"}


@dataclass(frozen=True)
class Switch:
    """One optimization: the adapter's option that turns it off, the value that does, and what it is."""

    name: str
    option: str
    off: Any
    what: str


def switches(path: Path | None = None) -> list[Switch]:
    """The table of optimizations: the package's, or another file of the same form. Raises InputError."""
    where = str(path) if path else f"presets/{PRESET}"
    try:
        source = path.read_text(encoding="utf-8") if path else _preset()
        tables = tomllib.loads(source).get("switch", [])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(str(error), where=where, remedy="give a TOML file of [[switch]] tables") from error
    found = []
    for number, table in enumerate(tables, 1):
        if set(table) != KEYS:
            raise InputError(
                f"switch {number} has the keys {', '.join(sorted(table))}", where=where,
                remedy=f"give each [[switch]] exactly {', '.join(sorted(KEYS))}",
            )
        found.append(Switch(**table))
    if not found:
        raise InputError("has no [[switch]]", where=where, remedy="add one: name, option, off, what")
    return found


def _preset() -> str:
    return files("tokassay.harness").joinpath("presets", PRESET).read_text(encoding="utf-8")


def contestants(
    found: Sequence[Switch], roster: Mapping[str, EngineSpec], engine: str = "dat-bpe"
) -> list[Contestant]:
    """The engine with everything on, then with each switch off. Raises InputError."""
    spec = find_spec(engine, roster)
    off = [
        Contestant(f"without {one.name}", spec, {accepted(one.option, spec, f"switch {one.name}"): one.off})
        for one in found
    ]
    return [Contestant(engine, spec), *off]
