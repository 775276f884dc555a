"""Environments of engines that do not live in the project's own: a virtual environment an engine-version.

Made with uv, or with venv and pip where uv is missing or finds nothing (pip's own configuration then holds); for a
package of JavaScript with npm, without running what packages would run: `node_modules`, and `bin/node` beside it. Keyed
by the digest of the lock, so that another pin is another environment. A receipt written last makes one valid: what an
interruption leaves behind is completed by the next try, never used.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from tokassay.engines import runtimes
from tokassay.engines.roster import EngineSpec

RECEIPT = "tokassay.json"
FRAME = " \u00d7\u2502\u2570\u2500\u25b6\u251c"  # what uv draws around what it says
OTHER = "choose another engine: tokassay engines list"
Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]


class EnvironmentFault(RuntimeError):
    """An environment that is missing or cannot be made: `where` names the engine, `remedy` what to do, `reason` what
    the installer said of it, "" where it was not asked."""

    def __init__(self, message: str, *, where: str, remedy: str, exit_code: int = 2, reason: str = "") -> None:
        super().__init__(message)
        self.where = where
        self.reason = reason
        self.remedy = remedy
        self.exit_code = exit_code


@dataclass(frozen=True)
class Environment:
    """One engine's environment; `lock` is None for the project's own."""

    engine: str
    path: Path
    interpreter: Path
    lock: Path | None
    complete: bool


def cache_root() -> Path:
    """Where environments and locks are kept: TOKASSAY_CACHE, or this user's cache directory."""
    if named := os.environ.get("TOKASSAY_CACHE"):
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("tokassay"))


def with_version(spec: EngineSpec, version: str) -> EngineSpec:
    """The same engine at another version. Its lock is made when it is installed, and kept in the cache."""
    if version == spec.pinned:
        return spec
    return replace(spec, requirement=spec.at(version), environment="own", lock=None)


def lock_path(spec: EngineSpec) -> Path:
    """The lock of an engine in its own environment: the roster's, or the one made at installation."""
    if spec.lock is not None:
        return spec.lock
    key = hashlib.sha256(spec.requirement.encode()).hexdigest()[:16]
    return cache_root() / "locks" / f"{bare(spec)}-{key}{WAYS[spec.runtime].suffix}"


def environment_of(spec: EngineSpec) -> Environment:
    """Where the engine's environment is, or would be."""
    way = WAYS[spec.runtime]
    if spec.environment == "project":
        program = runtimes.program(spec.runtime)
        return Environment(spec.name, Path(sys.prefix), Path(program or way.interpreter), None, program is not None)
    lock = lock_path(spec)
    text = lock.read_bytes() if lock.is_file() else b""
    key = hashlib.sha256(text + way.tag.encode() + spec.build_inputs()).hexdigest()[:16]
    path = cache_root() / "environments" / f"{bare(spec)}-{key}"
    complete = bool(text) and (path / RECEIPT).is_file() and not spec.unavailable
    complete = complete and runtimes.program(spec.runtime) is not None
    return Environment(spec.name, path, path / way.interpreter, lock, complete)


def bare(spec: EngineSpec) -> str:
    """The engine's name without a version: NAME and NAME==VERSION share what is kept for them."""
    return spec.name.partition("==")[0]


def installed(spec: EngineSpec) -> bool:
    """Whether the engine can be started without installing anything."""
    return environment_of(spec).complete


def interpreter(spec: EngineSpec) -> Path:
    """The interpreter of the engine's environment; raises EnvironmentFault where it is not installed."""
    environment = environment_of(spec)
    if spec.unavailable:
        raise EnvironmentFault(f"{spec.name} is unavailable: {spec.unavailable}", where=spec.source, remedy=OTHER)
    if not environment.complete:
        raise EnvironmentFault(missing(spec), where=spec.source, remedy=remedy(spec))
    return environment.interpreter


def absence(spec: EngineSpec) -> str:
    """Why the engine cannot be asked now, in words; "" where it can. Why an installation failed is kept."""
    if spec.unavailable:
        return spec.unavailable
    if installed(spec):
        return ""
    if runtimes.program(spec.runtime) is None:
        return missing(spec)
    try:
        reason = str(json.loads(_failure(spec).read_text(encoding="utf-8"))["reason"])
    except (OSError, ValueError, KeyError, TypeError):
        return f"not installed (tokassay engines install {spec.name})"
    return f"cannot be installed: {reason}"


def _failure(spec: EngineSpec) -> Path:
    """Where the reason of a failed installation is kept; another requirement or lock is another try."""
    lock = lock_path(spec)
    text = lock.read_bytes() if lock.is_file() else b""
    parts = [spec.requirement.encode(), text, WAYS[spec.runtime].tag.encode(), spec.build_inputs()]
    key = hashlib.sha256(b"|".join(parts))
    return cache_root() / "failures" / f"{bare(spec)}-{key.hexdigest()[:16]}.json"


def run_quietly(
    command: Sequence[str], more: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[str]:
    """Run a command with `more` in its environment and keep what it prints."""
    return subprocess.run(
        command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, env={**os.environ, **more}
    )


def find_uv() -> str | None:
    """The uv program, or None."""
    try:
        import uv

        return str(uv.find_uv_bin())
    except (ImportError, FileNotFoundError):
        return None


def install(spec: EngineSpec, *, run: Run | None = None, uv: str | None = None) -> Environment:
    """Make the engine's environment, or complete it; at once where it is there. Raises EnvironmentFault.

    What it failed for is kept for whoever asks later (`absence`), until it succeeds.
    """
    run = run or partial(run_quietly, more=spec.build_env)
    environment = environment_of(spec)
    if environment.complete:
        return environment
    if spec.unavailable:
        raise EnvironmentFault(f"{spec.name} is unavailable: {spec.unavailable}", where=spec.source, remedy=OTHER)
    if runtimes.program(spec.runtime) is None:
        raise EnvironmentFault(missing(spec), where=spec.source, remedy=remedy(spec), exit_code=5)
    try:
        environment = _install(spec, run, uv or find_uv())
    except EnvironmentFault as error:
        kept = {"engine": bare(spec), "requirement": spec.requirement, "reason": error.reason or str(error)}
        _write(_failure(spec), json.dumps(kept, indent=1) + "\n")
        raise
    _failure(spec).unlink(missing_ok=True)
    return environment


def missing(spec: EngineSpec) -> str:
    """What is not installed: the engine, or what it runs on."""
    if runtimes.program(spec.runtime) is None:
        return f"{spec.name} needs {spec.runtime}, and {spec.runtime} is not installed"
    return f"{spec.name} is not installed"


def remedy(spec: EngineSpec) -> str:
    """What to do where an engine is missing."""
    if runtimes.program(spec.runtime) is None:
        return runtimes.RUNTIMES[spec.runtime].remedy
    return f"run: tokassay engines install {spec.name}"


def _install(spec: EngineSpec, run: Run, uv: str | None) -> Environment:
    way = WAYS[spec.runtime]
    lock = lock_path(spec)
    if not lock.is_file():
        if spec.lock is not None:
            raise EnvironmentFault(
                f"no lock at {lock}", where=spec.source, remedy="restore it, or remove the line `lock` from the roster"
            )
        way.make_lock(spec, lock, run, uv)
    environment = environment_of(spec)
    with _alone(environment.path):
        if not environment_of(spec).complete:
            way.fill(spec, environment, lock, run, uv)
            receipt = {"engine": spec.name, "requirement": spec.requirement, "python": sys.version.split()[0]}
            _write(environment.path / RECEIPT, json.dumps(receipt, indent=1) + "\n")
    return environment_of(spec)


def _make_lock(spec: EngineSpec, lock: Path, run: Run, uv: str | None) -> None:
    if uv is None:
        raise EnvironmentFault(
            f"uv is needed to pin {spec.requirement}", where=spec.source, remedy="run: pip install uv"
        )
    wanted = lock.with_suffix(".in")
    _write(wanted, spec.requirement + "\n")
    made = run([uv, "pip", "compile", "--generate-hashes", "--no-header", "--python", sys.executable, str(wanted)])
    if made.returncode != 0 or not made.stdout.strip():
        raise EnvironmentFault(
            f"cannot pin {spec.requirement}: {_last(made.stderr)}",
            where=spec.source,
            reason=f"cannot pin {spec.requirement}: {_last(made.stderr)}",
            remedy="check that this version exists for this Python, and that a package index is reached",
        )
    _write(lock, made.stdout)


def _fill(spec: EngineSpec, environment: Environment, lock: Path, run: Run, uv: str | None) -> None:
    path, python = str(environment.path), str(environment.interpreter)
    # What it is built with comes first, from a lock too; then nothing may be fetched for the build.
    steps = [["-r", str(lock)]]
    if spec.build_lock is not None:
        steps = [["-r", str(spec.build_lock)], ["--no-build-isolation", *steps[0]]]
    ways: list[list[list[str]]] = []
    if uv is not None:
        by_uv = [uv, "pip", "install", "--python", python, "--require-hashes"]
        made = [uv, "venv", "--allow-existing", "--python", sys.executable, path]
        ways.append([made, *[by_uv + one for one in steps]])
    by_pip = [python, "-m", "pip", "install", "--require-hashes", "--no-deps"]
    ways.append([[sys.executable, "-m", "venv", path], *[by_pip + one for one in steps]])
    reasons = []
    for way in ways:
        for command in way:
            done = run(command)
            if done.returncode != 0:
                reasons.append(f"{Path(command[0]).name} {command[1]}: {_last(done.stderr)}")
                break
        else:
            return
    raise EnvironmentFault(
        f"cannot install {spec.requirement}: {'; '.join(reasons)}",
        where=spec.source,
        reason="; ".join(reasons),
        remedy="check that a package index is reached (pip's configuration is honoured), then run it again",
    )


def _make_npm_lock(spec: EngineSpec, lock: Path, run: Run, uv: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder) / "package.json", _manifest(spec))
        _npm(spec, run, folder, "install", "--package-lock-only", "--omit-lockfile-registry-resolved")
        _write(lock, (Path(folder) / "package-lock.json").read_text(encoding="utf-8"))


def _fill_npm(spec: EngineSpec, environment: Environment, lock: Path, run: Run, uv: str | None) -> None:
    _write(environment.path / "package.json", _manifest(spec))
    _write(environment.path / "package-lock.json", lock.read_text(encoding="utf-8"))
    _npm(spec, run, str(environment.path), "ci")
    environment.interpreter.parent.mkdir(exist_ok=True)
    with contextlib.suppress(FileExistsError):
        environment.interpreter.symlink_to(str(runtimes.program(spec.runtime)))


def _manifest(spec: EngineSpec) -> str:
    manifest = {"name": f"engine-{spec.name}", "private": True, "dependencies": {spec.package: spec.pinned}}
    return json.dumps(manifest, indent=1) + "\n"


def _npm(spec: EngineSpec, run: Run, folder: str, verb: str, *words: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise EnvironmentFault(
            "npm is not installed", where=spec.source, remedy=runtimes.RUNTIMES[spec.runtime].remedy, exit_code=5
        )
    done = run([npm, verb, "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", *words])
    if done.returncode != 0:
        raise EnvironmentFault(
            f"npm cannot {verb} {spec.requirement}: {_last(done.stderr)}",
            where=spec.source,
            remedy="check that a package registry is reached (npm's configuration is honoured), then run it again",
        )


@dataclass(frozen=True)
class Way:
    """How the environments of one runtime are made. `tag` is what their key has besides the lock."""

    interpreter: str
    suffix: str
    tag: str
    make_lock: Callable[[EngineSpec, Path, Run, str | None], None]
    fill: Callable[[EngineSpec, Environment, Path, Run, str | None], None]


WAYS = {
    "python": Way(
        interpreter="Scripts/python.exe" if os.name == "nt" else "bin/python",
        suffix=".txt",
        tag=str(sys.implementation.cache_tag),  # a cache may be shared by several Pythons
        make_lock=_make_lock,
        fill=_fill,
    ),
    # A link to whatever Node there is: packages without compiled parts run on any.
    "node": Way(interpreter="bin/node", suffix=".json", tag="node", make_lock=_make_npm_lock, fill=_fill_npm),
}


def _last(text: str) -> str:
    """What an installer says is wrong, on one line: from its first line of error on; else the last line. No path of the
    user's is in it, as reports show it."""
    written = [line for line in text.splitlines() if line.strip(FRAME)]
    lines = [" ".join(line.strip(FRAME).split()) for line in written]
    errors = (at for at, line in enumerate(written) if line.casefold().lstrip().startswith(("error", FRAME[1])))
    first = next(errors, None)
    said = " ".join(lines[-1:] if first is None else lines[first:])
    for path in (str(cache_root()), str(Path.home())):
        said = said.replace(path, "~")
    return said[:300] or "no reason given"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep a second installer of the same environment waiting, where the platform has file locks."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_suffix(".lock"), "w", encoding="utf-8") as handle:
        with contextlib.suppress(ImportError):
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
