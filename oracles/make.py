"""The oracle of a contract, whichever algorithm it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tokassay.oracles.oracle import Oracle
from tokassay.oracles.wordpiece import WordPiece

# Algorithms with rules of their own; Oracle has the others, or refuses them.
FAMILIES: Mapping[str, type[Oracle]] = {"wordpiece": WordPiece}


def make_oracle(
    contract: Mapping[str, Any],
    tokens: Mapping[bytes, int],
    merges: Sequence[tuple[bytes, bytes]] | None = None,
    specials: Mapping[str, int] | Mapping[bytes, int] | None = None,
) -> Oracle:
    """The oracle that the contract's algorithm needs; parameters and errors are Oracle's."""
    family = FAMILIES.get(str(contract.get("algorithm")), Oracle)
    return family(contract, tokens, merges, specials)
