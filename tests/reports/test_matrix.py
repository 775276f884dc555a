"""The matrix: axes from the run's plan, one verdict a cell, links and commands, and no cell left blank."""

from __future__ import annotations

import csv
import importlib.util
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tokassay.reports.errors import ReportError
from tokassay.reports.json import audit_object, schema
from tokassay.reports.matrix import BLANK, SIGNS, Matrix3, size, tone_of, verdict_of
from tokassay.reports.read import read_run
from tokassay.reports.site.build import build_site
from tokassay.reports.site.model import Site
from tokassay.reports.site.sources import Sources
from tokassay.reports.tables import build
from tokassay.reports.words import FAILING, VERDICTS
from tokassay.reports.write import write_report

SPEC = importlib.util.spec_from_file_location("field_store", Path(__file__).with_name("field_store.py"))
assert SPEC is not None and SPEC.loader is not None
field_store = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(field_store)


@pytest.fixture
def made(builder: Callable[[], Any]) -> Callable[..., Path]:
    """made(...) -> a store of the whole field, of 4 engines and 3 vocabularies."""

    def make(**more: Any) -> Path:
        store = builder()
        field_store.field(store, **more)
        return Path(store.close())

    return make


def matrix_of(path: Path) -> Matrix3:
    return build(read_run(path)).matrix


def test_every_verdict_has_a_sign_and_a_colour_and_the_worst_speaks() -> None:
    assert set(SIGNS) == {*VERDICTS, BLANK} and len(set(SIGNS.values())) == len(SIGNS)
    assert {tone_of(verdict) for verdict in FAILING} == {"fail"}
    assert verdict_of({"match": 9, "crash": 1}) == "crash"
    assert verdict_of({"match": 9, "declared": 1, "unsupported": 5}) == "declared"
    assert verdict_of({"match": 1, "reject": 9}) == "match"
    assert verdict_of({"reject": 1, "unsupported": 9}) == "reject"
    assert verdict_of({}) == BLANK
    assert [size(n) for n in (7, 12_345, 1_234_567)] == ["7 B", "12 kB", "1.2 MB"]


def test_cells_are_engines_by_vocabularies_by_kinds(made: Callable[..., Path]) -> None:
    found = matrix_of(made())
    # The vocabulary is called as it was asked for, though the store had learnt of it by another name.
    assert found.vocabularies == ("vocabulary-0", "vocabulary-1", "vocabulary-2")
    assert found.kinds == tuple(field_store.DUE)
    assert len(found.cells) == 4 * 3 * 10 and not found.blanks
    # By hand from field_store: engine 2 serves one vocabulary less; engine 3 is wrong on legacy files of each of three;
    # legacy and binary files are declared for the others.
    declared = 2 * (3 * 4 - 1) - 3
    assert found.totals == {"match": 120 - declared - 10 - 3, "declared": declared, "unsupported": 10, "differ": 3}
    assert found.sentence.startswith("4 engines x 3 vocabularies x 10 kinds of corpus = 120 cells: ")
    assert sum(found.totals.values()) == len(found.cells)


def test_a_slow_engines_cell_says_what_it_stands_on(made: Callable[..., Path]) -> None:
    found = matrix_of(made())
    slow = found.cells["engine-1", "vocabulary-0", "prose"]
    assert slow.part and slow.verdict == "match" and slow.tone == "part"
    assert (slow.documents, slow.bytes, slow.asked) == (100, 9_000, 18_000)
    assert slow.reasons == (field_store.SLOW,)
    assert slow.words == f"match (100 match, 100 unsupported; 9 kB of 18 kB); {field_store.SLOW}"
    whole = found.cells["engine-0", "vocabulary-0", "prose"]
    assert not whole.part and whole.bytes == whole.asked == 18_000
    none = found.cells["engine-2", "vocabulary-1", "code"]
    assert none.verdict == "unsupported" and not none.part and none.bytes == 0
    assert none.reasons == ("serves wordpiece, not bpe-ranks",)


def test_a_failing_cell_leads_to_its_divergence_and_every_cell_to_a_command(made: Callable[..., Path]) -> None:
    found = matrix_of(made())
    wrong = found.cells["engine-3", "vocabulary-2", "legacy"]
    assert wrong.verdict == "differ" and wrong.divergences == (2,)
    assert all(bool(cell.divergences) == (cell.verdict in FAILING) for cell in found.cells.values())
    assert wrong.command == (
        "tokassay audit --vocab vocabulary-2 --engine engine-3 --corpus field:legacy:rest --corpus field:legacy:tenth"
        " --operation encode --seed 7"
    )


def test_a_blank_cell_is_refused_and_shown(made: Callable[..., Path], tmp_path: Path) -> None:
    path = made(leave_out=("engine-0", "vocabulary-1", "code"))
    found = matrix_of(path)
    assert [(c.engine, c.vocabulary, c.kind) for c in found.blanks] == [("engine-0", "vocabulary-1", "code")]
    assert found.totals[BLANK] == 1
    with pytest.raises(ReportError) as caught:
        write_report(path, None, tmp_path / "report")
    assert caught.value.exit_code == 5
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert '<td class="gap"><a href="#p1-0" aria-label="blank">?</a></td>' in page
    assert json.loads((tmp_path / "report" / "audit.json").read_text("utf-8"))["matrix"]["totals"]["blank"] == 1


def test_an_engine_that_is_lost_altogether_is_refused_too(builder: Callable[[], Any], tmp_path: Path) -> None:
    """The sum check knows engines by their rows; the matrix knows those that the run was to have."""
    store = builder()
    field_store.field(store)
    store.db.execute("DELETE FROM run_result WHERE engine = 'engine-0'")
    path = store.close()
    tables = build(read_run(path))
    assert tables.check.ok and len(tables.matrix.blanks) == 30
    with pytest.raises(ReportError, match=r"30 cells of the matrix .* first .* engine-0") as caught:
        write_report(path, None, tmp_path / "report")
    assert caught.value.exit_code == 5


def test_a_run_that_did_not_finish_may_have_blanks(made: Callable[..., Path], tmp_path: Path) -> None:
    import sqlite3

    path = made(leave_out=("engine-0", "vocabulary-1", "code"))
    with sqlite3.connect(path) as db:
        db.execute("UPDATE run SET finished = NULL")
    assert len(write_report(path, None, tmp_path / "report")) == 6


def test_the_report_has_it_as_page_csv_and_json(made: Callable[..., Path], tmp_path: Path) -> None:
    path = made()
    paths = {each.name: each for each in write_report(path, None, tmp_path)}
    with paths["matrix.csv"].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 120 and all(row["verdict"] in VERDICTS and row["command"] for row in rows)
    frames = read_run(path)
    found = audit_object(frames)
    jsonschema.validate(found, json.loads(schema()))
    assert len(found["matrix"]["cells"]) == 120
    page = paths["index.html"].read_text("utf-8")
    targets = set(re.findall(r'id="([^"]+)"', page))
    squares = re.findall(r'<td class="(\w+)"><a href="#([^"]+)" aria-label="([^"]+)">', page)
    assert len(squares) == 120 + 4 * 3
    assert {href for _, href, _ in squares} <= targets, "a cell leads nowhere"
    assert {said.partition(",")[0] for _, _, said in squares} == {"match", "declared", "unsupported", "differ"}


def test_the_site_shows_the_field_and_its_cells_lead_to_pages(made: Callable[..., Path], tmp_path: Path) -> None:
    build_site(Site(Sources((made(),), "0.1.0")), tmp_path)
    page = (tmp_path / "matrix" / "index.html").read_text("utf-8")
    assert "4 engines x 3 vocabularies x 10 kinds of corpus = 120 cells" in page
    links = re.findall(r'<td class="\w+"><a href="([^"]+)" aria-label="(\w+)', page)
    assert len(links) == 120 + 4 * 3
    for href, verdict in links:
        if href.startswith("#"):
            assert f'id="{href[1:]}"' in page
        else:
            assert (tmp_path / "matrix" / href).resolve().is_file(), href
            assert ("/divergences/" in href) == (verdict in FAILING)
    words = (tmp_path / "matrix" / "of-vocabulary-1.html").read_text("utf-8")
    assert words.count('<tr><th scope="row">') == 40
    assert "serves wordpiece, not bpe-ranks" in words
    assert "tokassay audit --vocab vocabulary-1 --engine engine-2" in words
    with (tmp_path / "data" / "matrix.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 120


def test_an_older_store_has_a_matrix_of_what_it_has(scenario: Callable[[str], Path]) -> None:
    """No plan, no reasons by cell: sources take the place of kinds."""
    found = matrix_of(scenario("agreed"))
    assert found.vocabularies == ("gpt2",) and set(found.kinds) == {"battery", "fuzz", "sample"}
    assert not found.blanks and found.totals.get("differ", 0) == 0


def test_many_rows_are_shown_where_something_failed(builder: Callable[[], Any], tmp_path: Path) -> None:
    """Twelve engines under three vocabularies on eighteen corpora: no square and no list for each of them."""
    store = builder()
    field_store.field(store, engines=12)
    page = (write_report(store.close(), None, tmp_path)[0]).read_text("utf-8")
    assert "There are too many contracts, engines and corpora for a square each" in page
    assert page.count('<div class="group">') == 6  # engine 3, three vocabularies, two corpora of legacy files
    assert "Only what failed is shown here" in page
    assert len(page) < 1_000_000
