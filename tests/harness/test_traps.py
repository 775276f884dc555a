"""The vocabulary `traps`: tokens that merging cannot reach, without which a look-up of whole pieces that nobody asked
for is right everywhere."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import tokenizers
from tokassay.harness.load import load_vocabulary
from tokassay.harness.vocab_verify import verify
from tokassay.harness.vocabulary import unreachable_by_pairs

STAGES = Path(__file__).parents[1] / "engines" / "planted" / "stages.toml"


def test_the_file_is_what_the_script_makes() -> None:
    path = Path(str(files("tokassay.fixtures"))) / "vocab" / "traps.json"
    script = Path(__file__).parents[2] / "fixtures" / "derive_traps.py"
    spec = importlib.util.spec_from_file_location("derive_traps", script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert json.loads(path.read_text(encoding="utf-8")) == module.tokenizer(module.tokens())


def test_out_of_reach_is_what_the_library_of_its_format_leaves_in_parts() -> None:
    loaded = load_vocabulary("traps")
    tokens, merges = loaded.vocabulary.tokens, loaded.vocabulary.merges
    assert merges is not None and not loaded.contract.ignore_merges
    library = tokenizers.Tokenizer.from_file(str(loaded.source_path))
    whole = {token: number for token, number in tokens.items() if token.isascii()}
    parts = {token for token, number in whole.items() if library.encode(token.decode()).ids != [number]}
    assert parts == {token for token in unreachable_by_pairs(tokens, merges) if token.isascii()}
    assert len(parts) > 50
    assert verify("traps").failures == []


def test_joined_tokens_find_who_looks_whole_pieces_up(run_audit: Callable) -> None:
    """On GPT-2's own vocabulary the same engine is right: every token is reached."""
    asked = {"corpora": ("concat:200",), "roster": (STAGES,)}
    found = run_audit("looks-up-whole", vocabulary="traps", reduce_s=5.0, **asked)
    assert found.verdicts("looks-up-whole")["differ"] > 0
    reduced = found.rows("SELECT minimal, stage FROM v_reduction WHERE run = ? AND outcome = 'reduced'")
    shortest = min(map(len, unreachable_by_pairs(*_parts())))
    assert {row["stage"] for row in reduced} == {"lookup"}
    assert min(len(bytes.fromhex(row["minimal"])) for row in reduced) == shortest
    assert run_audit("looks-up-whole", store="gpt2.sqlite", **asked).outcome.exit_code == 0


def _parts() -> tuple[dict[bytes, int], tuple[tuple[bytes, bytes], ...]]:
    vocabulary = load_vocabulary("traps").vocabulary
    return dict(vocabulary.tokens), vocabulary.merges or ()
