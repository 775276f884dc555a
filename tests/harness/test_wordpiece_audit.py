"""A contract of WordPiece from a file to verdicts: an engine that is right under its own tables, and planted faults."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokassay.harness.cause import changes
from tokassay.harness.cli import main
from tokassay.harness.contract import Contract
from tokassay.harness.expect import governing, own_bytes, renormalized
from tokassay.harness.hosts import target
from tokassay.harness.load import load_vocabulary
from tokassay.harness.variants import parse_variants, versions

TOKENS = ["[UNK]", "hello", "world", "caf", "##e", ",", "!", "ο", "##σ", "##ς", "中", "wor", "##ld", "##x"]
# Unicode 8.0 lacks U+1DFA, a mark since 14.0: to tokenizers it is a part of its word.
YOUNG = "hello\u1dfa"
DOCUMENTS = ["Hello, WORLD!", "Café worldx", "ΟΣ", "中中", "", YOUNG, "worldx hellohello"]
OPERATIONS = ("encode", "encode_batch", "decode", "offsets")


@pytest.fixture
def vocabulary(tmp_path: Path) -> str:
    normalizer = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "lowercase": True}
    root = {
        "version": "1.0", "added_tokens": [], "normalizer": normalizer | {"strip_accents": None},
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "decoder": {"type": "WordPiece", "prefix": "##"},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {text: number for number, text in enumerate(TOKENS)}},
    }  # fmt: skip
    path = tmp_path / "words.json"
    path.write_text(json.dumps(root), encoding="utf-8")
    return str(path)


def test_an_engine_is_held_to_its_own_unicode_version(run_audit: Callable[..., Any], vocabulary: str) -> None:
    documents = [each.encode() for each in DOCUMENTS] + [b"hello \xff"]
    run = run_audit("tokenizers", documents=documents, operations=OPERATIONS, vocabulary=vocabulary)
    assert run.outcome.exit_code == 0
    same = len(DOCUMENTS)
    for operation in OPERATIONS:
        late = 0 if operation == "decode" else 1
        assert run.verdicts("tokenizers", operation) == {"match": same - late, "reject": 1} | (
            {"declared": 1} if late else {}
        )


FAULTY = """
[faulty]
requirement = "tokassay"
environment = "project"
adapter = "faulty.py"
algorithms = ["wordpiece"]
byte_policy = "reject"
unicode = "16.0"
specials = ["off"]
operations = ["encode"]
licence = "MIT"
home = "here"
"""
ADAPTER = """
import re

class Adapter:
    name, operations, rejects = "faulty", ("encode",), (UnicodeDecodeError,)

    def version(self):
        return "1"

    def load(self, contract, files, threads, options):
        lines = open(files["vocab.txt"], encoding="utf-8").read().split("\\n")
        self.ids = {line: number for number, line in enumerate(lines) if line}
        self.unknown = contract["unknown"]

    def prepare(self, document):
        return document.decode()

    def encode(self, item):
        # Two faults: accents stay, and a word with an unknown part keeps the parts before it.
        found = []
        for word in re.findall(r"[,!中]|[^\\s,!中]+", item.lower().replace("ς", "σ")):
            at, prefix = 0, ""
            while at < len(word):
                ends = [end for end in range(len(word), at, -1) if prefix + word[at:end] in self.ids]
                found.append(self.ids[prefix + word[at : ends[0]]] if ends else self.unknown)
                at, prefix = (ends or [len(word)])[0], "##"
        return found
"""


def test_planted_faults_are_found(run_audit: Callable[..., Any], vocabulary: str, tmp_path: Path) -> None:
    (tmp_path / "faulty.toml").write_text(FAULTY)
    (tmp_path / "faulty.py").write_text(ADAPTER)
    documents = [each.encode() for each in DOCUMENTS if each != YOUNG]
    run = run_audit("faulty", documents=documents, vocabulary=vocabulary, roster=(tmp_path / "faulty.toml",))
    assert run.outcome.exit_code == 1
    assert run.verdicts("faulty") == {"match": 4, "differ": 2}  # of the accent, and of hellohello


def run(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    return int(stop.value.code or 0), capfd.readouterr().out


def test_verbs_go_by_the_rule(vocabulary: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(capfd, "decode", "--vocab", vocabulary, "1", "5", "3", "4", "13") == (0, "hello , cafex")
    code, out = run(capfd, "diff", "tokenizers", "oracle", "--vocab", vocabulary, "--text", "ΟΣ", "--json")
    assert (code, [json.loads(out)[name]["ids"] for name in ("left", "right")]) == (0, [[7, 8], [7, 8]])
    code, out = run(capfd, "trace", "oracle", "--vocab", vocabulary, "--text", "Café!", "--json")
    stages = [each["stage"] for each in json.loads(out)["decisions"]]
    assert (code, stages[0], stages[-1], stages.count("lookup")) == (0, "normalize", "lookup", 3)
    code, out = run(capfd, "encode", "--engine", "oracle", "--vocab", vocabulary, "--text", "Café!")
    assert (code, out.split()) == (0, ["3", "4", "6"])


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["vocab", "convert", "{}", "--to", "tiktoken", "--out", "x"], "not converted: wordpiece"),
        (["audit", "--vocab", "{}@greedy-longest", "--corpus", "battery"], "tokens of wordpiece are parts of words"),
        (["profile", "build", "{}", "--output", "x"], "wordpiece"),
    ],
)
def test_verbs_that_cannot_refuse_by_name(
    vocabulary: str, capsys: pytest.CaptureFixture[str], words: list[str], what: str
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([word.format(vocabulary) for word in words])
    assert stop.value.code == 2
    assert what in " ".join(capsys.readouterr().err.split())


def test_the_change_that_explains_a_difference(vocabulary: str) -> None:
    from dataclasses import replace

    from tokassay.harness.differ import Side

    loaded = load_vocabulary(vocabulary)
    published = replace(loaded.contract, normalizer="clean+cjk-spaces+lowercase+strip-accents")
    ours = target("oracle", published, {})
    document = "ΟΣ".encode()
    right, other = (Side(name, outcome="ids", ids=ids) for name, ids in (("oracle", (7, 9)), ("them", (7, 8))))
    [first, *_] = changes((other, right), (ours, ours), loaded, document)
    assert (first.field, first.new) == ("normalizer", "clean+cjk-spaces+lowercase-each+strip-accents")


def test_who_speaks_on_a_neutral_block(vocabulary: str) -> None:
    import numpy as np
    from tokassay.harness.blocks import Block, offsets_of

    def block(text: str) -> Block:
        data = text.encode()
        return Block("neutral", 0, data, offsets_of(np.array([len(data)], np.uint64)), np.array([0]))

    asked = load_vocabulary(vocabulary).contract
    mine = asked.with_variants(unicode="8.0", casing="17.0", byte_policy="reject")
    assert not own_bytes(mine)
    assert not renormalized(mine, asked, block("Hello é 中"))
    assert renormalized(mine, asked, block(YOUNG))
    assert not renormalized(asked, asked, block(YOUNG))
    spoken = governing(mine, asked, "neutral", renormalized=True)
    assert (spoken.unicode, spoken.lowers_by, spoken.byte_policy) == ("8.0", "17.0", "replace")
    assert governing(mine, asked, "neutral", renormalized=False) == asked


def test_variants_as_they_are_written(vocabulary: str) -> None:
    contract = load_vocabulary(vocabulary).contract.with_variants(unicode="16.0", normalization="8.0", casing="17.0")
    written = f"reject@{versions(contract)}"
    assert written == "reject@16.0+nfc8.0+case17.0"
    assert contract.with_variants(**parse_variants(written)) == contract.with_variants(byte_policy="reject")
    assert isinstance(contract, Contract)


def test_a_vector_is_for_a_unicode_version_where_an_older_one_differs(vocabulary: str) -> None:
    from tokassay.harness.answers import Answer
    from tokassay.harness.vectors import Vector

    asked = load_vocabulary(vocabulary).contract
    older = asked.with_variants(unicode="8.0")
    late, plain = (Vector("v", vocabulary, Answer(), text.encode().hex()) for text in (YOUNG, "ΟΣ"))
    assert (late.holds_for(older), late.holds_for(asked)) == ("for Unicode 16.0", "")
    assert plain.holds_for(older) == ""
