"""The verdict on a claim, on bench reports made by hand: each verdict once, and what only looks like it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tokassay.harness.claim_verdict import (
    NOT,
    PART,
    SUPPORTED,
    UNVERIFIABLE,
    VOID,
    Evidence,
    exit_code,
    judge,
    overall,
)
from tokassay.harness.claims import Claim, Figure, Here, Needs, Source

SIZE = 1_000_000
AUDIT: dict[str, Any] = {"passed": True, "documents": 100, "divergences": []}
CONTRACTS = {"v": {"algorithm": "bpe-ranks", "digest": "aa"}, "w": {"algorithm": "greedy-longest", "digest": "bb"}}


def claimed(*figures: Figure, **changes: Any) -> Claim:
    here = Here(
        engine="fast", vocabularies=("v",), texts=("english",), left_out=("code",), entry="whole", differs="in nothing",
    )
    values: dict[str, Any] = {
        "name": "made", "vendor": "Made", "package": "", "summary": "fast", "date": "2026-11", "hardware": "any",
        "corpus": "any", "baseline": "slow", "entry_point": "any",
        "source": Source("a page", "https://a", "2026-11-30"), "figures": figures or (ratio(10.0),), "here": here,
    }
    return Claim(**{**values, **changes})


def ratio(value: float, **changes: Any) -> Figure:
    return Figure("the ratio", f"{value} times slow", "ratio", value=value, against="slow", **changes)


def row(engine: str, *cpu_ms: float, verdict: str = "exact", detail: str = "", **more: Any) -> dict[str, Any]:
    """An engine's row: CPU milliseconds for SIZE bytes, one a round."""
    speeds = sorted(SIZE / 1e6 / (ms / 1e3) for ms in cpu_ms)
    speed = {"median": speeds[len(speeds) // 2], "min": speeds[0], "max": speeds[-1]} if speeds else None
    return {"engine": engine, "verdict": verdict, "detail": detail, "command": "",
            "cpu_ns": [int(ms * 1e6) for ms in cpu_ms], "mb_s": speed, "ratio": None, "ratio_to": None, **more}


def cell(text: str, *rows: dict[str, Any], vocab: str = "v") -> dict[str, Any]:
    return {"text": text, "vocab": vocab, "asked": vocab, "entry": "whole", "state": "warm", "bytes": SIZE,
            "tokens": SIZE // 4, "engines": list(rows)}


def evidence(*cells: dict[str, Any], **changes: Any) -> Evidence:
    values: dict[str, Any] = {
        "reports": ({"cells": list(cells), "engines": [], "texts": []},), "audit": AUDIT,
        "machine": {"cpu": "Xeon", "cores": 2}, "contracts": CONTRACTS, "asked": {"v": "v", "w": "w"},
    }
    return Evidence(**{**values, **changes})


# 12, 12 and 12.5 times on one text, 20 times on the other.
BOTH = (
    cell("english", row("fast", 1.0, 1.0, 1.0), row("slow", 12.0, 12.0, 12.5)),
    cell("code", row("fast", 1.0, 1.0, 1.0), row("slow", 20.0, 20.0, 20.0)),
)


def test_supported_on_every_text() -> None:
    found = judge(claimed(), evidence(*BOTH))
    assert found["verdict"] == SUPPORTED
    (figure,) = found["figures"]
    assert [(one["text"], one["own"], one["outcome"]) for one in figure["cells"]] == [
        ("english", True, "reached"), ("code", False, "reached"),
    ]
    measured = figure["cells"][0]["measured"]
    assert (measured["median"], measured["low"], measured["high"]) == (12.0, 12.0, 12.5)
    assert figure["cells"][0]["share"] == 1.2 and figure["cells"][0]["baseline_mb_s"] == pytest.approx(83.33, abs=0.01)


def test_reached_on_one_text_only() -> None:
    found = judge(claimed(ratio(15.0)), evidence(*BOTH))
    assert found["verdict"] == PART
    assert found["figures"][0]["why"] == "supported on code only; not reached on english"


def test_reached_only_on_what_the_vendor_left_out() -> None:
    """Without a text of the vendor's own kind nothing is supported as it was claimed."""
    found = judge(claimed(), evidence(BOTH[1], absent={"english": "not in the cache"}))
    assert found["verdict"] == PART
    assert "supported on code only" in found["figures"][0]["why"]


def test_not_supported_on_any() -> None:
    found = judge(claimed(ratio(100.0)), evidence(*BOTH))
    assert (found["verdict"], found["figures"][0]["why"]) == (NOT, "not reached on english and code")
    assert found["sentence"].startswith("No figure that can be checked here is reached.")


def test_nine_tenths_of_a_figure_reach_it() -> None:
    """TOLERANCE: 12 times is nine tenths of 13.3, and less than that of 13.4."""
    only = BOTH[0]
    one = {"here": replace(claimed().here, left_out=())}  # type: ignore[type-var]
    assert judge(claimed(ratio(13.3), **one), evidence(only))["verdict"] == SUPPORTED
    assert judge(claimed(ratio(14.0), **one), evidence(only))["verdict"] == NOT


def test_an_interval_that_holds_the_figure_resolves_nothing() -> None:
    wide = [cell(text, row("fast", 1.0, 1.0, 1.0), row("slow", 5.0, 10.0, 20.0)) for text in ("english", "code")]
    found = judge(claimed(), evidence(*wide))
    assert found["verdict"] == UNVERIFIABLE
    assert found["figures"][0]["why"] == "not resolvable: the interval holds the figure on english and code"
    assert {one["outcome"] for one in found["figures"][0]["cells"]} == {"unresolved"}


def test_benchs_own_interval_is_used_where_it_is_of_these_two() -> None:
    told = {"median": 12.0, "low": 11.5, "high": 12.5, "min": 2.0, "max": 40.0}
    mine = row("fast", 1.0, 1.0, ratio=told, ratio_to="slow")
    cells = [cell(text, mine, row("slow", 2.0, 40.0)) for text in ("english", "code")]
    found = judge(claimed(), evidence(*cells))
    assert found["verdict"] == SUPPORTED
    assert found["figures"][0]["cells"][0]["measured"]["low"] == 11.5
    other = [cell(text, {**mine, "ratio_to": "third"}, row("slow", 2.0, 40.0)) for text in ("english", "code")]
    assert judge(claimed(), evidence(*other))["verdict"] == UNVERIFIABLE


def test_one_round_out_of_line_decides_nothing_among_eight() -> None:
    """Seven ratios of 12 and one of 5: the least is below nine tenths of 8, the bound of the rank test is not.

    That bound is the mean of one pair's logarithms: the square root of 60.
    """
    cells = [cell(text, row("fast", *[1.0] * 8), row("slow", *[12.0] * 7, 5.0)) for text in ("english", "code")]
    found = judge(claimed(ratio(8.0)), evidence(*cells))
    assert found["verdict"] == SUPPORTED
    assert found["figures"][0]["cells"][0]["measured"]["low"] == pytest.approx(7.746, abs=0.001)


def test_ids_that_differ_on_one_text_void_all() -> None:
    wrong = cell("code", row("fast", verdict="void", detail="document 3 of 9, token 2: 7, should be 8"),
                 row("slow", 20.0))
    found = judge(claimed(), evidence(BOTH[0], wrong))
    assert found["verdict"] == VOID
    assert "document 3 of 9, token 2: 7, should be 8" in found["figures"][0]["why"]
    assert [one["voids"] for one in found["divergences"]] == [True]
    assert found["figures"][0]["cells"][1]["outcome"] == "void"


def test_a_baseline_that_is_void_is_no_vendors_fault() -> None:
    wrong = row("slow", verdict="void", detail="other ids")
    cells = [cell(text, row("fast", 1.0), wrong) for text in ("english", "code")]
    found = judge(claimed(), evidence(*cells))
    assert found["verdict"] == UNVERIFIABLE
    assert "the baseline slow: void: other ids" in found["figures"][0]["why"]
    assert found["divergences"] == []


def of_audit(domain: str) -> dict[str, Any]:
    return {"where": "audit, battery", "vocabulary": "v", "domain": domain, "explanation": "b is cut after c",
            "command": "tokassay diff fast oracle --vocab v --hex 62"}


def test_the_audit_voids_what_every_text_allows() -> None:
    """Right on the texts that are timed, wrong on another neutral document: no speed."""
    found = judge(claimed(), evidence(*BOTH, audit={**AUDIT, "passed": False, "divergences": [of_audit("neutral")]}))
    assert found["verdict"] == VOID
    assert "b is cut after c" in found["figures"][0]["why"]
    assert found["divergences"][0]["command"].startswith("tokassay diff fast")
    shown = {"measured", "share", "engine_mb_s", "baseline_mb_s"}
    for one in found["figures"][0]["cells"]:
        assert one["outcome"] == "void" and all(one[name] is None for name in shown)


def test_the_audit_in_another_domain_is_told_and_voids_nothing() -> None:
    found = judge(claimed(), evidence(*BOTH, audit={**AUDIT, "divergences": [of_audit("bytes")]}))
    assert found["verdict"] == SUPPORTED
    assert [(one["domain"], one["voids"]) for one in found["divergences"]] == [("bytes", False)]


def proved(**changes: Any) -> dict[str, Any]:
    proof = {"engine": "fast", "vocab": "/home/v", "entry": "whole", "domain": "neutral", "passed": False,
             "documents": 9, "failed": 1, "verdicts": {"differ": 1, "match": 8}, "detail": "document 4 differs",
             "command": "tokassay audit"}
    return {**proof, **changes}


@pytest.mark.parametrize(("domain", "verdict"), [("neutral", VOID), ("bytes", SUPPORTED)])
def test_benchs_own_proofs_count(domain: str, verdict: str) -> None:
    proof = proved(domain=domain)
    report = {"cells": list(BOTH), "engines": [], "texts": [], "proofs": [proof, {**proof, "engine": "slow"}]}
    found = judge(claimed(), evidence(reports=(report,)))
    assert found["verdict"] == verdict
    assert [one["vocabulary"] for one in found["divergences"]] == ["v"]


def test_a_proof_that_bars_an_engine_is_one_divergence_and_not_one_a_text() -> None:
    cells = [cell(text, row("fast", verdict="void", detail="the gate suite was not passed"), row("slow", 1.0))
             for text in ("english", "code")]
    cells = [{**one, "asked": "/home/v"} for one in cells]
    report = {"cells": cells, "engines": [], "texts": [], "proofs": [proved()]}
    found = judge(claimed(), evidence(reports=(report, report)))
    assert found["verdict"] == VOID and len(found["divergences"]) == 1


def test_an_entry_point_that_is_not_served_is_no_wrong_id() -> None:
    report = {"cells": list(BOTH), "engines": [], "texts": [], "proofs": [proved(verdicts={"unsupported": 1})]}
    assert judge(claimed(), evidence(reports=(report,)))["verdict"] == SUPPORTED


def test_another_contract_is_void_however_fast() -> None:
    """A longest match over one vocabulary, byte pairs over another: its own speed stands, the ratio does not."""
    cells = [cell(text, row("fast", 1.0, 1.0), vocab="w") for text in ("english", "code")]
    cells += [cell(text, row("slow", 50.0, 50.0)) for text in ("english", "code")]
    here = replace(claimed().here, vocabularies=("w", "v"))  # type: ignore[type-var]
    speed = Figure("its ids", "200 million ids a second", "ids_s", value=200.0)
    told = {**of_audit("neutral"), "explanation": "'ab' is 1 id and not 2"}
    found = judge(claimed(ratio(10.0, baseline_vocabulary="v"), speed, here=here), evidence(*cells, other=told))
    first, second = found["figures"]
    assert (found["verdict"], first["verdict"], second["verdict"]) == (VOID, VOID, SUPPORTED)
    assert "computes greedy-longest (contract bb), slow bpe-ranks (contract aa)" in first["why"]
    assert "'ab' is 1 id and not 2" in first["why"]
    assert second["cells"][0]["measured"]["median"] == 250.0 and second["cells"][0]["engine_mb_s"] == 1000.0
    assert {one["outcome"] for one in first["cells"]} == {"unjudged"}


@pytest.mark.parametrize(
    ("needs", "why"),
    [
        (Needs(cores=144), "it is of 144 cores, and this machine has 2"),
        (Needs(cpu="EPYC"), "it is of another processor (EPYC)"),
        (Needs(corpus="owt"), "its text is not at hand (--corpus owt=PATH)"),
        (Needs(other="of a server"), "of a server"),
    ],
)
def test_what_needs_another_machine_is_not_verifiable(needs: Needs, why: str) -> None:
    """Not even if it would be reached; what was measured stands beside it."""
    found = judge(claimed(ratio(10.0, needs=needs)), evidence(*BOTH))
    assert (found["verdict"], found["figures"][0]["why"]) == (UNVERIFIABLE, why)
    assert found["figures"][0]["cells"][0]["measured"]["median"] == 12.0
    assert found["figures"][0]["cells"][0]["outcome"] == "unjudged"


def test_needs_that_are_met_are_judged() -> None:
    machine = {"cpu": "AMD EPYC 9565 72-Core", "cores": 144}
    figure = Figure("speed", "1,440 MB/s", "mb_s", value=1440.0, cores=144, per_core=10.0,
                    needs=Needs(cores=144, cpu="epyc 9565"))
    found = judge(claimed(figure), evidence(*BOTH, machine=machine))
    assert found["verdict"] == NOT  # 1,000 MB/s
    assert found["figures"][0]["cells"][0]["share_per_core"] == 100.0


def test_a_users_text_meets_the_need_for_it() -> None:
    owt = cell("owt", row("fast", 1.0), row("slow", 30.0))
    found = judge(claimed(ratio(10.0, needs=Needs(corpus="owt"))), evidence(owt, *BOTH, corpora=("owt",)))
    assert found["verdict"] == SUPPORTED
    first = found["figures"][0]["cells"][0]
    assert (first["text"], first["own"]) == ("owt", True)


def test_a_range_whose_upper_end_nobody_sees() -> None:
    low, all_of_it = (Figure("range", "", "ratio", low=10.0, high=high, against="slow") for high in (35.0, 21.0))
    found = judge(claimed(low), evidence(*BOTH))
    assert (found["verdict"], found["figures"][0]["why"]) == (
        PART, "the lower end on english and code; the upper end on none",
    )
    assert judge(claimed(all_of_it), evidence(*BOTH))["verdict"] == SUPPORTED


def test_loading_is_better_the_less_it_takes() -> None:
    load = {"engine": "fast", "vocab": "v", "state": "warm", "verdict": "exact", "detail": "",
            "ms": {"median": 0.5, "min": 0.4, "max": 0.55}}
    report = {"cells": [], "engines": [], "texts": [], "load": [load]}
    for value, verdict in ((0.54, SUPPORTED), (0.3, NOT), (0.45, UNVERIFIABLE)):
        found = judge(claimed(Figure("load", "", "load_ms", value=value)), evidence(reports=(report,)))
        assert found["verdict"] == verdict, value


def test_nothing_that_could_be_run() -> None:
    found = judge(claimed(here=None, not_here="under a licence"), Evidence(missing="under a licence"))
    assert (found["verdict"], found["figures"][0]["why"], found["figures"][0]["cells"]) == (
        UNVERIFIABLE, "under a licence", [],
    )
    missing = judge(claimed(), Evidence(missing="fast cannot be installed here"))
    assert missing["verdict"] == UNVERIFIABLE and "cannot be installed" in missing["sentence"]


def test_one_verdict_of_many() -> None:
    assert overall([SUPPORTED, SUPPORTED]) == SUPPORTED
    assert overall([SUPPORTED, UNVERIFIABLE]) == PART  # a claim is supported only whole
    assert overall([SUPPORTED, NOT]) == overall([PART, UNVERIFIABLE]) == PART
    assert overall([NOT, UNVERIFIABLE]) == NOT
    assert overall([UNVERIFIABLE]) == UNVERIFIABLE
    assert overall([SUPPORTED, VOID, NOT]) == VOID


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [((SUPPORTED,), 0), ((PART,), 1), ((NOT,), 1), ((VOID,), 1), ((UNVERIFIABLE,), 4), ((SUPPORTED, UNVERIFIABLE), 0),
     ((SUPPORTED, VOID), 1)],
)
def test_exit_codes(verdicts: tuple[str, ...], code: int) -> None:
    assert exit_code(verdicts) == code


def test_a_figure_of_another_engine_of_the_package_is_void_by_its_own_ids() -> None:
    """The ids of the claim's engine are right; those of the figure's engine are wrong on one text and right on the
    other: it has no speed on any."""
    cells = (
        cell("english", row("fast", 1.0, 1.0, 1.0), row("other", 1.0, 1.0, 1.0), row("slow", 12.0, 12.0, 12.5)),
        cell("code", row("fast", 1.0, 1.0, 1.0), row("other", verdict="void", detail="document 7"),
             row("slow", 20.0, 20.0, 20.0)),
    )
    found = judge(claimed(ratio(10.0, engine="other")), evidence(*cells))
    assert found["verdict"] == VOID
    assert found["figures"][0]["why"] == "ids differ on code: document 7"
    assert all(one["measured"] is None for one in found["figures"][0]["cells"])


def test_a_crash_on_a_text_is_not_a_text_that_was_left_out() -> None:
    crashed = cell("code", row("fast", verdict="crash", detail="SIGSEGV"), row("slow", 20.0, 20.0, 20.0))
    found = judge(claimed(), evidence(BOTH[0], crashed))
    assert found["verdict"] == PART
    assert found["figures"][0]["why"] == "supported on english only; no answer on code"


def test_a_proof_with_two_threads_hides_none_with_one() -> None:
    proof = {"engine": "fast", "vocab": "v", "entry": "whole", "threads": 1, "domain": "neutral", "passed": False,
             "verdicts": {"differ": 1}, "detail": "lengths: differ", "command": ""}
    passed = {**proof, "threads": 2, "passed": True, "verdicts": {"match": 9}, "detail": ""}
    report = {"cells": list(BOTH), "engines": [], "texts": [], "proofs": [proof, passed]}
    assert judge(claimed(), evidence(reports=(report,)))["verdict"] == VOID
