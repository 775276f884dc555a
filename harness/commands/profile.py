"""`tokassay profile`: a vocabulary's tables as one file that an encoder opens by mapping it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from tokassay.harness.commands.options import Json, Pattern, print_json

if TYPE_CHECKING:
    from rich.console import Console
    from tokassay.engines.dat_bpe import Encoder
    from tokassay.harness.load import Loaded

app = typer.Typer(help="Build, show and verify profiles: files that dat-bpe opens in no time.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(metavar="FILE", help="A profile.")]
SUFFIX = ".profile"
COMMON = ("tokenizer.json", "tekken.json", "vocab.bpe", "encoder.json", "merges.txt", "vocab.json")


@app.command()
def build(
    vocabulary: Annotated[
        str, typer.Argument(metavar="NAME|FILE", help="A known encoding, a rank file, a tokenizer.json, a tekken.json.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to; else the user's cache.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Write over a file that is there.")] = False,
    pattern: Pattern = None,
    specials: Annotated[
        Path | None, typer.Option(help="Special tokens of a rank file: a JSON object of text -> id.")
    ] = None,
    unicode: Annotated[str, typer.Option(help="Version of the category tables.")] = "16.0",
    as_json: Json = False,
) -> None:
    """Write a vocabulary's tables as a profile, whole or not at all, and verify what was written.

    Exit codes: 0 written, 1 what was written is not what was meant, 2 wrong use.
    """
    from tokassay.harness import known
    from tokassay.harness.load import load_vocabulary, read_specials
    from tokassay.harness.output import check_absent

    if output is not None:  # what lies in the cache is ours to make anew
        check_absent(output, "-o", replace=replace)
    named = read_specials(specials) if specials else None
    with _console().status(f"loading {vocabulary}") as status:
        loaded = load_vocabulary(vocabulary, pattern=pattern, specials=named)
        status.update("building")
        encoder = encoder_of(loaded, unicode)
        digest = loaded.contract.with_variants(unicode=unicode).digest
        whole = known.find(vocabulary) is not None and pattern is None and named is None
        path = output or default_path(loaded.name, unicode, "" if whole else digest)
        status.update(f"writing {path}")
        write(encoder, path)
        status.update(f"verifying {path}")
        verified = _verified(path, as_json)
    told = {"path": str(path), **verified, "contract": digest}
    _print(told, as_json)


def encoder_of(loaded: Loaded, unicode: str) -> Encoder:
    """dat-bpe with the tokens, merges and options of a contract. InputError, LoadError."""
    from tokassay.engines.dat_bpe import AddedToken, Encoder
    from tokassay.harness.errors import InputError

    contract = loaded.contract
    common: dict[str, Any] = {
        "pattern": contract.pretokenizer, "specials": dict(contract.special_tokens),
        "added": [
            AddedToken(text, number, **dict.fromkeys(flags, True)) for text, number, flags in contract.added_tokens
        ],
        "normalizer": contract.normalizer, "prefix_space": contract.add_prefix_space, "unicode": unicode,
        "ignore_merges": contract.ignore_merges, "name": loaded.name, "where": str(loaded.source_path),
    }
    tokens = dict(loaded.vocabulary.tokens)
    if contract.algorithm == "bpe-ranks":
        return Encoder.from_ranks(tokens, **common)
    if contract.algorithm == "bpe-pairs":
        return Encoder.from_pairs(tokens, loaded.vocabulary.merges or (), **common)
    raise InputError(
        f"no profile can be made of {contract.algorithm}{''.join(f'; {each}' for each in loaded.unmodelled)}",
        where=str(loaded.source_path), remedy="give a byte-level BPE vocabulary",
    )


def default_path(name: str, unicode: str, digest: str) -> Path:
    """NAME.profile in the user's cache; the Unicode version stands in the name where it is not the usual one.

    So does the contract's digest where it is not that of a known encoding: files may have one name, and an encoding may
    be split otherwise; the last would take the others' place. InputError for names that all files of a kind have.
    """
    from tokassay.engines.dat_greedy.profiles import user_cache
    from tokassay.harness.contract import DEFAULT_UNICODE
    from tokassay.harness.errors import InputError

    if name in COMMON:
        raise InputError(
            f"a profile called after {name!r} could be any vocabulary's", where="--output", remedy="give -o FILE"
        )
    stem = name.removesuffix(".json").removesuffix(".tiktoken")
    parts = [stem, "" if unicode == DEFAULT_UNICODE else unicode, digest[:12]]
    return user_cache() / f"{'-'.join(filter(None, parts))}{SUFFIX}"


def write(encoder: Encoder, path: Path) -> None:
    """The encoder's profile at `path`, whose folder is made. InputError."""
    from tokassay.harness.errors import InputError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        encoder.save(path)
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror or error}", where=str(path),
            remedy="give -o FILE in a folder that can be written",
        ) from error


@app.command()
def show(file: File, as_json: Json = False) -> None:
    """What a profile says of itself: its head and description, not verified.

    Exit codes: 0 shown, 2 wrong use, no profile or a damaged head.
    """
    from tokassay.engines.dat_bpe import profiles

    _, head, about = profiles.read(file)
    sections = dict(zip(profiles.SECTIONS, head.pop("sections"), strict=True))
    told = {
        "path": str(file), **{key: head[key] for key in ("version", "size", "tokens", "longest", "pairs", "slots")},
        "unreachable": head["unreachable"], "sha256": head["contents"].hex(),
        **{key: about[key] for key in profiles.FIELDS if key != "added"},
        "added": about["added"],
        "sections": {name: {"at": at, "size": size} for name, (at, size) in sections.items()},
    }
    _print(told, as_json)


@app.command()
def verify(file: File, as_json: Json = False) -> None:
    """Read all of a profile: its checksum, and its tables built again from its own tokens and merges.

    Exit codes: 0 as it should be, 1 damaged, 2 there is no such file, or it is no profile of this version.
    """
    with _console().status(f"verifying {file}"):
        verified = _verified(file, as_json)
    _print({"path": str(file), **verified}, as_json)


def _verified(path: Path, as_json: bool) -> dict[str, Any]:
    """What `profiles.verify` says; where the file is not as it should be, says so and exits with 1."""
    from tokassay.engines.dat_bpe import ForeignError, ProfileError
    from tokassay.engines.dat_bpe.profiles import verify as verify_one
    from tokassay.harness.errors import AGREED, MISMATCH

    try:
        return {**verify_one(path), "exit_code": AGREED}
    except ForeignError:
        raise
    except ProfileError as error:
        if as_json:
            print_json({"path": str(path), "problem": str(error), "remedy": error.remedy, "exit_code": MISMATCH})
        typer.echo(f"tokassay: {error}", err=True)
        raise typer.Exit(MISMATCH) from None


def _print(told: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(told)
        return
    for key, value in told.items():
        if key == "exit_code":
            continue
        if key == "sections":
            for name, place in value.items():
                typer.echo(f"section {name}: {place['size']} bytes at {place['at']}")
        elif key == "added":
            typer.echo(f"added: {len(value)}")
            for text, number, flags in value[:12]:
                typer.echo(f"  {number} {text!r}{f' flags {flags}' if flags else ''}")
        elif isinstance(value, list):
            for each in value:
                typer.echo(f"{key}: {each!r}")
        else:
            typer.echo(f"{key}: {value}")


def _console() -> Console:
    from rich.console import Console

    return Console(stderr=True)
