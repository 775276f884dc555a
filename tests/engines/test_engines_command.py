"""`tokassay engines list | install | check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokassay.harness.cli import main

# Serves the one vocabulary that is larger than GPT-2's and smaller than o200k.
PICKY = """
class Adapter:
    name = "picky"
    operations = ("encode",)

    def version(self):
        return "1"

    def load(self, contract, files, threads, options):
        with open(files["tiktoken"], "rb") as lines:
            if not 100000 < len(lines.readlines()) < 150000:
                raise Unsupported("another vocabulary")

    def prepare(self, document):
        return document

    def encode(self, item):
        return {ids}
"""
PLANTED = Path(__file__).resolve().parent / "planted" / "planted.toml"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["engines", *words])
    said = capsys.readouterr()
    code = ended.value.code
    return code if isinstance(code, int) else 0, said.out, said.err


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKASSAY_CACHE", str(tmp_path))


def test_list_names_every_engine_and_whether_it_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "list", "--json")
    there = {row["engine"]: row["installed"] for row in json.loads(out)["engines"]}
    assert code == 0
    assert there["tiktoken"] and there["tokenizers"] and not there["gigatoken"]
    code, out, _ = run(capsys, "list")
    assert code == 0 and "gigatoken" in out


def test_check_encodes_hello_world(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "check", "tiktoken", "tokenizers", "sentencepiece", "--json")
    rows = json.loads(out)["engines"]
    assert [row["ids"] for row in rows] == [[31373, 995], [31373, 995], []]
    assert all(row["ok"] for row in rows) and code == 0


def test_check_tells_a_wrong_version_and_an_engine_that_is_not_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = PLANTED.read_text(encoding="utf-8").split("\n\n")[1]
    adapter = PLANTED.with_name("planted.py")
    text = text.replace('"planted.py"', json.dumps(str(adapter))).replace(
        'requirement = "planted"', 'requirement = "planted==9"'
    )
    roster = tmp_path / "mine.toml"
    roster.write_text(text, encoding="utf-8")
    code, out, _ = run(capsys, "check", "honest", "gigatoken", "--roster", str(roster), "--json")
    notes = [row["note"] for row in json.loads(out)["engines"]]
    assert notes == ["the roster pins 9", "gigatoken is not installed; run: tokassay engines install gigatoken"]
    assert code == 5


def test_check_tells_wrong_ids_apart(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "check", "first-time", "--roster", str(PLANTED), "--json")
    assert code == 1
    assert json.loads(out)["engines"][0]["note"] == "gpt2: should be [31373, 995]"


def honest(tmp_path: Path, *lines: str) -> str:
    """A roster of the planted engine without a fault, with further lines in its table."""
    text = PLANTED.read_text(encoding="utf-8").split("\n\n")[1]
    text = text.replace('"planted.py"', json.dumps(str(PLANTED.with_name("planted.py"))))
    roster = tmp_path / "mine.toml"
    roster.write_text("\n".join([text, *lines]), encoding="utf-8")
    return str(roster)


def test_check_takes_a_vocabulary_that_the_engine_has(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Its ids are those that tiktoken's authors publish; an engine for any other contract has its own."""
    roster = honest(tmp_path, 'vocabularies = ["cl100k_base", "o200k_base"]')
    code, out, _ = run(capsys, "check", "honest", "dat-greedy", "--roster", roster, "--json")
    rows = json.loads(out)["engines"]
    assert [[(one["vocabulary"], one["algorithm"], one["ids"]) for one in row["checked"]] for row in rows] == [
        [("cl100k_base", "bpe-ranks", [15339, 1917])],
        [("gpt2@greedy-longest", "greedy-longest", [31373, 995])],
    ]
    assert code == 0 and all(row["verified"] for row in rows)


def test_check_passes_over_what_an_engine_refuses(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    adapter = tmp_path / "picky.py"
    adapter.write_text(PICKY.format(ids="[15339, 1917]"), encoding="utf-8")
    roster = honest(tmp_path)
    Path(roster).write_text(
        Path(roster).read_text(encoding="utf-8").replace(str(PLANTED.with_name("planted.py")), str(adapter))
        .replace('"encode", "encode_batch", "decode"', '"encode"'), encoding="utf-8",
    )
    code, out, _ = run(capsys, "check", "honest", "--roster", roster, "--json")
    row = json.loads(out)["engines"][0]
    assert (code, [one["vocabulary"] for one in row["checked"]]) == (0, ["cl100k_base"])
    adapter.write_text(PICKY.format(ids="[1]"), encoding="utf-8")
    code, out, _ = run(capsys, "check", "honest", "--roster", roster, "--json")
    assert (code, json.loads(out)["engines"][0]["note"]) == (1, "cl100k_base: should be [15339, 1917]")


def test_where_no_ids_were_compared_nothing_is_verified(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "check", "honest", "--roster", honest(tmp_path, 'vocabularies = ["nobodys"]'), "--json")
    row = json.loads(out)["engines"][0]
    assert (code, row["ok"], row["verified"], row["unchecked"]) == (4, True, False, ["bpe-ranks"])
    assert row["note"].startswith("starts; no published ids")


def test_show_has_what_a_table_declares_and_what_the_engine_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    roster = honest(
        tmp_path, 'vocabularies = ["gpt2"]', 'loads = "a file"', 'threads = "one"', 'cache = "none"',
        'claims = ["tokie"]',
    )
    with_claims = json.loads(run(capsys, "show", "honest", "--roster", roster, "--json")[1])
    assert [with_claims[key] for key in ("vocabularies", "loads", "threads", "cache")] == [
        ["gpt2"], "a file", "one", "none"
    ]
    assert list(with_claims["claims"]) == ["tokie"] and "times" in with_claims["claims"]["tokie"]
    assert with_claims["says"]["version"] and with_claims["says"]["limits"]["memory_mb"] == 4096
    code, out, _ = run(capsys, "show", "gigatoken")
    assert code == 0 and "marcelroed/gigatoken" in out and "not installed" in out


def test_an_unknown_engine_is_one_line_with_its_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "install", "gigatokn")
    assert code == 2
    assert err.startswith("tokassay: tokassay engines install: no engine is called 'gigatokn'; did you mean gigatoken?")
    assert len(err.splitlines()) == 1


def test_what_is_installed_is_not_installed_again(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "install", "tiktoken", "--json")
    assert code == 0 and json.loads(out)["already"] is True


def test_a_bad_roster_is_one_line_with_its_place(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    roster = tmp_path / "bad.toml"
    roster.write_text("[toy]\nrequirement = \n", encoding="utf-8")
    code, _, err = run(capsys, "list", "--roster", str(roster))
    assert code == 2
    assert err.startswith(f"tokassay: {roster}:2: not TOML")
