"""Options that encode, decode, diff and trace share, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tokassay.engines.roster import EngineSpec
    from tokassay.harness.contract import Contract
    from tokassay.harness.load import Loaded

Vocab = Annotated[
    str, typer.Option(help="Vocabulary: a name (tokassay vocab list) or a file such as ./tokenizer.json.")
]
Pattern = Annotated[
    str | None,
    typer.Option(help="The pretokenizer of a rank file given by path: a name such as cl100k, or a regular expression."),
]
Variants = Annotated[
    str | None,
    typer.Option("--contract", help="Variants asked for, as POLICY, @UNICODE or POLICY@UNICODE: byte-alphabet@16.0."),
]
Specials = Annotated[bool, typer.Option("--specials", help="Match special tokens; without it their text is text.")]
Hex = Annotated[
    str | None,
    typer.Option(
        "--hex",
        help="The document in hex, two digits a byte; spaces, commas, colons, 0x and \\x may stand between bytes.",
    ),
]
Text = Annotated[str | None, typer.Option("--text", help="The document as text: the bytes that the shell passes.")]
File = Annotated[
    str | None,
    typer.Option("--file", help="The document is a whole file; - is standard input (as is no option at all)."),
]
Roster = Annotated[list[Path] | None, typer.Option(help="A roster file with engines from outside the tree.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


@dataclass(frozen=True)
class Asked:
    """A vocabulary, the contract asked for, and the engines there are."""

    loaded: Loaded
    contract: Contract
    roster: Mapping[str, EngineSpec]


def asked(vocab: str, pattern: str | None, variants: str | None, specials: bool, roster: list[Path] | None) -> Asked:
    """Load what the options name. Raises InputError (or the roster's own error) with place and remedy."""
    from tokassay.engines.roster import load_roster
    from tokassay.harness.load import load_vocabulary
    from tokassay.harness.variants import parse_variants

    engines = load_roster(*(roster or ()))
    wanted = parse_variants(variants)
    loaded = load_vocabulary(vocab, pattern=pattern)
    contract = loaded.contract.with_variants(**wanted, specials="on" if specials else "off")
    return Asked(loaded, contract, engines)


def print_json(value: object) -> None:
    """One JSON object and a newline on standard output."""
    import json

    typer.echo(json.dumps(value))


def again(
    words: Sequence[str],
    document: bytes,
    vocab: str,
    pattern: str | None,
    variants: str | None,
    specials: bool,
    roster: list[Path] | None,
) -> str:
    """The command line that does the same on a document of at most 256 bytes, which is in it; "" for a longer one."""
    import shlex

    if len(document) > 256:
        return ""
    flags = ["--vocab", vocab]
    for flag, value in (("--pattern", pattern), ("--contract", variants)):
        flags += [flag, value] if value is not None else []
    flags += ["--specials"] if specials else []
    flags += [word for path in roster or () for word in ("--roster", str(path))]
    return shlex.join(["tokassay", *words, *flags, "--hex", document.hex()])
