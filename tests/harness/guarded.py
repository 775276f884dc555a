"""An engine whose ids are its document's bytes, at versions that change them: for tests of freeze and check."""

from __future__ import annotations

import json
from pathlib import Path

ADAPTER = '''
from __future__ import annotations


class Adapter:
    name = "bytewise"
    operations = ("encode", "offsets")
    rejects = (UnicodeDecodeError,)

    def version(self):
        return {version!r}

    def load(self, contract, files, threads, options):
        self.specials = contract["specials"]

    def prepare(self, document):
        {prepare}
        return document

    def encode(self, item):
        {fails}
        return {ids}

    def offsets(self, item):
        ids, at, spans = self.encode(item), 0, []
        for number in ids:
            size = 2 if number >= 1000 else 1
            spans.append((at, at + size))
            at += size
        return spans
'''
TABLE = '''
[{name}]
requirement = "bytewise"
environment = "project"
adapter = "{adapter}"
algorithms = ["opaque"]
byte_policy = "reject"
unicode = "16.0"
specials = ["off", "on"]
operations = ["encode", "offsets"]
licence = "MIT"
home = "tests/harness"
'''
PLAIN = "list(item)"
# From some version on, two o's in a row are one token, and nothing else changes.
PAIRED = "[1000 if one == 1 else one for one in item.replace(b'oo', bytes([1]))]"


def roster(
    folder: Path, version: str, ids: str = PLAIN, *, name: str = "bytewise", fails: str = "pass", prepare: str = "pass"
) -> Path:
    """A roster file with one engine at `version` that gives `ids`, an expression over `item`."""
    adapter = folder / f"{name}_{version.replace('.', '_')}.py"
    adapter.write_text(ADAPTER.format(version=version, ids=ids, fails=fails, prepare=prepare), encoding="utf-8")
    path = folder / f"{name}-{version}.toml"
    path.write_text(TABLE.format(name=name, adapter=adapter.name), encoding="utf-8")
    return path


def tokenizer_json(folder: Path, **more: object) -> Path:
    """A tokenizer.json of a kind that is not modelled, so that no oracle has a say."""
    path = folder / "tokenizer.json"
    root = {
        "added_tokens": [{"id": 2, "content": "<s>", "special": True, "normalized": False}],
        "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "<s>": 2}, "unk_token": "a"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [2], "tokens": ["<s>"]}},
        },
        **more,
    }
    path.write_text(json.dumps(root), encoding="utf-8")
    return path
