"""`tokassay vocab`: fetching vocabularies, looking into them, verifying them; each other verb has a file of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from tokassay.corpora.catalogue import Entry
    from tokassay.harness.load import Loaded

app = typer.Typer(help="List, fetch, show and verify vocabularies.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Names = Annotated[list[str], typer.Argument(help="Encodings, or short names of the catalogue (tokassay vocab list).")]


@app.command()
def fetch(names: Names, as_json: AsJson = False) -> None:
    """Fetch vocabularies into the cache, pinned by SHA-256; what is there is kept, and afterwards all is offline."""
    from tokassay.corpora.fetch import fetch_file, fetch_tree

    entries = [(name, _entry(name)) for name in names]
    rows: list[dict[str, Any]] = []
    console = _console()
    with console.status("") as status:
        for name, entry in entries:
            status.update(name)
            get = fetch_tree if entry is not None and entry.tree else fetch_file
            path = get(entry, say=status.update) if entry is not None else _embedded(name)
            rows.append(
                {"name": name, "path": str(path), "sha256": entry.sha256 if entry else "", "embedded": not entry}
            )
            console.print(f"{name}: {path}", highlight=False, soft_wrap=True)
    if as_json:
        typer.echo(json.dumps({"fetched": rows}))


def _entry(name: str) -> Entry | None:
    """The catalogue entry that `name` means; None for an embedded encoding, which needs no fetching."""
    from tokassay.corpora.fetch import find_entry
    from tokassay.harness import known

    encoding = known.find(name)
    if encoding is not None:
        return None if encoding.file else find_entry(encoding.catalog)
    return find_entry(name)


def _embedded(name: str) -> Path:
    from tokassay.harness import known
    from tokassay.harness.load import known_path

    encoding = known.find(name)
    path = known_path(encoding) if encoding else None
    if path is None:
        raise RuntimeError(f"{name} is not embedded")
    return path


@app.command()
def show(
    vocabulary: Annotated[str, typer.Argument(metavar="NAME|PATH", help="A known encoding, or a file.")],
    ids: Annotated[bool, typer.Option("--ids", help="Every id with its bytes.")] = False,
    pattern: Annotated[
        str | None, typer.Option(help="The pretokenizer of a rank file given by path: a name or a regular expression.")
    ] = None,
    specials: Annotated[
        Path | None, typer.Option(help="Special tokens of a rank file: a JSON object of text -> id.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The contract of a vocabulary, its digests, and what of its file is not modelled."""
    from tokassay.harness.identity import described as identified
    from tokassay.harness.load import load_vocabulary, read_specials

    named = read_specials(specials) if specials else None
    with _console().status(f"loading {vocabulary}"):
        loaded = load_vocabulary(vocabulary, pattern=pattern, specials=named)
        described = describe(loaded) | {"likeness": identified(loaded)}
    if as_json:
        if ids:
            described["ids"] = {str(number): token.hex() for number, token in sorted(loaded.vocabulary.ids().items())}
        typer.echo(json.dumps(described))
        return
    for key, value in described.items():
        _print_field(*(("identity", value["says"]) if key == "likeness" else (key, value)))
    if ids:
        for number, token in sorted(loaded.vocabulary.ids().items()):
            typer.echo(f"{number}\t{token!r}")


def describe(loaded: Loaded) -> dict[str, Any]:
    """A loaded vocabulary as JSON values."""
    return {
        "name": loaded.name,
        "path": str(loaded.source_path),
        "format": loaded.format,
        "file_sha256": loaded.file_sha256,
        "contract_digest": loaded.contract.digest,
        "core_digest": loaded.contract.core_digest,
        "tokens": len(loaded.vocabulary.tokens),
        "merges": None if loaded.vocabulary.merges is None else len(loaded.vocabulary.merges),
        "specials": len(loaded.vocabulary.specials),
        "contract": loaded.contract.to_json(),
        "notes": loaded.notes,
        "unmodelled": loaded.unmodelled,
    }


def _print_field(key: str, value: Any) -> None:
    if isinstance(value, dict):
        for name, item in value.items():
            _print_field(f"{key}.{name}", item)
    elif isinstance(value, list):
        shown = [item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in value[:12]]
        for item in shown:
            typer.echo(f"{key}: {item}")
        if len(value) > len(shown):
            typer.echo(f"{key}: and {len(value) - len(shown)} more (--json lists all)")
    else:
        typer.echo(f"{key}: {'-' if value is None else value}")


@app.command()
def verify(
    names: Annotated[list[str] | None, typer.Argument(help="Encodings; all that are on this machine if none.")] = None,
    as_json: AsJson = False,
) -> None:
    """Hash, load and count afresh: SHA-256, canonical digest, tokens that merging cannot form, ids of "hello world".

    Exit codes: 0 all as stated, 1 something is not, 2 wrong use.
    """
    from rich.progress import Progress
    from tokassay.harness import known
    from tokassay.harness.load import known_path
    from tokassay.harness.vocab_verify import verify as verify_one

    wanted = list(names or [e.name for e in known.encodings() if known_path(e)])
    rows = []
    with Progress(console=_console(), transient=True) as progress:
        task = progress.add_task("verifying", total=len(wanted))
        for name in wanted:
            progress.update(task, description=name)
            rows.append(verify_one(name))
            progress.advance(task)
    failed = any(row.failures for row in rows)
    if as_json:
        typer.echo(json.dumps({"vocabularies": [row.to_json() for row in rows], "exit_code": int(failed)}))
    else:
        columns = ("name", "contract", "tokens", "exceptions", "unreachable", "sample", "failures")
        _table("verified", columns, [row.to_json() for row in rows])
    if failed:
        raise typer.Exit(1)


def _console() -> Console:
    from rich.console import Console

    return Console(stderr=True)


def _table(title: str, columns: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for column in columns:
        # A name is there to be copied: it is folded, and never cut short.
        table.add_column(column, overflow="fold", no_wrap=column == "name")
    for row in rows:
        table.add_row(*[_word(row[column]) for column in columns])
    Console().print(table)


def _word(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(str(item) for item in value)
    return "-" if value is None else str(value)


def _others() -> None:
    from tokassay.harness.commands.vocab_convert import convert
    from tokassay.harness.commands.vocab_identify import identify
    from tokassay.harness.commands.vocab_list import list_vocabularies

    app.command()(convert)
    app.command()(identify)
    app.command("list")(list_vocabularies)


_others()
