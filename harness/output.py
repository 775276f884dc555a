"""A file that is to be written: whether it can be, asked before the work is done."""

from __future__ import annotations

import os
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
