"""`tokassay bisect`: the release with which a package's answer to one document began to be wrong, or right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from tokassay.harness.commands.options import (
    File,
    Hex,
    Json,
    Pattern,
    Roster,
    Specials,
    Text,
    Variants,
    Vocab,
    asked,
    print_json,
)

if TYPE_CHECKING:
    from rich.console import Console
    from tokassay.harness.answers import Answer
    from tokassay.harness.bisect import Bisection, Change
    from tokassay.harness.cases import Case

app = typer.Typer()


@app.command()
def bisect(
    engine: Annotated[str, typer.Argument(help="An engine of the roster; NAME:POLICY@UNICODE for other variants.")],
    first: Annotated[str | None, typer.Option("--from", help="The oldest release; without it, the first.")] = None,
    last: Annotated[str | None, typer.Option("--to", help="The newest release to ask; without it, the last.")] = None,
    vocab: Vocab = "gpt2",
    pattern: Pattern = None,
    contract: Variants = None,
    specials: Specials = False,
    hexadecimal: Hex = None,
    text: Text = None,
    file: File = None,
    vector: Annotated[
        str | None, typer.Option(help="A vector by its id: document, vocabulary and right answer.")
    ] = None,
    divergence: Annotated[
        str | None, typer.Option(help="A divergence of the store, [RUN:]NUMBER as in the report.")
    ] = None,
    store: Annotated[Path, typer.Option(help="The store of --divergence.")] = Path("tokassay.sqlite"),
    vectors: Annotated[
        list[Path] | None, typer.Option(help="Files of vectors; without it, those of the package.")
    ] = None,
    expect: Annotated[
        str | None, typer.Option(help="The right ids (15339,1917), or `reject`; without it, the oracle's.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Ask every release; halving assumes one change.")] = False,
    pre: Annotated[bool, typer.Option("--pre", help="Ask pre-releases too.")] = False,
    build: Annotated[bool, typer.Option("--build", help="Compile releases that have no wheel here.")] = False,
    timeout: Annotated[
        float | None, typer.Option(min=0.1, help="Seconds for the document; without it, the roster's.")
    ] = None,
    record: Annotated[bool, typer.Option("--record", help="Keep the answers in the vector of --vector.")] = False,
    roster: Roster = None,
    as_json: Json = False,
) -> None:
    """Find the first bad, or first good, release of an engine's package on one document, by halving.

    Each release gets an environment of its own, which is kept. Releases without a wheel for this platform, yanked ones
    and pre-releases are left out and named; so are those that do not install, start, or encode a plain letter. A
    release is right where it gives the vector's answer, --expect's, or the oracle's under the engine's variants; for a
    file that the oracle does not model, where it gives what the first release gave.
    Exit codes: 0 every release asked is right, 1 some is not, 2 wrong use, 4 fewer than two could be asked, 5 releases
    cannot be listed.
    """
    from rich.console import Console
    from tokassay.engines.releases import releases
    from tokassay.harness import cases
    from tokassay.harness import vectors as held
    from tokassay.harness.bisect import bisect as run
    from tokassay.harness.bisect import chosen
    from tokassay.harness.errors import InputError
    from tokassay.harness.input import read_document

    if vector is not None and divergence is not None:
        raise InputError("--vector and --divergence were given together", remedy="give one of them")
    if record and vector is None:
        raise InputError("--record without a vector", where="--record", remedy="name it with --vector")
    found = None
    if vector is not None:
        _alone("--vector", hexadecimal, text, file)
        origin, found = held.find(vector, held.load_all(vectors or ()))
        what = asked("gpt2", None, contract, specials, roster)
        case = cases.of_vector(found)
    else:
        shown = None
        if divergence is not None:
            _alone("--divergence", hexadecimal, text, file)
            shown = cases.of_divergence(divergence, store)
            vocab, specials = shown.vocabulary, shown.specials
        what = asked(vocab, pattern, contract, specials, roster)
        document = shown.document if shown else read_document(hexadecimal, text, file)
        case = cases.Case(what.loaded, what.contract, document)
    target = cases.engine_of(engine, case, what.roster)
    if expect is not None:
        right: tuple[Answer, str] | None = (cases.parse_ids(expect), "--expect")
    else:
        right = cases.held_to(case, target, found, what.roster).right
    console = Console(stderr=True)
    with console.status(f"listing the releases of {target.spec.name}") as status:
        listed = releases(target.spec.package, runtime=target.spec.runtime)
        usable, why = chosen(listed, first, last, pre=pre, build=build)

        def tell(doing: str) -> None:
            status.update(doing)

        result = run(
            target, case.loaded, case.document, right, usable, why, roster=what.roster, everything=everything,
            timeout_s=timeout, tell=tell,
        )
    if record and found is not None:
        rows = [held.Recorded(target.spec.name, one.version, one.answer) for one in result.answered if one.answer]
        held.change(origin.path, lambda now: now.with_vector(held.find(found.id, [now])[1].recorded(*rows)))
    if as_json:
        print_json({"vocabulary": case.loaded.name, "contract": target.contract.digest, "variants": target.variants,
                    "document": case.document.hex(), "vector": case.vector, **result.to_json()})
    else:
        show(result, case, Console(soft_wrap=True, highlight=False))
    raise typer.Exit(result.exit_code)


def _alone(option: str, *others: str | None) -> None:
    from tokassay.harness.errors import InputError

    if any(other is not None for other in others):
        raise InputError(f"{option} brings its document", where=option, remedy="leave --hex, --text and --file out")


def show(result: Bisection, case: Case, console: Console) -> None:
    """The releases with their answers, the change, and what was not asked."""
    from rich.table import Table
    from rich.text import Text as Plain
    from tokassay.harness.pieces import one_line

    def say(line: str, style: str = "") -> None:
        console.print(Plain(line, style=style))

    count = len(result.asked) + len(result.unasked)
    say(f"{result.engine}: {count} releases, {len(result.answered)} asked, {len(result.unasked)} not needed,"
        f" {count - len(result.answered) - len(result.unasked)} left out")
    say(f"document: {one_line(case.document)}")
    say(f"right, by {result.source}: {result.expected.told()}")
    table = Table(box=None, pad_edge=False)
    for column in ("release", "", "answer"):
        table.add_column(column, overflow="fold")
    for one in result.answered:
        word = Plain(one.state, style={"right": "green", "wrong": "red"}[one.state])
        says = f"  (says it is {one.says})" if one.says and one.says != one.version else ""
        table.add_row(one.version, word, (one.answer.told() if one.answer else "") + says)
    console.print(table)
    for change in result.changes:
        say(_told(change, result), style="bold")
    verdicts = sum(change.verdicts_differ for change in result.changes)
    if verdicts > 1:
        say(f"not monotone: right and wrong change {verdicts} times", style="bold")
    elif not verdicts and len(result.answered) > 1:
        state = result.answered[0].state
        say(f"no change: {result.answered[0].version} and {result.answered[-1].version} are both {state}")
    if result.unasked:
        say(f"not asked, and taken to be as the releases on both sides (--all asks them): {' '.join(result.unasked)}")
    reasons: dict[str, list[str]] = {}
    for one in result.asked:
        if one.reason:
            reasons.setdefault(one.reason, []).append(one.version)
    for reason, versions in reasons.items():
        say(f"left out: {' '.join(versions)}: {reason}")


def _told(change: Change, result: Bisection) -> str:
    """`first bad release: 0.5 (0.4 is right)`, with those that might be it instead."""
    before, after = change.before, change.after
    if change.kind == "other":
        return f"{after.version} is wrong in another way than {before.version}"
    line = f"{change.kind} release: {after.version} ({before.version} is {before.state})"
    reasons = {one.version for one in result.asked if one.reason}
    unknown = [version for version in change.between if version in reasons]
    return line + (f"; it may be one that was left out: {' '.join(unknown)}" if unknown else "")
