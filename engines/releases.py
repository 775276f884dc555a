"""The releases of a package, as pip sees them from here: which have a wheel for this interpreter and platform. Of a
package of JavaScript, which has one file for all: as npm lists them.

pip is asked by the package's name alone, so that its own configuration (index, mirrors, a folder of wheels, no index
at all) holds. It lists the versions that fit; what does not fit it names only where it speaks of every file it looks
at, so that is what is read. Should it one day speak otherwise, the plain list still counts, and an install finds out
what a file would have told.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version
from tokassay.engines.environments import EnvironmentFault, Run, cache_root, run_quietly

FOUND = re.compile(r"^\s*Found link (?P<link>\S+?),?(?: |$)")
SKIPPED = re.compile(r"^\s*Skipping link: (?P<why>.*?): (?P<link>\w+://\S+)")
AVAILABLE = re.compile(r"^Available versions: (?P<versions>.*)$")
YANKED = "yanked for reason: "
NO_FIT = "no file of it fits this interpreter and platform"


@dataclass(frozen=True)
class Release:
    """One version of a package. `yanked` is its maker's reason ("" where none is given), None where it is not."""

    version: str
    wheel: bool = False
    source: bool = False
    yanked: str | None = None

    @property
    def order(self) -> Version:
        return Version(self.version)

    @property
    def pre(self) -> bool:
        """A pre-release or a development release."""
        return self.order.is_prerelease

    def untestable(self, *, build: bool = False) -> str:
        """Why it cannot be installed here, "" where it can. `build`: from source, too."""
        if self.wheel or (self.source and build):
            return ""
        return "source only (--build compiles it)" if self.source else NO_FIT


def releases(
    package: str, *, runtime: str = "python", run: Run = run_quietly, python: Path | None = None
) -> list[Release]:
    """All releases of `package`, in the order of their versions. Raises EnvironmentFault where none can be listed."""
    if runtime == "node":
        return npm_releases(package, run=run)
    pip = [str(python or pip_interpreter(run)), "-m", "pip"]
    done = run([*pip, "index", "versions", "-vv", "--pre", "--disable-pip-version-check", package])
    found = parse(done.stdout + "\n" + done.stderr, package)
    if not found:
        told = [line.strip() for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise EnvironmentFault(
            f"pip lists no release of {package}: {told[-1][:300] if told else 'no reason given'}",
            where="tokassay bisect",
            remedy=f"try `pip index versions {package}`: pip's own configuration is honoured",
            exit_code=5,
        )
    return found


def npm_releases(package: str, *, run: Run = run_quietly) -> list[Release]:
    """All releases of a package of JavaScript. Raises EnvironmentFault where none can be listed."""
    done = run([shutil.which("npm") or "npm", "view", package, "versions", "--json"])
    try:
        listed = json.loads(done.stdout)
    except ValueError:
        listed = None
    found = [listed] if isinstance(listed, str) else listed  # of a single release npm prints no list
    if done.returncode != 0 or not isinstance(found, list) or not found:
        told = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise EnvironmentFault(
            f"npm lists no release of {package}: {told[0][:300] if told else 'no reason given'}",
            where="tokassay bisect",
            remedy=f"try `npm view {package} versions`: npm's own configuration is honoured",
            exit_code=5,
        )
    made = [Release(str(version), wheel=True) for version in found if _normal(str(version))]
    return sorted(made, key=lambda release: release.order)


def parse(text: str, package: str) -> list[Release]:
    """The releases in what `pip index versions -vv` printed, in the order of their versions."""
    wheels: set[str] = set()
    sources: set[str] = set()
    yanked: dict[str, str] = {}
    seen: set[str] = set()
    listed: set[str] = set()
    for line in text.splitlines():
        if found := AVAILABLE.match(line):
            listed = {_normal(word) for word in found["versions"].split(",") if _normal(word)}
            continue
        found, skipped = FOUND.match(line), SKIPPED.match(line)
        match = found or skipped
        if match is None:
            continue
        version, wheel = _file(match["link"], package)
        if not version:
            continue
        seen.add(version)
        if found:
            (wheels if wheel else sources).add(version)
        elif match["why"].startswith(YANKED):
            yanked[version] = match["why"].removeprefix(YANKED).replace("<none given>", "")
    if not wheels | sources:  # pip says no more than which fit
        wheels = listed
    made = [
        Release(version, version in wheels, version in sources, None if version in listed else yanked.get(version))
        for version in seen | listed
    ]
    return sorted(made, key=lambda release: release.order)


def pip_interpreter(run: Run = run_quietly) -> Path:
    """An interpreter that has pip: our own, or that of an environment made for it (uv's have none)."""
    if importlib.util.find_spec("pip") is not None:
        return Path(sys.executable)
    folder = cache_root() / "environments" / f"pip-{sys.implementation.cache_tag}"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists() or run([str(python), "-m", "pip", "--version"]).returncode != 0:
        made = run([sys.executable, "-m", "venv", str(folder)])
        if made.returncode != 0:
            raise EnvironmentFault(
                f"no pip to list releases with: {made.stderr.strip()[-300:]}",
                where="tokassay bisect",
                remedy="install pip beside tokassay",
                exit_code=5,
            )
    return python


def _file(link: str, package: str) -> tuple[str, bool]:
    """Version of the file behind a link, and whether it is a wheel; ("", False) where it is none of the package's."""
    name = unquote(urlsplit(link).path.rsplit("/", 1)[-1])
    try:
        if name.endswith(".whl"):
            of, version, _, _ = parse_wheel_filename(name)
        elif name.endswith((".tar.gz", ".zip")):
            of, version = parse_sdist_filename(name)
        else:
            return "", False
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return "", False
    return (str(version), name.endswith(".whl")) if of == canonicalize_name(package) else ("", False)


def _normal(word: str) -> str:
    try:
        return str(Version(word.strip()))
    except InvalidVersion:
        return ""
