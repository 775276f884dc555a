"""A document, and the one error of this package."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """A byte string to encode. `name` is unique within its corpus; `reason` says why it is there ("" for real
    text).
    """

    name: str
    data: bytes
    reason: str = ""


class CorpusError(ValueError):
    """Bad input: `where` names the file (or spec) and the place in it, `remedy` what to do about it."""

    def __init__(self, message: str, *, where: str = "", remedy: str) -> None:
        super().__init__(message)
        self.where = where
        self.remedy = remedy
