"""`tokassay bench`: how fast, of those whose ids are right on the very output that was timed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer
from tokassay.harness.commands.options import print_json

app = typer.Typer()
PROOFS = {"light": "gate-light", "full": "gate"}
PLACES = ("markdown", "figure", "store")  # where to write: no part of what is measured
WIDTH = 132  # of tables that go to a file or a pipe
FOLDER = "name a file in a folder that is there"
Many = list[str] | None
WHAT, WHO, HOW, INSTEAD, OUT = "What is encoded", "By whom", "How it is measured", "Measured instead", "What comes out"
# What an option is of: where nothing of that is asked for, it is refused, not ignored.
TABLES, ALL = "the tables", "--all"
MEANT = {
    **dict.fromkeys(
        ("--text", "--corpus", "--document", "--state", "--size"), (TABLES, "--ablation", "--cache-sweep", ALL)
    ),
    "--entry": (TABLES, "--scaling", "--ablation", "--cache-sweep", ALL),
    "--engines": (TABLES, "--load", "--growth", "--scaling", ALL),
    **dict.fromkeys(("--tokens", "--threads", "--operation", "--domain"), (TABLES, ALL)),
    "--switches": ("--ablation",),
    "--figure": ("--cache-sweep",),
}


@app.command()
def bench(
    context: typer.Context,
    suite: Annotated[
        str | None, typer.Option(help="Vocabularies, texts, entries by name: quick, standard, or a TOML file; other "
                                      "options replace its own.", rich_help_panel=WHAT)
    ] = None,
    vocab: Annotated[
        Many, typer.Option(help="Vocabularies, by commas or one at a time; default gpt2,cl100k.", rich_help_panel=WHAT)
    ] = None,
    text: Annotated[
        Many,
        typer.Option(help="Kinds of text; default english,verses,code,mixed,cjk,unique (short too with --all).",
                     rich_help_panel=WHAT),
    ] = None,
    corpus: Annotated[
        Many, typer.Option(help="Any corpus (tokassay corpora list) or file as a text, cut in two halves.",
                           rich_help_panel=WHAT)
    ] = None,
    document: Annotated[
        Many, typer.Option(help="Bytes that documents are cut to, each a text of its own; default 4096.",
                           rich_help_panel=WHAT)
    ] = None,
    domain: Annotated[
        str, typer.Option(help="Of --corpus: neutral (those documents only), or bytes (all of them).",
                          rich_help_panel=WHAT)
    ] = "neutral",
    size: Annotated[
        float, typer.Option(min=0.001, help="Megabytes of each half of a text, at most.", rich_help_panel=WHAT)
    ] = 8.0,
    engines: Annotated[
        Many,
        typer.Option("--engines", "--engine", rich_help_panel=WHO,
                     help="NAME, NAME\\[option=value], LABEL=NAME; the first is compared with the best other. Default: "
                     "dat-bpe and the rivals that are installed."),
    ] = None,
    roster: Annotated[
        list[Path] | None, typer.Option(help="A roster file with engines from outside the tree.", rich_help_panel=WHO)
    ] = None,
    proof: Annotated[
        str, typer.Option(help="The gate suite that a build must pass to have a speed: light, full, or a TOML file.",
                          rich_help_panel=WHO)
    ] = "light",
    operation: Annotated[
        str, typer.Option(help="encode, or decode (of the engine's own ids).", rich_help_panel=HOW)
    ] = "encode",
    entry: Annotated[
        Many, typer.Option(help="whole, documents-list, batch-flat (batch), batch-list; default these. Also str, bytes "
                                "(the plain call with documents of that type), file (its reader of files).",
                           rich_help_panel=HOW)
    ] = None,
    state: Annotated[
        Many, typer.Option(help="cold (very first call of a process), first (after one small call), warm (after other "
                                "text of the kind), replay (the same text again); default cold,warm.",
                           rich_help_panel=HOW)
    ] = None,
    threads: Annotated[
        Many, typer.Option(help="Numbers of threads, each with cells of its own; default 1.", rich_help_panel=HOW)
    ] = None,
    repeat: Annotated[
        int, typer.Option(min=1, help="Rounds: every engine once in each, in a fresh process; fewer than 6 resolve "
                                      "nothing.", rich_help_panel=HOW)
    ] = 7,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Draws the order of the engines in each round; default: drawn, and told.",
                                 rich_help_panel=HOW)
    ] = None,
    cpu: Annotated[
        int | None, typer.Option(min=0, help="The processor that engines are kept on; default 1, or the last there is.",
                                 rich_help_panel=HOW)
    ] = None,
    load: Annotated[
        bool, typer.Option("--load", help="Loading and the first hundred bytes.", rich_help_panel=INSTEAD)
    ] = False,
    growth: Annotated[
        bool, typer.Option("--growth", help="Crafted texts at 64 kB and 16 MB.", rich_help_panel=INSTEAD)
    ] = False,
    scaling: Annotated[
        bool, typer.Option("--scaling", help="Two threads beside two processes, over 32 MB.", rich_help_panel=INSTEAD)
    ] = False,
    ablation: Annotated[
        bool, typer.Option("--ablation", help="dat-bpe without each of its optimizations.", rich_help_panel=INSTEAD)
    ] = False,
    switches: Annotated[
        Path | None, typer.Option(help="Another table of optimizations for --ablation.", rich_help_panel=INSTEAD)
    ] = None,
    cache_sweep: Annotated[
        bool, typer.Option("--cache-sweep", help="dat-bpe with pretoken caches of 2^8 to 2^20 entries.",
                           rich_help_panel=INSTEAD)
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="All but --ablation, --cache-sweep: in one run.", rich_help_panel=INSTEAD)
    ] = False,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Millions of ids a second beside MB/s.", rich_help_panel=OUT)
    ] = False,
    store: Annotated[
        Path, typer.Option(help="The store: proofs are reused from it, and the run is added to it.",
                           rich_help_panel=OUT)
    ] = Path("tokassay.sqlite"),
    figure: Annotated[
        Path | None, typer.Option(help="Draw --cache-sweep into this file, .svg or .png; of several "
                                                "vocabularies a file each, FILE-VOCAB-ENTRY.", rich_help_panel=OUT)
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the tables to this file, as docs/BENCHMARKS.md or docs/ABLATION.md.",
                                  rich_help_panel=OUT)
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object on standard output.", rich_help_panel=OUT)
    ] = False,
) -> None:
    """Measure the engines' best entry points, and show a speed only beside a matching digest of the timed output.

    A build has a speed only where it passed the gate suite of its contract by the entry point that is timed. Each
    repetition is a fresh process on processors of its own. Exit codes: 0 measured (a void row is shown and is no
    failure), 2 wrong use, 4 nothing was measured, 5 the run could not be kept in the store.
    """
    import secrets
    from dataclasses import replace

    from rich.console import Console
    from tokassay.harness.bench_run import Plan, processor, run
    from tokassay.harness.bench_suite import bench_suite
    from tokassay.harness.errors import InputError

    if figure is not None and figure.suffix not in (".svg", ".png"):
        raise InputError(f"{figure} is neither .svg nor .png", where="--figure", remedy="give FILE.svg")
    alone = [option for option, on in (("--cache-sweep", cache_sweep), ("--ablation", ablation)) if on]
    others = {"--load": load, "--growth": growth, "--scaling": scaling, ALL: everything}
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
    for option, value, allowed in (("--operation", operation, ("encode", "decode")),
                                   ("--domain", domain, ("neutral", "bytes"))):
        if value not in allowed:
            raise InputError(f"{value} is not known", where=option, remedy=f"use {' or '.join(allowed)}")
    plan = Plan(
        vocabularies=words("--vocab", vocab), texts=words("--text", text), corpora=words("--corpus", corpus),
        entries=words("--entry", entry), engines=words("--engines", engines, once=False),
        states=words("--state", state), threads=numbers("--threads", threads), repeat=repeat, cpu=processor(cpu),
        size=int(size * 1e6), tables=everything or not asked, load=load or everything,
        growth=growth or everything, scaling=scaling or everything, ablation=ablation, sweep=cache_sweep,
        switches=switches, short=everything, roster=tuple(roster or ()), command=spelled(context),
        documents=numbers("--document", document, most=1 << 30) if document else (),
        decode=operation == "decode", domain=domain, seed=secrets.randbelow(1 << 31) if seed is None else seed,
        store=store, proof=PROOFS.get(proof, proof),
    )
    if suite is not None:
        named = bench_suite(suite)
        fields: dict[str, Any] = {name: value for name, value in named.items() if not getattr(plan, name)}
        plan = replace(plan, **fields)
    if plan.decode and plan.entries:
        raise InputError("decoding has one entry point", where="--entry", remedy="leave it out with --operation decode")
    if domain != "neutral" and (plan.decode or not plan.corpora):
        raise InputError("is of --corpus, and of encoding", where="--domain", remedy="give --corpus, or leave it out")
    try:
        report = run(plan, Console(stderr=True))
    except KeyboardInterrupt:
        typer.echo("tokassay: interrupted; a bench is measured in one run, only its proofs are kept", err=True)
        raise typer.Exit(130) from None
    if markdown is not None:
        write(markdown, report, tokens)
    if figure is not None:
        draw(figure, report)
    if as_json:
        print_json(report)
    else:
        show(report, tokens)
    raise typer.Exit(report["exit_code"])


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


def words(option: str, written: list[str] | None, *, once: bool = True) -> tuple[str, ...]:
    """Names given one at a time or with commas; a comma inside of [ ] parts nothing. `once`: each is taken once.
    InputError for no name."""
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
    named = [name for name in found if name]
    names = tuple(dict.fromkeys(named) if once else named)
    if written and not names:
        raise InputError("names nothing", where=option, remedy="give a name, or leave it out")
    return names


def numbers(option: str, written: list[str] | None, *, most: int = 1024) -> tuple[int, ...]:
    """Numbers of at least 1, given one at a time or with commas; (1,) where none is given. InputError."""
    from tokassay.harness.errors import InputError

    found = words(option, written) or ("1",)
    for one in found:
        if not one.isdecimal() or not 1 <= int(one) <= most:
            raise InputError(f"{one} is no number from 1 to {most}", where=option, remedy="give numbers, as in 1,2")
    return tuple(dict.fromkeys(map(int, found)))


def show(report: dict[str, Any], ids: bool) -> None:
    """Every table of the report on standard output, and what has no figure."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
    from tokassay.harness.bench_report import tables, voids
    from tokassay.harness.errors import NOTHING
    from tokassay.reports.thin import thin

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
    if words := thin(report):
        console.print(words, markup=False)
    for warned in report["warnings"]:
        console.print(f"imprecise: {warned['what']}; {warned['remedy']}", markup=False)
    if report["exit_code"] == NOTHING:
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
    """The sweep as a figure, a file a vocabulary; what cannot be drawn is told on standard error."""
    from tokassay.harness.bench_sweep import draw as sweep
    from tokassay.harness.errors import InputError

    try:
        made, absent = sweep(path, report)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", where=str(path), remedy=FOLDER) from error
    for reason in absent:
        typer.echo(f"tokassay: --figure: {reason}", err=True)
    if made and made != [path]:
        typer.echo(f"tokassay: --figure: {', '.join(map(str, made))}", err=True)
