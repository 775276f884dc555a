"""Environments are made whole or not at all, by uv or by pip, and never twice."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tokassay.engines import environments
from tokassay.engines.client import Host
from tokassay.engines.environments import (
    EnvironmentFault,
    environment_of,
    install,
    installed,
    interpreter,
    with_version,
)
from tokassay.engines.roster import EngineSpec, load_roster

LOCKED = "toy==1.0 --hash=sha256:00\n"
LOCKED_OLDER = "toy==0.9 --hash=sha256:01\n"


class Installer:
    """Stands in for uv, venv and pip: notes commands, makes the interpreter, fails where told to."""

    def __init__(self, *failing: str) -> None:
        self.failing = failing
        self.commands: list[list[str]] = []

    def __call__(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.commands.append(list(command))
        line = " ".join(command)
        if any(word in line for word in self.failing):
            return subprocess.CompletedProcess(command, 1, "", "warning: x\nerror: no solution found\n")
        if "venv" in command:
            python = Path(command[-1]) / "bin" / "python"
            python.parent.mkdir(parents=True, exist_ok=True)
            python.touch()
        return subprocess.CompletedProcess(command, 0, LOCKED_OLDER if "compile" in command else "", "")


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineSpec:
    """An engine in its own environment, with a lock, and a cache of this test's own."""
    monkeypatch.setenv("TOKASSAY_CACHE", str(tmp_path / "cache"))
    lock = tmp_path / "toy.txt"
    lock.write_text(LOCKED, encoding="utf-8")
    base = load_roster()["gigatoken"]
    return replace(base, name="toy", requirement="toy==1.0", lock=lock, source="roster.toml")


def test_the_projects_engines_need_nothing() -> None:
    tiktoken = load_roster()["tiktoken"]
    assert installed(tiktoken)
    assert interpreter(tiktoken) == Path(sys.executable)


def test_uv_makes_it_with_hashes_and_only_once(spec: EngineSpec) -> None:
    assert not installed(spec)
    run = Installer()
    made = install(spec, run=run, uv="/bin/uv")
    assert [command[:3] for command in run.commands] == [
        ["/bin/uv", "venv", "--allow-existing"],
        ["/bin/uv", "pip", "install"],
    ]
    assert run.commands[1][-3:] == ["--require-hashes", "-r", str(spec.lock)]
    assert made.complete and installed(spec) and interpreter(spec) == made.interpreter
    again = Installer()
    assert install(spec, run=again, uv="/bin/uv") == made
    assert again.commands == []


def test_pip_takes_over_where_uv_finds_nothing(spec: EngineSpec) -> None:
    run = Installer("uv pip install")
    assert install(spec, run=run, uv="uv").complete
    assert run.commands[-2][:3] == [sys.executable, "-m", "venv"]
    assert run.commands[-1][1:5] == ["-m", "pip", "install", "--require-hashes"]


def test_what_an_interruption_left_is_completed_and_never_used(spec: EngineSpec) -> None:
    with pytest.raises(EnvironmentFault) as caught:
        install(spec, run=Installer("pip install"), uv="uv")
    assert "no solution found" in str(caught.value)
    assert caught.value.remedy and caught.value.where == "roster.toml"
    assert environment_of(spec).path.is_dir() and not installed(spec)
    with pytest.raises(EnvironmentFault, match="not installed") as missing:
        interpreter(spec)
    assert missing.value.remedy == "run: tokassay engines install toy"
    assert install(spec, run=Installer(), uv="uv").complete


def test_another_lock_is_another_environment(spec: EngineSpec) -> None:
    before = install(spec, run=Installer(), uv="uv")
    assert spec.lock is not None
    spec.lock.write_text(LOCKED + "numpy==2.0 --hash=sha256:11\n", encoding="utf-8")
    assert environment_of(spec).path != before.path and not installed(spec)


def test_another_version_is_pinned_when_it_is_installed(spec: EngineSpec) -> None:
    older = with_version(spec, "0.9")
    assert (older.requirement, older.lock, older.pinned) == ("toy==0.9", None, "0.9")
    assert with_version(spec, "1.0") is spec
    run = Installer()
    made = install(older, run=run, uv="uv")
    assert run.commands[0][1:4] == ["pip", "compile", "--generate-hashes"]
    assert made.lock is not None and made.lock.read_text(encoding="utf-8") == LOCKED_OLDER
    assert installed(older) and not installed(spec)


def test_a_version_that_does_not_exist_is_named(spec: EngineSpec) -> None:
    with pytest.raises(EnvironmentFault, match=r"cannot pin toy==9: error: no solution found"):
        install(with_version(spec, "9"), run=Installer("compile"), uv="uv")


def test_without_uv_a_lock_is_enough(spec: EngineSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "find_uv", lambda: None)
    run = Installer()
    assert install(spec, run=run).complete
    assert all(Path(command[0]).name.startswith("python") for command in run.commands)
    with pytest.raises(EnvironmentFault, match="uv is needed to pin toy==2"):
        install(with_version(spec, "2"), run=Installer())


def test_a_lock_that_is_gone_is_named(spec: EngineSpec) -> None:
    assert spec.lock is not None
    spec.lock.unlink()
    with pytest.raises(EnvironmentFault, match="no lock at"):
        install(spec, run=Installer(), uv="uv")


def test_what_it_is_built_with_is_pinned_and_comes_first(spec: EngineSpec, tmp_path: Path) -> None:
    """Then the build is not isolated, in which installers would fetch what nobody pinned."""
    tools = tmp_path / "toy.build.txt"
    tools.write_text("cmake==4.0 --hash=sha256:22\n", encoding="utf-8")
    built = replace(spec, build_lock=tools)
    run = Installer()
    install(built, run=run, uv="uv")
    assert [command[command.index("--require-hashes") :] for command in run.commands[1:]] == [
        ["--require-hashes", "-r", str(tools)],
        ["--require-hashes", "--no-build-isolation", "-r", str(spec.lock)],
    ]
    run = Installer("uv")
    install(replace(built, name="other"), run=run, uv="uv")
    assert [command[-3:] for command in run.commands[-2:]] == [
        ["--no-deps", "-r", str(tools)], ["--no-build-isolation", "-r", str(spec.lock)],
    ]


def test_a_build_with_other_tools_is_another_build(spec: EngineSpec, tmp_path: Path) -> None:
    tools = tmp_path / "toy.build.txt"
    tools.write_text("cmake==4.0 --hash=sha256:22\n", encoding="utf-8")
    told = replace(spec, build_lock=tools, build_env={"CMAKE_ARGS": "-DA=1"})
    seen = [(environment_of(one).path, one.build_digest()) for one in (spec, replace(spec, build_lock=tools), told)]
    tools.write_text("cmake==4.1 --hash=sha256:23\n", encoding="utf-8")
    seen.append((environment_of(told).path, told.build_digest()))
    assert len({path for path, _ in seen}) == len({digest for _, digest in seen}) == 4


def test_a_build_is_told_what_the_roster_says(spec: EngineSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEPT", "as it was")
    tell = "import os; print(os.environ.get('CMAKE_ARGS'), os.environ['KEPT'])"
    assert environments.run_quietly([sys.executable, "-c", tell], {"CMAKE_ARGS": "-DA=1"}).stdout.split() == [
        "-DA=1", "as", "it", "was",
    ]
    told: list[str] = []

    def ran(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        told.append(options["env"].get("CMAKE_ARGS", ""))
        return Installer()(command)

    monkeypatch.setattr(subprocess, "run", ran)
    install(replace(spec, build_env={"CMAKE_ARGS": "-DA=1"}), uv="uv")
    install(replace(spec, name="plain"), uv="uv")
    assert told == ["-DA=1", "-DA=1", "", ""]


class Npm:
    """Stands in for npm: notes commands, and writes what they would."""

    def __init__(self, status: int = 0) -> None:
        self.status = status
        self.commands: list[list[str]] = []

    def __call__(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.commands.append(list(command))
        folder = Path(command[command.index("--prefix") + 1])
        if "--package-lock-only" in command:
            wanted = json.loads((folder / "package.json").read_text(encoding="utf-8"))["dependencies"]
            (folder / "package-lock.json").write_text(json.dumps({"locked": wanted}), encoding="utf-8")
        return subprocess.CompletedProcess(command, self.status, "", "npm error code EINTEGRITY\n" * self.status)


@pytest.fixture
def javascript(spec: EngineSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineSpec:
    """An engine of a scoped package of JavaScript; node and npm are where the paths say, and are not run."""
    monkeypatch.setattr(environments.shutil, "which", lambda name: f"/somewhere/{name}")
    lock = tmp_path / "toy.json"
    lock.write_text('{"lockfileVersion": 3}', encoding="utf-8")
    return replace(spec, runtime="node", requirement="@some/toy@1.0", lock=lock)


def test_npm_makes_it_from_the_lock_and_runs_nothing_of_it(javascript: EngineSpec) -> None:
    run = Npm()
    made = install(javascript, run=run)
    assert run.commands == [
        ["/somewhere/npm", "ci", "--prefix", str(made.path), "--ignore-scripts", "--no-audit", "--no-fund"]
    ]
    assert json.loads((made.path / "package.json").read_text(encoding="utf-8"))["dependencies"] == {"@some/toy": "1.0"}
    assert (made.path / "package-lock.json").read_text(encoding="utf-8") == '{"lockfileVersion": 3}'
    assert made.interpreter == made.path / "bin" / "node"
    assert str(made.interpreter.readlink()) == "/somewhere/node"
    assert made.complete and install(javascript, run=run) == made and len(run.commands) == 1


def test_npm_refusing_leaves_nothing_that_is_used(javascript: EngineSpec) -> None:
    with pytest.raises(EnvironmentFault, match=r"npm cannot ci @some/toy@1.0: npm error code EINTEGRITY"):
        install(javascript, run=Npm(1))
    assert not installed(javascript)


def test_another_version_of_javascript_is_locked_without_addresses(javascript: EngineSpec) -> None:
    older = with_version(javascript, "0.9")
    assert (older.requirement, older.pinned) == ("@some/toy@0.9", "0.9")
    run = Npm()
    made = install(older, run=run)
    assert run.commands[0][1] == "install"
    assert {"--package-lock-only", "--ignore-scripts", "--omit-lockfile-registry-resolved"} <= set(run.commands[0])
    assert made.lock is not None and made.lock.suffix == ".json"
    assert json.loads(made.lock.read_text(encoding="utf-8")) == {"locked": {"@some/toy": "0.9"}}


JAVASCRIPT = [spec for spec in load_roster().values() if spec.runtime == "node"]


@pytest.mark.parametrize("spec", JAVASCRIPT, ids=lambda spec: spec.name)
def test_a_lock_of_javascript_pins_by_digest_and_names_no_address(spec: EngineSpec) -> None:
    assert spec.lock is not None
    packages = json.loads(spec.lock.read_text(encoding="utf-8"))["packages"]
    assert packages.pop("")["dependencies"] == {spec.package: spec.pinned}
    assert packages[f"node_modules/{spec.package}"]["version"] == spec.pinned
    for name, row in packages.items():
        assert row["integrity"].startswith("sha512-") and "resolved" not in row, name


@pytest.mark.parametrize("spec", JAVASCRIPT, ids=lambda spec: spec.name)
def test_an_adapter_of_javascript_neither_repairs_text_nor_drops_its_mark(spec: EngineSpec) -> None:
    assert "new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })" in spec.adapter.read_text(encoding="utf-8")


@pytest.mark.node
@pytest.mark.network
@pytest.mark.parametrize("spec", JAVASCRIPT, ids=lambda spec: spec.name)
def test_javascript_installs_for_real(spec: EngineSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKASSAY_CACHE", str(tmp_path))
    with Host(spec, install(spec).interpreter) as host:
        assert host.hello()["version"] == spec.pinned


@pytest.mark.network
def test_gigatoken_installs_for_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKASSAY_CACHE", str(tmp_path))
    made = install(load_roster()["gigatoken"])
    done = subprocess.run(
        [made.interpreter, "-c", "import gigatoken, importlib.metadata as m; print(m.version('gigatoken'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "0.10.0"
