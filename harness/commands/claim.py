"""`tokassay claim`: a vendor's published figures, run again: supported, in part, not, not verifiable here, or void."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from tokassay.harness.commands.options import Json, Roster, print_json

app = typer.Typer(help="List vendors' claims, show one, and run it again.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="A claim's name (tokassay claim list), or a claim's TOML file.")]


@app.command("list")
def list_claims(as_json: Json = False) -> None:
    """Every claim that is shipped: who says what, and whether it can be run here."""
    from tokassay.harness.claims import load_claim, names

    claims = [load_claim(name) for name in names()]
    if as_json:
        print_json({"claims": [summary(claim) for claim in claims]})
        return
    table("claim", "vendor", "figures", "run as", rows=[
        [claim.name, claim.vendor, "; ".join(figure.says for figure in claim.figures),
         ", ".join(claim.engines) or f"not here: {claim.not_here}"] for claim in claims
    ])


@app.command()
def show(name: Name, as_json: Json = False) -> None:
    """One claim as its file states it, with its arithmetic and the nearest equivalent here."""
    from tokassay.harness.claims import load_claim

    claim = load_claim(name)
    if as_json:
        print_json({"name": claim.name, **plain(claim)})
        return
    from tokassay.reports.claim_terminal import about_lines

    for line in about_lines({"name": claim.name, **plain(claim)}):
        typer.echo(line)


@app.command()
def run(
    name: Annotated[str | None, typer.Argument(help="A claim's name, or a claim's TOML file.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every shipped claim, one after the other.")] = False,
    corpus: Annotated[
        list[str] | None,
        typer.Option(help="A text of yours, NAME=SPEC: owt=./owt_train.txt for the 11.9 GB of OpenWebText."),
    ] = None,
    text: Annotated[list[str] | None, typer.Option(help="Only these texts of the claim; again for more.")] = None,
    minutes: Annotated[float | None, typer.Option(min=0.1, help="Time; texts beyond it are left out, by name.")] = None,
    repeat: Annotated[int | None, typer.Option(min=1, help="Rounds, engines in turns.")] = None,
    size: Annotated[float | None, typer.Option(min=0.001, help="Megabytes of each half of a text.")] = None,
    cpu: Annotated[int | None, typer.Option(min=0, help="The processor that engines are kept on.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Install nothing and fetch nothing.")] = False,
    proof: Annotated[
        str | None, typer.Option(help="The gate suite that a build must pass to have a speed: gate, or a TOML file.")
    ] = None,
    roster: Roster = None,
    store: Annotated[Path, typer.Option(help="The store that the verdict is kept in.")] = Path("tokassay.sqlite"),
    out: Annotated[Path, typer.Option(help="Folder of the page; with --all a folder each in it.")] = Path("claim"),
    as_json: Json = False,
) -> None:
    """Check the engine's ids, measure it beside the vendor's baselines, and say what is borne out.

    What the claim needs is installed and fetched first. Exit codes: 0 supported, 1 void, not supported, or supported in
    part, 2 wrong use, 4 nothing could be verified, 5 the oracle cannot run.
    """
    import sys

    from rich.console import Console
    from tokassay.harness.claim_run import Options, run_claim
    from tokassay.harness.claim_verdict import exit_code
    from tokassay.harness.claims import load_claim, names
    from tokassay.harness.errors import INFRASTRUCTURE, InputError, writing
    from tokassay.harness.store import Store
    from tokassay.harness.tasks import OracleFailure

    if everything == (name is not None):
        raise InputError("names one claim, or --all", where="tokassay claim run", remedy="see: tokassay claim list")
    asked = names() if everything else [str(name)]
    options = Options(
        store=store, corpora=pairs(corpus or []), roster=tuple(roster or ()), minutes=minutes, repeat=repeat,
        size=None if size is None else int(size * 1e6), texts=tuple(text or ()), cpu=cpu, offline=offline,
        proof=proof,
    )
    claims = [load_claim(one) for one in asked]
    # Now, and not when ten minutes have been measured.
    with writing(f"--out {out}", "give another folder with --out"):
        out.mkdir(parents=True, exist_ok=True)
    Store(store).close()
    console = Console(stderr=True)
    reports: list[dict[str, Any]] = []
    for claim, word in zip(claims, asked, strict=True):
        try:
            report = run_claim(claim, options.spelled(word), console)
        except OracleFailure as error:
            typer.echo(f"tokassay: {error}; nothing can be said without it, see docs/METHODOLOGY.md", err=True)
            raise typer.Exit(INFRASTRUCTURE) from error
        except KeyboardInterrupt:
            typer.echo("tokassay: interrupted; verdicts that were reached are in the store", err=True)
            raise typer.Exit(130) from None
        kept = Store(store)
        try:
            kept.add_claim_run(report)
        finally:
            kept.close()
        reports.append({**report, "report": written(report, out / claim.name if everything else out)})
        if not as_json:
            show_report(reports[-1])
    if as_json:
        print_json({"claims": reports} if everything else reports[0])
    sys.stdout.flush()
    raise typer.Exit(exit_code([report["verdict"] for report in reports]))


def written(report: dict[str, Any], folder: Path) -> list[str]:
    """The page and its files."""
    from tokassay.reports.claim import write_claim

    return [str(path) for path in write_claim(report, folder)]


def show_report(report: dict[str, Any]) -> None:
    """The verdict on standard output."""
    from tokassay.reports.claim_terminal import print_claim

    print_claim(report)


def pairs(written: list[str]) -> dict[str, str]:
    """NAME=SPEC by name. Raises InputError."""
    from tokassay.harness.errors import InputError

    found: dict[str, str] = {}
    for one in written:
        name, equals, spec = one.partition("=")
        if not (name and equals and spec):
            raise InputError(f"{one} is no NAME=SPEC", where="--corpus", remedy="write owt=./owt_train.txt")
        found[name] = spec
    return found


def plain(claim: Any) -> dict[str, Any]:
    """The claim as plain values."""
    from dataclasses import asdict

    return asdict(claim)


def summary(claim: Any) -> dict[str, Any]:
    """The row of `list`."""
    return {
        "claim": claim.name, "vendor": claim.vendor, "summary": claim.summary, "engines": list(claim.engines),
        "not_here": claim.not_here, "source": claim.source.address,
        "figures": [{"name": figure.name, "says": figure.says, "kind": figure.kind} for figure in claim.figures],
    }


def table(*columns: str, rows: list[list[str]]) -> None:
    import sys

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    Console(width=None if sys.stdout.isatty() else 160).print(made)
