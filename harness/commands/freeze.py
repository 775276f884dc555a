"""`tokassay freeze`: the golden digests of the embedded corpora, made or checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def freeze(
    engine: Annotated[str, typer.Option(help="Whose ids: oracle, or an engine of the roster.")] = "oracle",
    out: Annotated[Path | None, typer.Option(help="Write the digests here instead of checking them.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Check an engine against the frozen digests of battery and sample, or write new ones.

    Exit codes: 0 all are as frozen (or were written), 1 some are not, 2 wrong use.
    """
    from rich.console import Console
    from tokassay.harness import golden
    from tokassay.harness.errors import AGREED, MISMATCH

    console = Console(stderr=True)
    found = {}
    for name in golden.VOCABULARIES:
        with console.status(f"{engine} on {name}"):
            found[name] = golden.digests(engine, name)
    made = {"schema": golden.SCHEMA, "vocabularies": found}
    if out is not None:
        out.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
        print(json.dumps({"written": str(out)}) if as_json else f"written: {out}")
        raise SystemExit(AGREED)
    right = golden.frozen()["vocabularies"]
    rows = [
        {"vocabulary": v, "corpus": c, "domain": d, "same": found[v][c][d] == right[v][c][d], **found[v][c][d]}
        for v in found
        for c in golden.CORPORA
        for d in golden.DOMAINS
    ]
    if as_json:
        print(json.dumps({"schema": "tokassay.freeze/1", "engine": engine, "digests": rows}))
    else:
        for row in rows:
            word = "as frozen" if row["same"] else "DIFFERS"
            print(f"{row['vocabulary']:8} {row['corpus']:8} {row['domain']:8} {row['documents']:6} documents  {word}")
    raise SystemExit(AGREED if all(row["same"] for row in rows) else MISMATCH)
