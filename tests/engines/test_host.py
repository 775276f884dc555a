"""The host by its requests: what is timed is what is hashed, and no document takes the others down."""

from __future__ import annotations

import ast
import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken
from tiktoken.load import load_tiktoken_bpe
from tokassay.engines import frames, roster, runtimes
from tokassay.engines.client import Answer, Host, HostError, Unsupported
from tokassay.engines.roster import EngineSpec

HOST = Path(roster.__file__).with_name("host.py")
DOCUMENTS = [b"hello world", b"", b"a ~ b", b"TRIGGER", b"\xff", "hi \u00e9".encode(), b"last"]
# tiktoken's published ids.
HELLO = [31373, 995]


@contextlib.contextmanager
def opened(spec: EngineSpec, files: dict[str, str], contract: dict[str, Any], threads: int = 1) -> Iterator[Host]:
    with Host(spec, threads=threads) as host:
        host.load(contract, files)
        yield host


def rows(answer: Answer) -> list[list[int]]:
    assert isinstance(answer.output, frames.Ids)
    return answer.output.rows()


def gpt2_contract() -> dict[str, Any]:
    pattern = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    return {"algorithm": "bpe-ranks", "pretokenizer": [pattern], "specials": "off"}


def test_host_and_limits_are_python_3_8_and_standard_library_only() -> None:
    for path in (HOST, HOST.with_name("limits.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
        roots = {
            name.partition(".")[0]
            for node in ast.walk(tree)
            for name in (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
        }
        assert roots <= set(sys.stdlib_module_names)


def test_hello_tells_who_runs(honest: Host) -> None:
    hello = honest.hello()
    assert (hello["engine"], hello["version"]) == ("planted", "1.0")
    assert hello["operations"] == ["encode", "encode_batch", "decode"]
    assert len(hello["host_sha256"]) == len(hello["adapter_sha256"]) == 64


def test_known_ids_by_every_verb(honest: Host) -> None:
    measured = honest.measure([b"hello world"])
    kept = honest.kept()
    assert isinstance(kept, frames.Ids)
    assert kept.rows() == [HELLO]
    assert rows(honest.encode([b"hello world"])) == [HELLO]
    assert measured.digest == [measured.ids_digest] == [frames.block_digest([11], kept)]
    assert (measured.ids, measured.rejects, measured.error_count, measured.irregular) == (2, 0, 0, [])
    texts = honest.decode(frames.ids_of([HELLO, []])).output
    assert isinstance(texts, frames.Texts) and texts.texts == [b"hello world", b""]


def test_each_repetition_is_timed_and_hashed(honest: Host) -> None:
    measured = honest.measure(DOCUMENTS, repeat=3)
    assert len(measured.ns) == len(measured.cpu_ns) == len(measured.digest) == 3
    assert len(set(measured.digest)) == 1 and min(measured.ns) > 0


def test_decode_decodes_the_engines_own_ids(honest: Host) -> None:
    measured = honest.measure(DOCUMENTS, "decode")
    kept = honest.kept()
    assert isinstance(kept, frames.Texts) and kept.texts == DOCUMENTS
    assert measured.digest == [frames.block_digest(map(len, DOCUMENTS), kept)]
    assert measured.ids_digest == honest.measure(DOCUMENTS).digest[0]


def test_a_document_that_is_not_status_0_is_not_decoded(honest: Host) -> None:
    ids = frames.Ids(np.array([1, 0], np.uint8), np.array([0, 1], np.uint32), np.array([31373], np.uint32))
    texts = honest.decode(ids).output
    assert isinstance(texts, frames.Texts)
    assert (texts.status.tolist(), texts.texts) == ([1, 0], [b"", b"hello"])


def test_an_empty_block_is_a_block(honest: Host) -> None:
    for op in ("encode", "encode_batch", "decode"):
        assert honest.measure([], op).ids == 0


def test_one_vocabulary_a_process(honest: Host, gpt2: dict[str, str]) -> None:
    with pytest.raises(HostError, match="one vocabulary a process"):
        honest.load(gpt2_contract(), gpt2)


def test_what_an_engine_does_not_do_is_unsupported_and_not_an_error(honest: Host) -> None:
    with pytest.raises(Unsupported, match="no operation offsets"):
        honest.measure(DOCUMENTS, "offsets")
    with pytest.raises(Unsupported, match="no trace"):
        honest.trace(b"x")
    with pytest.raises(HostError, match="unknown operation"):
        honest.measure(DOCUMENTS, "enccode")
    assert rows(honest.encode([b"hello world"])) == [HELLO]


def test_nothing_can_be_kept_before_a_measurement(honest: Host) -> None:
    with pytest.raises(HostError, match="nothing kept"):
        honest.kept()


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("raises", "ValueError"),
        ("panics", "Panic"),
        ("interrupts", "KeyboardInterrupt"),
        ("leaves", "SystemExit"),
        ("stops", "StopIteration"),
        ("bad-id", "OverflowError"),
    ],
)
def test_an_exception_is_one_documents_row(
    fault: str, kind: str, planted: dict[str, EngineSpec], gpt2: dict[str, str]
) -> None:
    with opened(planted[fault], gpt2, gpt2_contract()) as host:
        for op in ("encode", "encode_batch"):
            measured = host.measure(DOCUMENTS, op)
            assert [(index, name) for index, name, _ in measured.errors] == [(3, kind)]
            assert measured.error_count == 1
            kept = host.kept()
            assert isinstance(kept, frames.Ids)
            assert kept.status.tolist() == [0, 0, 0, 2, 0, 0, 0]
            assert kept.rows()[0] == HELLO and kept.rows()[3] == [] and kept.rows()[6] == [12957]
            assert measured.digest == [frames.block_digest(map(len, DOCUMENTS), kept)]
        # The time of a repetition in which a call raised is not that of a bare call. A bad id is found afterwards.
        assert measured.irregular == ([] if fault == "bad-id" else [0])


def test_a_lazy_answer_is_no_answer(planted: dict[str, EngineSpec], gpt2: dict[str, str]) -> None:
    with opened(planted["lazy"], gpt2, gpt2_contract()) as host:
        measured = host.measure(DOCUMENTS)
    assert measured.error_count == len(DOCUMENTS)
    index, kind, message = measured.errors[0]
    assert (index, kind) == (0, "TypeError")
    assert message.startswith(("ids must be a list or an integer buffer", "ids must be an array or a typed array"))


@pytest.mark.parametrize(
    ("fault", "op", "failed"),
    [
        ("lazy-list", "encode", [0, 1, 2, 3, 4, 5, 6]),
        ("lazy-batch", "encode_batch", [0, 1, 2, 3, 4, 5, 6]),
        ("nothing", "encode", [1]),
        ("raises-once", "encode", [3]),
    ],
)
def test_what_looks_like_ids_is_none(
    fault: str, op: str, failed: list[int], planted: dict[str, EngineSpec], gpt2: dict[str, str]
) -> None:
    """Lists that encode when they are read, None, and a call that failed once and would not again."""
    with opened(planted[fault], gpt2, gpt2_contract()) as host:
        measured = host.measure(DOCUMENTS, op)
        kept = host.kept()
    assert isinstance(kept, frames.Ids)
    assert [index for index, status in enumerate(kept.status) if status == 2] == failed
    assert [index for index, _, _ in measured.errors] == failed


def test_a_batch_that_loses_documents_is_blamed_on_them(planted: dict[str, EngineSpec], gpt2: dict[str, str]) -> None:
    with opened(planted["drops-empty"], gpt2, gpt2_contract()) as host:
        measured = host.measure(DOCUMENTS, "encode_batch")
    assert measured.errors == [(1, "ValueError", "1 documents gave 0 rows")]


def test_printing_touches_no_frame(planted: dict[str, EngineSpec], gpt2: dict[str, str], honest: Host) -> None:
    with opened(planted["prints"], gpt2, gpt2_contract()) as host:
        host.measure(DOCUMENTS)  # few enough for all that they print to be in the tail; Node's console writes later
        printed = ("native progress", "progress: 11")
        deadline = time.monotonic() + 60
        while not all(each in host.stderr_tail for each in printed) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert all(each in host.stderr_tail for each in printed)
        measured = host.measure(DOCUMENTS * 3000)
        assert len(host.stderr_tail) <= 16 << 10
    assert measured.digest == honest.measure(DOCUMENTS * 3000).digest


def test_the_kept_output_is_the_timed_one(planted: dict[str, EngineSpec], gpt2: dict[str, str], honest: Host) -> None:
    right = honest.measure(DOCUMENTS).digest
    for fault in ("when-timed", "first-time"):
        with opened(planted[fault], gpt2, gpt2_contract()) as host:
            measured = host.measure(DOCUMENTS)
            kept, asked = host.kept(), host.encode(DOCUMENTS).output
        assert measured.digest != right
        assert measured.digest == [frames.block_digest(map(len, DOCUMENTS), kept)]
        assert [frames.block_digest(map(len, DOCUMENTS), asked)] == right


@pytest.mark.parametrize("fault", ["one-byte", "moves-token", "second-thread", "reused", "long-pieces"])
def test_the_timed_digest_shows_each_fault_where_it_is(
    fault: str, planted: dict[str, EngineSpec], gpt2: dict[str, str], honest: Host
) -> None:
    documents = DOCUMENTS * 50
    if fault != "one-byte":
        documents = [document for document in documents if b"~" not in document]
    alone, batch = honest.measure(documents).digest, honest.measure(documents, "encode_batch").digest
    assert alone == batch
    with opened(planted[fault], gpt2, gpt2_contract(), threads=2) as host:
        asked = {
            "alone": host.measure(documents[:7]).digest == honest.measure(documents[:7]).digest,
            "batch of one thread": host.measure(documents, "encode_batch", threads=1).digest == batch,
            "batch of two threads": host.measure(documents, "encode_batch", threads=2).digest == batch,
            "long": host.measure([b"a" * 301]).digest == honest.measure([b"a" * 301]).digest,
        }
    wrong = {
        "one-byte": {"alone", "batch of one thread", "batch of two threads"},
        "moves-token": {"batch of one thread", "batch of two threads"},
        "second-thread": {"batch of two threads"},
        "reused": {"batch of one thread", "batch of two threads", "long"},
        "long-pieces": {"long"},
    }
    assert {name for name, right in asked.items() if not right} == wrong[fault]


def test_a_moved_token_leaves_the_concatenation_right(planted: dict[str, EngineSpec], gpt2: dict[str, str]) -> None:
    with opened(planted["moves-token"], gpt2, gpt2_contract()) as host:
        alone, batch = (
            host.encode([b"one two", b"three"]).output,
            host.encode([b"one two", b"three"], "encode_batch").output,
        )
    assert isinstance(alone, frames.Ids) and isinstance(batch, frames.Ids)
    assert alone.ids.tolist() == batch.ids.tolist() and alone.counts.tolist() != batch.counts.tolist()


@pytest.mark.parametrize(
    ("sent", "status", "said"),
    [
        (b"GET / HTTP/1.0\r\n", 3, b"frame does not begin"),
        (b"TKA1\xff\xff\xff\xff", 3, b"head of 4294967295 bytes"),
        (b"TKA1\x02\x00\x00\x00{}", 3, b"head with v="),
        (b"TKA1\x10\x00\x00\x00{", 3, b"stream ended inside a frame"),
        (b"TKA1\x1b\x00\x00\x00" + b'{"v": 1, "len": 1073741825}', 3, b"head with v="),
        (b"", 0, b""),
    ],
)
def test_what_is_no_frame_ends_the_host(
    planted: dict[str, EngineSpec], runtime: str, sent: bytes, status: int, said: bytes
) -> None:
    """Another protocol, heads and bodies past the caps, a stream that ends; and a client that goes away."""
    made = runtimes.RUNTIMES[runtime]
    program = runtimes.program(runtime)
    assert program is not None
    command = [*made.command(program, 400), str(HOST.with_name(made.host)), str(planted["honest"].adapter)]
    done = subprocess.run(command, input=sent, capture_output=True)
    assert (done.returncode, done.stdout) == (status, b"")
    assert said in done.stderr


def test_the_planted_control_is_tiktoken(honest: Host, gpt2: dict[str, str]) -> None:
    ranks = load_tiktoken_bpe(gpt2["tiktoken"])
    encoding = tiktoken.Encoding(
        "gpt2", pat_str=str(gpt2_contract()["pretokenizer"][0]), mergeable_ranks=ranks, special_tokens={}
    )
    text = "It's 12 o'clock \u2014 \u4e2d\u6587  \n"
    assert rows(honest.encode([text.encode()])) == [encoding.encode_ordinary(text)]
