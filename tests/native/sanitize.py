"""The encoders under the address, leak and undefined-behaviour sanitizers, every request for memory refused in turn.

    python tests/native/sanitize.py

Exits with 0 if nothing was found and the ids are those of an ordinary build.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import cases

FLAGS = ("-g", "-O1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
OPTIONS = {"ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1", "UBSAN_OPTIONS": "print_stacktrace=1"}


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = cases.build(folder / "plain", "-O2")
        checked = cases.build(folder / "checked", *FLAGS)
        traced = cases.build(folder / "traced", "-DDAT_TRACE", *FLAGS)
        faulty = cases.build(folder / "faulty", "-DDAT_FAULTS", *FLAGS)
        texts = cases.documents(1, 3000, 20_000)
        digests: dict[str, str] = {}
        for family, (_, file) in cases.FAMILIES.items():
            case = cases.write_case(folder / "case", family, cases.ranks(file), texts)
            expected = cases.run([plain, "encode", case])
            for driver in (checked, traced):
                for threads in ("1", "4"):
                    found = cases.run([driver, "encode", case, threads], **OPTIONS)
                    if found != expected:
                        sys.exit(f"{family}: {driver.name} with {threads} threads gives {found}, not {expected}")
            small = cases.write_case(folder / "small", family, cases.small_ranks(), cases.documents(2, 20, 200))
            twin = {"deepseek, interpreted": "deepseek"}.get(family)
            digests[family] = expected
            if twin is not None and digests[twin] != expected:
                sys.exit(f"{family} gives {expected}, its machine {digests[twin]}")
            if family in cases.PROGRAMS:
                few = cases.write_case(folder / "few", family, cases.small_ranks(), cases.documents(5, 4, 100))
                print(f"{family}: {cases.run([checked, 'damage', few], **OPTIONS)}")
            print(f"{family}: {expected}; {cases.run([faulty, 'faults', small], **OPTIONS)}")
        ranks = cases.small_ranks()
        for label, asked in (
            ("stages", {"stages": True}), ("merge list", {"merges": cases.merge_list(ranks)}),
            ("both", {"stages": True, "merges": cases.merge_list(ranks), "ignore_merges": True}),
        ):
            case = cases.write_case(folder / "case", "cl100k", ranks, texts, **asked)
            expected = cases.run([plain, "encode", case])
            for driver, threads in ((checked, "1"), (checked, "4"), (traced, "1")):
                found = cases.run([driver, "encode", case, threads], **OPTIONS)
                if found != expected:
                    sys.exit(f"{label}: {driver.name} with {threads} threads gives {found}, not {expected}")
            small = cases.write_case(folder / "small", "cl100k", ranks, cases.documents(2, 20, 200), **asked)
            print(f"{label}: {expected}; {cases.run([faulty, 'faults', small], **OPTIONS)}")
        greedy(folder)


def greedy(folder: Path) -> None:
    """dat-greedy: ids as an ordinary build gives them, memory refused, and files that hold anything."""
    plain = cases.build(folder / "plain-greedy", "-O2", driver="greedy.c")
    checked = cases.build(folder / "checked-greedy", *FLAGS, driver="greedy.c")
    faulty = cases.build(folder / "faulty-greedy", "-DDAT_FAULTS", *FLAGS, driver="greedy.c")
    whole = cases.write_greedy(folder / "case", cases.ranks("r50k_base.tiktoken"), cases.documents(5, 3000, 20_000))
    expected = cases.run([plain, "encode", whole])
    for threads in ("1", "4"):
        found = cases.run([checked, "encode", whole, threads], **OPTIONS)
        if found != expected:
            sys.exit(f"greedy: {threads} threads give {found}, not {expected}")
    small = cases.write_greedy(folder / "small", cases.small_ranks(), cases.documents(6, 20, 200))
    hostile = [cases.run([driver, "hostile", small, "4000"], **OPTIONS) for driver in (plain, checked)]
    if len(set(hostile)) != 1:
        sys.exit(f"greedy: {hostile}")
    print(f"greedy: {expected}; {cases.run([faulty, 'faults', small], **OPTIONS)}; {hostile[0]}")


if __name__ == "__main__":
    main()
