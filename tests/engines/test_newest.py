"""What package clients print of the newest release, read: uv's lock with upload times, pip's list, npm's view."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tokassay.engines import newest as module
from tokassay.engines.newest import Newest, newest
from tokassay.engines.roster import EngineSpec, load_roster
from tokassay.harness.engine_rows import later, outdated_rows

# As uv 0.13 writes it (PEP 751), but for the host; a source archive may be later than its wheels.
LOCK = """\
lock-version = "1.0"
created-by = "uv"
requires-python = ">=3.11"

[[packages]]
name = "toy-kit"
version = "{version}"
sdist = {{ url = "https://f/toy_kit.tar.gz", upload-time = {day}T17:50:29Z, size = 1, hashes = {{ sha256 = "00" }} }}
wheels = [{{ url = "https://f/toy_kit.whl", upload-time = {day}T17:50:17Z, size = 2, hashes = {{ sha256 = "01" }} }}]
"""
PIP = "toy-kit (1.2)\nAvailable versions: 2.0rc1, 1.2, 1.1\n"
NPM = {"version": "4.0.0", "time": {"created": "2021-01-01T00:00:00.000Z", "3.4.0": "2025-11-14T18:18:35.243Z",
                                    "4.0.0": "2026-05-02T10:00:00.000Z"}}


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> EngineSpec:
    monkeypatch.setattr(module, "find_uv", lambda: "uv")
    return replace(load_roster()["gigatoken"], name="toy", requirement="Toy_Kit==1.1")


def said(out: str, code: int = 0, err: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess([], code, out, err)


def test_uv_tells_the_newest_and_both_days(toy: EngineSpec) -> None:
    asked = []

    def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        asked.append(Path(command[-1]).read_text(encoding="utf-8").split())
        pinned = "==" in asked[-1][0]
        return said(LOCK.format(version="1.1" if pinned else "1.2", day="2026-01-05" if pinned else "2026-10-26"))

    found = newest([toy], run=run)
    assert found == {"toy": Newest("1.2", "2026-10-26", "2026-01-05")}
    assert asked == [["Toy_Kit"], ["Toy_Kit==1.1"]]
    (row,) = outdated_rows([toy], found)
    assert (row["pinned"], row["newest"], row["outdated"]) == ("1.1", "1.2", True)


def test_one_that_uv_does_not_find_keeps_nobody_from_it(toy: EngineSpec) -> None:
    other = replace(toy, name="other", requirement="nowhere==1.0")

    def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        if command[0] != "uv":
            return said("", 1, "ERROR: No matching distribution found for nowhere\n")
        names = Path(command[-1]).read_text(encoding="utf-8")
        if "nowhere" in names:
            return said("", 1, "error: no solution")
        return said(LOCK.format(version="1.2", day="2026-10-26"))

    found = newest([toy, other], run=run)
    assert found["toy"].version == "1.2" and found["other"].version == ""
    assert "lists no release of nowhere" in found["other"].problem
    assert [row["outdated"] for row in outdated_rows([toy, other], found)] == [True, None]


def test_pip_is_asked_without_uv_and_takes_no_pre_release(toy: EngineSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_uv", lambda: None)
    assert newest([toy], run=lambda command: said(PIP)) == {"toy": Newest("1.2")}


def test_npm_tells_a_package_of_its_own_kind(toy: EngineSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    node = replace(toy, name="js", runtime="node", requirement="@scope/toy@3.4.0")
    monkeypatch.setattr(module.shutil, "which", lambda name: f"/bin/{name}")
    found = newest([node], run=lambda command: said(json.dumps(NPM)))
    assert found == {"js": Newest("4.0.0", "2026-05-02", "2025-11-14")}
    assert "npm tells nothing" in newest([node], run=lambda command: said("", 1, "npm error 404"))["js"].problem
    monkeypatch.setattr(module.shutil, "which", lambda name: None)
    assert newest([node])["js"].problem == "npm is not installed"


def test_an_engine_without_a_pin_is_not_asked_for(toy: EngineSpec) -> None:
    assert newest([load_roster()["dat-bpe"]], run=lambda command: said("")) == {}
    assert later("0.10.0", "0.9.0") and not later("1.0", "1.0.0") and not later("1.0rc1", "1.0") and later("b", "a")
