"""`tokassay report build`: everything that stores hold as a static site."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from tokassay.harness.commands.options import Json, Roster, print_json

Stores = Annotated[
    list[Path] | None,
    typer.Option("--store", help="A store of audits, benches and claims; once or more. [default: tokassay.sqlite]"),
]
Benches = Annotated[list[Path] | None, typer.Option("--bench", help="A file of `tokassay bench --json`, besides.")]
Seconds = Annotated[
    float, typer.Option("--trace-seconds", min=0, help="Time for tracing divergences again; 0: none is traced.")
]


def build(
    out: Annotated[Path, typer.Option(help="Folder of the site.")],
    store: Stores = None,
    bench: Benches = None,
    trace_seconds: Seconds = 60.0,
    roster: Roster = None,
    as_json: Json = False,
) -> None:
    """Build a static site: scoreboard, engines, corpora, divergences, claims, runs, downloads.

    It needs no script, no server and no network. Files of an earlier build in the folder are replaced; nothing else
    is touched.

    Exit codes: 0 the site was written (whatever it says), 2 wrong use.
    """
    from rich.console import Console
    from tokassay.harness.site_sources import STORE, built

    held = store or ([] if bench else [STORE])
    with Console(stderr=True).status("reading") as status:
        site, paths = built(held, bench or [], out, roster or (), trace_seconds, status.update)
    if as_json:
        print_json(
            {
                "site": str(out / "index.html"),
                "files": len(paths),
                "bytes": sum(path.stat().st_size for path in paths),
                "audits": len(site.runs),
                "benches": len(site.benches),
                "claims": len(site.claims),
                "divergences": len(site.divergences),
                "traces": len(site.traces),
            }
        )
    else:
        typer.echo(f"{len(paths):,} files, {len(site.traces)} traces; site: {out / 'index.html'}")
