"""Contracts: canonical JSON, digests, and what is refused."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
from tokassay.harness.contract import Contract
from tokassay.harness.errors import InputError

WHOLE = {
    "algorithm": "bpe-ranks",
    "vocabulary": "ab" * 32,
    "normalizer": "nfc",
    "pretokenizer": ["\\p{N}{1,3}", "\\s+"],
    "specials": "on",
    "special_tokens": [["<|endoftext|>", 3]],
    "added_tokens": [["<x>", 4, ["lstrip", "normalized"]]],
    "ignore_merges": True,
    "add_prefix_space": False,
    "byte_fallback": False,
    "post_processor": "TemplateProcessing",
    "unicode": "17.0",
    "byte_policy": "tiktoken-bytes",
}


def hex16(value: dict[str, Any]) -> str:
    return sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:16]


def test_json_round_trip_and_digests_are_those_of_sorted_compact_json() -> None:
    contract = Contract.from_json(WHOLE)
    assert contract.to_json() == WHOLE
    assert contract.digest == hex16(WHOLE)
    core = {key: value for key, value in WHOLE.items() if key not in ("unicode", "byte_policy")}
    assert contract.core() == core
    assert contract.core_digest == hex16(core)
    assert Contract.from_json(json.loads(contract.canonical())) == contract


def test_variants_change_the_digest_and_not_the_core() -> None:
    one = Contract.from_json(WHOLE)
    other = one.with_variants(unicode="15.1", byte_policy="reject")
    assert (other.unicode, other.byte_policy) == ("15.1", "reject")
    assert other.core_digest == one.core_digest
    assert other.digest != one.digest


def test_a_normalizer_of_another_version_is_a_variant() -> None:
    one = Contract.from_json({**WHOLE, "normalizer": "nfc", "unicode": "16.0"})
    assert one.with_variants(normalization="16.0") == one  # it says nothing new
    other = one.with_variants(normalization="9.0")
    assert other.to_json() == one.to_json() | {"normalization": "9.0"}
    assert (other.core_digest, other.normalizes_by, one.normalizes_by) == (one.core_digest, "9.0", "16.0")
    assert Contract.from_json(other.to_json()) == other
    assert Contract.from_json({**WHOLE, "normalizer": "none"}).with_variants(normalization="9.0").normalization is None


def test_the_special_token_policy_is_part_of_the_core() -> None:
    one = Contract.from_json(WHOLE)
    assert one.with_variants(specials="off").core_digest != one.core_digest


def test_defaults_of_an_audit() -> None:
    contract = Contract("bpe-ranks", "00" * 32)
    assert (contract.unicode, contract.byte_policy, contract.specials) == ("16.0", "byte-alphabet", "off")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"nonsense": 1}, "unknown field 'nonsense'"),
        ({"algorithm": "magic"}, "algorithm is 'magic'"),
        ({"unicode": "14.0"}, "unicode is '14.0'"),
        ({"normalization": "3.2"}, "normalization is '3.2'"),
        ({"specials": "maybe"}, "specials is 'maybe'"),
        ({"ignore_merges": "yes"}, "ignore_merges is 'yes'"),
        ({"special_tokens": [["a"]]}, "ill-formed contract"),
        ({"special_tokens": 7}, "ill-formed contract"),
    ],
)
def test_what_is_no_contract_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        Contract.from_json({**WHOLE, **change}, where="contract.json")
    assert caught.value.where == "contract.json"
    assert caught.value.remedy


def test_a_missing_field_is_named() -> None:
    with pytest.raises(InputError, match="no field 'vocabulary'"):
        Contract.from_json({"algorithm": "opaque"})
