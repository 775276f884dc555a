"""Ids: published vectors and fixed points at every level of instructions, and the settings against each other."""

from __future__ import annotations

import hashlib
import json
import random
import tempfile
from collections.abc import Iterator
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from tokassay.engines.dat_bpe import _core
from tokassay.engines.dat_bpe.encoder import Encoder
from tokassay.engines.dat_bpe.selftest.checks import Check, equal
from tokassay.engines.dat_bpe.selftest.profile import encoder_of

# Each setting a way of its own: all that the processor has, then less and less.
WAYS: dict[str, dict[str, Any]] = {
    **{level: {"level": level} for level in _core.LEVELS[: _core.best_level() + 1]},
    "no cache": {"cache_bits": 0}, "cache of 2**8": {"cache_bits": 8}, "cache of 2**20": {"cache_bits": 20},
    **{f"without {use}": {"without": [use]} for use in _core.USES},
    "nothing": {"level": "scalar", "without": list(_core.USES)},
}
VOCABULARIES = ("gpt2", "cl100k_base", "o200k_base")
# GPT-2; ids as the Saphira audit fixed them.
FIXED: dict[bytes, list[int]] = {
    b"": [], b"ab": [397], b"hello": [31373], b"Hello": [15496], b"a\0b": [64, 188, 65], b"a\xffb": [64, 187, 65],
    b"hello world": [31373, 995], bytes.fromhex("898881ab"): [231, 230, 223, 104],
    bytes.fromhex("bd9b9ae9"): [121, 249, 21253], bytes.fromhex("b12773"): [109, 6, 82],
}
SPECIAL = {b"<|endoftext|>": [50256], b"a<|endoftext|>b": [64, 50256, 65]}


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


@cache
def _saved(name: str) -> Path:
    path = Path(_folder().name) / name
    encoder_of(name).save(path)
    return path


@cache
def encoder(name: str, way: str) -> Encoder:
    """An encoder of one vocabulary with the settings of one way: the same tables, mapped from a file."""
    return Encoder.open(_saved(name), **WAYS[way])


def _point_check(way: str, text: bytes, ids: list[int], specials: bool) -> str:
    found = encoder("gpt2", way).encode(text, specials=specials).tolist()
    return equal(found, ids) or equal(encoder("gpt2", way).decode(ids), text)


def _all_bytes_check(way: str) -> str:
    text = bytes(range(256))
    found = encoder("gpt2", way).encode(text)
    return equal(len(found), 222) or equal(encoder("gpt2", way).decode(found), text)


def _lead_check(way: str, lead: int) -> str:
    """A lead byte whose continuation is none stands alone, and the rest is as without it."""
    made = encoder("gpt2", way)
    return equal(made.encode(bytes([lead]) + b"@yp").tolist(), [*made.encode(bytes([lead])), *made.encode(b"@yp")])


def _vector_check(way: str, vector: dict[str, Any]) -> str:
    made = encoder(vector["vocabulary"], way)
    repeat = vector.get("input_repeat")
    text = bytes.fromhex(repeat["hex"]) * repeat["times"] if repeat else bytes.fromhex(vector["input_hex"])
    if vector["operation"] != "encode":
        return equal(made.decode(vector["ids"]), text)
    found = made.encode(text, specials=vector["contract"].get("specials") == "on")
    if "ids" in vector:
        return equal(found.tolist(), vector["ids"])
    return equal(hashlib.sha256(found.astype("<u4").tobytes()).hexdigest(), vector["ids_sha256"])


def vectors() -> list[dict[str, Any]]:
    """The frozen vectors of embedded vocabularies whose contract is the default, but for special tokens."""
    found: list[dict[str, Any]] = []
    for file in ("dev-cases.json", "llama-cpp-gpt2.json", "third-party.json"):
        rows = json.loads((files("tokassay.fixtures") / "vectors" / file).read_text(encoding="utf-8"))["vectors"]
        for i, row in enumerate(rows):
            contract = row.get("contract", {})
            default = {"id": f"llama-cpp-{i}", "vocabulary": "gpt2", "operation": "encode", "contract": {}}
            usual = contract in ({}, {"specials": "on"}, {"byte_policy": "byte-alphabet"})
            if usual and row.get("vocabulary", "gpt2") in VOCABULARIES:
                found.append({**default, **row})
    return found


@cache
def texts() -> dict[str, bytes]:
    """Stretches of the sample, any bytes, and shapes that have been got wrong."""
    folder, chance = files("tokassay.fixtures") / "sample", random.Random(7)
    made = {name: (folder / f"{name}.txt").read_bytes()[:40_000] for name in (
        "kjv", "naughty-strings", "python", "reina-valera", "udhr", "native")}
    kinds = [b"\xc3\xa9", b"\x80", b"\xff", b"\xff" * 15, "漢".encode(), b"a", b" ", b"'s", b"\n", b"1", b"\xe2\x80"]
    made["ill-formed"] = b"".join(chance.choices(kinds, k=8000))
    made["any bytes"] = bytes(chance.choices(range(256), k=20_000))
    # Where keys, caches and the plain forms change, at every place of a block of 64.
    sizes = (15, 16, 31, 32, 47, 48, 49, 63, 64, 65)
    made["sizes"] = b"".join(
        b" " + bytes(chance.choices(b"etaoinshrdlu", k=size)) + b" " * shift for size in sizes for shift in range(64))
    made["blanks"] = b"".join(b"x" + blank * count for blank in (b" ", b"\n", b"\t ") for count in range(1, 140))
    made["one long piece"] = bytes(chance.choices(b"abcd", k=70_000)) + "漢字かな".encode() * 8000
    return made


@cache
def plain_ids(name: str, text: str) -> str:
    """Digest of the ids with no optimization, one document at a time."""
    return hashlib.sha256(encoder(name, "nothing").encode(texts()[text]).tobytes()).hexdigest()


def _equal_check(name: str, way: str, text: str) -> str:
    made, document = encoder(name, way), texts()[text]
    ids = made.encode(document)
    problem = equal(hashlib.sha256(ids.tobytes()).hexdigest(), plain_ids(name, text))
    return problem or equal(made.decode(ids) == document, True)


def checks() -> Iterator[Check]:
    """A check for each fixed point and vector, and for each vocabulary and text, in each way."""
    rows = vectors()
    for way in WAYS:
        for text, ids in FIXED.items():
            yield Check(f"ids/{way}/fixed/{text.hex() or 'empty'}", partial(_point_check, way, text, ids, False))
        for text, ids in SPECIAL.items():
            yield Check(f"ids/{way}/fixed/{text.decode()}", partial(_point_check, way, text, ids, True))
        yield Check(f"ids/{way}/fixed/all bytes", partial(_all_bytes_check, way))
        for lead in (0xE0, 0xE1, 0xE2, 0xE3, 0xEE, 0xEF):
            yield Check(f"ids/{way}/fixed/{lead:02X}407970", partial(_lead_check, way, lead))
        for row in rows:
            yield Check(f"ids/{way}/vector/{row['id']}", partial(_vector_check, way, row))
        for name in VOCABULARIES:
            for label in texts() if way != "nothing" else ():
                yield Check(f"ids/{way}/{name}/{label}", partial(_equal_check, name, way, label))
