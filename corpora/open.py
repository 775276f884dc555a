"""Opens a corpus by its spec: a built-in source, a catalogue name, or a path."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tokassay.corpora import added, borders, collisions, field, runs, verses, versions
from tokassay.corpora.around import open_around
from tokassay.corpora.battery import open_battery
from tokassay.corpora.codepoints import open_codepoints
from tokassay.corpora.concat import open_concat
from tokassay.corpora.corpus import Corpus
from tokassay.corpora.document import CorpusError
from tokassay.corpora.fuzz import STANDARD, open_fuzz
from tokassay.corpora.joined import JOINED, open_specials
from tokassay.corpora.lengths import MOST, SMALL, open_lengths
from tokassay.corpora.prepared import open_real, real_names
from tokassay.corpora.readers.paths import open_path, split_spec
from tokassay.corpora.repeats import open_repeats
from tokassay.corpora.sample import open_sample
from tokassay.corpora.tuples import open_classes

TokenBytes = Mapping[bytes, int]
CONCATENATIONS = 10_000
# Sources whose documents are made from the vocabulary: those of one are not those of another.
FROM_VOCABULARY = ("concat", "specials", "borders", "added")


@dataclass(frozen=True)
class Asked:
    """What a source may need: the argument after `:` ("" if none), the seed, the vocabulary's tokens and
    special texts.
    """

    spec: str
    argument: str
    seed: int
    tokens: TokenBytes | None
    specials: tuple[str, ...]

    def number(self, default: int | None, *, least: int = 1) -> int:
        """The argument as an integer. Raises CorpusError if it is none, too small, or missing without a
        default.
        """
        if not self.argument and default is not None:
            return default
        if not self.argument.isascii() or not self.argument.isdigit() or int(self.argument) < least:
            kind = self.spec.partition(":")[0]
            raise CorpusError(
                f"{self.argument!r} is no count", where=self.spec, remedy=f"write {kind}:N with N >= {least}"
            )
        return int(self.argument)

    def nothing(self) -> None:
        """Raises CorpusError if there is an argument."""
        if self.argument:
            kind = self.spec.partition(":")[0]
            raise CorpusError(f"{kind} takes no argument", where=self.spec, remedy=f"write {kind}")


def _battery(asked: Asked) -> Corpus:
    asked.nothing()
    return open_battery()


def _fuzz(asked: Asked) -> Corpus:
    return open_fuzz(asked.number(STANDARD), asked.seed)


def _lengths(asked: Asked) -> Corpus:
    return open_lengths(asked.spec, SMALL if asked.argument == "small" else asked.number(MOST))


def _classes(asked: Asked) -> Corpus:
    k, over, most = asked.argument.partition("/")
    count = replace(asked, argument=most).number(None) if over else None
    k = str(replace(asked, argument=k).number(3))
    return open_classes(f"classes:{k}{over}{most}", int(k), count)


def _concat(asked: Asked) -> Corpus:
    return open_concat(asked.number(CONCATENATIONS), asked.seed, asked.tokens)


def _specials(asked: Asked) -> Corpus:
    return open_specials(asked.number(JOINED, least=0), asked.seed, asked.specials)


def _around(asked: Asked) -> Corpus:
    asked.nothing()
    return open_around(asked.spec)


def _versions(asked: Asked) -> Corpus:
    return versions.open_versions(asked.spec, asked.number(versions.DRAWN, least=0), asked.seed)


def _borders(asked: Asked) -> Corpus:
    return borders.open_borders(asked.spec, asked.number(borders.DOCUMENTS), asked.seed, asked.tokens)


def _added(asked: Asked) -> Corpus:
    return added.open_added(asked.spec, asked.number(added.DRAWN, least=0), asked.seed, asked.specials)


def _runs(asked: Asked) -> Corpus:
    return runs.open_runs(asked.spec, runs.SMALL if asked.argument == "small" else asked.number(runs.MOST))


def _collisions(asked: Asked) -> Corpus:
    return collisions.open_collisions(asked.spec, asked.number(collisions.DOCUMENTS), asked.seed)


def _sample(asked: Asked) -> Corpus:
    asked.nothing()
    return open_sample()


def _codepoints(asked: Asked) -> Corpus:
    asked.nothing()
    return open_codepoints(asked.spec)


def _repeats(asked: Asked) -> Corpus:
    asked.nothing()
    return open_repeats(asked.spec)


def _verses(asked: Asked) -> Corpus:
    return verses.open_verses(asked.spec, asked.argument)


def _field(asked: Asked) -> Corpus:
    return field.open_field(asked.spec, asked.argument, asked.seed)


# Every built-in source: its opener, and the line that `corpora list` shows.
SOURCES: dict[str, tuple[Callable[[Asked], Corpus], str]] = {
    "battery": (_battery, "named structural documents, each with its reason"),
    "sample": (_sample, "a small real text in many scripts, embedded"),
    "fuzz": (_fuzz, "seeded fuzz; fuzz:N documents (4,821 unless told; 8,921 is the expanded preset)"),
    "lengths": (_lengths, "pieces and documents of every length to a million; lengths:small, lengths:N"),
    "classes": (_classes, "all K-tuples of 73 classes; classes:K (3 unless told), classes:K/M over the first M"),
    "concat": (_concat, "joined vocabulary tokens; concat:N documents (10,000 unless told)"),
    "specials": (
        _specials,
        "special tokens in hard places and in joined real text; specials:N (1,000 unless told)",
    ),
    "around": (_around, "digits, contractions and marks around each of the 73 classes"),
    "versions": (
        _versions,
        "code points that Unicode versions class differently, in company; versions:N more that are drawn",
    ),
    "borders": (_borders, "real text changed at the borders of its tokens; borders:N documents (4,000 unless told)"),
    "added": (_added, "what stands beside, between and inside of added tokens; added:N more that are drawn"),
    "runs": (_runs, "very long runs of each class, to a megabyte; runs:small, runs:N"),
    "codepoints": (_codepoints, "every assigned code point behind a space, a letter and a digit"),
    "repeats": (_repeats, "one character said 2 to 9 times, where ties are decided"),
    "collisions": (_collisions, "words that poor keys take for one another; collisions:N (4,000 unless told)"),
    "verses": (_verses, "43 translations, each text of one once; verses:NAME; fetched first"),
    "field": (_field, "samples of the catalogue: field:KIND, field:KIND:tenth, field:KIND:rest; fetched first"),
}


def parts_of_source(spec: str) -> tuple[str, ...]:
    """The catalogue entries that a built-in source reads, all to be fetched; none for one that is made."""
    name, _, argument = spec.partition(":")
    kind = argument.partition(":")[0]
    if name == "field":
        return field.slugs(kind if kind in field.FIELD else "")
    return verses.slugs() if name == "verses" else ()


def open_corpus(
    spec: str, *, seed: int = 0, tokens: TokenBytes | None = None, specials: Iterable[str] = ()
) -> Corpus:
    """The corpus that a spec names.

    `seed` counts for what is drawn; `tokens` (token bytes -> id) is needed by `concat` and `borders` only; `specials`
    are the special and added tokens' texts for `specials` and `added`. A spec with a `/` or that names an existing
    file is a path; write `./name` for a file that is called like a built-in source. Raises CorpusError for an
    unknown spec, naming the nearest ones.
    """
    kind, _, argument = spec.partition(":")
    if kind in SOURCES:
        return SOURCES[kind][0](Asked(spec, argument, seed, tokens, tuple(specials)))
    if spec in real_names():
        return open_real(spec, spec)
    check_spec(spec)
    return open_path(spec)


def check_spec(spec: str) -> None:
    """Raise the CorpusError of `open_corpus` for a spec that is no source, no catalogue name and no path."""
    kind = spec.partition(":")[0]
    path, _, _ = split_spec(spec)
    if kind not in SOURCES and spec not in real_names() and not ("/" in spec or os.sep in spec or path.exists()):
        raise CorpusError(f"unknown corpus {spec!r}", where=spec, remedy=_nearest(kind))


def _nearest(kind: str) -> str:
    near = difflib.get_close_matches(kind, [*SOURCES, *real_names()], n=3, cutoff=0.6)
    suffix = Path(kind).suffix
    hint = f"did you mean {' or '.join(near)}?" if near else "see: tokassay corpora list"
    return f"{hint} (no file {kind} here either)" if suffix else hint
