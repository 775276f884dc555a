"""Files out of the page cache, so that the next to read them waits for the disk, as after a start of the machine."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tokassay.engines.client import Unsupported


def drop(paths: Iterable[str]) -> None:
    """Drop these files, and those beside them whose names begin with theirs (what an adapter made of them).

    Raises Unsupported where the platform has no way to, or where a file is in the cache still: a page that is mapped
    by a process stays there.
    """
    for path in dict.fromkeys(each for given in paths for each in _beside(Path(given))):
        _drop(path)
        if cached(path):
            raise Unsupported(f"{path.name} stays in the page cache")


def cached(path: Path) -> bool:
    """Whether any page of a file is in the page cache, by mincore(2): a read, even one that would not wait, brings the
    page in. Raises Unsupported."""
    mincore = _mincore()
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            return False
        # A private mapping may be written to, which is what ctypes asks for to tell an address; nothing is written.
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as mapping:
            found = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
            start = ctypes.c_char.from_buffer(mapping)
            failed = mincore(ctypes.byref(start), ctypes.c_size_t(size), found)
            del start
    if failed:
        raise Unsupported("this file system does not say what is in its page cache")
    return any(byte & 1 for byte in found)


def _mincore() -> Any:
    """The C library's; Unsupported where there is none."""
    try:
        return ctypes.CDLL(None).mincore
    except (AttributeError, OSError, TypeError):
        raise Unsupported("this platform does not say what is in its page cache") from None


def _drop(path: Path) -> None:
    if not hasattr(os, "posix_fadvise"):
        raise Unsupported("this platform does not drop files from its page cache")
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)  # pages that are not yet written would stay
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(handle)


def _beside(path: Path) -> Iterator[Path]:
    for each in sorted(path.parent.iterdir()):
        if each.name.startswith(path.name) and each.is_file():
            yield each
