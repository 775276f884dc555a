"""The roster is data: what is missing, misspelt or doubled is named with its line; a table and an adapter suffice."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from tokassay.engines import frames
from tokassay.engines.client import Host
from tokassay.engines.roster import ROSTER, EngineSpec, RosterError, load_roster
from tokassay.harness import claims, known

TOY = """\
# An engine of one's own.
[toy]
requirement = "toy==1.0"
environment = "project"
adapter = "toy.py"
algorithms = ["opaque"]
byte_policy = "raw"
unicode = "16.0"
specials = ["off"]
operations = ["encode"]
licence = "MIT"
home = "here"
"""
ADAPTER = '''\
class Adapter:
    """One id a byte."""

    name = "toy"
    operations = ("encode",)

    def version(self):
        return "1.0"

    def load(self, contract, files, threads, options):
        self.shift = options.get("shift", 0)

    def prepare(self, document):
        return document

    def encode(self, item):
        return [byte + self.shift for byte in item]
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "toy.py").write_text(ADAPTER, encoding="utf-8")
    return tmp_path


def written(folder: Path, text: str) -> Path:
    path = folder / "extra.toml"
    path.write_text(text, encoding="utf-8")
    return path


def fault(folder: Path, text: str) -> RosterError:
    with pytest.raises(RosterError) as caught:
        load_roster(written(folder, text), base=None)
    return caught.value


def test_one_table_and_one_adapter_are_an_engine(folder: Path) -> None:
    toy = load_roster(written(folder, TOY + "options = { shift = 1 }\n"))["toy"]
    with Host(toy) as host:
        host.load({}, {})
        output = host.encode([b"ab", b"\xff"]).output
    assert isinstance(output, frames.Ids)
    assert output.rows() == [[98, 99], [256]]


@pytest.mark.parametrize("key", [line.split(" ")[0] for line in TOY.splitlines()[2:]])
def test_a_missing_line_is_named_with_what_to_write(folder: Path, key: str) -> None:
    error = fault(folder, "\n".join(line for line in TOY.splitlines() if not line.startswith(key)))
    assert str(error) == f"engine 'toy' lacks the line '{key}'"
    assert error.where == f"{folder / 'extra.toml'}:2"
    assert error.remedy.startswith(f"add a line like {key} = ")


@pytest.mark.parametrize(
    ("line", "number", "message"),
    [
        ('requirment = "toy"', 13, "engine 'toy' has an unknown key 'requirment'"),
        ("memory_mb = -1", 13, "engine 'toy': memory_mb is -1"),
        ("timeout_s = true", 13, "engine 'toy': timeout_s is True"),
        ("options = 3", 13, "engine 'toy': options is 3"),
        ("notes = 3", 13, "engine 'toy': notes is 3"),
        ('accepts = "size"', 13, "engine 'toy': accepts is 'size'"),
        ("build_env = { JOBS = 2 }", 13, "engine 'toy': build_env is {'JOBS': 2}"),
    ],
)
def test_a_wrong_line_is_named(folder: Path, line: str, number: int, message: str) -> None:
    error = fault(folder, TOY + line + "\n")
    assert (str(error), error.where) == (message, f"{folder / 'extra.toml'}:{number}")
    assert error.remedy


@pytest.mark.parametrize(
    ("old", "new", "number"),
    [
        ('["encode"]', '["encoode"]', 10),
        ('["encode"]', "[]", 10),
        ('["off"]', '"off"', 9),
        ('"project"', '"mine"', 4),
        ('"toy.py"', '"nowhere.py"', 5),
        ('["opaque"]', '["bpe"]', 6),
    ],
)
def test_a_wrong_value_is_named(folder: Path, old: str, new: str, number: int) -> None:
    error = fault(folder, TOY.replace(old, new))
    assert error.where == f"{folder / 'extra.toml'}:{number}"
    assert new.strip('[]"') in str(error) or "[]" in str(error)


def test_bad_toml_is_named_with_its_line(folder: Path) -> None:
    error = fault(folder, TOY + "this is not TOML\n")
    assert str(error).startswith("not TOML: ")
    assert error.where == f"{folder / 'extra.toml'}:13"


def test_a_roster_that_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(RosterError) as caught:
        load_roster(folder / "none.toml")
    assert (str(caught.value), caught.value.where) == (
        "cannot read the roster: No such file or directory",
        str(folder / "none.toml"),
    )


def test_a_key_outside_a_table_is_named(folder: Path) -> None:
    assert fault(folder, "schema = 1\n" + TOY).where == f"{folder / 'extra.toml'}:1"


def test_two_engines_of_one_name_are_refused(folder: Path) -> None:
    with pytest.raises(RosterError, match="already in"):
        load_roster(written(folder, TOY.replace("[toy]", "[tiktoken]")))


def test_the_shipped_roster_names_what_the_audit_needs() -> None:
    engines = load_roster()
    assert {"tiktoken", "tokenizers", "sentencepiece", "gigatoken"} <= set(engines)
    for spec in engines.values():
        if spec.unavailable:
            continue
        assert spec.adapter.parent == ROSTER.parent / "adapters"
        assert spec.environment == "project" or (spec.lock is not None and spec.lock.is_file())


DECLARED = ("vocabularies", "loads", "threads", "cache", "claims", "entry_points")


def test_every_shipped_engine_declares_what_a_reader_asks() -> None:
    """Explicitly: what is left to a default was not thought of."""
    tables = tomllib.loads(ROSTER.read_text(encoding="utf-8"))
    lacking = {
        name: missing for name, table in tables.items()
        if "unavailable" not in table and (missing := [key for key in DECLARED if key not in table])
    }  # fmt: skip
    assert not lacking
    for spec in load_roster().values():
        if spec.unavailable:
            continue
        assert spec.loads and spec.threads and spec.cache, spec.name
        assert set(spec.claims) <= set(claims.names()), spec.name
        assert all(name == "any" or known.find(name) is not None for name in spec.vocabularies), spec.name
    for claim in map(claims.load_claim, claims.names()):
        if claim.engines:  # the first is whose claim it is, the others are baselines
            assert claim.name in load_roster()[claim.engines[0]].claims, claim.name


def test_every_lock_pins_what_the_roster_pins_with_hashes() -> None:
    for spec in load_roster().values():
        if spec.lock is None or spec.lock.suffix != ".txt":
            continue
        text = spec.lock.read_text(encoding="utf-8")
        assert re.search(rf"^{re.escape(spec.requirement)} ", text, re.MULTILINE), spec.name
        tools = spec.build_lock.read_text(encoding="utf-8") if spec.build_lock is not None else text
        for locked in (text, tools):
            pins = re.findall(r"^[a-z0-9._-]+==\S+ .*?(?=^\S|\Z)", locked, re.MULTILINE | re.DOTALL)
            assert pins and all("--hash=sha256:" in pin for pin in pins), spec.name


def test_an_unavailable_engine_needs_a_version_a_home_and_a_reason(folder: Path) -> None:
    text = '[gone]\nrequirement = "gone==1.0"\nhome = "here"\nunavailable = "cp38 only"\n'
    spec = load_roster(written(folder, text), base=None)["gone"]
    assert (spec.pinned, spec.unavailable, spec.algorithms, spec.lock) == ("1.0", "cp38 only", (), None)
    assert len(spec.build_digest()) == 64
    for line, said in (("requirement", "lacks the line 'requirement'"), ("home", "lacks the line 'home'")):
        error = fault(folder, "\n".join(each for each in text.splitlines() if not each.startswith(line)))
        assert said in str(error) and error.where.endswith("extra.toml:1")
    assert "unavailable is ''" in str(fault(folder, text.replace("cp38 only", "")))
    assert "unavailable is True" in str(fault(folder, text.replace('"cp38 only"', "true")))


@pytest.mark.parametrize("line", ["vocabularies = []", 'vocabularies = "gpt2"', "vocabularies = 3", 'claims = "x"'])
def test_vocabularies_and_claims_are_lists(folder: Path, line: str) -> None:
    error = fault(folder, TOY + line + "\n")
    assert error.where.endswith("extra.toml:13") and error.remedy


def test_the_build_digest_moves_with_adapter_lock_and_options(folder: Path) -> None:
    lock = folder / "lock.txt"
    lock.write_text("one\n", encoding="utf-8")

    def digest(text: str = TOY) -> str:
        spec: EngineSpec = load_roster(written(folder, text + 'lock = "lock.txt"\n'), base=None)["toy"]
        return spec.build_digest()

    first = digest()
    assert digest() == first
    assert digest(TOY + "options = { shift = 1 }\n") != first
    lock.write_text("two\n", encoding="utf-8")
    second = digest()
    (folder / "toy.py").write_text(ADAPTER + "# changed\n", encoding="utf-8")
    assert len({first, second, digest()}) == 3


def test_variants_are_those_of_the_algorithm_and_what_cuts_words() -> None:
    roster = load_roster()
    tokenizers = roster["tokenizers"]
    assert tokenizers.declares("bpe-ranks") == {"byte_policy": "reject", "unicode": "16.0", "normalization": "9.0"}
    assert tokenizers.declares("wordpiece", "BertPreTokenizer") == {
        "byte_policy": "reject", "unicode": "8.0", "normalization": "8.0", "casing": "17.0",
    }
    assert tokenizers.declares("wordpiece", "Whitespace")["unicode"] == "16.0"
    assert roster["dat-bpe"].declares("bpe-ranks") == {"byte_policy": "byte-alphabet", "unicode": "asked"}


@pytest.mark.parametrize("table", ["wordpiece = 1", 'wordpiece = { unicod = "8.0" }'])
def test_a_wrong_table_of_variants_is_named(folder: Path, table: str) -> None:
    error = fault(folder, f"{TOY}[toy.variants]\n{table}\n")
    assert "variants is" in str(error) and "unicode, normalization, casing" in error.remedy
