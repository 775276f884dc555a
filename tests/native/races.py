"""The encoders under the thread sanitizer: four threads, each encoding batches over up to four, on one vocabulary.

    python tests/native/races.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import cases


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        driver = cases.build(folder / "driver", *cases.THREADS)
        fixed = cases.unrandomized()
        for family, (_, file) in cases.FAMILIES.items():
            case = cases.write_case(folder / "case", family, cases.ranks(file), cases.documents(3, 1500, 20_000))
            print(f"{family}: {cases.run([*fixed, driver, 'races', case], TSAN_OPTIONS='halt_on_error=1')}")
        driver = cases.build(folder / "greedy", *cases.THREADS, driver="greedy.c")
        case = cases.write_greedy(folder / "case", cases.ranks("r50k_base.tiktoken"), cases.documents(7, 1500, 20_000))
        print(f"greedy: {cases.run([*fixed, driver, 'races', case], TSAN_OPTIONS='halt_on_error=1')}")


if __name__ == "__main__":
    main()
