"""python -m tokassay.engines.dat_bpe.selftest [--list] [--json] [PREFIX …]"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator

from tokassay.engines.dat_bpe.selftest import points, tables, vocabularies
from tokassay.engines.dat_bpe.selftest.checks import Check, outcomes

GROUPS = {"unicode": tables.unicode_checks, "nfc": tables.nfc_checks, "bytes": tables.byte_checks,
          "vocabulary": vocabularies.checks, "ids": points.checks}


def all_checks(prefixes: list[str]) -> Iterator[Check]:
    """The checks whose names begin with one of the prefixes; all, without one. A group that none names is not made."""
    for group, make in GROUPS.items():
        if not prefixes or any(group.startswith(each) or each.startswith(f"{group}/") for each in prefixes):
            for check in make():
                if not prefixes or check.name.startswith(tuple(prefixes)):
                    yield check


def main(words: list[str] | None = None) -> int:
    """The exit status: 0, 1, or 2 where no check has such a name."""
    parser = argparse.ArgumentParser(
        prog="python -m tokassay.engines.dat_bpe.selftest",
        description="Derives the encoder's tables again from the Unicode, rank and vector files, and compares.",
    )
    parser.add_argument("prefix", nargs="*", help="only checks whose names begin so: unicode/16.0, vocabulary/gpt2 …")
    parser.add_argument("--list", action="store_true", help="the names only")
    parser.add_argument("--json", action="store_true", help="one object on standard output")
    options = parser.parse_args(words)
    checks = all_checks(options.prefix)
    if options.list:
        names = [check.name for check in checks]
        print(json.dumps(names) if options.json else "\n".join(names))
        return 0 if names else 2
    begin, failed, count, shown = time.monotonic(), [], 0, 0.0
    watched = sys.stderr.isatty()
    for count, outcome in enumerate(outcomes(checks), 1):
        if outcome.problem:
            failed.append(outcome)
            if not options.json:
                print(f"{outcome.name}: {outcome.problem}")
        if watched and time.monotonic() - max(begin, shown) > 1:
            shown = time.monotonic()
            print(f"\r{count} checks, {outcome.name[:60]:60}", end="", file=sys.stderr, flush=True)
    if watched and shown:
        print(f"\r{'':100}\r", end="", file=sys.stderr)
    if options.json:
        rows = [{"name": each.name, "problem": each.problem} for each in failed]
        print(json.dumps({"checks": count, "failed": rows, "seconds": round(time.monotonic() - begin, 2)}))
    else:
        print(f"{count} checks, {len(failed)} failed")
    if count == 0:
        print(f"no check has a name like {', '.join(options.prefix)}: see --list", file=sys.stderr)
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
