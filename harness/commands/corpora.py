"""`tokassay corpora`: what engines are run on, where it is from, and what is in it."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from tokassay.harness.commands.manifest import manifest
from tokassay.harness.commands.words import words

app = typer.Typer(help="List, fetch and look into corpora.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the generated corpora.")]
Spec = Annotated[str, typer.Argument(help="A name of `tokassay corpora list`, a file or a folder.")]
Vocab = Annotated[str, typer.Option(help="Vocabulary: its tokens for concat, its special tokens for specials.")]


@app.command("list")
def list_corpora(as_json: AsJson = False) -> None:
    """Built-in sources, then the catalogue's texts: what is on this machine and what a fetch brings."""
    from tokassay.corpora.open import SOURCES
    from tokassay.corpora.prepared import manifest_of, real_entries

    built_in: list[dict[str, str]] = [{"name": name, "about": about} for name, (_, about) in SOURCES.items()]
    real: list[dict[str, Any]] = []
    for entry in real_entries():
        made = manifest_of(entry)
        real.append(
            {
                "name": entry.slug,
                "about": entry.name,
                "kind": entry.kind,
                "package": f"{entry.registry}: {entry.package} {entry.version}".strip(),
                "licence": entry.licence,
                "archive_bytes": entry.archive_bytes,
                "here": made is not None,
                "documents": made["documents"] if made else None,
                "bytes": made["bytes"] if made else None,
                "digest": made["digest"] if made else None,
            }
        )
    if as_json:
        typer.echo(json.dumps({"sources": built_in, "catalogue": real}))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("corpus", "what it is", "documents", "MB", "licence")
    for source in built_in:
        table.add_row(source["name"], source["about"], "", "", "")
    table.add_section()
    for row in real:
        brought = f"fetch {row['archive_bytes'] / 1e6:.1f}" if row["archive_bytes"] else "bring it"
        size = f"{row['bytes'] / 1e6:.1f}" if row["here"] else brought
        documents = f"{row['documents']:,}" if row["here"] else ""
        table.add_row(row["name"], row["about"], documents, size, row["licence"])
    # Outside a terminal nothing says how wide the reader is: rows stay on one line.
    Console(width=None if sys.stdout.isatty() else 200).print(table)


@app.command()
def fetch(
    names: Annotated[list[str], typer.Argument(help="Catalogue names; `tokassay corpora list` shows them.")],
    as_json: AsJson = False,
) -> None:
    """Bring catalogue texts into the cache, checked by SHA-256; afterwards they are read offline."""
    from rich.console import Console
    from tokassay.corpora.catalogue import find_entry
    from tokassay.corpora.document import CorpusError
    from tokassay.corpora.open import SOURCES, parts_of_source
    from tokassay.corpora.prepared import KINDS, manifest_of, prepare
    from tokassay.corpora.recipes import ALIASES

    entries = []
    for name in dict.fromkeys(part for asked in names for part in parts_of_source(asked) or [asked]):
        # Every name is looked up before anything is fetched; `verses` and `field` are made of several.
        if name.partition(":")[0] in SOURCES:
            raise CorpusError("built in: there is nothing to fetch", where=name, remedy="leave it out")
        entry = find_entry(ALIASES.get(name, name))
        if entry.kind not in KINDS:
            raise CorpusError(f"a {entry.kind} and no corpus", where=name, remedy="see: tokassay corpora list")
        entries.append(entry)
    console = Console(stderr=True)
    rows: list[dict[str, Any]] = []
    for place, entry in enumerate(entries, 1):
        with console.status(f"[{place}/{len(entries)}] {entry.slug}") as status:
            head = f"[{place}/{len(entries)}] "
            folder = prepare(entry.slug, say=lambda text, head=head: status.update(head + text))  # type: ignore[misc]
        made = manifest_of(entry) or {}
        rows.append({**made, "path": str(folder)})
        if not as_json:
            typer.echo(f"{entry.slug}: {made['documents']:,} documents, {made['bytes']:,} bytes, {made['digest']}")
    if as_json:
        typer.echo(json.dumps({"corpora": rows}))


@app.command()
def show(
    spec: Spec,
    limit: Annotated[int, typer.Option(min=0, help="Documents to print; the counts are of all of them.")] = 20,
    seed: Seed = 0,
    vocab: Vocab = "gpt2",
    as_json: AsJson = False,
) -> None:
    """Print a corpus's first documents with their reasons, then its counts by domain and its content digest.

    A line that gave no document (bad JSON, a null) is counted by reason and the first ones are named.
    """
    from rich.console import Console
    from tokassay.corpora.corpus import ContentHash
    from tokassay.harness.domains import DOMAINS, domains_of
    from tokassay.harness.opened import open_asked
    from tokassay.harness.pieces import one_line

    corpus = open_asked(spec, seed, vocab)
    state = ContentHash()
    first: list[dict[str, Any]] = []
    domains = dict.fromkeys(DOMAINS, 0)
    longest = 0
    with Console(stderr=True).status(f"reading {spec}"):
        for buffer, offsets, name in corpus.columns():
            state.add(buffer, offsets)
            codes = domains_of(buffer, offsets)
            for code, domain in enumerate(DOMAINS):
                domains[domain] += int((codes == code).sum())
            sizes = offsets[1:] - offsets[:-1]
            longest = max(longest, int(sizes.max()))
            for k in range(min(limit - len(first), len(sizes))):
                data = bytes(buffer[int(offsets[k]) : int(offsets[k + 1])])
                head = {"name": name(k), "bytes": len(data), "domain": DOMAINS[int(codes[k])]}
                first.append({**head, "hex": data.hex(), "reason": name.reason(k)})
    found = state.done()
    problems: dict[str, dict[str, Any]] = {
        reason: {"count": count, "first": corpus.problems.first[reason]}
        for reason, count in corpus.problems.counts.items()
    }
    total = {
        "spec": spec,
        "seed": seed,
        "documents": found.documents,
        "bytes": found.bytes,
        "longest": longest,
        "domains": domains,
        "digest": found.digest,
        "problems": problems,
    }
    if as_json:
        typer.echo(json.dumps({**total, "shown": first}))
        return
    for row in first:
        typer.echo(f"{row['name']}  [{row['domain']}, {row['bytes']} bytes]  {row['reason']}".rstrip())
        typer.echo(f"    {one_line(bytes.fromhex(row['hex']))}")
    if found.documents > len(first) > 0:
        typer.echo(f"    ... and {found.documents - len(first):,} more")
    counts = ", ".join(f"{count:,} {domain}" for domain, count in domains.items())
    typer.echo(f"{found.documents:,} documents ({counts}), {found.bytes:,} bytes, longest {longest:,}")
    typer.echo(f"digest {found.digest}")
    for reason, problem in problems.items():
        typer.echo(f"left out: {problem['count']:,} x {reason}, first at {', '.join(problem['first'][:3])}")


app.command()(manifest)
app.command()(words)
