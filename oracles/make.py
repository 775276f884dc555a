"""The oracle of a contract, whichever algorithm it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tokassay.oracles import spm
from tokassay.oracles.errors import OracleError
from tokassay.oracles.oracle import Oracle
from tokassay.oracles.wordpiece import WordPiece

# Algorithms over tokens with rules of their own; Oracle has the others, or refuses them.
FAMILIES: Mapping[str, type[Oracle]] = {"wordpiece": WordPiece}
PIECES = frozenset(spm.ALGORITHMS)  # over the pieces of a model, not over tokens


def make_oracle(
    contract: Mapping[str, Any],
    tokens: Mapping[bytes, int],
    merges: Sequence[tuple[bytes, bytes]] | None = None,
    specials: Mapping[str, int] | Mapping[bytes, int] | None = None,
    *,
    model: spm.Tables | None = None,
) -> Oracle | spm.SentencePiece:
    """The oracle that the contract's algorithm needs; parameters and errors are Oracle's. Those of PIECES ask for a
    `model` and look at nothing else."""
    algorithm = str(contract.get("algorithm"))
    if algorithm not in PIECES:
        return FAMILIES.get(algorithm, Oracle)(contract, tokens, merges, specials)
    if model is None:
        raise OracleError(f"{algorithm} without its pieces", where="model", remedy="give the model's tables")
    return spm.SentencePiece(contract, model)
