"""The newest release of an engine's package, and when it and the pinned one came out, as package clients tell it.

Clients are asked by the package's name alone, so that their own configuration (index, mirrors, a folder of wheels)
holds. uv resolves names to what can be installed here and writes down when its files were uploaded; where it is missing
or finds nothing, pip lists versions, and no date is known. npm tells both at once.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tokassay.engines.environments import EnvironmentFault, Run, find_uv, run_quietly
from tokassay.engines.releases import releases
from tokassay.engines.roster import EngineSpec

PYTHON, NODE = "python", "node"  # runtimes, which say whose packages they are


@dataclass(frozen=True)
class Newest:
    """What is known of one package: the newest version that can be installed here, the day it came out, and the day
    the pinned one did (ISO 8601, "" where no client tells); `problem` says why nothing is known."""

    version: str = ""
    released: str = ""
    pinned_released: str = ""
    problem: str = ""


def newest(specs: Iterable[EngineSpec], *, run: Run = run_quietly) -> dict[str, Newest]:
    """By engine: what its package's client tells. An engine that pins no version is left out."""
    asked: dict[str, dict[str, str]] = {}
    pinned = {spec.name: spec for spec in specs if spec.pinned}
    for spec in pinned.values():
        asked.setdefault(spec.runtime, {}).setdefault(spec.package, spec.pinned)
    told = {kind: CLIENTS[kind](packages, run) for kind, packages in asked.items()}
    return {name: told[spec.runtime][spec.package] for name, spec in pinned.items()}


def of_python(packages: Mapping[str, str], run: Run) -> dict[str, Newest]:
    """By name: of packages with their pinned versions, by uv in two calls, and by pip what uv does not find."""
    latest = _resolved(packages, run)
    here = _resolved([f"{name}=={version}" for name, version in packages.items()], run)
    found = {}
    for name in packages:
        version, released = latest.get(_normal(name), ("", ""))
        day = here.get(_normal(name), ("", ""))[1]
        found[name] = Newest(version, released, day) if version else _listed(name, run)
    return found


def of_node(packages: Mapping[str, str], run: Run) -> dict[str, Newest]:
    """By name: of packages with their pinned versions, by npm, a call a package."""
    return {name: _viewed(name, version, run) for name, version in packages.items()}


CLIENTS: dict[str, Callable[[Mapping[str, str], Run], dict[str, Newest]]] = {PYTHON: of_python, NODE: of_node}


def _resolved(requirements: Iterable[str], run: Run) -> dict[str, tuple[str, str]]:
    """Version and day by normal name, of requirements that uv resolves without what they need; one that cannot be
    resolved does not keep the others from it."""
    uv, wanted = find_uv(), list(requirements)
    if uv is None or not wanted:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        names = Path(folder) / "names.in"
        names.write_text("\n".join(wanted) + "\n", encoding="utf-8")
        done = run([uv, "pip", "compile", "--no-deps", "--no-header", "--format", "pylock.toml", str(names)])
    if done.returncode == 0:
        return _read(done.stdout)
    return {} if len(wanted) == 1 else {k: v for one in wanted for k, v in _resolved([one], run).items()}


def _read(text: str) -> dict[str, tuple[str, str]]:
    try:
        packages = tomllib.loads(text).get("packages", [])
    except tomllib.TOMLDecodeError:
        return {}
    found = {}
    for one in packages:
        files = [*one.get("wheels", ()), *([one["sdist"]] if "sdist" in one else ())]
        days = [file["upload-time"].date().isoformat() for file in files if "upload-time" in file]
        found[_normal(one["name"])] = (str(one.get("version", "")), min(days, default=""))
    return found


def _listed(name: str, run: Run) -> Newest:
    try:
        found = releases(name, run=run)
    except EnvironmentFault as error:
        return Newest(problem=str(error))
    fit = [one for one in found if not one.pre and one.yanked is None and (one.wheel or one.source)]
    return Newest(fit[-1].version) if fit else Newest(problem=f"no release of {name} can be installed here")


def _viewed(name: str, pinned: str, run: Run) -> Newest:
    npm = shutil.which("npm")
    if npm is None:
        return Newest(problem="npm is not installed")
    done = run([npm, "view", name, "version", "time", "--json"])
    try:
        told = json.loads(done.stdout)
        days = {version: str(day)[:10] for version, day in told.get("time", {}).items()}
        return Newest(str(told["version"]), days.get(told["version"], ""), days.get(pinned, ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        return Newest(problem=f"npm tells nothing of {name}: {_last(done.stderr)}")


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no reason given"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
