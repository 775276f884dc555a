"""The site: pages that parse, stand alone, link to what is there, show hostile text harmlessly, and count rightly."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pandas as pd
import pytest
from tokassay.reports.downloads import views, write_downloads
from tokassay.reports.errors import ReportError
from tokassay.reports.site.build import build_site
from tokassay.reports.site.model import Site, once
from tokassay.reports.site.shell import slug
from tokassay.reports.site.sources import Engine, Fault, Known, Sources, Vector
from tokassay.reports.trace import picture

VOID = {"meta", "br", "img", "link", "input", "hr"}
# By HTML's own list: what loads or runs something.
ACTIVE = {"script", "iframe", "object", "embed", "link", "img", "video", "audio", "base", "form"}
LARGEST = 300_000
HOSTILE = "<script>alert(1)</script>\u202e\x1b[31m\x00\u2028'\"&"
RIGHT = "197 338"


class Read(HTMLParser):
    """A page's elements, text, and what is named by whom; raises on tags that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.headings: list[int] = []
        self.tables: list[dict[str, int]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "table":
            self.tables.append({"caption": 0, "th": 0, "scope": 0})
        if tag in ("caption", "th") and self.tables:
            self.tables[-1][tag] += 1
            self.tables[-1]["scope"] += tag == "th" and found.get("scope") in ("col", "row")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)

    def all(self, name: str) -> list[str]:
        """The values of an attribute."""
        return [value for _, found in self.tags if (value := found.get(name)) is not None]


def sources(store: Path, more: tuple[Path, ...] = ()) -> Sources:
    known = Known("tab", "tokenizers", "0.1", "0.2", "", "0.3", False, "197 6 82")
    still = Known("tab", "tiktoken", "0.14.0", "0.14.0", "", "", True, HOSTILE)
    vector = Vector("tab", "gpt2", "encode", "must", b"\t's<\xff\x00", 1, "pretokenize", "a tab", "The rule " + HOSTILE,
                    "the source", RIGHT, "tokassay vectors reproduce tab tiktoken", (known, still))  # fmt: skip
    engines = (
        Engine("dat-bpe", True, "tokassay", (("byte policy", "byte-alphabet"),)),
        Engine("tiktoken", False, "tiktoken==0.14.0", (("byte policy", "tiktoken-bytes"),), HOSTILE),
        Engine("never-run", False, "never==1"),
    )
    faults = (Fault("oracle", "2026-11", "harness and `oracle`", "`a b`", "the first counted", "tests/test_x.py"),)
    return Sources((store, *more), "0.1.0", engines, (vector,), faults)


def bench(path: Path) -> Path:
    """A store with a bench and two verdicts on a claim, made from the schema."""
    import sqlite3
    from importlib.resources import files

    row: dict[str, Any] = {"detail": "", "form": "list", "cpu_ns": [1], "ns": [1], "peak_bytes": 1}
    spread = {"median": 100.0, "min": 90.0, "max": 110.0, "low": 95.0, "high": 105.0, "mad": 2.0}
    untrue = dict.fromkeys(spread, 777.0)  # by the schema a void row has none
    cell = {
        "vocab": "gpt2", "text": "english", "entry": "whole", "state": "warm", "threads": 1, "bytes": 9, "documents": 1,
        "tokens": 3, "digest": "ab" * 32, "reference": "tiktoken", "domain": "neutral", "sha256": "cd" * 32,
        "engines": [
            {**row, "engine": "dat-bpe", "verdict": "exact", "mb_s": spread, "ratio": None, "ratio_to": None},
            {**row, "engine": "tiktoken", "verdict": "void", "detail": "document 3 differs " + HOSTILE, "mb_s": untrue},
        ],
    }  # fmt: skip
    report = {
        "schema": "tokassay.bench/2", "command": "tokassay bench", "started": "2026-03-02T10:00:00Z", "cells": [cell],
        "machine": {"cpu": "Example CPU"}, "references": ["tiktoken 0.14.0"], "warnings": [
            {"what": "the load was 9", "remedy": "stop other jobs"}],
        "engines": [{"engine": "dat-bpe", "version": "0.1.0", "requirement": "tokassay", "options": {}, "build": "b"}],
        "proofs": [{"engine": "dat-bpe", "vocab": "gpt2", "entry": "whole", "domain": "neutral", "passed": True,
                    "documents": 12, "failed": 0, "detail": "", "command": "tokassay audit --suite gate"}],
        "ranking": [{"vocab": "gpt2", "entry": "whole", "state": "warm", "threads": 1, "cells": ["gpt2 english"],
                     "engines": [{"engine": "dat-bpe", "mb_s": 100.0, "ratio": 1.0, "low": 1.0, "high": 1.0,
                                  "verified": 1, "asked": 1, "ours": True}]}],
    }  # fmt: skip
    said = {"value": 989.0, "low": None, "high": None}
    cell_of = {"text": "english", "own": True, "vocabulary": "gpt2", "outcome": "missed", "detail": HOSTILE,
               "measured": {"median": 2.5, "low": 2.25, "high": 2.75}, "engine_mb_s": 5.0, "baseline_mb_s": 2.0,
               "share": 0.0025, "share_per_core": None}  # fmt: skip
    claim = {
        "schema": "tokassay.claim/1", "id": "0" * 12, "claim": "989x", "started": "", "finished": "",
        "tokassay": "0.1.0", "command": "tokassay claim run 989x", "verdict": "void", "sentence": "Void: " + HOSTILE,
        "about": {"vendor": HOSTILE, "summary": HOSTILE, "hardware": "h", "corpus": "c", "baseline": "b",
                  "entry_point": "e", "here": None, "contradictions": [HOSTILE], "further": [],
                  "source": {"title": HOSTILE, "address": "https://example.org/?a=%22", "read": "2026-01-01"}},
        "figures": [{"name": "989x", "says": HOSTILE, "kind": "ratio", "unit": "times", "claimed": said, "against": "b",
                     "cores": None, "per_core": None, "parts": None, "verdict": "void", "why": HOSTILE,
                     "cells": [cell_of]}],
        "divergences": [], "audit": None, "proofs": [], "texts": [], "absent": {HOSTILE: HOSTILE}, "engines": [],
        "contracts": {}, "machine": {"cpu": "c", "cores": 2, "load_average": 0.5, "platform": "p", "python": "3.11"},
    }  # fmt: skip
    db = sqlite3.connect(path)
    db.executescript(files("tokassay.harness").joinpath("schema.sql").read_text(encoding="utf-8"))
    db.execute(
        "INSERT INTO bench VALUES (?, ?, ?, ?, ?, ?, ?)",
        ("b" * 12, report["started"], report["started"], report["command"], "0.1.0", 0, json.dumps(report)),
    )
    for n, verdict in enumerate(("supported", "void")):
        db.execute(
            "INSERT INTO claim_run VALUES (?, ?, ?, ?, ?, ?)",
            (f"{n:012x}", "989x", f"2026-03-0{n + 1}T10:00:00Z", "", verdict, json.dumps(claim)),
        )
    db.commit()
    db.close()
    return path


@pytest.fixture(scope="module")
def made(scenario_in: Callable[[str, Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of the failing scenario, a bench and a claim, for all tests that only read it."""
    folder = tmp_path_factory.mktemp("made")
    build_site(Site(sources(scenario_in("failing", folder), (bench(folder / "b.sqlite"),))), folder / "site")
    return folder / "site"


def pages(folder: Path) -> Iterator[tuple[Path, str, Read]]:
    for path in sorted(folder.rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        yield path, text, Read(text)


def test_every_page_stands_alone(made: Path) -> None:
    for path, text, page in pages(made):
        assert not ACTIVE & {tag for tag, _ in page.tags}, path
        assert not [name for _, found in page.tags for name in found if name.startswith("on") or name == "src"], path
        # A link to a source leads away, and loads nothing.
        loading = re.sub(r'<a href="https?://[^"]*"', "", text)
        assert not re.search(r'url\((?!#)|@import|(?:href|src|data)="(?:\w+:)?//', loading), path
        assert "default-src 'none'" in " ".join(page.all("content")), path
        assert len(text.encode()) < LARGEST, path


def test_every_link_leads_to_a_file_of_the_site(made: Path) -> None:
    ids = {path: set(page.all("id")) for path, _, page in pages(made)}
    seen = set()
    for path, _, page in pages(made):
        for href in page.all("href"):
            if re.match(r"https?://", href):
                continue
            name, _, anchor = href.partition("#")
            there = (path.parent / unquote(name)).resolve() if name else path
            assert there.is_file() and there.is_relative_to(made), (path, href)
            assert not anchor or anchor in ids[there], (path, href)
            seen.add(there)
    assert set(ids) <= seen, "a page that nothing links to"


def test_pages_can_be_used_without_sight_or_mouse(made: Path) -> None:
    for path, text, page in pages(made):
        tags = [tag for tag, _ in page.tags]
        assert tags.count("main") == tags.count("h1") == page.all("class").count("top") == 1 and "footer" in tags, path
        assert '<html lang="en">' in text and page.tags[0][1].get("lang") == "en"
        first = next(found for tag, found in page.tags if tag == "a")
        assert first.get("href") == "#main", path
        assert page.headings[0] == 1 and all(b - a <= 1 for a, b in zip(page.headings, page.headings[1:], strict=False))
        for table in page.tables:
            assert table["caption"] == 1 and table["th"] == table["scope"] > 0, path
        assert len(page.all("id")) == len(set(page.all("id"))), path


def test_nothing_hostile_arrives_as_itself(made: Path) -> None:
    for path, text, _ in pages(made):
        assert "<script" not in text and "<b>1203" not in text, path
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\u2028\u2029]", text), path
    crash = [text for _, text, _ in pages(made / "divergences") if "crash" in text and "SIGSEGV" in text]
    assert any("&lt;script&gt;alert(1)&lt;/script&gt;" in text and "\\u{202E}" in text for text in crash)


def test_the_scoreboard_counts_what_the_store_holds(made: Path) -> None:
    text = re.sub(r"\s+", " ", " ".join(Read((made / "scoreboard.html").read_text("utf-8")).text))
    # By hand from conftest.failing: 5 of dat-bpe's documents differ in encode; tokenizers crash on 1 and time out on 3.
    # Asked: 702 + 41 + 389, 1190 + 310 + 3321 and 2480 + 3 documents, each once whatever the operations.
    asked = 702 + 41 + 389 + 1190 + 310 + 3321 + 2480 + 3
    assert f"dat-bpe ours 5 {asked:,} 0 0 0 0 0 0 0 0.1.0" in text
    assert f"tokenizers 0 {asked:,} 1 0 3 0 0 1 – 0.23.3" in text
    assert f"tiktoken 0 {asked:,} 0 0 0 0 1 0 – 0.14.0" in text
    assert "never-run – – – – – – 0 0 – –" in text
    assert "oracle ours – – – – – – 0 0 1 –" in text


def test_rows_of_verdicts_add_up_to_their_documents(made: Path) -> None:
    """On the pages of engines and corpora, every row's verdicts are its documents."""
    rows = 0
    for folder in ("engines", "corpora"):
        for path in (made / folder).glob("*.html"):
            found = re.search(r"<table[^>]*>\s*<caption>Documents .*?</table>", path.read_text("utf-8"), re.DOTALL)
            for row in re.findall(r"<tr>(.*?)</tr>", found[0], re.DOTALL)[1:] if found else ():
                cells = re.findall(r'<td class="num[^"]*">([\d,]+)</td>', row)
                documents, *verdicts = (int(cell.replace(",", "")) for cell in cells)
                assert documents == sum(verdicts) > 0, (path, row)
                rows += 1
    assert rows == 2 * 3 * 3 * 4, "three engines on three corpora in four operations, seen from both sides"


def test_a_newer_run_takes_the_place_of_an_older(tmp_path: Path, store_at: Any, filled: Any) -> None:
    """A fault that the newest run no longer shows is not counted; one that only an older version had neither."""
    old = store_at(tmp_path / "s.sqlite", "a" * 12)
    old.begin(started="2026-01-01T00:00:00Z", exit_code=1)

    def change(corpus: str, domain: str, engine: str, operation: str, documents: int) -> dict[str, Any] | None:
        if (domain, engine, operation) == ("neutral", "tiktoken", "encode"):
            return {"verdicts": {"match": documents - 7, "differ": 7}, "digest": "ab" * 32}
        return None

    filled(old, change)
    new = store_at(tmp_path / "t.sqlite", "b" * 12)
    new.begin(started="2026-02-01T00:00:00Z")
    filled(new)
    before = Site(Sources((old.close(),), "0"))
    both = Site(Sources((tmp_path / "s.sqlite", new.close()), "0"))
    assert once(before.coverage)["differ"] == 3 * 7
    assert once(both.coverage)["differ"] == 0
    assert once(both.coverage)["documents"] == once(before.coverage)["documents"]


def test_a_document_counts_once_whatever_the_operations() -> None:
    kinds = ["match", "declared", "reject", "unsupported", "differ", "flaky", "error", "crash", "timeout", "oom"]
    row = {"engine": "e", "core": "c", "label": "l", "corpus": "x", "domain": "bytes", **dict.fromkeys(kinds, 0)}
    rows = [
        {**row, "operation": "encode", "documents": 10, "match": 7, "differ": 3},
        {**row, "operation": "decode", "documents": 10, "match": 9, "crash": 1},
        {**row, "operation": "encode", "documents": 4, "match": 2, "differ": 2, "domain": "neutral"},
    ]
    counts = once(pd.DataFrame(rows))
    assert (counts["documents"], counts["answers"], counts["differ"], counts["crash"]) == (14, 24, 5, 1)


def test_a_row_without_proof_has_no_speed_anywhere(made: Path) -> None:
    """Not even where the report has a figure in it, against its schema."""
    pages_of_it = [path for path, text, _ in pages(made) if ">void<" in text]
    assert {path.parent.name for path in pages_of_it} >= {"engines", "runs"}
    for path, _, page in pages(made):
        assert not re.search(r"\b777\b", " ".join(page.text)), path


def test_charts_stand_side_by_side_on_a_wide_screen_and_beside_their_words_in_print(made: Path) -> None:
    overview, alone = (made / "index.html").read_text("utf-8"), (made / "charts" / "volumes.html").read_text("utf-8")
    (grid,) = re.findall(r'<div class="charts">(.*?)</div>\s*</section>', overview.replace("\n", ""))
    assert grid.count("<figure>") == overview.count("<figure>") > 1 and alone.count('<div class="charts">') == 1
    style, printed = re.split(r"@media print\{:root", overview[: overview.index("</style>")])
    assert "repeat(auto-fill,minmax(min(100%,440px),1fr))" in style and "only-child" in style
    assert re.search(r"\.charts figure\{[^}]*grid-template-columns:112mm", printed)


def test_a_claim_shows_its_newest_verdict_and_every_run(made: Path) -> None:
    text = " ".join(Read((made / "claims" / "989x.html").read_text("utf-8")).text)
    assert text.index("void") < text.index("supported")
    assert "2026-03-02 10:00 UTC" in text and "2026-03-01 10:00 UTC" in text and re.search(r"2\.50?\b", text)


def test_a_divergence_of_two_runs_has_one_page(tmp_path: Path, store_at: Any, filled: Any) -> None:
    stores = []
    for n in (1, 2):
        one = store_at(tmp_path / f"{n}.sqlite", f"{n:012x}")
        one.begin(started=f"2026-0{n}-01T00:00:00Z")
        filled(one)
        one.divergence(ordinal=n, documents=10 * n)
        stores.append(one.close())
    found = Site(Sources(tuple(stores), "0")).divergences
    assert [(shown.divergence.documents, [run.id for run in shown.runs]) for shown in found] == [
        (20, ["000000000002", "000000000001"])
    ]


def test_what_an_earlier_build_left_goes_and_nothing_else(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    out = tmp_path / "site"
    build_site(Site(sources(scenario("failing"))), out)
    (out / "mine.txt").write_text("mine")
    (out / "mine.html").write_text("mine")
    gone = next(
        path for path in (out / "divergences").glob("*.html") if "vector" not in path.name and path.name != "index.html"
    )
    listed = json.loads((out / "site.json").read_text())
    listed["files"] += ["../outside.html", "mine.txt"]
    (out / "site.json").write_text(json.dumps(listed))
    (tmp_path / "outside.html").write_text("not ours")
    build_site(Site(sources(scenario("nothing"))), out)
    assert not gone.exists()
    assert (out / "mine.txt").exists() and (out / "mine.html").exists() and (tmp_path / "outside.html").exists()


def test_the_same_stores_give_the_same_bytes(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    store = scenario("failing")
    for name in "ab":
        build_site(Site(sources(store)), tmp_path / name)
    for path in (tmp_path / "a").rglob("*.*"):
        if path.suffix != ".parquet":
            assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes(), path


def test_downloads_say_what_the_views_hold(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    import sqlite3

    store = scenario("failing")
    made = write_downloads(views([store]), tmp_path / "data")
    names = {each.view: each for each in made}
    with sqlite3.connect(store) as db:
        held = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'view'")}
        assert set(names) == held
        for view in held:
            rows = db.execute(f"SELECT COUNT(*) FROM {view}").fetchone()[0]
            stem = tmp_path / "data" / view.removeprefix("v_")
            assert names[view].rows == rows == len(json.loads(stem.with_suffix(".json").read_text("utf-8")))
            assert len(pd.read_parquet(stem.with_suffix(".parquet"))) == rows
            with stem.with_suffix(".csv").open(encoding="utf-8", newline="") as stream:
                assert len(list(csv.DictReader(stream))) == rows
        inputs = [row[0] for row in db.execute("SELECT input FROM v_divergence ORDER BY ordinal")]
    assert [row["input"] for row in json.loads((tmp_path / "data" / "divergence.json").read_text())] == inputs
    assert list(pd.read_parquet(tmp_path / "data" / "divergence.parquet")["input"]) == inputs


def test_csv_is_no_formula(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ["=1+1", "@x", "plain", None], "b": [1, 2, 3, 4]})
    write_downloads({"v_x": frame}, tmp_path)
    assert (tmp_path / "x.csv").read_text().splitlines()[1:] == ["'=1+1,1", "'@x,2", "plain,3", ",4"]
    assert [row["a"] for row in json.loads((tmp_path / "x.json").read_text())] == ["=1+1", "@x", "plain", None]


def test_pages_of_a_great_run_stay_small(tmp_path: Path, store_at: Any) -> None:
    """Twenty-five engines, three contracts and nine corpora, 205 divergences, some with long documents."""
    store = store_at(tmp_path / "great.sqlite", "c" * 12)
    store.begin(exit_code=1)
    for n in range(9):
        store.corpus(f"corpus-{n}", f"corpus-{n}:100", 100)
    for name in range(3):
        contract = store.contract("16.0", "reject", name=f"vocabulary-{name}")
        core = f"{name:016x}"
        store.db.execute("UPDATE contract SET core = ?, digest = ? WHERE digest = ?", (core, core, contract))
        for e in range(25):
            build = store.build(f"engine-{e}", "1.0", "engine==1.0")
            for n in range(9):
                wrong = {"match": 99, "differ": 1} if (e + n) % 7 == 0 else {"match": 100}
                store.cell(f"corpus-{n}", "neutral", f"engine-{e}", "encode", core, build, wrong)
    for n in range(205):
        text = bytes(range(256)).hex() if n < 20 else f"{n:02x}"
        store.divergence(
            verdict="differ",
            signature=f"s{n} " + "x" * 200,
            input=text,
            explanation="long " * 60,
            engine=f"engine-{n % 25}",
            got=list(range(200)),
            expected=list(range(1, 201)),
        )
    build_site(Site(sources(store.close())), tmp_path / "site")
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "site").rglob("*.html")}
    assert len(sizes) > 205 and max(sizes.values()) < LARGEST, max(sizes.items(), key=lambda item: item[1])
    words = " ".join(Read((tmp_path / "site" / "divergences" / "index.html").read_text("utf-8")).text)
    assert "200 of 205 rows are shown" in words
    words = " ".join(Read((tmp_path / "site" / "runs" / f"{'c' * 12}.html").read_text("utf-8")).text)
    assert "2 of 3 contracts are shown" in words


def test_a_long_trace_is_cut_around_the_first_difference() -> None:
    told = {"stage": "scan", "span": [0, 1], "bytes": "61", "meaning": "m", "class": "Ll", "path": "p"}
    side = {"engine": "e", "version": "1", "variants": "v", "outcome": "ids", "detail": "", "ids": [], "tokens": []}
    rows = [{"stage": "scan", "at": n % 250, "same": n != 400, "decisions": [told, told]} for n in range(900)]
    value = {"document": "61" * 250, "sides": [side, side], "rows": rows, "first": 400, "parted": "", "command": ""}
    shown = picture(value, 200)
    assert len(shown["rows"]) == 200 and shown["left_out"] == 700 and 400 in [n for n, _ in shown["rows"]]


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "", ".", "..", "a/b", "fuzz:4821", "\u202e", "index", "x" * 300, "A B"]
)
def test_a_name_is_a_safe_part_of_a_path(name: str) -> None:
    made = slug(name)
    assert re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}", made) and made != "index" and ".." not in made
    assert slug(name) == made and slug(name + "!") != made


def test_what_is_no_store_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "x.sqlite").write_text("no store")
    with pytest.raises(ReportError) as caught:
        Site(Sources((tmp_path / "x.sqlite",), "0"))
    assert "x.sqlite" in caught.value.where and caught.value.remedy
