"""Every fault that is planted is caught, named, and costs no other document its verdict."""

from collections.abc import Callable

import pytest

TEXT = [b"hello world", b"The quick brown fox", "naïve café".encode(), b"", b"x=y~z", b"\xff\xfe", b"1234 5678"]
TRIGGERED = [b"before", b"has TRIGGER in it", b"after", b"more"]


def test_the_honest_one_agrees(run_audit: Callable) -> None:
    """The control: without a fault the same engine matches everywhere, so what is caught below is the fault."""
    run = run_audit("honest", documents=TEXT + TRIGGERED, operations=("encode", "encode_batch", "decode"))
    assert run.outcome.exit_code == 0
    for operation in ("encode", "encode_batch", "decode"):
        assert run.verdicts("honest", operation).total() == len(TEXT + TRIGGERED)
        assert not set(run.verdicts("honest", operation)) & {"differ", "flaky", "error", "crash"}


@pytest.mark.parametrize(
    ("engine", "operation", "verdict", "count"),
    [
        ("one-byte", "encode", "differ", 1),
        ("second-thread", "encode_batch", "differ", None),
        ("moves-token", "encode_batch", "differ", 2),
        ("drops-empty", "encode_batch", "error", None),
        ("when-timed", "encode", "differ", 6),
        ("first-time", "encode", "flaky", 6),
    ],
)
def test_wrong_ids(run_audit: Callable, engine: str, operation: str, verdict: str, count: int | None) -> None:
    run = run_audit(engine, documents=TEXT, operations=(operation,))
    found = run.verdicts(engine, operation)
    assert run.outcome.exit_code == 1
    assert found.total() == len(TEXT)
    assert found[verdict] == count if count is not None else found[verdict] > 0
    assert any(d["verdict"] == verdict for d in run.divergences(engine))


def test_only_the_second_thread_is_wrong(run_audit: Callable) -> None:
    """The same batches with one thread are right: the verdict belongs to the thread."""
    documents = [b"document %d" % i for i in range(10)]
    one = run_audit("second-thread", documents=documents, operations=("encode", "encode_batch"), threads=1)
    two = run_audit("second-thread", documents=documents, operations=("encode", "encode_batch"), threads=2)
    assert one.outcome.exit_code == 0
    assert two.verdicts("second-thread", "encode") == {"match": 10}
    assert two.verdicts("second-thread", "encode_batch") == {"match": 5, "differ": 5}


def test_a_reused_instance_goes_wrong(run_audit: Callable) -> None:
    """Right for 300 documents, wrong from then on."""
    run = run_audit("reused", documents=[b"document %d" % i for i in range(400)])
    assert run.verdicts("reused") == {"match": 300, "differ": 100}


def test_right_when_asked_wrong_when_timed_is_told(run_audit: Callable) -> None:
    """The timed output is what counts, and the report says that asking again outside the clock hides it."""
    run = run_audit("when-timed", documents=[b"hello world"])
    assert run.verdicts("when-timed") == {"differ": 1}
    (found,) = run.divergences("when-timed")
    assert found["expected"] == "[31373, 995]"
    assert "outside" in found["explanation"]


@pytest.mark.parametrize(
    ("engine", "verdict", "words"),
    [
        ("crashes", "crash", "SIGSEGV"),
        ("leaves-child", "crash", "SIGSEGV"),
        ("exits", "crash", "status 7"),
        ("hangs", "timeout", ""),
        ("grows", "oom", ""),
        ("raises", "error", "ValueError"),
        ("panics", "error", "Panic"),
        ("interrupts", "error", "KeyboardInterrupt"),
        ("leaves", "error", "SystemExit"),
        ("stops", "error", "StopIteration"),
        ("garbage", "error", ""),
        ("forges", "error", "garbage on the pipe"),
    ],
)
def test_falls(run_audit: Callable, engine: str, verdict: str, words: str) -> None:
    """The document that did it has the verdict, every other one has its own, and the audit goes on."""
    run = run_audit(engine, "tiktoken", documents=TRIGGERED)
    assert run.verdicts(engine) == {"match": 3, verdict: 1}
    assert run.verdicts("tiktoken") == {"match": 4}
    assert run.outcome.exit_code == 1
    (found,) = run.divergences(engine)
    assert bytes.fromhex(found["input"]) == TRIGGERED[1]
    assert found["first"].endswith("00001")
    assert words in found["explanation"]


@pytest.mark.parametrize("engine", ["dies-loading", "dies-greeting"])
def test_an_engine_that_does_not_start_stops_nobody_else(run_audit: Callable, engine: str) -> None:
    """A row for every document, with the reason; and never reused."""
    for _ in range(2):
        run = run_audit(engine, "tiktoken", documents=TRIGGERED, operations=("encode", "decode"))
        assert run.verdicts(engine) == run.verdicts(engine, "decode") == {"crash": 4}
        assert run.verdicts("tiktoken") == {"match": 4}
        assert run.outcome.exit_code == 1
        (found,) = run.divergences(engine)
        assert found["documents"] == 8
        assert found["first"] == "every document"
        assert "does not start or load: SIGABRT" in found["explanation"]


def test_slow_is_not_flaky(run_audit: Callable) -> None:
    """A block that takes longer than the limit is asked document by document: each is in time, and right."""
    run = run_audit("is-slow", documents=[b"document %d" % i for i in range(90)])
    assert run.verdicts("is-slow") == {"match": 90}


def test_printing_to_standard_output_is_harmless(run_audit: Callable) -> None:
    run = run_audit("prints", documents=TEXT)
    assert run.outcome.exit_code == 0
    assert run.verdicts("prints").total() == len(TEXT)


def test_a_lone_ff_stops_nothing(run_audit: Callable) -> None:
    """Three documents abort a text-only engine; the rest have their verdicts."""
    documents = [b"a", b"\xff", b"b", b"a\xffb", b"c", b"\xff\xff"]
    run = run_audit("lone-ff", "tiktoken", documents=documents)
    assert run.verdicts("lone-ff") == {"match": 3, "crash": 3}
    assert run.verdicts("tiktoken").total() == 6


def test_a_bad_id_is_an_error_of_its_document(run_audit: Callable) -> None:
    assert run_audit("bad-id", documents=TRIGGERED).verdicts("bad-id") == {"match": 3, "error": 1}


def test_a_lazy_result_wins_nothing(run_audit: Callable) -> None:
    assert run_audit("lazy", documents=[b"hello"]).verdicts("lazy") == {"error": 1}


def test_a_list_that_encodes_when_it_is_read_wins_nothing(run_audit: Callable) -> None:
    """The work must be done when the clock stops: a subclass of list may do it later, row by row or as a batch."""
    assert run_audit("lazy-list", documents=[b"hello"]).verdicts("lazy-list") == {"error": 1}
    batch = run_audit("lazy-batch", documents=[b"hello", b"more"], operations=("encode_batch",))
    assert batch.verdicts("lazy-batch", "encode_batch") == {"error": 2}


def test_none_is_not_an_empty_list(run_audit: Callable) -> None:
    assert run_audit("nothing", documents=[b"hello", b""]).verdicts("nothing") == {"match": 1, "error": 1}


def test_a_second_try_does_not_undo_a_failure(run_audit: Callable) -> None:
    """A block that raised is done again to find the document: what is right then was still an error when timed."""
    run = run_audit("raises-once", documents=TRIGGERED)
    assert run.verdicts("raises-once") == {"match": 3, "error": 1}
    (found,) = run.divergences("raises-once")
    assert found["first"].endswith("00001") and "planted once" in found["explanation"]


def test_long_pieces_pass_the_sample_and_fail_the_gate(run_audit: Callable) -> None:
    """A corpus of real text is not enough: the gate's lengths (here the first of them) find what it cannot show."""
    real = run_audit("long-pieces", corpora=("sample",))
    assert real.outcome.exit_code == 0
    assert set(real.verdicts("long-pieces")) <= {"match", "declared"}
    gate = run_audit("long-pieces", corpora=("lengths:512",), store="gate.sqlite")
    assert gate.outcome.exit_code == 1
    assert gate.verdicts("long-pieces")["differ"] > 0


def test_isolating_ends(run_audit: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where isolating takes too long, the documents left have the block's verdict and say so; none is without one."""
    monkeypatch.setattr("tokassay.harness.ask.ISOLATING_S", 0.0)
    run = run_audit("lone-ff", documents=[b"\xff%d" % i for i in range(6)])
    assert run.verdicts("lone-ff") == {"crash": 6}
    found = run.divergences("lone-ff")
    assert [(d["documents"], "not isolated" in d["explanation"]) for d in found] == [(3, False), (3, True)]
    # One fault: those that were not isolated are counted with those that were.
    reductions = run.rows('SELECT ordinal, "like" FROM v_reduction WHERE run = ? ORDER BY ordinal')
    assert [tuple(row.values()) for row in reductions] == [(0, None), (1, 0)]
