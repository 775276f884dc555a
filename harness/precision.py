"""What makes this machine imprecise, each with its remedy: looked at before a bench and over its course.

Linux tells; where a file is not there, nothing is said of what it would hold. The reports name no process and no path
of the user's.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

BUSY = 0.5  # load average a processor
STEAL = 0.005  # share of the time that another guest of the same host had the processor
HUNGRY = 0.10  # of a processor: processes above it are counted


@dataclass(frozen=True)
class Warned:
    """One reason for imprecision and what to do about it."""

    what: str
    remedy: str


@dataclass
class Watch:
    """The machine while engines are measured on `cpus`. `start` before, `stop` after; then `warnings`.

    `sys` and `proc` are where the kernel's files lie; `usable` are the processors that this process may use.
    """

    cpus: Sequence[int]
    sys: Path = Path("/sys/devices/system/cpu")
    proc: Path = Path("/proc")
    usable: Sequence[int] = field(default_factory=lambda: usable_processors())
    found: list[Warned] = field(default_factory=list)
    _before: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _load: float | None = None

    def start(self) -> None:
        """Look at what is set, and note the counters."""
        self.found = [*self._governor(), *self._turbo(), *self._siblings(), *self._crowd()]
        self._load = self._average()
        self._before = self._counters()

    def stop(self) -> None:
        """Look at what the time brought."""
        self.found += [*self._loaded(), *self._stolen()]

    @property
    def warnings(self) -> list[dict[str, str]]:
        """As they stand in the report."""
        return [vars(one) for one in self.found]

    # ---- what is set

    def _governor(self) -> list[Warned]:
        governors = {self._read(f"cpu{cpu}/cpufreq/scaling_governor") for cpu in self.cpus} - {"", "performance"}
        remedy = "run: sudo cpupower frequency-set --governor performance"
        return [Warned(f"the CPU governor is {one}: the clock follows the load", remedy) for one in sorted(governors)]

    def _turbo(self) -> list[Warned]:
        intel, boost = self._read("intel_pstate/no_turbo"), self._read("cpufreq/boost")
        if intel == "0":
            remedy = "run: echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
        elif boost == "1":
            remedy = "run: echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
        else:
            return []
        return [Warned("turbo is on: the clock depends on heat and on the other cores", remedy)]

    def _siblings(self) -> list[Warned]:
        shared = [cpu for cpu in self.cpus if len(spelled(self._read(f"cpu{cpu}/topology/thread_siblings_list"))) > 1]
        isolated = set(spelled(self._read("isolated")))
        made = []
        if shared and self._read("smt/control") != "off":
            made.append(Warned(
                f"processor {shared[0]} shares its core with another hardware thread",
                "run: echo off | sudo tee /sys/devices/system/cpu/smt/control, or keep the sibling idle",
            ))
        if not hasattr(os, "sched_setaffinity"):
            made.append(Warned("engines cannot be kept on a processor here", "measure on Linux"))
        elif set(self.usable) <= set(self.cpus):
            made.append(Warned(
                "this process may use no other processor than the measured ones, and shares them",
                "run it where there is one more, or give it more with taskset",
            ))
        elif not isolated.issuperset(self.cpus):
            made.append(Warned(
                f"processor {self.cpus[0]} is not isolated: the scheduler may give it to others",
                "start the kernel with isolcpus, or measure on an idle machine",
            ))
        return made

    def _crowd(self) -> list[Warned]:
        mine = {os.getpid(), os.getppid()}
        others = [one for one in psutil.process_iter() if one.pid not in mine]
        for one in others:
            _share(one)
        psutil.cpu_percent(interval=0.2)
        hungry = [share for share in map(_share, others) if share > HUNGRY]
        if not hungry:
            return []
        what = f"{len(hungry)} other processes use {sum(hungry):.1f} processors"
        return [Warned(what, "end them, or wait until they are done")]

    # ---- what the time brought

    def _loaded(self) -> list[Warned]:
        cores = psutil.cpu_count() or 1
        # Ours is one of the load while it measures; at the end the average has it in.
        if self._load is None or self._load <= BUSY * cores:
            return []
        what = f"the load average was {self._load:.1f} on {cores} processors when it began"
        return [Warned(what, "measure on an idle machine")]

    def _stolen(self) -> list[Warned]:
        made, after = [], self._counters()
        for cpu, before in self._before.items():
            spent = [max(b - a, 0) for a, b in zip(before, after.get(cpu, before), strict=False)]
            total = sum(spent[:8])
            if total and len(spent) > 7 and spent[7] > STEAL * total:
                made.append(Warned(
                    f"{spent[7] / total:.1%} of processor {cpu}'s time was stolen by other guests of the host",
                    "measure on a machine of its own",
                ))
        return made

    # ---- the kernel's files

    def _read(self, name: str) -> str:
        try:
            return (self.sys / name).read_text(encoding="ascii", errors="replace").strip()
        except OSError:
            return ""

    def _average(self) -> float | None:
        try:
            return float((self.proc / "loadavg").read_text(encoding="ascii").split()[0])
        except (OSError, ValueError, IndexError):
            return None

    def _counters(self) -> dict[int, tuple[int, ...]]:
        """By processor: user, nice, system, idle, iowait, irq, softirq, steal, ... in ticks."""
        try:
            lines = (self.proc / "stat").read_text(encoding="ascii").splitlines()
        except OSError:
            return {}
        rows = (line.split() for line in lines)
        table = {row[0]: tuple(map(int, row[1:])) for row in rows if row and row[0].startswith("cpu")}
        return {cpu: table[f"cpu{cpu}"] for cpu in self.cpus if f"cpu{cpu}" in table}


def usable_processors() -> list[int]:
    """Those that this process may use; none where the platform does not tell."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def _share(process: psutil.Process) -> float:
    """How much of a processor it used since this was last asked of it."""
    try:
        return float(process.cpu_percent()) / 100
    except psutil.Error:
        return 0.0


def spelled(text: str) -> list[int]:
    """Processors as the kernel lists them: 0-2,5."""
    found: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        if first.isdecimal():
            found += range(int(first), int(last or first) + 1)
    return found
