"""`tokassay vocab convert`: a vocabulary in another file format, with the proof that the ids are the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from tokassay.harness.commands.options import Json, Pattern, print_json

if TYPE_CHECKING:
    from tokassay.harness.convert import Conversion


def convert(
    vocabulary: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A known encoding, or a vocabulary file.")],
    to: Annotated[str, typer.Option("--to", help="tiktoken | tokenizer.json | profile.")],
    out: Annotated[Path, typer.Option(help="The file to write.")],
    pattern: Pattern = None,
    specials: Annotated[
        Path | None, typer.Option(help="Special tokens of a rank file: a JSON object of text -> id.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Write over a file that is there.")] = False,
    as_json: Json = False,
) -> None:
    """Convert a vocabulary, prove that the ids are the same, and only then write it.

    The proof: canonical digest and contract before and after, merges recovered from ranks, and the ids of both files by
    the libraries that read them. What the format cannot hold is named, or refused.
    Exit codes: 0 proved and written, 1 not proved and not written, 2 wrong use.
    """
    from rich.console import Console
    from tokassay.harness.convert import convert as run
    from tokassay.harness.load import read_specials
    from tokassay.harness.output import check_new

    check_new(out, "--out", replace=replace)
    if to == "tiktoken":
        check_new(Path(f"{out}.specials.json"), "--out", replace=replace)
    named = read_specials(specials) if specials else None
    with Console(stderr=True).status("") as status:
        done = run(vocabulary, to, out, pattern=pattern, specials=named, tell=status.update)
    if as_json:
        print_json(done.to_json())
    else:
        typer.echo("\n".join(told(done)))
    raise typer.Exit(done.exit_code)


def told(done: Conversion) -> list[str]:
    """The conversion and its proof, a line a step."""
    facts, after = done.facts, done.after
    assert after is not None
    listed = "" if facts["merges_listed"] is None else f", {facts['merges_listed']:,} merges listed"
    lines = [
        f"{done.source} ({done.source_format}) -> {done.out} ({done.kind})",
        f"  {facts['tokens']:,} tokens, {facts['special_tokens']:,} special and {facts['added_tokens']:,} other added "
        f"tokens{listed}, {facts['merges_recovered']:,} merges recovered from ranks",
    ]
    lines += [f"  {note}" for note in (*done.notes, *done.lost)]
    for name, old, new in (
        ("canonical digest", done.before.digest, after.digest),
        ("contract", done.before.contract_digest, after.contract_digest),
    ):
        lines.append(f"  {name} before {old}")
        lines.append(f"  {name} after  {new}  {'equal' if old == new else 'NOT EQUAL'}")
    for one in done.compared:
        more = f", {one.left_out:,} left out (see docs/GUARD.md)" if one.left_out else ""
        word = "equal" if not one.differ else f"{one.differ:,} DIFFER; {one.first}"
        lines.append(
            f"  ids on {one.corpus}, special tokens {one.specials}: {one.source} on the source, {one.target} on the "
            f"file: {one.documents:,} documents, {one.ids:,} ids{more}: {word}"
        )
    lines += [f"  written: {path}" for path in done.written]
    lines.append("proved equal" if done.proved else "NOT proved equal: nothing was written")
    return lines
