"""The Unicode tables, against sources that did not make them."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import unicodedata
from pathlib import Path
from types import ModuleType

import pytest
import regex
from tokassay.oracles.classes import CODE_POINTS, EARLIER, VERSIONS, changing, classes, parse
from tokassay.oracles.errors import OracleError

# Assigned characters as each version's own announcement counts them (graphic, format; without the 65 controls, 2,048
# surrogates, 137,468 private-use and 66 noncharacters).
ANNOUNCED = {"8.0": 120_672, "15.0": 149_186, "15.1": 149_813, "16.0": 154_998, "17.0": 159_801}


@pytest.fixture(scope="module")
def derive(fixtures_folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("derive_unicode", fixtures_folder / "derive_unicode.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("version", [*EARLIER, *VERSIONS])
def test_characters_are_as_many_as_announced(version: str) -> None:
    table = classes(version)
    assigned = sum(table.category(each) not in ("Cn", "Cc", "Cs", "Co") for each in range(CODE_POINTS))
    assert assigned == ANNOUNCED[version]


@pytest.mark.parametrize("version", [*EARLIER, *VERSIONS])
def test_thirty_categories_and_25_white_space(version: str) -> None:
    table = classes(version)
    assert len(table.names) == 30
    assert len(table.white_space) == 25
    assert {0x09, 0x0D, 0x20, 0x85, 0xA0, 0x2028, 0x3000} < table.white_space
    assert table.white_space.isdisjoint({0x1C, 0x1F, 0x180E, 0x200B, 0xFEFF})


def test_every_assigned_character_of_17_against_the_regex_library() -> None:
    """All categories, all code points. The library ships a later Unicode, so an unassigned code point of 17.0 may be
    assigned there; nothing else may differ."""
    table = classes("17.0")
    everything = "".join(map(chr, range(CODE_POINTS)))
    library = [""] * CODE_POINTS
    for category in table.names:
        for match in regex.compile(rf"\p{{{category}}}").finditer(everything):
            library[match.start()] = category
    assert "" not in library
    differing = [each for each in range(CODE_POINTS) if library[each] != table.category(each)]
    assert {table.category(each) for each in differing} <= {"Cn"}
    assert {match.start() for match in regex.compile(r"\s").finditer(everything)} == table.white_space


def test_every_assigned_character_of_15_against_the_interpreter() -> None:
    """The interpreter's database is 14.0 or later: what both assign has one category, but for characters that a later
    version is known to have moved."""
    table = classes("15.0")
    moved = {0x1171E, 0x0295}
    differing = {
        each
        for each in range(CODE_POINTS)
        if "Cn" not in (table.category(each), unicodedata.category(chr(each)))
        and table.category(each) != unicodedata.category(chr(each))
    }
    assert differing <= moved


def test_versions_only_add_but_for_two_characters() -> None:
    moves = []
    for older, newer in itertools.pairwise(VERSIONS):
        before, after = classes(older), classes(newer)
        moves += [
            (newer, each, before.category(each), after.category(each))
            for each in range(CODE_POINTS)
            if before.category(each) not in ("Cn", after.category(each))
        ]
    assert moves == [("16.0", 0x1171E, "Mn", "Mc"), ("17.0", 0x0295, "Ll", "Lo")]


def test_8_0_lacks_what_came_later_but_for_what_was_moved() -> None:
    """What 9.0 to 15.0 moved: Georgian letters became small when capitals came (11.0), and eight others."""
    before, after = classes("8.0"), classes("15.0")
    moved = {
        each for each in range(CODE_POINTS) if before.category(each) not in ("Cn", after.category(each))
    }
    georgian = {*range(0x10D0, 0x10FB), *range(0x10FD, 0x1100)}
    assert moved == georgian | {0x166D, 0x1734, 0x1885, 0x1886, 0x1CF2, 0x1CF3, 0xA9BD, 0x111C9}
    assert {(before.category(each), after.category(each)) for each in georgian} == {("Lo", "Ll")}
    assert before.white_space == after.white_space


def test_15_1_added_one_ideograph_block_and_five_description_characters() -> None:
    before, after = classes("15.0"), classes("15.1")
    added = {each for each in range(CODE_POINTS) if before.category(each) != after.category(each)}
    assert added == {*range(0x2EBF0, 0x2EE5E), *range(0x2FFC, 0x3000), 0x31EF}


def test_changing_is_what_differs_between_any_two_versions() -> None:
    assert {0x0295, 0x1171E, 0x2FFC, 0x1C89, 0x088F} < changing()
    assert changing().isdisjoint(range(0x80))
    assert len(changing()) == 627 + 5_186 + 4_804  # 15.1, 16.0, 17.0: no code point changes twice


@pytest.mark.parametrize("version", [*EARLIER, *VERSIONS])
def test_header_names_version_source_and_digest(fixtures_folder: Path, version: str) -> None:
    header = [
        line for line in (fixtures_folder / "unicode" / f"{version}.txt").read_text().splitlines() if line[0] == "#"
    ]
    assert f"Unicode {version}" in header[0]
    assert any(line.startswith("# source: ") for line in header)
    assert any(len(line.removeprefix("# sha256: ")) == 64 for line in header)


def test_a_gap_in_a_table_is_refused() -> None:
    with pytest.raises(OracleError) as caught:
        parse("0000..001F;Cc\n0021..10FFFF;Cn\n", "0", "made up")
    assert caught.value.where == "made up:2"


def test_a_short_table_is_refused() -> None:
    with pytest.raises(OracleError, match="ends at 1F"):
        parse("0000..001F;Cc\n", "0", "made up")


def test_unknown_version_is_refused() -> None:
    with pytest.raises(OracleError) as caught:
        classes("9.0")
    assert "16.0" in caught.value.remedy


# ---- the derivation script's readers, on small inputs written by hand


def test_numbers_of_each_width(derive: ModuleType) -> None:
    assert derive.decode_numbers("A") == [0]
    assert derive.decode_numbers("f") == [31]
    assert derive.decode_numbers("g-") == [62]
    assert derive.decode_numbers("v_") == [0x3FF]
    assert derive.decode_numbers("wBA") == [0x40]
    assert derive.decode_numbers("4AQA") == [0x400]
    assert derive.decode_numbers("Af") == [0, 31]


def test_white_space_module_is_decoded(derive: ModuleType) -> None:
    source = (
        "import decodeRanges from '../../decode-ranges.mjs';\n\n"
        "export default decodeRanges('JERAhjAZAxXeAwl-KcBEAguAw-fA');\n"
    )
    ranges = derive.decode_module(source)
    assert {each for first, last in ranges for each in range(first, last + 1)} == classes("17.0").white_space


@pytest.mark.parametrize("source", ["", "export default [1, 2];", "process.exit()"])
def test_another_module_is_not_run(derive: ModuleType, source: str) -> None:
    with pytest.raises(ValueError, match="expected form"):
        derive.decode_module(source)


def test_truncated_number_is_refused(derive: ModuleType) -> None:
    with pytest.raises(ValueError, match="ends inside"):
        derive.decode_numbers("g")


def test_database_ranges_are_filled(derive: ModuleType) -> None:
    lines = ["0041;LATIN CAPITAL LETTER A;Lu;0", "0050;<X, First>;Lo;0", "0052;<X, Last>;Lo;0"]
    categories, space = derive.read_database(lines, ["0009..000D    ; White_Space # Cc", "0020 ; White_Space", "# x"])
    assert categories[0x40:0x54] == ["Cn", "Lu", *["Cn"] * 14, "Lo", "Lo", "Lo", "Cn"]
    assert space == [(0x09, 0x0D), (0x20, 0x20)]


def test_render_and_parse_are_inverse(derive: ModuleType) -> None:
    table = classes("16.0")
    categories = [table.category(each) for each in range(CODE_POINTS)]
    text = derive.render("16.0", categories, [(each, each) for each in table.white_space])
    assert parse(text, "16.0", "rendered") == table
