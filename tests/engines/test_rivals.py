"""Engines in environments of their own: locks that pin what the roster pins; and, by hand, each installed and asked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tokassay.engines import frames
from tokassay.engines.environments import install
from tokassay.engines.host import SELF
from tokassay.engines.roster import EngineSpec, load_roster
from tokassay.harness import bench
from tokassay.harness.hosts import open_host
from tokassay.harness.load import load_vocabulary

# Those that a bench times; other engines of the roster serve other contracts.
RIVALS: dict[str, EngineSpec] = {name: load_roster()[name] for name in bench.RIVALS}
ENTRIES = ("whole", "documents_list", "batch_flat", "batch_list")
# tiktoken's published ids of "hello world" in cl100k_base.
HELLO = [15339, 1917]


@pytest.mark.parametrize("spec", RIVALS.values(), ids=RIVALS.keys())
def test_the_lock_pins_what_the_roster_pins_with_hashes(spec: EngineSpec) -> None:
    assert spec.lock is not None
    text = Path(spec.lock).read_text(encoding="utf-8")
    assert re.search(rf"^{re.escape(spec.requirement)} ", text, re.MULTILINE)
    pins = re.findall(r"^[a-z0-9._-]+==\S+ .*?(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    assert pins and all("--hash=sha256:" in pin for pin in pins)


@pytest.mark.parametrize("spec", RIVALS.values(), ids=RIVALS.keys())
def test_every_entry_point_is_named(spec: EngineSpec) -> None:
    assert {*spec.operations, *ENTRIES} <= set(spec.entry_points)


@pytest.mark.network
@pytest.mark.parametrize("spec", RIVALS.values(), ids=RIVALS.keys())
def test_it_installs_and_gives_published_ids_by_every_entry(spec: EngineSpec) -> None:
    install(spec)
    loaded = load_vocabulary("cl100k_base")
    contract = loaded.contract.with_variants(unicode=spec.unicode, byte_policy=spec.byte_policy)
    timed = [operation for operation in spec.operations if operation not in SELF]
    for operation in (*timed, *ENTRIES):
        with open_host(spec.name, loaded, contract, roster=RIVALS) as host:
            assert host.hello()["version"] == spec.pinned
            told = host.measure([b"hello world", b"", b"hello"], "encode" if operation == "decode" else operation)
            kept = host.kept()
            assert isinstance(kept, frames.Ids)
            assert (kept.rows(), told.irregular) == ([HELLO, [], HELLO[:1]], [])
