"""Reader and writer of GGUF, the file of llama.cpp, as far as it is a vocabulary: the key-values of its header.

Byte-level BPE: tokens by id in GPT-2's byte alphabet, their types, merges in order, and in `tokenizer.ggml.pre` a name
for the splitting expression, which the file itself does not have. A SentencePiece model: `vocab_gguf_spm`. Others are
opaque.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from tokassay.harness import known, vocab_gguf_spm, vocab_spm
from tokassay.harness.alphabet import from_alphabet, to_alphabet
from tokassay.harness.contract import Contract
from tokassay.harness.errors import InputError
from tokassay.harness.parsed import Parsed, missing_byte
from tokassay.harness.vocab_gpt2 import read_pair, unique_merges
from tokassay.harness.vocab_tiktoken import sorted_specials
from tokassay.harness.vocabulary import Pair, Vocabulary, settle_pairs

MAGIC = b"GGUF"
VERSIONS = (2, 3)  # alike in their header
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = 1, 2, 3, 4, 5  # types of tokens
STRING, ARRAY = 8, 9  # types of values, beside the numbers'
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
I32 = 5
PREFIX = "tokenizer.ggml."
REFETCH = "the file is damaged or truncated: fetch it again and compare its SHA-256"
DIGITS = r"\p{N}"
# deepseek-ai's tokenizer.json of V3, three splits.
DEEPSEEK_V3 = (
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
)


def pretokenizers() -> dict[str, tuple[tuple[str, ...], bool]]:
    """Name in `tokenizer.ggml.pre` -> the models' published expressions, and whether a piece that is a token is taken
    whole. The first name of equal rows is the one that is written."""
    published = known.patterns()
    gpt2, cl100k = published["gpt2"], published["cl100k_base"]
    digits = ((DIGITS, gpt2), False)
    return {
        "gpt-2": ((gpt2,), False),
        "dbrx": ((cl100k,), False),
        "llama-bpe": ((cl100k,), True),
        "gpt-4o": ((published["o200k_base"],), False),
        "qwen2": ((published["qwen"],), False),
        "qwen35": ((published["qwen3.5"],), False),
        "tekken": ((published["tekken"],), True),
        "deepseek-v3": (DEEPSEEK_V3, False),
        "starcoder": digits,
        "refact": digits,
        "command-r": digits,
        "smollm": digits,
        "mpt": ((gpt2,), False),
    }


# -- reading ----------------------------------------------------------------------------------------------------------


class Header:
    """The key-values of a file, read one after the other. Raises InputError at the first that does not hold."""

    def __init__(self, data: bytes, where: str) -> None:
        self.data, self.where, self.at = data, where, 4
        version = self.number("I")
        if version not in VERSIONS:
            raise InputError(
                f"GGUF of version {version}, and 2 and 3 are known", where=f"{where}, byte 4", remedy="convert it again"
            )
        self.number("Q")  # tensors
        self.values = {self.text(): self.value(self.number("I")) for _ in range(self.number("Q"))}

    def take(self, size: int) -> bytes:
        left = len(self.data) - self.at
        if size > left:
            raise InputError(
                f"ends inside its header: {size:,} bytes are wanted, and {left:,} are left",
                where=f"{self.where}, byte {self.at}", remedy=REFETCH,
            )
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, form: str) -> Any:
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]

    def text(self) -> str:
        start = self.at
        try:
            return self.take(self.number("Q")).decode("utf-8")
        except UnicodeDecodeError:
            raise InputError("a text is not UTF-8", where=f"{self.where}, byte {start}", remedy=REFETCH) from None

    def value(self, kind: int) -> Any:
        if kind == STRING:
            return self.text()
        if kind == ARRAY:
            kind, size = self.number("I"), self.number("Q")
            if kind in NUMBERS:
                width = struct.calcsize("<" + NUMBERS[kind])
                return list(struct.unpack(f"<{size}{NUMBERS[kind]}", self.take(size * width)))
            return [self.value(kind) for _ in range(size)]
        if kind not in NUMBERS:
            raise InputError(f"a value of type {kind}", where=f"{self.where}, byte {self.at}", remedy=REFETCH)
        return self.number(NUMBERS[kind])


def parse(data: bytes, where: str) -> Parsed:
    """The vocabulary, and the contract that llama.cpp's rules for it are. Raises InputError for a broken file."""
    values = Header(data, where).values
    model, pre = values.get(PREFIX + "model"), values.get(PREFIX + "pre", "default")
    if model in vocab_gguf_spm.MODELS:
        return _pieces(values, where)
    if model != "gpt2":
        return Parsed(unmodelled=[f"{PREFIX}model: {model} is not modelled"])
    if pre not in pretokenizers():
        return Parsed(unmodelled=[f"{PREFIX}pre: the expression that {pre!r} stands for is not known here"])
    texts = _listed(values, "tokens", where)
    types = values.get(PREFIX + "token_type") or [NORMAL] * len(texts)
    if len(types) != len(texts):
        raise InputError(f"{len(texts)} tokens and {len(types)} types", where=where, remedy=REFETCH)
    tokens: dict[bytes, int] = {}
    specials: dict[str, int] = {}
    added: list[tuple[str, int, tuple[str, ...]]] = []
    for number, (text, kind) in enumerate(zip(texts, types, strict=True)):
        if kind in (CONTROL, UNKNOWN):
            specials[text] = number
        elif kind == USER_DEFINED:
            added.append((text, number, ()))
        elif kind != UNUSED:
            token = from_alphabet(text)
            if token is None:
                return Parsed(unmodelled=[f"token {number}, {text!r}, is no text of the byte alphabet"])
            if token in tokens:
                raise InputError(
                    f"token {text!r} is also that of id {tokens[token]}", where=f"{where}, token {number}",
                    remedy=REFETCH,
                )
            tokens[token] = number
    if (byte := missing_byte(tokens)) is not None:
        return Parsed(unmodelled=[f"byte 0x{byte:02x} has no token, and what llama.cpp does then is not modelled"])
    rows = _listed(values, "merges", where)
    listed = [(read_pair(row.split(" "), f"{where}, merge {n}"), f"{where}, merge {n}") for n, row in enumerate(rows)]
    merges, notes = unique_merges(listed, tokens)
    patterns, whole = pretokenizers()[pre]
    parsed = Parsed(settle_pairs(tokens, merges, specials, ignore_merges=whole), notes=notes)
    parsed.pretokenizer = patterns
    parsed.special_tokens = sorted_specials(specials)
    parsed.added_tokens = tuple(added)
    parsed.notes.append(f"{PREFIX}pre is {pre}: the expression is the one its models publish")
    return parsed


def model(data: bytes, where: str) -> bytes:
    """A SentencePiece model file that says what a GGUF file does. Raises InputError."""
    return vocab_gguf_spm.rebuilt(Header(data, where).values, where)


def _pieces(values: dict[str, Any], where: str) -> Parsed:
    try:
        parsed = vocab_spm.parse(vocab_gguf_spm.rebuilt(values, where), where)
    except InputError as error:
        raise InputError(str(error), where=f"{where}: {PREFIX}tokens", remedy=error.remedy) from None
    parsed.notes.append("rebuilt from a GGUF file")
    return parsed


def _listed(values: dict[str, Any], key: str, where: str) -> list[str]:
    found = values.get(PREFIX + key)
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise InputError(f"no list of texts under {PREFIX}{key}", where=where, remedy=REFETCH)
    return found


# -- writing ----------------------------------------------------------------------------------------------------------


def name_of(contract: Contract) -> str | None:
    """The name in `tokenizer.ggml.pre` by which llama.cpp does what the contract says; None where there is none."""
    flagged = contract.specials == "on" and any(flags for _, _, flags in contract.added_tokens)
    if contract.normalizer != "none" or contract.add_prefix_space or flagged:
        return None
    # Where ids are ranks and no whole-piece look-up is needed, it is without effect.
    either = contract.algorithm == "bpe-ranks" and not contract.ignore_merges
    for name, (patterns, whole) in pretokenizers().items():
        if patterns == contract.pretokenizer and (either or whole == contract.ignore_merges):
            return name
    return None


def gguf(vocabulary: Vocabulary, merges: Iterable[Pair], contract: Contract) -> bytes:
    """A vocabulary-only file that means the contract, whose `name_of` is not None. Special and added tokens are in it
    only under specials "on"; an id without a token is unused."""
    rows = {number: (to_alphabet(token), NORMAL) for token, number in vocabulary.tokens.items() if token}
    if contract.specials == "on":
        rows |= {number: (text, CONTROL) for text, number in contract.special_tokens}
        rows |= {number: (text, USER_DEFINED) for text, number, _ in contract.added_tokens}
    table = [rows.get(number, (f"[PAD{number}]", UNUSED)) for number in range(max(rows, default=-1) + 1)]
    values: list[tuple[str, bytes]] = [
        ("general.architecture", _text("gpt2")),
        (PREFIX + "model", _text("gpt2")),
        (PREFIX + "pre", _text(name_of(contract) or "")),
        (PREFIX + "tokens", _array(STRING, [_string(text) for text, _ in table])),
        (PREFIX + "token_type", _array(I32, [struct.pack("<i", kind) for _, kind in table])),
        (PREFIX + "merges", _array(STRING, [_string(f"{to_alphabet(a)} {to_alphabet(b)}") for a, b in merges])),
    ]
    head = MAGIC + struct.pack("<IQQ", 3, 0, len(values))
    return head + b"".join(_string(key) + value for key, value in values)


def _string(text: str) -> bytes:
    data = text.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def _text(text: str) -> bytes:
    return struct.pack("<I", STRING) + _string(text)


def _array(kind: int, rows: list[bytes]) -> bytes:
    return struct.pack("<IIQ", ARRAY, kind, len(rows)) + b"".join(rows)
