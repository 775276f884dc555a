"""`tokassay history`: runs and benches one after the other, what came and went, and steps in a cell's speed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from tokassay.harness.commands.options import Json, print_json

app = typer.Typer()
SCHEMA = "tokassay.history/1"
WIDTH = 160  # of tables that go to a file or a pipe


@app.command()
def history(
    store: Annotated[Path, typer.Option(help="The store that `tokassay audit` wrote.")] = Path("tokassay.sqlite"),
    engine: Annotated[list[str] | None, typer.Option(help="This engine only; again for more.")] = None,
    vocab: Annotated[list[str] | None, typer.Option(help="This vocabulary only; again for more.")] = None,
    text: Annotated[list[str] | None, typer.Option(help="This kind of text only, of benches; again for more.")] = None,
    last: Annotated[int, typer.Option(min=1, help="The newest N runs and N benches.")] = 30,
    as_json: Json = False,
) -> None:
    """Show verdicts of each run, divergences that are new or healed since the run before of its suite, and speeds.

    Exit codes: 0 shown (whatever it says), 2 wrong use, 4 the store holds neither a run nor a bench.
    """
    from tokassay.harness.errors import AGREED, NOTHING

    found = told(store, engine or [], vocab or [], text or [], last)
    if as_json:
        print_json(found)
    else:
        show(found)
    raise typer.Exit(AGREED if found["runs"] or found["benches"] else NOTHING)


def told(store: Path, engines: list[str], contracts: list[str], texts: list[str], last: int) -> dict[str, Any]:
    """The object of `tokassay.history/1`. Raises InputError."""
    from contextlib import closing
    from dataclasses import asdict

    from tokassay.harness import history as stored
    from tokassay.harness.steps import ALPHA, LEAST, steps

    with closing(stored.reading(store)) as db:
        known, measured = stored.runs(db), stored.benches(db)
        rows, before = [], dict[str, stored.Run]()
        for number, run in enumerate(known):
            if run.finished is None:
                rows.append({**asdict(run), "verdicts": {}, "new": [], "healed": [], "asked": None, "versions": {}})
                continue
            older, before[run.suite] = before.get(run.suite), run
            if number < len(known) - last:
                continue
            mine = divergences(db, run.id, engines, contracts)
            theirs = divergences(db, older.id, engines, contracts) if older else mine
            rows.append(
                {
                    **asdict(run),
                    "versions": stored.versions(db, run.id),
                    "verdicts": dict(sorted(stored.verdicts(db, run.id, engines, contracts).items())),
                    "divergences": len(mine),
                    "compared_with": older.id if older else None,
                    "new": [brief(mine[name]) for name in stored.unlike(mine, theirs)],
                    "healed": [brief(theirs[name]) for name in stored.unlike(theirs, mine)],
                    "asked": stored.asked(db, run.id).to_json(),
                }
            )
    lines = []
    for key, points in stored.series(measured[-last:]).items():
        machine, name, *values = key
        cell = dict(zip(stored.CELL, values, strict=True))
        asked_for = ((name, engines), (cell["vocab"], contracts), (cell["text"], texts))
        if any(asked and one not in asked for one, asked in asked_for):
            continue
        found = steps([point.mb_s for point in points])
        lines.append({
            "engine": name, **cell, "machine": machine, "points": [asdict(point) for point in points],
            "steps": [
                {**asdict(step), "bench": points[step.at].bench, "started": points[step.at].started,
                 "versions": [points[step.at - 1].version, points[step.at].version]}
                for step in found
            ],
        })  # fmt: skip
    return {
        "schema": SCHEMA, "store": str(store), "runs": rows[-last:],
        "benches": [{"id": one.id, "started": one.started} for one in measured[-last:]],
        "series": lines, "alpha": ALPHA, "least": LEAST,
    }  # fmt: skip


def divergences(db: Any, run: str, engines: list[str], contracts: list[str]) -> dict[Any, dict[str, Any]]:
    """The failing divergences of a run, of these engines and contracts."""
    from tokassay.harness.history import divergences as all_of

    return {
        name: row
        for name, row in all_of(db, run).items()
        if (not engines or name[0] in engines) and (not contracts or name[1] in contracts)
    }


def brief(row: dict[str, Any]) -> dict[str, Any]:
    """A divergence in a few fields."""
    names = ("engine", "contract", "signature", "verdict", "documents", "stage", "explanation")
    return {**{name: row[name] for name in names}, "command": row["minimal_command"] or row["command"]}


def show(found: dict[str, Any]) -> None:
    """Runs, what came and went, series, and steps, as tables."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
    from tokassay.reports.visible import visible

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=WIDTH)

    def cell(text: object) -> Text:
        return Text(visible(str(text), escape_rtl=True))

    table = Table(title="runs", title_justify="left")
    for column in ("run", "started", "suite", "exit", "verdicts", "reused", "measured", "new", "healed"):
        table.add_column(
            column, justify="right" if column in ("exit", "reused", "measured", "new", "healed") else "left"
        )
    for run in found["runs"]:
        counts = ", ".join(f"{word} {count:,}" for word, count in run["verdicts"].items())
        asked = run["asked"] or {"reused": 0, "new": 0, "again": {}}
        measured = asked["new"] + sum(asked["again"].values())
        code = "interrupted" if run["finished"] is None else str(run["exit_code"])
        row = (run["id"], run["started"], run["suite"], code, counts, f"{asked['reused']:,}", f"{measured:,}",
               len(run["new"]), len(run["healed"]))  # fmt: skip
        table.add_row(*map(cell, row))
    console.print(table)
    for run in found["runs"]:
        for word in ("new", "healed"):
            for row in run[word]:
                text = f"{run['id']}, {word}: {row['engine']} under {row['contract']}, {row['verdict']}"
                console.print(cell(f"{text}: {row['explanation']}; {row['command']}"))
    if not found["series"]:
        console.print("no bench in this store" if not found["benches"] else "no bench has such a cell")
        return
    table = Table(title="speeds, MB/s", title_justify="left")
    for column in ("engine", "vocab", "text", "entry", "state", "threads", "benches", "first", "last", "interval"):
        table.add_column(column, justify="right" if column in ("benches", "first", "last", "interval") else "left")
    for line in found["series"]:
        first, end = line["points"][0], line["points"][-1]
        interval = "" if end["low"] is None else f"{end['low']:.4g} to {end['high']:.4g}"
        names = [line[name] for name in ("engine", "vocab", "text", "entry", "state", "threads")]
        row = (*names, len(line["points"]), f"{first['mb_s']:.4g}", f"{end['mb_s']:.4g}", interval)
        table.add_row(*map(cell, row))
    console.print(table)
    for line in found["series"]:
        for step in line["steps"]:
            old, new = step["versions"]
            change = f"; {old} became {new}" if old != new else ""
            console.print(
                cell(
                    f"step at bench {step['bench']} ({step['started']}): {line['engine']}, {line['vocab']}, "
                    f"{line['text']}, {line['entry']}, {line['state']}: {step['ratio']:.3f} times the speed, "
                    f"{step['before']:.4g} to {step['after']:.4g} MB/s, p = {step['p']:.4f}{change}"
                )
            )
    looked = sum(len(line["points"]) >= 6 for line in found["series"])
    console.print(
        f"{looked:,} of {len(found['series']):,} series have the six points that a step needs; of those without a step "
        f"{found['alpha']:.0%} are said to have one by chance"
    )
