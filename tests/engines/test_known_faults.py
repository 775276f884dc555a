"""Faults found in encoders of this kind, one test each, by the name of what goes wrong: they must stay findable.

Ids are those published for GPT-2 with the audit that found them. Each is asked of the oracle, and of dat-bpe on every
level of instructions, with all of its optimizations and with none, at first sight and out of its cache.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import numpy
import pytest
from tokassay.engines.client import Host
from tokassay.engines.dat_bpe import Encoder, _core
from tokassay.engines.roster import load_roster
from tokassay.harness.load import load_vocabulary
from tokassay.oracles.oracle import Oracle

LEVELS = _core.LEVELS[: _core.best_level() + 1]
Encode = Callable[..., list[int]]


@cache
def encoders() -> dict[str, Any]:
    """Every way to encode, by name."""
    loaded = load_vocabulary("gpt2")
    held = loaded.vocabulary
    made: dict[str, Any] = {
        f"oracle, specials {policy}": Oracle(
            loaded.contract.with_variants(specials=policy).to_json(), held.tokens, held.merges, held.specials
        )
        for policy in ("off", "on")
    }
    for level in LEVELS:
        made[level] = Encoder.load("gpt2", level=level)
    made["nothing optimized"] = Encoder.load("gpt2", level="scalar", cache_bits=0, without=list(_core.USES))
    return made


def ways(specials: bool = False) -> Iterator[tuple[str, Encode]]:
    """(name, encode); ours twice, so that the second answer comes out of the cache where there is one."""
    for name, encoder in encoders().items():
        if isinstance(encoder, Oracle):
            if name.endswith("on" if specials else "off"):
                yield name, encoder.encode
            continue
        for when in ("first", "again"):
            yield f"{name}, {when}", lambda document, own=encoder: own.encode_list(document, specials=specials)
        yield f"{name}, batch", lambda document, own=encoder: own.encode_batch(
            [b"x", document, b"x"], threads=2, specials=specials)[0].tolist()[1:-1]


def held_to(document: bytes, ids: list[int], specials: bool = False) -> None:
    for name, encode in ways(specials):
        assert encode(document) == ids, name


@pytest.mark.parametrize("lead", [0xE0, 0xE1, 0xE2, 0xE3, 0xEE, 0xEF], ids=lambda lead: f"{lead:02x}407970")
def test_width_inferred_from_a_lead_byte(lead: int) -> None:
    """Continuation bytes that are none were swallowed. The lead stands alone; the rest is as in `a@yp`."""
    oracle = encoders()["oracle, specials off"]
    alone, rest = oracle.encode(bytes([lead])), oracle.encode(b"a@yp")
    assert (len(alone), rest[0]) == (1, 64)  # `a`
    held_to(bytes([lead]), alone)
    held_to(bytes([lead]) + b"@yp", alone + rest[1:])


@pytest.mark.parametrize(
    ("document", "ids", "spans"),
    [
        ("898881ab", [231, 230, 223, 104], ["898881", "ab"]),
        ("bd9b9ae9", [121, 249, 21253], ["bd", "9b9ae9"]),
        ("b12773", [109, 6, 82], ["b1", "27", "73"]),
    ],
)
def test_continuation_bytes_taken_as_leads(document: str, ids: list[int], spans: list[str]) -> None:
    data = bytes.fromhex(document)
    held_to(data, ids)
    for name, encoder in encoders().items():
        if name != "oracle, specials on" and document != "b12773":  # of the third only the ids are published
            assert [data[a:b].hex() for a, b in encoder.pretokens(data)] == spans, name


def test_a_lone_ff_ends_no_run() -> None:
    """It crashed the SentencePiece path of the audited encoder. Ours have an id for it, and their host goes on; that
    sentencepiece itself survives it is in test_adapters, that a crash by it is a verdict in test_planted_faults."""
    held_to(b"\xff", [187])
    held_to(b"a\xffb", [64, 187, 65])
    for count in (1, 2, 15, 16, 31, 32, 64, 1000):
        held_to(b"\xff" * count, encoders()["oracle, specials off"].encode(b"\xff" * count))
    spec = load_roster()["dat-bpe"]
    loaded = load_vocabulary("gpt2")
    with Host(spec) as host:
        host.load(loaded.contract.to_json(), {"tiktoken": str(loaded.source_path)})
        output: Any = host.encode([b"a", b"\xff", b"b"]).output
        assert (output.status.tolist(), output.rows()) == ([0, 0, 0], [[64], [187], [65]])


def test_special_tokens_ignored() -> None:
    """50256 where they are on, and ordinary text where they are off."""
    held_to(b"<|endoftext|>", [50256], specials=True)
    held_to(b"a<|endoftext|>b", [64, 50256, 65], specials=True)
    held_to(b"<|endoftext|>", [27, 91, 437, 1659, 5239, 91, 29])


def test_special_tokens_leave_the_path_without_them_alone() -> None:
    """The same ids from an encoder that knows none."""
    source = Encoder.load("gpt2")
    ranks = {source.token_bytes(number): number for number in range(50256)}
    bare = Encoder.from_ranks(ranks, pattern="gpt2")
    sample = (files("tokassay.fixtures") / "sample" / "naughty-strings.txt").read_bytes()
    for document in (sample, b"<|endoftext|>" * 5, b"a<|endoftext|b<|", b"\xff<|endoftext|>\x80"):
        right = bare.encode_list(document)
        for level in LEVELS:
            assert encoders()[level].encode_list(document) == right


def test_a_whole_pretoken_look_up_taken_as_a_shortcut() -> None:
    """`abcd` is a token that merging cannot reach: exact merging does not give it, `ignore_merges` does."""
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"bc": 256, b"abcd": 257}
    for level in LEVELS:
        for without in ((), list(_core.USES)):
            exact, whole = (
                Encoder.from_ranks(ranks, pattern="gpt2", ignore_merges=ignore, level=level, without=without)
                for ignore in (False, True)
            )
            for _ in range(2):
                assert exact.encode_list(b"abcd") == [97, 256, 100]
                assert whole.encode_list(b"abcd") == [257]
                assert exact.encode_list(b" abcd") == whole.encode_list(b" abcd") == [32, 97, 256, 100]


def test_races_at_many_threads() -> None:
    """Torn counts and two writers interleaved: one digest at 1 to 32 threads, over many short documents of which no two
    neighbours have as many ids. (The thread sanitizer: `nox -s races`.)"""
    chance = random.Random(3)
    sample = (files("tokassay.fixtures") / "sample" / "udhr.txt").read_bytes()
    documents = []
    for size in range(3000):
        start = chance.randrange(len(sample) - 200)
        documents.append(sample[start : start + size % 97])
    encoder = encoders()[LEVELS[-1]]

    def digest(threads: int) -> str:
        values, offsets = encoder.encode_batch(documents, threads=threads)
        return hashlib.sha256(values.tobytes() + offsets.tobytes()).hexdigest()

    one = numpy.concatenate([encoder.encode(document) for document in documents])
    assert numpy.array_equal(encoder.encode_batch(documents, threads=32)[0], one)
    assert {digest(threads) for threads in range(1, 33)} == {digest(1)}


@pytest.mark.parametrize(
    ("document", "ids"),
    [
        (b"", []), (b"ab", [397]), (b"hello", [31373]), (b"Hello", [15496]), (b"a\0b", [64, 188, 65]),
        (b"a\xffb", [64, 187, 65]), (b"hello world", [31373, 995]),
    ],
    ids=lambda value: value.hex() or "empty" if isinstance(value, bytes) else "",
)
def test_the_other_fixed_points(document: bytes, ids: list[int]) -> None:
    held_to(document, ids)


def test_all_byte_values_in_order_are_222_ids() -> None:
    for name, encode in ways():
        assert len(encode(bytes(range(256)))) == 222, name
