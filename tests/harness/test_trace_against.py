"""`tokassay trace --against`: who is traced and who inferred, the first difference, contracts, and the page."""

from __future__ import annotations

import base64
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tokassay.harness.cli import main

PLANTED = Path(__file__).parents[1] / "engines" / "planted" / "stages.toml"
EVERY = ["special", "normalize", "scan", "classify", "pretokenize", "merge", "lookup"]


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "250")


def run(capsys: pytest.CaptureFixture[str], verb: str, *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([verb, *words])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def value_of(capsys: pytest.CaptureFixture[str], left: str, right: str, *words: str) -> dict[str, Any]:
    code, out, _ = run(capsys, "trace", left, "--against", right, *words, "--json")
    value: dict[str, Any] = json.loads(out)
    assert (value["schema"], value["exit_code"]) == ("tokassay.trace/1", code)
    return value


def test_two_sides_that_are_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("dat-bpe", "--against", "oracle", "--hex", "e0407970")
    code, out, _ = run(capsys, "trace", *words)
    assert code == 0
    assert out.splitlines()[-1] == "same"
    assert out.count("E0 leads three bytes, but the next byte, 40, is no continuation (80-BF)") == 1
    assert "►" not in out and "≠" not in out
    value = value_of(capsys, "dat-bpe", "oracle", "--hex", "e0407970")
    assert [side["stages"] for side in value["sides"]] == [EVERY, EVERY]
    assert (value["same"], value["first"], value["difference"], value["changes"]) == (True, None, None, [])
    assert all(row["same"] for row in value["rows"])


def test_two_traced_sides_part(capsys: pytest.CaptureFixture[str]) -> None:
    value = value_of(capsys, "oracle", "oracle:replace", "--hex", "61ff62")
    row = value["rows"][value["first"]]
    assert (row["stage"], row["at"], row["same"]) == ("scan", 1, False)
    assert [each["value"] for each in row["decisions"]] == [0xFF, 0xFF]
    assert [each["class"] for each in row["decisions"]] == ["Ll", "So"]
    assert (value["difference"]["stage"], value["difference"]["known"]) == ("scan", "traced")
    _, out, _ = run(capsys, "trace", "oracle", "--against", "oracle:replace", "--hex", "61ff62")
    (marked,) = [line for line in out.splitlines() if "►" in line]
    assert "FF stands alone, as U+00FF ÿ of the byte alphabet" in marked and "FF stands for U+FFFD" in marked
    assert out.count("traced: special, normalize, scan, classify, pretokenize, merge, lookup") == 2


def test_a_silent_side_is_told_by_the_oracle_of_its_variants(capsys: pytest.CaptureFixture[str]) -> None:
    value = value_of(capsys, "oracle", "tiktoken", "--hex", "898881ab")
    right = value["sides"][1]
    assert (right["traced"], right["stages"]) == (False, [])
    assert list(right["inferred"]) == ["oracle:tiktoken-bytes@16.0"]
    told = [row["decisions"][1] for row in value["rows"] if row["decisions"][1] is not None]
    assert {each["inferred"] for each in told} == {"oracle:tiktoken-bytes@16.0"}
    assert value["difference"]["known"] == "inferred"
    assert value["rows"][value["first"]]["same"] is False
    _, out, _ = run(capsys, "trace", "oracle", "--against", "tiktoken", "--hex", "898881ab")
    assert "inferred from oracle:tiktoken-bytes@16.0: " in out


def test_a_side_that_exposes_less(capsys: pytest.CaptureFixture[str]) -> None:
    value = value_of(capsys, "oracle", "tokenizers", "--text", "hello world")
    right = value["sides"][1]
    assert right["stages"] == ["special", "normalize", "pretokenize", "lookup"]
    assert right["inferred"] == {"oracle:reject@16.0+nfc9.0".partition("+")[0]: ["scan", "merge"]}
    own = [row["decisions"][1] for row in value["rows"] if row["stage"] in ("pretokenize", "lookup")]
    assert [each["span"] for each in own] == [[0, 5], [0, 5], [5, 11], [5, 11]]
    assert not any("inferred" in each for each in own)
    assert (value["same"], value["first"]) == (True, None)


def test_a_wrong_silent_engine_has_its_tokens_alone(capsys: pytest.CaptureFixture[str]) -> None:
    value = value_of(capsys, "oracle", "never-joins-he", "--text", "he", "--roster", str(PLANTED))
    assert value["sides"][1]["inferred"] == {"its ids": ["lookup"]}
    row = value["rows"][value["first"]]
    assert (row["stage"], [each["id"] for each in row["decisions"]]) == ("lookup", [258, 71])
    assert (value["difference"]["stage"], value["difference"]["known"]) == ("merge", "inferred")
    assert [row["same"] for row in value["rows"] if row["stage"] == "merge"] == [None]


def test_the_same_ids_by_other_decisions(capsys: pytest.CaptureFixture[str]) -> None:
    """U+1C89 alone is one piece, assigned or not."""
    value = value_of(capsys, "oracle@15.0", "oracle", "--text", "\u1c89")
    assert (value["same"], value["exit_code"], value["difference"]) == (True, 0, None)
    assert [each["class"] for each in value["rows"][value["first"]]["decisions"]] == ["Cn", "Lu"]
    assert value["sentences"][0].startswith("first differing decision, without effect: scan: ")


def test_exit_codes_and_wrong_use(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert value_of(capsys, "oracle", "sentencepiece", "--text", "a")["same"] is None
    code, out, _ = run(capsys, "trace", "oracle", "--against", "sentencepiece", "--text", "a")
    assert (code, out.splitlines()[-1]) == (4, "nothing was compared: a side cannot take part")
    code, out, err = run(capsys, "trace", "oracle", "--against", "oracl", "--text", "a")
    assert (code, out, err.count("\n")) == (2, "", 1)
    code, out, err = run(capsys, "trace", "oracle", "--text", "a", "--html", str(tmp_path / "no" / "page.html"))
    assert (code, err.count("\n")) == (2, 1)
    assert "name a file in a folder that is there" in err
    page = tmp_path / "page.html"
    page.write_text("mine")
    for words in ((), ("--against", "oracle")):
        code, out, err = run(capsys, "trace", "oracle", "--text", "a", "--html", str(page), *words)
        assert (code, out, page.read_text("utf-8")) == (2, "", "mine") and "is there already; give --replace" in err
        assert run(capsys, "trace", "oracle", "--text", "a", "--html", str(page), *words, "--replace")[0] == 0
        assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
        page.write_text("mine")


def test_a_long_document_is_cut_around_the_difference(capsys: pytest.CaptureFixture[str]) -> None:
    document = (b"hello world " * 30 + b"\xff" + b" hello" * 30).hex()
    code, out, _ = run(capsys, "trace", "oracle", "--against", "oracle:replace", "--hex", document)
    assert code == 1
    assert "►" in out and "--all shows them" in out
    assert len(out.splitlines()) < 180
    whole = run(capsys, "trace", "oracle", "--against", "oracle:replace", "--hex", document, "--all")[1]
    assert len(whole) > 3 * len(out)


# -- first cause: by contract -------------------------------------------------------------------------------------


@pytest.fixture
def roster(tmp_path: Path) -> str:
    """The oracle with one part of its contract otherwise, as engines that say no word; and a tiny vocabulary."""
    shown = {
        "merges": "ignore_merges = false", "prefixes": "add_prefix_space = true", "replaces": 'byte_policy = "replace"',
        "matches": 'specials = "on"', "old": 'unicode = "15.0"',
        "composes": 'normalizer = "nfc"',
    }  # fmt: skip
    adapter = PLANTED.with_name("stages.py")
    (tmp_path / "roster.toml").write_text(
        "".join(
            f'[{name}]\nrequirement = "planted"\nenvironment = "project"\nadapter = "{adapter}"\n'
            'algorithms = ["bpe-ranks"]\nbyte_policy = "byte-alphabet"\nunicode = "16.0"\nspecials = ["off", "on"]\n'
            'operations = ["encode", "decode"]\nlicence = "MIT"\nhome = "here"\n'
            f'options = {{ fault = "none", contract = {{ {field} }} }}\n\n'
            for name, field in shown.items()
        )
    )
    rows = [bytes([byte]) for byte in range(256)] + [b"bc", b"abcd"]
    (tmp_path / "tiny.tiktoken").write_bytes(
        b"".join(base64.b64encode(row) + b" %d\n" % rank for rank, row in enumerate(rows))
    )
    return str(tmp_path / "roster.toml")


@pytest.mark.parametrize(
    ("engine", "document", "field", "words"),
    [
        ("prefixes", b"ab", "add_prefix_space", "with a space put before the text (add_prefix_space)"),
        ("replaces", b"a\xff", "byte_policy", "with the byte policy replace instead of byte-alphabet"),
        ("matches", b"a<|endoftext|>", "specials", "with special tokens matched"),
        ("old", "\u1c89's".encode(), "unicode", "Unicode 15.0 instead of 16.0: U+1C89 is Lu in 16.0, Cn in 15.0"),
    ],
)
def test_a_difference_of_contract_is_told_as_one(
    capsys: pytest.CaptureFixture[str], roster: str, engine: str, document: bytes, field: str, words: str
) -> None:
    value = value_of(capsys, engine, "oracle", "--hex", document.hex(), "--roster", roster)
    assert value["exit_code"] == 1
    assert {change["field"] for change in value["changes"]} == {field}
    assert words in value["changes"][0]["sentence"]


def test_a_piece_looked_up_whole_is_a_difference_of_contract(capsys: pytest.CaptureFixture[str], roster: str) -> None:
    """A rank file means that pieces are looked up whole first; merging alone does not reach `abcd`."""
    vocab = str(Path(roster).with_name("tiny.tiktoken"))
    words = ("--vocab", vocab, "--pattern", "gpt2", "--text", "abcd", "--roster", roster)
    code, out, _ = run(capsys, "diff", "merges", "oracle", *words)
    assert code == 1
    assert "by contract: merges answers as oracle would with whole pieces not looked up before merging" in out


def test_what_is_declared_is_told_without_further_documents(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "diff", "oracle@15.0", "oracle@16.0", "--text", "\u1c89's")
    assert code == 1
    (line,) = [line for line in out.splitlines() if line.startswith("by contract: ")]
    assert "U+1C89 is Cn in 15.0, Lu in 16.0" in line or "U+1C89 is Lu in 16.0, Cn in 15.0" in line
    assert "U+1C89, class Cn" in out and "U+1C89, class Lu" in out


def test_a_fault_is_no_contract(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "diff", "never-joins-he", "oracle", "--text", "he", "--roster", str(PLANTED))
    assert code == 1
    assert "by contract" not in out


# -- the page -----------------------------------------------------------------------------------------------------

VOID = {"meta", "br"}


class Page(HTMLParser):
    """Tags, attributes and text of a page; raises on tags that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        self.text += data
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    def row(self, *begins: str) -> list[str]:
        (found,) = [row for row in self.rows if [cell.strip() for cell in row[: len(begins)]] == [*begins]]
        return [" ".join(cell.split()) for cell in found]


def page_of(capsys: pytest.CaptureFixture[str], tmp_path: Path, *words: str) -> Page:
    path = tmp_path / "page.html"
    run(capsys, "trace", *words, "--html", str(path), "--replace")
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert not {"script", "img", "link", "iframe", "object", "form"} & {tag for tag, _ in page.tags}
    for _, attributes in page.tags:
        assert not {"src", "onclick", "onload", "onerror"} & set(attributes)
        assert (attributes.get("href") or "#").startswith("#")
    assert "http" not in text and "url(" not in text
    return page


def test_the_page_has_what_both_sides_decided(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """89 88 81 AB in GPT-2: one piece of three bytes and one of one; tiktoken takes 81 AB as one token."""
    page = page_of(capsys, tmp_path, "oracle", "--against", "tiktoken", "--hex", "898881ab")
    assert page.row("bytes")[1:] == ["89", "88", "81", "AB"]
    assert page.row("text")[1:] == [r"\x89", r"\x88", r"\x81", r"\xAB"]
    assert page.row("oracle scan")[1:] == ["Ll", "Lu", "Ll", "Pi"]
    assert page.row("oracle tokens")[1:] == ["231", "230", "223", "104"]
    assert page.row("tiktoken tokens")[1:] == ["231", "230", "43769"]
    pieces = [each for tag, each in page.tags if tag == "td" and (each.get("class") or "").startswith("piece")]
    spans = [each.get("colspan") for each in pieces]
    assert spans == ["3", None, "4"]
    assert "from oracle:tiktoken-bytes@16.0" in page.text
    assert "first differing decision (inferred through oracle:tiktoken-bytes@16.0): pretokenize" in page.text
    assert [attributes["id"] for tag, attributes in page.tags if tag == "tr" and "id" in attributes] == ["first"]
    assert "tokassay trace oracle --against tiktoken --vocab gpt2 --hex 898881ab" in page.text


def test_a_document_does_not_become_markup(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>&amp;<b title='x\">\u202e\u200b</style><td>"
    page = page_of(capsys, tmp_path, "oracle", "--against", "oracle:replace", "--text", hostile)
    assert "script" not in {tag for tag, _ in page.tags}
    assert "\u202e" not in page.text and "\u200b" not in page.text
    assert "[<]" in page.text and "[script]" in page.text
    shown = "".join("".join(cell for cell in row[1:]) for row in page.rows if row and row[0] == "text")
    assert shown.replace(r"\u{202E}", "\u202e").replace(r"\u{200B}", "\u200b") == hostile


def test_a_long_document_shows_a_window_and_says_what_it_leaves_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """1,200 bytes, the ill-formed one, and 600 behind it."""
    document = (b"hello world " * 100 + b"\xff" + b" hello" * 100).hex()
    page = page_of(capsys, tmp_path, "oracle", "--against", "oracle:replace", "--hex", document)
    assert "1801 bytes are too many to show: these are bytes 1072 to 1327." in page.text
    assert "Left out: 1072 before, 473 behind." in page.text
    assert len([row for row in page.rows if row and row[0] == "bytes"]) == 16
    assert "rows are left out" in page.text
    assert "FF stands for U+FFFD" in page.text
    assert "--hex" not in page.text


def test_one_side_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = page_of(capsys, tmp_path, "oracle", "--hex", "e0407970")
    assert page.row("scan")[1:] == ["Ll", "Po", "Ll", "Ll"]
    assert page.row("tokens")[1:] == ["156", "31", "4464"]
    assert "E0 leads three bytes, but the next byte, 40, is no continuation (80-BF)" in page.text
    assert page_of(capsys, tmp_path, "oracle", "--hex", "").text.count("The document is empty.") == 1


def test_text_that_a_normalizer_changed(capsys: pytest.CaptureFixture[str], tmp_path: Path, roster: str) -> None:
    """What the normalizer made of e and an accent has no bytes of its own: its scan spans both characters."""
    page = page_of(capsys, tmp_path, "oracle", "--against", "composes", "--roster", roster, "--text", "e\u0301x")
    assert page.row("bytes")[1:] == ["65", "CC", "81", "78"]
    assert "by contract: composes answers as oracle would with NFC" in page.text
