"""What a proof is made of: which verdicts spoil it, what the light suite holds, what its key covers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tokassay.corpora.lengths import CONSTRUCTIONS, lengths
from tokassay.corpora.open import open_corpus
from tokassay.engines.roster import load_roster
from tokassay.harness.bench import contestant
from tokassay.harness.load import load_vocabulary
from tokassay.harness.proof import LIGHT, LONG, Gate, Tally, thinned
from tokassay.harness.store import Store
from tokassay.harness.suites import load_suite


@pytest.mark.parametrize(
    ("verdicts", "passed"),
    [
        ({"match": 1000}, True),
        ({"match": 990, "error": 10}, True),  # one in a hundred may be refused aloud
        ({"match": 989, "error": 6, "unsupported": 5}, False),
        ({"match": 999, "differ": 1}, False),
        ({"match": 999, "flaky": 1}, False),
        ({"match": 999, "crash": 1}, False),
        ({"match": 999, "timeout": 1}, False),
        ({"reject": 1000}, True),  # as declared, and the oracle says the same
        ({"error": 1000}, False),
        ({}, False),
    ],
)
def test_only_a_wrong_document_spoils_a_proof_or_more_refusals_than_one_in_a_hundred(
    verdicts: dict[str, int], passed: bool
) -> None:
    assert Tally(sum(verdicts.values()), Counter(verdicts)).passed is passed


def test_the_light_suite_has_every_length_up_to_its_border_and_two_kinds_beyond() -> None:
    documents = list(thinned(open_corpus("lengths")).documents())
    sizes: dict[str, set[int]] = {}
    for document in documents:
        sizes.setdefault(document.name.split()[1], set()).add(int(document.name.split()[2]))
    assert set(sizes) == set(CONSTRUCTIONS)
    for name, found in sizes.items():
        assert {n for n in found if n <= 60_000} == {n for n in lengths() if n <= 60_000}, name
    beyond = {document.name for document in documents if len(document.data) > LONG}
    odd = [n for n in lengths() if n > LONG and n % 2]
    assert beyond == {f"lengths {kind} {n}" for kind in ("letters", "text") for n in odd}
    assert 1_000_001 in odd


def test_light_is_of_the_same_kinds_as_the_gate() -> None:
    def kinds(name: str) -> set[str]:
        return {one.spec.split(":")[0] for one in load_suite(name).corpora}

    assert kinds(LIGHT) == kinds("gate") - {"specials"}


def test_a_key_covers_what_a_proof_depends_on(tmp_path: Path) -> None:
    roster, store = load_roster(), Store(tmp_path / "store.sqlite")
    loaded = load_vocabulary("gpt2")
    light, full = (Gate(store, roster, load_suite(name)) for name in (LIGHT, "gate"))
    who, asked = contestant("dat-bpe", roster), loaded.contract
    other = asked.with_variants(unicode="17.0")
    adapted = replace(who, spec=replace(who.spec, adapter=roster["tiktoken"].adapter))
    keys = [
        light.key(who, asked, asked, "whole", 1, "neutral"),
        light.key(contestant("dat-bpe[cache_bits=4]", roster), asked, asked, "whole", 1, "neutral"),
        light.key(adapted, asked, asked, "whole", 1, "neutral"),
        light.key(who, other, asked, "whole", 1, "neutral"),
        light.key(who, asked, asked, "batch-flat", 1, "neutral"),
        light.key(who, asked, asked, "whole", 2, "neutral"),
        light.key(who, asked, asked, "whole", 1, "bytes"),
        full.key(who, asked, asked, "whole", 1, "neutral"),
        # The light suite leaves out most long documents; another suite of the same corpora does not.
        Gate(store, roster, replace(load_suite(LIGHT), name="mine")).key(who, asked, asked, "whole", 1, "neutral"),
        Gate(store, roster, load_suite(LIGHT), seed=1).key(who, asked, asked, "whole", 1, "neutral"),
    ]
    assert len(set(keys)) == len(keys)
    assert light.key(contestant("again=dat-bpe", roster), asked, asked, "whole", 1, "neutral") == keys[0]
    store.close()


@pytest.mark.parametrize("body", ["{}", "{", '{"passed": true}', "[]"])
def test_a_damaged_proof_proves_nothing(tmp_path: Path, body: str) -> None:
    roster, store = load_roster(), Store(tmp_path / "store.sqlite")
    store.insert("proof", {"key": "k", "started": "now", "body": body})
    assert Gate(store, roster, load_suite(LIGHT))._stored("k", contestant("dat-bpe", roster), "gpt2") is None
    store.close()
