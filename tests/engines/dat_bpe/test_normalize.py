"""NFC in C: against the standard's own test lines, the interpreter, tokenizers and the oracle."""

from __future__ import annotations

import json
import random
import re
import unicodedata
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokassay.corpora.catalogue import catalogue, find_entry
from tokassay.corpora.fetch import fetch_archive, fetch_file
from tokassay.engines.dat_bpe import _core, generate_normalization
from tokassay.fixtures import derive_normalization
from tokassay.oracles.normalize import normalization, normalize
from tokenizers import normalizers

VERSIONS = ("15.0", "15.1", "16.0", "17.0")
# Lines of NormalizationTest.txt of Unicode 15.0 and 16.0 (source; NFC; NFD; NFKC; NFKD), each for another rule.
PUBLISHED = """
15.0 1E0A;1E0A;0044 0307;1E0A;0044 0307;
15.0 1E0A 0323;1E0C 0307;0044 0323 0307;1E0C 0307;0044 0323 0307;
15.0 0044 031B 0323;1E0C 031B;0044 031B 0323;1E0C 031B;0044 031B 0323;
15.0 0592 05B7 05BC 05A5 05B0 05C0 05C4 05AD;05B0 05B7 05BC 05A5 0592 05C0 05AD 05C4;\
05B0 05B7 05BC 05A5 0592 05C0 05AD 05C4;05B0 05B7 05BC 05A5 0592 05C0 05AD 05C4;\
05B0 05B7 05BC 05A5 0592 05C0 05AD 05C4;
15.0 1100 AC00 11A8;1100 AC01;1100 1100 1161 11A8;1100 AC01;1100 1100 1161 11A8;
15.0 1100 AC00 11A8 11A8;1100 AC01 11A8;1100 1100 1161 11A8 11A8;1100 AC01 11A8;1100 1100 1161 11A8 11A8;
15.0 0340;0300;0300;0300;0300;
15.0 0344;0308 0301;0308 0301;0308 0301;0308 0301;
15.0 0958;0915 093C;0915 093C;0915 093C;0915 093C;
15.0 212B;00C5;0041 030A;00C5;0041 030A;
15.0 FB1D;05D9 05B4;05D9 05B4;05D9 05B4;05D9 05B4;
15.0 2F800;4E3D;4E3D;4E3D;4E3D;
15.0 1D15E;1D157 1D165;1D157 1D165;1D157 1D165;1D157 1D165;
15.0 0061 0315 0300 05AE 0300 0062;00E0 05AE 0300 0315 0062;0061 05AE 0300 0300 0315 0062;\
00E0 05AE 0300 0315 0062;0061 05AE 0300 0300 0315 0062;
15.0 0F71 0F72 0F71;0F71 0F71 0F72;0F71 0F71 0F72;0F71 0F71 0F72;0F71 0F71 0F72;
15.0 0CC6 0CC2 0CD5;0CCB;0CC6 0CC2 0CD5;0CCB;0CC6 0CC2 0CD5;
16.0 16D68;16D68;16D67 16D67;16D68;16D67 16D67;
16.0 16D6A;16D6A;16D63 16D67 16D67;16D6A;16D63 16D67 16D67;
16.0 16D63 16D68;16D6A;16D63 16D67 16D67;16D6A;16D63 16D67 16D67;
16.0 113C8;113C8;113C2 113C9;113C8;113C2 113C9;
16.0 105C9;105C9;105D2 0307;105C9;105D2 0307;
"""


def text_of(points: str) -> str:
    return "".join(chr(int(point, 16)) for point in points.split())


def nfc(text: str, version: str = "17.0") -> str:
    return _core.normalize(text.encode(), VERSIONS.index(version))[0].decode()


def check_line(line: str, version: str) -> None:
    """The conformance rule that stands in the file's own head."""
    source, composed, decomposed, k_composed, k_decomposed = map(text_of, line.split(";")[:5])
    assert nfc(source, version) == nfc(composed, version) == nfc(decomposed, version) == composed, line
    assert nfc(k_composed, version) == nfc(k_decomposed, version) == k_composed, line
    oracle = normalization(version)
    for text in (source, decomposed):
        assert "".join(each for each, _ in oracle.form([(each, False) for each in text])) == composed, line
    compatible = normalization(version, compatible=True)
    for text in (source, composed, decomposed, k_composed, k_decomposed):
        assert "".join(each for each, _ in compatible.form([(each, False) for each in text])) == k_composed, line
        assert normalize(text, "nfkc", version) == k_composed, line


@pytest.mark.parametrize("line", PUBLISHED.strip().splitlines())
def test_published_lines(line: str) -> None:
    since, _, line = line.partition(" ")
    for version in VERSIONS[VERSIONS.index(since) :]:
        check_line(line, version)


def test_the_committed_table_is_what_the_generator_writes() -> None:
    committed = Path(__file__).resolve().parents[3] / "engines" / "dat_bpe" / "csrc" / "nfc_tables.c"
    assert committed.read_text(encoding="ascii") == generate_normalization.render()


def test_every_character_alone_and_before_a_mark_as_the_interpreter_has_it() -> None:
    """Of what its Unicode version assigns: that is guaranteed never to change."""
    for code in range(0x110000):
        character = chr(code)
        if 0xD800 <= code < 0xE000 or unicodedata.category(character) == "Cn":
            continue
        assert nfc(character) == unicodedata.normalize("NFC", character)
        if unicodedata.combining(character) or unicodedata.decomposition(character):
            for text in (character + "\u0301", "a" + character, character + "\u0323\u0301", "\u0301" + character):
                assert nfc(text) == unicodedata.normalize("NFC", text), ascii(text)


PARTS = [
    *"aeoAE x\u00e9\u1e69\u0301\u0323\u0307\u031b\u0345\u0334\u05b0\u3099\u304b\u212b\u2126\u0958\u0344\ufb1d",
    *"\uac00\uac01\u1100\u1161\u11a8\u0f71\u0f72\u0f73\u0cc6\u0cc2\u0cd5\u0e38\u0e48\u6f22\u0434",
    "\U0001f642", "\U0001d157\U0001d165", "\U000113c2", "\U000113c9", "\U00016d63", "\U00016d67", "\U00016d68",
    "\U000105d2", "\u1acf", "\u0897",
]
FEW = [part for part in PARTS if all(unicodedata.category(each) != "Cn" for each in part)]


@given(st.lists(st.sampled_from(FEW), max_size=30).map("".join))
@example("a" * 9 + "\u0301")
def test_as_the_interpreter_and_tokenizers_have_it(text: str) -> None:
    assert nfc(text) == unicodedata.normalize("NFC", text) == normalizers.NFC().normalize_str(text)


@given(st.lists(st.one_of(st.sampled_from([part.encode() for part in PARTS]), st.binary(max_size=3)), max_size=20))
@pytest.mark.parametrize("version", VERSIONS)
def test_any_bytes_as_the_oracle_has_them(version: str, parts: list[bytes]) -> None:
    """The NFC and every chunk that changed, to the byte."""
    document = b"".join(parts)
    found, edits = _core.normalize(document, VERSIONS.index(version))
    made = document.decode("utf-8", "surrogateescape")
    units = [(each, "\udc80" <= each <= "\udcff") for each in made]
    expected = normalization(version).edits(units)
    width = [0]
    for character in made:
        width.append(width[-1] + len(character.encode("utf-8", "surrogateescape")))
    assert [(start, end) for start, end, _, _ in edits] == [(width[start], width[end]) for start, end, _ in expected]
    at = 0
    whole = b""
    for (start, end, low, high), (_, _, new) in zip(edits, expected, strict=True):
        whole += document[at:start]
        assert low == len(whole)
        whole += "".join(each for each, _ in new).encode("utf-8", "surrogateescape")
        assert high == len(whole)
        at = end
    assert found == whole + document[at:]


def test_all_text_is_what_its_chunks_give() -> None:
    """The oracle's chunks against the oracle's NFC of the whole: nothing moves over a boundary."""
    chance = random.Random(4)
    for version in ("9.0", *VERSIONS):
        table = normalization(version)
        for _ in range(2_000):
            units = [(each, False) for each in "".join(chance.choices(PARTS, k=chance.randint(0, 12)))]
            joined = list(units)
            for start, end, new in reversed(table.edits(units)):
                joined[start:end] = new
            assert joined == table.form(units)


def test_tokenizers_nfc_is_that_of_unicode_9() -> None:
    """All characters, each beside four marks: its normalizer knows no later one. Noted in the roster."""
    ours, theirs = normalization("9.0"), normalizers.NFC()
    later = normalization("17.0")
    for character in sorted(set(later.combining) | set(later.mapping)):
        for text in (character, character + "\u0334", "\u0345" + character, "a" + character + "\u0327", character * 2):
            expected = "".join(each for each, _ in ours.form([(each, False) for each in text]))
            assert theirs.normalize_str(text) == expected, ascii(text)


def test_text_that_is_nfc_is_not_copied() -> None:
    for text in ("", "plain", "漢字かな交じり文", "Привет", "naïve café", "\u0e01\u0e38\u0e48", "\uac01", "🙂" * 9):
        assert _core.normalize(text.encode(), 3) == (text.encode(), [])


@settings(deadline=None)
@given(st.integers(0, 40), st.sampled_from(["\u0301\u0323", "\u0323\u0301", "\u0315\u0300\u05ae", "\u1161", "\u11a8"]))
def test_long_runs_of_marks(power: int, run: str) -> None:
    text = "a" + run * (1 << power % 12)
    assert nfc(text) == unicodedata.normalize("NFC", text)


def test_a_table_line_that_is_none_is_named() -> None:
    with pytest.raises(ValueError, match="line 2"):
        generate_normalization.read_normalization(["# x", "Ccc;1.1;zz;3"], "15.0")


def published_lines(slug: str) -> list[str]:
    """The test lines of a catalogue entry: the file as published, or its rows as JSON."""
    path = fetch_file(find_entry(slug))
    if path.suffix == ".txt":
        lines = (line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
        return [line for line in lines if line and not line.startswith("@")]
    rows = json.loads(path.read_text(encoding="utf-8"))["NormalizationTest"]
    forms = [f"{form}Sequence" for form in ("source", "NFC", "NFD", "NFKC", "NFKD")]
    return [";".join(" ".join(row[form]) for form in forms) for row in rows if forms[1] in row]


@pytest.mark.network
@pytest.mark.parametrize(("version", "count"), [("15.1", 19_074), ("16.0", 19_965)])
def test_the_published_test_file(version: str, count: int) -> None:
    """Every line, under its own version and all later ones: a normalization that was right stays right."""
    lines = published_lines(f"unicode-normalization-test-{version.replace('.', '-')}")
    assert len(lines) == count
    for line in lines:
        for each in VERSIONS[VERSIONS.index(version) :]:
            check_line(line, each)
    alone = {text_of(line.split(";")[0]) for line in lines}
    for compatible in (False, True):
        table = normalization(version, compatible=compatible)
        # What the file does not list is its own normal form.
        assert {each for each in table.mapping if table.form([(each, False)]) != [(each, False)]} <= alone


@pytest.mark.network
def test_the_fixture_is_what_the_archives_say() -> None:
    entries = [entry for entry in catalogue() if entry.kind == "unicode" or entry.slug == "unicode-15-0"]
    folder = {fetch_archive(entry).parent for entry in entries}.pop()
    assert derive_normalization.main(["--archives", str(folder), "--check"]) == 0


def test_the_table_file_is_whole() -> None:
    text = (files("tokassay.fixtures") / "unicode" / "normalization.txt").read_text(encoding="ascii")
    kinds = {line.split(";")[0] for line in text.splitlines() if not line.startswith("#")}
    assert kinds == {"Ccc", "Decomposition", "Exclusion", "Word"}
    assert all(re.fullmatch(r"# .*|\w+;[0-9.]+;[0-9A-F.]+(;.*)?", line) for line in text.splitlines())
