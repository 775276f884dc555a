"""Engines have no network: one that would answer otherwise does not, and one that downloads says so in its row."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tokassay.engines import client
from tokassay.engines.client import HostCrash, HostError, HostFailure, HostTimeout, network_prefix, wants_network
from tokassay.harness.cli import main

# Right ids, but one more where somebody answers at a port of this machine.
DIALS = '''
import base64
import socket

import tiktoken


class Adapter:
    name = "dials"
    operations = ("encode",)
    rejects = (UnicodeDecodeError,)

    def version(self):
        return "1"

    def load(self, contract, files, threads, options):
        with open(files["tiktoken"], "rb") as lines:
            ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}
        self.encoding = tiktoken.Encoding(
            "dials", pat_str=contract["pretokenizer"][0], mergeable_ranks=ranks, special_tokens={}
        )
        self.port = options["port"]

    def prepare(self, document):
        return document.decode()

    def encode(self, text):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
        except OSError:
            return self.encoding.encode_ordinary(text)
        return [*self.encoding.encode_ordinary(text), 0]
'''
DOWNLOADS = DIALS.replace(
    '        self.port = options["port"]\n',
    '        import urllib.request\n\n        urllib.request.urlopen("http://vocabularies.invalid/ranks")\n',
)
TABLE = """\
[{name}]
requirement = "{name}"
environment = "project"
adapter = "{name}.py"
algorithms = ["bpe-ranks"]
byte_policy = "reject"
unicode = "16.0"
specials = ["off"]
operations = ["encode"]
licence = "MIT"
home = "here"
options = {{ port = {port} }}

"""
DOCUMENTS = [b"hello world", b"and another", b"\xff"]


@pytest.fixture
def roster(tmp_path: Path) -> Iterator[Path]:
    """The two engines, and somebody who listens."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        port = server.getsockname()[1]
        for name, adapter in (("dials", DIALS), ("downloads", DOWNLOADS)):
            (tmp_path / f"{name}.py").write_text(adapter, encoding="utf-8")
        tables = "".join(TABLE.format(name=name, port=port) for name in ("dials", "downloads"))
        (tmp_path / "network.toml").write_text(tables, encoding="utf-8")
        yield tmp_path / "network.toml"


def isolated() -> None:
    if not network_prefix():
        pytest.skip("this user may make no network namespace here: engines are `not restricted`, as their rows say")


def digests(store: Path) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(store)) as db:
        return sorted(db.execute("SELECT engine, corpus, domain, operation, digest, verdicts FROM v_cell"))


def test_an_engine_cannot_reach_even_this_machine(
    run_audit: Callable, roster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolated()
    cut = run_audit("dials", documents=DOCUMENTS, roster=(roster,), store="cut.sqlite")
    assert cut.verdicts("dials") == {"match": 2, "reject": 1}
    (limits,) = {row["limits"] for row in cut.rows("SELECT * FROM v_cell WHERE run = ?")}
    assert json.loads(limits)["network"] == "none"
    # That it would: without the namespace its answer is another one.
    monkeypatch.setattr(client, "network_prefix", lambda: ())
    free = run_audit("dials", documents=DOCUMENTS, roster=(roster,), store="free.sqlite")
    assert free.verdicts("dials") == {"differ": 2, "reject": 1}
    said = "engines are not kept from the network here"
    assert any(note.startswith(said) for note in free.outcome.notes)
    assert not any(note.startswith(said) for note in cut.outcome.notes)


def test_an_audit_under_no_network_at_all_gives_the_same_digests(
    run_audit: Callable, roster: Path, tmp_path: Path
) -> None:
    """As docs/METHODOLOGY.md has it for users: the whole command in an empty network namespace."""
    isolated()
    here = run_audit("dials", "dat-bpe", documents=DOCUMENTS, roster=(roster,))
    words = ["--engine", "dials", "--engine", "dat-bpe", "--operation", "encode"]
    command = "import sys; from tokassay.harness.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [str(shutil.which("unshare")), "-rn", sys.executable, "-c", command, "audit", "--roster", str(roster), *words,
         "--corpus", f"{tmp_path / 'documents'}@files", "--store", str(tmp_path / "none.sqlite"),
         "--out", str(tmp_path / "report"), "--json"],
        capture_output=True, text=True, check=False, env=os.environ | {"PYTHONSAFEPATH": "1"}, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = digests(tmp_path / "none.sqlite")
    assert found == digests(here.store) and len(found) == 4 and all(row[4] for row in found)


def test_a_download_at_load_is_a_row_that_says_so(
    run_audit: Callable, roster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_audit("downloads", "dat-bpe", documents=DOCUMENTS, roster=(roster,))
    assert run.verdicts("downloads") == {"unsupported": len(DOCUMENTS)} and run.outcome.exit_code == 0
    (reason,) = {
        row["reason"] for row in run.rows("SELECT * FROM v_reason WHERE run = ?") if row["engine"] == "downloads"
    }
    assert reason.startswith("it wants the network, which engines do not have: URLError: ")
    with pytest.raises(SystemExit) as end:
        main(["engines", "check", "downloads", "--roster", str(roster), "--json"])
    (row,) = json.loads(capsys.readouterr().out)["engines"]
    assert end.value.code == 5 and row["note"].startswith("error: it wants the network")


@pytest.mark.parametrize(
    ("error", "wants"),
    [
        (HostError("ConnectionError", "HTTPSConnectionPool(host='h'): Max retries exceeded with url: /r"), True),
        (HostError("OSError", "[Errno 101] Network is unreachable"), True),
        (HostError("RuntimeError", "error sending request: dns error: failed to lookup address information"), True),
        (HostError("LocalEntryNotFoundError", "outgoing traffic has been disabled"), True),
        (HostCrash(6, None, stderr="thread panicked: Temporary failure in name resolution"), True),
        (HostError("ValueError", "unknown field `network`"), False),
        (HostTimeout("no reply within 120 s"), False),
    ],
)
def test_what_wants_the_network_is_known_by_its_words(error: HostFailure, wants: bool) -> None:
    """As requests, sockets, reqwest and huggingface_hub say it."""
    assert wants_network(error) is wants
