"""Profile files: an encoder's tables as one memory-mapped file, and what they are tables of (docs/FORMATS.md).

Opening reads the head only: one page, whatever the vocabulary's size. The contents are verified when a file is built
and by `verify`; whatever they hold, no index leads outside of them.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokassay.engines.dat_bpe import _core
from tokassay.engines.dat_bpe.added import FLAGS, AddedToken, columns, flag_column
from tokassay.engines.dat_bpe.errors import LoadError
from tokassay.engines.dat_bpe.patterns import splitting
from tokassay.engines.dat_bpe.tuning import CACHE_BITS, settings

if TYPE_CHECKING:
    from tokassay.engines.dat_bpe.encoder import Encoder

MAGIC = b"TKAPROF\n"
AGAIN = "build the profile again: tokassay profile build"
_NOTHING = columns([])


def is_profile(path: str | os.PathLike[str]) -> bool:
    """Whether the file begins as a profile does; False where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def save(encoder: Encoder, path: str | os.PathLike[str]) -> int:
    """Writes the encoder's tables to a file, whole or not at all; returns its size in bytes. OSError."""
    data = encoder._tables.profile(json.dumps(describe(encoder), ensure_ascii=False, sort_keys=True).encode())
    target = Path(path)
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.chmod(name, 0o644)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return len(data)


def describe(encoder: Encoder) -> dict[str, Any]:
    """What a profile says of its encoder: all that is not in the tables."""
    return {
        "name": encoder.name,
        "pattern": encoder.pattern,
        "expressions": list(encoder.expressions),
        "unicode": encoder.unicode,
        "normalizer": encoder.normalizer,
        "prefix_space": encoder._options["prefix_space"],
        "ignore_merges": encoder.ignore_merges,
        "n_vocab": encoder.n_vocab,
        "general": encoder.pretokenizer_path == "general",
        "added": [[token.text, token.id, token.flags] for token in encoder.added],
    }


def read(path: str | os.PathLike[str]) -> tuple[mmap.mmap, dict[str, Any], dict[str, Any]]:
    """(the mapped file, what its head says, what it says of its encoder). LoadError."""
    where = str(path)
    try:
        with open(path, "rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise LoadError(
            getattr(error, "strerror", None) or str(error), where=where, remedy="give the path of a profile"
        ) from error
    try:
        head, about = _core.read_profile(data)
        return data, head, json.loads(about)
    except (_core.DamagedError, ValueError) as error:
        raise LoadError("not a profile, or a damaged one", where=where, remedy=AGAIN) from error


def arguments(
    path: str | os.PathLike[str], cache_bits: int = CACHE_BITS, level: str | None = None, without: Collection[str] = ()
) -> tuple[tuple[Any, ...], dict[str, Any], dict[str, Any]]:
    """(arguments, options, about) of the encoder that a profile holds. LoadError."""
    where = str(path)
    data, _, about = read(path)
    try:
        tokens = [AddedToken(text, number, **_flags(flags)) for text, number, flags in about["added"]]
        found = splitting(about["expressions"] or about["pattern"], where, general=about["general"])
        unicode = _core.UNICODE_VERSIONS.index(about["unicode"])
        options = {
            **found.parameters(), "unicode": unicode, "nfc": about["normalizer"] == "nfc",
            "prefix_space": about["prefix_space"], "ignore_merges": about["ignore_merges"],
            "settings": settings(cache_bits, level, without, where), "block": data,
        }
        texts = columns((token.text.encode(), token.id) for token in tokens)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, LoadError):
            raise
        raise LoadError("it does not say what it is a profile of", where=where, remedy=AGAIN) from error
    about |= {"specials": {token.text: token.id for token in tokens}, "added": tokens, "pattern": found.name,
              "expressions": found.expressions, "path": os.path.abspath(path)}
    return (*_NOTHING, *texts, flag_column(tokens)), options, about


def _flags(bits: int) -> dict[str, bool]:
    return {name: bool(bits & bit) for name, bit in FLAGS.items()}


def verify(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Compares a profile with its checksum, and its tables with those that its own tokens and merges give.

    Returns {"size", "tokens", "sha256"}. LoadError names what differs.
    """
    where = str(path)
    data, head, _ = read(path)
    found = hashlib.sha256(memoryview(data)[head["start"] :]).digest()
    if found != head["contents"]:
        raise LoadError(
            f"its contents have SHA-256 {found.hex()[:16]}…, not {head['contents'].hex()[:16]}…", where=where,
            remedy=AGAIN,
        )
    given, options, _ = arguments(path)
    tables = _core.Tables(*given, **options)
    columns_, merges = tables.tokens()
    again = _core.Tables(*columns_, *given[3:], **{**options, "block": None}, merges=merges)
    if again.profile(b"") != tables.profile(b""):
        raise LoadError("its tables are not those of its tokens", where=where, remedy=AGAIN)
    return {"size": head["size"], "tokens": head["tokens"], "sha256": found.hex()}
