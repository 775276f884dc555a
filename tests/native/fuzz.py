"""Optimized against naive encoding, and damaged profiles, under the sanitizers: two fuzz targets.

    python tests/native/fuzz.py [SECONDS] [--seed N] [--plain] [--libfuzzer]

SECONDS of processor time for each target (60). --plain: an optimized build without sanitizers, some 20 times as many
inputs. --libfuzzer: guided by coverage, and needs clang (CC=clang); elsewhere a seeded generator makes the inputs,
the same from the same seed. An input that shows a fault is left in the current folder: fuzz-input (libFuzzer: crash-…).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import cases

CHECKED = ("-g", "-O1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
TARGETS = {"fuzz.c": (), "damage.c": ("-DDAT_TRACE",)}
# Vocabularies of the first target, beside those that it makes itself; two of them with the general path's programs.
SUBJECTS = {
    "gpt2": False, "cl100k": False, "o200k": False, "deepseek, interpreted": True, "look-around": True,
}


def write_cases(folder: Path) -> None:
    """case-0, case-1 … and `damage`, without documents."""
    for i, (family, small) in enumerate(SUBJECTS.items()):
        tokens = cases.small_ranks() if small else cases.ranks(cases.FAMILIES[family][1])
        cases.write_case(folder / f"case-{i}", family, tokens, [])
    cases.write_case(folder / "damage", "gpt2", cases.small_ranks(), [])


def build_target(target: Path, name: str, *, plain: bool = False, libfuzzer: bool = False) -> Path:
    """The target of this name."""
    flags = ["-O2", "-g"] if plain else list(CHECKED)
    if libfuzzer:
        flags += ["-fsanitize=fuzzer", "-DDAT_LIBFUZZER"]
    return cases.build(target, *flags, *TARGETS[name], driver=name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", nargs="?", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--libfuzzer", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_cases(folder)
        for target in TARGETS:
            built = build_target(folder / "target", target, plain=options.plain, libfuzzer=options.libfuzzer)
            if options.libfuzzer:
                words = [f"-max_total_time={options.seconds}", f"-seed={options.seed}", "-max_len=4096", "-timeout=60"]
                done = subprocess.run(["env", f"DAT_CASES={folder}", str(built), *words], check=False)
                if done.returncode != 0:
                    sys.exit(f"{target}: exit {done.returncode}")
                continue
            print(f"{target}: {cases.run([built, folder, str(options.seconds), str(options.seed)])}")


if __name__ == "__main__":
    main()
