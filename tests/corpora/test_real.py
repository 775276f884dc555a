"""Catalogue texts: extractors on small files made here, the prepared form, and with a network the real ones."""

from __future__ import annotations

import io
import json
import struct
import tarfile
import zlib
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import pytest
from tokassay.corpora import prepared, sample, sword
from tokassay.corpora.catalogue import Entry
from tokassay.corpora.corpus import content
from tokassay.corpora.document import CorpusError
from tokassay.corpora.fetch import cache_dir
from tokassay.corpora.open import open_corpus
from tokassay.corpora.recipes import ALIASES, EXPECTED, RECIPES, parts_of


def made(slug: str, **contents: bytes) -> list[tuple[str, bytes]]:
    parts, _ = parts_of(slug, [(name.replace("__", "."), data) for name, data in contents.items()])
    return list(parts)


def module(verses: list[str], *, wide: bool) -> dict[str, bytes]:
    """A SWORD testament of one block, with an empty entry first and the last verse linked to the one before."""
    text = "".join(verses).encode()
    rows, at = [(0, 0, 0)], 0
    for verse in verses:
        rows.append((0, at, len(verse.encode())))
        at += len(verse.encode())
    rows.append(rows[-1])
    form = struct.Struct("<III" if wide else "<IIH")
    # The narrow form is told from the wide one by its size, as the real modules' are.
    while not wide and len(rows) * form.size % 12 == 0:
        rows.append((0, 0, 0))
    block = zlib.compress(text)
    return {
        "m/nt.bzs": struct.pack("<III", 3, len(block), len(text)),
        "m/nt.bzz": b"pad" + block,
        "m/nt.bzv": b"".join(form.pack(*row) for row in rows),
    }


@pytest.mark.parametrize("wide", [False, True])
def test_sword_modules_give_their_verses_once(wide: bool) -> None:
    verses = ["<w>In</w> the  beginning<note>not <b>this</b></note> &amp; é ", "<title>T</title>", "x\ny"]
    entries = list(sword.markup(module(verses, wide=wide)))
    assert [(testament, number) for testament, number, _ in entries] == [("nt", 1), ("nt", 2), ("nt", 3)]
    assert [sword.plain(osis) for _, _, osis in entries] == ["In the beginning & é", "", "x y"]


def test_html_becomes_blocks_of_text_without_duplicates() -> None:
    page = b"<html><head><title>no</title></head><body><h1>A &eacute;</h1><p>b <b>c</b>\n d</p><p>b c d</p>"
    assert made("libreoffice-ja", a__html=page, b__html=b"<p>b c d<p>e") == [
        ("a.html", "A é".encode()), ("a.html", b"b c d"), ("b.html", b"e"),
    ]  # fmt: skip
    assert made("udhr", a__html=b"<p>same", b__html=b"<p>same") == [("a.html", b"same"), ("b.html", b"same")]


def test_json_texts() -> None:
    chapters = [{"verses": [{"text": "ا", "translation": "one"}]}]
    arabic = [{"verses": [{"text": "ا"}]}]
    found = made("quran", quran__json=json.dumps(arabic).encode(), quran_en__json=json.dumps(chapters).encode())
    assert found == [("quran.json", "ا".encode()), ("quran_en.json", b"one")]
    assert made("naughty-strings", a=b'["", "\\u0000x"]') == [("a", b""), ("a", b"\x00x")]
    cases = b'// made\nexport default [{"name": "n", "input": "[\\"\\ud800\\"]"}];\n'
    assert made("json-test-suite", a=cases) == [("n", b'["\xed\xa0\x80"]')]
    assert made("ohienko-uk", a=b'{"B": {"text": {"1": {"1": "v"}}}}') == [("B", b"v")]


def test_lines_and_distinct_lines() -> None:
    assert made("wordnet", a=b"x\n\ny", b=b"x\n") == [("a", b"x"), ("a", b""), ("a", b"y"), ("b", b"x")]
    assert made("shakespeare", a=b"x\n\ny\nx\n", b=b"x\nz\n") == [("a", b"x"), ("a", b"y"), ("a", b"x"), ("b", b"z")]


def test_files_that_do_not_fit_their_recipe_are_an_input_error() -> None:
    with pytest.raises(CorpusError) as caught:
        made("naughty-strings", a=b"not json")
    assert caught.value.where == "naughty-strings"


def test_every_recipe_alias_and_expectation_names_a_corpus() -> None:
    slugs = {entry.slug for entry in prepared.real_entries()}
    assert {*RECIPES, *ALIASES.values(), *EXPECTED} <= slugs
    assert not set(ALIASES) & slugs


@pytest.fixture
def entry(monkeypatch: pytest.MonkeyPatch) -> Entry:
    """A catalogue entry of two files in a tar archive that lies in the cache."""
    contents = {"d/b.txt": b"\xff\n", "d/a.txt": b"hello"}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as bundle:
        for name, data in contents.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            bundle.addfile(info, io.BytesIO(data))
    digests = [f"{sha256(data).hexdigest()}  {name[2:]}\n" for name, data in sorted(contents.items())]
    found = Entry(
        slug="tiny", kind="code", name="Tiny", registry="npm", package="tiny", version="1", path="d", licence="MIT",
        archive="tiny-1.tgz", archive_sha256=sha256(out.getvalue()).hexdigest(), tree=True, files=2,
        sha256=sha256("".join(digests).encode()).hexdigest(),
    )  # fmt: skip
    archive = cache_dir() / "archives" / found.archive
    archive.parent.mkdir(parents=True, exist_ok=True)
    archive.write_bytes(out.getvalue())
    monkeypatch.setattr(prepared, "find_entry", lambda name: found)
    return found


def test_a_prepared_corpus_is_written_once_and_read_by_map(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = prepared.open_real("tiny", "tiny")
    assert [(d.name, d.data) for d in corpus.documents()] == [("tiny/a.txt", b"hello"), ("tiny/b.txt", b"\xff\n")]
    manifest = prepared.manifest_of(entry)
    assert manifest is not None
    found = content(corpus)
    assert (manifest["documents"], manifest["bytes"], manifest["digest"]) == (2, 7, found.digest)
    assert manifest["archive_sha256"] == entry.archive_sha256
    # Nothing but the prepared form is needed from now on.
    (cache_dir() / "archives" / entry.archive).unlink()
    monkeypatch.setattr(prepared, "WINDOW_BYTES", 1)
    again = prepared.open_real("tiny", "tiny")
    assert [len(offsets) for _, offsets, _ in again.columns()] == [2, 2]
    assert [d.data for d in again.documents()] == [b"hello", b"\xff\n"]
    damaged = prepared.folder_of(entry) / "documents.bin"
    damaged.write_bytes(b"hell")
    with pytest.raises(CorpusError, match="damaged"):
        list(again.documents())


def test_other_bytes_than_catalogued_are_refused(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    other = replace(entry, slug="other", sha256="0" * 64)
    monkeypatch.setattr(prepared, "find_entry", lambda name: other)
    with pytest.raises(CorpusError, match="should be 0000"):
        prepared.prepare("other")
    assert prepared.manifest_of(other) is None


def test_a_text_that_is_not_here_is_never_fetched_unasked() -> None:
    with pytest.raises(CorpusError) as caught:
        open_corpus("libreoffice-km")
    assert caught.value.remedy == "run: tokassay corpora fetch libreoffice-km"
    with pytest.raises(CorpusError, match="not on this machine") as caught:
        open_corpus("owt")
    assert "owt_train.txt" in caught.value.remedy


def test_the_sample_is_what_its_manifest_says() -> None:
    folder = files("tokassay.fixtures").joinpath("sample")
    names = {row["file"] for row in sample.manifest()}
    on_disk = {Path(str(item)).name for item in folder.iterdir()} - {"manifest.json", "LICENCES.txt", ".gitattributes"}
    assert names == on_disk
    total = 0
    for row in sample.manifest():
        data = folder.joinpath(row["file"]).read_bytes()
        assert (len(data), sha256(data).hexdigest()) == (row["bytes"], row["sha256"])
        assert len(sample.cut(data, row["cut"])) == row["documents"]
        assert row["licence"]
        total += len(data)
    assert 300_000 <= total <= 500_000
    assert content(open_corpus("sample")).documents == sum(row["documents"] for row in sample.manifest())


GOLDEN = json.loads(files("tokassay.fixtures").joinpath("golden", "corpora.json").read_text("utf-8"))


@pytest.mark.network
@pytest.mark.parametrize("row", GOLDEN["real"], ids=lambda row: str(row["spec"]))
def test_real_text_is_the_frozen_one(row: dict[str, object]) -> None:
    spec = str(row["spec"])
    prepared.prepare(spec)
    found = content(open_corpus(spec))
    assert (found.documents, found.bytes, found.digest) == (row["documents"], row["bytes"], row["digest"])
