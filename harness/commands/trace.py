"""`tokassay trace`: every decision that an engine took on one document."""

from __future__ import annotations

from typing import Annotated

import typer
from tokassay.harness.commands.options import (
    File,
    Hex,
    Json,
    Pattern,
    Roster,
    Specials,
    Text,
    Variants,
    Vocab,
    asked,
    print_json,
)

app = typer.Typer()


@app.command()
def trace(
    engine: Annotated[
        str, typer.Argument(help="An engine that can be traced, or oracle; NAME:POLICY@UNICODE for variants.")
    ],
    vocab: Vocab = "gpt2",
    pattern: Pattern = None,
    contract: Variants = None,
    specials: Specials = False,
    hexadecimal: Hex = None,
    text: Text = None,
    file: File = None,
    roster: Roster = None,
    as_json: Json = False,
) -> None:
    """Print an engine's decisions on one document: what was scanned, how it was cut, merged and looked up.

    Widths are proposed/accepted bytes; `next` is the offset that a scan goes on from.
    Exit codes: 0 traced, 1 the engine rejects the document or fails on it, 2 wrong use, 4 it cannot be traced.
    """
    from tokassay.harness.commands.encode import failed
    from tokassay.harness.errors import NOTHING
    from tokassay.harness.hosts import target
    from tokassay.harness.input import read_document
    from tokassay.harness.sides import ask_side
    from tokassay.harness.traces import render

    document = read_document(hexadecimal, text, file)
    what = asked(vocab, pattern, contract, specials, roster)
    side = ask_side(target(engine, what.contract, what.roster), what.loaded, document, roster=what.roster)
    if as_json:
        decisions = None if side.decisions is None else [dict(decision) for decision in side.decisions]
        print_json({**side.to_json(), "document": document.hex(), "decisions": decisions})
    if side.outcome != "ids":
        failed(side)
    if side.decisions is None:
        typer.echo(f"tokassay: {side.name} cannot be traced; trace dat-bpe or oracle, or use `tokassay diff`", err=True)
        raise typer.Exit(NOTHING)
    if not as_json:
        render(side, document)
