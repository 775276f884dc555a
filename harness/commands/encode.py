"""`tokassay encode`: the ids that one engine gives for one document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from tokassay.harness.commands.options import (
    Asked,
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
    from tokassay.harness.differ import Side
    from tokassay.harness.hosts import Target

app = typer.Typer()

OURS = "dat-bpe"


@app.command()
def encode(
    engine: Annotated[
        str, typer.Option(help="An engine (tokassay engines list) or oracle; NAME:POLICY@UNICODE for other variants.")
    ] = OURS,
    vocab: Vocab = "gpt2",
    pattern: Pattern = None,
    contract: Variants = None,
    specials: Specials = False,
    hexadecimal: Hex = None,
    text: Text = None,
    file: File = None,
    spans: Annotated[
        bool, typer.Option("--spans", help="Also the pretokens, and each token's byte span and bytes.")
    ] = False,
    roster: Roster = None,
    as_json: Json = False,
) -> None:
    """Print the ids of one document, separated by spaces, on one line.

    An engine encodes under the variants it declares unless others are written after its name.
    Exit codes: 0 there are ids, 1 the engine rejects the document or fails on it, 2 wrong use.
    """
    from tokassay.harness.input import read_document

    document = read_document(hexadecimal, text, file)
    quick = engine == OURS and not (spans or as_json or roster or pattern or contract)
    if quick and (ids := in_process(vocab, document, specials)) is not None:
        typer.echo(" ".join(map(str, ids)))
        return
    from tokassay.harness.hosts import target
    from tokassay.harness.sides import ask_side

    what = asked(vocab, pattern, contract, specials, roster)
    meant = target(engine, what.contract, what.roster, "--engine")
    side = ask_side(meant, what.loaded, document, roster=what.roster, trace=spans or as_json)
    if as_json:
        print_json(to_json(side, meant, what, document))
    if side.outcome != "ids":
        failed(side)
    if spans:
        print_spans(side)
    elif not as_json:
        typer.echo(" ".join(map(str, side.ids)))


def in_process(vocab: str, document: bytes, specials: bool) -> list[int] | None:
    """Ids by our own encoder in this process, for the vocabularies that it has itself; None for any other."""
    from tokassay.engines.dat_bpe import Encoder, LoadError, ProfileError

    try:
        encoder = Encoder.load(vocab)
    except ProfileError:
        raise
    except LoadError:
        return None  # a path, a name that is not embedded, or a mistake: the general way says which
    ids: list[int] = encoder.encode(document, specials=specials).tolist()
    return ids


def failed(side: Side) -> None:
    """Say why there are no ids, and exit: 2 where the engine cannot serve what is asked, else 1."""
    from tokassay.harness.errors import MISMATCH, USAGE

    verb = {"reject": "rejects the document", "unsupported": "cannot do this"}.get(side.outcome, side.outcome)
    reason = f": {side.detail}" if side.detail else ""
    remedy = "; ask another engine: see `tokassay engines list`" if side.outcome == "unsupported" else ""
    typer.echo(f"tokassay: {side.name}: {verb}{reason}{remedy}", err=True)
    raise typer.Exit(USAGE if side.outcome == "unsupported" else MISMATCH)


def print_spans(side: Side) -> None:
    """Pretokens and tokens as bracketed views, then a line a token: id, byte span, view."""
    from tokassay.harness.differ import pretoken_spans
    from tokassay.harness.pieces import bracketed

    shown = [bracketed(token) if token is not None else "[?]" for token in side.tokens]
    joined = b"".join(token or b"" for token in side.tokens)
    pretokens = pretoken_spans(side)
    if pretokens is not None and side.spans is not None:
        typer.echo("pretokens " + "".join(bracketed(joined[start:end]) for start, end in pretokens))
    typer.echo("tokens " + "".join(shown))
    spans: list[Any] = list(side.spans) if side.spans is not None else [None] * len(side.ids)
    places = ["-" if span is None else f"{span[0]}..{span[1]}" for span in spans]
    wide = max((len(str(number)) for number in side.ids), default=0)
    far = max(map(len, places), default=0)
    for number, place, token in zip(side.ids, places, shown, strict=True):
        typer.echo(f"{number:>{wide}}  {place:<{far}}  {token}")


def to_json(side: Side, meant: Target, what: Asked, document: bytes) -> dict[str, Any]:
    """The object of `encode --json` (docs/FORMATS.md)."""
    import hashlib

    from tokassay.engines.frames import IDS, OTHER, REJECT, leaf
    from tokassay.harness.differ import pretoken_spans

    status = {"ids": IDS, "reject": REJECT}.get(side.outcome, OTHER)
    pretokens = pretoken_spans(side)
    return {
        **side.to_json(),
        "vocabulary": what.loaded.contract.vocabulary,
        "contract": meant.contract.digest,
        "core": meant.contract.core_digest,
        "document": {"bytes": len(document), "sha256": hashlib.sha256(document).hexdigest()},
        "pretokens": None if pretokens is None else [list(span) for span in pretokens],
        "leaf": leaf(len(document), status, side.ids).hex(),
    }
