"""Vocabularies: token bytes, ids, merges, special tokens, and the canonical form that identifies them.

The identity of a vocabulary is the SHA-256 of its canonical form, never its file or its name. A merge list
that is provably the ranks' own is left out of that form, so that one vocabulary in three file formats has one
digest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from typing import TypeVar

Pair = tuple[bytes, bytes]
_Key = TypeVar("_Key", bytes, str)
MAX_ID = 2**32 - 1
_NEVER = MAX_ID + 1


def single_bytes(token: bytes) -> list[bytes]:
    """What merging a token's bytes begins with where a contract says nothing else."""
    return [token[at : at + 1] for at in range(len(token))]


@dataclass(frozen=True)
class Vocabulary:
    """Ordinary tokens (bytes -> id), an ordered merge list (None where ids are the ranks), and special tokens
    (text -> id). `symbols` gives what merging a token begins with."""

    tokens: Mapping[bytes, int]
    merges: tuple[Pair, ...] | None
    specials: Mapping[str, int]
    symbols: Callable[[bytes], list[bytes]] = field(default=single_bytes, compare=False, kw_only=True)

    def canonical(self) -> bytes:
        """Lines `T <id> <hex>` by id, then `M <hex> <hex>` in merge order where there are merges, then `S
        <id> <hex>` by id."""
        lines = [f"T {number} {token.hex()}\n" for number, token in _by_id(self.tokens)]
        lines += [f"M {left.hex()} {right.hex()}\n" for left, right in self.merges or ()]
        lines += [f"S {number} {text.encode('utf-8').hex()}\n" for number, text in _by_id(self.specials)]
        return "".join(lines).encode("ascii")

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical form, 64 hex digits."""
        return sha256(self.canonical()).hexdigest()

    @cached_property
    def derivation(self) -> Derivation:
        """What the ranks alone say about merging; made once."""
        return derive_pairs(self.tokens)

    @cached_property
    def _order(self) -> dict[Pair, int]:
        return _ordered(self.merges or ())

    def reaches(self, token: bytes) -> bool:
        """Whether merging its bytes forms a token. No merging gives one out that its own bytes do not form."""
        if self.merges is None:
            return len(_merge(token, self.tokens.get, _NEVER)) <= 2
        return _forms(self.symbols(token), self._order)

    def ids(self) -> dict[int, bytes]:
        """id -> bytes, special tokens included (as their UTF-8)."""
        table: dict[int, bytes] = {}
        for text, number in self.specials.items():
            table.setdefault(number, text.encode("utf-8"))
        table.update((number, token) for token, number in self.tokens.items())
        return table


def _by_id(table: Mapping[_Key, int]) -> list[tuple[int, _Key]]:
    return sorted((number, key) for key, number in table.items())


@dataclass(frozen=True)
class Derivation:
    """What the ranks alone say about merging.

    `pairs`: for each token of two bytes or more that merging by lower ranks leaves in exactly two parts,
    those parts, by id. `exceptions`: the tokens that it leaves in more parts. `unreachable`: the exceptions
    that merging by *all* ranks does not form either, so that only a whole-piece look-up gives them.
    """

    pairs: tuple[Pair, ...]
    exceptions: tuple[bytes, ...]
    unreachable: tuple[bytes, ...]

    @property
    def proved(self) -> bool:
        """True where merging by ranks and merging by `pairs` in order give the same ids on every input.

        Proof. Let T be merged from (a, b) in some text, and say every token has two derived parts. No merge
        has crossed T's borders. Inside them, were a merge ranked above T made first, then at that moment all
        lower ranks were used up there, so the parts were T's derived two and T itself, ranked lower, was
        available: a contradiction. So only lower ranks were merged inside, until none was left, which is how
        the derived parts are made: (a, b) are those. Hence ranks only ever merge derived pairs, in rank
        order, leftmost first, which is what the pairs do.
        """
        return not self.exceptions


def derive_pairs(tokens: Mapping[bytes, int]) -> Derivation:
    """Recover each token's two parts from ranks by merging its bytes with lower ranks only.

    Near-linear in the total length of the tokens. The empty token (Whisper's file has one) is never part of a
    piece and is passed over. Other ways to recover pairs (the split of smallest largest rank, say) are wrong
    for thousands of GPT-2's merges.
    """
    rank = tokens.get
    pairs: list[Pair] = []
    exceptions: list[bytes] = []
    for number, token in _by_id(tokens):
        size = len(token)
        if size == 2:
            pairs.append((token[:1], token[1:]))
        elif size > 2:
            cuts = _merge(token, rank, number)
            if len(cuts) == 3:
                pairs.append((token[: cuts[1]], token[cuts[1] :]))
            else:
                exceptions.append(token)
    unreachable = [t for t in exceptions if len(_merge(t, rank, _NEVER)) > 2]
    return Derivation(tuple(pairs), tuple(exceptions), tuple(unreachable))


def _merge(token: bytes, rank: Callable[[bytes, int], int], limit: int) -> list[int]:
    """The cuts (offsets, 0 and the length included) left in `token` by merging the lowest rank below `limit`,
    leftmost first."""
    cuts = list(range(len(token) + 1))
    ranks = [rank(token[i : i + 2], _NEVER) for i in range(len(token) - 1)]
    while ranks:
        lowest = min(ranks)
        if lowest >= limit:
            break
        at = ranks.index(lowest)
        del cuts[at + 1], ranks[at]
        if at < len(ranks):
            ranks[at] = rank(token[cuts[at] : cuts[at + 2]], _NEVER)
        if at:
            ranks[at - 1] = rank(token[cuts[at - 1] : cuts[at + 1]], _NEVER)
    return cuts


def unreachable_by_pairs(
    tokens: Iterable[bytes], merges: Iterable[Pair], symbols: Callable[[bytes], list[bytes]] = single_bytes
) -> tuple[bytes, ...]:
    """The tokens of two symbols or more that merging their symbols by the pairs does not form."""
    order = _ordered(merges)
    return tuple(t for t in tokens if t and not _forms(symbols(t), order))


def _ordered(merges: Iterable[Pair]) -> dict[Pair, int]:
    order: dict[Pair, int] = {}
    for number, pair in enumerate(merges):
        order.setdefault(pair, number)
    return order


def _forms(parts: list[bytes], order: Mapping[Pair, int]) -> bool:
    numbers = [order.get(pair, _NEVER) for pair in pairwise(parts)]
    while numbers:
        lowest = min(numbers)
        if lowest == _NEVER:
            return False
        at = numbers.index(lowest)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
        del numbers[at]
        if at < len(numbers):
            numbers[at] = order.get((parts[at], parts[at + 1]), _NEVER)
        if at:
            numbers[at - 1] = order.get((parts[at - 1], parts[at]), _NEVER)
    return True


@dataclass(frozen=True)
class Settled:
    """A vocabulary in canonical form with the algorithm that it stands for."""

    vocabulary: Vocabulary
    algorithm: str
    ignore_merges: bool


def settle_ranks(
    tokens: Mapping[bytes, int], specials: Mapping[str, int], *, unreachable: int | None = None
) -> Settled:
    """A rank vocabulary. Ranks mean whole-piece look-up first, as in tiktoken: normalized away where no token
    needs it.

    `unreachable` is a known count (verified by `tokassay vocab verify`) that saves the derivation.
    """
    vocabulary = Vocabulary(tokens, None, specials)
    count = len(vocabulary.derivation.unreachable) if unreachable is None else unreachable
    return Settled(vocabulary, "bpe-ranks", count > 0)


def settle_pairs(
    tokens: Mapping[bytes, int], merges: tuple[Pair, ...], specials: Mapping[str, int], *, ignore_merges: bool
) -> Settled:
    """A merge-list vocabulary; the list is dropped where it provably gives the ranks' own ids.

    That is: no exception in the derivation, the products' ids never fall along the list, and every derived pair is in
    it. Other splits may be listed as well (converted rank files list them all). Proof, by steps: let merging by ranks
    and by the list have left the same parts, and let U be the lowest-ranked token that two neighbours make. By the
    argument of `Derivation.proved` all neighbours that make U are its derived pair, which is listed. Every listed
    pair that stands there makes U or a higher token, so the list merges that same pair next, leftmost first, as ranks
    do. `ignore_merges` is normalized away where every token re-forms by merging.
    """
    numbers = [tokens[left + right] for left, right in merges]
    if all(a <= b for a, b in pairwise(numbers)):
        ranks = Vocabulary(tokens, None, specials)
        if ranks.derivation.proved and set(merges).issuperset(ranks.derivation.pairs):
            return Settled(ranks, "bpe-ranks", False)
    needed = ignore_merges and bool(unreachable_by_pairs(tokens, merges))
    return Settled(Vocabulary(tokens, merges, specials), "bpe-pairs", needed)
