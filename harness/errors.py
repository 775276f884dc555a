"""The one kind of error a user can cause, and the exit codes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

AGREED, MISMATCH, USAGE, REGRESSION, NOTHING, INFRASTRUCTURE = 0, 1, 2, 3, 4, 5
INTERRUPTED = 130  # by Ctrl-C, as shells say it


class InputError(ValueError):
    """Bad input: `where` names the file and the place in it, `remedy` what to do. Exits with 2 by default.

    `told`: `--json` has printed its object already.
    """

    told = False

    def __init__(self, message: str, *, where: str = "", remedy: str, exit_code: int = USAGE) -> None:
        super().__init__(message)
        self.where = where
        self.remedy = remedy
        self.exit_code = exit_code


@contextmanager
def writing(where: str, remedy: str = "name a file in a folder that is there and can be written") -> Iterator[None]:
    """Around what writes `where`: what the system says against it is the InputError of whoever named the place."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot be written: {reason}", where=where, remedy=remedy) from None
