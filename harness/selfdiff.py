"""Every engine against itself: the same documents in another way, which must change no id.

`ways.py` has the table: threads, batches, order, a fresh or a used instance, a cold or a warm cache. To these come what
an engine offers of itself: its other entry points, the types it takes (`forms` of its adapter), its readers of files,
the options that must be without effect (`alternatives` of the roster), its decoders and offsets, and one long document
against its parts. No oracle is asked: an engine that is consistently wrong passes here, and fails an audit.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from tokassay.corpora.draws import Draws
from tokassay.engines.client import Host, HostFailure, Unsupported
from tokassay.engines.dat_bpe.patterns import find_pattern
from tokassay.harness.ask import failure
from tokassay.harness.blocks import MAX_BYTES, MAX_DOCUMENTS, offsets_of
from tokassay.harness.budget import Budget
from tokassay.harness.compare import IDS, Output, differing, joined
from tokassay.harness.contract import PIECES
from tokassay.harness.domains import BYTES, domain_of
from tokassay.harness.errors import AGREED, MISMATCH, NOTHING
from tokassay.harness.expect import own_bytes
from tokassay.harness.hosts import open_host
from tokassay.harness.lanes import Lanes, Vocabulary
from tokassay.harness.long_documents import LATER, PARTS, cut_at, long_document
from tokassay.harness.spans import in_characters, summed
from tokassay.harness.tasks import Lane
from tokassay.harness.ways import BASELINE, DERIVED, LONG_DOCUMENT, OFFSETS, WAYS, Way, offered

SAME, DIFFER, UNSUPPORTED = "same", "differ", "unsupported"
FAILED = (DIFFER, "crash", "error", "timeout", "oom")
FEW = 1000  # documents that are asked one by one: a request takes 0.2 ms and more
SHOWN = 32  # ids of a document in a row; 256 bytes of a text


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
    budget: Budget | None = None,
    jobs: int = 1,
) -> list[Row]:
    """All engines of `lanes` under each vocabulary on each corpus, given as (name, its documents by name for one).

    `say` is told what was done last; `wanted` picks ways by name; `jobs` engines are asked at a time, and the rows are
    in the engines' order all the same. Where an engine's time is over, one row stands for the ways of a corpus that it
    was not asked.
    """
    rows: list[Row] = []
    budget = budget or Budget()
    named = list(corpora)
    stop = threading.Event()
    for vocabulary in vocabularies:
        subjects = lanes.subject(vocabulary, "off", "")[1]
        lanes.close()  # the hosts that told what the engines are; every way has a fresh one
        texts = [(corpus, documents_of(vocabulary)) for corpus, documents_of in named]
        sessions = [[Session(lanes, lane, vocabulary, *each, wanted) for each in texts] for lane in subjects]
        with ThreadPoolExecutor(jobs, thread_name_prefix="engine") as pool:
            try:
                for found in pool.map(lambda each: _asked(each, budget, say, stop), sessions):
                    rows += found
            except BaseException:
                stop.set()  # what runs ends with the way that it is at
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    return rows


def _asked(sessions: Sequence[Session], budget: Budget, say: Callable[[str], None], stop: threading.Event) -> list[Row]:
    """The rows of one engine under one vocabulary, a session for each corpus."""
    rows: list[Row] = []
    for session in sessions:
        engine, vocabulary = session.lane.engine, session.vocabulary.name
        if late := budget.against(engine, vocabulary):
            rows.append(session.unasked(late))
            continue
        begun = time.monotonic()
        with closing(session.rows()) as found:
            for row in found:
                say(f"{engine}, {vocabulary}, {session.corpus}: {row.way}")
                rows.append(row)
                budget.spend(engine, vocabulary, time.monotonic() - begun)
                begun = time.monotonic()
                if late := budget.against(engine, vocabulary):
                    rows.append(session.unasked(late))
                    break
                if stop.is_set():
                    return rows
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
        self.text = np.array([domain_of(data) != BYTES for data in self.documents], bool)
        self.spec = lanes.roster[lane.engine]
        self.version = ""
        self.hello: Mapping[str, Any] = {}

    def unasked(self, why: str) -> Row:
        """The row that stands for every way which is not asked."""
        return replace(self._row(BASELINE, UNSUPPORTED, detail=why), way="whatever else there is")

    def rows(self) -> Generator[Row, None, None]:
        """A row for each way, and one alone where the engine takes no part."""
        if self.lane.unsupported or self.lane.failed:
            verdict, why = self.lane.failed or (UNSUPPORTED, self.lane.unsupported)
            yield self._row(BASELINE, verdict, detail=why)
            return
        try:
            with self._host(BASELINE) as host:
                self.hello = host.hello()
                self.version = str(self.hello["version"])
                ((right, _),) = self._passes(host, BASELINE, np.arange(len(self.documents)))
        except (Unsupported, HostFailure) as error:
            yield self._failed(BASELINE, error)
            return
        for way in (*WAYS, *offered(self.hello, self.spec.alternatives)):
            if self.wanted(way.name):
                picked = self._picked(way)
                yield self._compared(way, picked, lambda picked: selected(right, picked))
        for way in DERIVED:
            if self.wanted(way.name):
                yield self._derived(way, right)
        if self.wanted(LONG_DOCUMENT.name):
            yield from self._long()

    # ---- asking

    def _host(self, way: Way) -> Host:
        return open_host(
            self.lane.engine, self.vocabulary.loaded, self.lane.contract, roster=self.lanes.roster,
            threads=way.threads, options=way.options,
        )

    def _passes(self, host: Host, way: Way, picked: npt.NDArray[np.int64]) -> Iterator[tuple[Output, str]]:
        """The output of each pass for the picked documents, in their own order whatever the way's is; and an error."""
        order = ordered(picked, way.order)
        back = np.argsort(order, kind="stable")
        # `picked` ascends, so that the places of `order` sorted are those of `picked`.
        if way.before:
            self._ask(host, way, ordered(picked, way.before))
        for _ in range(way.times):
            output, said = self._ask(host, way, order)
            yield selected(output, back), said

    def _ask(self, host: Host, way: Way, order: npt.NDArray[np.int64]) -> tuple[Output, str]:
        parts, said = [], ""
        for chunk in requests([self.documents[each] for each in order.tolist()], way.most):
            answer = host.encode(chunk, way.operation, threads=way.threads, form=way.form)
            parts.append(Output.from_frames(answer.output))
            if answer.errors and not said:
                said = ": ".join(answer.errors[0][1:])
        return joined(parts), said

    def _picked(self, way: Way) -> npt.NDArray[np.int64]:
        """Which documents a way is asked for: well-formed ones, where its entry point has another byte policy."""
        policy = self.spec.byte_policies.get(way.operation, self.spec.byte_policy)
        text_only = way.text_only or policy != self.spec.byte_policy
        picked = np.flatnonzero(self.text) if text_only else np.arange(len(self.documents))
        if way.few and len(picked) > FEW:
            picked = picked[np.linspace(0, len(picked) - 1, FEW).astype(np.int64)]
        return picked

    # ---- comparing

    def _compared(
        self, way: Way, picked: npt.NDArray[np.int64], right: Callable[[npt.NDArray[np.int64]], Output]
    ) -> Row:
        """The documents that are picked; `right` gives what is right for them."""
        known = (*self.hello.get("operations", ()), *self.hello.get("entries", ()))
        if way.operation not in known:
            return self._row(way, UNSUPPORTED, detail=f"the engine has no {way.operation}")
        if not len(picked):
            return self._row(way, UNSUPPORTED, detail="the corpus has no document for it")
        wanted = right(picked)
        wrong: dict[int, tuple[Output, str]] = {}
        try:
            with self._host(way) as host:
                for found, said in self._passes(host, way, picked):
                    for each in differing(found, wanted).tolist():
                        wrong.setdefault(each, (found, said))
        except (Unsupported, HostFailure) as error:
            return self._failed(way, error)
        if not wrong:
            return self._row(way, SAME, documents=len(picked))
        at = min(wrong)
        found, said = wrong[at]
        first = self._first(int(picked[at]), shown(found, at), shown(wanted, at))
        detail = said if found.status[at] != IDS else ""
        return self._row(way, DIFFER, documents=len(picked), differ=len(wrong), detail=detail, first=first)

    def _derived(self, way: Way, right: Output) -> Row:
        """What decoding and offsets give, against what follows from the documents and the ids of the baseline."""
        if way is OFFSETS and self.lane.contract.algorithm in ("opaque", *PIECES):
            return self._tiled(way, right)
        if not own_bytes(self.lane.contract):
            return self._row(way, UNSUPPORTED, detail="the bytes of its ids are not the document")
        mine = right.status == IDS
        if way.text_only or self.hello.get("offset_unit") == "chars":
            mine &= self.text
        if way.operation in ("decode", "decode_stream"):
            return self._compared(way, np.flatnonzero(mine), self._texts)
        lengths = self.lanes.subject(self.vocabulary, "off", "")[0].token_lengths
        mine &= [fits(right.of(i), lengths, len(self.documents[i])) for i in range(len(self.documents))]

        def spans(picked: npt.NDArray[np.int64]) -> Output:
            made = summed(selected(right, picked), lengths)
            if way is OFFSETS and self.hello.get("offset_unit") != "chars":
                return made
            documents = [self.documents[each] for each in picked.tolist()]
            offsets = offsets_of(np.array([len(each) for each in documents], np.uint64))
            made = in_characters(made, b"".join(documents), offsets)
            return made if way is OFFSETS else Output(made.status, made.counts, made.values[::2], "ids")

        return self._compared(way, np.flatnonzero(mine), spans)

    def _texts(self, picked: npt.NDArray[np.int64]) -> Output:
        texts = [self.documents[each] for each in picked.tolist()]
        counts = np.array([len(text) for text in texts], np.uint64)
        return Output(np.zeros(len(texts), np.uint8), counts, np.frombuffer(b"".join(texts), np.uint8), "texts")

    def _tiled(self, way: Way, right: Output) -> Row:
        """Where the bytes of ids are not the document: that spans follow each other from its first byte to its last."""
        if not self.hello.get("tiles"):
            return self._row(way, UNSUPPORTED, detail="nothing is promised of its offsets under this contract")
        picked = np.flatnonzero((right.status == IDS) & (right.counts > 0))
        if not len(picked):
            return self._row(way, UNSUPPORTED, detail="the corpus has no document for it")
        try:
            with self._host(way) as host:
                ((found, _),) = self._passes(host, way, picked)
        except (Unsupported, HostFailure) as error:
            return self._failed(way, error)
        wrong = [
            i for i, place in enumerate(picked.tolist())
            if found.counts[i] != right.counts[place] or not tiles(found.of(i), self.documents[place])
        ]
        row = self._row(way, DIFFER if wrong else SAME, documents=len(picked), differ=len(wrong))
        if wrong:
            place = int(picked[wrong[0]])
            row.first = self._first(place, shown(found, wrong[0]), [0, len(self.documents[place])])
        return row

    # ---- one long document

    def _long(self) -> Iterator[Row]:
        """A document of three megabytes against its parts, cut where every published pattern ends a piece."""
        contract, way = self.lane.contract, LONG_DOCUMENT
        if contract.normalizer != "none" or find_pattern(contract.pretokenizer) is None:
            yield self._row(way, UNSUPPORTED, detail="it is not known where this contract's documents may be cut")
            return
        text = long_document(self.documents)
        if text is None:
            yield self._row(way, UNSUPPORTED, detail="the corpus has no text to make a long document of")
            return
        parts = cut_at(text, PARTS[0])
        try:
            with self._host(way) as host:
                right = self._ids(host, way, parts)
        except (Unsupported, HostFailure) as error:
            yield self._failed(way, error)
            return
        asked = [(Way(f"a long document in parts of {size:,}"), cut_at(text, size), right.values) for size in PARTS[1:]]
        whole = [Way("a long document whole")]
        whole += [Way(f"a long document, encode_batch, threads: {n}", "encode_batch", threads=n) for n in (1, 4)]
        if "files" in self.hello.get("readers", ()):
            whole += [Way(f"a long document, a file, threads: {n}", "encode_files", n, form="files") for n in (1, 4)]
        asked += [(each, [text], right.values) for each in whole]
        # Chunks of so many bytes end elsewhere in a text that begins later.
        later = [b"".join(parts[n:]) for n in LATER]
        values = np.concatenate([right.values[int(right.counts[:n].sum()) :] for n in LATER])
        for operation, threads in (("encode", 1), ("encode_batch", 4)):
            named = f"a long document begun later, {operation}"
            asked.append((Way(named, operation, threads=threads), later, values))
        for each, documents, expected in asked:
            yield self._same_ids(each, documents, expected)

    def _ids(self, host: Host, way: Way, documents: list[bytes]) -> Output:
        """Raises Unsupported where a document has no ids."""
        found = []
        for chunk in requests(documents, way.most):
            answer = host.encode(chunk, way.operation, threads=way.threads, form=way.form)
            found.append(Output.from_frames(answer.output))
            if found[-1].status.any():
                said = ": ".join(answer.errors[0][1:]) if answer.errors else "it is rejected"
                raise Unsupported(f"no ids for the long document: {said}")
        return joined(found)

    def _same_ids(self, way: Way, documents: list[bytes], right: npt.NDArray[Any]) -> Row:
        if way.operation not in self.hello.get("operations", ()):
            return self._row(way, UNSUPPORTED, detail=f"the engine has no {way.operation}")
        try:
            with self._host(way) as host:
                found = self._ids(host, way, documents).values
        except (Unsupported, HostFailure) as error:
            return self._failed(way, error)
        if np.array_equal(found, right):
            return self._row(way, SAME, documents=len(documents))
        same = min(len(found), len(right))
        unlike = np.flatnonzero(found[:same] != right[:same])
        at = int(unlike[0]) if len(unlike) else same
        first = {
            "name": f"{self.corpus} as one text of {sum(map(len, documents)):,} bytes, from id {at:,}", "hex": "",
            "got": found[at : at + 8].tolist(), "baseline": right[at : at + 8].tolist(),
        }
        return self._row(way, DIFFER, documents=len(documents), differ=1, first=first)

    # ---- rows

    def _first(self, place: int, got: Any, baseline: Any) -> dict[str, Any]:
        return {
            "name": self.names[place], "hex": self.documents[place][:256].hex(), "got": got, "baseline": baseline,
        }

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


def fits(ids: npt.NDArray[Any], token_lengths: npt.NDArray[np.uint32], size: int) -> bool:
    """Whether the ids are tokens with as many bytes as the document has; where not, the round trip fails."""
    return bool((ids < len(token_lengths)).all()) and int(token_lengths[ids.astype(np.int64)].sum()) == size


def tiles(spans: npt.NDArray[Any], document: bytes) -> bool:
    """Whether flat spans (start, end, start, …) follow each other through the document, but for blanks around it."""
    starts, ends = spans.reshape(-1, 2).T.astype(np.int64)
    outside = document[: starts[0]], document[ends[-1] :]
    blank = not any(each.decode("utf-8", "replace").strip() for each in outside)
    follow = bool(np.array_equal(starts[1:], ends[:-1]) and (starts <= ends).all() and ends[-1] <= len(document))
    return follow and blank


def shown(output: Output, at: int) -> list[int] | str:
    """A document's first ids or spans, the beginning of its text in hex, or its status in a word."""
    if output.status[at] != IDS:
        return {1: "reject"}.get(int(output.status[at]), "error")
    if output.kind == "texts":
        return output.of(at).tobytes()[: 8 * SHOWN].hex()
    return [int(each) for each in output.of(at)[:SHOWN]]
