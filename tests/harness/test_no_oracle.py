"""A contract that the oracle does not model: engines are held to each other, and each answers for itself alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

ADAPTER = """
import os
import tokenizers

class Adapter:
    name, operations, rejects = "word", ("encode", "encode_batch"), (KeyError,)

    def version(self):
        return "1"

    def load(self, contract, files, threads, options):
        self.inner, self.fault = tokenizers.Tokenizer.from_file(files["source"]), options["fault"]

    def prepare(self, document):
        return document.decode("utf-8", "replace")

    def encode(self, item):
        if self.fault == "rejects" and "a" in item:
            raise KeyError(item)
        if self.fault == "dies":
            os._exit(3)
        return self.inner.encode(item, add_special_tokens=False).ids[self.fault == "drops":]

    def encode_batch(self, items, threads):
        return [self.encode(item) for item in items]
"""
DOCUMENTS = [b"a b", b"b", b"b c", b"\xff"]


@pytest.fixture
def audited(tmp_path: Path, run_audit: Callable[..., Any]) -> Callable[..., Any]:
    """Audits a word-level tokenizer.json with engines of these faults, in this order, and `tokenizers`."""
    made = Tokenizer(models.WordLevel({"a": 0, "b": 1, "[UNK]": 2}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "words.json"))
    (tmp_path / "word.py").write_text(ADAPTER, encoding="utf-8")
    (tmp_path / "roster.toml").write_text(
        "".join(
            f'[{fault}]\nrequirement = "word"\nenvironment = "project"\nadapter = "word.py"\nalgorithms = ["opaque"]\n'
            'byte_policy = "replace"\nunicode = "16.0"\nspecials = ["off"]\nlicence = "MIT"\nhome = "here"\n'
            f'operations = ["encode", "encode_batch"]\noptions = {{ fault = "{fault}" }}\n'
            for fault in ("none", "rejects", "dies", "drops")
        ),
        encoding="utf-8",
    )

    def run(*engines: str, **options: Any) -> Any:
        return run_audit(
            *engines,
            documents=DOCUMENTS,
            vocabulary=str(tmp_path / "words.json"),
            roster=(tmp_path / "roster.toml",),
            **options,
        )

    return run


def test_engines_that_agree(audited: Callable[..., Any]) -> None:
    run = audited("none", "tokenizers")
    assert run.verdicts("none") == {"match": 3, "unsupported": 1}
    assert run.verdicts("tokenizers") == {"match": 3, "reject": 1}
    assert run.outcome.exit_code == 0


@pytest.mark.parametrize("engines", [("rejects", "tokenizers", "none"), ("tokenizers", "none", "rejects")])
def test_who_rejects_text_differs_and_nobody_else_does(audited: Callable[..., Any], engines: tuple[str, ...]) -> None:
    """No byte policy refuses well-formed text; and a reject is nothing to hold another engine to."""
    run = audited(*engines)
    assert run.verdicts("rejects") == {"differ": 1, "match": 2, "unsupported": 1}
    assert run.verdicts("tokenizers") == {"match": 3, "reject": 1}
    (found,) = run.divergences("rejects")
    assert (
        found["explanation"] == f"rejects rejects it, {engines[1] if engines[0] == 'rejects' else engines[0]} gives ids"
    )
    assert run.outcome.exit_code == 1


def test_rejecting_text_alone_differs_too(audited: Callable[..., Any]) -> None:
    assert audited("rejects").verdicts("rejects") == {"differ": 1, "unsupported": 3}


@pytest.mark.parametrize("engines", [("dies", "tokenizers"), ("tokenizers", "dies")])
def test_a_dead_engine_is_not_the_others_fault(audited: Callable[..., Any], engines: tuple[str, ...]) -> None:
    run = audited(*engines)
    assert run.verdicts("dies") == {"crash": 4}
    assert run.verdicts("tokenizers") == {"unsupported": 3, "reject": 1}


def test_a_difference_is_both_sides(audited: Callable[..., Any]) -> None:
    run = audited("drops", "tokenizers")
    assert run.verdicts("drops") == {"differ": 3, "unsupported": 1}
    assert run.verdicts("tokenizers") == {"differ": 3, "reject": 1}


def test_an_operation_nobody_declares_is_unsupported(audited: Callable[..., Any]) -> None:
    run = audited("none", "tokenizers", operations=("decode",))
    assert run.verdicts("none", "decode") == {"unsupported": 4}
    assert run.verdicts("tokenizers", "decode")["differ"] == 0
