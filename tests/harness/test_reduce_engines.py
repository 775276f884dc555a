"""Planted faults made minimal: in hosts of their own where they fall, inside this process where they scan wrongly."""

from __future__ import annotations

import importlib.util
import statistics
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from tokassay.harness.commands.options import Asked, asked
from tokassay.harness.differ import Side, difference
from tokassay.harness.hosts import target
from tokassay.harness.minimal import Minimal, minimize
from tokassay.harness.reduce import reduce
from tokassay.oracles import oracle as oracles
from tokassay.oracles.oracle import Oracle

PLANTED = Path(__file__).parents[1] / "engines" / "planted"
TEXT = "The naïve café, 1234 it's hello zyx ".encode()
# Something of everything that a scanner may stumble over. GPT-2 has tokens `81 ab`, `e0 a8` and `'s`: whether the right
# scanner cuts them shows in the ids.
BROKEN = (
    b"\xe0@yp \xe0@'s it\xb1's \x89\x88\x81\xab 12\xb2\xb33 \xc0\xa0x \xe0\x80\xa0's a \xed\xa0\x80's "
    b"\xf5\x81\xab\x81 \xe1's x \xc0\x81\xab \xe0\x81\xab"
)


@pytest.fixture(scope="module")
def what() -> Asked:
    return asked("gpt2", None, None, False, [PLANTED / "planted.toml", PLANTED / "stages.toml"])


@pytest.fixture(scope="module")
def minimal(what: Asked) -> Callable[..., Minimal]:
    def run(engine: str, document: bytes, against: str = "oracle:tiktoken-bytes", timeout_s: float = 1.0) -> Minimal:
        targets = target(engine, what.contract, what.roster), target(against, what.contract, what.roster)
        return minimize(targets, what.loaded, document, roster=what.roster, seconds=240.0, timeout_s=timeout_s)

    return run


@pytest.mark.parametrize(
    ("engine", "verdict", "word"),
    [("lone-ff", "crash", b"\xff"), ("raises", "error", b"TRIGGER"), ("bad-id", "error", b"TRIGGER")],
)
def test_falls_become_what_triggers_them(
    minimal: Callable[..., Minimal], engine: str, verdict: str, word: bytes
) -> None:
    found = minimal(engine, b"some " + word + b" text")
    assert (found.reduced.outcome, found.reduced.document) == ("reduced", word)
    assert found.reduced.complete
    assert found.seen.left.outcome == verdict
    assert found.found is not None and found.found.stage == "process"


@pytest.mark.parametrize(("engine", "verdict", "timeout_s"), [("hangs", "timeout", 0.5), ("grows", "oom", 30.0)])
def test_hangs_and_growth_are_reduced_under_short_limits(
    minimal: Callable[..., Minimal], engine: str, verdict: str, timeout_s: float
) -> None:
    """Their own limits would be two minutes, and four gigabytes."""
    found = minimal(engine, b"a TRIGGER b", timeout_s=timeout_s)
    assert (found.reduced.document, found.seen.left.outcome) == (b"TRIGGER", verdict)
    assert found.reduced.seconds < 240.0


def test_flaky_is_an_outcome_of_its_own(minimal: Callable[..., Minimal]) -> None:
    """Wrong in every fresh host, right when the same host is asked again: it cannot be reduced, and is not."""
    found = minimal("first-time", TEXT)
    assert (found.reduced.outcome, found.reduced.document, found.exit_code) == ("flaky", TEXT, 1)


def test_the_honest_one_has_nothing_to_reduce(minimal: Callable[..., Minimal]) -> None:
    found = minimal("honest", TEXT)
    assert (found.reduced.outcome, found.exit_code, found.command) == ("agree", 0, "")


def test_a_merge_that_is_left_out(minimal: Callable[..., Minimal]) -> None:
    """Of two bytes only `he` itself is touched, and one byte is not."""
    found = minimal("never-joins-he", b"123he456", "oracle")
    assert found.reduced.document == b"he"
    assert (found.seen.left.ids, found.seen.right.ids) == ((71, 68), (258,))
    assert found.found is not None and (found.found.stage, found.found.known) == ("merge", "inferred")
    assert found.command == "tokassay diff never-joins-he oracle --hex 6865"


@pytest.mark.parametrize(
    ("engine", "smallest"), [("swaps-ids", (b"x", b"y")), ("unknown-id", (b"z",)), ("one-byte", (b"~",))]
)
def test_the_id_map(minimal: Callable[..., Minimal], engine: str, smallest: tuple[bytes, ...]) -> None:
    found = minimal(engine, b"1x2y3z4~5", "oracle")
    assert found.reduced.document in smallest
    assert found.found is not None and found.found.stage == "id map"


# -- scanners -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("planted_stages", PLANTED / "stages.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Inside:
    """A question to two oracles in this process, one of which scans wrongly and says no word of it."""

    def __init__(self, what: Asked, scanner: Callable[..., object]) -> None:
        self.tokens, self.pieces = what.loaded.vocabulary.tokens, what.loaded.vocabulary.ids()
        self.right, self.wrong = (Oracle(what.contract.to_json(), self.tokens) for _ in range(2))
        self.scanner, self.found = scanner, None

    def __call__(self, document: bytes) -> str | None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(oracles, "scan", self.scanner)
            got = self.wrong.encode(document)
        a, b = (self.side(name, ids) for name, ids in (("wrong", got), ("right", self.right.encode(document))))
        b = Side(b.name, ids=b.ids, tokens=b.tokens, decisions=tuple(self.right.decisions(document)))
        self.found = difference(a, b, document, is_token=self.tokens.__contains__)
        return None if self.found is None else self.found.signature

    def side(self, name: str, ids: list[int]) -> Side:
        return Side(name, ids=tuple(ids), tokens=tuple(map(self.pieces.get, ids)))

    def fresh(self) -> None:
        pass


def test_scanner_faults_become_a_few_bytes_and_name_their_stage(what: Asked, stages: ModuleType) -> None:
    """Each needs the bytes that it takes wrongly, at most four of them, and what is then cut otherwise."""
    sizes = {}
    for name, unit in stages.SCANNERS.items():
        question = Inside(what, stages.faulty(unit))
        document = TEXT + BROKEN + TEXT + b"\xe0\xa8"
        found = reduce(document, question, seconds=120)
        assert (found.outcome, found.complete) == ("reduced", True), name
        assert question(found.document) == found.signature, name
        assert question.found is not None and question.found.stage == "scan", (name, found.document, question.found)
        sizes[name] = len(found.document)
    assert max(sizes.values()) <= 8, sizes
    assert statistics.median(sizes.values()) <= 4, sizes


@pytest.mark.parametrize(
    ("fault", "document", "most"),
    [
        ("lead_alone", "e0407970", 4),
        ("lead_alone_whole", "ee407970", 4),
        ("continuation_leads", "898881ab", 4),
        ("continuation_leads", "bd9b9ae9", 4),
        ("continuation_leads", "b12773", 3),
        ("continuation_runs", "898881ab", 4),
    ],
)
def test_no_document_grows(what: Asked, stages: ModuleType, fault: str, document: str, most: int) -> None:
    """The smallest inputs that are known of these faults, where they show one, are not made larger."""
    found = reduce(bytes.fromhex(document), Inside(what, stages.faulty(stages.SCANNERS[fault])), seconds=120)
    assert found.outcome in ("reduced", "agree")
    assert len(found.document) <= most


def test_the_planted_scanner_that_is_right(what: Asked, stages: ModuleType) -> None:
    """The control: without a fault the planted scanner is the oracle's."""
    question = Inside(what, stages.faulty(stages.right))
    assert question(TEXT + BROKEN) is None
