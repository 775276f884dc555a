"""`tokassay check`: whether an engine still gives the ids that `tokassay freeze` wrote down."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from tokassay.harness.commands.options import Json, Roster, print_json

if TYPE_CHECKING:
    from tokassay.harness.guard_result import Checked

app = typer.Typer()


@app.command()
def check(
    golden: Annotated[
        Path | None,
        typer.Argument(help="A file of `tokassay freeze`; without it, the digests that come with the package.",
                       show_default=False),
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="NAME or NAME==VERSION; without it, the frozen one as it is installed here.")
    ] = None,
    vocab: Annotated[str | None, typer.Option(help="In place of the vocabulary that the file names.")] = None,
    roster: Roster = None,
    as_json: Json = False,
) -> None:
    """Ask an engine again and compare with the frozen ids; show the first document and token that differ.

    Exit codes: 0 all the same, 1 ids or settings are not, 2 wrong use, 4 nothing could be compared, 5 the engine does
    not start, or a corpus is not the one that was frozen.
    """
    from rich.console import Console
    from tokassay.engines.roster import load_roster

    console = Console(stderr=True)
    engines = load_roster(*(roster or ()))
    if golden is None:
        _embedded(engine or "oracle", console, as_json)
        return
    from tokassay.harness.golden_file import read_golden
    from tokassay.harness.guard import Guard

    with console.status("") as status, Guard(read_golden(golden), engines, engine=engine, vocabulary=vocab) as guard:
        checked = guard.check(status.update)
    if as_json:
        print_json(checked.to_json())
    else:
        show(checked)
    raise typer.Exit(checked.exit_code)


def show(checked: Checked) -> None:
    """The sentence, what changed, a line a corpus, and the first divergence of each."""
    typer.echo(checked.sentence)
    for line in checked.changes:
        typer.echo(f"  changed: {line}")
    for change in checked.settings:
        typer.echo(f"  setting: {change.sentence}")
    for row in checked.rows:
        wrong = sum(row.differ.values())
        word = "cannot be asked" if row.unsupported else f"{wrong:,} DIFFER" if wrong else "as frozen"
        refused = f", {row.refused:,} refused by one of the two engines" if row.refused else ""
        typer.echo(f"  {row.corpus.name:22} {row.corpus.documents:6,} documents  {word}{refused}")
    for row in checked.rows:
        for line in row.lines():
            typer.echo(line)


def _embedded(engine: str, console: object, as_json: bool) -> None:
    """The digests of fixtures/golden/ids.json, held to an engine or the oracle."""
    from rich.console import Console
    from tokassay.harness import golden
    from tokassay.harness.errors import AGREED, MISMATCH

    assert isinstance(console, Console)
    right = golden.frozen()["vocabularies"]
    rows = []
    for name in golden.VOCABULARIES:
        with console.status(f"{engine} on {name}"):
            found = golden.digests(engine, name)
        rows += [
            {"vocabulary": name, "corpus": c, "domain": d, "same": found[c][d] == right[name][c][d], **found[c][d]}
            for c in golden.CORPORA
            for d in golden.DOMAINS
        ]
    if as_json:
        print_json({"schema": "tokassay.freeze/1", "engine": engine, "digests": rows})
    else:
        for row in rows:
            word = "as frozen" if row["same"] else "DIFFERS"
            named = f"{row['vocabulary']:8} {row['corpus']:8} {row['domain']:8}"
            typer.echo(f"{named} {row['documents']:6} documents  {word}")
    raise typer.Exit(AGREED if all(row["same"] for row in rows) else MISMATCH)
