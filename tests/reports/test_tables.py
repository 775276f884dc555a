"""Tables against counts made by hand; the sum check against gaps planted in the store."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokassay.reports.cells import corpus_digest
from tokassay.reports.errors import ReportError
from tokassay.reports.read import read_run
from tokassay.reports.tables import build
from tokassay.reports.view import digest_rows

# Three engines, four operations: battery 1,132, fuzz 4,821 and sample 2,483 documents.
DUE = 3 * 4 * (1132 + 4821 + 2483)


def test_an_agreed_run(scenario: Callable[[str], Path]) -> None:
    tables = build(read_run(scenario("agreed")))
    assert tables.check.ok
    assert (tables.check.expected, tables.check.blocks, tables.check.counted) == (DUE, DUE, DUE)
    assert sum(tables.totals.values()) == DUE
    # tiktoken has no offsets; tokenizers rejects every document that is not UTF-8, in four operations.
    assert tables.totals["unsupported"] == 1132 + 4821 + 2483
    assert tables.totals["reject"] == 4 * (389 + 3321)
    assert tables.banner.kind == "agreed"
    assert "dat-bpe, tiktoken and tokenizers on 8,436 documents of 3 corpora" in tables.banner.sentence
    assert [d.engine for d in tables.declared] == ["tiktoken", "tokenizers"]
    assert tables.failing == []


def test_a_failing_run(scenario: Callable[[str], Path]) -> None:
    tables = build(read_run(scenario("failing")))
    assert tables.banner.kind == "mismatch"
    assert "2 of 3 engines failed" in tables.banner.sentence
    where = "all on ill-formed UTF-8"
    who = f"dat-bpe (5 differences, {where}) and tokenizers (1 crash, 3 timeouts, {where}); tiktoken agreed."
    assert who in tables.banner.sentence
    assert [(d.verdict, d.documents) for d in tables.failing] == [("differ", 5), ("timeout", 3), ("crash", 1)]
    assert tables.failing[0].split == 0
    assert tables.failing[1].split is None
    squares = tables.matrices[0].squares
    assert squares["dat-bpe"]["battery"] is not None and squares["dat-bpe"]["battery"].tone == "fail"
    assert squares["dat-bpe"]["sample"] is not None and squares["dat-bpe"]["sample"].tone == "match"
    assert squares["tiktoken"]["sample"] is not None and squares["tiktoken"]["sample"].tone == "part"


def test_failures_on_text_that_all_read_alike_have_no_excuse(scenario: Callable[[str], Path]) -> None:
    frames = read_run(scenario("failing"))
    frames.cells["domain"] = frames.verdicts["domain"] = "neutral"
    assert "dat-bpe (5 differences) and tokenizers" in build(frames).banner.sentence


def test_a_run_that_verified_nothing(scenario: Callable[[str], Path]) -> None:
    tables = build(read_run(scenario("nothing")))
    assert tables.banner.kind == "nothing"
    assert tables.check.ok


def test_corpus_digest() -> None:
    # printf '' | sha256sum and printf 'a' | sha256sum; their bytes through sha256sum again.
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    a = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4f72b9807785afee48bb"
    assert corpus_digest([empty]) == "5df6e0e2761359d30a8275058e299fcc0381534545f55cf43e41983f5d4c9456"
    assert corpus_digest([empty, a]) == hashlib.sha256(bytes.fromhex(empty + a)).hexdigest()
    assert corpus_digest([a, empty]) != corpus_digest([empty, a])
    assert corpus_digest([empty, ""]) == ""


def test_digests_share_a_row_where_variants_do_not_matter(scenario: Callable[[str], Path]) -> None:
    rows = digest_rows(build(read_run(scenario("failing"))))
    neutral = [r for r in rows if (r["corpus"], r["domain"]) == ("sample", "neutral") and "encode" in r["operations"]]
    assert [(r["operations"], r["equal"]) for r in neutral] == [
        (["encode", "encode_batch"], ["dat-bpe", "tiktoken", "tokenizers"])
    ]
    wrong = [(r["corpus"], r["domain"], r["operations"], r["differs"]) for r in rows if r["differs"]]
    assert wrong == [("battery", "bytes", ["encode"], ["dat-bpe"])]


def one(builder: Callable[[], Any], cells: list[dict[str, Any]], documents: int = 10, **run: Any) -> Path:
    """A store of one corpus and the cells given."""
    store = builder()
    store.begin(**run)
    store.corpus("battery", "battery", documents)
    contract = store.contract("16.0", "byte-alphabet")
    for cell in cells:
        engine = cell.pop("engine", "dat-bpe")
        operation = cell.pop("operation", "encode")
        store.cell("battery", "neutral", engine, operation, contract, store.build(engine, "1", engine), **cell)
    return Path(store.close())


TEN = {"verdicts": {"match": 10}}


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ([{"verdicts": {"match": 9}, "documents": 10}], "has 9 verdicts for 10 documents"),
        ([{"verdicts": {"match": 11}, "documents": 10}], "has 11 verdicts for 10 documents"),
        ([{"verdicts": {"match": 9}}], "dat-bpe encode covers 9 of 10 documents"),
        ([{**TEN}, {**TEN, "ordinal": 1}], "dat-bpe encode covers 20 of 10 documents"),
        ([{**TEN}, {**TEN, "operation": "decode"}, {**TEN, "engine": "b"}], "b decode has no row at all"),
        ([{**TEN}, {"verdicts": {"match": 8}, "engine": "b"}], "b encode covers 8 of 10 documents"),
    ],
)
def test_the_sum_check_names_each_gap(builder: Callable[[], Any], cells: list[dict[str, Any]], problem: str) -> None:
    tables = build(read_run(one(builder, cells)))
    assert not tables.check.ok
    assert any(problem in found for found in tables.check.problems), tables.check.problems
    assert tables.banner.kind == "broken"
    assert "do not add up" in tables.check.sentence


def test_a_corpus_without_results_is_a_gap(builder: Callable[[], Any]) -> None:
    store = builder()
    store.begin()
    store.corpus("battery", "battery", 10)
    tables = build(read_run(store.close()))
    assert tables.check.problems == ["corpus battery was opened and has no result"]
    assert tables.banner.kind == "nothing"


def test_an_exit_code_that_the_verdicts_do_not_bear_out(builder: Callable[[], Any]) -> None:
    tables = build(read_run(one(builder, [{"verdicts": {"match": 9, "differ": 1}}], exit_code=0)))
    assert tables.banner.kind == "mismatch"
    assert any("exit code 0 (all agreed), which its verdicts do not bear out" in note for note in tables.banner.notes)


def test_an_interrupted_run_is_no_success(builder: Callable[[], Any]) -> None:
    tables = build(read_run(one(builder, [{**TEN}], finished=None, exit_code=None)))
    assert tables.banner.kind == "interrupted"
    assert tables.run["exit_meaning"] == "not finished"


def test_missing_blocks_leave_no_corpus_digest(builder: Callable[[], Any]) -> None:
    tables = build(read_run(one(builder, [{**TEN}, {**TEN, "ordinal": 2}], documents=20)))
    assert tables.digests["state"].tolist() == ["none"]


def test_reused_blocks_are_left_out_of_time(builder: Callable[[], Any]) -> None:
    tables = build(read_run(one(builder, [{**TEN}, {**TEN, "ordinal": 1, "reused": 1}], documents=20)))
    assert tables.times["call"].tolist() == [4_000_000]
    assert tables.times["prepare"].tolist() == [300_000]
    assert tables.times["hash"].tolist() == [600_000]
    assert tables.reused == 1


def test_rows_carry_their_command(scenario: Callable[[str], Path]) -> None:
    tables = build(read_run(scenario("agreed")))
    row = next(r for r in tables.coverage.to_dict("records") if (r["engine"], r["corpus"]) == ("tiktoken", "fuzz"))
    expected = "tokassay audit --vocab gpt2 --engine tiktoken --corpus fuzz:4821 --seed 7"
    assert tables.command(row) == expected


def test_specials_are_told_apart(builder: Callable[[], Any]) -> None:
    store = builder()
    store.begin()
    store.corpus("specials", "specials", 10)
    for specials in ("off", "on"):
        contract = store.contract("16.0", "byte-alphabet", specials)
        store.cell(
            "specials", "neutral", "dat-bpe", "encode", contract, store.build("dat-bpe", "1", "x"), {"match": 10}
        )
    tables = build(read_run(store.close()))
    assert [m.label for m in tables.matrices] == ["gpt2", "gpt2 (specials on)"]
    assert tables.check.ok
    assert tables.command(tables.coverage.to_dict("records")[1]).endswith("--specials on --seed 7")


def test_an_unknown_verdict_is_an_error(builder: Callable[[], Any]) -> None:
    with pytest.raises(ReportError, match="verdict 'fine' is not one of") as caught:
        build(read_run(one(builder, [{"verdicts": {"fine": 10}}])))
    assert caught.value.exit_code == 5
