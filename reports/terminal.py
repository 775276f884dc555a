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
from tokassay.reports.tables import Divergence, Minimal, Tables, build, used_verdicts
from tokassay.reports.visible import hex_view, text_view, visible
from tokassay.reports.words import FAILING, VERIFIED, counted, number

ROWS, SHOWN, HEAD = 40, 8, 16
COMMAND = 1_000  # characters of a command that is printed: one with a document of 5,935 bytes fills screens
STYLES = {"agreed": "bold green", "mismatch": "bold red", "broken": "bold red"}


def _text(value: object, style: str = "") -> Text:
    """Text from the store: never markup, never a control character."""
    return Text(visible(str(value), escape_rtl=True), style=style)


def _count(verdict: str, count: int) -> Text:
    if not count:
        return Text("-", style="dim")
    return Text(number(count), style="bold red" if verdict in FAILING else "green" if verdict in VERIFIED else "")


def _coverage(title: str, rows: list[tuple[str, str, dict[str, int]]], verdicts: list[str]) -> Table:
    """One table of (engine, corpus, counts); an engine's name stands on its first row."""
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        title=_text(title, "bold"),
        title_justify="left",
    )
    table.add_column("engine", overflow="fold")
    table.add_column("corpus", overflow="fold")
    for verdict in verdicts:
        table.add_column("unsup." if verdict == "unsupported" else verdict, justify="right", no_wrap=True)
    before = ""
    for engine, corpus, counts in rows:
        shown = [_text("" if engine == before else engine), _text(corpus)]
        table.add_row(*shown, *(_count(v, counts[v]) for v in verdicts))
        before = engine
    return table


def coverage_tables(tables: Tables) -> list[Table]:
    """Engines x corpora, a table a contract; by engine alone where that would be long, failing rows always."""
    verdicts = used_verdicts(tables)
    parts = [
        (m.label, [(e, c, s.counts) for e in m.engines for c, s in m.squares[e].items() if s]) for m in tables.matrices
    ]
    if sum(len(rows) for _, rows in parts) <= ROWS:
        return [_coverage(label, rows, verdicts) for label, rows in parts]
    whole = _coverage("all contracts and corpora", [(e.name, "all", e.totals) for e in tables.engines], verdicts)
    failed = [(label, [row for row in rows if any(row[2][v] for v in FAILING)]) for label, rows in parts]
    return [whole, *(_coverage(f"{label}, failing", rows, verdicts) for label, rows in failed if rows)]


def _print_divergence(console: Console, found: Divergence) -> None:
    head = Text.assemble(
        _text(found.verdict, "bold red" if found.fails else "bold blue"),
        " ",
        _text(f"{found.engine} against {found.against}, {counted(found.total, 'document')}"),
    )
    console.print(head)
    # On the smallest document there is least to explain.
    shown = found.minimal if found.minimal is not None and found.minimal.reduced else found
    console.print(_text(f"{shown.stage}: {shown.explanation}" if shown.stage else shown.explanation))
    if isinstance(shown, Minimal):
        for change in shown.changes:
            console.print(_text(f"by contract: {change}"))
    also = f", in {counted(len(found.alike) + 1, 'signature')} with one cause" if found.alike else ""
    console.print(_text(f"seen in {view.place(found)}{also}", "dim"))
    if found.minimal is not None and found.minimal.outcome != "not asked":
        console.print(_text(found.minimal.sentence, "dim"))
    if found.examined:
        _print_evidence(console, shown)
    _print_command(console, shown.command)
    console.print()


def _print_command(console: Console, command: str) -> None:
    if len(command) > COMMAND:
        console.print(_text(f"  its command is {len(command):,} characters long, and in the report", "dim"))
    else:  # one unbroken line, so that it can be copied
        console.print(_text(f"  {command}", "cyan"), soft_wrap=True)


def _print_evidence(console: Console, found: Divergence | Minimal) -> None:
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


def print_report(console: Console, run: Tables | Frames, report: Sequence[Path] = ()) -> None:
    """Print a run: coverage, divergences (the first few, failing ones first), sum check, and the verdict last.

    `run` may be the frames of `read_run`, from which the tables are then built; `report` are the files written for it.
    """
    tables = build(run) if isinstance(run, Frames) else run
    for table in coverage_tables(tables):
        console.print(table)
        console.print()
    if not tables.matrices:
        console.print(_text("no block has a result"))
    for found in tables.failing[:SHOWN]:
        _print_divergence(console, found)
    left = len(tables.failing) - SHOWN
    if left > 0:
        console.print(_text(f"and {counted(left, 'more divergence')}, in the report"))
    if tables.declared:
        console.print(Text("Declared differences (not faults):", style="bold"))
    # They are expected: a sentence and a command each.
    for found in tables.declared[:SHOWN]:
        line = f"{found.engine}, {counted(found.documents, 'document')}: {found.explanation}"
        console.print(Padding(_text(line), (0, 0, 0, 2), expand=False))
        _print_command(console, found.command)
    if len(tables.declared) > SHOWN:
        console.print(_text(f"  and {len(tables.declared) - SHOWN} more, in the report"))
    if tables.reasons:
        if tables.declared:
            console.print()
        console.print(Text("Not served:", style="bold"))
        for why in tables.reasons[:SHOWN]:
            line = f"{why.engine}, {why.contract}, {why.operations}: {why.reason}"
            console.print(Padding(_text(line), (0, 0, 0, 2), expand=False))
    if tables.declared or tables.reasons:
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
