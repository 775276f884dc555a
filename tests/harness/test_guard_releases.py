"""Real releases: what public reports say of two dependency bumps is what a check names. They are fetched.

DeepSeek V3 with tokenizers: its regular expressions know Unicode 14 up to 0.21.1 and Unicode 16 from 0.21.2 on; the ids
of "a" and U+1FAE8 under either are in the report marcelroed/gigatoken#37. sentencepiece: which of two equally good ways
to cut an odd run of one letter, huggingface/tokenizers#1213, which has the training text too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokassay.corpora.fetch import fetch_file, find_entry
from tokassay.engines.environments import install, with_version
from tokassay.engines.roster import load_roster
from tokassay.harness.golden_file import read_golden
from tokassay.harness.guard import Checked, Guard, freeze

pytestmark = [pytest.mark.network, pytest.mark.timeout(900)]


def frozen(engine: str, vocabulary: str, out: Path, corpora: tuple[str, ...]) -> None:
    name, _, version = engine.partition("==")
    roster = load_roster()
    install(with_version(roster[name], version))
    out.write_text(freeze(vocabulary, engine, roster, out=out, corpora=corpora).text(), encoding="utf-8")


def checked(engine: str, path: Path) -> Checked:
    name, _, version = engine.partition("==")
    roster = load_roster()
    install(with_version(roster[name], version))
    with Guard(read_golden(path), roster, engine=engine) as guard:
        return guard.check()


@pytest.fixture(scope="module")
def deepseek(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """DeepSeek V3's file by tokenizers 0.21.1."""
    fetch_file(find_entry("hf-tokenizer-json-deepseek-v3"))
    folder = tmp_path_factory.mktemp("deepseek")
    (folder / "texts.txt").write_text("hello world\na \U0001fae8\n", encoding="utf-8")
    path = folder / "golden.json"
    frozen("tokenizers==0.21.1", "deepseek_v3_json", path, (str(folder / "texts.txt"), "sample", "codepoints"))
    return path


@pytest.mark.parametrize("version", ["0.21.2", "0.22.0", "0.23.3"])
def test_code_points_newly_known_change_ids(deepseek: Path, version: str) -> None:
    report: dict[str, Any] = checked(f"tokenizers=={version}", deepseek).to_json()
    texts, sample, points = report["corpora"]
    assert report["exit_code"] == 1 and f"tokenizers 0.21.1 is now {version}" in report["changes"][0]
    first = texts["first"]
    assert texts["differ"] == 1 and first["text"] == repr("a \U0001fae8")
    assert (first["frozen"], first["now"]) == ([67, 223, 3574, 107, 104], [67, 7351, 107, 104])
    assert (first["token"], first["frozen_id"], first["now_id"]) == (1, 223, 7351)
    assert sample["same"]  # what everybody knows is cut as before
    assert points["differ"] > 1000
    # DerivedAge.txt of Unicode: the first assigned code point whose age is between 14.0 and 16.0 and that this
    # tokenizer treats otherwise is U+1B4E, of 16.0.
    assert points["first"]["name"] == "codepoints 1B4E"


def test_the_release_before_gives_the_same(deepseek: Path) -> None:
    assert checked("tokenizers==0.21.0", deepseek).exit_code == 0


def test_ties_of_a_unigram_model_are_settled_otherwise(tmp_path: Path) -> None:
    import sentencepiece

    text = tmp_path / "train.txt"
    text.write_text("hello bye goodbye what's up good mood oo\n", encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(tmp_path / "m"), vocab_size=23, minloglevel=2
    )
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "m.model"))
    one, two = pieces.piece_to_id("o"), pieces.piece_to_id("oo")
    (tmp_path / "texts.txt").write_text("hello bye\nnooooo\n", encoding="utf-8")
    path = tmp_path / "golden.json"
    corpora = (str(tmp_path / "texts.txt"), "repeats")
    frozen("sentencepiece==0.2.1", str(tmp_path / "m.model"), path, corpora)
    for version in ("0.2.2", "0.2.3"):
        report = checked(f"sentencepiece=={version}", path).to_json()
        texts, repeats = report["corpora"]
        assert report["exit_code"] == 1 and texts["first"]["text"] == "'nooooo'" and texts["differ"] == 1
        assert texts["first"]["frozen"][-3:] == [two, two, one] and texts["first"]["now"][-3:] == [one, two, two]
        assert not repeats["same"] and json.dumps(report)
