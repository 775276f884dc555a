"""Suites of a bench: vocabularies, texts and the rest by one name, as TOML."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from tokassay.harness.errors import InputError

# Keys of a suite, and the field of the plan that each one fills where the command line says nothing.
KEYS = {
    "vocabularies": "vocabularies", "texts": "texts", "corpora": "corpora", "entries": "entries", "states": "states",
    "engines": "engines",
}
PREFIX = "bench-"


def bench_suite(name: str) -> dict[str, tuple[str, ...]]:
    """Fields of a plan by name, of a suite that comes with the package or of a file. Raises InputError."""
    named = files("tokassay.harness").joinpath("presets", f"{PREFIX}{name}.toml")
    path: Any = named if "/" not in name and named.is_file() else Path(name)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        known = ", ".join(suites())
        raise InputError(
            f"no suite of a bench is named {name}, and no file", where="--suite", remedy=f"use {known} or a TOML file"
        ) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(str(error), where=name, remedy="mend the TOML at that place") from error
    table.pop("description", None)
    found = {}
    for key, value in table.items():
        if key not in KEYS or not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise InputError(f"{key} is no list of a bench's suite", where=name, remedy=f"known: {', '.join(KEYS)}")
        if not value:
            raise InputError(f"{key} is empty", where=name, remedy="name some, or leave it out for the usual ones")
        found[KEYS[key]] = tuple(value)
    if not found:
        raise InputError("names nothing", where=name, remedy=f"known: {', '.join(KEYS)}")
    return found


def suites() -> list[str]:
    """The suites that come with the package."""
    presets = files("tokassay.harness").joinpath("presets").iterdir()
    return sorted(one.name[len(PREFIX) : -len(".toml")] for one in presets if one.name.startswith(PREFIX))
