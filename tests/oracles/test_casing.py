"""Lower case and the final sigma, against the interpreter's own tables."""

from __future__ import annotations

import importlib.util
import random
import sys
import unicodedata
from pathlib import Path
from types import ModuleType

import pytest
from tokassay.oracles.casing import casing, parse
from tokassay.oracles.classes import CODE_POINTS
from tokassay.oracles.errors import OracleError

# What str.lower knows: the interpreter ships 14.0 or later.
LETTERS = [chr(each) for each in range(CODE_POINTS) if unicodedata.category(chr(each)) not in ("Cn", "Cs")]
SIGMAS = "ΣσςAa1'\u00ad\u0301.: \u00b7\u0345Ϊ\u02b0ʕ"


@pytest.fixture(scope="module")
def derive(fixtures_folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("derive_casing", fixtures_folder / "derive_casing.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("version", ["15.0", "16.0", "17.0"])
def test_every_character_of_the_interpreter(version: str) -> None:
    table = casing(version)
    assert [each for each in LETTERS if "".join(table.each(each)) != each.lower()] == []


def test_final_sigma_as_the_interpreter_has_it() -> None:
    chance = random.Random(0)
    texts = ["".join(chance.choices(SIGMAS, k=chance.randrange(1, 9))) for _ in range(20_000)]
    table = casing("15.0")
    assert [text for text in texts if "".join(table.whole(text)) != text.lower()] == []
    assert any("ς" in text.lower() and "Σ" in text for text in texts)
    # A map of each character by itself is another one: the test can tell them apart.
    assert any("".join(table.each(text)) != text.lower() for text in texts)


def test_dotted_capital_i_becomes_two() -> None:
    assert casing("15.0").whole("İI") == ["i\u0307", "i"]


def test_a_version_lacks_what_came_later() -> None:
    assert casing("8.0").each("\u1c90Ꭰ") == ["\u1c90", "ꭰ"]  # Georgian capitals came with 11.0, small Cherokee with 8.0
    assert casing("15.0").each("\u1c90\u1c89") == ["\u10d0", "\u1c89"]
    assert casing("16.0").each("\u1c89") == ["\u1c8a"]
    assert "\u0295" in casing("16.0").cased - casing("17.0").cased


@pytest.mark.parametrize("line", ["Lower;15.0;41", "Upper;15.0;0041..0042", "Cased;15.0;xyz", "nonsense"])
def test_a_damaged_table_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(OracleError) as caught:
        parse(f"# casing\nLower;1.1;0041;0061\n{line}\n", "15.0", "made up")
    assert caught.value.where == "made up:3"


def test_a_mapping_of_the_packages(derive: ModuleType) -> None:
    import base64
    import gzip

    literal = base64.b64encode(gzip.compress(b"[[65,97],[304,[105,775]]]")).decode()
    module = f"export default new Map(JSON.parse(gunzipSync(Buffer.from('{literal}', 'base64'))));"
    assert derive.decode_mapping(module) == {65: (97,), 304: (105, 775)}
    with pytest.raises(ValueError, match="not a module"):
        derive.decode_mapping("export default new Map([[65,97]]);")


def test_a_mapping_that_is_taken_back_is_refused(derive: ModuleType) -> None:
    older = derive.Casing({65: (97,)}, {name: set() for name in derive.PROPERTIES})
    newer = derive.Casing({}, {name: set() for name in derive.PROPERTIES})
    with pytest.raises(ValueError, match="takes back"):
        derive._check({"15.0": older, "15.1": newer}, {65: "1.1"})
