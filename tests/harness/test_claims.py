"""The shipped claims: each is complete, and its arithmetic holds; a spoiled file is refused by its place."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path

import pytest
from tokassay.engines.roster import load_roster
from tokassay.harness.bench_run import TEXTS
from tokassay.harness.claims import Claim, load_claim, names, parse
from tokassay.harness.errors import InputError
from tokassay.harness.texts import kinds

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "claims"
FILES = sorted(FOLDER.glob("*.toml"))
TODAY = date.today()  # a day that is to come is none on which a page was read
# What the issue asks for by name, with the numbers of the vendors' own pages.
ASKED = {
    "gigatoken": ["24.53 GB/s", "989 times", "681 times"],
    "crayon": ["10 to 35 times", "18.4 million", "29.2 million", "0.54 ms", "38 ms", "Tesla T4"],
    "tenya": ["9.5 times", "24 million"],
    "saphira": ["880 MB/s", "1,701 MB/s", "122", "714"],
}
PACKAGES = {
    "tokie", "fastokens", "quicktok-v1", "splintr-rs", "riptoken", "rs-bpe", "budtiktok", "tinybpe", "snaptokens",
    "tokendagger", "nanotok", "puretiktoken", "tiktoken", "c-bpe",
}


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def claim(request: pytest.FixtureRequest) -> Claim:
    return load_claim(request.param.stem)


def test_all_that_was_asked_for_is_there() -> None:
    assert set(ASKED) | PACKAGES <= set(names()) == {path.stem for path in FILES}
    for name, numbers in ASKED.items():
        said = " ".join(figure.says for figure in load_claim(name).figures)
        for number in numbers:
            assert number in said, (name, number)


def test_a_claim_is_complete(claim: Claim) -> None:
    for text in (claim.vendor, claim.summary, claim.hardware, claim.corpus, claim.baseline, claim.entry_point):
        assert len(text) > 2 and text == text.strip()
    assert re.fullmatch(r"\d{4}-\d{2}(-\d{2})?", claim.date)
    for source in (claim.source, *claim.further):
        assert source.title and source.address.startswith(("https://", "pkg:pypi/", "pkg:npm/", "docs/"))
        assert not source.address.startswith("docs/") or (Path(__file__).parents[2] / source.address).is_file()
        assert date.fromisoformat(source.read) <= TODAY
    assert all(figure.says and figure.name for figure in claim.figures)
    for figure in claim.figures:
        assert figure.floor is not None or figure.kind == "other"


def test_what_is_stated_a_core_is_the_quotient(claim: Claim) -> None:
    """Computed again from the file's own numbers, apart from the loader."""
    table = tomllib.loads((FOLDER / f"{claim.name}.toml").read_text("utf-8"))
    for figure in table["figure"]:
        if "cores" in figure:
            assert figure["value"] / figure["cores"] == pytest.approx(figure["per_core"], rel=0.005)
        if "parts" in figure:
            assert figure["parts"][0] / figure["parts"][1] == pytest.approx(figure["value"], rel=0.01)


def test_what_is_run_exists(claim: Claim) -> None:
    """Engines are of the roster and serve the entry point; texts are known; else a reason is given."""
    if claim.here is None:
        assert len(claim.not_here) > 20
        return
    roster = load_roster()
    for engine in claim.engines:
        assert engine in roster, engine
        assert claim.here.entry.replace("-", "_") in roster[engine].entry_points, (engine, claim.here.entry)
    assert set(claim.texts) <= set(kinds())
    all_shown = set(TEXTS) <= set(claim.here.texts)
    assert claim.here.left_out or all_shown, "the kinds that a vendor left out are part of the check"
    assert claim.here.minutes <= 15 and claim.here.repeat >= 5
    assert any(figure.kind != "other" and not figure.not_here for figure in claim.figures)


def test_gigatoken_a_core() -> None:
    """24.53 GB/s over 144 cores is 170 MB/s a core, as the audits that this repeats had it."""
    figure = next(one for one in load_claim("gigatoken").figures if one.name == "24.53 GB/s")
    assert (figure.value, figure.cores, round(figure.per_core or 0)) == (24530.0, 144, 170)


GOOD = (FOLDER / "gigatoken.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("per_core = 170.3", "per_core = 179.0", "figure 24.53 GB/s: what it comes to on each core is 170.3"),
        ("parts = [24530.0, 24.8]", "parts = [24530.0, 28.4]", "figure 989x tokenizers: the quotient"),
        ('date = "2026-07"', "", "date is missing"),
        ('hardware = "two', 'hardwear = "two', "unknown key hardwear"),
        ("value = 1000.0", "value = 1000.0\nlow = 3.0", "has a value and a range"),
        ("value = 1000.0", "", "has no number"),
        ('kind = "ratio"\nvalue = 1000.0', 'kind = "speed"\nvalue = 1000.0', "speed is no kind"),
        ('entry = "batch-flat"', 'entry = "batch"', "batch is no entry point"),
        ('state = "warm"', 'state = "tepid"', "tepid is no state"),
        ("pkg:pypi/", "pypi/", "is no address"),
        ('read = "2026-11-30"', 'read = "yesterday"', "is no day"),
        ('value = 1000.0\nagainst = "tokenizers"', "value = 1000.0", "has no baseline"),
        ("size = 4_000_000", 'size = "4 MB"', "is not of type int"),
        ("cores = 144\nper_core = 170.3", "cores = 144", "cores and per_core go together"),
        ("[here]", 'not_here = "x"\n[here]', "unknown key not_here"),
        ("[here]", "[here", "Expected"),
    ],
)
def test_a_spoiled_file_is_refused_by_its_place(old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(InputError) as error:
        parse(GOOD.replace(old, new, 1), name="spoiled", where="spoiled.toml")
    told = f"{error.value.where}: {error.value}"
    assert said in told and told.startswith("spoiled.toml") and error.value.remedy


def test_a_text_that_its_entry_point_cannot_measure_is_refused_before_a_run() -> None:
    spoiled = GOOD.replace('entry = "batch-flat"', 'entry = "whole"')
    spoiled = spoiled.replace('left_out = ["code"', 'left_out = ["short"')
    with pytest.raises(InputError, match="short is measured by documents-list, batch-flat, batch-list only"):
        parse(spoiled, name="spoiled", where="spoiled.toml")


def test_an_unknown_name_is_told_the_nearest() -> None:
    with pytest.raises(InputError) as error:
        load_claim("gigatokens")
    assert "gigatoken?" in error.value.remedy
