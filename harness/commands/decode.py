"""`tokassay decode`: the bytes that ids stand for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from tokassay.harness.commands.options import Pattern, Vocab

if TYPE_CHECKING:
    from tokassay.harness.load import Loaded

app = typer.Typer()

GIVE_IDS = "give ids, for example: tokassay decode 31373 995"


# An id such as -1 is looked at as an id, so that it is named as a bad one and not taken for an option.
@app.command(context_settings={"ignore_unknown_options": True})
def decode(
    ids: Annotated[
        list[str] | None, typer.Argument(help="Ids, separated by spaces; from standard input when left out.")
    ] = None,
    vocab: Vocab = "gpt2",
    pattern: Pattern = None,
    in_hex: Annotated[bool, typer.Option("--hex", help="Print hex digits and a newline instead of the bytes.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Write the bytes of the ids to standard output, exactly: no newline is added, nothing is replaced.

    Exit codes: 0 written, 2 wrong use (an id that the vocabulary does not have is named by its position).
    """
    from tokassay.harness.commands.options import print_json
    from tokassay.harness.ids import parse_ids, token_bytes
    from tokassay.harness.input import read_standard_input
    from tokassay.harness.load import load_vocabulary

    words = ids if ids else [read_standard_input(True, GIVE_IDS).decode("utf-8", "replace")]
    numbers = parse_ids(words)
    loaded = load_vocabulary(vocab, pattern=pattern)
    tokens = token_bytes(loaded, numbers)
    data = b"".join(tokens) if loaded.contract.byte_level else _decoded(loaded, numbers)
    if as_json:
        print_json(
            {
                "vocabulary": loaded.contract.vocabulary,
                "ids": numbers,
                "bytes": data.hex(),
                "tokens": [token.hex() for token in tokens],
            }
        )
    elif in_hex:
        typer.echo(data.hex())
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def _decoded(loaded: Loaded, numbers: list[int]) -> bytes:
    """The text of tokens that are no bytes of it, by the contract's own rule."""
    from tokassay.harness.oracle_here import oracle_here

    return oracle_here(loaded.contract, loaded).decode(numbers)
