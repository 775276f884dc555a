"""What merging begins with, and what a token stands for once it is given out.

bytes          the default: single bytes; a token is its own bytes
characters     `byte_fallback`: the characters of the piece; one that is no token is the tokens `<0x00>` to `<0xFF>` of
               its bytes, and so is a byte that is no character. No merge takes such a byte: merges are of texts.
               An ASCII character that is a token needs no such token (the first Gemma has U+0009 in its place)
end of word    `end_of_word`: single bytes, the last one written with the suffix (`o</w>`), which stays in what it is
               merged into and stands for no byte of the document
"""

from __future__ import annotations

from collections.abc import Mapping

from tokassay.oracles import utf8
from tokassay.oracles.errors import OracleError, Unsupported
from tokassay.oracles.merge import symbols_of


class Symbols:
    """The symbols of a vocabulary (bytes -> id). Raises OracleError where a byte has no token to fall back to."""

    def __init__(self, tokens: Mapping[bytes, int], *, byte_fallback: bool, end_of_word: str) -> None:
        if byte_fallback and end_of_word:
            raise Unsupported("byte_fallback with end_of_word is not modelled", where="contract: end_of_word")
        self.suffix = end_of_word.encode("utf-8")
        self._tokens = tokens
        self._characters = byte_fallback
        self._byte_of: dict[int, bytes] = {}
        self.ids: Mapping[bytes, int] = tokens
        if byte_fallback:
            absent = {byte for byte in range(128) if bytes([byte]) in tokens and b"<0x%02X>" % byte not in tokens}
            self._byte_of = {self._token(byte): bytes([byte]) for byte in range(256) if byte not in absent}
            self.ids = {byte: identity for identity, byte in self._byte_of.items()} | dict(tokens)

    def _token(self, byte: int) -> int:
        name = b"<0x%02X>" % byte
        if name not in self._tokens:
            raise OracleError(f"{name.decode()} is no token", where="vocabulary", remedy="byte_fallback needs it")
        return self._tokens[name]

    def begin(self, piece: bytes) -> bytes | list[bytes]:
        """The parts of a piece before any merge; the piece itself where these are its bytes."""
        if self.suffix:
            return [*symbols_of(piece[:-1]), piece[-1:] + self.suffix]
        if not self._characters:
            return piece
        parts: list[bytes] = []
        at = 0
        while at < len(piece):
            width = utf8.sequence_width(piece, at) or 1
            character = piece[at : at + width]
            parts += [character] if character in self._tokens else symbols_of(character)
            at += width
        return parts

    def written(self, identity: int, token: bytes) -> bytes:
        """The bytes behind an id: the one byte of a token to fall back to, else the token's own, suffix included."""
        return self._byte_of.get(identity, token)
