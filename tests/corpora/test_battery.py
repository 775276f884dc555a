"""The battery: wide enough, no input twice, a reason everywhere, and true to the tables it names."""

from __future__ import annotations

from importlib.resources import files
from itertools import pairwise

import pytest
from tokassay.corpora import battery_text, battery_unicode
from tokassay.corpora.battery import FAMILIES, battery

DOCUMENTS = list(battery())
DATA = {document.data for document in DOCUMENTS}
VERSIONS = ("15.0", "15.1", "16.0", "17.0")


def table(version: str) -> tuple[dict[int, str], set[int]]:
    """General categories and White_Space of a Unicode version, from the derived tables."""
    categories: dict[int, str] = {}
    space: set[int] = set()
    for line in files("tokassay.fixtures").joinpath("unicode", f"{version}.txt").read_text("utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        a, b = line.split(";")
        span, name = (b, a) if a == "White_Space" else (a, b)
        first, last = (int(end, 16) for end in span.split(".."))
        for cp in range(first, last + 1):
            if a == "White_Space":
                space.add(cp)
            else:
                categories[cp] = name
    return categories, space


TABLES = {version: table(version) for version in VERSIONS}


def test_it_has_more_documents_than_the_audit_it_follows() -> None:
    assert len(DOCUMENTS) >= 611


def test_names_and_bytes_are_unique_and_every_document_has_a_reason() -> None:
    assert len({document.name for document in DOCUMENTS}) == len(DOCUMENTS)
    assert len(DATA) == len(DOCUMENTS)
    assert [document.name for document in DOCUMENTS if not document.reason.strip()] == []


def test_every_family_gives_documents() -> None:
    present = {document.name.split("/")[0] for document in DOCUMENTS}
    assert present == {family for family, _ in FAMILIES}


def test_every_byte_alone_and_all_in_order() -> None:
    assert {bytes((b,)) for b in range(256)} <= DATA
    assert bytes(range(256)) in DATA


@pytest.mark.parametrize(
    "shown",
    [
        "", "e0 40 79 70", "e1 40 79 70", "e2 40 79 70", "e3 40 79 70", "ee 40 79 70", "ef 40 79 70", "89 88 81 ab",
        "bd 9b 9a e9", "b1 27 73", "ff", "61 00 62", "61 ff 62", "ed a0 80", "c0 80", "f4 90 80 80", "ef bb bf",
        "3c 7c 65 6e 64 6f 66 74 65 78 74 7c 3e",
    ],
)  # fmt: skip
def test_published_faults_are_in_it(shown: str) -> None:
    assert bytes.fromhex(shown) in DATA


def test_every_lead_is_cut_at_each_length() -> None:
    for lead in range(0xC2, 0xF5):
        need = 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3
        for have in range(need):
            found = [d for d in DATA if len(d) == have + 1 and d[0] == lead and all(0x80 <= b < 0xC0 for b in d[1:])]
            assert found, f"{lead:02X} with {have} continuation bytes"


def test_white_space_is_the_property_in_every_version() -> None:
    for version in VERSIONS:
        assert set(battery_text.WHITE_SPACE) == TABLES[version][1]
        assert not TABLES[version][1] & set(battery_text.NEARLY_SPACE)


def test_every_white_space_code_point_stands_in_each_place() -> None:
    for cp in TABLES["17.0"][1]:
        c = chr(cp)
        for text in (c, c + c, f"a{c}b", f"{c}b", f"a{c}"):
            assert text.encode() in DATA


def test_moved_code_points_moved_as_said() -> None:
    for cps, before, after, version in battery_unicode.MOVED:
        earlier = VERSIONS[VERSIONS.index(version) - 1]
        for cp in cps:
            was, now = TABLES[earlier][0].get(cp, "Cn"), TABLES[version][0].get(cp, "Cn")
            assert (was, now) == (before, after), f"U+{cp:04X} in {version}"


def test_every_kind_of_move_is_in_the_battery() -> None:
    kinds = set()
    for earlier, later in pairwise(VERSIONS):
        a, b = TABLES[earlier][0], TABLES[later][0]
        kinds |= {
            (a.get(cp, "Cn"), b.get(cp, "Cn"), later) for cp in range(0x110000) if a.get(cp, "Cn") != b.get(cp, "Cn")
        }
    assert kinds == {(before, after, version) for _, before, after, version in battery_unicode.MOVED}


def test_stable_categories_are_as_named() -> None:
    for name, cps in battery_unicode.CATEGORIES:
        for cp in cps:
            for version in VERSIONS:
                assert TABLES[version][0].get(cp, "Cn") == name, f"U+{cp:04X} in {version}"
