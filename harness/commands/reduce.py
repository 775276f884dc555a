"""`tokassay reduce`: the smallest input on which two engines part, or on which a command ends as it did."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    from tokassay.harness.minimal import Minimal
    from tokassay.harness.reduce import Reduced

app = typer.Typer()


@app.command()
def reduce(
    left: Annotated[
        str | None,
        typer.Argument(
            help="An engine, or oracle; NAME:POLICY, NAME@UNICODE or NAME:POLICY@UNICODE. With --run: a file."
        ),
    ] = None,
    right: Annotated[str | None, typer.Argument(help="The other engine, written the same way.")] = None,
    vocab: Vocab = "gpt2",
    pattern: Pattern = None,
    contract: Variants = None,
    specials: Specials = False,
    hexadecimal: Hex = None,
    text: Text = None,
    file: File = None,
    divergence: Annotated[
        str | None,
        typer.Option(help="A divergence of an audit: its number in the last run, or RUN.NUMBER. It names the rest."),
    ] = None,
    store: Annotated[Path, typer.Option(help="The store that --divergence is in.")] = Path("tokassay.sqlite"),
    run: Annotated[
        str | None,
        typer.Option(help="A command instead of two engines: it gets the path of a document as its last argument."),
    ] = None,
    status: Annotated[
        str, typer.Option(help="The exit status of --run that is interesting: a number, -N for signal N, or timeout.")
    ] = "0",
    operation: Annotated[str, typer.Option(help="encode or encode_batch.")] = "encode",
    anything: Annotated[
        bool, typer.Option("--any", help="Any difference will do; without it, only the one that the document showed.")
    ] = False,
    seconds: Annotated[float, typer.Option(min=0.0, help="Time allowed; then the smallest so far is shown.")] = 60.0,
    timeout: Annotated[
        float | None,
        typer.Option(min=0.05, help="Seconds for one answer while reducing; default 2, or 60 for --run."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the smallest document to this file.")] = None,
    roster: Roster = None,
    as_json: Json = False,
) -> None:
    """Make a document on which two engines differ as small as can be, and say why they differ.

    The document is replayed first, in fresh hosts and used ones; answers that are not one are flaky, and nothing is
    reduced. Passes then leave out, merge and simplify characters and bytes as long as the same difference is there.
    With --run it is the exit status of a command that must stay.

    Exit codes: 0 they agree (with --run: reduced), 1 they differ or are flaky, 2 wrong use, 4 nothing was compared
    (with --run: the command does not end so on the document), 130 interrupted: the smallest so far is shown.
    """
    from tokassay.harness.errors import INTERRUPTED, USAGE, InputError
    from tokassay.harness.input import ONE_OF, read_document

    if operation not in ("encode", "encode_batch"):
        raise InputError(f"{operation} cannot be reduced", where="--operation", remedy="use encode or encode_batch")
    if run is not None:
        if right is not None or divergence is not None:
            raise InputError("--run stands alone", remedy="give a command and one document: --run './check.sh' FILE")
        if left is not None and (hexadecimal, text, file) != (None, None, None):
            raise InputError(f"{left} was given beside another document", remedy=ONE_OF)
        file = left if left is not None else file
        document = read_document(hexadecimal, text, file)
        _writable(out, file)
        _with_command(run, status, document, file, seconds, timeout, out, as_json)
    from tokassay.harness.hosts import target
    from tokassay.harness.minimal import minimize
    from tokassay.harness.stored import read_divergence

    if divergence is not None:
        if left is not None or right is not None:
            raise InputError("--divergence names both engines", remedy="leave the engines out")
        found = read_divergence(store, divergence)
        left, right, vocab, specials, document = (
            found.engine, found.against, found.vocabulary, found.specials, found.document
        )  # fmt: skip
        operation = found.operation
    elif left is None or right is None:
        raise InputError("two engines are compared", remedy="give their names: tokassay reduce ENGINE oracle --hex ff")
    else:
        document = read_document(hexadecimal, text, file)
    _writable(out, file)
    what = asked(vocab, pattern, contract, specials, roster)
    targets = target(left, what.contract, what.roster), target(right, what.contract, what.roster)
    again = ["--vocab", vocab]
    for flag, value in (("--pattern", pattern), ("--contract", contract)):
        again += [flag, value] if value is not None else []
    again += ["--specials"] if specials else []
    again += [word for path in roster or () for word in ("--roster", str(path))]
    with _unless_interrupted(), _Progress() as bar:
        minimal = minimize(
            targets, what.loaded, document, roster=what.roster, seconds=seconds, anything=anything,
            operation=operation, timeout_s=timeout, options=again, progress=bar,
        )  # fmt: skip
    code = INTERRUPTED if minimal.reduced.interrupted else minimal.exit_code
    with _written(out, minimal.reduced.document) as failed:
        if as_json:
            print_json({**minimal.to_json(), "exit_code": USAGE if failed else code})
        else:
            show(minimal)
    raise typer.Exit(code)


def _with_command(
    run: str, status: str, document: bytes, file: str | None, seconds: float, timeout: float | None,
    out: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Reduce by a command's exit status, print, and leave."""
    import shlex

    from tokassay.harness.errors import AGREED, INTERRUPTED, MISMATCH, NOTHING, USAGE, InputError
    from tokassay.harness.question import Command
    from tokassay.harness.reduce import reduce as reduced

    try:
        words = shlex.split(run)
    except ValueError as error:
        raise InputError(str(error).lower(), where="--run", remedy="close the quotation") from None
    if not words:
        raise InputError("no command", where="--run", remedy="give one: --run './check.sh'")
    name = Path(file).name if file not in (None, "-") else ""
    with _unless_interrupted(), _Progress() as bar, Command(words, status, timeout or 60.0, name) as question:
        done = reduced(document, question, seconds=seconds, progress=bar)
    code = {"reduced": AGREED, "flaky": MISMATCH, "agree": NOTHING}[done.outcome]
    code = INTERRUPTED if done.interrupted else code
    with _written(out, done.document) as failed:
        if as_json:
            value = {**done.to_json(), "command": run, "ended": question.ended}
            print_json({"schema": "tokassay.reduce/1", **value, "exit_code": USAGE if failed else code})
        elif done.outcome == "agree":
            asked = f"the command does not end with {status} on this document"
            typer.echo(f"{asked}: {question.ended}; --status names what is interesting")
        else:
            typer.echo(_summary(done))
            if done.outcome == "reduced":
                _document(done)
    raise typer.Exit(code)


def _writable(out: Path | None, file: str | None) -> None:
    """Raise InputError where the result cannot be written, or would take the document's own place."""
    from tokassay.harness.errors import InputError
    from tokassay.harness.output import check_output

    if out is None:
        return
    check_output(out, "-o")
    if file not in (None, "-") and out.exists() and out.samefile(file):
        raise InputError("that is the document itself", where=f"-o {out}", remedy="name another file")


@contextmanager
def _written(out: Path | None, document: bytes) -> Iterator[bool]:
    """Write the result, and say whether that failed: it is then shown all the same, before the error is raised."""
    from tokassay.harness.output import not_written

    try:
        if out is not None:
            out.write_bytes(document)
    except OSError as error:
        yield True
        failed = not_written(out or Path(), "-o", error)
        failed.told = True
        raise failed from None
    else:
        yield False


@contextmanager
def _unless_interrupted() -> Iterator[None]:
    """Ctrl-C where there is no smaller document yet, or a second time."""
    from tokassay.harness.errors import INTERRUPTED

    try:
        yield
    except KeyboardInterrupt:
        typer.echo("tokassay: interrupted", err=True)
        raise typer.Exit(INTERRUPTED) from None


def show(minimal: Minimal) -> None:
    """The smallest document, both answers, the first differing decision, and the command that shows it."""
    done = minimal.reduced
    a, b = minimal.seen.left, minimal.seen.right
    if done.outcome == "agree":
        for side in (a, b):
            typer.echo(f"{side.name}: {side.outcome}" + (f" ({side.detail})" if side.detail else ""))
        typer.echo("nothing was compared: a side cannot take part" if minimal.exit_code else "same")
        return
    typer.echo(_summary(done))
    if done.outcome == "not asked":
        return
    if done.outcome == "flaky":
        for answer, count in done.answers.items():
            typer.echo(f"  {count} time(s): {'no difference' if answer == 'None' else answer}")
        return
    _document(done)
    for side in (a, b):
        told = f"{side.name} {side.version} under {side.variants}" if side.version else side.name
        what = " ".join(map(str, side.ids)) if side.outcome == "ids" else side.outcome
        typer.echo(f"{told}: {what}" + (f" ({side.detail})" if side.detail else ""))
    if (found := minimal.found) is not None:
        known = f"{found.known} through {' and '.join(found.through)}" if found.through else found.known
        typer.echo(f"first differing decision ({known}): {found.stage}: {found.sentence}")
    for change in minimal.changes:
        typer.echo(f"by contract: {change.sentence}")
    typer.echo(f"show it: {minimal.command}")


def _summary(done: Reduced) -> str:
    if done.outcome == "flaky":
        return f"flaky: asked {done.answers.total()} times, {len(done.original):,} bytes have no one answer"
    if done.outcome == "not asked":
        size = f"{len(done.original):,} bytes"
        return f"not reduced: the time was up before {size} were asked as often as they must be, {done.seconds:.1f} s"
    end = "; it was interrupted" if done.interrupted else "" if done.complete else "; the time was up"
    end += "" if done.complete else ", so it may not be the smallest"
    sizes = f"{len(done.original):,} bytes to {len(done.document):,}"
    return f"reduced: {sizes} in {done.tries:,} tries, {done.seconds:.1f} s{end}"


def _document(done: Reduced) -> None:
    from tokassay.harness.pieces import bracketed

    shown = done.document[:256]
    more = f" … {len(done.document):,} bytes" if len(shown) < len(done.document) else ""
    typer.echo(f"minimal  {shown.hex(' ') or '(empty)'}{more}")
    typer.echo(f"as text  {bracketed(shown)}{more}")


class _Progress:
    """One line on a terminal while it goes on; nothing elsewhere."""

    def __enter__(self) -> _Progress:
        from rich.console import Console

        self._console = Console(stderr=True)
        self._status: Any = self._console.status("replaying") if self._console.is_terminal else None
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, done: Reduced) -> None:
        if self._status is not None:
            self._status.update(f"{len(done.document):,} bytes · {done.tries:,} tries · {done.seconds:.1f} s")
