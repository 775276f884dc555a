"""The errors that a caller of dat-bpe can cause while loading."""

from __future__ import annotations


class LoadError(ValueError):
    """A vocabulary that cannot be loaded: `where` is the file and the place in it, `remedy` what to do."""

    def __init__(self, message: str, *, where: str, remedy: str) -> None:
        super().__init__(f"{where}: {message}; {remedy}")
        self.where = where
        self.remedy = remedy


class Refusal(LoadError):
    """A vocabulary that is well-formed and asks for something that this encoder does not carry out."""


class PatternError(Refusal):
    """A splitting expression with a construct that is not supported: named, with its place in the expression."""


class ProfileError(LoadError):
    """A file that should be a profile: it is none, or damaged, or of another build, or not what it says."""


class ForeignError(ProfileError):
    """No profile, or one of another version or byte order: whether it is whole cannot be said."""
