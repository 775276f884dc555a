"""What an audit of the whole field needs: slow engines are given less and say so, and no cell is due and blank."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tokassay.engines.client import Host, HostTimeout
from tokassay.harness.ask import Asker, TimeOver
from tokassay.harness.audit import Request, audit, most_hosts
from tokassay.harness.budget import Budget
from tokassay.harness.contract import Contract
from tokassay.harness.lanes import Lanes
from tokassay.harness.suites import CorpusRequest, Suite
from tokassay.reports.read import read_run
from tokassay.reports.tables import build

PLANTED = Path(__file__).parents[1] / "engines" / "planted" / "planted.toml"


class Quiet:
    """An audit's progress, unheard."""

    def note(self, text: str) -> None: ...
    def corpus(self, name: str) -> None: ...
    def advance(self, documents: int, reused: bool) -> None: ...
    def verdicts(self, engine: str, counts: dict[str, int]) -> None: ...


def run(folder: Path, *corpora: CorpusRequest, engines: tuple[str, ...] = ("dat-bpe",), **more: Any) -> Any:
    """The tables of an audit in `folder`, whose store stays there."""
    suite = Suite("t", "", ("gpt2", "traps"), engines, corpora, **more)
    audit(Request(suite, folder / "s.sqlite", "tokassay audit", roster=(PLANTED,)), Quiet())
    return build(read_run(folder / "s.sqlite"))


def asked(spec: str, fast: float = 0.0, specials: tuple[str, ...] = ("off",)) -> CorpusRequest:
    return CorpusRequest(spec, ("encode",), specials, fast)


def test_an_engine_below_the_rate_is_not_asked_and_its_cell_says_why(tmp_path: Path) -> None:
    # No engine encodes a million megabytes a second, and each more than one byte: that is no matter of the machine.
    corpora = asked("sample"), asked("fuzz:20", fast=1e6), asked("fuzz:30", fast=1e-6), asked("fuzz:40")
    for again in (False, True):
        tables = run(tmp_path, *corpora)
        cells = tables.matrix.cells
        assert tables.matrix.kinds == ("fuzz", "scripts") and not tables.matrix.blanks
        for vocabulary in ("gpt2", "traps"):
            whole, part = cells["dat-bpe", vocabulary, "scripts"], cells["dat-bpe", vocabulary, "fuzz"]
            assert whole.verdict == "match" and not whole.part
            assert part.verdict == "match" and part.part
            assert part.verdicts == {"match": 70, "unsupported": 20}
            (reason,) = part.reasons
            assert reason.startswith("time: the engine is slower than 1e+06 MB/s (")
            assert "bytes of real text" in reason
        # The second run knows the rate from what it takes out of the store, and the question stays open.
        assert bool(tables.reused) == again


def test_a_vocabularys_minutes_leave_no_cell_blank(tmp_path: Path) -> None:
    tables = run(tmp_path, asked("fuzz:10"), asked("fuzz:12"), vocabulary_minutes=1e-9)
    for vocabulary in ("gpt2", "traps"):
        cell = tables.matrix.cells["dat-bpe", vocabulary, "fuzz"]
        # What is begun is brought to its end: each vocabulary has its own time.
        assert cell.verdict == "match" and cell.part and cell.verdicts["match"] >= 1
        assert cell.reasons == ("time: the engine's 1e-09 minutes for this vocabulary were over",)
    assert tables.check.ok


def test_a_run_says_what_it_is_to_have(tmp_path: Path) -> None:
    corpora = asked("fuzz:5"), asked("specials:2", specials=("off", "on")), asked("sample", specials=("on",))
    tables = run(tmp_path, *corpora, engines=("dat-bpe", "dat-greedy", "crashes"))
    plan = tables.run["environment"]["plan"]
    assert plan["engines"] == ["dat-bpe", "dat-greedy", "crashes"]
    assert [each["name"] for each in plan["vocabularies"]] == ["gpt2", "traps"]
    assert plan["kinds"] == ["fuzz", "specials"]
    assert plan["corpora"] == {
        "fuzz:5": "fuzz", "specials:2 (gpt2)": "specials", "specials:2 (traps)": "specials", "sample": "scripts"
    }
    assert json.dumps(plan)
    found = tables.matrix
    # An engine that cannot serve a vocabulary is a cell with its reason, and special tokens are a kind of their own.
    assert not found.blanks and len(found.cells) == 3 * 2 * 2
    greedy = found.cells["dat-greedy", "gpt2", "fuzz"]
    assert greedy.verdict == "unsupported" and "serves greedy-longest, not bpe-ranks" in greedy.reasons[0]
    both = found.cells["dat-bpe", "gpt2", "specials"]
    assert both.policies == ("off", "on") and "--specials off --specials on" in both.command
    assert Counter(cell.verdict for cell in found.cells.values())["match"] >= 4


def test_engines_that_do_not_fit_into_memory_together_are_asked_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpora, engines = (asked("fuzz:40"), asked("specials:2", specials=("on",))), ("dat-bpe", "crashes", "honest")
    whole = run(tmp_path / "whole", *corpora, engines=engines)
    monkeypatch.setattr("tokassay.harness.audit.most_hosts", lambda jobs: 1)
    opened: list[int] = []
    close = Lanes.close

    def closed(lanes: Lanes) -> None:
        opened.append(sum(map(len, lanes._spare.values())))
        close(lanes)

    monkeypatch.setattr(Lanes, "close", closed)
    parts = run(tmp_path / "parts", *corpora, engines=engines)
    assert parts.check.ok and not parts.matrix.blanks
    assert {key: cell.verdicts for key, cell in parts.matrix.cells.items()} == {
        key: cell.verdicts for key, cell in whole.matrix.cells.items()
    }
    columns = ["label", "corpus", "domain", "operation", "engine", "digest", "expected", "state"]
    assert parts.digests[columns].equals(whole.digests[columns])
    assert len(parts.corpora) == len(whole.corpora)
    assert max(opened) <= 1


def test_engines_of_a_contract_without_an_oracle_stay_together() -> None:
    """They are held to each other."""
    lanes = Lanes(Suite("t", "", ("gpt2",), ("dat-bpe", "dat-greedy", "honest"), ()), (PLANTED,), None, {}, 1)
    (vocabulary,) = lanes.vocabularies()
    try:
        assert lanes.parts(vocabulary, 1) == [("dat-bpe", "dat-greedy"), ("honest",)]
        assert lanes.parts(vocabulary, 9) == [("dat-bpe", "honest", "dat-greedy")]
        opaque = replace(vocabulary.loaded.contract, algorithm="opaque")
        alone = replace(vocabulary, loaded=replace(vocabulary.loaded, contract=opaque))
        (together,) = lanes.parts(alone, 1)
        assert set(together) == {"dat-bpe", "dat-greedy", "honest"}
    finally:
        lanes.close()


def test_an_engine_that_hung_on_a_vocabulary_is_not_given_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_for: list[str] = []

    def hang(lanes: Lanes, engine: str, contract: Contract) -> Host:
        asked_for.append(contract.specials)
        raise HostTimeout("no reply within 120 s")

    monkeypatch.setattr(Lanes, "_open", hang)
    lanes = Lanes(Suite("t", "", ("gpt2", "traps"), ("dat-bpe",), ()), (), None, {}, 1)
    for vocabulary in lanes.vocabularies():
        for policy in ("off", "on"):
            (lane,) = lanes.subject(vocabulary, policy, "")[1]
            assert lane.failed is not None and lane.failed[0] == "timeout" and "within 120 s" in lane.failed[1]
    assert asked_for == ["off", "off"], "each vocabulary once"


def test_memory_decides_how_many_have_a_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"available": 16 << 30})())
    assert most_hosts(2) == 16 and most_hosts(1) == 32
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"available": 1 << 30})())
    assert most_hosts(2) == 4


@pytest.mark.parametrize(("left_s", "limit_s"), [(3.0, 10.0), (60.0, 60.0), (500.0, 120.0), (None, None)])
def test_a_call_ends_with_the_vocabularys_minutes(left_s: float | None, limit_s: float | None) -> None:
    limits: list[float | None] = []

    class Hangs:
        timeout_s = 120.0

        def measure(self, *_: Any, timeout_s: float | None, **__: Any) -> Any:
            limits.append(timeout_s)
            raise HostTimeout("no reply", stderr="")

        def close(self) -> None:
            pass

    asker = Asker(lambda: cast(Any, Hangs()))
    asker.left_s, asker.over = lambda: left_s, lambda: "time: over"
    with pytest.raises(TimeOver, match="time: over"):
        asker.measure("encode", cast(Any, SimpleNamespace(body=b"", documents=1)))
    assert limits == [limit_s]


def test_what_is_left_of_a_vocabularys_minutes() -> None:
    budget = Budget(vocabulary_s=60)
    budget.spend("slow", "gpt2", 50)
    assert (budget.left_s("slow", "gpt2", 4), budget.left_s("slow", "cl100k")) == (6, 60)
    assert Budget(limit_s=60).left_s("slow", "gpt2") is None
