"""Faults planted in the core: each has its place in the sources, and one of them goes the whole way, from a build to a
name. `nox -s planted` takes all of them that way, over the whole standard suite."""

from __future__ import annotations

import importlib
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(HERE))
    return importlib.import_module("planted")


def test_every_plant_is_in_the_sources_and_in_the_table(planted: Any) -> None:
    sources = planted.cases.SOURCES.glob("*.[ch]")
    used = {number for path in sources for number in re.findall(r"\bPLANTED\((\d+),", path.read_text(encoding="utf-8"))}
    listed = {number for fault in planted.faults() for number in fault.plants}
    assert used == listed
    assert {(int(number) // 10, row) for row, fault in enumerate(planted.faults(), 1) for number in fault.plants} == {
        (row, row) for row in range(1, 7)
    }


def test_no_ordinary_build_asks_for_a_plant(planted: Any) -> None:
    assert "DAT_PLANTED" not in (planted.cases.ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(("flags", "status"), [((), 0), (("-DDAT_PLANTED=7",), 1), (("-DDAT_PLANTED=8",), 0)])
def test_a_plant_is_in_the_build_that_asks_for_it(
    planted: Any, tmp_path: Path, flags: tuple[str, ...], status: int
) -> None:
    source, program = tmp_path / "plant.c", tmp_path / "plant"
    source.write_text('#include "common.h"\nint main(void) { return PLANTED(7, 1, 0); }\n', encoding="utf-8")
    command = [*planted.cases.compiler(), *planted.cases.WARNINGS, *flags, f"-I{planted.cases.SOURCES}", str(source)]
    subprocess.run([*command, "-o", str(program)], check=True)
    assert subprocess.run([str(program)], check=False).returncode == status


GPT2, ON = "gpt2, specials off", "gpt2, specials on"
RIGHT = (GPT2, "differ", 9, "s", "scan", b"\xe1@yp")


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([], ["not found"]),
        ([RIGHT], []),
        ([RIGHT, (ON, *RIGHT[1:])], []),
        ([RIGHT, (GPT2, "differ", 2, "t", "scan", b"\xe1@yp", True)], []),
        ([RIGHT, (GPT2, "differ", 2, "t", "scan", b"\xe2")], ["2 times: 's', 't'"]),
        ([(*RIGHT[:5], b"\xe1@yps")], ["5 bytes (e1 40 79 70 73), not 4"]),
        ([(*RIGHT[:4], "merge", b"\xe1")], ["laid to 'merge' (s), not to 'scan'"]),
        ([(GPT2, "flaky", 9, "s", "scan", None)], ["flaky, 's' was not reduced"]),
    ],
)
def test_what_is_held_against_an_audit(planted: Any, rows: list[tuple[Any, ...]], told: list[str]) -> None:
    fault = planted.Fault("width", "scan", {"11": "", "12": ""}, 4, {"12": 1})
    found = planted.problems(fault, "11", [planted.Named(*row) for row in rows])
    longer = planted.problems(fault, "12", [planted.Named(*row) for row in rows])
    assert longer == [each for each in found if "5 bytes" not in each]
    assert len(found) == len(told)
    assert all(part in whole for part, whole in zip(told, found, strict=True))


def test_one_fault_from_its_build_to_its_name(planted: Any, tmp_path: Path) -> None:
    """Found in ids and in spans, and named once."""
    (fault,) = (fault for fault in planted.faults() if "11" in fault.plants)
    words = ["--vocab", "gpt2", "--corpus", "battery", "--operation", "encode", "--operation", "offsets"]
    roster = planted.build("11", tmp_path, ["-O0"])
    found, corpora = planted.audited("11", roster, tmp_path / "store.sqlite", [*words, "--specials", "off"])
    assert planted.problems(fault, "11", found) == []
    assert corpora == ["battery"]
