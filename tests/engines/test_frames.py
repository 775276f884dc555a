"""Bodies and digests: hand-computed values, and host.py's own making of the same."""

from __future__ import annotations

import hashlib
import importlib.util
import struct
from array import array
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokassay.engines import frames, roster


def load_host() -> ModuleType:
    """host.py as a module, without running it."""
    spec = importlib.util.spec_from_file_location("host_under_test", Path(roster.__file__).with_name("host.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HOST = load_host()


def sha(hexadecimal: str) -> str:
    return hashlib.sha256(bytes.fromhex(hexadecimal)).hexdigest()


def test_block_digest_of_ids_is_the_one_written_out_by_hand() -> None:
    # "hello world" (11 bytes) -> 31373, 995; "" -> nothing; one byte, rejected.
    written = (
        "544b4142 01"  # TKAB, form 1
        "0300000000000000"
        "0b00000000000000 0000000000000000 0100000000000000"
        "00 00 01"
        "02000000 00000000 00000000"
        "8d7a0000 e3030000"
    )
    ids = frames.Ids(np.array([0, 0, 1], np.uint8), np.array([2, 0, 0], np.uint32), np.array([31373, 995], np.uint32))
    assert frames.block_digest([11, 0, 1], ids) == sha(written)
    columns = HOST.Columns("ids", bytearray([0, 0, 1]), array("I", [2, 0, 0]), array("I", [31373, 995]))
    assert columns.digest(array("Q", [11, 0, 1])) == sha(written)


def test_block_digests_of_spans_and_texts_are_the_ones_written_out_by_hand() -> None:
    spans = "544b414f 01 0100000000000000 0200000000000000 00 01000000 00000000 02000000"
    made = frames.Spans(np.zeros(1, np.uint8), np.array([1], np.uint32), np.array([[0, 2]], np.uint32))
    assert frames.block_digest([2], made) == sha(spans)
    assert HOST.Columns("spans", bytearray(1), array("I", [1]), array("I", [0, 2])).digest(array("Q", [2])) == sha(
        spans
    )
    texts = "544b4154 01 0100000000000000 0200000000000000 00 0200000000000000 6869"
    assert frames.block_digest([2], frames.Texts(np.zeros(1, np.uint8), [b"hi"])) == sha(texts)
    assert HOST.Columns("texts", bytearray(1), array("Q", [2]), b"hi").digest(array("Q", [2])) == sha(texts)


def test_leaf_is_the_one_written_out_by_hand() -> None:
    assert frames.leaf(11, 0, [31373, 995]).hex() == sha("0b00000000000000 00 02000000 8d7a0000 e3030000")
    assert frames.leaf(1, 1, []).hex() == sha("0100000000000000 01 00000000")


def test_corpus_digest_hashes_the_raw_block_digests_in_order() -> None:
    one, two = "11" * 32, "22" * 32
    assert frames.corpus_digest([one, two]) == hashlib.sha256(b"\x11" * 32 + b"\x22" * 32).hexdigest()
    assert frames.corpus_digest([two, one]) != frames.corpus_digest([one, two])


rows = st.lists(st.one_of(st.none(), st.lists(st.integers(0, 2**32 - 1), max_size=5)), max_size=8)


@given(rows, st.data())
def test_host_and_client_agree_on_digest_and_body(rows: list[list[int] | None], data: st.DataObject) -> None:
    lengths = data.draw(st.lists(st.integers(0, 2**40), min_size=len(rows), max_size=len(rows)))
    outcome = HOST.Outcome(len(rows))
    for index, row in enumerate(rows):
        if row is None:
            outcome.status[index] = HOST.REJECT
    columns = HOST.build_columns("ids", rows, outcome)
    ids = frames.unpack_ids(b"".join(bytes(memoryview(part).cast("B")) for part in columns.body() if len(part)))
    assert ids.rows() == [row or [] for row in rows]
    assert ids.status.tolist() == [1 if row is None else 0 for row in rows]
    assert frames.block_digest(lengths, ids) == columns.digest(array("Q", lengths))


@given(st.lists(st.binary(max_size=9), max_size=7))
def test_documents_and_texts_cross_unchanged(documents: list[bytes]) -> None:
    assert HOST.split_documents(memoryview(frames.pack_documents(documents))) == documents
    columns = HOST.build_columns("texts", list(documents), HOST.Outcome(len(documents)))
    body = b"".join(bytes(memoryview(part).cast("B")) for part in columns.body() if len(part))
    assert frames.unpack_texts(body).texts == documents


@given(st.lists(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=4), max_size=5))
def test_spans_cross_unchanged(rows: list[list[tuple[int, int]]]) -> None:
    columns = HOST.build_columns("spans", list(rows), HOST.Outcome(len(rows)))
    body = b"".join(bytes(memoryview(part).cast("B")) for part in columns.body() if len(part))
    assert frames.unpack_spans(body).rows() == rows


@given(rows)
def test_ids_sent_to_a_host_arrive(rows: list[list[int] | None]) -> None:
    plain = [row or [] for row in rows]
    status, arrived = HOST.split_ids(memoryview(frames.pack_ids(frames.ids_of(plain))))
    assert arrived == plain and status == bytes(len(plain))


@pytest.mark.parametrize(
    "body",
    [b"", b"\x01", struct.pack("<Q", 5), struct.pack("<Q", 1) + b"\0" + struct.pack("<I", 3), struct.pack("<Q", 2**63)],
)
def test_a_body_that_does_not_hold_what_it_counts_is_named(body: bytes) -> None:
    with pytest.raises(frames.FrameError):
        frames.unpack_ids(body)
    with pytest.raises(HOST.BadBody):
        HOST.split_ids(memoryview(body))


@pytest.mark.parametrize("offsets", [[1, 2], [0, 3], [0, 2, 1, 2]])
def test_document_offsets_must_rise_from_nought_to_the_end(offsets: list[int]) -> None:
    body = struct.pack(f"<{len(offsets) + 1}Q", len(offsets) - 1, *offsets) + b"ab"
    with pytest.raises(HOST.BadBody):
        HOST.split_documents(memoryview(body))


@pytest.mark.parametrize(
    "start",
    [b"GARB", b"TKA1\xff\xff\xff\xff", b"TKA1\x02\0\0\0{]", b"TKA1\x02\0\0\0{}", b'TKA1\x11\0\0\0{"v":1,"len":-100}'],
)
def test_a_frame_that_is_none_is_named(start: bytes) -> None:
    with pytest.raises(frames.FrameError):
        frames.read_head(start)


def test_half_a_head_is_waited_for() -> None:
    whole = frames.frame({"id": 1}, 0)
    assert [frames.read_head(whole[:end]) for end in range(len(whole))] == [None] * len(whole)
    assert frames.read_head(whole) == ({"id": 1, "v": 1, "len": 0}, len(whole))


def test_a_batch_that_fails_as_a_whole_fails_every_document() -> None:
    outcome = HOST.Outcome(2)

    def call(items: list[str], threads: int) -> list[list[int]]:
        if len(items) > 1:
            raise ValueError("only together")
        return [[1]]

    batch = HOST.Batch(call, 1, outcome, ())
    out, problem, _ = batch.whole(["a", "b"])
    assert out is None
    assert batch.halve(["a", "b"], range(2), problem) == [None, None]
    assert bytes(outcome.status) == b"\x02\x02"
    assert outcome.errors == [(0, "ValueError", "only together"), (1, "ValueError", "only together")]


def test_numpy_rows_and_flat_batches_become_the_same_columns() -> None:
    plain = HOST.build_columns("ids", [[1, 2], [], [3]], HOST.Outcome(3))
    for made in (
        [np.array([1, 2], np.uint32), np.array([], np.uint32), np.array([3], np.int64)],
        [(1, 2), array("I"), array("q", [3])],
        (np.array([1, 2, 3], np.uint32), np.array([2, 0, 1], np.uint32)),
    ):
        assert HOST.build_columns("ids", made, HOST.Outcome(3)) == plain


@pytest.mark.parametrize(
    "row", [[-1], [2**32], [1.0], ["1"], iter([1]), {1: 2}, np.array([1.0]), np.zeros((1, 1), np.uint32)]
)
def test_what_is_not_a_row_of_ids_is_that_documents_error(row: object) -> None:
    outcome = HOST.Outcome(3)
    columns = HOST.build_columns("ids", [[7], row, [8]], outcome)
    assert bytes(outcome.status) == b"\0\x02\0"
    assert columns.values.tolist() == [7, 8] and columns.counts.tolist() == [1, 0, 1]
    assert [index for index, _, _ in outcome.errors] == [1]
