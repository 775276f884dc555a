"""`tokassay bench`: how fast, of those whose ids are right on the very output that was timed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer
from tokassay.harness.commands.options import Json, Roster, print_json

app = typer.Typer()
PLACES = ("markdown", "figure")  # where to write: no part of what is measured
WIDTH = 132  # of tables that go to a file or a pipe
FOLDER = "name a file in a folder that is there"
Many = list[str] | None
# What an option is of: where nothing of that is asked for, it is refused, not ignored.
TABLES, ALL = "the tables", "--all"
MEANT = {
    **dict.fromkeys(("--text", "--state", "--size"), (TABLES, "--ablation", "--cache-sweep", ALL)),
    "--entry": (TABLES, "--threads", "--ablation", "--cache-sweep", ALL),
    "--engines": (TABLES, "--load", "--growth", "--threads", ALL),
    "--tokens": (TABLES, ALL),
    "--switches": ("--ablation",),
    "--figure": ("--cache-sweep",),
}


@app.command()
def bench(
    context: typer.Context,
    vocab: Annotated[Many, typer.Option(help="Vocabularies, by commas or one at a time; default gpt2,cl100k.")] = None,
    text: Annotated[
        Many,
        typer.Option(help="Kinds of text; default english,verses,code,mixed,cjk,unique (short too with --all)."),
    ] = None,
    entry: Annotated[Many, typer.Option(help="whole, documents-list, batch-flat, batch-list; default all.")] = None,
    engines: Annotated[
        Many,
        typer.Option(help="Engines, NAME or NAME[option=value]; the first is compared with the best other. Default: "
                     "dat-bpe and the rivals that are installed."),
    ] = None,
    state: Annotated[Many, typer.Option(help="cold, warm, replay; default cold,warm.")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Repetitions, engines in turns, each in a fresh process.")] = 7,
    cpu: Annotated[
        int | None, typer.Option(min=0, help="The processor that engines are kept on; default 1, or the last there is.")
    ] = None,
    size: Annotated[float, typer.Option(min=0.001, help="Megabytes of each half of a text, at most.")] = 8.0,
    load: Annotated[bool, typer.Option("--load", help="Measure loading and the first hundred bytes instead.")] = False,
    growth: Annotated[bool, typer.Option("--growth", help="Measure crafted texts at 64 kB and 16 MB instead.")] = False,
    threads: Annotated[
        int, typer.Option(min=1, max=2, help="2: measure two threads beside two processes, over 32 MB, instead.")
    ] = 1,
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Measure dat-bpe without each of its optimizations instead.")
    ] = False,
    switches: Annotated[Path | None, typer.Option(help="Another table of optimizations for --ablation.")] = None,
    cache_sweep: Annotated[
        bool, typer.Option("--cache-sweep", help="Measure dat-bpe with pretoken caches of 2^8 to 2^20 entries instead.")
    ] = False,
    figure: Annotated[
        Path | None, typer.Option(help="Draw --cache-sweep into this file, .svg or .png.")
    ] = None,
    tokens: Annotated[bool, typer.Option("--tokens", help="Millions of ids a second beside MB/s.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="All but --ablation, --cache-sweep: in one run.")] = False,
    roster: Roster = None,
    as_json: Json = False,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the tables to this file, as docs/BENCHMARKS.md or docs/ABLATION.md.")
    ] = None,
) -> None:
    """Measure the engines' best entry points, and show a speed only beside a matching digest of the timed output.

    Each repetition is a fresh process on one processor. `cold` is its first pass over a text, load excluded; `warm` is
    other text of the same kind after it. Exit codes: 0 measured (a void row is shown and is no failure), 2 wrong use,
    4 nothing was measured.
    """
    from rich.console import Console
    from tokassay.harness.bench_run import Plan, processor, run
    from tokassay.harness.errors import AGREED, NOTHING, InputError

    if figure is not None and figure.suffix not in (".svg", ".png"):
        raise InputError(f"{figure} is neither .svg nor .png", where="--figure", remedy="give FILE.svg")
    alone = [option for option, on in (("--cache-sweep", cache_sweep), ("--ablation", ablation)) if on]
    others = {"--load": load, "--growth": growth, "--threads": threads > 1, ALL: everything}
    clash = [*alone[1:], *(option for option, on in others.items() if on)] if alone else []
    if clash:
        raise InputError(f"is measured apart from {clash[0]}", where=alone[0], remedy="give one of the two")
    asked = [*alone, *(option for option, on in others.items() if on)]
    for option, modes in MEANT.items():
        if given(context, option) and not set(asked or [TABLES]) & set(modes):
            meant = ", ".join(mode for mode in modes if mode != ALL)
            raise InputError(f"has a meaning for {meant} only", where=option, remedy="leave it out")
    if not math.isfinite(size):
        raise InputError(f"{size} megabytes", where="--size", remedy="give a number")
    for option, path in (("--markdown", markdown), ("--figure", figure)):
        # Now, and not when an hour has been measured.
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            raise InputError("cannot be written: no such folder, or a folder itself", where=f"{option} {path}",
                             remedy=FOLDER)
    plan = Plan(
        vocabularies=words("--vocab", vocab), texts=words("--text", text), entries=words("--entry", entry),
        engines=words("--engines", engines), states=words("--state", state), repeat=repeat,
        cpu=processor(cpu), size=int(size * 1e6), tables=everything or not (load or growth or threads > 1),
        load=load or everything, growth=growth or everything, threads=threads > 1 or everything, ablation=ablation,
        sweep=cache_sweep, switches=switches, short=everything, roster=tuple(roster or ()), command=spelled(context),
    )
    try:
        report = run(plan, Console(stderr=True))
    except KeyboardInterrupt:
        typer.echo("tokassay: interrupted; a bench is measured in one run, nothing of it is kept", err=True)
        raise typer.Exit(130) from None
    if markdown is not None:
        write(markdown, report, tokens)
    if figure is not None:
        draw(figure, report)
    if as_json:
        print_json(report)
    else:
        show(report, tokens)
    raise typer.Exit(AGREED if report["exit_code"] == 0 else NOTHING)


def spelled(context: typer.Context) -> str:
    """The command line that repeats this one: what was given, by its options' names."""
    import shlex

    parts = ["tokassay", "bench"]
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        flag = max(parameter.opts, key=len)
        if not given(context, flag) or parameter.name in PLACES:
            continue
        if isinstance(value, bool):
            parts.append(flag)
        else:
            values = value if isinstance(value, list | tuple) else [value]
            parts += [word for one in values for word in (flag, str(one))]
    return shlex.join(parts)


def given(context: typer.Context, flag: str) -> bool:
    """Whether an option stands on the command line."""
    name = next(one.name or "" for one in context.command.params if flag in one.opts)
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def words(option: str, written: list[str] | None) -> tuple[str, ...]:
    """Names given one at a time or with commas; a comma inside of [ ] parts nothing. InputError for no name."""
    from tokassay.harness.errors import InputError

    found: list[str] = []
    for one in written or ():
        depth, start = 0, 0
        for at, letter in enumerate(one + ","):
            depth += (letter == "[") - (letter == "]")
            if letter == "," and depth <= 0:
                found.append(one[start:at].strip())
                start = at + 1
        found.append(one[start:].strip())
    names = tuple(dict.fromkeys(name for name in found if name))
    if written and not names:
        raise InputError("names nothing", where=option, remedy="give a name, or leave it out")
    return names


def show(report: dict[str, object], ids: bool) -> None:
    """Every table of the report on standard output, and what has no figure."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
    from tokassay.harness.bench_report import tables, voids

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=WIDTH)
    for table in tables(report, tokens=ids):
        made = Table(title=table.title, title_justify="left")
        for number, column in enumerate(table.columns):
            made.add_column(Text(column), justify="right" if number else "left", overflow="fold")
        for row in table.rows:
            made.add_row(*(Text(cell.replace(" (", "\n(").replace(") ", ")\n")) for cell in row))
        console.print(made)
    for one in voids(report):
        console.print(one, markup=False)
    if report["exit_code"]:
        console.print("nothing was measured", markup=False)


def write(path: Path, report: dict[str, object], ids: bool) -> None:
    """The Markdown page; where the file has markers, only what stands between them is replaced."""
    from tokassay.harness.bench_report import between_markers, markdown
    from tokassay.harness.errors import InputError

    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        path.write_text(between_markers(before, markdown(report, tokens=ids)), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", where=str(path), remedy=FOLDER) from error


def draw(path: Path, report: dict[str, object]) -> None:
    """The sweep as a figure."""
    from tokassay.harness.bench_sweep import chart
    from tokassay.harness.errors import InputError

    try:
        chart(path, report)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", where=str(path), remedy=FOLDER) from error
