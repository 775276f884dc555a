"""The server through a real socket: what it gives, what it refuses, and what its playground says of two engines."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote_from_bytes, urlencode

import pytest
from tokassay.engines.roster import load_roster
from tokassay.harness.errors import InputError
from tokassay.harness.playground import ADDRESS, BODY, MOST, Server

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("served")
    (root / "index.html").write_text("<h1>the site</h1>")
    (root / "data").mkdir()
    (root / "data" / "run.csv").write_text("id\n1\n")
    (root / "data" / "index.html").write_text("below")
    (root / "secret.sqlite").write_text("no file of the site")
    (root.parent / "outside.html").write_text("outside")
    (root / "out.html").symlink_to(root.parent / "outside.html")
    with Server(root, load_roster()) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def asked(
    server: Server, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], str]:
    """(status, headers, text) of one request; `headers` replace those that a plain client sends."""
    connection = HTTPConnection(ADDRESS, server.server_port, timeout=120)
    try:
        connection.request(method, path, body=body, headers=headers or {})
        reply = connection.getresponse()
        return reply.status, dict(reply.getheaders()), reply.read().decode("utf-8")
    finally:
        connection.close()


def question(server: Server, **fields: str) -> tuple[int, str]:
    usual = {"kind": "text", "document": "a", "vocab": "gpt2", "left": "tiktoken", "right": "oracle"}
    status, _, text = asked(server, "POST", "/playground.html", urlencode({**usual, **fields}).encode(), FORM)
    return status, text


def plain(text: str) -> str:
    """The words of a page."""
    return re.sub(r"\s+", " ", re.sub(r"<style>.*?</style>|<[^>]*>", " ", text, flags=re.DOTALL))


def test_it_listens_on_this_machine_alone(server: Server) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"


def test_files_of_the_site_are_given_and_no_others(server: Server) -> None:
    assert asked(server, "GET", "/")[::2] == (200, "<h1>the site</h1>")
    assert asked(server, "GET", "/index.html?x=1")[0] == 200
    status, headers, text = asked(server, "GET", "/data/run.csv")
    assert (status, headers["Content-Type"], text) == (200, "text/csv; charset=utf-8", "id\n1\n")
    assert asked(server, "GET", "/data/")[2] == "below"
    for path in (
        "/secret.sqlite", "/none.html", "/../outside.html", "/%2e%2e/outside.html", "/data/..%2f..%2foutside.html",
        "/out.html", "//etc/passwd", "/index.html%00.csv", "/..%5coutside.html",
    ):  # fmt: skip
        status, _, text = asked(server, "GET", path)
        assert status == 404 and "outside" not in text and "root:" not in text, path


def test_head_is_get_without_a_body(server: Server) -> None:
    status, headers, text = asked(server, "HEAD", "/")
    assert (status, headers["Content-Length"], text) == (200, "17", "")


def test_every_answer_forbids_scripts_frames_and_sniffing(server: Server) -> None:
    for method, path in (("GET", "/"), ("GET", "/playground.html"), ("GET", "/none"), ("POST", "/playground.html")):
        headers = asked(server, method, path, b"" if method == "POST" else None, FORM)[1]
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "script" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in headers and "Set-Cookie" not in headers


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "[::1]:{port}", ""]
)
def test_another_name_is_not_answered(server: Server, host: str) -> None:
    name = host.format(port=server.server_port)
    for method, body in (("GET", None), ("POST", b"document=a")):
        status, _, text = asked(server, method, "/playground.html", body, {**FORM, "Host": name})
        assert status == 421 and "<form" not in text


def test_its_own_names_are_answered_and_two_are_not(server: Server) -> None:
    for name in ("127.0.0.1", "localhost"):
        assert asked(server, "GET", "/", None, {"Host": f"{name}:{server.server_port}"})[0] == 200
    with socket.create_connection((ADDRESS, server.server_port), timeout=20) as client:
        own = f"Host: localhost:{server.server_port}\r\n"
        client.sendall(f"GET / HTTP/1.1\r\n{own}Host: evil.example\r\n\r\n".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 421 ")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_form_of_another_page_is_not_answered(server: Server, headers: dict[str, str]) -> None:
    status, _, text = asked(server, "POST", "/playground.html", b"document=a", {**FORM, **headers})
    assert status == 403 and "another page" in text


def test_a_link_asks_nothing(server: Server) -> None:
    """A question in the address would be asked by any image of any page."""
    text = asked(server, "GET", "/playground.html?document=a&vocab=gpt2&left=tiktoken&right=oracle")[2]
    assert "<form" in text and "The same ids" not in text


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Content-Type": "text/plain"}, b"document=a", 415),
        ({"Content-Type": "multipart/form-data; boundary=x"}, b"--x--", 415),
        ({**FORM, "Content-Length": str(BODY + 1)}, b"", 413),
        ({**FORM, "Content-Length": "-1"}, b"", 411),
        ({**FORM, "Content-Length": "\u0661".encode().decode("latin-1")}, b"", 411),
    ],
)
def test_what_is_no_small_form_is_refused(server: Server, headers: dict[str, str], body: bytes, status: int) -> None:
    assert asked(server, "POST", "/playground.html", body, headers)[0] == status


def test_other_places_take_no_form(server: Server) -> None:
    assert asked(server, "POST", "/index.html", b"", FORM)[0] == 405
    assert asked(server, "PUT", "/playground.html", b"", FORM)[0] == 501


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"vocab": "/etc/passwd"}, "no vocabulary"),
        ({"vocab": "none@greedy-longest"}, "no vocabulary"),
        ({"left": "gigatoken==0.1"}, "no engine"),
        ({"right": "oracle:reject"}, "no engine"),
        ({"kind": "hex", "document": "0g"}, "hex digit"),
        ({"kind": "hex", "document": "0"}, "half a byte"),
        ({"document": "a" * (MOST + 1)}, f"{MOST + 1:,} bytes are more than {MOST:,}"),
        ({"more": "x"}, "twice or unknown"),
    ],
)  # fmt: skip
def test_a_bad_question_is_told_on_the_page_with_a_remedy(server: Server, fields: dict[str, str], told: str) -> None:
    status, text = question(server, **fields)
    assert status == 400 and 'role="alert"' in text and told in plain(text) and "<form" in text


def test_what_was_typed_comes_back_harmless(server: Server) -> None:
    typed = "</textarea><script>alert(1)</script>\u202e\x00\x1b"
    status, text = question(server, document=typed, vocab="none")
    assert status == 400 and "<script" not in text and not re.search("[\x00\x1b\u202e]", text)


def test_two_engines_that_agree(server: Server) -> None:
    # GPT-2's published ids of its own example.
    status, text = question(server, document="hello world")
    words = plain(text)
    assert status == 200 and "The same ids" in words and "31373" in words and "995" in words and "5..11" in words
    assert "tokassay trace tiktoken --against oracle --vocab gpt2 --hex 68656c6c6f20776f726c64" in words


def test_two_engines_that_differ_show_where(server: Server) -> None:
    """B1 27 73: tiktoken takes all of it as one piece, which docs and README show; the byte alphabet takes two."""
    status, text = question(server, kind="hex", document="b1 27 73", right="dat-bpe")
    words = plain(text)
    assert status == 200 and "They differ" in words and "first differing decision" in words
    assert "differs" in words and 'id="first"' in text and words.count("Each byte in hex") == 1


def test_engines_of_the_longest_match_can_be_asked(server: Server) -> None:
    """A space and a letter are token 257 of GPT-2, which begins with the space: docs/DIVERGENCES.md has it."""
    words = plain(question(server, document=" a", vocab="gpt2@greedy-longest", left="dat-greedy")[1])
    assert "The same ids" in words and "257" in words


def test_an_engine_that_refuses_is_told(server: Server) -> None:
    words = plain(question(server, kind="hex", document="ff", left="tokenizers", right="dat-bpe")[1])
    assert "tokenizers: reject" in words


def test_text_comes_as_it_was_typed(server: Server) -> None:
    """A browser sends lines with CR LF; bytes that are no UTF-8 arrive too."""
    body = b"kind=text&vocab=gpt2&left=dat-bpe&right=oracle&document="
    found = asked(server, "POST", "/playground.html", body + quote_from_bytes(b"a\r\nb\xff").encode(), FORM)[2]
    assert "--hex 610a62ff" in plain(found)
    assert "is empty" in plain(question(server, document="")[1])


def test_a_taken_port_is_told(server: Server) -> None:
    with pytest.raises(InputError) as caught:
        Server(server.root, {}, server.server_port)
    assert str(server.server_port) in caught.value.where and "another port" in caught.value.remedy


def test_the_command_serves_until_it_is_ended(tmp_path: Path) -> None:
    import signal
    import subprocess
    import sys

    # Whoever is started in the background may have inherited that Ctrl-C is ignored.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from tokassay.harness.cli import main; main(['report', 'serve', '--port', '0', '--json'])"
    )
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        port = int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/", told["url"])[1])  # type: ignore[index]
        connection = HTTPConnection(ADDRESS, port, timeout=60)
        connection.request("GET", "/")
        text = connection.getresponse().read().decode()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert "playground.html" in text and "There is no audit in these stores." in text
    assert list(tmp_path.iterdir()) == []
