"""BERT's normalizer, step by step, on characters that know where in the document they come from.

clean           NUL, U+FFFD and the categories Cc and Cf go, but for tab, line feed and carriage return; these and Zs
                become a space
clean-private   the same as tokenizers does it: Co goes too, and all of White_Space becomes a space
clean-other     the same as transformers does it in Python: all of C goes, and Zs becomes a space
cjk-spaces      a space before and behind each character of the CJK blocks that are named below
lowercase       the full lower case of the text, with the final sigma
lowercase-each  the lower case of each character by itself
strip-accents   the canonical decomposition (NFD) without its nonspacing marks (Mn)

The published rule (google-research/bert, tokenization.py, BasicTokenizer) is clean, cjk-spaces, lowercase,
strip-accents, in that order; without lower-casing it is clean, cjk-spaces. That it lower-cases word by word is the
same: no context of the final sigma holds a space. Its tables are the interpreter's; here a contract names the versions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tokassay.oracles.bytepolicy import Scanned
from tokassay.oracles.casing import Casing, casing
from tokassay.oracles.classes import Classes, classes
from tokassay.oracles.errors import Unsupported
from tokassay.oracles.normalize import Normalization, normalization

BLANKS = "\t\n\r"
# "Chinese characters" of the published rule; it calls no other blocks so.
CJK = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip

# A character, and the place of the one that it was made of.
Unit = tuple[str, int]


@dataclass(frozen=True)
class Tables:
    """What the steps ask: categories and canonical forms of the normalizer's Unicode version, and case of its own."""

    classes: Classes
    forms: Normalization
    casing: Casing


def tables(version: str, cases: str) -> Tables:
    """The tables of the normalizer's Unicode version and of that of its lower case."""
    return Tables(classes(version), normalization(version), casing(cases))


def _clean(units: list[Unit], known: Tables) -> list[Unit]:
    return _cleaned(units, known, ("Cc", "Cf"), lambda point: known.classes.category(point) == "Zs")


def _clean_private(units: list[Unit], known: Tables) -> list[Unit]:
    return _cleaned(units, known, ("Cc", "Cf", "Co"), known.classes.white_space.__contains__)


def _clean_other(units: list[Unit], known: Tables) -> list[Unit]:
    removed = ("Cc", "Cf", "Co", "Cn", "Cs")
    return _cleaned(units, known, removed, lambda point: known.classes.category(point) == "Zs")


def _cleaned(
    units: list[Unit], known: Tables, removed: tuple[str, ...], blank: Callable[[int], bool]
) -> list[Unit]:
    made: list[Unit] = []
    for character, place in units:
        if character in BLANKS or (blank(ord(character)) and known.classes.category(ord(character)) not in removed):
            made.append((" ", place))
        elif character not in "\0\ufffd" and known.classes.category(ord(character)) not in removed:
            made.append((character, place))
    return made


def _cjk_spaces(units: list[Unit], known: Tables) -> list[Unit]:
    made: list[Unit] = []
    for unit in units:
        apart = any(first <= ord(unit[0]) <= last for first, last in CJK)
        made += [(" ", unit[1]), unit, (" ", unit[1])] if apart else [unit]
    return made


def _lowered(units: list[Unit], each: Sequence[str]) -> list[Unit]:
    return [(part, place) for (_, place), low in zip(units, each, strict=True) for part in low]


def _lowercase(units: list[Unit], known: Tables) -> list[Unit]:
    return _lowered(units, known.casing.whole("".join(character for character, _ in units)))


def _lowercase_each(units: list[Unit], known: Tables) -> list[Unit]:
    return _lowered(units, known.casing.each("".join(character for character, _ in units)))


def _strip_accents(units: list[Unit], known: Tables) -> list[Unit]:
    made: list[Unit] = []
    marks: list[Unit] = []

    def mark_class(unit: Unit) -> int:
        return known.forms.combining.get(unit[0], 0)

    for character, place in units:
        for part in known.forms.decomposed(character):
            if mark_class((part, place)):
                marks.append((part, place))
                continue
            made += sorted(marks, key=mark_class)  # D109: a stable sort
            made.append((part, place))
            marks = []
    made += sorted(marks, key=mark_class)
    return [unit for unit in made if known.classes.category(ord(unit[0])) != "Mn"]


STEPS: dict[str, Callable[[list[Unit], Tables], list[Unit]]] = {
    "clean": _clean,
    "clean-private": _clean_private,
    "clean-other": _clean_other,
    "cjk-spaces": _cjk_spaces,
    "lowercase": _lowercase,
    "lowercase-each": _lowercase_each,
    "strip-accents": _strip_accents,
}
LOWER = frozenset(("lowercase", "lowercase-each"))


def steps(normalizer: str) -> tuple[str, ...]:
    """The steps of a normalizer in order; Unsupported for one that is none of BERT's."""
    named = () if normalizer == "none" else tuple(normalizer.split("+"))
    for step in named:
        if step not in STEPS:
            raise Unsupported(f"normalizer {step!r} is not modelled", where="contract: normalizer")
    return named


def normalize(text: str, named: Sequence[str], known: Tables) -> str:
    """The text after the steps."""
    return "".join(character for character, _ in _made(text, named, known))


def _made(text: str, named: Sequence[str], known: Tables) -> list[Unit]:
    units = [(character, place) for place, character in enumerate(text)]
    for step in named:
        units = STEPS[step](units, known)
    return units


def normalized(scanned: Scanned, named: Sequence[str], known: Tables) -> tuple[Scanned, list[tuple[int, int]]]:
    """(a stretch after the steps, the spans of the document whose character they changed).

    Behind each byte of a character stands all of the document's character that it was made of.
    """
    text = scanned.text
    if text.isascii() and text.isprintable() and scanned.origin is None:
        # ASCII without controls keeps its places: what can happen to it is lower case.
        lower = text.lower() if LOWER.intersection(named) else text
        if lower == text:
            return scanned, []
        spans = [
            (scanned.base + at, scanned.base + at + 1)
            for at, (old, new) in enumerate(zip(text, lower, strict=True)) if old != new
        ]
        return Scanned(lower, lower.encode("ascii"), None, None, scanned.base), spans
    starts = scanned.character_starts()
    units = _made(text, named, known)
    behind = [scanned.document_span(starts[at], starts[at + 1]) for at in range(len(text))]
    became: list[list[str]] = [[] for _ in text]
    origin: list[tuple[int, int]] = []
    parts: list[bytes] = []
    for character, place in units:
        became[place].append(character)
        raw = character.encode("utf-8")
        parts.append(raw)
        origin.extend([behind[place]] * len(raw))
    changed = [behind[place] for place, made in enumerate(became) if made != [text[place]]]
    result = "".join(character for character, _ in units)
    return Scanned(result, b"".join(parts), None, origin, scanned.base), changed
