"""The `tokassay` command: finds the verb's module and runs it.

Only the asked verb's module is imported, so that `tokassay encode` does not pay for pandas or for any rival.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Sequence
from importlib import import_module, metadata
from types import FrameType
from typing import Any, NoReturn

# verb -> module under harness/commands; a module holds `app`, a typer.Typer (one command or a group).
VERBS = {
    "audit": "audit",
    "report": "report",
    "history": "history",
    "gate": "gate",
    "nightly": "nightly",
    "diff": "diff",
    "trace": "trace",
    "reduce": "reduce",
    "bisect": "bisect",
    "vectors": "vectors",
    "encode": "encode",
    "decode": "decode",
    "vocab": "vocab",
    "corpora": "corpora",
    "engines": "engines",
    "freeze": "freeze",
    "check": "check",
    "bench": "bench",
    "claim": "claim",
    "profile": "profile",
    "tuples": "tuples",
}
USAGE, INFRASTRUCTURE = 2, 5
BUG = "this is a fault of tokassay: please report it with the lines above"
TERMINATED = 128 + signal.SIGTERM


def main(argv: Sequence[str] | None = None) -> None:
    """Run one verb; `argv` defaults to the process's arguments. Exits with the code of docs/FORMATS.md."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        import typer
    except ImportError:
        print("tokassay: the command line is not installed; run: pip install 'tokassay[audit]'", file=sys.stderr)
        raise SystemExit(USAGE) from None
    asked = [words[0]] if words and words[0] in VERBS else list(VERBS)
    app = typer.Typer(
        name="tokassay",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        help="Proves or voids a tokenizer's claim: same ids first, why not second, how fast last.",
    )

    @app.callback(invoke_without_command=True)
    def root(version: bool = typer.Option(False, "--version", help="Print the version and leave.")) -> None:
        """Proves or voids a tokenizer's claim: same ids first, why not second, how fast last."""
        if version:
            print(metadata.version("tokassay"))
            raise typer.Exit()

    for verb in asked:
        sub = import_module(f"tokassay.harness.commands.{VERBS[verb]}").app
        if len(sub.registered_commands) == 1 and not sub.registered_groups:
            command = sub.registered_commands[0]
            command.name = verb
            app.registered_commands.append(command)
        else:
            app.add_typer(sub, name=verb)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminated)
    try:
        # An exit code where a command has left with one; what the option parser refuses is raised.
        raise SystemExit(app(args=words, prog_name="tokassay", standalone_mode=False) or 0)
    except Exception as error:
        if hasattr(error, "format_message"):
            refused(error, words)
        # Input errors of any package carry `where` and `remedy`; everything else is a bug and keeps its traceback.
        code, where, remedy = getattr(error, "exit_code", USAGE), getattr(error, "where", ""), BUG
        said = described = str(error)
        if hasattr(error, "remedy"):
            remedy = error.remedy
        elif type(error).__module__ == "sqlite3" or type(error).__name__ == "DatabaseError":  # or pandas' own
            # SQLite reads a file as it goes: what is foreign or damaged in a store may show at any query.
            code, where, remedy = INFRASTRUCTURE, store_of(words), "name another file with --store, or begin a new one"
            said = described = f"the store cannot be used ({error})"
        else:
            # Not 1, Python's own: that would say that ids differ.
            import traceback

            traceback.print_exc()
            code, said = INFRASTRUCTURE, f"{type(error).__name__}: {error}"
            described = said
        if not said.endswith(remedy):  # those of the engines say all three themselves
            said = ": ".join(p for p in (where, said) if p) + f"; {remedy}"
        from tokassay.reports.visible import visible

        # Names come from files of others: none of them may move a terminal's cursor or reorder its line.
        print("tokassay:", "\n".join(map(visible, said.split("\n"))), file=sys.stderr)
        # Whoever reads the object learns from the same place why there is none; some errors come when it is printed.
        if "--json" in words and not getattr(error, "told", False):
            print(error_object(described, where, remedy, code))
        raise SystemExit(code) from None


def refused(error: Any, words: Sequence[str]) -> NoReturn:
    """What the option parser says against a command line, and the object of `--json`."""
    from typer.rich_utils import rich_format_error

    rich_format_error(error)
    if "--json" in words:
        where = error.ctx.command_path if getattr(error, "ctx", None) else "tokassay"
        print(error_object(error.format_message(), where, f"see {where} --help", USAGE))
    raise SystemExit(USAGE)


def store_of(words: Sequence[str]) -> str:
    """The store that a command line names, or the usual one."""
    for word, value in zip(words, [*words[1:], ""], strict=True):
        if word == "--store" or word.startswith("--store="):
            return word.partition("=")[2] or value
    return "tokassay.sqlite"


def error_object(message: str, where: str, remedy: str, code: int) -> str:
    """What `--json` prints in place of a result (docs/FORMATS.md), on one line."""
    return json.dumps(
        {"schema": "tokassay.error/1", "error": message, "where": where, "remedy": remedy, "exit_code": code}
    )


def _terminated(_: int, __: FrameType | None) -> None:
    """SIGTERM ends like Ctrl-C, so that processes and temporary folders do not stay; a second one ends at once."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    raise SystemExit(TERMINATED)
