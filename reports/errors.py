"""The one kind of error a report raises."""

from __future__ import annotations

USAGE, INFRASTRUCTURE = 2, 5


class ReportError(ValueError):
    """A store that cannot be reported on: `where` names the file and place, `remedy` what to do; `exit_code` 2 or 5.
    `told`: `--json` has printed its object already."""

    told = False

    def __init__(self, message: str, *, where: str = "", remedy: str, exit_code: int = USAGE) -> None:
        super().__init__(message)
        self.where = where
        self.remedy = remedy
        self.exit_code = exit_code
