"""Greedy longest match: at each offset the longest token that starts there. This is not BPE."""

from __future__ import annotations

from collections.abc import Mapping

from tokassay.oracles.errors import OracleError


def longest_length(tokens: Mapping[bytes, int]) -> int:
    """Length in bytes of the longest token."""
    return max(map(len, tokens), default=0)


def greedy(
    piece: bytes, tokens: Mapping[bytes, int], longest: int | None = None, *, skip: bool = False
) -> list[bytes]:
    """The parts of `piece`; `longest` saves the search for the longest token's length.

    A byte at which no token starts is a part of its own where `skip` is set, else an OracleError.
    """
    if longest is None:
        longest = longest_length(tokens)
    parts = []
    at = 0
    while at < len(piece):
        for width in range(min(longest, len(piece) - at), 0, -1):
            if piece[at : at + width] in tokens:
                break
        else:
            if skip:
                parts.append(piece[at : at + 1])
                at += 1
                continue
            raise OracleError(
                f"no token starts with byte {piece[at]:02x}",
                where="vocabulary",
                remedy="greedy-longest over all bytes needs the 256 single-byte tokens, or an unknown id",
            )
        parts.append(piece[at : at + width])
        at += width
    return parts
