"""What pip says of a package's releases, read: wheels that fit, sources, what is yanked, what fits nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tokassay.engines.environments import EnvironmentFault, Run
from tokassay.engines.releases import NO_FIT, Release, parse, releases

# As pip 23.2 and pip 26.3 print it, but for the host.
TOLD = """\
1 location(s) to search for versions of toy-kit:
Fetching project page and analyzing links: index://simple/toy-kit/
  Found link https://files/aa/toy_kit-0.9.0-py3-none-any.whl (from x) (requires-python:>=3.8), version: 0.9.0
  Found link https://files/ab/toy-kit-0.9.0.tar.gz (from x) (requires-python:>=3.8), version: 0.9.0
  Found link https://files/ac/toy_kit-0.10.0%2Blocal-py3-none-any.whl (from x), version: 0.10.0+local
  Found link https://files/ad/toy-kit-0.10.1.tar.gz (from x), version: 0.10.1
  Skipping link: none of the wheel's tags (cp38-cp38-win_amd64) are compatible (run pip debug --verbose to show \
compatible tags): https://files/ae/toy_kit-0.8.0-cp38-cp38-win_amd64.whl (from x)
  Skipping link: yanked for reason: wrong: ids: https://files/af/toy_kit-0.7.0-py3-none-any.whl (from x)
  Skipping link: yanked for reason: <none given>: https://files/af/toy-kit-0.6.0.tar.gz (from x)
  Skipping link: 2.0 Requires-Python >=3.99: https://files/ba/toy_kit-2.0-py3-none-any.whl (from x)
  Skipping link: not a file: https://simple/toy-kit/
  Skipping link: wrong project name (not toy-kit): file:///wheels/other-1.0-py3-none-any.whl
Found link file:///wheels/toy_kit-1.0rc1-py3-none-any.whl, version: 1.0rc1
toy-kit (1.0rc1)
Available versions: 1.0rc1, 0.10.1, 0.10.0+local, 0.9.0
"""


def test_every_release_is_read_in_the_order_of_versions() -> None:
    assert parse(TOLD, "toy-kit") == [
        Release("0.6.0", yanked=""),
        Release("0.7.0", yanked="wrong: ids"),
        Release("0.8.0"),
        Release("0.9.0", wheel=True, source=True),
        Release("0.10.0+local", wheel=True),
        Release("0.10.1", source=True),
        Release("1.0rc1", wheel=True),
        Release("2.0"),
    ]


def test_why_a_release_cannot_be_installed() -> None:
    told = {one.version: one.untestable() for one in parse(TOLD, "toy-kit")}
    assert (told["0.9.0"], told["0.8.0"], told["0.10.1"]) == ("", NO_FIT, "source only (--build compiles it)")
    assert Release("1", source=True).untestable(build=True) == ""
    assert [one.version for one in parse(TOLD, "toy-kit") if one.pre] == ["1.0rc1"]


def test_a_pip_that_only_lists_versions_is_believed() -> None:
    assert parse("toy (1.1)\nAvailable versions: 1.1, 1.0\n", "toy") == [
        Release("1.0", wheel=True), Release("1.1", wheel=True)
    ]


def test_no_release_is_an_infrastructure_error() -> None:
    def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        assert command[:3] == [sys.executable, "-m", "pip"] and command[-1] == "toy"
        return subprocess.CompletedProcess(command, 1, "", "ERROR: No matching distribution found for toy\n")

    with pytest.raises(EnvironmentFault, match="lists no release of toy: ERROR: No matching") as caught:
        releases("toy", run=run, python=Path(sys.executable))
    assert (caught.value.exit_code, "pip index versions toy" in caught.value.remedy) == (5, True)


def npm(stdout: str, status: int = 0, stderr: str = "") -> Run:
    return lambda command: subprocess.CompletedProcess(command, status, stdout, stderr)


def test_npm_lists_releases_in_their_order() -> None:
    listed = '["1.10.0", "1.9.0", "2.0.0-beta.1", "2.0.0", "canary-x"]'
    found = releases("@some/toy", runtime="node", run=npm(listed))
    assert [(one.version, one.pre) for one in found] == [
        ("1.9.0", False), ("1.10.0", False), ("2.0.0-beta.1", True), ("2.0.0", False)
    ]
    assert all(one.untestable() == "" for one in found)
    assert [one.version for one in releases("toy", runtime="node", run=npm('"1.0.0"'))] == ["1.0.0"]


def test_npm_that_lists_nothing_says_why() -> None:
    with pytest.raises(EnvironmentFault, match="npm lists no release of toy: npm error code E404") as caught:
        releases("toy", runtime="node", run=npm("", 1, "npm error code E404\n"))
    assert caught.value.exit_code == 5
