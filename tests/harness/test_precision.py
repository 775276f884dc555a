"""Warnings about the machine, on kernel files written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokassay.harness.precision import Watch, spelled


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    """A machine on which nothing is wrong, and no other process is looked at."""
    sys, proc = tmp_path / "cpu", tmp_path / "proc"
    for name, text in {
        "cpu1/cpufreq/scaling_governor": "performance", "intel_pstate/no_turbo": "1", "isolated": "1",
        "cpu1/topology/thread_siblings_list": "1", "smt/control": "off",
    }.items():
        (sys / name).parent.mkdir(parents=True, exist_ok=True)
        (sys / name).write_text(text + "\n", "ascii")
    proc.mkdir()
    (proc / "loadavg").write_text("0.10 0.10 0.10 1/99 1234\n", "ascii")
    (proc / "stat").write_text("cpu 0 0 0 0 0 0 0 0 0 0\ncpu1 100 0 0 900 0 0 0 0 0 0\n", "ascii")
    made = Watch([1], sys, proc, usable=[0, 1])
    made._crowd = list  # type: ignore[method-assign]
    return made


def stopped(watch: Watch) -> list[tuple[str, str]]:
    watch.start()
    later = "1800 0 0 0 " + watch.__dict__.get("lost", "0")
    stat = (watch.proc / "stat").read_text("ascii").replace("900 0 0 0 0", later)
    (watch.proc / "stat").write_text(stat, "ascii")
    watch.stop()
    return [(one["what"], one["remedy"]) for one in watch.warnings]


def test_a_quiet_machine_has_no_warning(watch: Watch) -> None:
    assert stopped(watch) == []


@pytest.mark.parametrize(
    ("name", "text", "what", "remedy"),
    [
        ("cpu1/cpufreq/scaling_governor", "powersave", "governor is powersave", "cpupower frequency-set"),
        ("intel_pstate/no_turbo", "0", "turbo is on", "no_turbo"),
        ("isolated", "", "not isolated", "isolcpus"),
    ],
)
def test_each_setting_has_its_remedy(watch: Watch, name: str, text: str, what: str, remedy: str) -> None:
    (watch.sys / name).write_text(text + "\n", "ascii")
    ((said, do),) = stopped(watch)
    assert what in said and remedy in do


def test_a_sibling_is_told_unless_smt_is_off(watch: Watch) -> None:
    (watch.sys / "cpu1/topology/thread_siblings_list").write_text("0-1\n", "ascii")
    assert stopped(watch) == []
    (watch.sys / "smt/control").write_text("on\n", "ascii")
    (watch.proc / "stat").write_text("cpu1 100 0 0 900 0 0 0 0 0 0\n", "ascii")
    assert ["shares its core" in what for what, _ in stopped(watch)] == [True]


def test_to_share_the_measured_processor_is_told(watch: Watch) -> None:
    watch.usable = [1]
    ((said, _),) = stopped(watch)
    assert "no other processor than the measured ones" in said


def test_load_and_stolen_time_are_of_the_run(watch: Watch) -> None:
    """900 ticks idle and 100 stolen of 1,000: a tenth; a load of 900 is too much for any machine."""
    (watch.proc / "loadavg").write_text("900.00 1 1 1/99 1\n", "ascii")
    watch.__dict__["lost"] = "100"
    whats = [what for what, _ in stopped(watch)]
    assert "the load average was 900.0" in whats[0] and whats[1].startswith("10.0% of processor 1's time was stolen")


def test_where_nothing_is_told_nothing_is_said(tmp_path: Path) -> None:
    made = Watch([1], tmp_path, tmp_path, usable=[0, 1])
    made._crowd = list  # type: ignore[method-assign]
    made.start()
    made.stop()
    assert [one["what"] for one in made.warnings] == [
        "processor 1 is not isolated: the scheduler may give it to others"]


def test_lists_of_processors() -> None:
    assert spelled("0-2,5") == [0, 1, 2, 5]
    assert spelled("") == []
