"""Crayon's file, version 2: `CRAY`, u32 version, u32 N, then BASE, CHECK and VALUES of N int32 each, little-endian."""

from __future__ import annotations

import mmap
import os
import struct
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray
from tokassay.engines.dat_bpe.errors import LoadError
from tokassay.engines.dat_greedy import _core

MAGIC, VERSION = b"CRAY", 2
HEAD = struct.Struct("<4sII")
MOST_SLOTS = 2**31 - 1
GREATEST_ID = 2**31 - 1
Slots = NDArray[numpy.int32]


@dataclass(frozen=True)
class Arrays:
    """The three arrays, int32[n] each: views of the mapped file, or of memory."""

    base: Slots
    check: Slots
    values: Slots

    def to_bytes(self) -> bytes:
        """The file."""
        rows = [row.astype("<i4", copy=False).tobytes() for row in (self.base, self.check, self.values)]
        return HEAD.pack(MAGIC, VERSION, len(self.base)) + b"".join(rows)


def open_arrays(path: str | os.PathLike[str]) -> Arrays:
    """The arrays of a file, mapped: nothing but its header is read, and its size compared with what that says.

    What the arrays hold is not looked at: a walk guards every index. The file may be replaced by another one under
    its name, but must not be changed or cut in place while it is mapped. Raises LoadError.
    """
    where = os.fsdecode(path)
    try:
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if size < HEAD.size:
                raise _refuse(f"{size} bytes are no header of {HEAD.size}", where)
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        if isinstance(error, LoadError):
            raise
        problem = str(getattr(error, "strerror", None) or error)
        raise LoadError(problem, where=where, remedy="give the path of a CRAY file") from error
    return read_arrays(data, where)


def read_arrays(data: Any, where: str) -> Arrays:
    """The arrays in a buffer of bytes, not copied where it is aligned to four. Raises LoadError."""
    size = memoryview(data).nbytes
    if size < HEAD.size:
        raise _refuse(f"{size} bytes are no header of {HEAD.size}", where)
    magic, version, count = HEAD.unpack_from(data)
    if magic != MAGIC:
        raise _refuse(f"begins with {magic!r}, not with {MAGIC!r}", where)
    if version != VERSION:
        raise _refuse(f"version {version}, and {VERSION} is the one that is known", where)
    if not 1 <= count <= MOST_SLOTS:
        raise _refuse(f"{count} slots; there are 1 to {MOST_SLOTS}", where)
    if size != HEAD.size + 12 * count:
        raise _refuse(f"{size} bytes, and {count} slots make {HEAD.size + 12 * count}", where)
    rows = numpy.frombuffer(data, "<i4", offset=HEAD.size)
    if sys.byteorder == "big" or not rows.flags.aligned:
        rows = rows.astype(numpy.int32)
    return Arrays(rows[:count], rows[count : 2 * count], rows[2 * count :])


def _refuse(problem: str, where: str) -> LoadError:
    return LoadError(f"not a whole CRAY file: {problem}", where=where, remedy="build or fetch the file again")


def pack(tokens: Mapping[bytes, int], *, order: str = "depth", where: str = "tokens") -> Arrays:
    """First fit: each state gets the least base, from 1 on, at which all its children's slots are free.

    tokens  token bytes -> id, 0 to 2**31 - 1. An empty token is left out: no text gives it
    order   in which states are placed: `depth` (as Crayon's own compiler: its files are made byte for byte) or
            `levels` (as dat-bpe). A walk finds the same in either

    The interpreter's lock is released. Raises LoadError.
    """
    if order not in ("depth", "levels"):
        raise LoadError(f"order {order!r}", where=where, remedy="use depth or levels")
    for token, number in tokens.items():
        if not isinstance(token, bytes) or isinstance(number, bool) or not isinstance(number, (int, numpy.integer)):
            raise LoadError(f"{token!r}: {number!r}", where=where, remedy="give token bytes -> id")
        if not 0 <= number <= GREATEST_ID:
            raise LoadError(
                f"token {token.hex()}: id {number} is outside 0..{GREATEST_ID}", where=where,
                remedy="the file has 31 bits for an id: number the tokens anew",
            )
    kept = [token for token in tokens if token]
    text = numpy.frombuffer(b"".join(kept), numpy.uint8)
    offsets = numpy.zeros(len(kept) + 1, numpy.uint64)
    numpy.cumsum([len(token) for token in kept], out=offsets[1:])
    ids = numpy.array([tokens[token] for token in kept], numpy.uint32)
    return Arrays(*_core.pack(text, offsets, ids, order == "depth"))


def write(path: str | os.PathLike[str], arrays: Arrays) -> None:
    """The file, whole or not at all, in place of one that is there: who has that one mapped keeps it."""
    write_whole(Path(path), arrays.to_bytes())


def write_whole(path: Path, data: bytes) -> None:
    """Bytes under a name, whole or not at all."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            os.fchmod(stream.fileno(), 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def problems(arrays: Arrays) -> list[str]:
    """What is wrong with the arrays, in words; empty for a double array as the format has it. Reads all of them."""
    base, check, values = (row.astype(numpy.int64) for row in (arrays.base, arrays.check, arrays.values))
    count, found = len(base), []
    if check[0] >= 0:
        found.append(f"CHECK of the root is {check[0]}, not -1")
    used = numpy.flatnonzero(check >= 0)
    used = used[used > 0]
    outside = used[check[used] >= count]
    if outside.size:
        found.append(f"slot {outside[0]}: its parent {check[outside[0]]} is past the last slot")
        used = used[check[used] < count]
    byte = used - base[check[used]]
    wrong = used[(byte < 0) | (byte > 255)]
    if wrong.size:
        found.append(f"slot {wrong[0]}: no byte leads to it from its parent {check[wrong[0]]}")
    low = numpy.flatnonzero(values < -1)
    if low.size:
        found.append(f"slot {low[0]}: VALUES is {values[low[0]]}")
    free = numpy.flatnonzero((check < 0) & (values >= 0))
    if free.size:
        found.append(f"slot {free[0]}: it is free and has the value {values[free[0]]}")
    trie = _core.Trie(arrays.base, arrays.check, arrays.values)
    try:
        reached = trie.reached()
    except ValueError as error:
        return [*found, str(error)]
    lost = int((check[1:] >= 0).sum()) - reached
    if lost and not found:
        found.append(f"{lost} slots cannot be reached from the root")
    return found
