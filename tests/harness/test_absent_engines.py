"""An engine that cannot be asked is a row with its reason in every cell: no gap, and no failure of the others."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tokassay.engines.environments import EnvironmentFault, absence, install
from tokassay.engines.roster import load_roster
from tokassay.harness import selfdiff
from tokassay.harness.cli import main
from tokassay.harness.errors import InputError
from tokassay.harness.hosts import target
from tokassay.harness.lanes import Lanes
from tokassay.harness.load import load_vocabulary
from tokassay.harness.suites import CorpusRequest, Suite

PLANTED = Path(__file__).parents[1] / "engines" / "planted"
# One that nobody can ask, one that nobody has installed, one that cannot be, and one of another algorithm.
ABSENT = f"""\
[nobodys]
requirement = "nobodys==1.0"
home = "nowhere"
unavailable = "its loader is missing from the package"

[later]
requirement = "later==1.0"
environment = "own"
adapter = "{PLANTED / "planted.py"}"
algorithms = ["bpe-ranks"]
byte_policy = "tiktoken-bytes"
unicode = "16.0"
specials = ["off"]
operations = ["encode", "decode"]
licence = "MIT"
home = "nowhere"
"""
DROPS = """\
class Adapter:
    name = "drops"
    operations = ("encode",)

    def version(self):
        return "1.0"

    def load(self, contract, files, threads, options):
        pass

    def prepare(self, document):
        return document

    def encode(self, item):
        return [0]
"""
DOCUMENTS = [b"hello world", b"caf\xc3\xa9", b"\xff"]


@pytest.fixture
def roster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOKASSAY_CACHE", str(tmp_path / "cache"))
    more = ABSENT.split("\n\n")[1]
    broken = more.replace("later", "broken")
    other = more.replace("later", "greedy").replace("bpe-ranks", "greedy-longest")
    path = tmp_path / "absent.toml"
    path.write_text("\n\n".join([ABSENT, broken, other]), encoding="utf-8")
    return path


def refused(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess(command, 1, "", "error: no compiler\n")


def break_it(roster: Path) -> None:
    with pytest.raises(EnvironmentFault):
        install(load_roster(roster)["broken"], run=refused, uv="uv")


def reasons(run: Any) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for row in run.rows("SELECT * FROM v_reason WHERE run = ?"):
        found.setdefault(row["engine"], set()).add(row["reason"])
    return found


def test_every_cell_of_an_absent_engine_says_why(run_audit: Callable, roster: Path) -> None:
    break_it(roster)
    run = run_audit(
        "all", documents=DOCUMENTS, roster=(roster,), operations=("encode", "decode"), specials=("off", "on"),
    )
    cells = len(DOCUMENTS) * 2 * 2
    engines = list(load_roster(roster))
    assert run.outcome.verdicts.total() == cells * len(engines)
    for name in ("nobodys", "later", "broken", "greedy", "gigatoken"):
        told = run.verdicts(name) + run.verdicts(name, "decode")
        assert told == {"unsupported": cells}, name
    said = reasons(run)
    assert said["nobodys"] == {"its loader is missing from the package"}
    # What it could not have served at all, it is not to be installed for.
    assert said["later"] == {"not installed (tokassay engines install later)", "cannot have special tokens on"}
    assert said["broken"] == {
        "cannot be installed: cannot pin broken==1.0: error: no compiler", "cannot have special tokens on"
    }
    assert said["greedy"] == {"serves greedy-longest, not bpe-ranks"}
    assert run.verdicts("dat-bpe") == {"match": 2 * len(DOCUMENTS)}
    assert run.outcome.exit_code == 0


def test_an_absent_engine_alone_verifies_nothing(run_audit: Callable, roster: Path) -> None:
    run = run_audit("nobodys", documents=DOCUMENTS, roster=(roster,))
    assert (run.outcome.exit_code, run.outcome.verdicts) == (4, {"unsupported": len(DOCUMENTS)})


def test_a_contract_without_an_oracle_names_an_engine_that_was_asked(
    run_audit: Callable, roster: Path, tmp_path: Path
) -> None:
    """The row of an absent engine is nobody's to be held to."""
    (tmp_path / "drops.py").write_text(DROPS, encoding="utf-8")
    later = roster.read_text(encoding="utf-8").split("\n\n")[1].replace("bpe-ranks", "opaque")
    drops = later.replace("later", "drops").replace(str(PLANTED / "planted.py"), "drops.py")
    drops = drops.replace('"own"', '"project"').replace(', "decode"', "")
    roster.write_text(f"{later}\n\n{drops}", encoding="utf-8")
    model = tmp_path / "tokenizer.json"
    model.write_text(json.dumps({
        "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "?": 2}, "unk_token": "?"}, "added_tokens": [],
        "pre_tokenizer": {"type": "Whitespace"},
    }), encoding="utf-8")
    run = run_audit("later!", "drops", "tokenizers", documents=[b"a b"], roster=(roster,), vocabulary=str(model))
    assert run.verdicts("later") == {"unsupported": 1}
    assert [row["against"] for row in run.divergences("drops")] == ["tokenizers"]
    assert [row["against"] for row in run.divergences("tokenizers")] == ["drops"]


def test_one_that_is_only_missing_is_asked_for_and_not_passed_over(roster: Path) -> None:
    suite = Suite("t", "", ("gpt2",), ("later",), (CorpusRequest("battery", ("encode",), ("off",)),))
    with pytest.raises(InputError, match="later is not installed") as caught:
        Lanes(suite, (roster,), None, {}, 1)
    assert caught.value.remedy == "run: tokassay engines install later"


def test_no_command_asks_an_unavailable_engine(roster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engines = load_roster(roster)
    with pytest.raises(InputError, match="its loader is missing"):
        target("nobodys", load_vocabulary("gpt2").contract, engines)
    with pytest.raises(EnvironmentFault, match="its loader is missing"):
        install(engines["nobodys"], run=refused, uv="uv")
    for words in (
        ["encode", "--engine", "nobodys", "--text", "a"],
        ["diff", "nobodys", "oracle", "--text", "a"],
        ["bench", "--engine", "nobodys", "--corpus", str(roster)],
        ["engines", "install", "nobodys"],
    ):
        with pytest.raises(SystemExit) as end:
            main([*words, "--roster", str(roster)])
        assert end.value.code == 2 and "its loader is missing" in capsys.readouterr().err, words


def test_against_itself_it_is_a_row_too(roster: Path) -> None:
    suite = Suite("t", "", ("gpt2",), ("nobodys",), (CorpusRequest("mine", ("encode",), ("off",)),))
    lanes = Lanes(suite, (roster,), None, {}, 1)
    rows = selfdiff.run(lanes, lanes.vocabularies(), [("mine", lambda _: [("document", b"hello")])])
    assert [(row.verdict, row.detail) for row in rows] == [("unsupported", "its loader is missing from the package")]


def test_why_an_installation_failed_is_kept_until_it_succeeds(roster: Path) -> None:
    spec = load_roster(roster)["broken"]
    assert absence(spec) == "not installed (tokassay engines install broken)"
    break_it(roster)
    assert absence(spec).startswith("cannot be installed: ")

    def accepted(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 0, "broken==1.0 --hash=sha256:00\n", "")

    made = install(spec, run=accepted, uv="uv")
    assert absence(spec) == ""
    (made.path / "tokassay.json").unlink()
    assert absence(spec) == "not installed (tokassay engines install broken)"
