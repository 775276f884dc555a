"""`tokassay audit`: the same ids, on everything the engines claim to accept?"""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def audit(
    suite: Annotated[
        str, typer.Option(help="A suite's name (smoke, standard, gate, nightly, families, field) or a TOML file.")
    ] = "smoke",
    vocab: Annotated[
        list[str] | None,
        typer.Option(help="Vocabulary: a name (tokassay vocab list) or a file such as ./tokenizer.json."),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            help="The pretokenizer of a rank file given by path: a name such as cl100k, or a regular expression."
        ),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(help="Another algorithm over the vocabularies' tokens: greedy-longest. As NAME@greedy-longest."),
    ] = None,
    contract: Annotated[
        str | None,
        typer.Option(help="Variants held to, as POLICY, @UNICODE or POLICY@UNICODE: byte-alphabet@16.0."),
    ] = None,
    engine: Annotated[
        list[str] | None, typer.Option(help="An engine of the roster, `installed` for each that is, or `all`.")
    ] = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option(help="A corpus (tokassay corpora list), a file or a folder; again for more."),
    ] = None,
    operation: Annotated[
        list[str] | None, typer.Option(help="encode, encode_batch, decode or offsets; again for more.")
    ] = None,
    specials: Annotated[list[str] | None, typer.Option(help="Special tokens off or on; again for both.")] = None,
    roster: Annotated[list[Path] | None, typer.Option(help="A roster file with engines from outside the tree.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the generated corpora.")] = 0,
    jobs: Annotated[int, typer.Option(min=0, help="Blocks at a time; 0: as many as there are processors.")] = 0,
    reduce: Annotated[
        bool, typer.Option("--reduce/--no-reduce", help="Make each failing divergence's document as small as can be.")
    ] = True,
    reduce_seconds: Annotated[
        float, typer.Option(min=0.1, help="Time for one of them; for all together, twelve times that.")
    ] = 5.0,
    engine_minutes: Annotated[
        float | None,
        typer.Option(min=0, help="Time that one engine may work; what it is not asked for then is `unsupported`."),
    ] = None,
    store: Annotated[Path, typer.Option(help="The store: results are kept here, and a run resumes from it.")] = Path(
        "tokassay.sqlite"
    ),
    out: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("report"),
    own: Annotated[
        bool, typer.Option("--self", help="Each engine against itself instead: threads, batches, order, instances.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object on standard output instead of tables.")
    ] = False,
) -> None:
    """Compare engines with the oracle and with each other, block by block; exit 0 only where all agree.

    Exit codes: 0 all agreed, 1 a mismatch or a failure, 2 wrong use, 4 nothing was verified, 5 the audit itself failed.
    """
    from rich.console import Console
    from tokassay.harness.audit import Request
    from tokassay.harness.audit import audit as run_audit
    from tokassay.harness.errors import INFRASTRUCTURE
    from tokassay.harness.load import under
    from tokassay.harness.progress import Live
    from tokassay.harness.suites import known_words, load_suite, narrowed
    from tokassay.harness.tasks import OracleFailure
    from tokassay.harness.variants import parse_variants

    whole = load_suite(suite)
    asked = narrowed(
        whole,
        vocabularies=under(algorithm, tuple(vocab or ()) or whole.vocabularies),
        engines=tuple(engine or ()),
        corpora=tuple(corpus or ()),
        operations=known_words("--operation", operation),
        specials=known_words("--specials", specials),
    )
    request = Request(
        suite=asked,
        store=store,
        command=shlex.join(["tokassay", "audit", *_words_after_verb()]),
        roster=tuple(roster or ()),
        pattern=pattern,
        variants=parse_variants(contract),
        seed=seed,
        jobs=jobs or len(os.sched_getaffinity(0)),
        narrowed_from=suite,
        reduce_s=reduce_seconds if reduce else 0.0,
        engine_s=None if engine_minutes is None else 60 * engine_minutes,
    )
    console = Console(stderr=True)
    if own:
        from tokassay.harness.commands.selfdiff import against_itself

        raise SystemExit(against_itself(request, console, as_json=as_json))
    try:
        steps = len(asked.vocabularies) * sum(len(each.specials) for each in asked.corpora)
        with Live(console, steps) as live:
            outcome = run_audit(request, live)
    except OracleFailure as error:
        print(f"tokassay: {error}; nothing can be said without it, see docs/METHODOLOGY.md", file=sys.stderr)
        raise SystemExit(INFRASTRUCTURE) from error
    except KeyboardInterrupt:
        print(
            "tokassay: interrupted; what is finished is kept, run the same command again to go on",
            file=sys.stderr,
        )
        raise SystemExit(130) from None
    from tokassay.reports.read import read_run
    from tokassay.reports.tables import build
    from tokassay.reports.write import write_report

    paths = write_report(store, outcome.run, out)
    frames = read_run(store, outcome.run)
    tables = build(frames)
    if as_json:
        from tokassay.reports.json import audit_object

        json.dump(audit_object(frames, paths, tables), sys.stdout, ensure_ascii=True)
        sys.stdout.write("\n")
    else:
        from tokassay.reports.terminal import print_report

        print_report(Console(), tables, paths)
    raise SystemExit(outcome.exit_code)


def _words_after_verb() -> list[str]:
    words = sys.argv[1:]
    return words[1:] if words[:1] == ["audit"] else words
