"""Which divergences of an audit are reduced, and which turn out to be one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from tokassay.harness import reductions
from tokassay.harness.contract import Contract
from tokassay.harness.divergences import Divergence, Witness
from tokassay.harness.explain import process_finding
from tokassay.harness.hosts import Target, oracle_spec
from tokassay.harness.load import load_vocabulary
from tokassay.harness.minimal import Minimal
from tokassay.harness.reduce import Reduced
from tokassay.harness.reductions import reduce_all
from tokassay.harness.store import Store


class Rows:
    """What is written."""

    path = Path("store.sqlite")

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def insert(self, kind: str, row: dict[str, Any]) -> None:
        assert kind == "reduction"
        self.rows.append(row)


def crash(operation: str, why: str, contract: Contract) -> Divergence:
    loaded = load_vocabulary("gpt2")
    side = Target("oracle", oracle_spec(), contract)
    finding = process_finding("crash", why, b"\xff")
    return Divergence(
        "crash", "gpt2", "planted", "oracle", finding.signature, "off", detail=finding.detail(),
        witness=Witness(b"\xff", side, side, loaded, operation, "off"),
    )


def differing(signature: str, contract: Contract) -> Divergence:
    found = crash("encode", "", contract)
    found.verdict, found.signature, found.detail = "differ", signature, {**found.detail, "stage": signature.split()[1]}
    return found


def test_what_is_inferred_of_a_stage_is_what_was_traced_there() -> None:
    """Where it says no more than the stage; it comes first, as more documents show it."""
    contract = load_vocabulary("gpt2").contract
    signatures = (
        "inferred lookup", "traced lookup", "inferred merge", "inferred lookup (L | N)", "traced lookup a / b",
    )
    store = Rows()
    reduce_all(
        [differing(each, contract) for each in signatures], cast(Store, store), "run", roster={}, options=(), seconds=0,
        note=lambda _: None, step=lambda _: None,
    )
    assert {row["ordinal"]: row["like"] for row in store.rows} == {0: 1, 1: None, 2: None, 3: None, 4: None}


def test_what_comes_and_goes_is_the_steady_one_of_its_name() -> None:
    """Also where its documents were not looked at; alone it has no row, as it cannot be replayed."""
    contract = load_vocabulary("gpt2").contract
    rare, timed, unseen, other = (
        differing(each, contract)
        for each in ("inferred lookup", "inferred lookup, only when timed", "inferred lookup", "inferred merge")
    )
    rare.verdict = unseen.verdict = other.verdict = "flaky"
    unseen.detail, unseen.witness = {}, None
    store = Rows()
    reduce_all(
        [rare, timed, unseen, other, differing("inferred lookup", contract)], cast(Store, store), "run", roster={},
        options=(), seconds=0, note=lambda _: None, step=lambda _: None,
    )
    assert {row["ordinal"]: row["like"] for row in store.rows} == {4: None, 1: 4, 0: 4, 2: 4}


def test_a_crash_while_decoding_is_that_of_encoding() -> None:
    """It has no smallest document of its own, whatever came first; a crash of decoding alone has no row."""
    contract = load_vocabulary("gpt2").contract
    found = [
        crash("decode", "not isolated: SIGILL", contract), crash("encode", "SIGILL", contract),
        crash("decode", "SIGBUS", contract), crash("encode_batch", "not isolated: SIGILL", contract),
    ]
    store = Rows()
    reduce_all(
        found, cast(Store, store), "run", roster={}, options=(), seconds=0, note=lambda _: None, step=lambda _: None
    )
    assert {row["ordinal"]: row["like"] for row in store.rows} == {0: 1, 1: None, 3: 1}
    assert {row["outcome"] for row in store.rows} == {"not asked"}


def test_an_interrupted_reduction_interrupts_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> Any:
        return Minimal(Reduced(b"", b"", interrupted=True), cast(Any, None))

    monkeypatch.setattr(reductions, "minimize", interrupted)
    store, found = Rows(), [differing("traced merge", load_vocabulary("gpt2").contract)]
    with pytest.raises(KeyboardInterrupt):
        reduce_all(
            found, cast(Store, store), "run", roster={}, options=(), seconds=5, note=lambda _: None,
            step=lambda _: None,
        )  # fmt: skip
    assert store.rows == []
