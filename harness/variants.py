"""Variants as the command line writes them: POLICY, @UNICODE, or POLICY@UNICODE; with +nfcVERSION behind a Unicode
version, the normalizer is of another one, and with +caseVERSION its lower case. And those that an engine declares."""

from __future__ import annotations

from tokassay.engines.roster import EngineSpec
from tokassay.harness.contract import (
    BYTE_POLICIES,
    EARLIER_UNICODE,
    NORMALIZATION_VERSIONS,
    UNICODE_VERSIONS,
    Contract,
)  # fmt: skip
from tokassay.harness.errors import InputError
from tokassay.harness.vocab_wordpiece import WORDS

ASKED = "asked"  # in the roster: the engine can be told this variant


def parse_variants(text: str | None, where: str = "--contract") -> dict[str, str]:
    """The fields of a contract that `text` names: byte_policy, unicode, normalization, casing; none for None or ""."""
    policy, _, unicode = (text or "").partition("@")
    unicode, _, casing = unicode.partition("+case")
    unicode, _, normalization = unicode.partition("+nfc")
    found = {}
    for name, value, allowed in (
        ("byte_policy", policy, BYTE_POLICIES),
        ("unicode", unicode, (*EARLIER_UNICODE, *UNICODE_VERSIONS)),
        ("normalization", normalization, NORMALIZATION_VERSIONS),
        ("casing", casing, NORMALIZATION_VERSIONS),
    ):
        if value:
            if value not in allowed:
                raise InputError(
                    f"{name.replace('_', ' ')} {value} is not known",
                    where=where,
                    remedy=f"use {', '.join(allowed)}",
                )
            found[name] = value
    return found


def versions(contract: Contract) -> str:
    """The Unicode versions of a contract, as `parse_variants` reads them behind an @."""
    normalization = f"+nfc{contract.normalization}" if contract.normalization else ""
    return f"{contract.unicode}{normalization}{f'+case{contract.casing}' if contract.casing else ''}"


def declared(spec: EngineSpec, contract: Contract) -> dict[str, str]:
    """The variants that an engine has under a contract; without those that it can be told."""
    words = next((kind for kind, words in WORDS.items() if (words,) == contract.pretokenizer), "")
    found = spec.declares(contract.algorithm, words, contract.specials)
    return {name: value for name, value in found.items() if value != ASKED}
