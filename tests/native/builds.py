"""Without optimization, optimized, for this very processor, with link-time optimization, traced: one digest.

    python tests/native/builds.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import cases

BUILDS = {
    "-O0": ("-O0",),
    "-O2": ("-O2",),
    "-O3 -march=native": ("-O3", "-march=native"),
    "-O3 -flto": ("-O3", "-flto"),
    "trace": ("-O2", "-DDAT_TRACE"),
}


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        drivers = {label: cases.build(folder / str(i), *flags) for i, (label, flags) in enumerate(BUILDS.items())}
        for family, (_, file) in cases.FAMILIES.items():
            for whole_first in (False, True):
                texts = cases.documents(4, 3000, 50_000)
                case = cases.write_case(folder / "case", family, cases.ranks(file), texts, ignore_merges=whole_first)
                found = {label: cases.run([driver, "encode", case, "2"]) for label, driver in drivers.items()}
                if len(set(found.values())) != 1:
                    sys.exit(f"{family}: {found}")
                print(f"{family}, ignore_merges {whole_first}: {found['-O0']} from {', '.join(found)}")
        tokens = cases.small_ranks()
        for merges in (None, cases.merge_list(tokens)):
            texts = cases.documents(4, 3000, 50_000)
            case = cases.write_case(folder / "case", "cl100k", tokens, texts, stages=True, merges=merges)
            found = {label: cases.run([driver, "encode", case, "2"]) for label, driver in drivers.items()}
            if len(set(found.values())) != 1:
                sys.exit(f"all stages: {found}")
            label = "ranks" if merges is None else "a merge list"
            print(f"all stages, {label}: {found['-O0']} from {', '.join(found)}")
        builds = {label: flags for label, flags in BUILDS.items() if label != "trace"}
        case = cases.write_greedy(folder / "case", cases.ranks("r50k_base.tiktoken"), cases.documents(8, 3000, 50_000))
        made = [cases.build(folder / f"g{i}", *flags, driver="greedy.c") for i, flags in enumerate(builds.values())]
        digests = {cases.run([driver, "encode", case, "2"]) for driver in made}
        if len(digests) != 1:
            sys.exit(f"greedy: {digests}")
        print(f"greedy: {digests.pop()} from {', '.join(builds)}")


if __name__ == "__main__":
    main()
