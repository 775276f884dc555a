"""Readers: bytes kept exactly, bad lines counted and named, damage never taken for an end."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from tokassay.corpora.document import CorpusError
from tokassay.corpora.open import open_corpus
from tokassay.corpora.readers import lines


def data_of(spec: str | Path) -> list[bytes]:
    return [document.data for document in open_corpus(str(spec)).documents()]


def names_of(spec: str | Path) -> list[str]:
    return [document.name for document in open_corpus(str(spec)).documents()]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"\n", [b""]),
        (b"a", [b"a"]),
        (b"a\n", [b"a"]),
        (b"a\n\nb", [b"a", b"", b"b"]),
        (b"a\r\nb\r\n", [b"a\r", b"b\r"]),
        (b"a\rb\x0bc\x0cd\x85e\xe2\x80\xa8f", [b"a\rb\x0bc\x0cd\x85e\xe2\x80\xa8f"]),
        (b"\xff\xfe\n\x00\n", [b"\xff\xfe", b"\x00"]),
        (b"\n\n\n", [b"", b"", b""]),
    ],
)
def test_lines_end_at_newlines_only_and_keep_every_other_byte(
    tmp_path: Path, content: bytes, expected: list[bytes]
) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(content)
    assert data_of(path) == expected
    assert names_of(path) == [f"x.txt:{k + 1}" for k in range(len(expected))]


@given(st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"")), max_size=40), st.integers(1, 30))
def test_lines_do_not_depend_on_how_the_file_is_read(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], size: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "x.txt"
    path.write_bytes(b"".join(part + b"\n" for part in parts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "JOIN_BYTES", size)
        patch.setattr("tokassay.corpora.readers.streams.READ_BYTES", size)
        assert data_of(path) == parts


def packed(suffix: str, data: bytes) -> bytes:
    if suffix == ".gz":
        return gzip.compress(data, mtime=0)
    return zstandard.ZstdCompressor().compress(data)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_lines_are_streamed_frame_by_frame(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x.txt{suffix}"
    path.write_bytes(packed(suffix, b"a\nb") + packed(suffix, b"c\nd\n"))
    assert data_of(path) == [b"a", b"bc", b"d"]


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "garbage"])
def test_damaged_compression_raises_with_the_file(tmp_path: Path, suffix: str, damage: str) -> None:
    good = packed(suffix, b"".join(b"%d\n" % k for k in range(5000)))
    bad = {"cut": good[: len(good) // 2], "flipped": good[:9] + bytes(64) + good[73:], "garbage": b"not compressed"}
    path = tmp_path / f"x.txt{suffix}"
    path.write_bytes(bad[damage])
    with pytest.raises(CorpusError) as caught:
        data_of(path)
    assert caught.value.where == str(path)
    assert caught.value.remedy


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_jsonl_counts_and_names_every_bad_line(tmp_path: Path, suffix: str) -> None:
    rows = [b'{"text": "one"}', b"{broken", b"[1]", b'{"other": 1}', b"", b'{"text": 5}', b'{"text": "\\ud800"}',
            b'{"text": "\xff"}', b'{"text": "\\u00e9\\u0000", "more": 1}\r', b'{"text": ""}']  # fmt: skip
    path = tmp_path / f"x.jsonl{suffix}"
    data = b"\n".join(rows)
    path.write_bytes(packed(suffix, data) if suffix else data)
    corpus = open_corpus(str(path))
    documents = [(d.name.split(":")[1], d.data) for d in corpus.documents()]
    assert documents == [("1", b"one"), ("9", b"\xc3\xa9\x00"), ("10", b"")]
    name = path.name
    assert corpus.problems.counts == {
        "not JSON": 2, "not an object": 1, "no field 'text'": 1,
        "field 'text' is not a string": 1, "a lone surrogate": 1,
    }  # fmt: skip
    assert corpus.problems.first["not JSON"] == [f"{name}:2", f"{name}:8"]
    assert corpus.problems.first["a lone surrogate"] == [f"{name}:7"]
    # A second iteration starts its count again.
    list(corpus.documents())
    assert corpus.problems.total == 6


def test_jsonl_takes_another_field(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(json.dumps({"body": "b", "text": "t"}) + "\n")
    assert data_of(f"{path}@jsonl:body") == [b"b"]
    assert data_of(f"{path}@jsonl") == [b"t"]


def test_first_problems_are_kept_by_name_and_the_rest_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"x\n" * 1000)
    corpus = open_corpus(str(path))
    assert list(corpus.documents()) == []
    assert corpus.problems.counts == {"not JSON": 1000}
    assert corpus.problems.first["not JSON"] == [f"x.jsonl:{k}" for k in range(1, 21)]


def test_parquet_reads_strings_and_binaries_and_names_nulls(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    columns = {"text": ["a", None, "é"], "raw": pa.array([b"\xff", b"", None], pa.binary()), "n": [1, 2, 3]}
    pq.write_table(pa.table(columns), path)
    corpus = open_corpus(str(path))
    assert [(d.name, d.data) for d in corpus.documents()] == [("x.parquet:1", b"a"), ("x.parquet:3", b"\xc3\xa9")]
    assert corpus.problems.first == {"null": ["x.parquet:2"]}
    assert data_of(f"{path}@parquet:raw") == [b"\xff", b""]
    for field, words in (("missing", "text, raw, n"), ("n", "string or binary")):
        with pytest.raises(CorpusError) as caught:
            data_of(f"{path}@parquet:{field}")
        assert words in caught.value.remedy
    path.write_bytes(b"not parquet at all")
    with pytest.raises(CorpusError, match="not readable as Parquet"):
        data_of(path)


def test_a_folder_is_its_files_sorted_and_binary_safe(tmp_path: Path) -> None:
    for name, data in (("b.txt", b"B\n"), ("a/z.bin", bytes(range(256))), ("a/é", b""), (".hidden", b"h")):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b"C"))
    (tmp_path / "loop").symlink_to(tmp_path)
    corpus = open_corpus(str(tmp_path))
    documents = [(d.name, d.data) for d in corpus.documents()]
    assert documents == [
        (".hidden", b"h"), ("a/z.bin", bytes(range(256))), ("a/é", b""), ("b.txt", b"B\n"), ("c.txt.gz", b"C"),
    ]  # fmt: skip
    assert data_of(f"{tmp_path}@lines") == [b"h", *bytes(range(256)).split(b"\n"), b"B", b"C"]


def test_a_damaged_file_in_a_folder_is_counted_and_named(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"x" * 1000)[:-9])
    (tmp_path / "b").write_bytes(b"fine")
    corpus = open_corpus(str(tmp_path))
    assert [d.data for d in corpus.documents()] == [b"fine"]
    assert list(corpus.problems.first.values()) == [[str(tmp_path / "a.gz")]]


def test_what_is_no_file_is_counted_and_never_waited_for(tmp_path: Path) -> None:
    """A pipe would hang the reader, and a dangling link is a document that somebody meant to have."""
    (tmp_path / "a").write_bytes(b"fine")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for spec in (str(tmp_path), f"{tmp_path}@lines"):
        corpus = open_corpus(spec)
        assert [d.data for d in corpus.documents()] == [b"fine"]
        assert corpus.problems.counts == {"not a file": 2}
    for spec in (f"{tmp_path}/pipe", f"{tmp_path}/pipe@files", "/dev/null"):
        with pytest.raises(CorpusError, match="neither a file nor a folder"):
            open_corpus(spec)


def test_whole_files_and_kinds_by_suffix(tmp_path: Path) -> None:
    path = tmp_path / "x@y.txt"
    path.write_bytes(b"a\nb\n")
    assert data_of(path) == [b"a", b"b"]
    assert data_of(f"{path}@files") == [b"a\nb\n"]
    with pytest.raises(CorpusError, match="takes no field"):
        open_corpus(f"{path}@lines:text")


def test_a_missing_path_is_an_input_error(tmp_path: Path) -> None:
    for spec in (f"{tmp_path}/no.txt", f"{tmp_path}/no.jsonl@jsonl"):
        with pytest.raises(CorpusError) as caught:
            open_corpus(spec)
        assert str(tmp_path) in caught.value.where


def test_a_path_that_is_called_like_a_source_needs_a_slash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "battery").write_bytes(b"mine\n")
    assert data_of("./battery") == [b"mine"]
    assert open_corpus("battery").name == "battery"
