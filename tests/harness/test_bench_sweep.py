"""`tokassay bench --cache-sweep`: every size verified, the knee by its definition, and a figure that can be read."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tokassay.harness import cli
from tokassay.harness.bench_report import tables
from tokassay.harness.bench_sweep import BITS, draw, knee, processor_caches
from tokassay.reports.json import schema

TINY = str(Path(__file__).with_name("gate-tiny.toml"))
CPU = str(min(os.sched_getaffinity(0)))
SMALL = ("--cache-sweep", "--vocab", "gpt2", "--text", "unique", "--size", "0.02", "--cpu", CPU, "--repeat", "1",
         "--proof", TINY)


def bench(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        cli.main(["bench", *arguments])
    told = capsys.readouterr()
    return int(stop.value.code or 0), told.out, told.err


def fabricated(speeds: dict[int, float | None]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A cell and a sweep of these speeds by bits."""
    points = [{"engine": str(bits), "bits": bits, "bytes": 32 << bits if bits else 0} for bits in speeds]
    rows = [
        {"engine": str(bits), "verdict": "exact" if speed else "void",
         "mb_s": {"median": speed, "min": speed, "max": speed} if speed else None}
        for bits, speed in speeds.items()
    ]
    cell = {"vocab": "v", "text": "t", "domain": "neutral", "entry": "whole", "state": "warm", "threads": 1}
    cell["engines"] = rows
    return cell, {"option": "cache_bits", "points": points, "processor": {"L2": 1 << 21}}


def test_every_size_is_verified_and_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    figure, page = tmp_path / "sweep.svg", tmp_path / "page.md"
    places = ("--figure", str(figure), "--markdown", str(page), "--store", str(tmp_path / "store.sqlite"))
    code, out, _ = bench(capsys, *SMALL, "--json", *places)
    found = json.loads(out)
    assert code == 0
    jsonschema.validate(found, json.loads(schema("bench")))
    assert [point["bits"] for point in found["sweep"]["points"]] == list(BITS) == [0, *range(8, 21)]
    assert [(cell["entry"], cell["state"]) for cell in found["cells"]] == [("whole", "cold"), ("whole", "warm")]
    for cell in found["cells"]:
        assert [(row["engine"], row["verdict"]) for row in cell["engines"]] == [
            (point["engine"], "exact") for point in found["sweep"]["points"]]
        assert cell["reference"] == "tiktoken 0.14.0"
    assert str(figure) not in found["command"] and "--cache-sweep" in found["command"]
    text = " ".join(ElementTree.parse(figure).getroot().itertext())
    for word in ("Pretoken cache: gpt2, whole", "cold: MB of input a second", "warm: MB", "entries of 32 bytes"):
        assert word in text, word
    lines = page.read_text("utf-8").splitlines()
    assert lines[0] == "# Cache sweep"
    assert any(line.startswith("| 2^20 | 32 MiB |") for line in lines)


def test_one_report_is_one_figure(tmp_path: Path) -> None:
    cell, sweep = fabricated({0: 10.0, 8: 20.0, 9: 30.0, 10: 31.0})
    for name in ("a.svg", "b.svg", "c.png"):
        assert draw(tmp_path / name, {"cells": [cell], "sweep": sweep}) == ([tmp_path / name], [])
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_of_several_vocabularies_each_has_a_figure(tmp_path: Path) -> None:
    cell, sweep = fabricated({8: 20.0, 9: 30.0})
    made, absent = draw(tmp_path / "a.svg", {"cells": [cell, {**cell, "vocab": "W x"}], "sweep": sweep})
    assert [path.name for path in made] == ["a-v-whole.svg", "a-w-x-whole.svg"] and absent == []
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["a-v-whole.svg", "a-w-x-whole.svg"]
    assert "Pretoken cache: W x, whole" in made[1].read_text("utf-8")


def test_the_knee_is_the_smallest_with_95_percent_of_the_best() -> None:
    for speeds, right in (
        ({0: 99.0, 8: 50.0, 9: 94.9, 10: 95.0, 11: 100.0, 12: 97.0}, 10),
        ({0: 99.0, 8: 100.0, 9: 50.0}, 8),
        ({8: 94.0, 9: None, 10: 100.0}, 10),
        ({0: 5.0, 8: None}, None),
    ):
        assert knee(*fabricated(speeds)) == right


def test_a_size_with_wrong_ids_has_no_place_in_the_figure(tmp_path: Path) -> None:
    cell, sweep = fabricated({0: None, 8: 20.0, 9: None, 10: 31.0})
    report = {"cells": [cell], "sweep": sweep, "switches": []}
    (table,) = tables(report)
    assert [row[2].split()[0] for row in table.rows] == ["void", "20.0", "void", "31.0"]
    (made,), _ = draw(tmp_path / "a.svg", report)
    drawn = made.read_text("utf-8")
    assert [bits for bits in (8, 9, 10) if f'point--t--{bits}"' in drawn] == [8, 10]
    cell, sweep = fabricated({0: None, 8: None})
    assert draw(tmp_path / "b.svg", {"cells": [cell], "sweep": sweep}) == (
        [], ["caches of two sizes at least have to be measured (bench --cache-sweep)"])
    assert not (tmp_path / "b.svg").exists()


def test_the_processors_own_caches(tmp_path: Path) -> None:
    for place, (level, kind, size) in enumerate(
        (("1", "Data", "48K"), ("1", "Instruction", "64K"), ("2", "Unified", "2048K"), ("3", "Unified", "odd"))
    ):
        folder = tmp_path / f"index{place}"
        folder.mkdir()
        for name, value in (("level", level), ("type", kind), ("size", size)):
            (folder / name).write_text(value + "\n")
    (tmp_path / "index4").mkdir()
    assert processor_caches(tmp_path) == {"L1d": 48 << 10, "L2": 2 << 20}
    assert processor_caches(tmp_path / "none") == {}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--figure", "x.svg"), "--cache-sweep only"),
        (("--cache-sweep", "--figure", "x.gif"), "x.gif is neither .svg nor .png"),
        (("--cache-sweep", "--ablation"), "give one of the two"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    code, _, err = bench(capsys, *arguments)
    assert code == 2 and said in err and err.count("\n") == 1


def test_a_figure_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    from tokassay.harness.commands.bench import draw as command_draw
    from tokassay.harness.errors import InputError

    cell, sweep = fabricated({8: 1.0, 9: 2.0})
    with pytest.raises(InputError, match="cannot be written"):
        command_draw(tmp_path / "no" / "x.svg", {"cells": [cell], "sweep": sweep})
