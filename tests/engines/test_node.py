"""The host in JavaScript where it is not the one in Python: text, what can be lazy there, packages, limits."""

from __future__ import annotations

import hashlib
import json
import resource
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tokassay.engines import frames, runtimes
from tokassay.engines.client import Host, HostError, Unsupported
from tokassay.engines.environments import EnvironmentFault, absence, installed, interpreter
from tokassay.engines.roster import EngineSpec, RosterError, load_roster

PLANTED = Path(__file__).parent / "planted"
ECHO = """\
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
export class Adapter {
  name = 'echo';
  operations = ['encode', 'decode'];
  rejects = ['ERR_ENCODING_INVALID_ENCODED_DATA'];
  version() { return '1.0'; }
  async load() { await new Promise((done) => setTimeout(done, 1)); }
  prepare(document) { return utf8.decode(document); }
  encode(text) { return Array.from(Buffer.from(text)); }
  decode(ids) { return Uint8Array.from(ids); }
}
"""
# Around every border of well-formed UTF-8 (Unicode Table 3-7), and what a decoder of text likes to drop or to repair.
HEX = (
    " 61 00 7f 80 bf c0af c1bf c280 dfbf c2 e09fbf e0a080 e0407970 ed9fbf eda080 edbfbf ee8080 efbfbd efbfbf f08fbfbf"
    " f0908080 f48fbfbf f4908080 f5808080 ff fe f09f98 f09f9880 efbbbf efbbbf61 efbbbfefbbbf 61efbbbf feff0061 0d0a"
    " e280a8 65cc81"
)
TEXTS = [bytes.fromhex(each) for each in HEX.split(" ")]

pytestmark = pytest.mark.node


def well_formed(document: bytes) -> bool:
    try:
        document.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def in_javascript(folder: Path, source: str) -> EngineSpec:
    """An engine without a package, with this adapter."""
    adapter = folder / "adapter.mjs"
    adapter.write_text(source, encoding="utf-8")
    base = load_roster(PLANTED / "speedy.toml", base=None)["none"]
    return replace(base, name="echo", runtime="node", adapter=adapter)


def test_text_is_strict_and_whole(tmp_path: Path) -> None:
    """What is not UTF-8 is refused and nothing else, and no mark at the beginning is lost: as in Python's decoder."""
    with Host(in_javascript(tmp_path, ECHO)) as host:
        host.load({}, {})
        measured = host.measure(TEXTS)
        kept = host.kept()
    assert isinstance(kept, frames.Ids)
    assert kept.rows() == [list(document) if well_formed(document) else [] for document in TEXTS]
    assert kept.status.tolist() == [0 if well_formed(document) else 1 for document in TEXTS]
    assert measured.rejects == sum(not well_formed(document) for document in TEXTS)
    assert measured.digest == [frames.block_digest(map(len, TEXTS), kept)]


def test_hello_names_node(tmp_path: Path) -> None:
    with Host(in_javascript(tmp_path, ECHO)) as host:
        hello = host.hello()
    told = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    assert hello["python"] == f"node {told.removeprefix('v')}"
    assert hello["rejects"] == ["ERR_ENCODING_INVALID_ENCODED_DATA", "Reject"]


@pytest.mark.parametrize("fault", ["promise", "proxy", "getters", "holes", "later-list", "later-buffer", "generator"])
@pytest.mark.parametrize("op", ["whole", "documents_list"])
def test_work_cannot_be_put_off(fault: str, op: str) -> None:
    """A promise, a proxy, getters as elements, a prototype behind holes, memory shared with another thread."""
    base = load_roster(PLANTED / "speedy.toml", base=None)["none"]
    spec = replace(base, runtime="node", adapter=PLANTED / "speedy.mjs", options={"fault": fault})
    with Host(spec) as host:
        host.load({}, {})
        if op == "documents_list":
            with pytest.raises(HostError, match="must give arrays"):
                host.measure([b"abc"], op)
        else:
            measured = host.measure([b"abc"], op)
            assert (measured.ids, measured.error_count) == (0, 1)
            assert measured.errors[0][1] == "TypeError"


def test_packages_are_found_beside_the_interpreter(tmp_path: Path) -> None:
    """bin/node of an environment has the packages of its node_modules; any other node has none."""
    found = shutil.which("node")
    assert found is not None
    package = tmp_path / "environment" / "node_modules" / "toy"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"name": "toy", "version": "3.2.1", "main": "main.js"}', encoding="utf-8")
    (package / "main.js").write_text("exports.shift = 5;\n", encoding="utf-8")
    node = tmp_path / "environment" / "bin" / "node"
    node.parent.mkdir()
    node.symlink_to(found)
    source = ECHO.replace("Buffer.from(text)", "Buffer.from(text), (id) => id + shift")
    spec = in_javascript(tmp_path, "import { shift } from 'toy';\n" + source)
    with Host(spec, node) as host:
        assert host.hello()["adapter_sha256"] == hashlib.sha256(spec.adapter.read_bytes()).hexdigest()
        host.load({}, {})
        output = host.encode([b"a"]).output
        assert isinstance(output, frames.Ids) and output.rows() == [[102]]
    with Host(spec) as host, pytest.raises(HostError, match="Cannot find package 'toy'"):
        host.hello()


@pytest.mark.parametrize(
    ("engine", "package", "exports"),
    [
        ("ai-tokenizer", "ai-tokenizer", ["Tokenizer"]),
        ("gpt-3-encoder", "gpt-3-encoder", ["encode", "decode"]),
        ("gpt-tokenizer", "gpt-tokenizer", []),
        ("js-tiktoken", "js-tiktoken", ["Tiktoken"]),
        ("tiktoken-wasm", "tiktoken", ["Tiktoken"]),
    ],
)
def test_ranks_alone_honour_no_more_than_ranks(tmp_path: Path, engine: str, package: str, exports: list[str]) -> None:
    """What only a tokenizer.json can say is refused before a file is opened; the package is a stand-in."""
    found = shutil.which("node")
    assert found is not None
    folder = tmp_path / "environment" / "node_modules" / package
    folder.mkdir(parents=True)
    body = "".join(f"exports.{name} = () => [];\n" for name in exports)
    (folder / "index.js").write_text(body, encoding="utf-8")
    about = {"version": "1.0.0", "exports": {".": "./index.js", "./lite": "./index.js"}}
    (folder / "package.json").write_text(json.dumps(about), encoding="utf-8")
    node = tmp_path / "environment" / "bin" / "node"
    node.parent.mkdir()
    node.symlink_to(found)
    contract = {
        "algorithm": "bpe-ranks", "normalizer": "none", "add_prefix_space": False, "added_tokens": [],
        "special_tokens": [], "specials": "off", "pretokenizer": ["a"], "vocabulary": "0" * 64,
    }
    for changes in ({"normalizer": "nfc"}, {"add_prefix_space": True}, {"added_tokens": [["x", 1, []]]}):
        with (
            Host(load_roster()[engine], node) as host,
            pytest.raises(Unsupported, match="no normalizer, no prefix space and no added tokens"),
        ):
            host.load({**contract, **changes}, {"tiktoken": "missing"})


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="Linux alone lets a parent set a limit")
def test_each_request_has_a_cpu_budget_of_its_own(tmp_path: Path) -> None:
    """Otherwise the limit, which the kernel counts from the start, would end a host that has only lived long."""
    with Host(replace(in_javascript(tmp_path, ECHO), timeout_s=3.0)) as host:
        asked = host.hello()["limits"]["cpu_s"]
        host.load({}, {})
        assert asked == 63
        assert resource.prlimit(host.pid, resource.RLIMIT_CPU)[0] > asked
    with Host(in_javascript(tmp_path, ECHO), cpu_limit=False) as host:
        assert "cpu_s" not in host.hello()["limits"]
        assert resource.prlimit(host.pid, resource.RLIMIT_CPU)[0] == resource.RLIM_INFINITY


TABLE = """\
[toy]
requirement = "@some/toy@1.2.3"
runtime = "{runtime}"
environment = "project"
adapter = "adapter.mjs"
algorithms = ["opaque"]
byte_policy = "reject"
unicode = "runtime"
specials = ["off"]
operations = ["encode"]
licence = "MIT"
home = "here"
"""


def table(folder: Path, runtime: str = "node") -> Path:
    (folder / "adapter.mjs").write_text(ECHO, encoding="utf-8")
    path = folder / "toy.toml"
    path.write_text(TABLE.format(runtime=runtime), encoding="utf-8")
    return path


def test_the_unicode_version_is_that_of_the_runtime(tmp_path: Path) -> None:
    spec = load_roster(table(tmp_path), base=None)["toy"]
    words = ["node", "-p", "JSON.stringify(process.versions)"]
    told = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)["unicode"]
    assert spec.unicode == told
    # The version that is named is the one that regular expressions have: these letters came with 16.0 and 17.0.
    newer = {"16.0": "10D4A", "17.0": "10940"}
    for version, code in newer.items():
        words = ["node", "-p", rf"/^\p{{L}}$/u.test(String.fromCodePoint(0x{code}))"]
        knows = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
        assert (knows == "true") == (float(told) >= float(version))


def test_python_has_no_one_unicode_version(tmp_path: Path) -> None:
    with pytest.raises(RosterError, match="python has no one version") as caught:
        load_roster(table(tmp_path, "python"), base=None)
    assert caught.value.where.endswith("toy.toml:8")


def test_a_scoped_package_and_its_version(tmp_path: Path) -> None:
    spec = load_roster(table(tmp_path), base=None)["toy"]
    assert (spec.package, spec.pinned, spec.at("2.0")) == ("@some/toy", "1.2.3", "@some/toy@2.0")
    assert replace(spec, requirement="@some/toy").pinned == ""


def test_without_node_there_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtimes.shutil, "which", lambda name: None)
    runtimes.unicode_version.cache_clear()
    try:
        spec = load_roster(table(tmp_path), base=None)["toy"]
        assert spec.unicode == "asked"
    finally:
        runtimes.unicode_version.cache_clear()
    assert not installed(spec)
    assert absence(spec) == "toy needs node, and node is not installed"
    with pytest.raises(EnvironmentFault, match="node is not installed") as caught:
        interpreter(spec)
    assert "20 or later" in caught.value.remedy
