"""The report at the end of `audit`: Rich tables that hold at 80 columns and in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from tokassay.reports import view
from tokassay.reports.read import Frames
from tokassay.reports.tables import Divergence, Tables, build, used_verdicts
from tokassay.reports.visible import hex_view, text_view, visible
from tokassay.reports.words import FAILING, VERIFIED, counted, number

ROWS, SHOWN, HEAD = 40, 8, 16
STYLES = {"agreed": "bold green", "mismatch": "bold red", "broken": "bold red"}


def _text(value: object, style: str = "") -> Text:
    """Text from the store: never markup, never a control character."""
    return Text(visible(str(value), escape_rtl=True), style=style)


def _count(verdict: str, count: int) -> Text:
    if not count:
        return Text("-", style="dim")
    return Text(number(count), style="bold red" if verdict in FAILING else "green" if verdict in VERIFIED else "")


def coverage_table(tables: Tables) -> Table:
    """Engines x corpora with verdict counts; by engine alone where that would be too long, failing rows always."""
    verdicts = used_verdicts(tables)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    several = len(tables.matrices) > 1
    rows = [
        ([m.label] if several else [], engine, corpus, square.counts)
        for m in tables.matrices
        for engine in m.engines
        for corpus, square in m.squares[engine].items()
        if square
    ]
    if len(rows) > ROWS:
        several = False
        whole: list[tuple[list[str], str, str, dict[str, int]]] = [
            ([], e.name, "all", e.totals) for e in tables.engines
        ]
        rows = whole + [([], e, c, counts) for _, e, c, counts in rows if any(counts[v] for v in FAILING)]
    for name in (["contract"] if several else []) + ["engine", "corpus"]:
        table.add_column(name, overflow="fold")
    for verdict in verdicts:
        table.add_column("unsup." if verdict == "unsupported" else verdict, justify="right", no_wrap=True)
    before = ""
    for label, engine, corpus, counts in rows:
        shown = engine if engine != before else ""
        before = engine
        table.add_row(*(_text(word) for word in [*label, shown, corpus]), *(_count(v, counts[v]) for v in verdicts))
    return table


def _print_divergence(console: Console, found: Divergence) -> None:
    console.print()
    head = Text.assemble(
        _text(found.verdict, "bold red" if found.fails else "bold blue"),
        " ",
        _text(f"{found.engine} against {found.against}, {counted(found.documents, 'document')}"),
    )
    console.print(head)
    console.print(_text(f"{found.stage}: {found.explanation}"))
    console.print(_text(f"seen in {view.place(found)}", "dim"))
    cut = found.data[:HEAD]
    more = f" ... {counted(len(found.data), 'byte')}" if len(found.data) > HEAD else ""
    console.print(_text(f"  input    {hex_view(cut)}{more}"))
    console.print(_text(f"           {text_view(cut)}"))
    for name, values in (("got", found.got), ("expected", found.expected)):
        line = Text(f"  {name:<9}")
        for kind, word in view.ids_around(values, found.split):
            line.append_text(_text(word.replace("…", "..."), "bold yellow" if kind == "first" else ""))
            line.append(" ")
        console.print(line)
    # One unbroken line, so that it can be copied.
    console.print(_text(f"  {found.command}", "cyan"), soft_wrap=True)


def print_report(console: Console, run: Tables | Frames, report: Sequence[Path] = ()) -> None:
    """Print a run: coverage, divergences (the first few, failing ones first), sum check, and the verdict last.

    `run` may be the frames of `read_run`, from which the tables are then built; `report` are the files written for it.
    """
    tables = build(run) if isinstance(run, Frames) else run
    console.print(coverage_table(tables) if tables.matrices else _text("no block has a result"))
    for found in tables.failing[:SHOWN]:
        _print_divergence(console, found)
    left = len(tables.failing) - SHOWN
    if left > 0:
        console.print(_text(f"and {counted(left, 'more divergence')}, in the report"))
    if tables.declared:
        console.print()
        console.print(Text("Declared differences (not faults):", style="bold"))
    # They are expected: a sentence and a command each.
    for found in tables.declared[:SHOWN]:
        line = f"{found.engine}, {counted(found.documents, 'document')}: {found.explanation}"
        console.print(Padding(_text(line), (0, 0, 0, 2)))
        console.print(_text(f"  {found.command}", "cyan"), soft_wrap=True)
    if len(tables.declared) > SHOWN:
        console.print(_text(f"  and {len(tables.declared) - SHOWN} more, in the report"))
    if tables.reasons:
        console.print()
        console.print(Text("Not served:", style="bold"))
        for why in tables.reasons[:SHOWN]:
            line = f"{why.engine}, {why.contract}, {why.operations}: {why.reason}"
            console.print(Padding(_text(line), (0, 0, 0, 2)))
    console.print()
    console.print(_text(tables.check.sentence, "" if tables.check.ok else "bold red"))
    for problem in tables.check.problems[:5]:
        console.print(_text(f"  {problem}", "red"))
    style = STYLES.get(tables.banner.kind, "bold yellow")
    console.print(Text.assemble(_text(tables.banner.headline, style), ": ", _text(tables.banner.sentence)))
    for note in tables.banner.notes + tables.notes:
        console.print(_text(note, "yellow"))
    if report:
        console.print(_text(f"report: {report[0]}"), soft_wrap=True)
