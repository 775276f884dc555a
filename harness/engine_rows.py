"""What is known of the engines of a roster, as rows: what their tables declare, where they are, what is newer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from packaging.version import InvalidVersion, Version
from tokassay.engines.client import Host, HostFailure, told
from tokassay.engines.environments import absence, environment_of
from tokassay.engines.newest import Newest
from tokassay.engines.roster import EngineSpec
from tokassay.harness.claims import load_claim

# What an engine says of itself when it is started.
SAYS = ("version", "python", "offset_unit", "entries", "forms", "readers", "stages", "rejects", "limits")


def row(spec: EngineSpec) -> dict[str, Any]:
    """What its table declares and where it is: a row of `engines list --json`. `absence` says why it cannot be asked,
    "" where it can."""
    environment = environment_of(spec)
    return {
        "engine": spec.name,
        "requirement": spec.requirement,
        "environment": spec.environment,
        "installed": environment.complete,
        "absence": absence(spec),
        "unavailable": spec.unavailable,
        "path": str(environment.path),
        "algorithms": list(spec.algorithms),
        "vocabularies": list(spec.vocabularies),
        "loads": spec.loads,
        "byte_policy": "" if spec.unavailable else spec.byte_policy,
        "byte_policies": dict(spec.byte_policies),
        "unicode": "" if spec.unavailable else spec.unicode,
        "normalization": "" if spec.unavailable else spec.normalization or spec.unicode,
        "specials": list(spec.specials),
        "operations": list(spec.operations),
        "entry_points": dict(spec.entry_points),
        "threads": spec.threads,
        "cache": spec.cache,
        "licence": spec.licence,
        "home": spec.home,
        "claims": list(spec.claims),
        "notes": spec.notes,
    }


def whole_row(spec: EngineSpec) -> dict[str, Any]:
    """The same with what is behind it: files, limits, options, its claims in a line each, and, where it is installed,
    what it says of itself in its own process."""
    environment = environment_of(spec)
    return row(spec) | {
        "adapter": str(spec.adapter) if spec.adapter.is_file() else "",
        "lock": str(environment.lock or ""),
        "roster": spec.source,
        "memory_mb": spec.memory_mb,
        "timeout_s": spec.timeout_s,
        "accepts": list(spec.accepts),
        "alternatives": {name: dict(options) for name, options in spec.alternatives.items()},
        "claims": {name: load_claim(name).summary for name in spec.claims},
        "says": _says(spec),
    }


def _says(spec: EngineSpec) -> dict[str, Any]:
    environment = environment_of(spec)
    if not environment.complete:
        return {}
    try:
        with Host(spec, environment.interpreter) as host:
            hello = host.hello()
    except HostFailure as error:
        return {"problem": f"{error.verdict}: {told(error)}"}
    return {key: hello[key] for key in SAYS if key in hello}


def outdated_rows(specs: Iterable[EngineSpec], known: Mapping[str, Newest]) -> list[dict[str, Any]]:
    """A row an engine that pins a version: the pinned one and the newest, each with its day, "" where none is told;
    `outdated` is None where it is not known."""
    rows = []
    for spec in specs:
        if spec.name not in known:
            continue
        found, (name, pinned) = known[spec.name], (spec.package, spec.pinned)
        rows.append({
            "engine": spec.name, "package": name, "pinned": pinned, "pinned_released": found.pinned_released,
            "newest": found.version, "newest_released": found.released,
            "outdated": later(found.version, pinned) if found.version else None, "problem": found.problem,
        })  # fmt: skip
    return rows


def later(version: str, pinned: str) -> bool:
    """Whether a version is a later one; of versions that have no order, whether it is another one."""
    try:
        return Version(version) > Version(pinned)
    except InvalidVersion:
        return version != pinned
