"""`tokassay engines list | install | check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokassay.harness.cli import main

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
    assert json.loads(out)["engines"][0]["note"] == "should be [31373, 995]"


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
