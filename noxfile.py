"""The tree's own checks, one session each: `nox` runs lint, types and tests; `nox -l` lists the rest.

Every session that runs the package installs it as a user does: built, not editable, into a fresh environment.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tomllib
from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "tests"]
nox.options.error_on_missing_interpreters = True
# The mirror of what a user's machine lacks: after the install nothing may be fetched.
OFFLINE = {"PIP_NO_INDEX": "1", "UV_OFFLINE": "1", "HF_HUB_OFFLINE": "1", "TOKASSAY_OFFLINE": "1"}
PACKAGES = ["harness", "engines", "corpora", "oracles", "reports", "fixtures"]


WHEELS = Path(".nox", "wheels")


def install(session: nox.Session, extra: str) -> None:
    """Install the package with one extra from its wheel, which is built once a tree: compiling takes over a minute."""
    folder = WHEELS / tree()
    if not any(folder.glob("*.whl")):
        shutil.rmtree(WHEELS, ignore_errors=True)
        shutil.rmtree("build", ignore_errors=True)  # a stale one would ship files long deleted
        session.run("python", "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", str(folder), ".", silent=True)
    (wheel,) = folder.glob("*.whl")
    session.install(f"tokassay[{extra}] @ {wheel.resolve().as_uri()}")


def tree() -> str:
    """Digest of all that a wheel is made of: the files, and what compiles them."""
    made = hashlib.sha256(repr([sys.version, *(os.environ.get(name) for name in ("CC", "CFLAGS", "LDFLAGS"))]).encode())
    found = [path for folder in PACKAGES for path in Path(folder).rglob("*") if path.is_file()]
    for path in sorted([*found, Path("pyproject.toml"), Path("MANIFEST.in"), Path("README.md"), Path("LICENSE")]):
        compiled = path.suffix == ".c" and path.with_suffix(".pyx").exists()  # Cython writes it again
        if not compiled and path.suffix not in (".pyc", ".so"):
            made.update(f"{path.as_posix()}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return made.hexdigest()[:16]


def pytest(session: nox.Session, *words: str, profile: str = "ci", env: dict[str, str] | None = None) -> None:
    """Run pytest on the installed package; arguments after `--` take the place of `words`."""
    session.run("pytest", *(session.posargs or words), env={"HYPOTHESIS_PROFILE": profile, **(env or {})})


def fetched(session: nox.Session, name: str) -> None:
    """Fetch a suite's corpora, and its vocabularies that the package does not bring."""
    suite = tomllib.loads(Path(f"harness/presets/{name}.toml").read_text(encoding="utf-8"))
    made = (
        "battery", "lengths", "classes", "concat", "fuzz", "specials", "sample", "around", "versions", "borders",
        "added", "runs", "collisions", "codepoints", "repeats",
    )
    specs = [table["spec"] for table in suite["corpus"]]
    session.run("tokassay", "corpora", "fetch", *(spec for spec in specs if spec.partition(":")[0] not in made))
    session.run("tokassay", "vocab", "fetch", *suite["vocabularies"])


@nox.session
def tests(session: nox.Session) -> None:
    """All tests on the installed package, offline once it is installed."""
    install(session, "test")
    pytest(session, "-n", "2", "-q", env=OFFLINE)


@nox.session
def network(session: nox.Session) -> None:
    """The tests that fetch: archives from registries, environments of other engines."""
    install(session, "test")
    pytest(session, "-m", "network", "-q")


@nox.session
def lint(session: nox.Session) -> None:
    """ruff over the tree, cython-lint over every .pyx, .pxd and .pxi."""
    session.install("ruff>=0.14", "cython-lint>=0.16")
    session.run("ruff", "check", ".")
    found = (path for folder in PACKAGES for path in Path(folder).rglob("*"))
    sources = sorted(str(path) for path in found if path.suffix in (".pyx", ".pxd", ".pxi"))
    if sources:
        session.run("cython-lint", "--max-line-length=120", *sources)


@nox.session
def types(session: nox.Session) -> None:
    """mypy --strict on the installed package: stubs and py.typed as its users get them."""
    install(session, "test")
    session.install("mypy>=1.18", "pandas-stubs", "types-regex", "types-psutil", "types-jsonschema")
    names = [word for package in PACKAGES for word in ("-p", f"tokassay.{package}")]
    # From another folder: run here, mypy would find the sources and not what was installed.
    config = Path("pyproject.toml").resolve()
    with session.chdir(session.create_tmp()):
        session.run("mypy", "--strict", "--config-file", str(config), *names)


@nox.session
def audit(session: nox.Session) -> None:
    """The default audit, as in the README's first command."""
    install(session, "audit")
    session.run("tokassay", "audit", *session.posargs)


@nox.session
def nightly(session: nox.Session) -> None:
    """Fetch, install, audit, bench, gate, report: docs/NIGHTLY.md; `-- --suite nightly`: the long suite."""
    install(session, "audit")
    session.run("tokassay", "nightly", *session.posargs)


@nox.session
def properties(session: nox.Session) -> None:
    """Every property test at its longest."""
    install(session, "test")
    pytest(session, "-n", "2", "-q", profile="nightly")


@nox.session
def families(session: nox.Session) -> None:
    """The audit of every family of vocabulary: hours; `-- --vocab NAME` for one of them."""
    install(session, "audit")
    fetched(session, "families")
    session.run("tokassay", "audit", "--suite", "families", *session.posargs)


@nox.session
def field(session: nox.Session) -> None:
    """The whole field: every engine of the roster under every vocabulary; over an hour, installs and fetches apart."""
    install(session, "audit")
    fetched(session, "field")
    # One that cannot be installed is a row with its reason.
    session.run("tokassay", "engines", "install", "--all", success_codes=[0, 5])
    session.run("tokassay", "audit", "--suite", "field", *session.posargs)


@nox.session
def tuples(session: nox.Session) -> None:
    """Every tuple of three classes in every family and of four in GPT-2's and cl100k's; `-- 5`: of five, for hours."""
    install(session, "audit")
    if session.posargs:
        session.run("tokassay", "tuples", *session.posargs)
        return
    session.run("tokassay", "tuples", "3")
    session.run("tokassay", "tuples", "4", "--family", "gpt2", "--family", "cl100k")


@nox.session
def sanitize(session: nox.Session) -> None:
    """The C sources under the address and undefined-behaviour sanitizers."""
    session.install("numpy>=2.0", "cython>=3.1", "setuptools>=77")
    session.run("python", "tests/native/sanitize.py", *session.posargs)


@nox.session
def builds(session: nox.Session) -> None:
    """The C sources without optimization, with it, for this processor, with link-time optimization: one digest."""
    session.install("numpy>=2.0", "cython>=3.1", "setuptools>=77")
    session.run("python", "tests/native/builds.py", *session.posargs)


@nox.session
def races(session: nox.Session) -> None:
    """The C sources under the thread sanitizer, many threads on one encoder."""
    session.install("numpy>=2.0", "cython>=3.1", "setuptools>=77")
    session.run("python", "tests/native/races.py", *session.posargs)


@nox.session
def planted(session: nox.Session) -> None:
    """Faults planted in the core, one build each: found by the standard audit, small, of their stage, named once."""
    install(session, "audit")
    session.install("cython>=3.1", "setuptools>=77")
    session.run("python", "tests/native/planted.py", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Optimized against naive encoding, damaged profiles, sanitized; CC=clang … -- 600 --libfuzzer: by coverage."""
    session.run("python", "tests/native/fuzz.py", *session.posargs)


@nox.session
def differences(session: nox.Session) -> None:
    """dat-bpe against itself: every level, cache size, number of threads, vocabulary and family; its self-test."""
    install(session, "test")
    session.run("python", "-m", "tokassay.engines.dat_bpe.selftest")
    pytest(session, "-n", "2", "-q", "tests/engines/dat_bpe/test_differences.py", env={"TOKASSAY_DIFFERENCES": "1"})


@nox.session
def docs(session: nox.Session) -> None:
    """Links between the documents, and every command they show."""
    install(session, "test")
    pytest(session, "-q", "tests/docs")


@nox.session
def accessibility(session: nox.Session) -> None:
    """axe-core over a page of every kind of the site, in the Chromium of PATH; npm fetches axe-core. No part of CI."""
    install(session, "test")
    session.install("playwright>=1.48")
    folder = Path(session.create_tmp()).resolve()
    session.run("npm", "install", "--silent", "--no-save", "--prefix", str(folder), "axe-core", external=True)
    store = folder / "tokassay.sqlite"
    session.run("tokassay", "audit", "--store", str(store), "--out", str(folder / "report"))
    axe = folder / "node_modules" / "axe-core" / "axe.min.js"
    session.run("python", "tests/reports/axe.py", str(axe), str(folder), "--store", str(store), *session.posargs)
