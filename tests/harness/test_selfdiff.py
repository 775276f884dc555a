"""An engine against itself: honest ones are the same in every way, and each planted fault shows in its own."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from tokassay.harness import cli
from tokassay.harness.compare import Output
from tokassay.harness.lanes import Lanes
from tokassay.harness.long_documents import LONG, cut_at, long_document
from tokassay.harness.selfdiff import Row, exit_code, ordered, requests, run, selected, tiles
from tokassay.harness.suites import CorpusRequest, Suite
from tokassay.harness.ways import DERIVED, LONG_DOCUMENT, OFFSETS, ROUND_TRIP, STARTS, STREAMED, WAYS

PLANTED = [Path(__file__).parents[1] / "engines" / "planted" / name for name in ("planted.toml", "itself.toml")]
TEXT = [b"hello world", b"The quick brown fox jumps", "naïve café".encode(), b"", b"x=y~z", b"\xff\xfe", b"blanks   "]


def rows_of(
    engine: str, *ways: str, documents: list[bytes] = TEXT, vocabulary: str = "gpt2"
) -> dict[str, Row]:
    """The rows of one engine by way, of these ways alone (none: all)."""
    suite = Suite("test", "", (vocabulary,), (engine,), (CorpusRequest("mine", ("encode",), ("off",)),))
    lanes = Lanes(suite, PLANTED, None, {}, 1)
    named = [(f"document {i}", document) for i, document in enumerate(documents)]
    try:
        rows = run(
            lanes, lanes.vocabularies(), [("mine", lambda _: named)], wanted=lambda way: not ways or way in ways
        )
    finally:
        lanes.close()
    return {row.way: row for row in rows}


def test_engines_asked_at_a_time_have_the_rows_that_they_have_alone() -> None:
    engines = ("dat-bpe", "second-thread", "moves-token")
    suite = Suite("test", "", ("gpt2",), engines, (CorpusRequest("mine", ("encode",), ("off",)),))
    found = []
    for jobs in (1, 3):
        lanes = Lanes(suite, PLANTED, None, {}, 1)
        try:
            mine = [("mine", lambda _: [(f"document {i}", each) for i, each in enumerate(TEXT)])]
            found.append(run(lanes, lanes.vocabularies(), mine, wanted=lambda way: "encode_batch" in way, jobs=jobs))
        finally:
            lanes.close()
    assert found[0] == found[1]
    assert list(dict.fromkeys(row.engine for row in found[1])) == list(engines)
    assert {row.verdict for row in found[1]} >= {"same", "differ"}


def verdicts(engine: str, *ways: str, documents: list[bytes] = TEXT) -> dict[str, str]:
    return {way: row.verdict for way, row in rows_of(engine, *ways, documents=documents).items()}


def test_our_own_engine_is_the_same_in_every_way_that_it_offers() -> None:
    rows = rows_of("dat-bpe")
    absent = {STREAMED.name, STARTS.name}  # it has no such calls
    assert {row.verdict for way, row in rows.items() if way not in absent} == {"same"}, rows
    assert {rows[way].verdict for way in absent} == {"unsupported"}
    offered = {"no cache", "scalar", "as str", "entry point whole", "ids of the call with offsets"}
    assert {way.name for way in (*WAYS, ROUND_TRIP, OFFSETS)} | offered <= set(rows)
    long = {"whole", "in parts of 65,537", "begun later, encode", "begun later, encode_batch"}
    assert {f"a long document {how}" for how in long} <= set(rows)
    assert exit_code(rows.values()) == 0


@pytest.mark.parametrize(
    ("engine", "shows", "hides"),
    [
        ("second-thread", "encode_batch, two threads", "encode_batch"),
        ("moves-token", "encode_batch", "batches of one"),
        ("first-time", "again and again", "a fresh instance"),
        ("remembers", "reversed order", "again and again"),
        ("from-str", "as str", "a fresh instance"),
        ("strips", ROUND_TRIP.name, "a fresh instance"),
        ("other-options", "tilde", "a fresh instance"),
    ],
)
def test_a_fault_shows_in_its_own_way(engine: str, shows: str, hides: str) -> None:
    # The documents rise in length, so that what a longer one leaves behind is seen in another order alone.
    rows = rows_of(engine, shows, hides, documents=sorted(TEXT, key=len))
    assert (rows[shows].verdict, rows[hides].verdict) == ("differ", "same"), rows
    assert rows[shows].first is not None and rows[shows].differ >= 1


def test_a_used_instance_goes_wrong() -> None:
    """Right for 300 documents: not the first pass shows it, but the second."""
    found = verdicts(
        "reused", "a fresh instance", "a used instance", "again and again",
        documents=[b"document %d" % i for i in range(200)],
    )
    assert found == {"a fresh instance": "same", "a used instance": "differ", "again and again": "differ"}


def test_chunks_of_a_long_document() -> None:
    """Wrong past a megabyte, where a chunk ends inside of a word."""
    documents = [b"uninterrupted considerations notwithstanding extraordinarily" for _ in range(3)]
    rows = rows_of("chunked", LONG_DOCUMENT.name, "a fresh instance", documents=documents)
    assert rows["a fresh instance"].verdict == "same"
    assert rows["a long document in parts of 65,537"].verdict == "same"
    assert rows["a long document whole"].verdict == "differ"


# What is no encoding of bytes in memory. The documents hold what each fault needs: characters of several tokens, a
# newline at the end, an empty one, U+2028, and words on both sides of the sixteenth byte.
OTHER_CALLS = [
    b"hello world", b"", b"a line\n", "naïve 🙂 café".encode(), "one\u2028two".encode(),
    b"notwithstanding extraordinarily",
]


@pytest.mark.parametrize(
    ("engine", "shows", "hides"),
    [
        ("itself-files", "from files", "from separated"),
        ("itself-rows", "from separated", "from files"),
        ("itself-lines", "from jsonl", "from separated"),
        ("itself-file-threads", "from files, four threads", "from files"),
        ("itself-spans-ids", "ids of the call with offsets", OFFSETS.name),
        ("itself-spans", OFFSETS.name, "ids of the call with offsets"),
        ("itself-stream", STREAMED.name, ROUND_TRIP.name),
        ("itself-starts", STARTS.name, OFFSETS.name),
    ],
)
def test_a_fault_of_another_call_shows_in_its_own_way(engine: str, shows: str, hides: str) -> None:
    """Files, offsets and streams; the nearest of the other ways does not show it."""
    assert verdicts(engine, shows, hides, documents=OTHER_CALLS) == {shows: "differ", hides: "same"}


def test_an_engine_with_every_call_is_the_same_in_each() -> None:
    readers = [f"from {reader}{more}" for reader in ("files", "separated", "jsonl") for more in ("", ", four threads")]
    asked = [*readers, "ids of the call with offsets", *(way.name for way in DERIVED)]
    assert verdicts("itself-none", *asked, documents=OTHER_CALLS) == dict.fromkeys(asked, "same")


def test_rows_that_are_missing_are_told_by_their_number() -> None:
    row = rows_of("itself-rows", "from separated", documents=OTHER_CALLS)["from separated"]
    assert (row.documents, row.detail) == (6, "ValueError: 1 documents gave 0 rows")


def test_chunks_that_end_in_a_lucky_place() -> None:
    """Wrong only where a chunk's last bytes have no blank: the whole text has some there, but not begun later."""
    word = b"".join(b"%x" % (n * n) for n in range(9000)).translate(bytes.maketrans(b"0123456789", b"ghijklmnop"))
    documents = [b"some words and " * 5100 + word + b" more words" * 500]
    rows = rows_of("itself-chunks", LONG_DOCUMENT.name, documents=documents)
    found = {way: row.verdict for way, row in rows.items()}
    assert found["a long document begun later, encode"] == "differ", rows
    assert {found[way] for way in ("a long document whole", "a long document in parts of 65,537")} == {"same"}, rows


def test_spans_that_tile() -> None:
    assert tiles(np.array([0, 2, 2, 2, 2, 5], np.uint32), b"abcde")
    assert tiles(np.array([1, 2, 2, 4], np.uint32), b" bcd  ")
    for spans in ([0, 2, 3, 5], [0, 2, 2, 4], [1, 2, 2, 5], [0, 2, 2, 6], [0, 3, 3, 2]):
        assert not tiles(np.array(spans, np.uint32), b"abcde")


def test_sentencepiece_under_a_model_of_its_own(tmp_path: Path) -> None:
    """An opaque contract: its offsets tile the text, characters that are no token's included."""
    sentences = ["hello world", "low lower lowest new newest", "the cat sat on the mat"] * 20
    model = tmp_path / "small.model"
    with model.open("wb") as writer:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences), model_writer=writer, vocab_size=60, model_type="bpe", minloglevel=2
        )
    found = rows_of("sentencepiece", OFFSETS.name, "a fresh instance", "encode_batch", vocabulary=str(model))
    assert {row.verdict for row in found.values()} == {"same"}, found


def test_an_engine_that_falls_has_a_row_and_no_more() -> None:
    rows = rows_of("crashes", documents=[b"a", b"TRIGGER"])
    assert {way: row.verdict for way, row in rows.items()} == {"baseline": "crash"}
    assert exit_code(rows.values()) == 1


def test_what_an_engine_has_not_is_unsupported_with_its_reason() -> None:
    rows = rows_of("sentencepiece")
    assert [row.verdict for row in rows.values()] == ["unsupported"]
    assert rows["baseline"].detail
    assert exit_code(rows.values()) == 4


def test_orders_are_permutations_and_always_the_same() -> None:
    picked = np.array([3, 5, 8, 13, 21, 34])
    for order in ("forward", "reversed", "shuffled"):
        assert sorted(ordered(picked, order).tolist()) == picked.tolist()
        assert ordered(picked, order).tolist() == ordered(picked, order).tolist()
    assert ordered(picked, "shuffled").tolist() != picked.tolist()


def test_some_documents_of_an_output() -> None:
    output = Output(np.array([0, 1, 0], np.uint8), np.array([2, 0, 3], np.uint64), np.arange(5, dtype=np.uint32))
    found = selected(output, np.array([2, 0]))
    assert [found.of(0).tolist(), found.of(1).tolist()] == [[2, 3, 4], [0, 1]]
    assert found.status.tolist() == [0, 0]


def test_requests_hold_every_document_once() -> None:
    documents = [b"a" * n for n in (10, 600_000, 600_000, 5, 2_000_000, 1)]
    assert [each for chunk in requests(documents, 0) for each in chunk] == documents
    assert max(len(chunk) for chunk in requests(documents, 2)) == 2
    assert [len(chunk) for chunk in requests([b""] * 10, 3)] == [3, 3, 3, 1]


def test_a_long_document_is_cut_where_a_letter_is_followed_by_a_space() -> None:
    text = long_document([b"some words and", b"\xff", b"1234 5678"])
    assert text is not None and len(text) >= LONG
    parts = cut_at(text, 70_000)
    assert b"".join(parts) == text
    assert all(part[-1:].isalpha() and after.startswith(b" ") for part, after in pairwise(parts))
    assert long_document([b"1234", b"\xff"]) is None


def test_the_command_prints_a_table_or_an_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = tmp_path / "text"
    document.write_bytes(b"hello world, it's 1234")
    words = ["audit", "--self", "--engine", "dat-greedy", "--vocab", "gpt2@greedy-longest"]
    words += ["--corpus", f"{document}@files"]
    with pytest.raises(SystemExit) as caught:
        cli.main([*words, "--json"])
    assert caught.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "tokassay.self/1"
    assert {row["verdict"] for row in found["rows"]} == {"same", "unsupported"}
