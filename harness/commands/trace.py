"""`tokassay trace`: every decision that an engine took on one document, alone or beside another engine's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from tokassay.harness.commands.options import (
    Asked,
    File,
    Hex,
    Json,
    Pattern,
    Roster,
    Specials,
    Text,
    Variants,
    Vocab,
    again,
    asked,
    print_json,
)

if TYPE_CHECKING:
    from tokassay.harness.compared import Compared
    from tokassay.harness.sidebyside import SideBySide
    from tokassay.harness.traces import Row

app = typer.Typer()

BEFORE = 20  # rows shown before the first difference
ROWS = 100  # rows shown in all, unless --all
HEADER = ("at", "stage", "bytes", "width", "meaning", "path or rule", "next")


@app.command()
def trace(
    engine: Annotated[
        str, typer.Argument(help="An engine that can be traced, or oracle; NAME:POLICY@UNICODE for variants.")
    ],
    against: Annotated[
        str | None, typer.Option(help="Another engine, or oracle, written the same way: both traces, side by side.")
    ] = None,
    vocab: Vocab = "gpt2",
    pattern: Pattern = None,
    contract: Variants = None,
    specials: Specials = False,
    hexadecimal: Hex = None,
    text: Text = None,
    file: File = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with the bytes, spans and decisions too.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Write over a file that is there.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help=f"Every row; without it, {ROWS}: the first, or around the first difference.")
    ] = False,
    roster: Roster = None,
    as_json: Json = False,
) -> None:
    """Print an engine's decisions on one document: what was scanned, how it was cut, merged and looked up.

    Widths are proposed/accepted bytes; `next` is the offset that a scan goes on from. With --against the rows of both
    sides stand beside each other, and the first that differs is marked. What a side tells of itself is traced; the rest
    is inferred: from the oracle under its variants where that gives the same ids, else from the ids.

    Exit codes: 0 traced (with --against: the same ids), 1 the engine rejects the document or fails on it (with
    --against: they differ), 2 wrong use, 4 it cannot be traced (with --against: nothing was compared).
    """
    from tokassay.harness.input import read_document
    from tokassay.harness.output import check_absent

    if html is not None:
        check_absent(html, "--html", replace=replace)
    document = read_document(hexadecimal, text, file)
    what = asked(vocab, pattern, contract, specials, roster)
    command = ["trace", engine, *(("--against", against) if against else ())]
    shown = again(command, document, vocab, pattern, contract, specials, roster)
    if against is None:
        _alone(engine, what, document, html, as_json, everything, shown)
        return
    from tokassay.harness.compared import compare

    seen = compare((engine, against), what.loaded, what.contract, what.roster, document)
    value = {**seen.to_json(), "command": shown}
    if html is not None:
        _page(html, value)
    if as_json:
        print_json(value)
    else:
        show(seen, everything)
        _wrote(html)
    raise typer.Exit(seen.exit_code)


def _alone(
    engine: str, what: Asked, document: bytes, html: Path | None, as_json: bool, everything: bool, command: str
) -> None:
    from tokassay.harness.commands.encode import failed
    from tokassay.harness.errors import NOTHING
    from tokassay.harness.hosts import target
    from tokassay.harness.sidebyside import side_by_side, to_json
    from tokassay.harness.sides import ask_side

    side = ask_side(target(engine, what.contract, what.roster), what.loaded, document, roster=what.roster)
    if as_json:
        decisions = None if side.decisions is None else [dict(decision) for decision in side.decisions]
        print_json({**side.to_json(), "document": document.hex(), "decisions": decisions})
    if side.outcome != "ids":
        failed(side)
    if side.decisions is None:
        remedy = "trace dat-bpe or oracle, or set it against one: --against oracle"
        typer.echo(f"tokassay: {side.name} cannot be traced; {remedy}", err=True)
        raise typer.Exit(NOTHING)
    beside = side_by_side(document, side)
    if html is not None:
        _page(html, {**to_json(beside), "vocabulary": what.loaded.contract.vocabulary, "command": command})
    if not as_json:
        render(beside, everything)
        _wrote(html)


def render(beside: SideBySide, everything: bool) -> None:
    """Print one side's trace as a table, piece by piece."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text as Plain
    from tokassay.harness.traces import ordered, rows

    side, document = beside.left, beside.document
    console = Console(highlight=False)
    console.print(f"{side.name} {side.version} under {side.variants}, document {_opening(document)}", markup=False)
    if not side.complete:
        console.print(f"it tells of {', '.join(ordered(side.told))}", markup=False)
    told = [pair.left for pair in beside.pairs if pair.left is not None]
    shown = told if everything else told[:ROWS]
    lines = rows(shown, document, side.variants.partition("@")[0])
    if len(lines) > ROWS:
        _columns(lines)
    else:
        table = Table(*HEADER, caption=_notice(0, len(shown), len(told)))
        for each, after in zip(lines, [*lines[1:], None], strict=False):  # an empty document has no line
            done = after is not None and each.stage == "lookup" != after.stage  # a piece is done
            table.add_row(*(Plain(cell, overflow="fold") for cell in _cells(each)), end_section=done)
        console.print(table)
    typer.echo(f"ids {' '.join(map(str, side.ids))}")


def _cells(row: Row) -> tuple[str, ...]:
    return str(row.offset), row.stage, row.bytes, row.width, row.meaning, row.path, row.next


def _columns(lines: list[Row]) -> None:
    """Many rows as lines in columns, a blank one after a piece: a table of rich takes milliseconds for each row."""
    from rich.cells import cell_len

    table = [HEADER, *map(_cells, lines)]
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    stage = ""
    for cells in table:
        if stage == "lookup" != cells[1]:
            typer.echo()
        stage = cells[1]
        typer.echo("  ".join(cell + " " * (w - cell_len(cell)) for cell, w in zip(cells, widths, strict=True)).rstrip())


def _notice(low: int, high: int, total: int) -> str | None:
    """What is said where not every row is shown."""
    return f"rows {low + 1:,} to {high:,} of {total:,}; --all shows them" if high - low < total else None


def _opening(document: bytes) -> str:
    """The first bytes of a document, and how many there are."""
    from tokassay.harness.pieces import bracketed

    shown = document[:64]
    return bracketed(shown) + (f" … {len(document):,} bytes" if len(shown) < len(document) else "")


def _page(path: Path, value: dict[str, Any]) -> None:
    from tokassay.harness.errors import InputError
    from tokassay.reports.trace import render_trace

    try:
        path.write_text(render_trace(value), encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(reason, where=f"--html {path}", remedy="name a file in a folder that is there") from None


def _wrote(path: Path | None) -> None:
    if path is not None:
        typer.echo(f"page: {path}")


def show(seen: Compared, everything: bool) -> None:
    """Both traces as a table, and in words where they part first."""
    from rich.console import Console
    from tokassay.harness.traces import spoken

    console = Console(soft_wrap=False, highlight=False)
    console.print(f"document {_opening(seen.document)}", markup=False)
    sides = (seen.beside.left, seen.beside.right)
    for side, own in zip(sides, seen.beside.own, strict=True):
        assert side is not None
        told = f"{side.name} {side.version} under {side.variants}: " if side.version else f"{side.name}: "
        if side.outcome == "ids":
            console.print(f"{told}{len(side.ids)} tokens; {spoken(own, side)}", markup=False)
        else:
            console.print(f"{told}{side.outcome}" + (f": {side.detail}" if side.detail else ""), markup=False)
    if seen.beside.pairs:
        console.print(_table(seen.beside, everything))
    for side in sides:
        if side is not None and side.outcome == "ids":
            typer.echo(f"{side.name} ids {' '.join(map(str, side.ids))}")
    for line in seen.sentences():
        console.print(line, markup=False)


def _table(beside: SideBySide, everything: bool) -> Any:
    """A row for what both decided at one place. What is inferred stands behind `~`."""
    from rich.table import Table
    from rich.text import Text as Plain
    from tokassay.harness.traces import rows

    assert beside.right is not None
    pairs, first = beside.pairs, beside.first
    low = 0 if everything or first is None else max(0, min(first - BEFORE, len(pairs) - ROWS))
    high = len(pairs) if everything else min(len(pairs), low + ROWS)
    made = Table("at", "stage", "bytes", caption=_notice(low, high, len(pairs)))
    made.add_column(Plain(beside.left.name), overflow="fold")
    made.add_column("")
    made.add_column(Plain(beside.right.name), overflow="fold")
    group = ""
    for n in range(low, high):
        pair = pairs[n]
        cells = []
        for decision, side in ((pair.left, beside.left), (pair.right, beside.right)):
            policy = side.variants.partition("@")[0]
            cells.append(None if decision is None else rows([decision], beside.document, policy)[0])
        known = cells[0] or cells[1]
        assert known is not None
        if group == "lookup" and pair.stage != "lookup":
            made.add_section()
        group = pair.stage
        mark = "►" if n == first else "≠" if pair.same is False else ""
        style = "bold red" if n == first else "red" if pair.same is False else ""
        words = [_cell(each, pair.same is True and number == 1) for number, each in enumerate(cells)]
        texts = (str(pair.at), pair.stage, known.bytes, words[0], mark, words[1])
        made.add_row(*(Plain(word, style=style or ("dim" if word.startswith("~") else "")) for word in texts))
    return made


def _cell(told: Any, same: bool) -> str:
    """A decision in words, a piece with its rule; the second side's, where both are the same, as that."""
    if told is None:
        return ""
    rule = f", by `{told.path}`" if told.stage == "pretokenize" and told.path else ""
    return ("~ " if told.inferred else "") + ("same" if same else f"{told.meaning}{rule}")
