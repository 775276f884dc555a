"""Reader of CLIP's `bpe_simple_vocab_16e6.txt`: merges over the byte alphabet, where the last byte of a word ends in
`</w>`.

The file holds more merges than CLIP uses, and no ids: these are, as CLIP's own code numbers them, the bytes in the byte
alphabet's order of writing, the same with the suffix, the products of the first 48,894 merges, and two special tokens.
"""

from __future__ import annotations

from tokassay.harness.alphabet import to_alphabet
from tokassay.harness.errors import InputError
from tokassay.harness.hf_symbols import read_suffixed, settle_words
from tokassay.harness.parsed import Parsed
from tokassay.harness.vocab_gpt2 import REFETCH
from tokassay.harness.vocabulary import Pair

HEAD = b'"bpe_simple_vocab_16e6.txt#version'
SUFFIX = "</w>"
MERGES = 49152 - 256 - 2
SPECIALS = ("<start_of_text>", "<end_of_text>")
NORMALIZER = "nfc+lowercase-each"
PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+"
NOTES = (
    "CLIP repairs a text, resolves HTML entities and trims it before anything else: that is not part of the contract",
    "lower case is that of single characters: open_clip's own gives a capital sigma at the end of a word U+03C2",
)
# `bytes_to_unicode` writes these first, then the other 68 in ascending order.
PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))


def parse(data: bytes, where: str) -> Parsed:
    """The file, unpacked. Raises InputError with the line."""
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8", where=f"{where}, byte {error.start}", remedy=REFETCH) from None
    if len(lines) <= MERGES:
        raise InputError(f"{len(lines) - 1} merges where CLIP has {MERGES}", where=where, remedy=REFETCH)
    listed: list[tuple[Pair, str]] = []
    bytes_in_order = [*PRINTABLE, *(byte for byte in range(256) if byte not in PRINTABLE)]
    names = [to_alphabet(bytes([byte])) for byte in bytes_in_order]
    names += [name + SUFFIX for name in names]
    for number, line in enumerate(lines[1 : MERGES + 1], 2):
        parts = line.split(" ")
        if len(parts) != 2:
            raise InputError("not a merge of two parts", where=f"{where}:{number}", remedy=REFETCH)
        listed.append((read_suffixed(parts, SUFFIX, f"{where}:{number}"), f"{where}:{number}"))
        names.append("".join(parts))
    table = {name: number for number, name in enumerate(names)}
    if len(table) != len(names):
        raise InputError("two merges make one token", where=where, remedy=REFETCH)
    specials = {text: len(names) + number for number, text in enumerate(SPECIALS)}
    parsed = Parsed(normalizer=NORMALIZER, pretokenizer=(PATTERN,), gaps="dropped", notes=list(NOTES))
    settle_words(table, listed, specials, SUFFIX, parsed, where)
    parsed.special_tokens = tuple((text, number) for text, number in specials.items())
    return parsed
