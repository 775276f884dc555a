"""A look at a built site over HTTP on this machine alone, with a playground that asks two engines for one document.

Whoever can open a page in a browser here can make it send requests to this server, so:

* it listens on 127.0.0.1, and answers only to that name or localhost with its own port (against DNS rebinding);
* nothing is kept between requests, and only a POST from its own page is answered with an engine's work;
* only files of the site are read, only vocabularies and engines that are offered are used, one question at a time,
  on documents of at most MOST bytes, each engine in a host under limits.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version as distribution_version
from pathlib import Path
from typing import Any
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from tokassay.engines.roster import EngineSpec
from tokassay.harness.contract import GREEDY
from tokassay.harness.errors import InputError
from tokassay.harness.hosts import ORACLE, installed
from tokassay.harness.input import parse_hex
from tokassay.harness.load import Loaded, known_path, load_vocabulary
from tokassay.reports.site.playground import NAME, Form, render_playground

ADDRESS = "127.0.0.1"
MOST = 2048  # bytes of a document
BODY = 16 * 1024  # bytes of a request: a document whose bytes are all escaped, and the rest of the form
WAIT_S = 30.0  # for the question before
QUIET_S = 20.0  # a connection that says nothing for so long is closed
TIMEOUT_S, MEMORY_MB = 20.0, 4096  # of an engine
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer a browser says of our own form that its Origin is null
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Refused(Exception):
    """A request that is not answered: the status, and why."""

    status: HTTPStatus
    reason: str


@dataclass(frozen=True)
class Question:
    """A document, a vocabulary and two engines, all of what is offered."""

    document: bytes
    vocab: str
    left: str
    right: str


class Playground:
    """What may be asked, and the asking."""

    def __init__(self, roster: Mapping[str, EngineSpec]) -> None:
        from tokassay.harness.known import encodings

        self.roster = {
            name: replace(spec, timeout_s=TIMEOUT_S, memory_mb=MEMORY_MB)
            for name, spec in roster.items()
            if installed(spec)
        }
        self.engines = [*self.roster, ORACLE]
        known = [each for each in encodings() if each.file or known_path(each)]
        # Some engines serve the longest match alone; a vocabulary of the package is one of it, too.
        self.vocabularies = [each.name for each in known] + [f"{each.name}@{GREEDY}" for each in known if each.file]
        self.lock = threading.Lock()
        self.version = distribution_version("tokassay")

    def page(self, form: Form, value: Mapping[str, Any] | None = None, error: str = "") -> bytes:
        """The page with a form, and an answer or an error."""
        usual = Form(
            form.kind, form.document, form.vocab or self.vocabularies[0], form.left or self.engines[0],
            form.right or ORACLE,
        )  # fmt: skip
        made = render_playground(self.version, usual, self.vocabularies, self.engines, MOST, value, error)
        return made.encode("utf-8", "replace")

    def question(self, form: Form, raw: bytes) -> Question:
        """The question that a form is; `raw` are the bytes of its document. Raises InputError."""
        for name, given, known in (
            ("vocabulary", form.vocab, self.vocabularies),
            ("engine", form.left, self.engines),
            ("engine", form.right, self.engines),
        ):
            if given not in known:
                raise InputError(f"no {name} {given!r} is offered", where="the form", remedy="choose one of the list")
        if form.kind == "hex":
            try:
                document = parse_hex(raw.decode("ascii", "replace"))
            except InputError as error:
                raise InputError(str(error), where=error.where.removeprefix("--"), remedy=error.remedy) from None
        else:
            document = raw.replace(b"\r\n", b"\n")
        if len(document) > MOST:
            raise InputError(
                f"{len(document):,} bytes are more than {MOST:,}", where="the document",
                remedy="use `tokassay trace --file`, or `tokassay reduce` to make it small",
            )  # fmt: skip
        return Question(document, form.vocab, form.left, form.right)

    def ask(self, question: Question) -> dict[str, Any]:
        """The object of `trace --against --json`. Raises InputError, or Refused while another question is asked."""
        from tokassay.harness.commands.options import again
        from tokassay.harness.compared import compare

        if not self.lock.acquire(timeout=WAIT_S):
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "another question is being asked; try again")
        try:
            loaded = _loaded(question.vocab)
            names = (question.left, question.right)
            seen = compare(names, loaded, loaded.contract, self.roster, question.document)
        finally:
            self.lock.release()
        words = ["trace", question.left, "--against", question.right]
        command = again(words, question.document, question.vocab, None, None, False, None)
        return {**seen.to_json(), "command": command}


@lru_cache(maxsize=4)
def _loaded(name: str) -> Loaded:
    return load_vocabulary(name)


def parse_form(body: bytes) -> tuple[Form, bytes]:
    """The fields of a form, and its document as the bytes that were sent. Raises InputError."""
    fields: dict[str, bytes] = {}
    for pair in body.split(b"&") if body else ():
        name, _, value = pair.partition(b"=")
        key = unquote_to_bytes(name.replace(b"+", b" ")).decode("ascii", "replace")
        if key in fields or key not in Form.__dataclass_fields__:
            raise InputError(f"field {key!r} is given twice or unknown", where="the form", remedy="use the page's form")
        fields[key] = unquote_to_bytes(value.replace(b"+", b" "))
    raw = fields.get("document", b"")
    return Form(**{key: value.decode("utf-8", "replace") for key, value in fields.items()}), raw


class Handler(BaseHTTPRequestHandler):
    """One connection. Its server has the site's folder and the playground."""

    server: Server
    protocol_version = "HTTP/1.1"
    timeout = QUIET_S
    server_version, sys_version = "tokassay", ""

    def do_GET(self) -> None:
        """A file of the site, or the playground's empty form."""
        self._guarded(self._get)

    def do_HEAD(self) -> None:
        """The same without a body."""
        self._guarded(self._get)

    def do_POST(self) -> None:
        """A question of the playground."""
        self._guarded(self._post)

    def _guarded(self, answer: Any) -> None:
        try:
            self._known_host()
            answer()
        except Refused as refused:
            self.close_connection = True  # what is left of a body is not read
            self._send(refused.status, f"{refused.reason}\n".encode(), "text/plain; charset=utf-8")

    def _known_host(self) -> None:
        """A page of another name that was made to lead here has that name in Host."""
        names = {f"{name}:{self.server.server_port}" for name in (ADDRESS, "localhost")}
        if self.headers.get_all("Host", []) not in [[name] for name in names]:
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST, f"open http://{ADDRESS}:{self.server.server_port}/ instead")

    def _get(self) -> None:
        path = unquote(urlsplit(self.path).path).lstrip("/")
        if path == NAME:
            self._send(HTTPStatus.OK, self.server.playground.page(Form()), TYPES[".html"])
            return
        found = self.server.file(path)
        if found is None:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such page; the site begins at /")
        self._send(HTTPStatus.OK, found.read_bytes(), TYPES[found.suffix])

    def _post(self) -> None:
        if urlsplit(self.path).path != f"/{NAME}":
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"only /{NAME} takes a form")
        self._own_page()
        form, raw, status = Form(), b"", HTTPStatus.OK
        value, error = None, ""
        try:
            form, raw = parse_form(self._body())
            value = self.server.playground.ask(self.server.playground.question(form, raw))
        except InputError as problem:
            status = HTTPStatus.BAD_REQUEST
            error = f"{problem.where}: {problem}; {problem.remedy}" if problem.where else f"{problem}; {problem.remedy}"
        self._send(status, self.server.playground.page(form, value, error), TYPES[".html"])

    def _own_page(self) -> None:
        """Browsers say which page sent a form; what sends neither header is no browser, and may ask."""
        site = self.headers.get("Sec-Fetch-Site", "same-origin")
        origin = self.headers.get("Origin")
        own = {f"http://{name}:{self.server.server_port}" for name in (ADDRESS, "localhost")}
        if site not in ("same-origin", "none") or (origin is not None and origin not in own):
            raise Refused(HTTPStatus.FORBIDDEN, "a form of another page is not answered")

    def _body(self) -> bytes:
        if self.headers.get_content_type() != "application/x-www-form-urlencoded":
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send application/x-www-form-urlencoded")
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "send Content-Length")
        if int(length) > BODY:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a question has at most {BODY:,} bytes")
        return self.rfile.read(int(length))

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **HEADERS}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what is asked here is nobody's to keep."""


class Server(ThreadingHTTPServer):
    """Serves the site in `root`, and a playground. Raises InputError where the port is not to be had."""

    daemon_threads = True

    def __init__(self, root: Path, roster: Mapping[str, EngineSpec], port: int = 0) -> None:
        self.root = root.resolve()
        self.playground = Playground(roster)
        try:
            super().__init__((ADDRESS, port), Handler)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(reason, where=f"--port {port}", remedy="name another port, or 0 for any") from None

    def file(self, path: str) -> Path | None:
        """The file of the site that a path names, or None: a folder's is its index.html."""
        if "\x00" in path or "\\" in path:
            return None
        found = (self.root / path).resolve()
        if found.is_dir():
            found /= "index.html"
        inside = found.is_relative_to(self.root) and found.suffix in TYPES and found.is_file()
        return found if inside else None
