"""`tokassay diff`: two engines on one document, side by side, and the first decision in which they part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from rich.table import Table
    from tokassay.harness.compared import Compared
    from tokassay.harness.differ import Side

app = typer.Typer()

BEFORE = 8  # rows shown before the first difference
ROWS = 40  # rows shown in all, unless --all


@app.command()
def diff(
    left: Annotated[
        str,
        typer.Argument(help="An engine, or oracle; NAME:POLICY, NAME@UNICODE or NAME:POLICY@UNICODE for variants."),
    ],
    right: Annotated[str, typer.Argument(help="The other, written the same way: oracle:tiktoken-bytes@15.0.")],
    vocab: Vocab = "gpt2",
    pattern: Pattern = None,
    contract: Variants = None,
    specials: Specials = False,
    hexadecimal: Hex = None,
    text: Text = None,
    file: File = None,
    everything: Annotated[
        bool, typer.Option("--all", help=f"Every token; without it, {ROWS} rows around the first difference.")
    ] = False,
    roster: Roster = None,
    as_json: Json = False,
) -> None:
    """Show ids, tokens and byte spans of two engines side by side, and where they part first.

    An engine encodes under the variants it declares, the oracle under those of --contract, unless others are written
    after the name. The first differing decision is traced where both sides speak of their decisions, else inferred.
    Exit codes: 0 the same, 1 they differ, 2 wrong use, 4 a side cannot take part, so that nothing was compared.
    """
    from tokassay.harness.compared import compare
    from tokassay.harness.differ import same
    from tokassay.harness.input import read_document

    document = read_document(hexadecimal, text, file)
    what = asked(vocab, pattern, contract, specials, roster)
    seen = compare((left, right), what.loaded, what.contract, what.roster, document, always=False)
    if as_json:
        a, b = (
            side.to_json() | {"contract": each.contract.digest}
            for side, each in zip(seen.sides, seen.targets, strict=True)
        )
        print_json(
            {
                "document": document.hex(),
                "vocabulary": what.loaded.contract.vocabulary,
                "left": a,
                "right": b,
                "same": same(*seen.sides) if seen.compared else None,
                "difference": None if seen.found is None else seen.found.to_json(),
                "changes": [change.to_json() for change in seen.changes],
                "exit_code": seen.exit_code,
            }
        )
    else:
        show(seen, everything)
    raise typer.Exit(seen.exit_code)


def show(seen: Compared, everything: bool) -> None:
    """The table, and the first difference in words."""
    from rich.console import Console
    from tokassay.harness.pieces import bracketed
    from tokassay.harness.traces import ordered

    console = Console(soft_wrap=False, highlight=False)
    document = seen.document
    shown = document if len(document) <= 64 else document[:64]
    more = f" … {len(document)} bytes" if len(shown) < len(document) else ""
    console.print(f"document {bracketed(shown)}{more}", markup=False)
    a, b = seen.sides
    for side in (a, b):
        told = f"{side.name} {side.version} under {side.variants}: " if side.version else f"{side.name}: "
        if side.outcome == "ids":
            in_part = f"traced: {', '.join(ordered(side.told))}" if side.told else "not traced"
            console.print(f"{told}{len(side.ids)} tokens, {'traced' if side.complete else in_part}", markup=False)
        else:
            console.print(f"{told}{side.outcome}" + (f": {side.detail}" if side.detail else ""), markup=False)
    if a.outcome == "ids" or b.outcome == "ids":
        console.print(table(a, b, everything))
    if seen.found is not None and seen.found.token is not None:
        console.print(f"first differing token: {seen.found.token}", markup=False)
    for line in seen.sentences(traces=False):
        console.print(line, markup=False)


def table(a: Side, b: Side, everything: bool) -> Table:
    """One row for the tokens that begin at the same byte; differing rows are marked."""
    from rich.table import Table
    from rich.text import Text as Plain
    from tokassay.harness.differ import aligned

    rows = aligned(a, b)
    unlike = [cell(a, i)[0] != cell(b, j)[0] for i, j in rows]
    first = unlike.index(True) if True in unlike else 0
    low = 0 if everything else max(0, min(first - BEFORE, len(rows) - ROWS))
    high = len(rows) if everything else min(len(rows), low + ROWS)
    made = Table(caption=f"rows {low + 1} to {high} of {len(rows)}" if high - low < len(rows) else None)
    made.add_column("")
    for side in (a, b):
        made.add_column(Plain(f"{side.name} id"), justify="right")
        made.add_column("bytes")
        made.add_column("token", overflow="fold")
    for n in range(low, high):
        i, j = rows[n]
        style = "bold red" if unlike[n] else ""
        cells = [Plain(word, style=style) for word in ("≠" if unlike[n] else "", *cell(a, i), *cell(b, j))]
        made.add_row(*cells)
    return made


def cell(side: Side, i: int | None) -> tuple[str, str, str]:
    """Id, span and bytes of a side's i-th token; blanks where it has none here."""
    from tokassay.harness.pieces import bracketed

    if i is None:
        return "", "", ""
    token = side.tokens[i]
    place = "" if side.spans is None else f"{side.spans[i][0]}..{side.spans[i][1]}"
    return str(side.ids[i]), place, "[?]" if token is None else bracketed(token)
