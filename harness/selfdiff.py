"""Every engine against itself: the same documents in another way, which must change no id.

`WAYS` is the table: threads, batches, order, a fresh or a used instance, a cold or a warm cache. To these come what an
engine offers of itself: its other entry points, the types it takes (`forms` of its adapter), the options that must be
without effect (`alternatives` of the roster), its decoder, and one long document against its parts. No oracle is asked:
an engine that is consistently wrong passes here, and fails an audit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from tokassay.corpora.draws import Draws
from tokassay.engines.client import Host, HostFailure, Unsupported
from tokassay.engines.dat_bpe.patterns import find_pattern
from tokassay.harness.ask import failure
from tokassay.harness.blocks import MAX_BYTES, MAX_DOCUMENTS
from tokassay.harness.compare import IDS, Output, differing, joined
from tokassay.harness.domains import BYTES, domain_of
from tokassay.harness.errors import AGREED, MISMATCH, NOTHING
from tokassay.harness.expect import own_bytes
from tokassay.harness.hosts import open_host
from tokassay.harness.lanes import Lanes, Vocabulary
from tokassay.harness.tasks import Lane

SAME, DIFFER, UNSUPPORTED = "same", "differ", "unsupported"
FAILED = (DIFFER, "crash", "error", "timeout", "oom")
ROUND_TRIP, LONG_DOCUMENT = "round trip", "a long document in parts"  # what is no line of WAYS
FEW = 1000  # documents that are asked one by one: a request takes 0.2 ms and more
LONG = 3 << 20  # bytes of the long document
PARTS = (4_000, 65_537, 1_000_003)  # bytes of its parts, about


@dataclass(frozen=True)
class Way:
    """A way to ask for the same ids.

    threads    of the call, and of the pool with which the process starts
    order      of the documents: forward, reversed, shuffled
    most       documents a request; 0: as many as a block holds
    times      passes over all documents; each must give the same
    before     what the instance has done already: "" nothing, "reversed" the documents in that order
    form       the type that documents are handed over as; "" the usual
    options    of `load`, beside the roster's
    text_only  ask for well-formed documents alone
    few        ask for at most FEW documents
    """

    name: str
    operation: str = "encode"
    threads: int = 1
    order: str = "forward"
    most: int = 0
    times: int = 1
    before: str = ""
    form: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    text_only: bool = False
    few: bool = False


BASELINE = Way("baseline")
WAYS = (
    Way("a fresh instance"),
    Way("again and again", times=4),
    Way("reversed order", order="reversed"),
    Way("shuffled order", order="shuffled"),
    Way("a used instance", before="reversed"),
    Way("one request a document", most=1, few=True),
    Way("seven documents a request", most=7, few=True),
    Way("a pool of four", threads=4),
    Way("encode_batch", operation="encode_batch"),
    Way("encode_batch, two threads", operation="encode_batch", threads=2),
    Way("encode_batch, four threads", operation="encode_batch", threads=4),
    Way("encode_batch, four threads, again", operation="encode_batch", threads=4, times=4),
    Way("encode_batch, four threads, shuffled", operation="encode_batch", threads=4, order="shuffled"),
    Way("batches of one", operation="encode_batch", most=1, few=True),
    Way("batches of seven, two threads", operation="encode_batch", most=7, threads=2, few=True),
)


def offered(hello: Mapping[str, Any], alternatives: Mapping[str, Mapping[str, Any]]) -> Iterator[Way]:
    """The ways that an engine offers of itself."""
    for entry in hello.get("entries", ()):
        yield Way(f"entry point {entry}", operation=entry, text_only=True)
    for form in hello.get("forms", ()):
        yield Way(f"as {form}", form=form, text_only=True)
    for name, options in alternatives.items():
        yield Way(name, options=options)
        yield Way(f"{name}, warm", options=options, times=2)


@dataclass
class Row:
    """One way of one engine on one corpus: how many documents were compared and how many differ, and the first."""

    engine: str
    version: str
    vocabulary: str
    corpus: str
    way: str
    verdict: str
    documents: int = 0
    differ: int = 0
    detail: str = ""
    first: dict[str, Any] | None = None


def run(
    lanes: Lanes,
    vocabularies: Iterable[Vocabulary],
    corpora: Iterable[tuple[str, Callable[[Vocabulary], Sequence[tuple[str, bytes]]]]],
    say: Callable[[str], None] = lambda _: None,
    wanted: Callable[[str], bool] = lambda _: True,
) -> list[Row]:
    """All engines of `lanes` under each vocabulary on each corpus, given as (name, its documents by name for one).

    `say` is told what was done last; `wanted` picks ways by name.
    """
    rows: list[Row] = []
    named = list(corpora)
    for vocabulary in vocabularies:
        for lane in lanes.subject(vocabulary, "off", "")[1]:
            for corpus, documents_of in named:
                session = Session(lanes, lane, vocabulary, corpus, documents_of(vocabulary), wanted)
                for row in session.rows():
                    say(f"{row.engine}, {vocabulary.name}, {corpus}: {row.way}")
                    rows.append(row)
    return rows


def exit_code(rows: Iterable[Row]) -> int:
    """0 all the same, 1 some differ or failed, 4 nothing was compared."""
    found = Counter(row.verdict for row in rows)
    if any(found[word] for word in FAILED):
        return MISMATCH
    return AGREED if found[SAME] else NOTHING


class Session:
    """One engine under one vocabulary on one corpus."""

    def __init__(
        self, lanes: Lanes, lane: Lane, vocabulary: Vocabulary, corpus: str, named: Sequence[tuple[str, bytes]],
        wanted: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self.lanes, self.lane, self.vocabulary, self.corpus = lanes, lane, vocabulary, corpus
        self.wanted = wanted
        self.names = [name for name, _ in named]
        self.documents = [data for _, data in named]
        self.spec = lanes.roster[lane.engine]
        self.version = ""

    def rows(self) -> Iterator[Row]:
        """A row for each way, and one alone where the engine takes no part."""
        if self.lane.unsupported or self.lane.failed:
            verdict, why = self.lane.failed or (UNSUPPORTED, self.lane.unsupported)
            yield self._row(BASELINE, verdict, detail=why)
            return
        try:
            with self._host(BASELINE) as host:
                hello = host.hello()
                self.version = str(hello["version"])
                (right,) = self._passes(host, BASELINE, np.arange(len(self.documents)))
        except (Unsupported, HostFailure) as error:
            yield self._failed(BASELINE, error)
            return
        for way in (*WAYS, *offered(hello, self.spec.alternatives)):
            if self.wanted(way.name):
                yield self._compared(way, right, hello)
        if self.wanted(ROUND_TRIP):
            yield self._decoded(right)
        if self.wanted(LONG_DOCUMENT):
            yield from self._long(hello)

    # ---- asking

    def _host(self, way: Way) -> Host:
        return open_host(
            self.lane.engine, self.vocabulary.loaded, self.lane.contract, roster=self.lanes.roster,
            threads=way.threads, options=way.options,
        )

    def _passes(self, host: Host, way: Way, picked: npt.NDArray[np.int64]) -> Iterator[Output]:
        """The output of each pass for the picked documents, in their own order whatever the way's is."""
        order = ordered(picked, way.order)
        back = np.argsort(order, kind="stable")
        # `picked` ascends, so that the places of `order` sorted are those of `picked`.
        if way.before:
            self._ask(host, way, ordered(picked, way.before))
        for _ in range(way.times):
            yield selected(self._ask(host, way, order), back)

    def _ask(self, host: Host, way: Way, order: npt.NDArray[np.int64]) -> Output:
        parts = []
        for chunk in requests([self.documents[each] for each in order.tolist()], way.most):
            answer = host.encode(chunk, way.operation, threads=way.threads, form=way.form)
            parts.append(Output.from_frames(answer.output))
        return joined(parts)

    def _picked(self, way: Way) -> npt.NDArray[np.int64]:
        """Which documents a way is asked for: well-formed ones, where its entry point has another byte policy."""
        picked = np.arange(len(self.documents))
        policy = self.spec.byte_policies.get(way.operation, self.spec.byte_policy)
        if way.text_only or policy != self.spec.byte_policy:
            picked = picked[[domain_of(document) != BYTES for document in self.documents]]
        if way.few and len(picked) > FEW:
            picked = picked[np.linspace(0, len(picked) - 1, FEW).astype(np.int64)]
        return picked

    # ---- comparing

    def _compared(self, way: Way, right: Output, hello: Mapping[str, Any]) -> Row:
        """`right` is the baseline of all documents."""
        known = (*hello.get("operations", ()), *hello.get("entries", ()))
        if way.operation not in known:
            return self._row(way, UNSUPPORTED, detail=f"the engine has no {way.operation}")
        picked = self._picked(way)
        if not len(picked):
            return self._row(way, UNSUPPORTED, detail="the corpus has no document for it")
        wanted = selected(right, picked)
        wrong: dict[int, Output] = {}
        try:
            with self._host(way) as host:
                for found in self._passes(host, way, picked):
                    for each in differing(found, wanted).tolist():
                        wrong.setdefault(each, found)
        except (Unsupported, HostFailure) as error:
            return self._failed(way, error)
        if not wrong:
            return self._row(way, SAME, documents=len(picked))
        at = min(wrong)
        place = int(picked[at])
        first = {
            "name": self.names[place], "hex": self.documents[place][:256].hex(),
            "got": shown(wrong[at], at), "baseline": shown(wanted, at),
        }
        return self._row(way, DIFFER, documents=len(picked), differ=len(wrong), first=first)

    def _decoded(self, right: Output) -> Row:
        """The round trip: the text of a document's ids is the document."""
        way = Way(ROUND_TRIP, operation="decode")
        if "decode" not in self.lane.operations or not own_bytes(self.lane.contract):
            why = "the engine has no decode" if "decode" not in self.lane.operations else "its ids lose bytes"
            return self._row(way, UNSUPPORTED, detail=why)
        picked = np.flatnonzero(right.status == IDS)
        try:
            with self._host(way) as host:
                (found,) = self._passes(host, way, picked)
        except (Unsupported, HostFailure) as error:
            return self._failed(way, error)
        wrong = [i for i, place in enumerate(picked.tolist()) if found.of(i).tobytes() != self.documents[place]]
        row = self._row(way, DIFFER if wrong else SAME, documents=len(picked), differ=len(wrong))
        if wrong:
            place = int(picked[wrong[0]])
            row.first = {
                "name": self.names[place], "hex": self.documents[place][:256].hex(),
                "got": found.of(wrong[0]).tobytes()[:256].hex(), "baseline": self.documents[place][:256].hex(),
            }
        return row

    def _long(self, hello: Mapping[str, Any]) -> Iterator[Row]:
        """A document of three megabytes against its parts, cut where every published pattern ends a piece."""
        contract = self.lane.contract
        way = Way(LONG_DOCUMENT)
        if contract.normalizer != "none" or find_pattern(contract.pretokenizer) is None:
            yield self._row(way, UNSUPPORTED, detail="it is not known where this contract's documents may be cut")
            return
        text = long_document(self.documents)
        if text is None:
            yield self._row(way, UNSUPPORTED, detail="the corpus has no text to make a long document of")
            return
        cuts = {size: cut_at(text, size) for size in PARTS}
        asked = [(Way(f"a long document in parts of {size:,}"), cuts[size]) for size in PARTS[1:]]
        asked.append((Way("a long document whole"), [text]))
        for threads in (1, 4):
            named = f"a long document, encode_batch, threads: {threads}"
            asked.append((Way(named, operation="encode_batch", threads=threads), [text]))
        try:
            with self._host(way) as host:
                right = self._joined_ids(host, way, cuts[PARTS[0]])
        except (Unsupported, HostFailure) as error:
            yield self._failed(way, error)
            return
        for each, parts in asked:
            if each.operation not in hello.get("operations", ()):
                yield self._row(each, UNSUPPORTED, detail=f"the engine has no {each.operation}")
                continue
            try:
                with self._host(each) as host:
                    found = self._joined_ids(host, each, parts)
            except (Unsupported, HostFailure) as error:
                yield self._failed(each, error)
                continue
            yield self._same_ids(each, found, right, len(text))

    def _joined_ids(self, host: Host, way: Way, parts: list[bytes]) -> npt.NDArray[Any]:
        found = []
        for chunk in requests(parts, way.most):
            output = Output.from_frames(host.encode(chunk, way.operation, threads=way.threads).output)
            if output.status.any():
                raise Unsupported("the engine has no ids for the long document")
            found.append(output.values)
        return np.concatenate(found)

    def _same_ids(self, way: Way, found: npt.NDArray[Any], right: npt.NDArray[Any], size: int) -> Row:
        if np.array_equal(found, right):
            return self._row(way, SAME, documents=1)
        same = min(len(found), len(right))
        unlike = np.flatnonzero(found[:same] != right[:same])
        at = int(unlike[0]) if len(unlike) else same
        first = {
            "name": f"{self.corpus} as one text of {size:,} bytes, from id {at:,}", "hex": "",
            "got": found[at : at + 8].tolist(), "baseline": right[at : at + 8].tolist(),
        }
        return self._row(way, DIFFER, documents=1, differ=1, first=first)

    def _row(self, way: Way, verdict: str, **more: Any) -> Row:
        return Row(self.lane.engine, self.version, self.vocabulary.name, self.corpus, way.name, verdict, **more)

    def _failed(self, way: Way, error: HostFailure) -> Row:
        verdict, why = failure(error)
        return self._row(way, verdict, detail=why)


def ordered(picked: npt.NDArray[np.int64], order: str) -> npt.NDArray[np.int64]:
    """The picked documents in an order; the shuffled one is always the same."""
    if order == "reversed":
        return picked[::-1]
    if order == "shuffled":
        draws = Draws("selfdiff", 0, len(picked))
        return picked[np.argsort([draws.unit() for _ in picked], kind="stable")]
    return picked


def selected(output: Output, picked: npt.NDArray[np.int64]) -> Output:
    """The output of some of its documents."""
    parts = [output.of(each) for each in picked.tolist()]
    values: Any = np.concatenate(parts) if parts else output.values[:0]
    return Output(output.status[picked], output.counts[picked], values, output.kind)


def requests(documents: list[bytes], most: int) -> Iterator[list[bytes]]:
    """The documents in requests of at most `most` (0: MAX_DOCUMENTS) and about a block's bytes."""
    held: list[bytes] = []
    size = 0
    for document in documents:
        if held and (len(held) >= (most or MAX_DOCUMENTS) or size + len(document) > MAX_BYTES):
            yield held
            held, size = [], 0
        held.append(document)
        size += len(document)
    if held:
        yield held


def shown(output: Output, at: int) -> list[int] | str:
    """A document's first ids, or its status in a word."""
    if output.status[at] != IDS:
        return {1: "reject"}.get(int(output.status[at]), "error")
    return [int(each) for each in output.of(at)[:32]]


def long_document(documents: Iterable[bytes]) -> bytes | None:
    """The well-formed documents joined by spaces, again and again, to three megabytes; None without a place to cut."""
    text = b" ".join(document for document in documents if domain_of(document) != BYTES)[:LONG]
    text = text.decode("utf-8", "ignore").encode()
    if not BORDER.search(text):
        return None
    return b" ".join([text] * -(-LONG // (len(text) + 1)))


# In every published pattern a piece ends where a letter is followed by a space and another letter.
BORDER = re.compile(rb"[A-Za-z](?= [A-Za-z])")


def cut_at(text: bytes, size: int) -> list[bytes]:
    """The text cut at the first border behind every `size` bytes."""
    cuts = [0]
    while found := BORDER.search(text, cuts[-1] + size):
        cuts.append(found.end())
    return [text[a:b] for a, b in pairwise([*cuts, len(text)]) if a < b]
