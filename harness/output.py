"""A file that is to be written: whether it can be, asked before the work is done."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tokassay.harness.errors import InputError


def check_output(path: Path, option: str) -> None:
    """Raise InputError where `path` cannot be written; nothing is made or changed."""
    try:
        if path.is_file() or path.is_dir():  # to open a pipe would wait for its reader
            path.open("ab").close()
        elif path.exists():
            return
        elif not path.parent.is_dir():
            raise InputError("no such folder", where=f"{option} {path}", remedy="name a file in a folder that is there")
        elif not os.access(path.parent, os.W_OK | os.X_OK):
            raise PermissionError(0, "Permission denied")
    except OSError as error:
        raise not_written(path, option, error) from None


def not_written(path: Path, option: str, error: OSError) -> InputError:
    """The error for a file that could not be written."""
    reason = (error.strerror or str(error)).lower()
    return InputError(reason, where=f"{option} {path}", remedy="name a file that can be written")


def check_new(path: Path, option: str, *, replace: bool) -> None:
    """Raise InputError where `path` cannot be written, or is there and was not meant to be replaced."""
    if path.is_dir():
        raise InputError("a folder", where=f"{option} {path}", remedy="name a file")
    check_absent(path, option, replace=replace)
    check_output(path, option)


def check_absent(path: Path, option: str, *, replace: bool) -> None:
    """Raise InputError where `path` is there and was not meant to be replaced."""
    if path.exists() and not replace:
        raise InputError(
            "is there already", where=f"{option} {path}", remedy="give --replace, or name another file"
        )


def write_whole(path: Path, data: bytes, option: str) -> None:
    """Write a file whole or not at all: whoever reads the former one meanwhile reads all of it. Raises InputError."""
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)  # a device or a pipe has no former content
            return
        handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:64]}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            os.chmod(part, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
            os.replace(part, path.resolve())
        except BaseException:
            os.unlink(part)
            raise
    except OSError as error:
        raise not_written(path, option, error) from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
