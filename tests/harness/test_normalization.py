"""A normalizer of another Unicode version: recomputed by that version's tables, on neutral documents too."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokassay.engines.roster import ROSTER
from tokassay.harness.alphabet import to_alphabet
from tokassay.harness.contract import Contract
from tokassay.harness.errors import InputError
from tokassay.harness.variants import parse_variants
from tokassay.oracles.oracle import Oracle
from tokassay.reports.write import write_report

# A Sogdian mark of Unicode 11.0 (combining class 230) before an overlay (class 1): later versions exchange the two.
YOUNG = "a\U00010f4c\u20d8"
PLAIN = ["e\u0301", "\u1100\u1161", "plain", "a\u20d8\u0301"]


@pytest.fixture
def vocabulary(tmp_path: Path) -> str:
    """Bytes, NFC and GPT-2's split as a tokenizer.json."""
    model = {
        "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
        "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
        "vocab": {to_alphabet(bytes((byte,))): byte for byte in range(256)}, "merges": [],
    }
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
    root = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": {"type": "NFC"},
        "pre_tokenizer": level, "post_processor": None, "decoder": level, "model": model,
    }
    path = tmp_path / "bytes.json"
    path.write_text(json.dumps(root), encoding="utf-8")
    return str(path)


@pytest.fixture
def audited(tmp_path: Path, vocabulary: str, run_audit: Callable[..., Any]) -> Callable[..., Any]:
    """Audits tokenizers, declared to normalize by `version` ("": it declares nothing), beside dat-bpe."""

    def run(version: str, *texts: str, **options: Any) -> Any:
        text = ROSTER.read_text(encoding="utf-8")
        table = re.search(r"^\[tokenizers\]\n.*?(?=^\[sentencepiece\])", text, re.MULTILINE | re.DOTALL)
        assert table is not None
        other = table[0].replace("[tokenizers", "[other").replace('"adapters/', f'"{ROSTER.parent}/adapters/')
        declared = f'normalization = "{version}"' if version else ""
        other, count = re.subn(r'^normalization = "9\.0".*$', declared, other, flags=re.MULTILINE)
        assert count == 1
        roster = tmp_path / "other.toml"
        roster.write_text(other, encoding="utf-8")
        documents = [each.encode() for each in texts]
        return run_audit(
            "dat-bpe", "other", documents=documents, vocabulary=vocabulary, roster=(roster,), **options
        )

    return run


def test_what_python_says_of_the_document() -> None:
    """The premise: Python exchanges them by 14.0; to a version that lacks it, a character is a starter (UAX #15)."""
    assert unicodedata.normalize("NFC", YOUNG) == "a\u20d8\U00010f4c"
    assert unicodedata.ucd_3_2_0.category(YOUNG[1]) == "Cn"


@pytest.mark.parametrize("version", ["9.0", "10.0"])
def test_its_own_version_is_declared_and_explained(
    audited: Callable[..., Any], tmp_path: Path, version: str
) -> None:
    run = audited(version, *PLAIN, YOUNG)
    assert run.verdicts("dat-bpe") == {"match": 5}
    assert run.verdicts("other") == {"match": 4, "declared": 1}
    assert run.outcome.exit_code == 0
    (found,) = run.divergences("other")
    assert found["domain"] == "neutral"
    assert f"NFC of Unicode {version}" in found["explanation"] and "NFC of Unicode 16.0" in found["explanation"]
    assert f"oracle@16.0+nfc{version}" in found["command"]
    pages = write_report(run.store, run.outcome.run, tmp_path / "report")
    assert f"16.0, normalizer {version}" in pages[1].read_text(encoding="utf-8")


@pytest.mark.parametrize("version", ["", "11.0", "14.0"])
def test_another_version_than_it_has_is_a_difference(audited: Callable[..., Any], version: str) -> None:
    run = audited(version, *PLAIN, YOUNG)
    assert run.verdicts("dat-bpe") == {"match": 5}
    assert run.verdicts("other") == {"match": 4, "differ": 1}
    assert run.outcome.exit_code == 1


def test_a_block_without_such_a_character_has_one_oracle(audited: Callable[..., Any]) -> None:
    run = audited("9.0", *PLAIN)
    assert run.verdicts("other") == {"match": 4}
    cells = run.rows("SELECT * FROM v_cell WHERE run = ?")
    assert len({cell["contract"] for cell in cells}) == 2  # two contracts, and the oracle was asked under one of them
    assert len(run.rows("SELECT * FROM oracle_block WHERE ? != ''")) == 1


def test_declared_results_are_reused(audited: Callable[..., Any]) -> None:
    audited("9.0", *PLAIN, YOUNG)
    again = audited("9.0", *PLAIN, YOUNG)
    assert all(row["reused"] for row in again.rows("SELECT * FROM run_result WHERE run = ?"))
    assert again.verdicts("other") == {"match": 4, "declared": 1}


def test_the_oracle_normalizes_by_the_contracts_own_version() -> None:
    contract = Contract("bpe-ranks", "", normalizer="nfc")
    tokens = {bytes((byte,)): byte for byte in range(256)}
    for version, right in ((None, unicodedata.normalize("NFC", YOUNG)), ("9.0", YOUNG)):
        oracle = Oracle(contract.with_variants(normalization=version).to_json(), tokens)
        assert bytes(oracle.encode(YOUNG.encode())) == right.encode()


def test_how_a_command_line_writes_it() -> None:
    assert parse_variants("@16.0+nfc9.0") == {"unicode": "16.0", "normalization": "9.0"}
    with pytest.raises(InputError, match=r"normalization 3\.2 is not known"):
        parse_variants("@16.0+nfc3.2")
