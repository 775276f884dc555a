"""What every test gets: a seeded world, a cache of its own, and no network."""

from __future__ import annotations

import os
import random
import shutil
import socket
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, settings

# No deadline anywhere: on a shared machine a slow example says nothing about the code.
settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile(
    "ci",
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "nightly", max_examples=5000, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0")
# A proxy that nobody listens on: child processes cannot fetch either, by the ordinary ways.
NOWHERE = "http://127.0.0.1:9"


class NetworkBlocked(RuntimeError):
    """A test not marked `network` tried to leave this machine."""


# Set on a machine that has Node, so that tests which need it cannot silently stay away.
NEEDS_NODE = "TOKASSAY_NEEDS_NODE"
without_node = pytest.StashKey[int]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests marked `network` unless `-m` speaks of them, and those marked `node` where there is none:
    deselected and counted, not skipped."""
    if "network" not in (config.option.markexpr or ""):
        leave_out(config, items, "network")
    if shutil.which("node") is None:
        config.stash[without_node] = leave_out(config, items, "node")
        if config.stash[without_node] and os.environ.get(NEEDS_NODE):
            raise pytest.UsageError(f"{NEEDS_NODE} is set, and node is not found on PATH")


def leave_out(config: pytest.Config, items: list[pytest.Item], marker: str) -> int:
    """Deselect the tests with a marker; how many there were."""
    gone = [item for item in items if item.get_closest_marker(marker)]
    if gone:
        config.hook.pytest_deselected(items=gone)
        items[:] = [item for item in items if item not in set(gone)]
    return len(gone)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was not tested here."""
    if count := config.stash.get(without_node, 0):
        terminalreporter.write_line(f"{count} tests of engines in JavaScript were left out: node is not installed")


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One cache a session (a worker): nothing of the user's own is read or written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKASSAY_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def _seed() -> None:
    random.seed(20260101)
    numpy.random.seed(20260101)


@pytest.fixture(autouse=True)
def _no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets reach loopback and the file system only."""
    if request.node.get_closest_marker("network"):
        return
    connect, connect_ex, lookup = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def check(host: object) -> None:
        name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
        if host is not None and not name.startswith(LOOPBACK):
            raise NetworkBlocked(f"{name}: tests run offline; mark the test `network`")

    def guarded(real: Any) -> Any:
        def call(self: socket.socket, address: Any) -> Any:
            if self.family in (socket.AF_INET, socket.AF_INET6):
                check(address[0])
            return real(self, address)

        return call

    def guarded_lookup(host: Any, *rest: Any, **more: Any) -> Any:
        check(host)
        return lookup(host, *rest, **more)

    monkeypatch.setattr(socket.socket, "connect", guarded(connect))
    monkeypatch.setattr(socket.socket, "connect_ex", guarded(connect_ex))
    monkeypatch.setattr(socket, "getaddrinfo", guarded_lookup)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, NOWHERE)
        monkeypatch.setenv(name.upper(), NOWHERE)
