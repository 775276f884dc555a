"""Reads members out of package archives (.tgz, .tar.*, .whl, .zip, .deb) without running anything in them.

Names that would leave the archive's own folder are refused, links are passed over, and sizes are bounded,
whatever the archive's headers say.
"""

from __future__ import annotations

import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from tokassay.corpora.catalogue import CatalogueError

MAX_MEMBER = 1 << 30
MAX_TOTAL = 4 << 30
MAX_MEMBERS = 500_000
_AR_MAGIC = b"!<arch>\n"
_BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    lzma.LZMAError,
    zlib.error,
    EOFError,
    OSError,
    NotImplementedError,
)


def iter_members(
    archive: Path,
    *,
    strip: int = 0,
    want: Callable[[str], bool] | None = None,
    max_member: int = MAX_MEMBER,
    max_total: int = MAX_TOTAL,
) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of each regular file, in the archive's order; `strip` leading folders are cut off the names.

    Only members that `want` accepts are read. Raises CatalogueError for a broken archive, an unsafe name or a
    size bomb.
    """
    total = count = 0
    try:
        for raw, size, read in _walk(archive):
            count += 1
            if count > MAX_MEMBERS:
                raise _refuse(archive, f"more than {MAX_MEMBERS} members")
            name = "/".join(_safe(raw, archive)[strip:])
            if not name or (want is not None and not want(name)):
                continue
            if size > max_member:
                raise _refuse(archive, f"member {name} says it has {size} bytes")
            data = read(max_member + 1)
            total += len(data)
            if len(data) > max_member or total > max_total:
                raise _refuse(archive, f"member {name} unpacks past the size limit")
            yield name, data
    except _BROKEN as error:
        raise CatalogueError(
            f"broken archive: {error}", where=str(archive), remedy="delete it and fetch again"
        ) from None


def extract_member(archive: Path, member: str, *, strip: int = 0) -> bytes:
    """One member's bytes. Raises CatalogueError where it is not there."""
    for _, data in iter_members(archive, strip=strip, want=lambda name: name == member):
        return data
    raise CatalogueError(f"no member {member!r}", where=str(archive), remedy="the archive is not the expected one")


def _refuse(archive: Path, why: str) -> CatalogueError:
    return CatalogueError(why, where=str(archive), remedy="the archive is not trusted: nothing of it was used")


def _safe(name: str, archive: Path) -> tuple[str, ...]:
    parts = PurePosixPath(name).parts
    if not parts or parts[0] == "/" or ".." in parts or "\\" in name or "\0" in name:
        raise _refuse(archive, f"member name {name!r} leaves the folder")
    return parts


Member = tuple[str, int, Callable[[int], bytes]]


def _walk(archive: Path) -> Iterator[Member]:
    name = archive.name
    if name.endswith((".whl", ".zip")):
        yield from _walk_zip(archive)
    elif name.endswith(".deb"):
        with archive.open("rb") as stream:
            yield from _walk_tar(_deb_data(stream, archive))
    elif name.endswith((".tgz", ".tar.gz", ".tar.xz", ".tar.bz2", ".tar")):
        with archive.open("rb") as stream:
            yield from _walk_tar(stream)
    else:
        raise CatalogueError(
            "not an archive that is known",
            where=str(archive),
            remedy="known are .tgz .tar.gz .tar.xz .tar.bz2 .whl .zip .deb",
        )


def _walk_zip(archive: Path) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as bundle:
        for info in bundle.infolist():
            if not info.is_dir():

                def read(limit: int, info: zipfile.ZipInfo = info) -> bytes:
                    with bundle.open(info) as stream:
                        return stream.read(limit)

                yield info.filename, info.file_size, read


def _walk_tar(stream: BinaryIO) -> Iterator[Member]:
    with tarfile.open(fileobj=stream, mode="r|*") as bundle:
        for info in bundle:
            if info.isfile():

                def read(limit: int, info: tarfile.TarInfo = info) -> bytes:
                    member = bundle.extractfile(info)
                    return member.read(limit) if member is not None else b""

                yield info.name, info.size, read


def _deb_data(stream: BinaryIO, archive: Path) -> BinaryIO:
    """The decompressed data.tar of a Debian package: an ar archive of 60-byte headers and members of even length."""
    if stream.read(len(_AR_MAGIC)) != _AR_MAGIC:
        raise CatalogueError("not a Debian package", where=str(archive), remedy="delete it and fetch again")
    while header := stream.read(60):
        if len(header) != 60 or header[58:] != b"`\n" or not header[48:58].strip().isdigit():
            break
        name, size = header[:16].decode("ascii", "replace").strip().rstrip("/"), int(header[48:58])
        if name.startswith("data.tar"):
            body = cast(BinaryIO, _Slice(stream, size))
            return _unzstd(body) if name.endswith(".zst") else body
        stream.seek(size + size % 2, io.SEEK_CUR)
    raise CatalogueError("no data in the Debian package", where=str(archive), remedy="delete it and fetch again")


def _unzstd(stream: BinaryIO) -> BinaryIO:
    import zstandard

    return cast(BinaryIO, zstandard.ZstdDecompressor().stream_reader(stream))


class _Slice(io.RawIOBase):
    """The next `size` bytes of a stream, as a stream."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream = stream
        self._left = size

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes, all that is left for -1."""
        wanted = self._left if size is None or size < 0 else min(size, self._left)
        data = self._stream.read(wanted)
        self._left -= len(data)
        return data
