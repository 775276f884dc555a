"""xerv-crayon, fetched by the ordinary client: its files as a golden test of the format, its ids beside ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokassay.corpora.catalogue import Entry
from tokassay.corpora.fetch import extract_member, fetch_archive
from tokassay.engines import environments, frames
from tokassay.engines.client import Host
from tokassay.engines.dat_greedy import Greedy, crayfile
from tokassay.engines.roster import load_roster

ARCHIVE = Entry(
    slug="xerv-crayon",
    kind="vocab",
    name="xerv-crayon",
    registry="pypi",
    package="xerv-crayon",
    version="5.7.16",
    path="",
    licence="MIT",
    sdist=True,
    archive="xerv_crayon-5.7.16.tar.gz",
    archive_bytes=9_474_766,
    archive_sha256="d1436c25f4552225a7eb155b59e4cc0bc294f4a8c9583493a9a1d628c3035a38",
)
PROFILES = {"lite": 50_000, "standard": 206_373}
CONTRACT: dict[str, Any] = {
    "algorithm": "greedy-longest", "normalizer": "none", "pretokenizer": [], "specials": "off", "special_tokens": [],
    "added_tokens": [], "add_prefix_space": False, "byte_fallback": False, "unicode": "16.0", "byte_policy": "reject",
}
TEXTS = ["hello world", "", "naïve 日本語\n\n", "a\0b", " " * 50, "def f(x):\n\treturn x", "\u1e9b\u0323 e\u0301 🙂"]


def member(name: str) -> bytes:
    return extract_member(fetch_archive(ARCHIVE), f"src/crayon/resources/dat/{name}", strip=1)


@pytest.mark.network
@pytest.mark.parametrize("name", PROFILES)
def test_the_shipped_vocabulary_makes_the_shipped_file_byte_for_byte(name: str) -> None:
    """Its compiler takes C strings, which end at a NUL, and of two equal tokens the later id."""
    shipped = member(f"vocab_{name}.dat")
    listed = json.loads(member(f"vocab_{name}.json"))
    assert len(listed) == PROFILES[name]
    tokens = {text.encode().split(b"\0")[0]: number for number, text in enumerate(listed)}
    assert crayfile.pack(tokens).to_bytes() == shipped
    greedy = Greedy.from_bytes(shipped, unmatched="bytes")
    del tokens[b""]
    assert (greedy.tokens(), greedy.problems()) == (dict(sorted(tokens.items(), key=lambda item: item[1])), [])
    assert not Greedy.from_bytes(shipped).lossless
    document = bytes(range(256)) + "naïve 日本語".encode()
    assert greedy.decode(greedy.encode(document)) == document


@pytest.mark.network
@pytest.mark.parametrize("name", ["xerv-crayon", "xerv-crayon-numpy"])
def test_its_ids_on_a_file_that_we_wrote(name: str, tmp_path: Path) -> None:
    """Without numpy its ids are the longest matches'; with numpy a space stands alone, which is its other algorithm."""
    spec = load_roster()[name]
    environments.install(spec)
    greedy = Greedy.load("gpt2")
    greedy.save(tmp_path / "gpt2.dat")
    with Host(spec, environments.interpreter(spec)) as host:
        hello = host.hello()
        assert (hello["engine"], hello["version"]) == (name, spec.pinned)
        host.load(CONTRACT, {"dat": str(tmp_path / "gpt2.dat")})
        for operation in ("encode", "encode_batch"):
            output = host.encode([*(text.encode() for text in TEXTS), b"\xff"], operation).output
            assert isinstance(output, frames.Ids)
            assert output.status.tolist() == [0] * len(TEXTS) + [1]
            rows = output.rows()[:-1]
            if name == "xerv-crayon":
                assert rows == [greedy.encode(text).tolist() for text in TEXTS]
            else:
                assert rows[0] == [31373, 220, 6894]
