"""`tokassay tuples`: every K-tuple of character and byte classes, dat-bpe against the oracle."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from tokassay.harness.tuples import Journal, Search, Stretch

app = typer.Typer()


@app.command()
def tuples(
    k: Annotated[int, typer.Argument(metavar="K", help="Representatives in a tuple, 1 to 6.")],
    family: Annotated[
        list[str] | None, typer.Option(help="A pretokenizer family such as cl100k; again for more. Default: all eight.")
    ] = None,
    most: Annotated[
        int | None, typer.Option("--representatives", help="Only the first so many; 48 have every class. Default: all.")
    ] = None,
    vocab: Annotated[str | None, typer.Option(help="Another vocabulary than the family's own.")] = None,
    level: Annotated[str | None, typer.Option(help="Instructions of the encoder: scalar, avx2 or avx512.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads of the encoder.")] = 2,
    journal: Annotated[
        Path | None, typer.Option(help="A file that keeps what is done: the same command goes on where it was.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Encode all tuples of K representatives and compare with the oracle (docs/METHODOLOGY.md says how).

    Exit codes: 0 all agreed, 1 a tuple differs, 2 wrong use, 5 the oracle's tables contradict the oracle.
    """
    from tokassay.harness.errors import AGREED, MISMATCH
    from tokassay.harness.tuples import FAMILIES, Asked, Journal, Search

    asked = Asked(k, most, level, threads)
    kept = Journal(journal) if journal else None
    rows: list[dict[str, Any]] = []
    try:
        for name in dict.fromkeys(family or FAMILIES):
            row = one(Search(name, asked, vocabulary=vocab), kept)
            rows.append(row)
            if not as_json:
                show(row)
    except KeyboardInterrupt:
        if kept is None:
            again = "give --journal FILE to be able to go on"
        else:
            again = "run the same command to go on" if kept.kept else "no stretch was done yet"
        print(f"tokassay: interrupted; {again}", file=sys.stderr)
        raise SystemExit(130) from None
    if as_json:
        from tokassay.harness.commands.options import print_json

        print_json({"schema": "tokassay.tuples/1", "k": k, "families": rows})
    raise SystemExit(MISMATCH if any(row["differ"] for row in rows) else AGREED)


def one(search: Search, journal: Journal | None) -> dict[str, Any]:
    """One family from beginning to end, with a bar on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from tokassay.harness.tuples import digest_of_all

    console = Console(stderr=True)
    start = time.perf_counter()
    done = journal.read(search) if journal else {}
    columns = (
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,}/{task.total:,}"),
        TimeElapsedColumn(), TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"{search.family}: the tables against the oracle", total=search.total)
        verified = search.verify()
        bar.update(task, description=f"{search.family}: tuples of {search.asked.k}")
        stretches: list[Stretch] = []
        for number in range(search.stretches):
            found = done.get(number)
            if found is None:
                found = search.stretch(number, lambda count: bar.advance(task, count))
                if journal:
                    journal.add(found)
            else:
                bar.advance(task, found.tuples)
            stretches.append(found)
    return {
        "family": search.family,
        "contract": search.contract.digest,
        "representatives": len(search.named),
        "k": search.asked.k,
        "tuples": sum(stretch.tuples for stretch in stretches),
        "differ": sum(stretch.differ for stretch in stretches),
        "verified": verified,
        "digest": digest_of_all(stretches),
        "seconds": time.perf_counter() - start,
        "encoding_seconds": sum(stretch.seconds for stretch in stretches),
        "stretches": search.stretches,
        "reused": len(done),
        "shown": [vars(each) for stretch in stretches for each in stretch.shown][:20],
    }


def show(row: dict[str, Any]) -> None:
    """A family's line, and the first tuples that differ."""
    rate = row["tuples"] / max(row["encoding_seconds"], 1e-9) / 1e6
    said = f"{row['differ']:,} differ" if row["differ"] else "all agree"
    reused = f"; {row['reused']:,} of {row['stretches']:,} stretches from the journal" if row["reused"] else ""
    typer.echo(
        f"{row['family']}: {row['tuples']:,} tuples of {row['k']} over {row['representatives']} representatives: "
        f"{said}; {row['verified']:,} asked of the oracle itself; {row['encoding_seconds']:,.1f} s, "
        f"{rate:,.2f} million a second; digest {row['digest'][:16]}{reused}"
    )
    for each in row["shown"]:
        typer.echo(f"    {each['names']}  {each['hex']}  got {each['got']}, expected {each['expected']}")
