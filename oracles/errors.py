"""What an oracle may say instead of ids."""

from __future__ import annotations


class OracleError(ValueError):
    """A contract, vocabulary or file that cannot be used: `where` names the place, `remedy` what to do."""

    def __init__(self, message: str, *, where: str, remedy: str) -> None:
        super().__init__(message)
        self.where = where
        self.remedy = remedy


class Unsupported(OracleError):
    """The contract (or this document under it) has a part that is not modelled. Refused by name, never
    guessed."""

    def __init__(self, message: str, *, where: str = "contract") -> None:
        super().__init__(message, where=where, remedy="compare engines with each other, without the oracle")


class Reject(Exception):
    """The contract itself refuses this document (byte policy `reject`); `offset` is that of the first bad
    byte."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"ill-formed UTF-8 at byte {offset}")
        self.offset = offset
