"""Variants as the command line writes them: POLICY, @UNICODE, or POLICY@UNICODE; with +nfcVERSION behind a Unicode
version, the normalizer is of another one."""

from __future__ import annotations

from tokassay.harness.contract import BYTE_POLICIES, NORMALIZATION_VERSIONS, UNICODE_VERSIONS
from tokassay.harness.errors import InputError


def parse_variants(text: str | None, where: str = "--contract") -> dict[str, str]:
    """The fields of a contract that `text` names: byte_policy, unicode, normalization; none for None or ""."""
    policy, _, unicode = (text or "").partition("@")
    unicode, _, normalization = unicode.partition("+nfc")
    found = {}
    for name, value, allowed in (
        ("byte_policy", policy, BYTE_POLICIES),
        ("unicode", unicode, UNICODE_VERSIONS),
        ("normalization", normalization, NORMALIZATION_VERSIONS),
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
