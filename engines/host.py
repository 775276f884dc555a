"""An engine's own process: reads framed requests, runs one adapter, answers with ids and their digests.

Run by path as `<python> -I host.py <adapter.py>`, with the interpreter of the engine's environment: one file,
standard library only, Python 3.8 syntax. docs/FORMATS.md has the frames, bodies and digests; client.py is the
other end.

How a figure made here should be read:

* Documents are turned into what the entry point takes (`prepare`) before the clock starts, afresh for each
  repetition, because a `str` remembers its UTF-8 form and a second pass over the same object would be
  cheaper than any real one.
* The clock covers a bare loop, or the one batch call. It stops when the ids exist as a list or a native
  buffer; anything lazier is an error, so that nothing is won by not doing the work.
* The digest is made, after the clock stops, from the very objects the timed call returned. `kept` sends
  those ids.
* The cyclic collector is off inside the clock, as in `timeit`: lists of ints have no cycles, and the host's
  own garbage must not be charged to an engine.
* When a document raises, the repetition is done again one document at a time (by halving, for a batch) and
  marked `irregular`: its time is not one call's time.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib.util
import json
import os
import platform
import signal
import struct
import sys
import tempfile
import traceback
from array import array
from operator import gt, length_hint
from time import perf_counter_ns, process_time_ns, sleep, thread_time_ns
from typing import Any, BinaryIO, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

MAGIC = b"TKA1"
PROTOCOL = 1
MAX_HEAD = 1 << 20
MAX_BODY = 1 << 30
MAX_ERRORS = 100
MAX_MESSAGE = 300
IDS, REJECT, OTHER = 0, 1, 2
SLOT = int.__add__  # of the type that a method written in C has on its class
DOMAINS = {"ids": b"TKAB\x01", "spans": b"TKAO\x01", "texts": b"TKAT\x01"}
Rejects = Tuple[type, ...]
Prepared = Tuple[List[Any], Sequence[int], int]
# What is timed for a benchmark: each engine's best way to one form of output, declared by its adapter as `entries`.
ENTRIES = ("whole", "documents_list", "batch_flat", "batch_list")
BATCHES = ("encode_batch", "batch_flat", "batch_list", "encode_files")
LISTS = ("documents_list", "batch_list")
KINDS = {"encode": "ids", "encode_batch": "ids", "offsets": "spans", "decode": "texts"}
KINDS.update((entry, "ids") for entry in ENTRIES)
# Asked to compare an engine with itself, and never timed.
SELF = {"encode_files": "ids", "encode_spans": "ids", "decode_stream": "texts", "decode_offsets": "ids"}
KINDS.update(SELF)
DECODES = ("decode", "decode_stream", "decode_offsets")
SEPARATOR = b"\x1e<|document|>\x1e"


class Unsupported(Exception):
    """The engine cannot do what is asked of it; the message is the reason shown in the verdict."""


class Reject(Exception):
    """The engine declines this document, as its declared byte policy says it does."""


class BadFrame(Exception):
    """The stream no longer makes sense; the process ends."""


class BadBody(Exception):
    """A request's body does not hold what its verb needs."""


class Done(Exception):
    """The client said `quit`."""


# -- columns: what is hashed and sent ------------------------------------------------------------------------


def little(values: array[int]) -> array[int]:
    """The same values in little-endian byte order (a copy on big-endian machines)."""
    if sys.byteorder == "big":
        values = array(values.typecode, values)
        values.byteswap()
    return values


class Columns(NamedTuple):
    """One operation's output over n documents. `counts`: u32 ids or spans, or u64 text lengths."""

    kind: str
    status: bytearray  # u8[n]
    counts: array[int]
    values: Any  # array('I') of ids or of start, end; for texts: one bytes object

    def digest(self, lengths: array[int]) -> str:
        """SHA-256 of the block, hex; `lengths` are the documents' byte lengths (u64)."""
        state = hashlib.sha256(DOMAINS[self.kind])
        state.update(struct.pack("<Q", len(self.status)))
        state.update(little(lengths))
        state.update(self.status)
        state.update(little(self.counts))
        state.update(self.values if self.kind == "texts" else little(self.values))
        return state.hexdigest()

    def body(self) -> List[Any]:
        """The reply body, as a list of buffers."""
        parts: List[Any] = [struct.pack("<Q", len(self.status)), self.status]
        if self.kind != "texts":
            return [*parts, little(self.counts), little(self.values)]
        ends, end = array("Q", [0]), 0
        for count in self.counts:
            end += count
            ends.append(end)
        return [*parts, little(ends), self.values]


def view_of(row: Any) -> memoryview:
    """The buffer of `row`; TypeError where it has none, or a Python method would only now make one."""
    # From Python 3.12 on a class may define __buffer__; C's own is a slot with a wrapper around it.
    maker = getattr(type(row), "__buffer__", SLOT)
    if type(maker) is not type(SLOT):
        raise TypeError("%s would make its buffer after the clock stopped" % type(row).__name__)
    try:
        return memoryview(row)
    except TypeError:
        raise TypeError("ids must be a list or an integer buffer, not %s" % type(row).__name__) from None


def uint32_row(row: Any) -> array[int]:
    """One document's ids as u32, of a list, tuple or integer buffer; TypeError or OverflowError otherwise.

    A subclass of list or tuple is not taken: its methods could do the work after the clock stopped.
    """
    if type(row) is list or type(row) is tuple:
        return array("I", row)
    view = view_of(row)
    if view.ndim == 1 and view.format in ("I", "L") and view.itemsize == 4:
        out = array("I")
        out.frombytes(view.cast("B") if view.c_contiguous and view.nbytes else view.tobytes())
        return out
    if view.ndim == 1 and view.format in ("b", "h", "i", "l", "q", "H", "L", "Q"):
        return array("I", view.tolist())
    raise TypeError("ids must be one column of integers, not a %s buffer of %d dimensions" % (view.format, view.ndim))


def span_row(row: Any) -> array[int]:
    """One document's spans as u32 start, end, ...; TypeError, ValueError or OverflowError otherwise."""
    if type(row) is not list and type(row) is not tuple:
        row = view_of(row).tolist()
    if not set(map(type, row)) <= {list, tuple}:
        raise TypeError("a span must be a tuple or a list")
    return array("I", [edge for start, end in row for edge in (start, end)])


def text_row(row: Any) -> bytes:
    """One document's text; raises TypeError unless it is bytes."""
    if type(row) is not bytes:
        raise TypeError("decode must return bytes, not %s" % type(row).__name__)
    return row


class Outcome:
    """What one pass over a block gave: a row per document (None without one), statuses and errors."""

    def __init__(self, size: int) -> None:
        self.status = bytearray(size)
        self.errors: List[Tuple[int, str, str]] = []
        self.error_count = 0
        self.irregular = False

    def fail(self, index: int, error: BaseException, rejects: Rejects) -> None:
        """Record why document `index` has no ids."""
        if isinstance(error, rejects):
            self.status[index] = REJECT
            return
        self.note(index, type(error).__name__, message_of(error))

    def note(self, index: int, kind: str, message: str) -> None:
        """Record document `index` as an error."""
        self.status[index] = OTHER
        self.error_count += 1
        if len(self.errors) < MAX_ERRORS:
            self.errors.append((index, kind, message))


def message_of(error: BaseException) -> str:
    """The error's text, one line, bounded; a `__str__` that raises does not end the host."""
    try:
        text = " ".join(str(error).split())
    except BaseException:
        text = "(its message could not be shown)"
    return text[:MAX_MESSAGE]


def flat_form(out: Any) -> bool:
    """Whether a batch came back as (flat ids, counts) and not as a list of rows."""
    return type(out) is tuple and len(out) == 2 and not isinstance(out[0], (list, tuple))


def form_of(out: Any) -> str:
    """What the timed call gave, in a word or two."""
    if flat_form(out):
        return "flat buffer"
    return type(out[0]).__name__ if len(out) else "none"


def build_columns(kind: str, rows: Any, outcome: Outcome) -> Columns:
    """Columns of `rows`, one entry a document; a row of the wrong form is that document's error."""
    if flat_form(rows):
        return Columns(kind, outcome.status, uint32_row(rows[1]), uint32_row(rows[0]))
    kinds = set(map(type, rows))
    if type(None) in kinds and not any(row is None and one == IDS for row, one in zip(rows, outcome.status)):  # noqa: B905
        kinds.discard(type(None))  # what has failed has no row
    if kind == "ids" and kinds <= {list}:
        values = array("I")
        try:
            add = values.fromlist  # twice as fast as extend, and as strict about type and range
            for row in rows:
                if row:
                    add(row)
            return Columns(kind, outcome.status, array("I", [len(row) if row else 0 for row in rows]), values)
        except (TypeError, OverflowError):
            pass  # some row holds what is not an id: the loop below finds which
    convert: Callable[[Any], Any] = {"ids": uint32_row, "spans": span_row, "texts": text_row}[kind]
    columns: List[Any] = []
    counts = array("Q" if kind == "texts" else "I")
    for index, row in enumerate(rows):
        made: Any = b""
        if outcome.status[index] == IDS:
            try:
                made = convert(row)
            except BaseException as error:
                outcome.fail(index, error, ())
        columns.append(made)
        counts.append(len(made) // 2 if kind == "spans" else len(made))
    if kind == "texts":
        return Columns(kind, outcome.status, counts, b"".join(columns))
    values = array("I")
    for made in columns:
        if made:
            values.extend(made)
    return Columns(kind, outcome.status, counts, values)


# -- running one operation over a block ----------------------------------------------------------------------


class Clock(NamedTuple):
    """Wall and CPU nanoseconds of the timed part (CPU: of all threads of the process).

    `others_ns` is what all threads but this one had used when the clock stopped: what they use later, while ids are
    copied, is work that was left over.
    """

    ns: int
    cpu_ns: int
    others_ns: int = 0


def others_ns() -> int:
    """CPU nanoseconds that all threads of the process but this one have used."""
    return process_time_ns() - thread_time_ns()


def allocated() -> Optional[int]:
    """Blocks of Python's allocator that are in use; None where the interpreter does not count them."""
    count = getattr(sys, "getallocatedblocks", None)
    return count() if count is not None else None


def wait_until(when: Optional[int]) -> None:
    """Return at that reading of the monotonic clock, which all processes of a machine share; at once without one."""
    while when is not None and perf_counter_ns() < when:
        sleep(max(0.0, (when - perf_counter_ns()) / 1e9 - 0.002))


class Problem(NamedTuple):
    """The first item that a pass failed on: its place among the items, the exception's name and message."""

    at: int
    kind: str
    message: str


def each(call: Callable[[Any], Any], items: List[Any]) -> Tuple[List[Any], Optional[Problem], Clock]:
    """`call` on every item under the clock: rows, and which item raised first, if any did."""
    # A list comprehension and not map(): an engine that raised StopIteration would silently end the latter.
    rows: List[Any] = []
    problem: Optional[Problem] = None
    coming = iter(items)
    with collector_off():
        cpu, wall = process_time_ns(), perf_counter_ns()
        try:
            rows = [call(item) for item in coming]
        except BaseException as error:
            problem = Problem(len(items) - length_hint(coming) - 1, type(error).__name__, message_of(error))
        clock = Clock(perf_counter_ns() - wall, process_time_ns() - cpu, others_ns())
    return rows, problem, clock


@contextlib.contextmanager
def collector_off() -> Iterator[None]:
    """The cyclic collector stays off inside."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def each_carefully(
    call: Callable[[Any], Any], items: List[Any], live: Sequence[int], outcome: Outcome, rejects: Rejects
) -> Tuple[List[Any], Clock]:
    """As `each`, one document at a time: what is raised becomes its document's error and the loop goes on."""
    rows: List[Any] = []
    wall = cpu = 0
    for index, item in zip(live, items):  # noqa: B905 - strict= is not in Python 3.8
        row = None
        start_cpu, start = process_time_ns(), perf_counter_ns()
        try:
            row = call(item)
        except BaseException as error:
            outcome.fail(index, error, rejects)
        wall += perf_counter_ns() - start
        cpu += process_time_ns() - start_cpu
        rows.append(row)
    return rows, Clock(wall, cpu, others_ns())


def counts_of(offsets: Any) -> Tuple[int, int, array[int]]:
    """First and last of n + 1 offsets, and the n counts between them; ValueError where they fall."""
    edges = view_of(offsets).tolist()
    if not edges or any(map(gt, edges, edges[1:])):
        raise ValueError("offsets of a batch must be n + 1 and must not fall")
    return edges[0], edges[-1], array("I", [b - a for a, b in zip(edges, edges[1:])])  # noqa: B905,RUF007


def counted(out: Any) -> Any:
    """A flat batch of (ids, offsets) as (ids, counts); anything else as it is."""
    if not flat_form(out):
        return out
    first, last, counts = counts_of(out[1])
    return uint32_row(out[0])[first:last] if (first, last) != (0, len(out[0])) else out[0], counts


def only_lists(rows: Any) -> None:
    """Raises TypeError unless every row is a list and nothing that behaves like one."""
    if type(rows) is not list or not set(map(type, rows)) <= {list}:
        given = [type(rows)] if type(rows) is not list else sorted(set(map(type, rows)) - {list}, key=repr)
        raise TypeError("this entry point must give lists, not %s" % ", ".join(kind.__name__ for kind in given))


def check_batch(out: Any, size: int) -> Any:
    """A batch's result with one row an item; raises where it is not a list, or rows and items do not pair up."""
    if not flat_form(out) and type(out) is not list and type(out) is not tuple:
        raise TypeError("a batch must be a list or a tuple of rows, not %s" % type(out).__name__)
    if flat_form(out):
        flat, counts = uint32_row(out[0]), uint32_row(out[1])
        if len(counts) != size or sum(counts) != len(flat):
            raise ValueError("%d documents gave %d counts and %d ids" % (size, len(counts), len(flat)))
    elif len(out) != size:
        raise ValueError("%d documents gave %d rows" % (size, len(out)))
    return out


def as_rows(out: Any) -> List[Any]:
    """A batch's result as one row a document."""
    if not flat_form(out):
        return list(out)
    flat, rows, start = uint32_row(out[0]), [], 0
    for count in uint32_row(out[1]):
        rows.append(flat[start : start + count])
        start += count
    return rows


class Batch:
    """`encode_batch` with what is needed to blame a failure on the smallest batch that shows it."""

    def __init__(
        self, call: Callable[..., Any], threads: int, outcome: Outcome, rejects: Rejects, op: str = "encode_batch"
    ) -> None:
        self.call, self.threads, self.outcome, self.rejects, self.op = call, threads, outcome, rejects, op
        self.form = ""

    def whole(self, items: List[Any]) -> Tuple[Any, Optional[BaseException], Clock]:
        """One timed call: (result, None, clock) or (None, error, clock)."""
        out, problem = None, None
        with collector_off():
            cpu, wall = process_time_ns(), perf_counter_ns()
            try:
                out = self.call(items, self.threads)
            except BaseException as error:
                problem = error
            clock = Clock(perf_counter_ns() - wall, process_time_ns() - cpu, others_ns())
        if problem is None:
            try:
                self.form = form_of(out)
                if self.op == "batch_flat":
                    out = counted(out)
                elif self.op == "batch_list":
                    only_lists(out)
                check_batch(out, len(items))
            except BaseException as error:
                out, problem = None, error
        return out, problem, clock

    def halve(self, items: List[Any], live: Sequence[int], problem: BaseException) -> List[Any]:
        """Rows of a batch that failed with `problem`, split until single documents fail.

        Where a batch fails but its halves do not, the failure is every document's: it belongs to the whole.
        """
        if len(items) == 1:
            self.outcome.fail(live[0], problem, self.rejects)
            return [None]
        rows: List[Any] = []
        blamed = False
        middle = len(items) // 2
        for part, where in ((items[:middle], live[:middle]), (items[middle:], live[middle:])):
            out, error, _ = self.whole(part)
            if error is None:
                rows.extend(as_rows(out))
            else:
                blamed = True
                rows.extend(self.halve(part, where, error))
        if blamed:
            return rows
        for index in live:
            self.outcome.fail(index, problem, ())
        return [None] * len(items)


# -- the verbs -----------------------------------------------------------------------------------------------


class Pass(NamedTuple):
    """One repetition: its columns, clock and bookkeeping (nanoseconds)."""

    columns: Columns
    outcome: Outcome
    clock: Clock
    prepare_ns: int
    columns_ns: int
    form: str
    ids: Optional[Columns]  # of a decode: the engine's own ids that were decoded
    late_ns: int = 0  # CPU time of other threads between the clock's stop and the end of copying
    blocks: Optional[int] = None  # of Python's allocator that the call left: what its ids are made of


class Host:
    """One adapter and the verbs that act on it."""

    def __init__(self, adapter_path: str) -> None:
        self.adapter_path = adapter_path
        self.adapter: Any = None
        self.loaded = False
        self.threads = 1
        self.kept_columns: Optional[Columns] = None

    def engine(self) -> Any:
        """The adapter, imported on first use under a name that cannot shadow the package it wraps."""
        if self.adapter is None:
            spec = importlib.util.spec_from_file_location("tokassay_adapter", self.adapter_path)
            if spec is None or spec.loader is None:
                raise ImportError("cannot load adapter %s" % self.adapter_path)
            module = importlib.util.module_from_spec(spec)
            module.Unsupported, module.Reject = Unsupported, Reject  # type: ignore[attr-defined]
            sys.modules["tokassay_adapter"] = module
            spec.loader.exec_module(module)
            adapter = module.Adapter()
            for operation in (*adapter.operations, *getattr(adapter, "entries", ())):
                if operation not in KINDS:
                    raise ValueError("adapter declares unknown operation %r" % operation)
                # An entry point may be set by `load`: the engine's own bound method, without one of ours around it.
                if operation not in ENTRIES and not callable(getattr(adapter, operation, None)):
                    raise ValueError("adapter declares %r but has no such method" % operation)
            self.adapter = adapter
        return self.adapter

    def rejects(self) -> Rejects:
        """The exceptions that mean a declared reject."""
        return (*tuple(getattr(self.adapter, "rejects", ())), Reject)

    def hello(self, head: Dict[str, Any], body: memoryview) -> Dict[str, Any]:
        """Who runs here: version as the engine says it, digests of host and adapter, what it can do."""
        adapter = self.engine()
        return {
            "engine": adapter.name,
            "version": str(adapter.version()),
            "python": platform.python_version(),
            "platform": platform.platform(),
            "host_sha256": file_sha256(os.path.abspath(__file__)),
            "adapter_sha256": file_sha256(self.adapter_path),
            "operations": list(adapter.operations),
            "entries": list(getattr(adapter, "entries", ())),
            "forms": list(getattr(adapter, "forms", ())),
            "readers": list(getattr(adapter, "readers", ())),
            "tiles": bool(getattr(adapter, "tiles", False)),
            "trace": callable(getattr(adapter, "trace", None)),
            "stages": list(getattr(adapter, "stages", ())),
            "offset_unit": getattr(adapter, "offset_unit", "bytes"),
            "rejects": [kind.__name__ for kind in self.rejects()],
            "notes": [str(note) for note in getattr(adapter, "notes", ())],
            "limits": json.loads(os.environ.get("TOKASSAY_LIMITS", '"none"')),
            "pid": os.getpid(),
        }

    def load(self, head: Dict[str, Any], body: memoryview) -> Dict[str, Any]:
        """Load the one vocabulary of this process; `first`: an operation to time right after, on the body's texts."""
        adapter = self.engine()
        if self.loaded:
            raise RuntimeError("this host has a vocabulary already: one engine and one vocabulary a process")
        self.loaded, self.threads = True, int(head.get("threads", 1))
        cpu, start = process_time_ns(), perf_counter_ns()
        adapter.load(head["contract"], head["files"], self.threads, head.get("options", {}))
        reply: Dict[str, Any] = {"ns": perf_counter_ns() - start, "cpu_ns": process_time_ns() - cpu}
        if "first" in head:
            reply["first"] = self.measure({"op": head["first"]}, body)
        return reply

    def ready(self, op: str) -> Any:
        """The loaded adapter, if it does `op`."""
        if op not in KINDS:
            raise BadBody("unknown operation %r" % op)
        if not self.loaded:
            raise RuntimeError("nothing loaded: send `load` first")
        if op not in (*self.engine().operations, *getattr(self.engine(), "entries", ())):
            raise Unsupported("the engine has no operation %s" % op)
        return self.adapter

    def prepare(self, op: str, documents: List[bytes], outcome: Outcome, form: str = "") -> Prepared:
        """What the entry point takes, the indexes it stands for, and the nanoseconds it took.

        `form` names another type that it takes as well, one of the adapter's `forms`.
        """
        adapter = self.adapter
        # A batch entry point may take less than the single one does (str only, say): hence `prepare_batch`.
        call = getattr(adapter, "prepare_batch", adapter.prepare) if op in BATCHES else adapter.prepare
        if op == "encode_files":
            call = bytes  # the files are written in the call
        elif form and form in getattr(adapter, "forms", ()):
            call = adapter.forms[form]
        elif form and type(call(b"")).__name__ != form:
            raise Unsupported("the engine's adapter has no form %s" % form)
        start = perf_counter_ns()
        try:
            items = [call(document) for document in documents]
            return items, range(len(documents)), perf_counter_ns() - start
        except BaseException:
            items, live, rejects = [], array("Q"), self.rejects()
        for index, document in enumerate(documents):
            try:
                items.append(call(document))
                live.append(index)
            except BaseException as error:
                outcome.fail(index, error, rejects)
        return items, live, perf_counter_ns() - start

    def once(
        self, op: str, documents: List[bytes], threads: int, when: Optional[int] = None, form: str = ""
    ) -> Pass:
        """One pass of `op` over a block, timed; it begins at `when`, a reading of the monotonic clock.

        `form`: another type that documents are handed over as, or how they lie in files.
        """
        if op != "encode_files":
            return self.timed(op, documents, threads, when, form)
        with tempfile.TemporaryDirectory() as folder:
            return self.timed(op, documents, threads, when, form, folder)

    def timed(
        self, op: str, documents: List[bytes], threads: int, when: Optional[int], form: str, folder: str = ""
    ) -> Pass:
        """`once`, with a folder for the files that `encode_files` reads."""
        adapter, size, rejects = self.ready(op), len(documents), self.rejects()
        outcome = Outcome(size)
        items, live, prepare_ns = self.prepare(op, documents, outcome, form)
        ids: Optional[Columns] = None
        call: Callable[..., Any] = getattr(adapter, op)
        if op == "encode_files":
            call = self.reading(form, items, folder)
        if op in DECODES:
            rows, _ = each_carefully(adapter.encode, items, live, outcome, rejects)
            ids_rows = spread(rows, live, size)
            ids = build_columns("ids", ids_rows, outcome)
            # A later failure to decode is not one of encoding: the ids keep statuses of their own.
            ids = ids._replace(status=bytearray(ids.status))
            pairs = [(index, row) for index, row in enumerate(ids_rows) if row is not None]
            pairs = [pair for pair in pairs if outcome.status[pair[0]] == IDS]
            live, items = array("Q", [index for index, _ in pairs]), [row for _, row in pairs]
        out: Any
        form = ""
        before = allocated()
        wait_until(when)
        if op not in BATCHES:
            out, raised, clock = each(call, items)
            if raised is not None:
                outcome.irregular = True
                out, clock = each_carefully(call, items, live, outcome, rejects)
                if outcome.status[live[raised.at]] == IDS:
                    # It failed in the timed call: a second try does not undo that.
                    outcome.note(live[raised.at], raised.kind, raised.message)
                    out[raised.at] = None
        else:
            batch = Batch(call, threads, outcome, rejects, op)
            out, problem, clock = batch.whole(items) if items else ([], None, Clock(0, 0, others_ns()))
            if problem is not None:
                outcome.irregular = True
                out = batch.halve(items, live, problem)
            form = batch.form
        after = allocated()
        blocks = None if before is None or after is None else max(after - before, 0)
        start = perf_counter_ns()
        form = form or form_of(out)
        if op in LISTS and not outcome.irregular:
            only_lists(out)
        if len(live) != size:
            out = spread(as_rows(out), live, size)
        columns = build_columns(KINDS[op], out, outcome)
        late_ns = max(others_ns() - clock.others_ns, 0)
        return Pass(columns, outcome, clock, prepare_ns, perf_counter_ns() - start, form, ids, late_ns, blocks)

    def reading(self, reader: str, ready: List[bytes], folder: str) -> Callable[[List[bytes], int], Any]:
        """`encode_files` over documents in memory, which lie in files as `reader` says.

        Those of `ready` are written to `folder` now, before any clock; others (a part of them, after a failure) in the
        call.
        """
        if reader not in getattr(self.adapter, "readers", ()):
            raise Unsupported("the engine reads no files as %r" % reader)
        source: Any = None
        with contextlib.suppress(Exception):  # of a document that no such file can hold: the call says it again
            source = written(reader, ready, folder)

        def read(documents: List[bytes], threads: int) -> Any:
            if documents is ready and source is not None:
                return self.adapter.encode_files(reader, source, threads)
            with tempfile.TemporaryDirectory() as other:
                return self.adapter.encode_files(reader, written(reader, documents, other), threads)

        return read

    def measure(self, head: Dict[str, Any], body: memoryview) -> Dict[str, Any]:
        """Time `op` over the documents `repeat` times; each repetition's own output is hashed afterwards."""
        op, threads = head["op"], int(head.get("threads", self.threads))
        if op in SELF and op != "encode_files":
            raise Unsupported("%s is asked, and not timed" % op)
        documents = split_documents(body)
        lengths = array("Q", map(len, documents))
        reply: Dict[str, Any] = {"ns": [], "cpu_ns": [], "digest": [], "irregular": []}
        reply.update(prepare_ns=0, hash_ns=0, late_ns=[])
        ids_digest = None
        for repetition in range(int(head.get("repeat", 1))):
            self.kept_columns = None
            with collector_off():  # until the rows are gone: walking a million ids costs more than hashing them
                done = self.once(op, documents, threads, head.get("start_ns"), head.get("form", ""))
            start = perf_counter_ns()
            digest = done.columns.digest(lengths)
            if done.columns.kind == "ids":
                ids_digest = digest
            elif done.ids is not None:
                ids_digest = done.ids.digest(lengths)
            reply["hash_ns"] += perf_counter_ns() - start + done.columns_ns
            reply["prepare_ns"] += done.prepare_ns
            reply["ns"].append(done.clock.ns)
            reply["cpu_ns"].append(done.clock.cpu_ns)
            reply["late_ns"].append(done.late_ns)
            reply["digest"].append(digest)
            if done.outcome.irregular:
                reply["irregular"].append(repetition)
            self.kept_columns = done.columns
            counted = done.ids if done.ids is not None else done.columns
            reply.update(
                ids=sum(counted.counts),
                rejects=done.outcome.status.count(REJECT),
                errors=done.outcome.errors,
                error_count=done.outcome.error_count,
                form=done.form,
                blocks=done.blocks,
            )
        reply["ids_digest"] = ids_digest
        return reply

    def kept(self, head: Dict[str, Any], body: memoryview) -> Tuple[Dict[str, Any], List[Any]]:
        """The output of the last timed call itself."""
        if self.kept_columns is None:
            raise RuntimeError("nothing kept: no `measure` has finished in this host")
        return {"kind": self.kept_columns.kind}, self.kept_columns.body()

    def encode(self, head: Dict[str, Any], body: memoryview) -> Tuple[Dict[str, Any], List[Any]]:
        """Ask `op` afresh, outside any measurement."""
        threads = int(head.get("threads", self.threads))
        done = self.once(head.get("op", "encode"), split_documents(body), threads, None, head.get("form", ""))
        outcome = done.outcome
        reply = {"kind": done.columns.kind, "errors": outcome.errors, "error_count": outcome.error_count}
        return reply, done.columns.body()

    def decode(self, head: Dict[str, Any], body: memoryview) -> Tuple[Dict[str, Any], List[Any]]:
        """Texts of the ids in the body; a document whose status is not 0 keeps it and has no text."""
        adapter = self.ready("decode")
        status, rows = split_ids(body)
        outcome = Outcome(len(status))
        outcome.status[:] = status
        live = array("Q", [index for index, one in enumerate(status) if one == IDS])
        items = [rows[index] for index in live]
        texts, _ = each_carefully(adapter.decode, items, live, outcome, self.rejects())
        columns = build_columns("texts", spread(texts, live, len(status)), outcome)
        reply = {"kind": "texts", "errors": outcome.errors, "error_count": outcome.error_count}
        return reply, columns.body()

    def trace(self, head: Dict[str, Any], body: memoryview) -> Tuple[Dict[str, Any], List[Any]]:
        """Decisions for the one document in the body: reply body is the JSON object {"decisions": [...]}."""
        self.ready("encode")
        if not callable(getattr(self.adapter, "trace", None)):
            raise Unsupported("the engine's adapter has no trace")
        decisions = self.adapter.trace(bytes(body))
        return {"decisions": len(decisions)}, [json.dumps({"decisions": decisions}).encode("utf-8")]

    def quit(self, head: Dict[str, Any], body: memoryview) -> Dict[str, Any]:
        """End the process after the reply."""
        raise Done

    VERBS = ("hello", "load", "measure", "kept", "encode", "decode", "trace", "quit")


def written(reader: str, documents: List[bytes], folder: str) -> Any:
    """The documents as files, and what a reader is given: their paths; a path and the separator; a path.

    Raises UnicodeDecodeError where JSON cannot hold a document, and Unsupported where one holds the separator.
    """
    if reader == "files":
        paths = [os.path.join(folder, "%06d.txt" % index) for index in range(len(documents))]
        for path, document in zip(paths, documents):  # noqa: B905 - strict= is not in Python 3.8
            with open(path, "wb") as file:
                file.write(document)
        return paths
    if reader == "jsonl":
        path, lines = os.path.join(folder, "documents.jsonl"), [{"text": document.decode()} for document in documents]
        data = b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)
    else:
        path, data = os.path.join(folder, "documents.txt"), SEPARATOR.join(documents)
        if data.split(SEPARATOR) != documents:
            raise Unsupported("a document holds the separator")
    with open(path, "wb") as file:
        file.write(data)
    return path if reader == "jsonl" else (path, SEPARATOR)


def spread(rows: Sequence[Any], live: Sequence[int], size: int) -> List[Any]:
    """`rows` put at their documents' places, None elsewhere."""
    out: List[Any] = [None] * size
    for index, row in zip(live, rows):  # noqa: B905 - strict= is not in Python 3.8
        out[index] = row
    return out


def file_sha256(path: str) -> str:
    """SHA-256 of a file, hex."""
    with open(path, "rb") as handle:
        return hashlib.sha256(handle.read()).hexdigest()


# -- frames and bodies ---------------------------------------------------------------------------------------


def numbers(view: memoryview, code: str) -> array[int]:
    """A little-endian column read from the wire."""
    return little(array(code, view.tobytes())) if len(view) else array(code)


def split_documents(body: memoryview) -> List[bytes]:
    """Documents of a request: u64 n, u64 offsets[n + 1], bytes."""
    if len(body) < 16:
        raise BadBody("documents body of %d bytes has no count and offsets" % len(body))
    (size,) = struct.unpack_from("<Q", body)
    start = 8 * (size + 2)
    if start > len(body):
        raise BadBody("documents body of %d bytes cannot hold %d offsets" % (len(body), size + 1))
    offsets = numbers(body[8:start], "Q").tolist()  # as a list: ten thousand array look-ups cost a millisecond
    rest = body[start:]
    falls = any(map(gt, offsets, offsets[1:]))
    if offsets[0] != 0 or offsets[size] != len(rest) or falls:
        raise BadBody("document offsets do not rise from 0 to the body's end")
    buffer = rest.tobytes()
    pairs = zip(offsets, offsets[1:])  # noqa: B905,RUF007 - neither strict= nor pairwise is in Python 3.8
    return [buffer[start:end] for start, end in pairs]


def split_ids(body: memoryview) -> Tuple[bytes, List[List[int]]]:
    """Ids of a request: u64 n, u8 status[n], u32 counts[n], u32 ids[sum]."""
    (size,) = struct.unpack_from("<Q", body) if len(body) >= 8 else (1 << 62,)
    if 8 + 5 * size > len(body):
        raise BadBody("ids body of %d bytes cannot hold what it counts" % len(body))
    counts = numbers(body[8 + size : 8 + 5 * size], "I")
    ids = body[8 + 5 * size :]
    if 4 * sum(counts) != len(ids):
        raise BadBody("ids body holds %d bytes of ids, counts say %d" % (len(ids), 4 * sum(counts)))
    values, rows, start = numbers(ids, "I").tolist(), [], 0
    for count in counts:
        rows.append(values[start : start + count])
        start += count
    return body[8 : 8 + size].tobytes(), rows


def read_exactly(stream: BinaryIO, size: int) -> bytes:
    """`size` bytes, or BadFrame at the stream's end."""
    data = stream.read(size)
    if len(data) != size:
        raise BadFrame("stream ended inside a frame")
    return data


def read_frame(stream: BinaryIO) -> Optional[Tuple[Dict[str, Any], memoryview]]:
    """The next request, or None where the client closed the stream between frames."""
    start = stream.read(8)
    if not start:
        return None
    if len(start) != 8 or start[:4] != MAGIC:
        raise BadFrame("frame does not begin with %r" % MAGIC)
    (size,) = struct.unpack("<I", start[4:])
    if size > MAX_HEAD:
        raise BadFrame("head of %d bytes; at most %d" % (size, MAX_HEAD))
    head = json.loads(read_exactly(stream, size).decode("utf-8"))
    length = head.get("len", 0)
    if head.get("v") != PROTOCOL or not isinstance(length, int) or not 0 <= length <= MAX_BODY:
        raise BadFrame("head with v=%r, len=%r" % (head.get("v"), length))
    return head, memoryview(read_exactly(stream, length))


def write_frame(stream: BinaryIO, head: Dict[str, Any], body: Sequence[Any]) -> None:
    """One reply."""
    views = [memoryview(part).cast("B") for part in body]
    length = sum(len(view) for view in views)
    if length > MAX_BODY:
        fault = {"type": "TooLarge", "message": "reply of %d bytes; at most %d" % (length, MAX_BODY)}
        head, views, length = {"v": PROTOCOL, "id": head["id"], "ok": False, "error": fault}, [], 0
    text = json.dumps({**head, "len": length}).encode("ascii")
    stream.write(MAGIC + struct.pack("<I", len(text)) + text)
    for view in views:
        stream.write(view)
    stream.flush()


def take_streams() -> Tuple[BinaryIO, BinaryIO]:
    """The protocol's private streams.

    fd 0 becomes the null device and fd 1 standard error: nothing native code reads or prints touches a frame.
    """
    requests, replies = os.fdopen(os.dup(0), "rb", 1 << 16), os.fdopen(os.dup(1), "wb", 1 << 16)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return requests, replies


def rearm_cpu_limit() -> None:
    """Give the coming request its CPU budget: the kernel counts from the process's start.

    It ends an engine that spins after its client died; a living client's wall-clock limit comes first.
    """
    limits = json.loads(os.environ.get("TOKASSAY_LIMITS", "null"))
    seconds = limits.get("cpu_s") if isinstance(limits, dict) else None
    if seconds:
        import resource

        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (process_time_ns() // 10**9 + 1 + int(seconds), hard))


def serve(host: Host, requests: BinaryIO, replies: BinaryIO) -> int:
    """Answer requests until `quit` or the stream's end; the exit status."""
    while True:
        frame = read_frame(requests)
        if frame is None:
            return 0
        head, body = frame
        reply: Dict[str, Any] = {"v": PROTOCOL, "id": head.get("id"), "ok": True}
        out: Sequence[Any] = ()
        verb = head.get("verb")
        try:
            rearm_cpu_limit()
            if verb not in Host.VERBS:
                raise BadBody("unknown verb %r" % (verb,))
            result = getattr(host, verb)(head, body)
            if isinstance(result, tuple):
                result, out = result
            reply = {**result, **reply}
        except Done:
            write_frame(replies, reply, ())
            return 0
        except BaseException as error:
            if not isinstance(error, (Unsupported, BadBody)):
                traceback.print_exc(limit=8)
            reply["ok"], out = False, ()
            reply["error"] = {"type": type(error).__name__, "message": message_of(error)}
        write_frame(replies, reply, out)


def main(argv: Sequence[str]) -> int:
    """Serve the adapter named by the only argument."""
    if len(argv) != 2:
        print("usage: python -I host.py ADAPTER.py", file=sys.stderr)
        return 2
    requests, replies = take_streams()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the client's to handle: it ends its hosts itself
    try:
        return serve(Host(argv[1]), requests, replies)
    except (BadFrame, BrokenPipeError) as error:
        print("host: %s" % error, file=sys.stderr)
        return 3


if __name__ == "__main__":
    # Not sys.exit: an engine's threads or atexit handlers may hang, and nothing is left to be done.
    status = main(sys.argv)
    sys.stderr.flush()
    os._exit(status)
