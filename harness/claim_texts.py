"""The texts of a claim: which are at hand, which are fetched now, and which are left out, with the reason.

A text is a kind that bench knows. The embedded sample stands in where no text of the claim is at hand, so that a
machine that has nothing and reaches nothing still gets an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tokassay.corpora.document import CorpusError
from tokassay.corpora.open import open_corpus
from tokassay.corpora.prepared import prepare
from tokassay.harness.claims import Claim
from tokassay.harness.errors import InputError
from tokassay.harness.texts import add_kind, is_added, kinds, missing

SAMPLE = "sample"


@dataclass
class Texts:
    """Names in the order in which they are measured; `absent` has a reason for each that is left out; `given` are the
    user's own."""

    names: list[str] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    given: tuple[str, ...] = ()


def gather(claim: Claim, corpora: Mapping[str, str], *, fetch: bool, say: Callable[[str], None]) -> Texts:
    """The user's texts first, then the claim's that are here or can be fetched, then the sample if there is no other.

    Raises InputError for a user's text that cannot be read, or whose name is another's.
    """
    found = Texts(given=tuple(corpora))
    known = kinds()
    for name, spec in corpora.items():
        if name in known and not is_added(name) and name not in claim.texts:
            raise InputError(f"{name} is the name of another text", where="--corpus", remedy="give it one of its own")
        try:
            open_corpus(spec)
        except CorpusError as error:
            raise InputError(str(error), where=f"--corpus {name}={spec}", remedy=error.remedy) from error
        add_kind(name, f"{name}, given by the user", spec)
        found.names.append(name)
    for name in claim.texts:
        if name in corpora:
            continue
        if name == SAMPLE:
            add_sample()
        elif name not in kinds():
            raise InputError(f"there is no text {name}", where=f"claim {claim.name}", remedy="correct its file")
        reason = _fetched(name, fetch, say)
        if reason:
            found.absent[name] = reason
        else:
            found.names.append(name)
    if not found.names:
        add_sample()
        found.names.append(SAMPLE)
    return found


def add_sample() -> None:
    """The embedded sample as a kind."""
    add_kind(SAMPLE, "the embedded sample", "sample")


def _fetched(name: str, fetch: bool, say: Callable[[str], None]) -> str:
    """"" once every source of a text is in the cache; else why it is not."""
    for slug in missing([name]):
        if not fetch:
            return f"not in the cache; run: tokassay corpora fetch {slug}"
        say(f"fetching {slug} for the text {name}")
        try:
            prepare(slug)
        except (CorpusError, OSError) as error:
            return f"{slug} could not be fetched: {error}"
    return ""
