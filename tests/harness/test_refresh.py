"""`engines refresh`, whole, over a planted package of several releases in a folder of wheels: no network."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tokassay.engines.roster import load_roster
from tokassay.harness.cli import main
from tokassay.harness.refresh import beside

# Ranks by the plain rule, over the pattern of GPT-2 cut down to ASCII; `spoil` is what a release does to its ids.
RIGHT = '''
import re

SPLIT = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+| ?[^\\sA-Za-z0-9]+|\\s+(?!\\S)|\\s+")


def encode(ranks, text):
    ids = []
    for piece in SPLIT.findall(text):
        parts = [bytes([byte]) for byte in piece.encode()]
        while len(parts) > 1:
            best = min(range(len(parts) - 1), key=lambda at: ranks.get(parts[at] + parts[at + 1], 1 << 32))
            if parts[best] + parts[best + 1] not in ranks:
                break
            parts[best : best + 2] = [parts[best] + parts[best + 1]]
        ids += [ranks[part] for part in parts]
    return spoil(ids, text)


'''
RELEASES = {
    "1.0": RIGHT + "def spoil(ids, text):\n    return ids[1:] if 'q' in text else ids\n",
    "1.1": RIGHT + "def spoil(ids, text):\n    return ids[1:] if 'q' in text or 'z' in text else ids\n",
    "1.2": RIGHT + "def spoil(ids, text):\n    return ids\n",
    "2.0": RIGHT + "def spoil(ids, text):\n    return ids[::-1]\n",
    "3.0": "raise ImportError('no such processor')\n",
}
ADAPTER = '''
import base64
from importlib.metadata import version

import refreshed_kit


class Adapter:
    name = "kit"
    operations = ("encode",)
    rejects = (UnicodeDecodeError,)

    def version(self):
        return version("refreshed-kit")

    def load(self, contract, files, threads, options):
        with open(files["tiktoken"], "rb") as lines:
            self.ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}

    def prepare(self, document):
        return document.decode("ascii")

    def encode(self, text):
        return refreshed_kit.encode(self.ranks, text)
'''
TABLE = """\
# a comment that stays
[{name}]
requirement = "refreshed-kit==1.0"  # and so does this one
environment = "own"
lock = "{lock}"
adapter = "kit.py"
algorithms = ["bpe-ranks"]
byte_policy = "reject"
unicode = "16.0"
specials = ["off"]
operations = ["encode"]
licence = "MIT"
home = "here"
vocabularies = ["gpt2"]

"""
DOCUMENTS = {"plain": b"hello world", "z": b"dozens of them", "q": b"a quiet one"}


def wheels() -> ModuleType:
    path = Path(__file__).parents[1] / "engines" / "wheels.py"
    spec = importlib.util.spec_from_file_location("planted_wheels", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A roster of two engines of one package, each with a lock. `documents` is what releases are held against."""
    found = tmp_path / "wheels"
    found.mkdir()
    for name, value in {
        "TOKASSAY_CACHE": str(tmp_path / "cache"), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(found),
        "PIP_CONFIG_FILE": "/dev/null", "UV_NO_INDEX": "1", "UV_FIND_LINKS": str(found), "UV_OFFLINE": "1",
        "UV_NO_CONFIG": "1", "UV_CACHE_DIR": str(tmp_path / "uv"),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    digest = ""
    for version, code in RELEASES.items():
        path = wheels().wheel(found, "refreshed_kit", version, code)
        digest = digest or hashlib.sha256(path.read_bytes()).hexdigest()
    (tmp_path / "kit.py").write_text(ADAPTER, encoding="utf-8")
    for lock in ("kit.txt", "apart.txt"):
        (tmp_path / lock).write_text(
            f"# refreshed-kit 1.0 alone.\nrefreshed-kit==1.0 \\\n    --hash=sha256:{digest}\n    # via -r -\n",
            encoding="utf-8",
        )
    tables = [TABLE.format(name=name, lock=f"{name}.txt") for name in ("kit", "apart")]
    (tmp_path / "kits.toml").write_text("".join(tables), encoding="utf-8")
    (tmp_path / "documents").mkdir()
    for name, document in DOCUMENTS.items():
        (tmp_path / "documents" / name).write_bytes(document)
    return tmp_path


def refresh(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    with pytest.raises(SystemExit) as end:
        main([
            "engines", "refresh", "kit", "--roster", str(folder / "kits.toml"), "--corpus",
            f"{folder / 'documents'}@files", "--json", *words,
        ])  # fmt: skip
    return int(end.value.code or 0), json.loads(capsys.readouterr().out)


def texts(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text(encoding="utf-8") for name in ("kits.toml", "kit.txt", "apart.txt")}


def test_what_is_better_is_pinned_with_all_that_share_its_lock(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (folder / "kits.toml").open("a", encoding="utf-8") as roster:
        roster.write(TABLE.format(name="twin", lock="kit.txt"))
    before = texts(folder)
    code, found = refresh(folder, capsys, "--to", "1.2")
    assert (code, found["changed"]) == (0, True)
    assert [one["engine"] for one in found["engines"]] == ["kit", "twin"]
    for one in found["engines"]:
        assert [row["ids"] for row in one["after"]["checked"]] == [[31373, 995]]
        told = one["audit"]
        assert [told[key] for key in ("documents", "blocks_changed", "documents_changed", "documents_worse")] == [
            len(DOCUMENTS), 1, 1, 0
        ]  # fmt: skip
        assert [cause["input"] for cause in told["vanish"]] == [DOCUMENTS["q"].hex()] and not told["appear"]
    after = texts(folder)
    assert after["apart.txt"] == before["apart.txt"]
    assert after["kit.txt"].startswith("# refreshed-kit 1.2 alone.\nrefreshed-kit==1.2 \\\n    --hash=sha256:")
    parts = before["kits.toml"].split("# a comment that stays\n")
    kept = [part if "[apart]" in part else part.replace("==1.0", "==1.2") for part in parts]
    assert after["kits.toml"] == "# a comment that stays\n".join(kept)
    assert "-requirement" in found["diff"] and "(1 hash)" in found["diff"]
    assert refresh(folder, capsys, "--to", "1.2")[1]["why"] == "it is the pinned version"


def test_what_is_worse_is_pinned_and_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the same fault on more documents, too, which is no other divergence."""
    before = texts(folder)
    code, found = refresh(folder, capsys, "--to", "1.1", "--dry-run")
    assert (code, found["changed"], found["why"]) == (1, False, "a dry run") and texts(folder) == before
    code, found = refresh(folder, capsys, "--to", "1.1")
    assert (code, found["changed"]) == (1, True) and texts(folder) != before
    told = found["engines"][0]["audit"]
    assert (told["documents_changed"], told["documents_worse"], told["appear"], told["vanish"]) == (1, 1, [], [])


@pytest.mark.parametrize(("version", "code", "said"), [("2.0", 1, "should be"), ("3.0", 5, "no such processor")])
def test_what_does_not_pass_its_check_changes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], version: str, code: int, said: str
) -> None:
    before = texts(folder)
    ended, found = refresh(folder, capsys, "--to", version)
    assert (ended, found["changed"]) == (code, False) and texts(folder) == before
    assert said in found["engines"][0]["after"]["note"]


def test_the_newest_is_taken_without_a_version(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "wheels" / "refreshed_kit-3.0-py3-none-any.whl").unlink()
    assert refresh(folder, capsys)[1]["version"] == "2.0"
    with pytest.raises(SystemExit) as end:
        main(["engines", "refresh", "kit", "--roster", str(folder / "kits.toml"), "--to", "9", "--json"])
    assert end.value.code == 5 and "cannot pin refreshed-kit==9" in capsys.readouterr().out
    with pytest.raises(SystemExit) as end:
        main(["engines", "refresh", "dat-bpe"])
    assert end.value.code == 2 and "pins no version" in capsys.readouterr().err


def test_outdated_and_install_all(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the folder of wheels; a release that fits nothing is no newest one, and a failure stops nobody."""
    monkeypatch.setattr("tokassay.engines.roster.load_roster", partial(load_roster, base=None))
    wheels().wheel(folder / "wheels", "refreshed_kit", "4.0", "", "py3-none-win_arm")
    roster = folder / "kits.toml"
    more = '[broken]\nrequirement = "nowhere-kit==1.0"\n' + TABLE.split("\n", 3)[3].format(lock="none.txt")
    more += '[nobodys]\nrequirement = "nobodys==1.0"\nhome = "nowhere"\nunavailable = "its loader is missing"\n'
    roster.write_text(more.replace('lock = "none.txt"\n', "") + roster.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(SystemExit) as end:
        main(["engines", "list", "--outdated", "--roster", str(roster), "--json"])
    told = {row["engine"]: row for row in json.loads(capsys.readouterr().out)["engines"]}
    assert (told["kit"]["pinned"], told["kit"]["newest"], told["kit"]["outdated"]) == ("1.0", "3.0", True)
    assert told["broken"]["outdated"] is None and "nowhere-kit" in told["broken"]["problem"]
    assert end.value.code == 5
    with pytest.raises(SystemExit) as end:
        main(["engines", "install", "--all", "--roster", str(roster), "--json"])
    rows = {row["engine"]: row for row in json.loads(capsys.readouterr().out)["engines"]}
    assert end.value.code == 5
    assert [rows[name]["outcome"] for name in ("broken", "nobodys", "kit", "apart")] == [
        "failed", "unavailable", "installed", "installed"
    ]
    assert "nowhere-kit" in rows["broken"]["reason"]
    with pytest.raises(SystemExit):
        main(["engines", "install", "--all", "--roster", str(roster), "--json"])
    again = {row["engine"]: row["outcome"] for row in json.loads(capsys.readouterr().out)["engines"]}
    assert (again["kit"], again["broken"]) == ("already", "failed")


def test_what_a_lock_holds_beside_its_package_is_asked_for_again() -> None:
    """As uv writes why a pin is there."""
    lock = (
        "# made by\nnumpy==2.4.6 ; python_version < '3.12' \\\n    --hash=sha256:00\n    # via -r -\n"
        "kit==1.0 \\\n    --hash=sha256:01\n    # via -r -\nother==3 \\\n    --hash=sha256:02\n    # via kit\n"
        "both==4 \\\n    --hash=sha256:03\n    # via\n    #   -r -\n    #   kit\n"
    )
    assert beside(lock, "kit") == ["numpy==2.4.6", "both==4"]
