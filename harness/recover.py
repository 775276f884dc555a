"""The merges that a rank vocabulary makes, one pair a token, whatever its ranks are; and lists that mean the same.

A rank file says: merge the two neighbours whose concatenation has the lowest rank, leftmost first. A merge list says
which two parts. The list that means the same is found here for every vocabulary, exceptions included, by this lemma.

Lemma. Let x and y be neighbouring parts at any moment of merging a text by ranks, and let x + y be a token T. Then x
and y are the parts that merging T's own bytes by ranks leaves just before it forms T.
Proof. No merge so far has crossed the borders of x + y, since x and y are parts and lie side by side. Each merge inside
was the lowest rank of the whole text at its moment, leftmost, and so the lowest inside, leftmost there. So the merges
inside are the first ones of merging T's bytes alone, and what they left, x and y, is where that stands. The only merge
that is left inside makes T.

So each token has one pair at most, the *last merge* of its own bytes. A token whose own bytes do not form it is merged
from nothing, in no text: only a whole-piece look-up gives it (`ignore_merges` in a tokenizer.json; tiktoken always
looks up first, which changes nothing for the other tokens: their bytes form them).

Consequence. Merging by the list of these pairs, in the order of their tokens' ranks, does at each step what merging by
ranks does: the neighbours that make any token are its pair, so the lowest listed pair there makes the lowest token
there, and the leftmost is the same. Further pairs in the list are harmless as long as the tokens' ranks never fall
along it: as neighbours they do not occur, or they are that token's pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from tokassay.harness.vocabulary import Pair, Vocabulary

_NEVER = 1 << 33


@dataclass(frozen=True)
class Recovered:
    """`pairs`: the last merge of each token that its own bytes form, by rank. `exceptions`: tokens that merging by
    *lower* ranks leaves in more than two parts; `whole`: those of them that no merging forms."""

    pairs: tuple[Pair, ...]
    exceptions: tuple[bytes, ...]
    whole: tuple[bytes, ...]


def recover(vocabulary: Vocabulary) -> Recovered:
    """The pairs of a vocabulary's ranks (its ids); its merge list is not looked at. Near-linear in the tokens."""
    tokens = vocabulary.tokens
    derived = Vocabulary(tokens, None, {}).derivation if vocabulary.merges is not None else vocabulary.derivation
    pairs = {left + right: (left, right) for left, right in derived.pairs}
    unreachable = set(derived.unreachable)
    for token in derived.exceptions:
        if token not in unreachable:
            pairs[token] = last_merge(token, tokens)
    ordered = sorted(pairs.values(), key=lambda pair: tokens[pair[0] + pair[1]])
    return Recovered(tuple(ordered), derived.exceptions, derived.unreachable)


def last_merge(token: bytes, ranks: Mapping[bytes, int]) -> Pair:
    """The two parts that merging a token's bytes by all ranks leaves just before it forms it. KeyError: it does not."""
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        lowest = min(ranks.get(a + b, _NEVER) for a, b in pairwise(parts))
        if lowest == _NEVER:
            raise KeyError(token)
        at = next(i for i, (a, b) in enumerate(pairwise(parts)) if ranks.get(a + b, _NEVER) == lowest)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts[0], parts[1]


def unlike_ranks(vocabulary: Vocabulary, ignore_merges: bool, found: Recovered | None = None) -> str:
    """Why a vocabulary's merge list does not provably mean its ranks, with the place in it; "" where it does.

    `found` is what `recover` gives for it, where that is known already.
    """
    merges, tokens = vocabulary.merges, vocabulary.tokens
    if merges is None:
        return ""
    highest = -1
    for place, (left, right) in enumerate(merges):
        number = tokens[left + right]
        if number < highest:
            return f"merge {place} ({left!r}, {right!r}) makes id {number} after one that makes {highest}"
        highest = number
    found = found or recover(vocabulary)
    listed = set(merges)
    for left, right in found.pairs:
        if (left, right) not in listed:
            return f"ranks merge ({left!r}, {right!r}) into id {tokens[left + right]}, which is not listed"
    if found.whole and not ignore_merges:
        token = found.whole[0]
        return f"{token!r} (id {tokens[token]}) is formed by no merging, and whole pieces are not looked up"
    return ""
