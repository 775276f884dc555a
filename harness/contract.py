"""Contracts: what fixes the right ids of a document.

A contract has a *core* (algorithm, vocabulary, normalizer, pretokenizer, special-token policy, added-token flags
and options) and *variants* (Unicode version, byte policy, the normalizer's own Unicode version). Engines of one
core are compared with each other on neutral documents; elsewhere each is held to the oracle under its own declared
variants. The identity of either is a digest of canonical JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

from tokassay.harness.errors import InputError

GREEDY = "greedy-longest"
BPE_SCORES, UNIGRAM = "bpe-scores", "unigram-viterbi"
PIECES = (BPE_SCORES, UNIGRAM)  # SentencePiece's, over pieces with scores
WORDPIECE = "wordpiece"
ALGORITHMS = ("bpe-ranks", "bpe-pairs", GREEDY, *PIECES, WORDPIECE, "opaque")
# Steps of a normalizer; a contract has "none", or some of them in their order, joined by "+".
NORMALIZER_STEPS = (
    "nfc", "nfkc", "charsmap", "clean", "clean-private", "clean-other", "cjk-spaces", "lowercase", "lowercase-each",
    "strip-accents", "prepend-metaspace", "metaspace",
)  # fmt: skip
# Those that a Unicode version has a say in, and those whose version of lower case is another variant.
UNICODE_STEPS = ("nfc", "nfkc", "clean", "clean-private", "clean-other", "strip-accents")
CASING_STEPS = ("lowercase", "lowercase-each")
WHITESPACE = ("collapse", "literal", "suffix")
GAPS = ("kept", "dropped")
SPECIAL_POLICIES = ("off", "on")
UNICODE_VERSIONS = ("15.0", "15.1", "16.0", "17.0")
EARLIER_UNICODE = ("8.0",)  # known to an engine of `wordpiece`
# From 4.1 on, a version's NFC is a later one's without the characters that it lacks (UAX #15, stability).
NORMALIZATION_VERSIONS = (
    "4.1", "5.0", "5.1", "5.2", "6.0", "6.1", "6.2", "6.3", "7.0", "8.0", "9.0", "10.0", "11.0", "12.0", "12.1", "13.0",
    "14.0", *UNICODE_VERSIONS,
)
BYTE_POLICIES = ("reject", "replace", "replace-each-byte", "byte-alphabet", "tiktoken-bytes", "raw")
ADDED_FLAGS = ("lstrip", "rstrip", "single_word", "normalized")
VARIANTS = ("unicode", "byte_policy", "normalization", "casing")
DEFAULT_UNICODE = "16.0"
DEFAULT_BYTE_POLICY = "byte-alphabet"
DIGEST_HEX = 16

AddedToken = tuple[str, int, tuple[str, ...]]


@dataclass(frozen=True)
class Contract:
    """What fixes the right ids: a core and its variants.

    `vocabulary` is the SHA-256 (64 hex digits) of `Vocabulary.canonical()`, or of the file where `algorithm`
    is "opaque". `pretokenizer` holds published regular expressions applied in order, each keeping matches and
    gaps as pieces. `specials` "off" makes the text of every special and added token ordinary text; "on"
    matches `special_tokens` and `added_tokens` leftmost, then longest, before the pretokenizer.
    `post_processor` is named and never applied. `unknown` is the id of a byte at which no token starts, which is
    then lost; None (and no field of the JSON object) where there is no such byte, or where it is an error. Of pieces
    it is the id of what no piece is found for, and `whitespace` (no field where it is empty) says what their normalizer
    does to white space: "collapse", "literal", "suffix". Under `wordpiece` it is the id of an unknown word,
    `continuing_prefix` what tokens inside of words begin with, and `max_word_chars` how many characters a word may
    have.
    `byte_fallback` means that merging begins with characters and not with bytes; a character that is no token is
    the tokens `<0x00>` to `<0xFF>` of its bytes. `end_of_word` is what the last byte of each piece is written with
    before it is merged ("": nothing, and no field). `gaps` is "dropped" where what lies between the matches of the
    pretokenizer is lost; "kept" (and no field) where it is a piece.
    `normalization` is the Unicode version of the normalizer; None (and no field) where it is `unicode`. `casing` is
    that of its lower case; None (and no field) where it is `normalization` or there is none.
    """

    algorithm: str
    vocabulary: str
    normalizer: str = "none"
    pretokenizer: tuple[str, ...] = ()
    specials: str = "off"
    special_tokens: tuple[tuple[str, int], ...] = ()
    added_tokens: tuple[AddedToken, ...] = ()
    ignore_merges: bool = False
    add_prefix_space: bool = False
    byte_fallback: bool = False
    post_processor: str = "none"
    unknown: int | None = None
    end_of_word: str = ""
    gaps: str = "kept"
    whitespace: tuple[str, ...] = ()
    continuing_prefix: str | None = None
    max_word_chars: int | None = None
    unicode: str = field(default=DEFAULT_UNICODE)
    byte_policy: str = field(default=DEFAULT_BYTE_POLICY)
    normalization: str | None = None
    casing: str | None = None

    def to_json(self) -> dict[str, Any]:
        """All fields as JSON values (tuples become lists)."""
        value: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        for name, absent in _LEFT_OUT.items():
            if value[name] == absent:
                del value[name]  # so that a contract without it has one form, and the digest that it always had
        return value

    def core(self) -> dict[str, Any]:
        """The fields that must agree before two engines are compared: all but the variants."""
        return {name: value for name, value in self.to_json().items() if name not in VARIANTS}

    def canonical(self) -> bytes:
        """Sorted-key compact ASCII JSON of every field."""
        return canonical_json(self.to_json())

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of special and added tokens, in that order."""
        return tuple(dict.fromkeys([each[0] for each in self.special_tokens] + [each[0] for each in self.added_tokens]))

    @property
    def normalizes_by(self) -> str:
        """The Unicode version of the normalizer."""
        return self.normalization or self.unicode

    @property
    def byte_level(self) -> bool:
        """Whether pieces are all of a text and merging begins with their bytes, so that tokens are bytes of it."""
        whole = not self.byte_fallback and not self.end_of_word and self.gaps == "kept"
        return whole and self.algorithm not in PIECES

    @property
    def lowers_by(self) -> str:
        """The Unicode version of the normalizer's lower case."""
        return self.casing or self.normalizes_by

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps of the normalizer, in order."""
        return () if self.normalizer == "none" else tuple(self.normalizer.split("+"))

    @cached_property
    def digest(self) -> str:
        """16 hex digits over core and variants."""
        return sha256(self.canonical()).hexdigest()[:DIGEST_HEX]

    @cached_property
    def core_digest(self) -> str:
        """16 hex digits over the core alone."""
        return sha256(canonical_json(self.core())).hexdigest()[:DIGEST_HEX]

    def with_variants(
        self, *, unicode: str | None = None, byte_policy: str | None = None, specials: str | None = None,
        normalization: str | None = None, casing: str | None = None,
    ) -> Contract:
        """The same contract under another Unicode version, byte policy, special-token policy or Unicode version of the
        normalizer or of its lower case (None keeps). These two are left out where they say nothing: no normalizer that
        asks, or the version that holds anyway."""
        classless = self.algorithm in PIECES  # the model's own tables say all: no Unicode version has a say
        changed = replace(
            self,
            unicode=self.unicode if classless else unicode or self.unicode,
            byte_policy=byte_policy or self.byte_policy,
            specials=specials or self.specials,
            normalization=normalization or self.normalization,
            casing=casing or self.casing,
        )
        _check(changed)
        lowers = bool(set(changed.steps) & set(CASING_STEPS))
        if not (lowers or set(changed.steps) & set(UNICODE_STEPS)) or changed.normalization == changed.unicode:
            changed = replace(changed, normalization=None)
        if not lowers or changed.casing == changed.normalizes_by:
            changed = replace(changed, casing=None)
        return changed

    @classmethod
    def from_json(cls, value: Mapping[str, Any], *, where: str = "contract") -> Contract:
        """The contract that `to_json` wrote. Raises InputError for an unknown, missing or ill-typed field."""
        known = {f.name for f in fields(cls)}
        unknown = sorted(set(value) - known)
        missing = sorted({"algorithm", "vocabulary"} - set(value))
        if unknown or missing:
            what = f"unknown field {unknown[0]!r}" if unknown else f"no field {missing[0]!r}"
            raise InputError(what, where=where, remedy=f"a contract has the fields {', '.join(sorted(known))}")
        shaped: dict[str, Any] = dict(value)
        try:
            for name in _TUPLES.keys() & shaped.keys():
                shaped[name] = _TUPLES[name](shaped[name])
            contract = cls(**shaped)
        except (TypeError, ValueError, IndexError) as error:
            raise InputError(f"ill-formed contract: {error}", where=where, remedy="see docs/FORMATS.md") from None
        _check(contract, where)
        return contract


def _check(contract: Contract, where: str = "contract") -> None:
    allowed: list[tuple[str, Sequence[str]]] = [
        ("algorithm", ALGORITHMS),
        ("gaps", GAPS),
        ("specials", SPECIAL_POLICIES),
        ("unicode", (*EARLIER_UNICODE, *UNICODE_VERSIONS) if contract.algorithm == WORDPIECE else UNICODE_VERSIONS),
    ]
    for name, values in allowed:
        if getattr(contract, name) not in values:
            raise InputError(f"{name} is {getattr(contract, name)!r}", where=where, remedy="use " + " | ".join(values))
    for step in contract.steps:
        if step not in NORMALIZER_STEPS:
            remedy = f"use none, or steps of {' | '.join(NORMALIZER_STEPS)} joined by +"
            raise InputError(f"normalizer has the step {step!r}", where=where, remedy=remedy)
    if not isinstance(contract.end_of_word, str):
        raise InputError(f"end_of_word is {contract.end_of_word!r}", where=where, remedy="give a text")
    for word in contract.whitespace:
        if word not in WHITESPACE:
            raise InputError(f"whitespace has {word!r}", where=where, remedy="use some of " + ", ".join(WHITESPACE))
    for name in ("normalization", "casing"):
        value = getattr(contract, name)
        if value is not None and value not in NORMALIZATION_VERSIONS:
            raise InputError(
                f"{name} is {value!r}", where=where, remedy=f"use {' | '.join(NORMALIZATION_VERSIONS)}",
            )
    for name in ("ignore_merges", "add_prefix_space", "byte_fallback"):
        if not isinstance(getattr(contract, name), bool):
            raise InputError(f"{name} is {getattr(contract, name)!r}", where=where, remedy="use true or false")
    for name, what in (("unknown", "an id"), ("max_word_chars", "a number of characters")):
        value = getattr(contract, name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise InputError(f"{name} is {value!r}", where=where, remedy=f"give {what}, or leave it out")
    if contract.continuing_prefix is not None and not isinstance(contract.continuing_prefix, str):
        raise InputError(
            f"continuing_prefix is {contract.continuing_prefix!r}", where=where, remedy="give a text, or leave it out"
        )


def canonical_json(value: object) -> bytes:
    """Sorted-key compact ASCII JSON: one byte string for one value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")


# Fields of later days, and the value under which a contract's JSON has no such field.
_LEFT_OUT: dict[str, object] = {
    "unknown": None, "whitespace": [], "end_of_word": "", "continuing_prefix": None, "max_word_chars": None,
    "gaps": "kept", "normalization": None, "casing": None,
}  # fmt: skip
_TUPLES: dict[str, Callable[[Any], Any]] = {
    "pretokenizer": lambda items: tuple(str(item) for item in items),
    "whitespace": lambda items: tuple(str(item) for item in items),
    "special_tokens": lambda items: tuple((str(text), int(number)) for text, number in items),
    "added_tokens": lambda items: tuple((str(t), int(n), tuple(str(f) for f in flags)) for t, n, flags in items),
}
