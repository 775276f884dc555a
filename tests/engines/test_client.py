"""Every way a host can die has its own type, and the next host carries on."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from tokassay.engines.client import (
    Host,
    HostCrash,
    HostError,
    HostFailure,
    HostGarbage,
    HostMemory,
    HostTimeout,
    Unsupported,
    engine_environment,
)
from tokassay.engines.roster import EngineSpec

PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CONTRACT = {"algorithm": "bpe-ranks", "pretokenizer": [PATTERN], "specials": "off"}
DOCUMENTS = [b"hello world", b"TRIGGER", b"\xff"]
# Adapters that cannot be used, in each language.
BROKEN = {".py": "import a_package_that_is_not_there\n", ".mjs": "import 'a_package_that_is_not_there';\n"}
BOAST = {
    ".py": "class Adapter:\n    name = 'boast'\n    operations = ('decode',)\n",
    ".mjs": "export class Adapter { name = 'boast'; operations = ['decode']; }\n",
}
PICKY = {
    ".py": "class Adapter:\n    name = 'picky'\n    operations = ()\n"
    "    def load(self, *message):\n        raise Unsupported('only on Tuesdays')\n",
    ".mjs": "export class Adapter {\n  name = 'picky';\n  operations = [];\n"
    "  load() { throw new Unsupported('only on Tuesdays'); }\n}\n",
}


def fall(spec: EngineSpec, files: dict[str, str], op: str = "encode") -> HostFailure:
    """The failure of a measurement over documents with the trigger; the host must be gone after it."""
    with Host(spec) as host:
        host.load(CONTRACT, files)
        assert host.measure([b"hello world"]).ids == 2
        with pytest.raises(HostFailure) as caught:
            host.measure(DOCUMENTS, op)
        assert not host.alive
    return caught.value


@pytest.mark.parametrize(
    ("fault", "kind", "verdict", "detail"),
    [
        ("crashes", HostCrash, "crash", "SIGSEGV"),
        ("lone-ff", HostCrash, "crash", "SIGABRT"),
        ("exits", HostCrash, "crash", "exit status 7"),
        ("hangs", HostTimeout, "timeout", "no reply within 1 s"),
        ("garbage", HostGarbage, "error", "garbage on the pipe: expected a frame, found b'GARBAGE"),
    ],
)
def test_each_death_has_its_type(
    fault: str,
    kind: type[HostFailure],
    verdict: str,
    detail: str,
    planted: dict[str, EngineSpec],
    gpt2: dict[str, str],
) -> None:
    spec = replace(planted[fault], memory_mb=400, timeout_s=1.0 if fault == "hangs" else 60.0)
    for op in ("encode", "encode_batch"):
        failure = fall(spec, gpt2, op)
        assert type(failure) is kind
        assert failure.verdict == verdict
        assert detail in failure.detail


@pytest.mark.parametrize("op", ["encode", "encode_batch"])
@pytest.mark.parametrize("runtime", ["python"], indirect=True)  # Node cannot map memory that it shares
def test_shared_memory_is_watched(op: str, planted: dict[str, EngineSpec], gpt2: dict[str, str]) -> None:
    failure = fall(replace(planted["grows-shared"], memory_mb=400), gpt2, op)
    assert (type(failure), failure.verdict) == (HostMemory, "oom")
    assert "MiB resident, limit 400 MiB" in failure.detail


def test_a_crash_tells_the_signal(planted: dict[str, EngineSpec], gpt2: dict[str, str]) -> None:
    failure = fall(planted["crashes"], gpt2)
    assert isinstance(failure, HostCrash)
    assert (failure.signal, failure.status) == (signal.SIGSEGV, None)


def test_an_allocation_that_fails_is_the_documents_memory_error(
    planted: dict[str, EngineSpec], gpt2: dict[str, str]
) -> None:
    with Host(replace(planted["grows"], memory_mb=400)) as host:
        host.load(CONTRACT, gpt2)
        if planted["grows"].runtime == "python":
            assert host.measure(DOCUMENTS).errors == [(1, "MemoryError", "")]
        else:  # V8 ends its process
            with pytest.raises(HostMemory, match="allocation failed under a limit of 400 MiB"):
                host.measure(DOCUMENTS)


def test_a_kill_from_outside_is_taken_for_the_kernels(honest: Host) -> None:
    os.kill(honest.pid, signal.SIGKILL)
    with pytest.raises(HostMemory, match="killed by the kernel"):
        honest.measure(DOCUMENTS)


def test_a_dead_host_says_so_again(honest: Host) -> None:
    honest.kill()
    with pytest.raises(HostFailure):
        honest.measure(DOCUMENTS)


def test_an_adapter_that_does_not_import_is_an_error_with_its_reason(
    planted: dict[str, EngineSpec], tmp_path: Path
) -> None:
    adapter = (tmp_path / "broken").with_suffix(planted["honest"].adapter.suffix)
    adapter.write_text(BROKEN[adapter.suffix], encoding="utf-8")
    with Host(replace(planted["honest"], adapter=adapter)) as host, pytest.raises(HostError) as caught:
        host.hello()
    assert caught.value.kind in ("ModuleNotFoundError", "ERR_MODULE_NOT_FOUND")
    assert "a_package_that_is_not_there" in str(caught.value)
    assert "Traceback" in caught.value.stderr or "    at " in caught.value.stderr


def test_an_adapter_that_declares_what_it_lacks_is_an_error(planted: dict[str, EngineSpec], tmp_path: Path) -> None:
    adapter = (tmp_path / "boast").with_suffix(planted["honest"].adapter.suffix)
    adapter.write_text(BOAST[adapter.suffix], encoding="utf-8")
    with Host(replace(planted["honest"], adapter=adapter)) as host, pytest.raises(HostError, match="no such method"):
        host.hello()


def test_an_interpreter_that_is_not_there_is_a_failure_and_not_a_hang(planted: dict[str, EngineSpec]) -> None:
    with pytest.raises((HostFailure, FileNotFoundError)), Host(planted["honest"], "/nonexistent/python") as host:
        host.hello()


def test_ending_a_host_leaves_nothing(planted: dict[str, EngineSpec], gpt2: dict[str, str]) -> None:
    with Host(planted["honest"]) as host:
        host.load(CONTRACT, gpt2)
        pid, home = host.pid, host.home
        assert psutil.pid_exists(pid) and os.path.isdir(home)
    assert not psutil.pid_exists(pid) and not os.path.exists(home)


def test_an_engine_inherits_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_TOKEN", "secret")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    environment = engine_environment(2, "/somewhere")
    assert "SOME_API_TOKEN" not in environment and "PYTHONPATH" not in environment
    assert environment["HOME"] == "/somewhere"
    assert (environment["RAYON_NUM_THREADS"], environment["TOKENIZERS_PARALLELISM"]) == ("2", "true")


def test_limits_are_told(planted: dict[str, EngineSpec]) -> None:
    with Host(planted["honest"], memory_mb=1000) as host:
        limits = host.hello()["limits"]
    assert limits["memory_mb"] == 1000
    assert limits["core"] == 0
    assert limits["network"] in ("none", "not restricted")


def test_a_large_block_crosses_while_the_engine_prints(planted: dict[str, EngineSpec], gpt2: dict[str, str]) -> None:
    with Host(planted["prints"]) as host:
        host.load(CONTRACT, gpt2)
        assert host.measure([b"x" * 1000] * 4000).error_count == 0


def test_a_timeout_does_not_wait_longer_than_asked(planted: dict[str, EngineSpec], gpt2: dict[str, str]) -> None:
    with Host(replace(planted["hangs"], timeout_s=0.5)) as host:
        host.load(CONTRACT, gpt2)
        start = time.monotonic()
        with pytest.raises(HostTimeout):
            host.measure(DOCUMENTS)
        # Not a measure of speed: the bound only tells waiting from hanging.
        assert time.monotonic() - start < 60


def test_unsupported_is_the_engines_word(planted: dict[str, EngineSpec], gpt2: dict[str, str], tmp_path: Path) -> None:
    adapter = (tmp_path / "picky").with_suffix(planted["honest"].adapter.suffix)
    adapter.write_text(PICKY[adapter.suffix], encoding="utf-8")
    with Host(replace(planted["honest"], adapter=adapter)) as host:
        with pytest.raises(Unsupported) as caught:
            host.load(CONTRACT, gpt2)
        assert (caught.value.verdict, caught.value.detail) == ("unsupported", "only on Tuesdays")
        assert host.alive
