"""Faults planted in the core: each is found by the standard audit, made small, laid to its stage, and named once.

    python tests/native/planted.py [--suite standard] [PLANT ...]

planted.toml has the faults. For each the core is built with that fault in it, and `tokassay audit` gets this build as
its only engine, held to the ordinary oracle. A race is asked of the thread sanitizer. Exits with 1 where something is
not found, or not as it should be.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import cases

HERE = Path(__file__).resolve().parent
ROSTER = """
["{name}"]
requirement = "tokassay"
environment = "project"
adapter = "adapter.py"
algorithms = ["bpe-ranks", "bpe-pairs"]
byte_policy = "byte-alphabet"
unicode = "asked"
specials = ["off", "on"]
operations = ["encode", "encode_batch", "decode", "offsets"]
licence = "MIT"
home = "tests/native"
"""
FAILED = "('differ', 'flaky', 'crash', 'error', 'timeout', 'oom')"  # what an audit fails for
# `like`: an earlier divergence that this one turned out to be.
DIVERGENCES = f"""
SELECT d.contract, r.specials, d.verdict, d.documents, d.signature, d.stage, r.signature, r.stage, r.outcome, r.minimal,
       r."like"
FROM v_divergence d LEFT JOIN v_reduction r ON r.run = d.run AND r.ordinal = d.ordinal
WHERE d.run = ? AND d.verdict IN {FAILED} ORDER BY d.ordinal
"""
CORPORA = f"SELECT DISTINCT corpus FROM v_verdict WHERE run = ? AND verdict IN {FAILED} ORDER BY corpus"
RUN = "SELECT run FROM v_cell WHERE engine = ? ORDER BY run LIMIT 1"
# A busy machine must not leave a divergence as it is: four times the usual.
PATIENT = ["--reduce-seconds", "20"]
UNNAMED = "not examined one by one"
SUMMARY = re.compile(r"SUMMARY: ThreadSanitizer: data race (?:.*/)?(\w+)\.[ch]:\d+\S* in (\w+)")


@dataclass(frozen=True)
class Fault:
    """A row of planted.toml: `most` is None for a race, which has no document. `plants` are its variants, by number,
    `needs` the bytes that one of them needs around that document."""

    name: str
    stage: str
    plants: dict[str, str]
    most: int | None = None
    needs: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Named:
    """A divergence as an audit shows it. `minimal` is None where it was not reduced; `again` where it turned out to be
    another one, and where it has no name, as its documents were not looked at."""

    where: str  # the vocabulary, and its special tokens off or on
    verdict: str
    documents: int
    signature: str
    stage: str
    minimal: bytes | None
    again: bool = False


def faults() -> list[Fault]:
    return [Fault(**table) for table in tomllib.loads((HERE / "planted.toml").read_text(encoding="utf-8"))["fault"]]


def build(number: str, folder: Path, flags: Sequence[str] = ("-O1",)) -> Path:
    """The core and its trace build with a fault in them, and the roster that has them as an engine: its path."""
    # In a process of its own: setuptools will not come after the distutils of somebody else.
    subprocess.run([sys.executable, str(HERE / "planted_build.py"), number, str(folder), *flags], check=True)
    adapter = (HERE / "planted_core.py").read_text(encoding="utf-8")
    # A result is kept by its build, and that by the adapter's digest: no two cores may have one.
    cores = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.rglob("_*.*")) if path.is_file()))
    (folder / "adapter.py").write_text(f"{adapter}# plant {number}, {cores.hexdigest()}\n", encoding="utf-8")
    roster = folder / "roster.toml"
    roster.write_text(ROSTER.format(name=engine(number)), encoding="utf-8")
    return roster


def engine(number: str) -> str:
    return f"planted-{number}"


def audited(number: str, roster: Path, store: Path, words: Iterable[str]) -> tuple[list[Named], list[str]]:
    """An audit of the engine that `roster` names: its divergences, and the corpora that showed one. What the oracle has
    answered to others is in `store`. `words`: more of the command line."""
    command = ["audit", "--engine", engine(number), "--roster", str(roster), "--store", str(store)]
    program = [sys.executable, "-c", "from tokassay.harness.cli import main; main()"]
    done = subprocess.run(
        [*program, *command, "--out", str(roster.with_name("report")), *words],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode not in (0, 1):
        sys.exit(f"{engine(number)}: the audit exits with {done.returncode}\n{done.stdout}{done.stderr}")
    with sqlite3.connect(store) as db:
        (run,) = db.execute(RUN, [engine(number)]).fetchone()
        return divergences(db, run), [name for (name,) in db.execute(CORPORA, [run])]


def divergences(db: sqlite3.Connection, run: str) -> list[Named]:
    """The failing divergences of a run."""
    found = []
    for row in db.execute(DIVERGENCES, [run]):
        contract, specials, verdict, documents, signature, stage, name, small_stage, outcome, minimal, like = row
        reduced = bytes.fromhex(minimal) if outcome == "reduced" else None
        where, again = f"{contract}, specials {specials or '?'}", like is not None or signature == UNNAMED
        found.append(Named(where, verdict, documents, name or signature, small_stage or stage, reduced, again))
    return found


def problems(fault: Fault, number: str, found: Sequence[Named]) -> list[str]:
    """What is not as it should be with the divergences of a fault that was planted in variant `number`."""
    most = None if fault.most is None else fault.most + fault.needs.get(number, 0)
    named = [each for each in found if not each.again]
    told = [] if named else ["not found"]
    for each in named:
        if each.minimal is None:
            told.append(f"{each.where}: {each.verdict}, {each.signature!r} was not reduced")
        elif most is not None and len(each.minimal) > most:
            size = f"{len(each.minimal)} bytes ({each.minimal.hex(' ')})"
            told.append(f"{each.where}: reduced to {size}, not {most}")
        if each.stage != fault.stage:
            told.append(f"{each.where}: laid to {each.stage!r} ({each.signature}), not to {fault.stage!r}")
    for where, times in Counter(each.where for each in named).items():
        if times > 1:
            names = ", ".join(repr(each.signature) for each in named if each.where == where)
            told.append(f"{where}: named {times} times: {names}")
    return told


def shown(found: Sequence[Named]) -> str:
    """An audit's findings in a line."""
    named = [each for each in found if not each.again]
    small = sorted({each.minimal for each in named if each.minimal is not None}, key=lambda data: (len(data), data))
    parts = [
        f"{sum(each.documents for each in found)} verdicts",
        f"{len(named)} names in {len({each.where for each in named})} contracts",
        f"stage {', '.join(sorted({each.stage for each in named}))}",
        f"smallest {', '.join(data.hex(' ') for data in small)}",
        f"signature {'; '.join(sorted({each.signature for each in named}))}",
    ]  # fmt: skip
    return ", ".join(parts)


def raced(number: str, folder: Path) -> list[tuple[str, str]]:
    """The source files and functions in which the thread sanitizer sees a race, each once."""
    driver = cases.build(folder / "driver", *cases.THREADS, f"-DDAT_PLANTED={number}")
    texts = cases.documents(3, 1500, 20_000)
    case = cases.write_case(folder / "case", "gpt2", cases.ranks("r50k_base.tiktoken"), texts)
    done = subprocess.run(
        [*cases.unrandomized(), str(driver), "races", str(case)], env={**os.environ, "TSAN_OPTIONS": "halt_on_error=0"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return list(dict.fromkeys(SUMMARY.findall(done.stderr)))


def main() -> None:
    known = {number: fault for fault in faults() for number in fault.plants}
    parser = argparse.ArgumentParser(description="Plant faults in the core, and see that they are found.")
    parser.add_argument("plants", nargs="*", metavar="PLANT", help=f"of {', '.join(known)}; all unless told")
    parser.add_argument("--suite", default="standard", help="the audit's suite")
    asked = parser.parse_args()
    unknown = set(asked.plants) - set(known)
    if unknown:
        parser.error(f"no plant {', '.join(sorted(unknown))}: known are {', '.join(known)}")
    failed = False
    with tempfile.TemporaryDirectory() as name:
        for number in asked.plants or known:
            fault, start, folder = known[number], time.monotonic(), Path(name) / number
            folder.mkdir()
            if fault.most is None:
                races = raced(number, folder)
                files = {file for file, _ in races}
                told = [] if files == {fault.stage} else [f"a race is seen in {', '.join(sorted(files)) or 'no file'}"]
                line = f"races seen in {', '.join(f'{file}.c: {function}' for file, function in races)}"
            else:
                found, corpora = audited(
                    number, build(number, folder), Path(name) / "store.sqlite", ["--suite", asked.suite, *PATIENT]
                )
                told, line = problems(fault, number, found), f"{shown(found)}; in {', '.join(corpora) or 'no corpus'}"
            print(f"{number} {fault.name}: {fault.plants[number]}\n    {line}; {time.monotonic() - start:.0f} s")
            print("".join(f"    WRONG: {each}\n" for each in told) or "    as it should be", flush=True)
            failed |= bool(told)
    sys.exit(failed)


if __name__ == "__main__":
    main()
