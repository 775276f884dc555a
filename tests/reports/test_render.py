"""Structure of what is written: pages parse, nothing hostile survives, JSON keeps its schema, a bad sum is an error."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console
from tokassay.reports.errors import ReportError
from tokassay.reports.html import render_html
from tokassay.reports.json import audit_object, schema
from tokassay.reports.markdown import render_markdown
from tokassay.reports.read import read_run
from tokassay.reports.tables import build
from tokassay.reports.terminal import print_report
from tokassay.reports.write import NAMES, write_report

VOID = {"meta", "br", "img", "link", "input", "hr"}
ALL = ("agreed", "failing", "nothing")


class Page(HTMLParser):
    """Elements, text and code blocks of a page; raises on tags that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.code: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "code":
            self.code.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        self.text.append(data)
        if "code" in self.open:
            self.code[-1] += data


@pytest.mark.parametrize("name", ALL)
def test_the_page_is_self_contained(scenario: Callable[[str], Path], name: str) -> None:
    text = render_html(build(read_run(scenario(name))))
    page = Page(text)
    assert not {"script", "img", "link", "iframe", "object", "form"} & {tag for tag, _ in page.tags}
    for _, attributes in page.tags:
        assert not {"src", "onclick", "onload", "onerror"} & set(attributes)
        assert (attributes.get("href") or "#").startswith("#")
    assert "http" not in re.sub(r"http-equiv", "", text)
    assert "url(" not in text


@pytest.mark.parametrize("name", ALL)
def test_the_page_opens_with_the_sentence(scenario: Callable[[str], Path], name: str) -> None:
    tables = build(read_run(scenario(name)))
    text = "".join(Page(render_html(tables)).text)
    places = [text.index(words) for words in (tables.banner.sentence, "Coverage", "Divergences", "Corpus digests")]
    assert places == sorted(places)
    assert text.rindex("Environment and versions") > text.index("Every count")
    assert tables.check.sentence in text
    assert "This is not a benchmark." in text
    assert not re.search(r"[MG]B/s", text)


def test_every_command_can_be_copied_whole(scenario: Callable[[str], Path]) -> None:
    tables = build(read_run(scenario("failing")))
    code = Page(render_html(tables)).code
    for found in tables.failing + tables.declared:
        assert found.command in code
    assert tables.run["command"] in code


def test_hostile_text_is_inert(scenario: Callable[[str], Path]) -> None:
    tables = build(read_run(scenario("failing")))
    html, markdown = render_html(tables), render_markdown(tables)
    screen = io.StringIO()
    print_report(Console(file=screen, width=80, force_terminal=True, color_system=None), tables)
    assert "<script" not in html and "<b>1203" not in html and "<i>this" not in html
    # In Markdown, markup stands only inside fences or behind a backslash.
    outside = re.sub(r"^(`{3,})\w*\n.*?^\1$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"(?<!\\)<(?!!)", outside)
    for shown in (html, markdown, screen.getvalue()):
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u2028\u0000\ufeff]", shown)
        assert "\\u{202E}" in shown.replace("\\\\u\\{202E\\}", "\\u{202E}")
    assert "\x1b[31m" not in html + markdown + screen.getvalue()


def test_markdown_tables_are_rectangular(scenario: Callable[[str], Path]) -> None:
    text = render_markdown(build(read_run(scenario("failing"))))
    tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    assert len(tables) >= 8
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1, table


@pytest.mark.parametrize("name", ALL)
def test_the_terminal_holds_at_80_columns(scenario: Callable[[str], Path], name: str) -> None:
    tables = build(read_run(scenario(name)))
    screen = io.StringIO()
    print_report(Console(file=screen, width=80), tables, [Path("report/index.html")])
    text = screen.getvalue()
    assert "\x1b" not in text
    commands = {found.command for found in tables.failing + tables.declared}
    assert all(len(line) <= 80 or line.strip() in commands for line in text.splitlines())
    assert tables.banner.headline in text
    assert text.rstrip().endswith("report/index.html")


def test_a_command_that_fills_the_screen_is_left_to_the_report(scenario: Callable[[str], Path]) -> None:
    frames = read_run(scenario("failing"))
    long = "tokassay diff dat-bpe oracle --hex " + "61" * 600
    for column in ("command", "minimal_command"):
        if column in frames.divergences:
            frames.divergences[column] = long
    tables = build(frames)
    assert any(found.command == long for found in tables.failing)
    screen = io.StringIO()
    print_report(Console(file=screen, width=80), tables)
    assert long not in screen.getvalue() and "its command is 1,235 characters long" in screen.getvalue()
    assert long in render_html(tables)


def test_the_terminal_takes_frames(scenario: Callable[[str], Path]) -> None:
    frames = read_run(scenario("agreed"))
    screen = io.StringIO()
    print_report(Console(file=screen, width=80), frames)
    assert "All agreed" in screen.getvalue()


@pytest.mark.parametrize("name", ALL)
def test_json_keeps_its_schema(scenario: Callable[[str], Path], name: str) -> None:
    frames = read_run(scenario(name))
    found = json.loads(json.dumps(audit_object(frames, [Path("report/index.html")])))
    checker = jsonschema.Draft202012Validator(json.loads(schema()))
    checker.check_schema(json.loads(schema()))
    checker.validate(found)
    assert found["schema"] == "tokassay.audit/1"
    assert {e["name"] for e in found["engines"]} == {"dat-bpe", "tiktoken", "tokenizers"}
    counted = sum(n for e in found["engines"] for cell in e["cells"] for n in cell["verdicts"].values())
    assert counted == found["sum_check"]["expected"] == sum(found["verdicts"].values())
    del found["engines"][0]["version"]
    with pytest.raises(jsonschema.ValidationError):
        checker.validate(found)


def test_reasons_are_shown(scenario: Callable[[str], Path]) -> None:
    frames = read_run(scenario("agreed"))
    frames.reasons.loc[0] = {
        "engine": "tiktoken",
        "contract_name": "gpt2",
        "operation": "offsets",
        "verdict": "unsupported",
        "reason": "no <offsets> here",
        "blocks": 8,
    }
    frames.run["environment"]["notes"] = ["gigatoken is not installed"]
    tables = build(frames)
    screen = io.StringIO()
    print_report(Console(file=screen, width=80), tables)
    assert "no &lt;offsets&gt; here" in render_html(tables)
    assert "no \\<offsets\\> here" in render_markdown(tables)
    for text in (render_html(tables), render_markdown(tables), screen.getvalue()):
        assert "gigatoken is not installed" in text
    jsonschema.validate(audit_object(frames), json.loads(schema()))


def test_write_report(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    paths = write_report(scenario("failing"), None, tmp_path / "report")
    assert [p.name for p in paths] == list(NAMES) == sorted(NAMES, key=NAMES.index)
    assert sorted(p.name for p in (tmp_path / "report").iterdir()) == sorted(NAMES)
    with paths[3].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 4 * (3 + 3 + 2)
    assert all(row["command"].startswith("tokassay audit ") for row in rows)
    with paths[4].open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert {row["input"] for row in found} >= {"e0407970", "61ff62"}


def test_a_bad_sum_is_written_and_raised(builder: Callable[[], Any], tmp_path: Path) -> None:
    store = builder()
    store.begin()
    store.corpus("battery", "battery", 10)
    contract = store.contract("16.0", "byte-alphabet")
    store.cell("battery", "neutral", "a", "encode", contract, store.build("a", "1", "a"), {"match": 9})
    path = store.close()
    with pytest.raises(ReportError, match="do not add up") as caught:
        write_report(path, None, tmp_path / "report")
    assert caught.value.exit_code == 5
    assert "Sum check failed" in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "report" / "audit.json").read_text(encoding="utf-8"))["sum_check"]["ok"] is False


def test_a_folder_that_cannot_be_made(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(ReportError) as caught:
        write_report(scenario("agreed"), None, tmp_path / "file" / "report")
    assert caught.value.exit_code == 2 and "--out" in caught.value.remedy


def test_documents_not_examined_take_no_room(builder: Callable[[], Any]) -> None:
    store = builder()
    store.begin()
    store.corpus("battery", "battery", 10)
    contract = store.contract("16.0", "byte-alphabet")
    store.cell("battery", "bytes", "a", "encode", contract, store.build("a", "1", "a"), {"match": 10})
    store.divergence(stage="", input="", got=[], expected=[], token=None, documents=90, explanation="further documents")
    store.divergence(documents=3)
    tables = build(read_run(store.close()))
    assert [d.documents for d in tables.declared] == [3, 90]
    text = "".join(Page(render_html(tables)).text)
    assert "Stage ." not in text and "Input, 0 bytes" not in text
    assert "Input, 0 bytes" not in render_markdown(tables)
