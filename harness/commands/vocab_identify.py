"""`tokassay vocab identify`: which known vocabularies files hold, whatever they are called."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer


def identify(
    vocabularies: Annotated[list[str], typer.Argument(metavar="NAME|PATH...", help="Files, or known encodings.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Which known vocabularies files hold: compared are tokens, merge order and special tokens, over all formats.

    Exit codes: 0 all are known, 1 a file's name says another vocabulary than it holds, 2 wrong use, 4 one is not known.
    """
    from rich.console import Console
    from tokassay.harness.identity import described
    from tokassay.harness.load import any_pattern, load_vocabulary

    rows: list[dict[str, Any]] = []
    with Console(stderr=True).status("") as status:
        for name in vocabularies:
            status.update(name)
            loaded = load_vocabulary(name, pattern=any_pattern(name))
            rows.append({"file": name, "format": loaded.format, **described(loaded)})
    wrong = any(row["mislabelled"] for row in rows)
    unknown = not all(row["known"] for row in rows)
    code = 1 if wrong else 4 if unknown else 0
    if as_json:
        typer.echo(json.dumps({"vocabularies": rows, "exit_code": code}))
    else:
        for row in rows:
            typer.echo(f"{row['file']}: {row['format']}")
            for sentence in row["says"]:
                typer.echo(f"  {sentence}")
    if code:
        raise typer.Exit(code)
