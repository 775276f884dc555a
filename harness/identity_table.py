"""The table of known vocabularies' identities: `python -m tokassay.harness.identity_table [--check]`.

It is derived from the files themselves, which must be embedded or fetched. --check writes nothing, and exits with 1
where the table says something else.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import asdict

from tokassay.harness import known
from tokassay.harness.identity import FILE, Identity, identities, identity_of
from tokassay.harness.load import known_path, load_vocabulary

HEAD = """\
# What known vocabularies are told by: docs/FORMATS.md, Identity. Derived from their files by
# python -m tokassay.harness.identity_table, which also checks them.
"""


def derive(names: Iterable[str]) -> dict[str, Identity]:
    """Name -> identity, of encodings whose tokens are known. Raises InputError for one that is not fetched."""
    made = {name: identity_of(load_vocabulary(name)) for name in names}
    return {name: identity for name, identity in made.items() if identity is not None}


def render(table: dict[str, Identity]) -> str:
    """The file's text."""
    lines = [HEAD]
    for name, identity in table.items():
        lines.append(f'["{name}"]' if "." in name else f"[{name}]")
        lines += [f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}"
                  for key, value in asdict(identity).items()]  # fmt: skip
        lines.append("")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Command line; the exit status is 1 if --check found a difference."""
    parser = argparse.ArgumentParser(description="Derive the table of known vocabularies' identities.")
    parser.add_argument("--check", action="store_true", help="compare those that are on this machine, write nothing")
    options = parser.parse_args(arguments)
    names = [each.name for each in known.encodings()]
    if options.check:
        present = derive(each.name for each in known.encodings() if known_path(each) is not None)
        wrong = [name for name, identity in present.items() if identities().get(name) != identity]
        for name in wrong:
            print(f"{FILE}: {name} is another vocabulary than its file", file=sys.stderr)
        return int(bool(wrong))
    (known.vocabulary_folder() / FILE).write_text(render(derive(names)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
