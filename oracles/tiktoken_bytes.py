"""The `tiktoken-bytes` policy: what tiktoken's `Encoding._encode_bytes` does with a document that is not
UTF-8.

Established by experiment against tiktoken 0.14.0 (tests/oracles/test_tiktoken_bytes.py):

1. Encode the longest well-formed prefix as ordinary text. Special tokens are never matched.
2. Take off the tokens of its last piece. If the first of them is white space only (the bytes space, newline
   and tab; carriage return is not one of them), take off also the tokens before it, as long as they are.
3. The bytes of the tokens taken off and all the rest of the document are one piece: if it is a token, that
   token; otherwise merge it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

WHITE = b" \n\t"


def split_tail(pieces: Sequence[Sequence[bytes]]) -> tuple[list[bytes], bytes]:
    """(tokens that stay, bytes taken off) of a prefix encoded to `pieces`, each the token bytes of one
    piece."""
    tokens = [token for piece in pieces for token in piece]
    if not tokens:
        return [], b""
    first = len(tokens) - len(pieces[-1])
    if _white(tokens[first]):
        while first > 0 and _white(tokens[first - 1]):
            first -= 1
    return tokens[:first], b"".join(tokens[first:])


def _white(token: bytes) -> bool:
    return all(byte in WHITE for byte in token)


def encode_ill_formed(
    document: bytes,
    valid: int,
    encode_pieces: Callable[[bytes], Sequence[Sequence[bytes]]],
    encode_piece: Callable[[bytes], Sequence[bytes]],
) -> list[bytes]:
    """Token bytes of an ill-formed document whose first `valid` bytes are its longest well-formed prefix.

    encode_pieces(prefix) gives the token bytes of each piece of ordinary text; encode_piece(bytes) those of
    one piece, whole-piece look-up first.
    """
    kept, taken = split_tail(encode_pieces(document[:valid]))
    return [*kept, *encode_piece(taken + document[valid:])]
