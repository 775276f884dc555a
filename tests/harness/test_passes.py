"""Passes and their driver, on questions whose smallest documents are known by construction."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokassay.harness import reduce as reducer
from tokassay.harness.passes import ORDER, PASSES, class_of, lower_than, representative, size, text_of
from tokassay.harness.reduce import LONG, OutOfTime, fixpoint, reduce

BYTES = st.lists(
    st.one_of(st.binary(max_size=4), st.text(max_size=4).map(str.encode), st.sampled_from([b"hello ", b"\xe0@yp"])),
    max_size=8,
).map(b"".join)


class Says:
    """A question from a predicate, that counts what it is asked."""

    def __init__(self, predicate: Callable[[bytes], object], signature: str = "so") -> None:
        self.predicate, self.signature = predicate, signature
        self.asked: Counter[bytes] = Counter()
        self.hosts = 0

    def __call__(self, document: bytes) -> str | None:
        self.asked[document] += 1
        return self.signature if self.predicate(document) else None

    def fresh(self) -> None:
        self.hosts += 1


def within(needle: bytes, document: bytes) -> bool:
    """Whether the needle's bytes stand in the document in their order, others between or not."""
    rest = iter(document)
    return all(byte in rest for byte in needle)


@pytest.mark.parametrize(
    ("document", "predicate", "smallest"),
    [
        (b"hay needle hay", lambda d: b"needle" in d, b"needle"),
        (b"hello \xff world", lambda d: b"\xff" in d, b"\xff"),
        (b"f(g(x), y) ", lambda d: b"(" in d and b")" in d and d.index(b"(") < d.rindex(b")"), b"()"),
        (b"anything at all", lambda d: True, b""),
        (b"Hello " * 99, lambda d: re.search(rb"[A-Za-z]{9,}|(\w+ ){40}", d), b"aaaaaaaaa"),
        (b"abc" * 200, lambda d: re.search(rb"[A-Za-z]{301,}", d), b"a" * 301),
        ("naïve Ünder".encode(), lambda d: any(c.isupper() for c in text_of(d)), b"A"),
        (b"in 1984 there", lambda d: any(c.isdigit() for c in text_of(d)), b"0"),
        ("中文 text".encode(), lambda d: any(len(c.encode("utf-8", "replace")) == 3 for c in text_of(d)), "ࠀ".encode()),
        (b"x\xe0@yp", lambda d: re.search(rb"[\xe0-\xef][^\x80-\xbf]", d), b"\xe0a"),
        (b"a\x89\x88\x81\xab", lambda d: re.search(rb"[\x80-\xbf]{3}", d), b"\x80\x80\x80"),
        # Neither can go alone.
        (b"a<x>b<y>c", lambda d: d.count(b"<") == d.count(b">") and d.count(b"<"), b"<>"),
    ],
)
def test_smallest_documents(document: bytes, predicate: Callable[[bytes], object], smallest: bytes) -> None:
    found = reduce(document, Says(predicate), seconds=60)
    assert (found.document, found.outcome, found.complete) == (smallest, "reduced", True)


@given(BYTES, BYTES)
def test_a_hidden_needle_is_found_bare(needle: bytes, around: bytes) -> None:
    """Of all documents that hold its bytes in their order the needle is the shortest."""
    half = len(around) // 2
    document = around[:half] + b"".join(bytes([byte]) + around[half : half + 1] for byte in needle) + around[half:]
    assert fixpoint(document, lambda d: within(needle, d)) == needle


@given(BYTES, st.integers(0, 3), st.data())
def test_every_result_is_smaller_interesting_and_a_local_minimum_of_each_pass(
    document: bytes, modulus: int, data: st.DataObject
) -> None:
    """Whatever is asked: here, questions without rhyme or reason."""
    salt = data.draw(st.integers(0, 1 << 16))

    def test(candidate: bytes) -> bool:
        return candidate == document or hash((salt, candidate)) % (modulus + 1) == 0

    found = fixpoint(document, test)
    assert test(found)
    assert size(found) <= size(document)
    for each in PASSES:
        assert each(found, test) == found, each.__name__


@given(BYTES)
def test_passes_propose_only_smaller_documents(document: bytes) -> None:
    for each in PASSES:
        asked: list[bytes] = []
        each(document, lambda d, asked=asked: bool(asked.append(d)))  # type: ignore[misc]
        assert all(size(one) < size(document) for one in asked), each.__name__


@given(st.one_of(st.characters(exclude_categories=["Cs"]), st.integers(0xDC80, 0xDCFF).map(chr)))
def test_a_representative_is_of_the_class_and_not_above(character: str) -> None:
    one = representative(character)
    assert class_of(one) == class_of(character)
    assert size(one.encode("utf-8", "surrogateescape")) <= size(character.encode("utf-8", "surrogateescape"))
    assert character not in set(lower_than(character))


def test_the_order_is_one_of_all_bytes() -> None:
    assert sorted(ORDER) == list(range(256))
    assert [size(b"a") < size(b"0"), size(b"~") < size(b"\x80"), size(b"\xff") < size(b"aa")] == [True] * 3


def test_nothing_is_asked_twice() -> None:
    question = Says(lambda d: within(b"<x>", d))
    found = reduce(b"hello <x> <x> world", question, seconds=60)
    assert found.document == b"<x>"
    replayed = {b"hello <x> <x> world": len(reducer.BEFORE), b"<x>": 1 + len(reducer.AFTER)}
    assert question.asked == Counter(dict.fromkeys(question.asked, 1)) | Counter(replayed)
    assert found.tries == len(question.asked) - 1
    assert found.cached > 0


def test_nothing_to_reduce() -> None:
    question = Says(lambda d: False)
    found = reduce(b"hello", question, seconds=60)
    assert (found.outcome, found.document, found.signature, found.tries) == ("agree", b"hello", None, 0)
    assert question.asked == {b"hello": len(reducer.BEFORE)}


def test_an_answer_that_changes_is_flaky_before_anything_is_reduced() -> None:
    answers = iter(["one", None, "one"])
    question = Says(lambda d: True)
    question.__class__ = type("Flips", (Says,), {"__call__": lambda self, d: next(answers)})
    found = reduce(b"hello", question, seconds=60)
    assert (found.outcome, found.document, found.tries) == ("flaky", b"hello", 0)
    assert found.answers == {"one": 2, "None": 1}


def test_a_worn_host_is_flaky_and_its_result_is_not_believed() -> None:
    """After a while everything is interesting; a fresh host says otherwise."""

    class Worn(Says):
        calls = 0

        def __call__(self, document: bytes) -> str | None:
            self.calls += 1
            return "so" if self.calls > 5 or b"x" in document else None

        def fresh(self) -> None:
            self.calls = 0

    found = reduce(b"a x " * 20, Worn(bool), seconds=60)
    assert (found.outcome, found.document, found.complete) == ("flaky", b"a x " * 20, False)


def test_the_same_difference_is_kept_unless_any_will_do() -> None:
    """Two faults in one document: a `~`, which comes to light only without the other, a `#`."""

    class Two(Says):
        def __call__(self, document: bytes) -> str | None:
            return "hash" if b"##" in document else "tilde" if b"~" in document else None

    assert reduce(b"a ## b ~ c", Two(bool), seconds=60).document == b"##"
    assert reduce(b"a ## b ~ c", Two(bool), seconds=60, anything=True).document == b"~"


@pytest.mark.parametrize(
    ("short", "smallest"),
    [
        ("traced lookup", b"x"), ("traced lookup a / b", b"x"), ("traced merge", b"xaaa"),
        ("inferred lookup (L | N)", b"xaaa"), ("traced lookups", b"xaaa"),
    ],
)
def test_decisions_stand_for_the_stage_that_was_inferred(short: str, smallest: bytes) -> None:
    """A path that the trace does not take, of a fault that it shows on smaller documents."""
    class Inferred(Says):
        def __call__(self, document: bytes) -> str | None:
            return None if b"x" not in document else "inferred lookup" if b"aaa" in document else short

    done = reduce(b"bxaaaab", Inferred(bool), seconds=60)
    assert (done.document, done.signature) == (smallest, "inferred lookup" if smallest == b"xaaa" else short)


def test_a_long_document_is_held_to_the_first_signature_that_can_be_told() -> None:
    class Far(Says):
        def __call__(self, document: bytes) -> str | None:
            told = "hash" if b"##" in document else None
            return LONG if told and len(document) > 100 else told

    found = reduce(b"abcd" * 99 + b"##" + b"efgh" * 99, Far(bool), seconds=60)
    assert (found.document, found.signature) == (b"##", "hash")


def test_the_time_is_bounded_and_what_was_found_stands() -> None:
    found = reduce(b"hello needle", Says(lambda d: b"needle" in d), seconds=0)
    assert (found.outcome, found.document, found.complete, found.tries) == ("reduced", b"hello needle", False, 0)


@pytest.mark.parametrize(("asked", "outcome"), [(1, "not asked"), (9, "reduced")])
def test_what_was_not_replayed_does_not_count(asked: int, outcome: str) -> None:
    """The time is up while the document is replayed, and while the smaller one is."""
    class Slow(Says):
        def __call__(self, document: bytes) -> str | None:
            if self.asked.total() == asked or (self.asked and document == b"" and self.hosts > 2):
                raise OutOfTime
            return super().__call__(document)

    found = reduce(b"hello", Slow(lambda d: True), seconds=60)
    assert (found.outcome, found.document, found.complete) == (outcome, b"hello", False)


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    question = Says(lambda d: b"needle" in d)
    reduce(b"hay needle", question, seconds=60, progress=lambda r: told.append((r.tries, len(r.document))))
    assert [tries for tries, _ in told] == list(range(1, len(told) + 1))
    assert told[-1][1] == 6
