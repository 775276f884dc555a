"""GPT-2's byte alphabet: a printable character for each byte, so that bytes can be keys of a JSON object.

Source: the rule published with GPT-2: printable Latin-1 bytes stand for themselves, the others in order for
U+0100 and up.
"""

from __future__ import annotations


def _alphabet() -> str:
    kept = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = (number for number in range(256) if number not in set(kept))
    table = {byte: byte for byte in kept} | {byte: 0x100 + place for place, byte in enumerate(others)}
    return "".join(chr(table[byte]) for byte in range(256))


CHARACTERS = _alphabet()
_ENCODE = {byte: ord(character) for byte, character in enumerate(CHARACTERS)}
_DECODE = {character: byte for byte, character in enumerate(CHARACTERS)}


def to_alphabet(data: bytes) -> str:
    """One character a byte."""
    return data.decode("latin-1").translate(_ENCODE)


def from_alphabet(text: str) -> bytes | None:
    """The bytes that `text` stands for, or None where a character is not of the alphabet."""
    try:
        return bytes([_DECODE[character] for character in text])
    except KeyError:
        return None
