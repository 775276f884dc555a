"""Which vocabulary is this? Compared are tokens, the order in which they are merged, and special tokens, each by a
digest that no file format has a part in; fixtures/vocab/identities.toml has those of all known vocabularies.

    tokens    lines `<id> <hex of the token as it stands in the vocabulary>` by id, special tokens left out
    order     lines `<hex of a token> <where it may be cut, in bytes>` in the order in which merging comes to them
    specials  lines `<id> <hex of the text>` by id

A token of SentencePiece, or of its form as tokenizer.json, stands there as its text: U+2581 for a space, `<0x0A>` for
a byte. The cuts of a token are all pairs of which the vocabulary merges it. A merge list names them; ranks and scores
mean every cut into two tokens, by rank or from the best score down, and converted files list just those.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from typing import Any

from tokassay.corpora.catalogue import catalogue
from tokassay.harness import known
from tokassay.harness.load import Loaded
from tokassay.harness.vocab_spm import CONTROL, UNKNOWN, SentencePieces
from tokassay.harness.vocabulary import Vocabulary

FILE = "identities.toml"
NONE = "none"


@dataclass(frozen=True)
class Identity:
    """A contract's algorithm; digests (64 hex digits) of a vocabulary's tokens, merge order ("none" where nothing is
    merged) and special tokens; and the numbers of tokens and special tokens."""

    algorithm: str
    tokens: str
    order: str
    specials: str
    count: int
    special_count: int


@dataclass(frozen=True)
class Likeness:
    """A known vocabulary with the same tokens, and whether the rest is the same, too."""

    name: str
    order: bool
    specials: bool
    special_count: int


def identity_of(loaded: Loaded) -> Identity | None:
    """What a loaded file is compared by; None where its tokens are not known (an opaque contract)."""
    if loaded.contract.algorithm == "opaque":
        return None
    vocabulary = loaded.vocabulary
    if isinstance(vocabulary, SentencePieces):
        rows = [(number, piece.text) for number, piece in enumerate(vocabulary.pieces)]
        special = {number for number, piece in enumerate(vocabulary.pieces) if piece.kind in (UNKNOWN, CONTROL)}
        tokens = [row for row in rows if row[0] not in special]
        specials = [row for row in rows if row[0] in special]
    else:
        tokens = sorted((number, token) for token, number in vocabulary.tokens.items())
        specials = sorted((number, text.encode("utf-8")) for text, number in vocabulary.specials.items())
    order = _order(loaded.contract.algorithm, vocabulary, tokens)
    algorithm = loaded.contract.algorithm
    return Identity(algorithm, _digest(tokens), order, _digest(specials), len(tokens), len(specials))


def _digest(rows: Iterable[tuple[int, bytes]]) -> str:
    return sha256("".join(f"{number} {text.hex()}\n" for number, text in rows).encode("ascii")).hexdigest()


def _order(algorithm: str, vocabulary: Vocabulary, tokens: list[tuple[int, bytes]]) -> str:
    ordering = _ORDERS.get(algorithm)
    if ordering is None:
        return NONE
    lines = (f"{token.hex()} {' '.join(map(str, cuts))}\n" for token, cuts in ordering(vocabulary, tokens) if cuts)
    return sha256("".join(lines).encode("ascii")).hexdigest()


Ordered = Iterator[tuple[bytes, list[int]]]


def _listed(vocabulary: Vocabulary, tokens: list[tuple[int, bytes]]) -> Ordered:
    if vocabulary.merges is None:
        yield from _ranked(vocabulary, tokens)
        return
    cuts: dict[bytes, list[int]] = {}
    for left, right in vocabulary.merges:
        cuts.setdefault(left + right, []).append(len(left))
    yield from ((token, sorted(places)) for token, places in cuts.items())


def _ranked(vocabulary: Vocabulary, tokens: list[tuple[int, bytes]]) -> Ordered:
    present = {token for _, token in tokens}
    yield from ((token, _cuts(token, present)) for _, token in tokens)


def _scored(vocabulary: Vocabulary, tokens: list[tuple[int, bytes]]) -> Ordered:
    assert isinstance(vocabulary, SentencePieces)
    present = {token for _, token in tokens}
    best = sorted(tokens, key=lambda row: (-vocabulary.pieces[row[0]].score, row[0]))
    yield from ((token, _cuts(token, present)) for _, token in best)


def _cuts(token: bytes, present: set[bytes]) -> list[int]:
    return [at for at in range(1, len(token)) if token[:at] in present and token[at:] in present]


_ORDERS: dict[str, Callable[[Vocabulary, list[tuple[int, bytes]]], Ordered]] = {
    "bpe-ranks": _ranked, "bpe-pairs": _listed, "bpe-scores": _scored,
}  # fmt: skip


@cache
def identities() -> dict[str, Identity]:
    """Name -> identity of the known vocabularies."""
    with (known.vocabulary_folder() / FILE).open("rb") as stream:
        return {name: Identity(**row) for name, row in tomllib.load(stream).items()}


def alike(identity: Identity) -> list[Likeness]:
    """The known vocabularies with the same tokens, the most alike first."""
    found = [
        Likeness(name, each.order == identity.order, each.specials == identity.specials, each.special_count)
        for name, each in identities().items()
        if each.tokens == identity.tokens
    ]
    return sorted(found, key=lambda each: (not each.order, not each.specials))


def described(loaded: Loaded) -> dict[str, Any]:
    """A file's identity as JSON values: its digests, the known vocabularies that it is like, and sentences that say so.

    `mislabelled` is the known name that a name of the file holds and its tokens contradict, or None.
    """
    identity = identity_of(loaded)
    if identity is None:
        reasons = "; ".join(loaded.unmodelled)
        says = [f"its tokens are not known: {reasons}"]
        return {"identity": None, "known": False, "alike": [], "mislabelled": None, "says": says}
    found = [each for each in alike(identity) if each.name != loaded.name]
    label = mislabelled(loaded, identity)
    says = [sentence(identity, each) for each in found]
    if not found:
        alone = loaded.name in identities()
        says.append("no other known vocabulary has these tokens" if alone else "no known vocabulary has these tokens")
    if label is not None:
        likest = next(each for each in alike(identity) if each.name == loaded.name or loaded.name not in identities())
        what = "tokens and merges" if likest.order else "tokens"
        says.append(f"its name says {label[0]} ({label[1]}); its {what} are those of {likest.name}")
    return {
        "identity": asdict(identity), "known": bool(alike(identity)), "alike": [asdict(each) for each in found],
        "mislabelled": label[0] if label else None, "says": says,
    }  # fmt: skip


def sentence(identity: Identity, other: Likeness) -> str:
    """What a vocabulary has in common with a known one, in words."""
    merges = identity.order != NONE
    if other.order and other.specials:
        return f"the same vocabulary as {other.name}"
    specials = (
        "and the same special tokens" if other.specials
        else f"with {identity.special_count:,} special tokens where that has {other.special_count:,}"
        if identity.special_count != other.special_count
        else "with other special tokens"
    )  # fmt: skip
    if other.order:
        return f"the same tokens{' and merges' if merges else ''} as {other.name}, {specials}"
    return f"the same tokens as {other.name}, in another order of merges, {specials}"


def mislabelled(loaded: Loaded, identity: Identity) -> tuple[str, str] | None:
    """(a known vocabulary that a name of the file names, that name) where its tokens are a known vocabulary's, and not
    that one's; else None."""
    same = {name for name, each in identities().items() if each.tokens == identity.tokens}
    if not same:
        return None
    for label in labels(loaded):
        named = [name for name in _names() if _plain(name) in _plain(label)]
        # The longest name is meant: `llama31` is not `llama3` by accident, nor `gpt2` what `gpt2_medium` is.
        named.sort(key=len, reverse=True)
        if named and not {_names()[name] for name in named} & same:
            return _names()[named[0]], label
    return None


def labels(loaded: Loaded) -> list[str]:
    """The names that a file goes by: its own, its folder's, and those of the catalogue's entry with that SHA-256."""
    path = loaded.source_path
    names = [path.name]
    for entry in catalogue():
        if entry.sha256 == loaded.file_sha256:
            names += [entry.package, entry.constant or entry.path]
    return [*names, path.parent.name]


@cache
def _names() -> dict[str, str]:
    """Every name and alias of a known encoding that is long enough to mean something -> its name."""
    found = {name: each.name for each in known.encodings() for name in (each.name, *each.aliases)}
    return {name: own for name, own in found.items() if len(_plain(name)) >= 4}


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
