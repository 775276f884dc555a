"""The client's end of an engine host: starts it, talks to it, and gives every way it can die a type."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil
from tokassay.engines import frames
from tokassay.engines.roster import EngineSpec
from tokassay.engines.runtimes import RUNTIMES

try:
    from resource import RLIMIT_CPU
    from resource import prlimit as PRLIMIT
except ImportError:  # Linux alone lets a parent set it
    PRLIMIT = None  # type: ignore[assignment]

HERE = Path(__file__).resolve().parent
# The only variables of the caller's that an engine sees. No secret is among them; the last six change how
# native code runs.
INHERITED = (
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "SYSTEMROOT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "ASAN_OPTIONS",
    "UBSAN_OPTIONS",
    "TSAN_OPTIONS",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
)
STDERR_TAIL = 16 << 10
CHUNK = 1 << 20
WATCH_S = 0.1
OPEN_FILES = 256
# Resident besides what the kernel's limit counts: mapped code. Without it the watcher would now and then be before
# the allocation that fails, and kill a process that had an answer to give.
CODE_BYTES = 64 << 20
START_S = 60.0
KINDS = {"encode": "ids", "encode_batch": "ids", "decode": "texts", "offsets": "spans"}
KINDS.update(dict.fromkeys(("whole", "documents_list", "batch_flat", "batch_list"), "ids"))
KINDS.update(encode_files="ids", encode_spans="ids", decode_stream="texts", decode_offsets="ids")
OUT_OF_MEMORY = (
    b"memory allocation of",
    b"bad_alloc",
    b"MemoryError",
    b"out of memory",
    b"Cannot allocate memory",
)


# What programs say that want the network and have none: sockets, resolvers, HTTP libraries, hubs kept offline.
NO_NETWORK = (
    "name resolution",
    "name or service not known",
    "nodename nor servname",
    "getaddrinfo",
    "network is unreachable",
    "could not resolve host",
    "dns error",
    "failed to lookup address",
    "no route to host",
    "max retries exceeded",
    "urlopen error",
    "outgoing traffic has been disabled",
    "offline mode is enabled",
)


class HostFailure(Exception):
    """A request that brought no answer.

    `verdict` is the word for the row, `detail` what stands beside it, `stderr` the last kilobytes the
    engine printed. After all but HostError and Unsupported the host is gone.
    """

    verdict = "error"

    def __init__(self, message: str, *, stderr: str = "") -> None:
        super().__init__(message)
        self.stderr = stderr

    @property
    def detail(self) -> str:
        """What stands in brackets after the verdict."""
        return str(self)


def wants_network(error: HostFailure) -> bool:
    """Whether it failed for want of the network, by its own words."""
    said = f"{error} {error.stderr}".casefold()
    return isinstance(error, HostError | HostCrash) and any(words in said for words in NO_NETWORK)


def told(error: HostFailure) -> str:
    """What stands beside the verdict, with the cause first where it is the network that engines do not have."""
    return f"it wants the network, which engines do not have: {error.detail}" if wants_network(error) else error.detail


class HostCrash(HostFailure):
    """The process ended: by `signal` (a number), or on its own with `status`."""

    verdict = "crash"

    def __init__(self, number: int | None, status: int | None, *, stderr: str = "") -> None:
        self.signal, self.status = number, status
        name = f"exit status {status}"
        if number is not None:
            name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
        super().__init__(name, stderr=stderr)


class HostTimeout(HostFailure):
    """No reply within the time allowed, or the CPU time was used up."""

    verdict = "timeout"


class HostMemory(HostFailure):
    """The engine ran out of the memory it was given."""

    verdict = "oom"


class HostGarbage(HostFailure):
    """What came through the pipe is not a reply."""


class HostError(HostFailure):
    """The host answered that the request failed; `kind` is the exception's name. The host lives on."""

    def __init__(self, kind: str, message: str, *, stderr: str = "") -> None:
        super().__init__(f"{kind}: {message}" if message else kind, stderr=stderr)
        self.kind = kind


class Unsupported(HostFailure):
    """The engine cannot do this, by its own word. The host lives on."""

    verdict = "unsupported"


@dataclass(frozen=True)
class Measured:
    """A measurement of one block. Lists have one entry a repetition; nanoseconds throughout.

    `ids` is the number of ids (spans, for offsets) in the last repetition; `hash_ns` is what the host spent
    on columns and digests, `prepare_ns` on making what the entry point takes, both outside the clock.
    `irregular` lists repetitions whose time is not that of the bare call, because some document raised.
    """

    op: str
    ns: list[int]
    cpu_ns: list[int]
    prepare_ns: int
    hash_ns: int
    ids: int
    rejects: int
    errors: list[tuple[int, str, str]]
    error_count: int
    digest: list[str]
    ids_digest: str | None
    irregular: list[int]
    form: str
    round_trip_ns: int
    late_ns: list[int] = field(default_factory=list)  # CPU time that other threads used after the call had returned
    blocks: int | None = None  # of Python's allocator that the last call left; None: not counted


@dataclass(frozen=True)
class Answer:
    """An untimed output, and errors as (document, type, message): the first 100 of `error_count`."""

    output: frames.Output
    errors: list[tuple[int, str, str]]
    error_count: int


@functools.cache
def network_prefix() -> tuple[str, ...]:
    """A prefix that puts a command into an empty network namespace, or () where we may not."""
    tool = shutil.which("unshare")
    for flags in (("-n",), ("-r", "-n")):
        if tool and subprocess.run([tool, *flags, "true"], capture_output=True, check=False).returncode == 0:
            return (tool, *flags)
    return ()


def engine_environment(threads: int, home: str) -> dict[str, str]:
    """An engine's environment: the allowed part of ours, thread counts, and a home of its own."""
    environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
    environment.update(
        HOME=home,
        TMPDIR=home,
        XDG_CACHE_HOME=home,
        TIKTOKEN_CACHE_DIR=home,
        HF_HOME=home,
        HF_HUB_OFFLINE="1",
        RAYON_NUM_THREADS=str(threads),
        TOKENIZERS_PARALLELISM="true" if threads > 1 else "false",
        OMP_NUM_THREADS=str(threads),
        OPENBLAS_NUM_THREADS="1",
    )
    return environment


class Host:
    """One engine in a process of its own. A context manager: leaving it ends the process.

    `interpreter` is that of the engine's environment (default: this one). `memory_mb` and `timeout_s` default
    to the roster's; `timeout_s` is wall time for one request. `threads` fixes the size of thread pools that
    can only be set at start. `cpus` are the processors it is kept on (none: any).
    Without `cpu_limit` the kernel does not end a process that spins: a process under that limit reads its own CPU time
    in steps of the scheduler's tick (4 ms here), which is too coarse for a measurement.
    """

    def __init__(
        self,
        spec: EngineSpec,
        interpreter: str | Path | None = None,
        *,
        threads: int = 1,
        memory_mb: int | None = None,
        timeout_s: float | None = None,
        environment: Mapping[str, str] | None = None,
        cpus: Sequence[int] = (),
        cpu_limit: bool = True,
    ) -> None:
        self.spec = spec
        self.threads = threads
        self.memory_mb = spec.memory_mb if memory_mb is None else memory_mb
        self.timeout_s = spec.timeout_s if timeout_s is None else timeout_s
        self._next_id = 0
        self._stages: tuple[str, ...] | None = None
        self.load_ns = self.load_cpu_ns = 0  # wall and CPU time of the load
        self.first: Measured  # what was asked for together with the load
        self._measured = ("", 0)  # operation and number of documents of the last measurement
        self._tail = bytearray()
        self.home = tempfile.mkdtemp(prefix="tokassay-host-")
        prefix = network_prefix()
        runtime = RUNTIMES[spec.runtime]
        cpu_s = int(self.timeout_s * max(threads, 1)) + 60 if cpu_limit else 0
        # A limit that nobody renews would end a host that has done nothing wrong but live long.
        self._rearm_s = 0 if runtime.rearms else cpu_s
        limits = {
            "memory_mb": self.memory_mb,
            "cpu_s": cpu_s if runtime.rearms or PRLIMIT is not None else 0,
            "files": OPEN_FILES,
            "cpus": list(cpus),
            "network": "none" if prefix else "not restricted",
        }
        launcher = [*prefix, sys.executable, "-I", "-S", str(HERE / "limits.py"), json.dumps(limits)]
        program = str(interpreter or shutil.which(runtime.program) or runtime.program)
        command = runtime.command(program, self.memory_mb)
        self._process = subprocess.Popen(
            [*launcher, *command, str(HERE / runtime.host), str(spec.adapter)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=self.home,
            env={**engine_environment(threads, self.home), **(environment or {})},
            start_new_session=True,
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._in, self._out, self._err = (
            stream.fileno() for stream in (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        for descriptor in (self._in, self._out, self._err):
            os.set_blocking(descriptor, False)
        _widen(self._in, self._out)

    # -- life ---------------------------------------------------------------------------------------------

    def __enter__(self) -> Host:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Whether the process runs and may be asked."""
        return self._process.returncode is None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The engine's process."""
        return self._process.pid

    @property
    def stderr_tail(self) -> str:
        """The last 16 KiB of what the engine printed, on standard output or error."""
        return self._tail.decode("utf-8", "replace")

    def kill(self) -> None:
        """End the process and whatever it started, at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def close(self) -> None:
        """Say `quit` and wait a little; then end the process all the same."""
        if self.alive:
            with contextlib.suppress(HostFailure):
                self._request("quit", timeout_s=2.0)
        self.kill()

    quit = close

    # -- verbs --------------------------------------------------------------------------------------------

    def hello(self) -> dict[str, Any]:
        """Who runs there: engine, version, python, platform, digests of host and adapter, operations, limits."""
        head, _ = self._request("hello", timeout_s=max(self.timeout_s, START_S))
        return head

    def load(
        self,
        contract: Mapping[str, Any],
        files: Mapping[str, str],
        options: Mapping[str, Any] | None = None,
        *,
        first: tuple[str, bytes] | None = None,
    ) -> int:
        """Load the vocabulary; nanoseconds it took. Raises Unsupported with the engine's reason.

        `first`: an operation, and the body that pack_documents made, to time right after it, with no request between:
        while a process waits for one, the processor forgets what it has just read. The result is in `self.first`.
        """
        op, body = first or ("", b"")
        start = time.perf_counter_ns()
        head, _ = self._request(
            "load",
            body,
            contract=dict(contract),
            files={name: str(path) for name, path in files.items()},
            threads=self.threads,
            options={**self.spec.options, **(options or {})},
            timeout_s=max(self.timeout_s, START_S),
            **({"first": op} if first else {}),
        )
        self.load_ns, self.load_cpu_ns = int(head["ns"]), int(head["cpu_ns"])
        if first:
            size = frames.documents_in(body)
            self._measured = op, size
            self.first = self._as_measured(head.get("first"), op, size, 1, time.perf_counter_ns() - start)
        return self.load_ns

    def measure(
        self,
        documents: Sequence[bytes] | bytes,
        op: str = "encode",
        *,
        repeat: int = 1,
        threads: int | None = None,
        start_ns: int | None = None,
        form: str = "",
        timeout_s: float | None = None,
    ) -> Measured:
        """Time `op` over a block: a list of documents, or the body that frames.pack_documents made of one.

        `start_ns`: a reading of time.perf_counter_ns() at which the clock starts, so that two hosts start together.
        `form`: the type that documents are handed over as, or how they lie in files (one of hello's `readers`).
        `timeout_s`: wall time for this call, where it is not the host's usual limit.
        """
        body = _packed(documents)
        size = frames.documents_in(body)
        self._measured = op, size
        start = time.perf_counter_ns()
        more: dict[str, Any] = {} if start_ns is None else {"start_ns": start_ns}
        more |= {"form": form} if form else {}
        more |= {"op": op, "repeat": repeat, "threads": threads or self.threads}
        head, _ = self._request("measure", body, timeout_s=timeout_s, **more)
        return self._as_measured(head, op, size, repeat, time.perf_counter_ns() - start)

    def _as_measured(self, head: Any, op: str, size: int, repeat: int, took: int) -> Measured:
        try:
            if len(head["digest"]) != repeat or not all(isinstance(digest, str) for digest in head["digest"]):
                raise ValueError("a digest for each repetition")
            return Measured(
                op=op,
                ns=head["ns"],
                cpu_ns=head["cpu_ns"],
                prepare_ns=head["prepare_ns"],
                hash_ns=head["hash_ns"],
                ids=head["ids"],
                rejects=head["rejects"],
                errors=_errors(head, size),
                error_count=head["error_count"],
                digest=head["digest"],
                ids_digest=head["ids_digest"],
                irregular=head["irregular"],
                form=head["form"],
                round_trip_ns=took,
                late_ns=head.get("late_ns", [0] * repeat),
                blocks=head.get("blocks"),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise self._garbage(f"reply to measure lacks {error}") from error

    def kept(self) -> frames.Output:
        """The output of the last timed call itself."""
        op, size = self._measured
        return self._output("kept", op, size).output

    def encode(
        self, documents: Sequence[bytes] | bytes, op: str = "encode", *, threads: int | None = None, form: str = ""
    ) -> Answer:
        """Ask `op` afresh, untimed. `form`: the type that documents are handed over as, one of hello's `forms`."""
        body = _packed(documents)
        head = {"op": op, "threads": threads or self.threads, **({"form": form} if form else {})}
        return self._output("encode", op, frames.documents_in(body), body, head)

    def decode(self, ids: frames.Ids) -> Answer:
        """Texts of `ids`; a document whose status is not 0 keeps it."""
        return self._output("decode", "decode", len(ids.status), frames.pack_ids(ids))

    def trace(self, document: bytes) -> list[dict[str, Any]]:
        """The decisions the engine took on one document; raises Unsupported where it cannot tell."""
        # The first trace may load what tracing needs: as long as any load may take.
        _, body = self._request("trace", document, timeout_s=max(self.timeout_s, START_S))
        try:
            decisions: list[dict[str, Any]] = json.loads(bytes(body))["decisions"]
        except (ValueError, KeyError, TypeError) as error:
            raise self._garbage(f"trace is not the JSON it should be: {error}") from error
        return decisions

    def stages(self) -> tuple[str, ...]:
        """The stages that `trace` speaks of, once a vocabulary is loaded; empty: of every stage."""
        if self._stages is None:
            self._stages = tuple(map(str, self.hello().get("stages", ())))
        return self._stages

    def _output(
        self, verb: str, op: str, size: int, body: bytes = b"", head: Mapping[str, Any] | None = None
    ) -> Answer:
        """The columns that answer `verb`: those of `op` over `size` documents, or garbage."""
        reply, data = self._request(verb, body, **(head or {}))
        try:
            output = frames.unpack(reply.get("kind", ""), data)
            if reply["kind"] != KINDS.get(op) or len(output.status) != size:
                raise frames.FrameError(f"{reply['kind']} of {len(output.status)} documents, asked for {op} of {size}")
            return Answer(output, _errors(reply, size), reply.get("error_count", 0))
        except (frames.FrameError, TypeError, ValueError) as error:
            raise self._garbage(str(error)) from error

    # -- the pipe -----------------------------------------------------------------------------------------

    def _request(
        self, verb: str, body: bytes = b"", *, timeout_s: float | None = None, **head: Any
    ) -> tuple[dict[str, Any], memoryview]:
        """Send one request and wait for its reply: (head, body). Raises a HostFailure."""
        if not self.alive:
            raise self._dead()
        self._rearm()
        self._next_id += 1
        try:
            start = frames.frame({"id": self._next_id, "verb": verb, **head}, len(body))
        except frames.FrameError as error:
            raise Unsupported(f"more than the protocol carries at once: {error}") from None
        reply, data = self._exchange(
            [memoryview(start), memoryview(body)], self.timeout_s if timeout_s is None else timeout_s
        )
        if reply.get("id") != self._next_id:
            raise self._garbage(f"reply to request {reply.get('id')!r}, asked {self._next_id}")
        if reply.get("ok") is not True:
            self._raise(reply.get("error"))
        return reply, data

    def _rearm(self) -> None:
        """Give the coming request its CPU budget, where the host cannot; host.py has the reason."""
        if not self._rearm_s or PRLIMIT is None:
            return
        with contextlib.suppress(psutil.Error, OSError, ValueError):
            used = psutil.Process(self._process.pid).cpu_times()
            _, hard = PRLIMIT(self._process.pid, RLIMIT_CPU)
            PRLIMIT(self._process.pid, RLIMIT_CPU, (int(used.user + used.system) + 1 + self._rearm_s, hard))

    def _raise(self, error: Any) -> None:
        kind, message = "Error", "no reason given"
        if isinstance(error, dict):
            kind, message = str(error.get("type")), str(error.get("message"))
        if kind == "Unsupported":
            raise Unsupported(message, stderr=self.stderr_tail)
        if kind == "MemoryError":
            self.kill()  # what an engine is like after an allocation failed in the middle is anybody's guess
            raise HostMemory(f"MemoryError under a limit of {self.memory_mb} MiB", stderr=self.stderr_tail)
        raise HostError(kind, message, stderr=self.stderr_tail)

    def _exchange(self, pending: list[memoryview], timeout_s: float) -> tuple[dict[str, Any], memoryview]:
        """Write `pending`, read one frame; drain what the engine prints, watch clock and memory."""
        deadline = time.monotonic() + timeout_s
        watch = time.monotonic() + WATCH_S
        data = bytearray()
        head: dict[str, Any] | None = None
        needed = 0
        ended = False
        with selectors.DefaultSelector() as selector:
            selector.register(self._in, selectors.EVENT_WRITE)
            selector.register(self._out, selectors.EVENT_READ)
            selector.register(self._err, selectors.EVENT_READ)
            while True:
                now = time.monotonic()
                if now >= deadline:
                    self.kill()
                    raise HostTimeout(f"no reply within {timeout_s:g} s", stderr=self.stderr_tail)
                if now >= watch:
                    watch = now + WATCH_S
                    self._check_memory()
                    # A child of the engine's may hold the pipe open: the end of the pipe is then not to be waited for.
                    ended = self._process.poll() is not None
                ready = selector.select(min(deadline, watch) - now)
                if ended and not any(key.fd == self._out for key, _ in ready):
                    raise self._dead()
                for key, _ in ready:
                    if key.fd == self._in:
                        if not self._write(pending):
                            selector.unregister(self._in)
                    elif key.fd == self._err:
                        if not self._drain():
                            selector.unregister(self._err)
                    else:
                        chunk = self._read(self._out)
                        if chunk == b"":
                            raise self._dead()
                        data += chunk or b""
                        try:
                            if head is None and (found := frames.read_head(data)):
                                head, begin = found
                                needed = begin + int(head["len"])
                        except frames.FrameError as error:
                            raise self._garbage(str(error)) from error
                        if head is not None and len(data) >= needed:
                            if len(data) > needed or pending:
                                raise self._garbage(f"bytes beyond the reply: {bytes(data[needed : needed + 60])!r}")
                            return head, memoryview(data)[begin:]

    def _write(self, pending: list[memoryview]) -> bool:
        """Write some; False when nothing is left to be written, or nobody reads."""
        try:
            while pending:
                written = os.write(self._in, pending[0][:CHUNK]) if len(pending[0]) else 0
                pending[0] = pending[0][written:]
                if not len(pending[0]):
                    pending.pop(0)
        except BlockingIOError:
            return True
        except BrokenPipeError:
            return False  # its end shows on the other pipe, with the status
        return False

    def _read(self, descriptor: int) -> bytes | None:
        """Some bytes, b"" at the end, None where there are none now."""
        try:
            return os.read(descriptor, CHUNK)
        except BlockingIOError:
            return None

    def _drain(self) -> bool:
        """Keep the last of what is printed; False at its end."""
        while chunk := self._read(self._err):
            self._tail += chunk
            del self._tail[:-STDERR_TAIL]
        return chunk is None

    @property
    def peak_bytes(self) -> int:
        """The most memory that was resident so far, in bytes; 0 where the platform does not tell."""
        return self._status("VmHWM:")

    @property
    def resident_bytes(self) -> int:
        """The memory that is resident now, in bytes; 0 where the platform does not tell."""
        return self._status("VmRSS:")

    def _status(self, name: str) -> int:
        try:
            text = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii", errors="replace")
        except OSError:
            return 0
        return next((int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith(name)), 0)

    def _check_memory(self) -> None:
        try:
            resident = psutil.Process(self._process.pid).memory_info().rss
        except psutil.Error:
            return
        if resident > (self.memory_mb << 20) + CODE_BYTES:
            self.kill()
            raise HostMemory(f"{resident >> 20} MiB resident, limit {self.memory_mb} MiB", stderr=self.stderr_tail)

    def _garbage(self, message: str) -> HostGarbage:
        self.kill()
        return HostGarbage(f"garbage on the pipe: {message}", stderr=self.stderr_tail)

    def _dead(self) -> HostFailure:
        """The failure that a process which has closed its pipe, or has ended, stands for."""
        if self._process.returncode is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=2.0)
            self._drain()
        status = self._process.poll()
        self.kill()
        tail = self.stderr_tail
        if status is None:
            return HostGarbage("garbage on the pipe: the engine closed it", stderr=tail)
        if status >= 0:
            return HostCrash(None, status, stderr=tail)
        if -status == signal.SIGXCPU:
            return HostTimeout("CPU time used up", stderr=tail)
        if -status == signal.SIGKILL:
            return HostMemory("killed by the kernel", stderr=tail)
        # V8 stops at a trap of its own where the system gives no more memory.
        if -status in (signal.SIGABRT, signal.SIGTRAP) and any(word in self._tail for word in OUT_OF_MEMORY):
            return HostMemory(f"allocation failed under a limit of {self.memory_mb} MiB", stderr=tail)
        return HostCrash(-status, None, stderr=tail)


def _packed(documents: Sequence[bytes] | bytes) -> bytes:
    return documents if isinstance(documents, bytes) else frames.pack_documents(documents)


def _errors(head: Mapping[str, Any], size: int) -> list[tuple[int, str, str]]:
    errors = [(int(index), str(kind), str(message)) for index, kind, message in head.get("errors", ())]
    if any(not 0 <= index < size for index, _, _ in errors):
        raise ValueError(f"an error's document among {size}")
    return errors


def _widen(*descriptors: int) -> None:
    """Ask for pipes of a block's size, so that a block crosses in few switches; a refusal is left alone."""
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import fcntl

        for descriptor in descriptors:
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, CHUNK)
