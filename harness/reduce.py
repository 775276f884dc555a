"""Reduction: the smallest document that still shows what a document showed.

Nothing is trusted before it is replayed. A document is asked several times, in fresh hosts and in used ones: where the
answers are not one, that is `flaky`, an outcome of its own, and nothing is reduced. Then passes propose smaller
documents until none of them is interesting any more or the time is up; the last one is replayed in fresh hosts again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol

from tokassay.harness.passes import PASSES, Pass, Test, size

# Whether the host is a fresh one, each time a document is asked before it is trusted, and before the result is.
BEFORE, AFTER = (True, False, True), (True, False)
# What a question says of a document that is interesting and too long to be looked at closely: it is held to nothing
# more until it is short enough.
LONG = "too long to be traced"

Progress = Callable[["Reduced"], None]


class Question(Protocol):
    """What is interesting about a document: a signature, or None. `fresh` forgets whatever an engine may remember."""

    def __call__(self, document: bytes) -> str | None: ...
    def fresh(self) -> None: ...


@dataclass
class Reduced:
    """What became of a document.

    `outcome` is `reduced`, `agree` (nothing is interesting about it), `not asked` (the time was up before it was
    replayed), or `flaky` (`answers` tells how often it said what; `document` is then the last one that was trusted).
    `tries` were asked, `cached` were known; `complete` says that no pass could make it smaller: otherwise the time was
    up, or it was `interrupted` (Ctrl-C), and `document` was not replayed.
    """

    original: bytes
    document: bytes
    outcome: str = "reduced"
    signature: str | None = None
    tries: int = 0
    cached: int = 0
    seconds: float = 0.0
    complete: bool = False
    interrupted: bool = False
    answers: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        return {
            "outcome": self.outcome,
            "document": self.original.hex(),
            "minimal": self.document.hex(),
            "signature": self.signature,
            "tries": self.tries,
            "cached": self.cached,
            "seconds": round(self.seconds, 3),
            "complete": self.complete,
            "interrupted": self.interrupted,
            "answers": dict(self.answers),
        }


class OutOfTime(Exception):
    """The time allowed is up; what was found so far stands."""


def reduce(
    document: bytes,
    question: Question,
    *,
    seconds: float,
    anything: bool = False,
    passes: Sequence[Pass] = PASSES,
    progress: Progress = lambda _: None,
) -> Reduced:
    """The smallest document found in `seconds` that shows the same as `document`; with `anything`, that shows
    something.

    The result is never larger than `document`, in the order of passes.size. What the question raises goes through.
    """
    start = time.monotonic()
    done = Reduced(document, document)
    try:
        answers = _replay(document, question, BEFORE)
    except OutOfTime:
        done.outcome, done.seconds = "not asked", time.monotonic() - start
        return done
    done.answers.update(str(answer) for answer in answers)
    done.signature = answers[0]
    if len(set(answers)) > 1:
        done.outcome = "flaky"
    elif answers[0] is None:
        done.outcome = "agree"
    else:
        try:
            _shrink(done, question, start + seconds, start, anything, passes, progress)
            _confirm(done, question, anything, answers[0])
        except KeyboardInterrupt:  # as where the time is up, but for another replay, which would be waited for
            done.interrupted, done.complete = True, False
    done.seconds = time.monotonic() - start
    return done


def _replay(document: bytes, question: Question, times: Sequence[bool]) -> list[str | None]:
    """The answers to a document asked again and again, in a fresh host where `times` says so."""
    found = []
    for fresh in times:
        if fresh:
            question.fresh()
        found.append(question(document))
    return found


def _shrink(
    done: Reduced,
    question: Question,
    deadline: float,
    start: float,
    anything: bool,
    passes: Sequence[Pass],
    progress: Progress,
) -> None:
    known: dict[bytes, bool] = {_key(done.document): True}

    def test(candidate: bytes) -> bool:
        key = _key(candidate)
        if key in known:
            done.cached += 1
            return known[key]
        if time.monotonic() > deadline:
            raise OutOfTime
        done.tries += 1
        answer = question(candidate)
        fits = answer is not None and (anything or as_it_was(answer, done.signature))
        known[key] = fits
        if fits and size(candidate) < size(done.document):
            done.document, done.signature = candidate, answer
        done.seconds = time.monotonic() - start
        progress(done)
        return fits

    try:
        fixpoint(done.document, test, passes)
        done.complete = True
    except OutOfTime:
        pass


def as_it_was(answer: str, signature: str | None) -> bool:
    """Whether a smaller document shows the same: the signature, or decisions of the stage that was but inferred."""
    if answer == signature or signature == LONG:
        return True
    known, _, stage = (signature or "").partition(" ")
    return known == "inferred" and (answer == f"traced {stage}" or answer.startswith(f"traced {stage} "))


def fixpoint(document: bytes, test: Test, passes: Sequence[Pass] = PASSES) -> bytes:
    """Pass after pass until none of them makes the document smaller."""
    before = None
    while document != before:
        before = document
        for each in passes:
            document = each(document, test)
    return document


def _confirm(done: Reduced, question: Question, anything: bool, signature: str | None) -> None:
    """A smaller document counts only if fresh hosts say the same of it: a worn one may call everything interesting.
    `signature` is the original's."""
    if done.document == done.original:
        return
    try:
        answers = _replay(done.document, question, AFTER)
    except OutOfTime:
        done.document, done.signature, done.complete = done.original, signature, False
        return
    if all(answer is not None and (anything or answer == done.signature) for answer in answers):
        return
    done.outcome, done.complete = "flaky", False
    done.answers = Counter(str(answer) for answer in answers)
    done.document = done.original


def _key(document: bytes) -> bytes:
    return document if len(document) <= 32 else sha256(document).digest()
