"""Profiles by name: where their files are looked for, and how ours are made at first use."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tokassay.engines.dat_bpe.errors import LoadError
from tokassay.engines.dat_bpe.ranks import ENCODINGS, embedded_ranks
from tokassay.engines.dat_greedy import crayfile

FOLDERS = "TOKASSAY_PROFILES"  # the environment variable: folders, separated as in PATH
# Not by importlib.resources: its first use took 2 ms of the 2.7 ms that a load then needed. What is mapped is a file.
PACKAGED = Path(__file__).parent / "profiles"
SYSTEM_CACHE = Path("/var/cache/tokassay/profiles")


@dataclass(frozen=True)
class Profile:
    """One of our profiles: the embedded encoding that its tokens are, and the digest of its file."""

    encoding: str
    sha256: str


PROFILES = {
    "lite": Profile("gpt2", "6a05efa6bdba9dcc0893e4daf6df5f902237fbfd48343e02b28ef280437985af"),
    "standard": Profile("cl100k_base", "e074bcffb21f3c714ab8fa95169a4faf7f9001d7ab04a87a1a61e9edc8920309"),
}
# Their corpora are named (docs/DECISIONS.md), and nothing but training makes them: a vocabulary for general text under
# the name `code` would be a lie.
UNTRAINED = ("code", "science")


def find_profile(name_or_path: str | os.PathLike[str]) -> Path:
    """The file of a profile.

    A path (with a separator, or ending in .dat) is that file. A name is looked for as `vocab_NAME.dat` in the
    package's own data, the folders of $TOKASSAY_PROFILES, the user's cache and the system's cache, in this order; the
    names of PROFILES are built into the user's cache where none of these has them. Raises LoadError; TypeError for what
    is neither, the contents of a file above all.
    """
    if not isinstance(name_or_path, (str, os.PathLike)):
        raise TypeError(f"a profile is given by its name or its path, not as {type(name_or_path).__name__}")
    text = os.fsdecode(name_or_path)
    if not isinstance(name_or_path, str) or os.sep in text or "/" in text or text.endswith(".dat"):
        return Path(text)
    for path in search_path(text):
        if path.is_file():
            return path
    if text in PROFILES:
        return build_profile(text)
    if text in UNTRAINED:
        raise LoadError(
            f"the profile {text} has to be trained on its corpora, and this version has no trainer yet", where=text,
            remedy=f"use {' or '.join(PROFILES)}, or put vocab_{text}.dat into a folder of ${FOLDERS}",
        )
    raise LoadError(
        "no profile has that name", where=text,
        remedy=f"use {', '.join(PROFILES)}, a path, or a folder with vocab_{text}.dat in ${FOLDERS}",
    )


def search_path(name: str) -> list[Path]:
    """Where the file of a profile may be, in the order in which it is looked for."""
    file = f"vocab_{name}.dat"
    packaged = PACKAGED / file
    named = [Path(folder) / file for folder in os.environ.get(FOLDERS, "").split(os.pathsep) if folder]
    caches = (user_cache(), SYSTEM_CACHE)
    made = [folder / built_name(name) for folder in caches] if name in PROFILES else []
    return [packaged, *named, caches[0] / file, *made[:1], caches[1] / file, *made[1:]]


def built_name(name: str) -> str:
    """The file that we build; its digest is in its name, so that another version's is another file."""
    return f"vocab_{name}-{PROFILES[name].sha256[:12]}.dat"


def user_cache() -> Path:
    """$TOKASSAY_CACHE/profiles, else tokassay/profiles in $XDG_CACHE_HOME or ~/.cache (a relative one is no folder)."""
    if named := os.environ.get("TOKASSAY_CACHE"):
        return Path(named).expanduser() / "profiles"
    given = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(given) if os.path.isabs(given) else Path("~/.cache").expanduser()
    return root / "tokassay" / "profiles"


def build_profile(name: str, folder: Path | None = None) -> Path:
    """Build one of PROFILES into a folder (default: the user's cache), unless it is there as it should be.

    Whole or not at all, once where several processes want it, and only if its SHA-256 is the one that is pinned.
    Raises LoadError.
    """
    profile = PROFILES[name]
    path = (folder or user_cache()) / built_name(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path):
            if not _is_whole(path, profile.sha256):
                data = crayfile.pack(embedded_ranks(ENCODINGS[profile.encoding])[0]).to_bytes()
                digest = hashlib.sha256(data).hexdigest()
                if digest != profile.sha256:
                    raise LoadError(
                        f"SHA-256 of the profile is {digest}, should be {profile.sha256}", where=name,
                        remedy="install the package again",
                    )
                crayfile.write_whole(path, data)
    except OSError as error:
        raise LoadError(
            f"cannot be written: {error.strerror}", where=str(path),
            remedy="set TOKASSAY_CACHE to a folder that can be written",
        ) from error
    return path


def _is_whole(path: Path, digest: str) -> bool:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == digest
    except FileNotFoundError:
        return False


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One builder at a time, where the platform has such locks; elsewhere the last of them is kept, whole."""
    with path.with_suffix(".lock").open("w") as handle:
        try:
            import fcntl
        except ImportError:
            yield
            return
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
