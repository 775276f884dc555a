"""Profile files: an encoder's tables as one memory-mapped file, and what they are tables of (docs/FORMATS.md).

Opening reads the head and the added tokens only, whatever the vocabulary's size; the description when it is asked for.
The contents are verified when a file is built and by `verify`; whatever they hold, no index leads outside of them, and
no walk goes on for ever.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import stat
import struct
import tempfile
from collections.abc import Collection
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokassay.engines.dat_bpe import _core
from tokassay.engines.dat_bpe.added import FLAGS, AddedToken, columns, flag_column, gather
from tokassay.engines.dat_bpe.errors import ForeignError, LoadError, ProfileError
from tokassay.engines.dat_bpe.patterns import Splitting, splitting
from tokassay.engines.dat_bpe.ranks import GREATEST_ID
from tokassay.engines.dat_bpe.tuning import CACHE_BITS, settings

if TYPE_CHECKING:
    from tokassay.engines.dat_bpe.encoder import Encoder

MAGIC = b"TKAPROF\n"
VERSION, BYTE_ORDER = 4, 0x01020304
AGAIN = "build the profile again: tokassay profile build"
# The sections of csrc/profile.h, in their order.
SECTIONS = (
    "about", "added_text", "added_offsets", "added_ids", "added_flags", "text", "offsets", "ids", "by_id", "nodes",
    "values", "pairs", "filter", "two", "bytes", "flags", "shorter", "splits", "words", "front", "cuts", "never",
)
# What is said of an encoder, and as what.
FIELDS: dict[str, type] = {
    "name": str, "package": str, "expressions": list, "unicode": str, "normalizer": str, "prefix_space": bool,
    "ignore_merges": bool, "general": bool, "added": list,
}
File = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_FRONT = struct.Struct("<8sIIQ")
# Pages of 2 MB where the system has them: a first text of 100 bytes then meets 5 page faults and not 14, and a file
# that is out of the page cache is read in half the time (o200k: 11 ms, not 22).
_HUGE: int | None = getattr(mmap, "MADV_HUGEPAGE", None)


def is_profile(path: File) -> bool:
    """Whether the file begins as a profile does; False where it cannot be read, and for what is no regular file."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def save(encoder: Encoder, path: File) -> int:
    """Writes the encoder's tables to a file, whole or not at all; returns its size in bytes. OSError names the file.

    Through a symbolic link, to what it names. LoadError where something stands that is no regular file (it would be
    replaced by one, a device too), and for an encoder whose profile would not be opened again.
    """
    where = os.fsdecode(path)
    target = Path(os.path.realpath(where))
    if target.exists() and not target.is_file():
        raise LoadError("no regular file", where=where, remedy="give the path of a file, or of none yet")
    about = json.dumps(describe(encoder), sort_keys=True)
    problem = _problem(json.loads(about))
    if problem:
        raise LoadError(f"the encoder's description {problem}", where=where, remedy="make the encoder with another")
    data = encoder._tables.profile(about.encode())
    try:
        _write_whole(target, data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, where) from error
    return len(data)


def _write_whole(target: Path, data: bytes) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.chmod(name, 0o644)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def describe(encoder: Encoder) -> dict[str, Any]:
    """What a profile says of its encoder: all that is not in the tables (FIELDS)."""
    from tokassay.engines.dat_bpe import __version__

    return {
        "name": encoder.name,
        "package": __version__,
        "expressions": list(encoder.expressions),
        "unicode": encoder.unicode,
        "normalizer": encoder.normalizer,
        "prefix_space": encoder._tables.prefix_space,
        "ignore_merges": encoder.ignore_merges,
        "general": encoder.pretokenizer_path == "general",
        "added": [[token.text, token.id, token.flags] for token in encoder.added],
    }


def map_file(path: File) -> mmap.mmap:
    """The file, mapped to be read. LoadError for what cannot be read or mapped, a directory and a pipe among them."""
    where = os.fsdecode(path)
    try:
        # Not to wait for whoever may write into a pipe of that name.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
        try:
            found = os.fstat(descriptor)
            problem = "" if stat.S_ISREG(found.st_mode) else "no regular file"
            if not problem:
                data = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
                if _HUGE is not None:
                    with suppress(OSError):  # a kernel without large pages
                        data.madvise(_HUGE)
                return data
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:  # ValueError: an empty file, a path with a NUL
        problem = str(getattr(error, "strerror", None) or error)
    raise LoadError(problem, where=where, remedy="give the path of a profile")


def read(path: File) -> tuple[mmap.mmap, dict[str, Any], dict[str, Any]]:
    """(the mapped file, what its head says, what it says of its encoder). LoadError."""
    data = map_file(path)
    about = _about(data, os.fsdecode(path))
    return data, _core.read_profile(data)[0], about


def _about(data: mmap.mmap, where: str) -> dict[str, Any]:
    try:
        # As text: of bytes, json first looks which encoding they have.
        about = json.loads(_core.about_profile(data).decode())
    except _core.DamagedError as error:
        raise _damage(data, where) from error
    except (ValueError, RecursionError) as error:
        raise ProfileError("its description is no JSON", where=where, remedy=AGAIN) from error
    problem = _problem(about)
    if problem:
        raise ProfileError(f"its description {problem}", where=where, remedy=AGAIN)
    found: dict[str, Any] = about
    return found


def _damage(data: mmap.mmap, where: str) -> ProfileError:
    """Why a profile is refused."""
    foreign, problem = "", "its head is damaged, or it is one of another build"
    if data[: len(MAGIC)] != MAGIC:
        foreign = "not a profile"
    elif len(data) < _FRONT.size:
        problem = "its head is cut off"
    else:
        _, version, order, size = _FRONT.unpack(data[: _FRONT.size])
        if order == int.from_bytes(BYTE_ORDER.to_bytes(4, "little"), "big"):
            foreign = "made on a machine of the other byte order"
        elif version != VERSION:
            foreign = f"a profile of version {version}, where {VERSION} is read"
        elif size != len(data):
            problem = f"it has {len(data)} bytes, and should have {size}"
    return (ForeignError if foreign else ProfileError)(foreign or problem, where=where, remedy=AGAIN)


def _problem(about: object) -> str:
    """What is wrong with a description; "" where nothing is."""
    if not isinstance(about, dict) or set(about) != set(FIELDS):
        return f"has not the fields {', '.join(sorted(FIELDS))}"
    for name, kind in FIELDS.items():
        if type(about[name]) is not kind:
            return f"has a {name!r} that is no {kind.__name__}"
    if not all(type(each) is str for each in about["expressions"]):
        return "has an expression that is no str"
    if about["unicode"] not in _core.UNICODE_VERSIONS:
        return f"says Unicode {about['unicode']!r}, of which there are no tables"
    if about["normalizer"] not in ("none", "nfc"):
        return f"says {about['normalizer']!r}, which is no normalizer"
    for row in about["added"]:
        right = type(row) is list and len(row) == 3 and type(row[0]) is str and type(row[1]) is type(row[2]) is int
        if not right or not row[0] or not 0 <= row[1] <= GREATEST_ID or not 0 <= row[2] < 1 << len(FLAGS):
            return f"has {row!r:.80}, which is no added token"
        if not row[0].isascii() and any("\ud800" <= letter <= "\udfff" for letter in row[0]):
            return f"has {row!r:.80}, which is no text"
    return ""


class Opened:
    """What an encoder that was opened is made of: the mapped file, and what the caller asked for. LoadError.

    The description is read when it is first asked for: encoding has no need of it, and it took half of what opening and
    a first text of 100 bytes took. Programs have: with them it is read here.
    """

    arguments: tuple[Any, ...] = ()

    def __init__(self, path: File, cache_bits: int, level: str | None, without: Collection[str]) -> None:
        self.where = os.fsdecode(path)
        self.path = self.where if self.where.startswith("/") else os.path.abspath(self.where)
        self.tuning = (cache_bits, level, without)
        tuned = settings(cache_bits, level, without, self.where)
        self.data = map_file(path)
        programs = None
        if _core.is_general(self.data):
            about = _about(self.data, self.where)
            programs = splitting(about["expressions"], self.where, general=True).programs
        self.options: dict[str, Any] = {"block": self.data, "settings": tuned, "programs": programs}

    def tables(self) -> Any:
        """The tables over the file. ProfileError where it is damaged, ForeignError where it is none of ours."""
        try:
            return _core.Tables(**self.options)
        except (_core.DamagedError, _core.TableError) as error:
            raise _damage(self.data, self.where) from error

    def said(self, tables: Any) -> dict[str, Any]:
        """What the description says of the encoder of these tables. ProfileError where it is of another one."""
        about = _about(self.data, self.where)
        rows, found = about["added"], splitting(about["expressions"], self.where, general=about["general"])
        parameters = {key: value for key, value in contract_of(about, found).items() if key != "programs"}
        same = (found.programs is not None) == about["general"] == tables.general and tables.is_as(**parameters)
        if not same or tables.added() != sorted(((t.encode(), i, f) for t, i, f in rows), key=itemgetter(1)):
            raise ProfileError("its description is of another encoder than its head", where=self.where, remedy=AGAIN)
        return {
            "name": about["name"], "pattern": found.name, "expressions": found.expressions, "unicode": about["unicode"],
            "normalizer": about["normalizer"], "specials": {text: number for text, number, _ in rows},
            "added": [AddedToken(text, number, **_flags(flags)) for text, number, flags in rows],
        }


def contract_of(about: dict[str, Any], found: Splitting) -> dict[str, Any]:
    """The keyword arguments of Tables that a description gives."""
    return {
        **found.parameters(),
        "unicode": _core.UNICODE_VERSIONS.index(about["unicode"]), "nfc": about["normalizer"] == "nfc",
        "prefix_space": about["prefix_space"], "ignore_merges": about["ignore_merges"],
    }


def _flags(bits: int) -> dict[str, bool]:
    return {name: True for name, bit in FLAGS.items() if bits & bit}


def verify(path: File) -> dict[str, Any]:
    """Compares a profile with its checksum, and its tables with those that its own tokens and merges give.

    Returns {"size", "tokens", "sha256"}. LoadError where it cannot be read, ProfileError names what differs.
    """
    where = os.fsdecode(path)
    data, head, about = read(path)
    found = hashlib.sha256(memoryview(data)[head["start"] :]).digest()
    if found != head["contents"]:
        raise ProfileError(
            f"its contents have SHA-256 {found.hex()[:16]}…, not {head['contents'].hex()[:16]}…", where=where,
            remedy=AGAIN,
        )
    opened = Opened(path, CACHE_BITS, None, ())
    tables = opened.tables()
    added = opened.said(tables)["added"]
    texts: tuple[Any, ...] = (*columns((token.text.encode(), token.id) for token in added), flag_column(added))
    contract = contract_of(about, splitting(about["expressions"], where, general=about["general"]))
    try:
        columns_, merges = tables.tokens()
        again = _core.Tables(*columns_, *texts, **contract, settings=opened.options["settings"], merges=merges)
        same = again.profile(b"") == tables.profile(b"")
    except (_core.DamagedError, _core.TableError) as error:
        raise ProfileError(f"its tables are damaged: {error}", where=where, remedy=AGAIN) from error
    if not same:
        raise ProfileError("its tables are not those of its tokens", where=where, remedy=AGAIN)
    text, offsets, ids = columns_
    joined = text.tobytes()
    ranks = {joined[offsets[i] : offsets[i + 1]]: int(number) for i, number in enumerate(ids)}
    gather({}, added, ranks, nfc=contract["nfc"], unicode=about["unicode"], where=where)
    return {"size": head["size"], "tokens": head["tokens"], "sha256": found.hex()}
