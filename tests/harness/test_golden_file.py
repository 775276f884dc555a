"""Files of frozen ids: read back as written, refused with file and place where they are not whole."""

from __future__ import annotations

import base64
import copy
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokassay.engines.frames import Ids, block_digest, corpus_digest
from tokassay.harness.compare import Output
from tokassay.harness.contract import Contract
from tokassay.harness.errors import InputError
from tokassay.harness.golden_file import SCHEMA, Frozen, Golden, Part, packed, read_golden, schema, unpacked

ROWS = [[1, 2, 70_000], [], [2**32 - 1]]
STATUS = [0, 1, 0]


def output() -> Output:
    flat = [number for row in ROWS for number in row]
    counts = [len(row) for row in ROWS]
    return Output(np.array(STATUS, np.uint8), np.array(counts, np.uint64), np.array(flat, np.uint32))


def golden() -> Golden:
    ids = Ids(np.array(STATUS, np.uint8), np.array([3, 0, 1], np.uint32), output().values.astype(np.uint32))
    part = Part("neutral", 3, 4, 1, 0, (block_digest([5, 6, 7], ids),), output())
    corpus = Frozen("battery", 0, "off", 3, 18, "ab" * 32, (part,))
    return Golden(
        "0.1.0", {"given": "tokenizer.json", "format": "tokenizer.json", "sha256": "cd" * 32, "pattern": None},
        Contract("opaque", "cd" * 32), ("model.type: WordLevel",),
        {"name": "tokenizers", "version": "0.21.1", "python": "3.11.9", "platform": "linux-x86_64"}, (corpus,),
        {"tokenizer_config.json: padding_side": "left"},
    )


def write(folder: Path, value: Any) -> Path:
    path = folder / "golden.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_read_back_as_written(tmp_path: Path) -> None:
    path = tmp_path / "golden.json"
    path.write_text(golden().text(), encoding="utf-8")
    read = read_golden(path)
    kept = read.corpora[0].parts[0].kept
    assert kept is not None
    assert [kept.of(i).tolist() for i in range(3)] == ROWS and kept.status.tolist() == STATUS
    assert read.text() == golden().text()
    assert json.loads(path.read_text())["schema"] == SCHEMA


def test_the_object_is_as_its_schema_says() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(golden().to_json(), schema())


def test_packing_by_hand() -> None:
    """Statuses, then the counts' and ids' bytes by planes, lowest first: written out here."""
    planes = bytes([0, 1, 0]) + bytes([3, 0, 1] + 9 * [0])
    planes += bytes([1, 2, 0x70, 0xFF, 0, 0, 0x11, 0xFF, 0, 0, 1, 0xFF, 0, 0, 0, 0xFF])
    assert zlib.decompress(base64.b64decode(packed(output()))) == planes
    assert unpacked(base64.b64encode(zlib.compress(planes)).decode(), 3, 4, "x").of(0).tolist() == [1, 2, 70_000]


@given(st.lists(st.lists(st.integers(0, 2**32 - 1), max_size=5), max_size=6))
def test_packing_round_trip(rows: list[list[int]]) -> None:
    made = Output(
        np.zeros(len(rows), np.uint8), np.array([len(row) for row in rows], np.uint64),
        np.array([number for row in rows for number in row], np.uint32),
    )
    back = unpacked(packed(made), len(rows), len(made.values), "x")
    assert [back.of(i).tolist() for i in range(len(rows))] == rows


Change = Callable[[dict[str, Any]], object]
PART = "corpora[0].parts[0]"
# What is wrong, how the file is made so, where the error is, and whether the schema alone can see it.
WRONG: dict[str, tuple[Change, str, bool]] = {
    "another schema": (lambda v: v.update(schema="tokassay.golden/1"), "golden.json", True),
    "an unknown field": (lambda v: v.update(more=1), "golden.json", True),
    "a field left out": (lambda v: v.pop("engine"), "golden.json", True),
    "no corpora": (lambda v: v.update(corpora=[]), "corpora", True),
    "engine without version": (lambda v: v["engine"].pop("version"), "engine", True),
    "a number for a name": (lambda v: v["engine"].update(name=3), "engine", True),
    "a short digest": (lambda v: v["vocabulary"].update(sha256="cd"), "vocabulary", True),
    "no contract": (lambda v: v["contract"].pop("algorithm"), "contract", True),
    "an unknown algorithm": (lambda v: v["contract"].update(algorithm="magic"), "contract", False),
    "settings as a list": (lambda v: v.update(settings=[]), "golden.json", True),
    "a policy that is none": (lambda v: v["corpora"][0].update(specials="maybe"), "corpora[0]", True),
    "a negative count": (lambda v: v["corpora"][0].update(documents=-1), "corpora[0]", True),
    "true for a count": (lambda v: v["corpora"][0].update(bytes=True), "corpora[0]", True),
    "a corpus twice": (lambda v: v["corpora"].append(copy.deepcopy(v["corpora"][0])), "corpora", False),
    "documents that do not add up": (lambda v: v["corpora"][0].update(documents=4), "corpora[0].parts", False),
    "an unknown domain": (lambda v: v["corpora"][0]["parts"][0].update(domain="other"), PART, True),
    "a digest of other blocks": (
        lambda v: v["corpora"][0]["parts"][0].update(digest="0" * 64), f"{PART}.digest", False
    ),
    "ids that are no base64": (lambda v: v["corpora"][0]["parts"][0].update(kept="%"), f"{PART}.kept", False),
    "ids cut short": (
        lambda v: v["corpora"][0]["parts"][0].update(kept=packed(output())[:24]), f"{PART}.kept", False
    ),
    "ids of another number": (lambda v: v["corpora"][0]["parts"][0].update(ids=5), f"{PART}.kept", False),
    "refusals of another number": (lambda v: v["corpora"][0]["parts"][0].update(rejects=0), f"{PART}.kept", False),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_with_its_place(name: str, tmp_path: Path) -> None:
    change, place, by_schema = WRONG[name]
    value = golden().to_json()
    change(value)
    with pytest.raises(InputError) as raised:
        read_golden(write(tmp_path, value))
    assert raised.value.where.startswith(str(tmp_path)) and raised.value.where.endswith(place)
    assert raised.value.remedy and raised.value.exit_code == 2
    errors = [*jsonschema.Draft202012Validator(schema()).iter_errors(value)]
    assert bool(errors) == by_schema


@pytest.mark.parametrize(
    ("data", "place", "told"),
    [
        (b"", ":1:1", "not JSON"),
        (b'{"schema": "tokassay.golden/2",\n  oops}', ":2:3", "not JSON"),
        (b"\xff", "", "not UTF-8"),
        (b"[]", "", "schema is None"),
        (b'{"schema": 1, "schema": 2}', "", "given twice"),
        (b"[" * 100_000, "", "nested"),
    ],
)
def test_what_is_no_such_file(data: bytes, place: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "golden.json"
    path.write_bytes(data)
    with pytest.raises(InputError, match=told) as raised:
        read_golden(path)
    assert raised.value.where == f"{path}{place}"


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_golden(tmp_path / "none.json")


def test_a_small_text_does_not_become_gigabytes() -> None:
    bomb = base64.b64encode(zlib.compress(bytes(1 << 26))).decode()
    with pytest.raises(InputError, match="more than"):
        unpacked(bomb, 3, 4, "x")


def test_the_corpus_digest_is_that_of_the_blocks() -> None:
    part = golden().corpora[0].parts[0]
    assert part.digest == corpus_digest(part.blocks) and len(part.blocks) == 1
