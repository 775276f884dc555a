"""`tokassay freeze`: an engine's ids on a vocabulary, written to a file that `tokassay check` holds later ones to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from tokassay.harness.commands.options import Json, Pattern, Roster, print_json

if TYPE_CHECKING:
    from tokassay.harness.golden_file import Golden

app = typer.Typer()


@app.command()
def freeze(
    vocab: Annotated[
        str | None, typer.Option(help="A file such as ./tokenizer.json, its folder, or a name (tokassay vocab list).")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(help="Whose ids: NAME of the roster, or NAME==VERSION; without it, the usual one of the format."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The file to write.")] = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option(help="A corpus (tokassay corpora list) or path, in place of the default ones; repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="For corpora that are drawn.")] = 0,
    replace: Annotated[bool, typer.Option("--replace", help="Write over a file that is there.")] = False,
    pattern: Pattern = None,
    embedded: Annotated[
        bool, typer.Option("--embedded", help="The golden digests of the embedded vocabularies instead.")
    ] = False,
    roster: Roster = None,
    as_json: Json = False,
) -> None:
    """Freeze an engine's ids: digests by corpus and domain, the ids in full, contract, versions, tokenizer settings.

    Exit codes: 0 written, 2 wrong use, 5 the engine does not start.
    """
    from rich.console import Console
    from tokassay.engines.roster import load_roster
    from tokassay.harness.errors import InputError
    from tokassay.harness.guard import freeze as run
    from tokassay.harness.output import check_new, write_whole

    if out is None:
        raise InputError("nothing says where to write", where="--out", remedy="give --out golden.json")
    if (vocab is None) == (not embedded):
        raise InputError(
            "nothing says whose ids" if vocab is None else "--embedded brings its vocabularies", where="--vocab",
            remedy="give --vocab ./tokenizer.json" if vocab is None else "leave one of the two out",
        )
    check_new(out, "--out", replace=replace)
    with Console(stderr=True).status("") as status:
        if vocab is None:
            text, lines, shown = _embedded(engine or "oracle", status.update)
        else:
            golden = run(
                vocab, engine, load_roster(*(roster or ())), out=out, pattern=pattern, corpora=corpus or (), seed=seed,
                tell=status.update,
            )
            text, lines, shown = golden.text(), described(golden), _to_json(golden)
    write_whole(out, text.encode("utf-8"), "--out")
    if as_json:
        print_json({"schema": "tokassay.freeze/2", "written": str(out), **shown})
    else:
        typer.echo("\n".join([*lines, f"written: {out}"]))


def described(golden: Golden) -> list[str]:
    """What was frozen, in words: a line a corpus and domain."""
    who = golden.engine
    lines = [f"{who['name']} {who['version']} on {golden.vocabulary['given']}, contract {golden.contract.digest}"]
    for corpus in golden.corpora:
        for part in corpus.parts:
            more = f", {part.rejects:,} refused" if part.rejects else ""
            more += f", {part.failed:,} FAILED" if part.failed else ""
            more += "" if part.kept is not None else ", digest only"
            lines.append(
                f"  {corpus.name:22} {part.domain:8} {part.documents:6,} documents {part.ids:9,} ids  "
                f"{part.digest[:16]}{more}"
            )
    if golden.settings:
        lines.append(f"  {len(golden.settings)} settings of the tokenizer's files")
    return lines


def _to_json(golden: Golden) -> dict[str, Any]:
    made = golden.to_json()
    for corpus in made["corpora"]:
        for part in corpus["parts"]:
            part["kept"] = part["kept"] is not None
            del part["blocks"]
    return {
        "engine": made["engine"], "vocabulary": made["vocabulary"], "contract": golden.contract.digest,
        "corpora": made["corpora"], "settings": len(golden.settings or ()),
    }


def _embedded(engine: str, tell: Callable[[str], None]) -> tuple[str, list[str], dict[str, Any]]:
    """The text of fixtures/golden/ids.json by `engine` (an engine of the roster, or `oracle`)."""
    import json

    from tokassay.harness import golden

    found = {}
    for name in golden.VOCABULARIES:
        tell(f"{engine} on {name}")
        found[name] = golden.digests(engine, name)
    made = {"schema": golden.SCHEMA, "vocabularies": found}
    return json.dumps(made, indent=1) + "\n", [], {"engine": engine, "vocabularies": list(found)}
