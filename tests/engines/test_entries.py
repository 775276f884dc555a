"""The entry points that a bench times: what form they must give, and that nothing is done after the clock stopped."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
from tokassay.engines import frames
from tokassay.engines.client import Host, HostError, Measured
from tokassay.engines.roster import EngineSpec, load_roster

DOCUMENTS = [b"abc", b"", b"de", b"f"]
# The planted engine's id of a byte is its value.
IDS = [list(document) for document in DOCUMENTS]
RIGHT = frames.block_digest([3, 0, 2, 1], frames.ids_of(IDS))


def measured(spec: EngineSpec, op: str, **options: Any) -> tuple[Measured, list[list[int]]]:
    with Host(spec) as host:
        host.load({}, {})
        told = host.measure(DOCUMENTS, op, **options)
        kept = host.kept()
        assert isinstance(kept, frames.Ids)
        return told, kept.rows()


# What each language calls the forms: a buffer, a list.
FORMS = {"python": ("array", "list"), "node": ("Uint32Array", "Array")}


@pytest.mark.parametrize("op", ["whole", "documents_list", "batch_flat", "batch_list"])
def test_every_form_has_one_digest(speedy: dict[str, EngineSpec], runtime: str, op: str) -> None:
    told, rows = measured(speedy["none"], op)
    buffer, listed = FORMS[runtime]
    form = {"whole": buffer, "batch_flat": "flat buffer"}.get(op, listed)
    assert (told.digest, rows, told.form, told.irregular) == ([RIGHT], IDS, form, [])


def test_hello_names_them(speedy: dict[str, EngineSpec]) -> None:
    with Host(speedy["none"]) as host:
        assert host.hello()["entries"] == ["whole", "documents_list", "batch_flat", "batch_list"]


def test_offsets_may_be_a_window(speedy: dict[str, EngineSpec]) -> None:
    """What lies before the first offset and after the last belongs to no document."""
    told, rows = measured(speedy["window"], "batch_flat")
    assert (told.digest, rows) == ([RIGHT], IDS)


@pytest.mark.parametrize("fault", ["few-offsets", "falling-offsets"])
def test_offsets_that_do_not_part_the_documents_are_errors(speedy: dict[str, EngineSpec], fault: str) -> None:
    told, _ = measured(speedy[fault], "batch_flat")
    assert told.digest != [RIGHT]
    assert told.irregular == [0] and told.error_count > 0


def test_an_id_moved_over_a_border_is_another_digest(speedy: dict[str, EngineSpec]) -> None:
    told, rows = measured(speedy["wrong-border"], "batch_flat")
    assert told.digest != [RIGHT]
    assert list(chain(*rows)) == list(chain(*IDS))


def test_what_is_called_a_list_is_one(speedy: dict[str, EngineSpec]) -> None:
    with pytest.raises(HostError, match=r"must give (lists, not array|arrays, not Uint32Array)"):
        measured(speedy["no-list"], "documents_list")
    told, _ = measured(speedy["no-list"], "batch_list")
    assert told.digest != [RIGHT]
    _, kind, message = told.errors[0]
    assert kind == "TypeError"
    assert message.endswith(("must give lists, not tuple", "must give arrays, not Later"))


@pytest.mark.parametrize("fault", ["later-list", "later-buffer", "generator"])
def test_nothing_lazy_has_ids(speedy: dict[str, EngineSpec], fault: str) -> None:
    """A list subclass, an object that makes its buffer when asked, a generator: all would work off the clock."""
    told, _ = measured(speedy[fault], "whole")
    assert told.digest != [RIGHT]
    assert told.error_count == len(DOCUMENTS)
    if fault == "later-list":
        with pytest.raises(HostError, match=r"must give (lists|arrays), not Later"):
            measured(speedy[fault], "documents_list")


def test_a_start_is_waited_for(speedy: dict[str, EngineSpec]) -> None:
    """Two hosts can be told to start at one reading of the clock that all processes share."""
    with Host(speedy["none"]) as host:
        host.load({}, {})
        start = time.perf_counter_ns() + 300_000_000
        host.measure(DOCUMENTS, "whole", start_ns=start)
        assert time.perf_counter_ns() >= start


@pytest.fixture
def pinned(speedy: dict[str, EngineSpec]) -> Iterator[Host]:
    with Host(speedy["none"], cpus=[min(os.sched_getaffinity(0))], cpu_limit=False) as host:
        yield host


def test_a_host_stays_on_its_processor_and_may_be_without_a_cpu_limit(pinned: Host) -> None:
    limits = pinned.hello()["limits"]
    assert limits["cpus"] == [min(os.sched_getaffinity(0))]
    assert os.sched_getaffinity(pinned.pid) == {min(os.sched_getaffinity(0))}
    assert "cpu_s" not in limits
    pinned.load({}, {})
    assert pinned.measure(DOCUMENTS, "whole").digest == [RIGHT]
    assert pinned.peak_bytes > 1 << 20


@pytest.mark.parametrize("name", ["dat-bpe", "tiktoken", "tokenizers"])
@pytest.mark.parametrize("op", ["whole", "documents_list", "batch_flat", "batch_list"])
def test_the_projects_own_engines_by_every_entry(
    name: str, op: str, gpt2: dict[str, str]
) -> None:
    """tiktoken's published ids of `hello world`, through every entry point."""
    roster = load_roster()
    contract = {
        "algorithm": "bpe-ranks", "normalizer": "none", "specials": "off", "special_tokens": [], "added_tokens": [],
        "add_prefix_space": False, "byte_fallback": False, "byte_policy": "byte-alphabet", "unicode": "16.0",
        "ignore_merges": False,
        "pretokenizer": [r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"],
    }
    assert roster[name].entry_points[op]
    with Host(roster[name]) as host:
        host.load(contract, gpt2)
        told = host.measure([b"hello world", b"", b"hello"], op)
        kept = host.kept()
    assert isinstance(kept, frames.Ids)
    assert (kept.rows(), told.irregular) == ([[31373, 995], [], [31373]], [])
    if op.endswith("list"):
        assert told.form == "list"
