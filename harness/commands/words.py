"""`tokassay corpora words`: what a pretokenizer cuts texts into, and the size of vocabulary that it suggests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from tokassay.harness.words import Splitter, Words

DEFAULT = "gpt2"
STEP = 1 << 22  # bytes between two lines of progress


def words(
    specs: Annotated[
        list[str], typer.Argument(metavar="CORPUS|FILE...", help="Names of `tokassay corpora list`, files or folders.")
    ],
    pattern: Annotated[
        str | None, typer.Option(help="The pretokenizer: a name such as cl100k, or an expression. Default: gpt2.")
    ] = None,
    vocab: Annotated[
        str | None, typer.Option(help="A vocabulary whose own pretokenizer is taken, instead of --pattern.")
    ] = None,
    top: Annotated[int, typer.Option(min=0, help="Most frequent words to print.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the generated corpora.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Count the words (pretokens) of texts: all, distinct, occurring once, and the vocabulary size that they suggest.

    Every pretoken counts, whatever its length; the lengths are shown as a table. The suggested size is 256 bytes and
    the distinct ones. A text file is read line by line, without the line ends; FILE@files reads it whole. Memory holds
    the distinct words, about 100 bytes for each short one, and the largest document.
    Exit codes: 0 counted, 2 wrong use, 4 there was nothing to count.
    """
    from tokassay.harness.errors import NOTHING

    split, name = splitter(pattern, vocab)
    found, left_out = count(specs, split, seed, vocab or DEFAULT)
    if as_json:
        from tokassay.harness.commands.options import print_json

        heads = [{"hex": word.hex(), "count": number} for word, number in found.top(top)]
        print_json({"specs": specs, "pretokenizer": name, **found.to_json(), "left_out": left_out, "top": heads})
    else:
        show(found, left_out, top)
    if not found.counts:
        typer.echo("tokassay: there was nothing to count", err=True)
        raise typer.Exit(NOTHING)


def splitter(pattern: str | None, vocab: str | None) -> tuple[Splitter, str]:
    """What cuts, and its name. Raises InputError, or LoadError for an expression that is not supported."""
    from tokassay.harness.errors import InputError
    from tokassay.harness.known import resolve_pattern
    from tokassay.harness.load import load_vocabulary
    from tokassay.harness.words import by_pattern, by_vocabulary

    if pattern is not None and vocab is not None:
        raise InputError("a vocabulary has a pattern of its own", where="--pattern", remedy="give one of the two")
    if vocab is not None:
        return by_vocabulary(load_vocabulary(vocab)), vocab
    asked = pattern or DEFAULT
    return by_pattern(resolve_pattern(asked, "--pattern"), "--pattern"), asked


def count(specs: list[str], split: Splitter, seed: int, vocab: str) -> tuple[Words, dict[str, int]]:
    """All texts together, and how many documents of them could not be read, by reason."""
    from rich.console import Console
    from tokassay.harness.opened import open_asked
    from tokassay.harness.words import Words

    corpora = [open_asked(spec, seed, vocab) for spec in specs]  # every name is looked up before anything is counted
    found, left_out = Words(), dict[str, int]()
    with Console(stderr=True).status("") as status:
        for spec, corpus in zip(specs, corpora, strict=True):
            said = -STEP
            for document in corpus.documents():
                if found.size - said >= STEP:
                    said = found.size
                    status.update(f"counting {spec}: {said / 1e6:,.0f} MB, {len(found.counts):,} distinct")
                found.add(document.data, split)
            for reason, number in corpus.problems.counts.items():
                left_out[reason] = left_out.get(reason, 0) + number
    return found, left_out


def show(found: Words, left_out: dict[str, int], top: int) -> None:
    """The most frequent words, the lengths, and the counts."""
    from rich.console import Console
    from rich.table import Table
    from tokassay.harness.pieces import one_line

    for word, number in found.top(top):
        typer.echo(f"{number:>10,}  {one_line(word)}")
    value: dict[str, Any] = found.to_json()
    table = Table("bytes", "words", "distinct", title="by length", title_justify="left")
    for column in table.columns:
        column.justify = "right"
    for row in value["lengths"]:
        name = f"{row['from']:,}" if row["from"] == row["to"] else f"{row['from']:,}-{row['to']:,}"
        table.add_row(name, f"{row['total']:,}", f"{row['distinct']:,}")
    if value["lengths"]:
        Console(highlight=False).print(table)
    typer.echo(f"{value['documents']:,} documents, {value['bytes']:,} bytes")
    typer.echo(
        f"{value['total']:,} words, {value['distinct']:,} distinct, {value['singletons']:,} singletons, "
        f"longest {value['longest']:,} bytes"
    )
    typer.echo(f"suggested vocabulary: {value['suggested_vocabulary']:,} (256 bytes + distinct words)")
    for reason, number in left_out.items():
        typer.echo(f"left out: {number:,} x {reason}")
