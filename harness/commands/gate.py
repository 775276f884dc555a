"""`tokassay gate`: is there anything that the baseline had not?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from tokassay.harness.commands.options import Json, print_json

app = typer.Typer()
Names = Annotated[list[str] | None, typer.Option(help="Judge this one only; again for more.")]


@app.command()
def gate(
    baseline: Annotated[
        str | None,
        typer.Option(help="The run to hold to: the beginning of its id, `last`, or `previous` of its suite."),
    ] = None,
    run: Annotated[str | None, typer.Option(help="The run that is judged; default last.")] = None,
    bench_baseline: Annotated[
        str | None, typer.Option(help="The bench to hold to: an id's beginning, or `previous`.")
    ] = None,
    bench: Annotated[str | None, typer.Option(help="The bench that is judged; default last.")] = None,
    self_baseline: Annotated[
        Path | None, typer.Option(help="What `audit --self --json` printed for the baseline; with --self.")
    ] = None,
    own: Annotated[Path | None, typer.Option("--self", help="What `audit --self --json` printed now.")] = None,
    engine: Names = None,
    vocab: Names = None,
    tolerance: Annotated[
        float, typer.Option(min=0.0, max=0.9, help="A slow-down is one if the whole interval is below 1 - TOLERANCE.")
    ] = 0.05,
    store: Annotated[Path, typer.Option(help="The store that `tokassay audit` wrote.")] = Path("tokassay.sqlite"),
    junit: Annotated[Path | None, typer.Option(help="Write the judgement to this file as JUnit XML.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="Write the judgement to this file as SARIF 2.1.0.")] = None,
    github: Annotated[bool, typer.Option("--github", help="Print GitHub workflow commands, not tables.")] = False,
    as_json: Json = False,
) -> None:
    """Hold a run, and a bench, to a baseline, document by document and cell by cell.

    Exit codes: 0 nothing new, 1 a new divergence or a worse verdict, 2 wrong use, 3 a resolvable slow-down, 4 nothing
    was verified or measured that the baseline has too.
    """
    from importlib.metadata import version

    from tokassay.harness.errors import InputError, writing

    if github and as_json:
        raise InputError("both write standard output", where="--github, --json", remedy="give one of the two")
    judged = judgement(
        store, baseline=baseline, run=run, bench_baseline=bench_baseline, bench=bench, own=own,
        self_baseline=self_baseline, engines=engine or [], contracts=vocab or [], tolerance=tolerance,
    ).to_json()  # fmt: skip
    if junit is not None:
        from tokassay.reports.junit import junit as to_junit

        with writing(str(junit)):
            junit.write_text(to_junit(judged), encoding="utf-8")
    if sarif is not None:
        from tokassay.reports.sarif import sarif as to_sarif

        with writing(str(sarif)):
            sarif.write_text(to_sarif(judged, version("tokassay")), encoding="utf-8")
    if github:
        from tokassay.reports.annotations import workflow_commands

        for line in workflow_commands(judged):
            typer.echo(line)
    elif as_json:
        print_json(judged)
    else:
        from tokassay.reports.visible import visible

        for sentence in judged["sentences"]:
            typer.echo(visible(sentence, escape_rtl=True))
    raise typer.Exit(judged["exit_code"])


def judgement(
    store: Path,
    *,
    baseline: str | None,
    run: str | None,
    bench_baseline: str | None,
    bench: str | None,
    own: Path | None,
    self_baseline: Path | None,
    engines: list[str],
    contracts: list[str],
    tolerance: float,
) -> Any:
    """The Judgement of what is asked for. Raises InputError."""
    from contextlib import closing

    from tokassay.harness import history
    from tokassay.harness.errors import InputError
    from tokassay.harness.regression import Judgement, judge_bench, judge_own, judge_run

    for option, needs, given in (
        ("--run", "--baseline", run is not None and baseline is None),
        ("--bench", "--bench-baseline", bench is not None and bench_baseline is None),
        ("--self", "--self-baseline", own is not None and self_baseline is None),
        ("--self-baseline", "--self", own is None and self_baseline is not None),
    ):
        if given:
            raise InputError(f"needs {needs}", where=option, remedy=f"give {needs} too")
    if baseline is None and bench_baseline is None:
        raise InputError(
            "no baseline", where="tokassay gate", remedy="give --baseline RUN, --bench-baseline ID, or both"
        )
    found = Judgement(named=frozenset([*engines, *contracts]))
    with closing(history.reading(store)) as db:
        if baseline is not None:
            known = history.runs(db)
            mine = history.find_run(known, run or history.LAST, option="--run")
            theirs = history.find_run(known, baseline, option="--baseline", before=mine)
            for option, one in (("--run", mine), ("--baseline", theirs)):
                if one.finished is None:
                    raise InputError(f"{one.id} did not finish", where=option, remedy=f"run it again: {one.command}")
            if mine.id == theirs.id:
                raise InputError(f"{mine.id} is its own baseline", where="--baseline", remedy="name an older run")
            judge_run(found, db, mine, theirs, engines, contracts)
        if bench_baseline is not None:
            measured = history.benches(db)
            now = history.find_bench(measured, bench or history.LAST, option="--bench")
            before = history.find_bench(measured, bench_baseline, option="--bench-baseline", before=now)
            if now.id == before.id:
                raise InputError(
                    f"{now.id} is its own baseline", where="--bench-baseline", remedy="name an older bench"
                )
            judge_bench(found, now, before, tolerance, engines, contracts)
    if own is not None and self_baseline is not None:
        judge_own(found, read_own(own, "--self"), read_own(self_baseline, "--self-baseline"))
    return found


def read_own(path: Path, option: str) -> dict[str, Any]:
    """What `audit --self --json` wrote to a file. Raises InputError."""
    import json

    from tokassay.harness.errors import InputError

    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot be read: {error}", where=f"{option} {path}", remedy="give a file of audit --self --json"
        ) from None
    if not isinstance(report, dict) or report.get("schema") != "tokassay.self/1":
        raise InputError("is no tokassay.self/1", where=f"{option} {path}", remedy="give a file of audit --self --json")
    return report
