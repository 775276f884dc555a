"""Normalizers: `none`, or steps joined by "+", each done to what the one before left.

nfc, nfkc          Unicode Normalization Forms C and KC (UAX #15) of a stated Unicode version
lowercase-each     the lower case of each character by itself
metaspace          each U+0020 becomes U+2581
prepend-metaspace  U+2581 is put before a text that is not empty, whatever it begins with

NFC is three steps, as the Unicode Standard writes them in 3.11 and 3.12: decompose each character (D68), put each run
of non-starters in the order of their combining classes (D109), compose (D117). NFKC is the
same with compatibility mappings in the first step (D65). The data is fixtures/unicode, the version the contract's: what
Python ships is never asked.

So that a span of the result can be traced to the document, text is normalized chunk by chunk. A chunk begins at each
*boundary*: a character whose full decomposition begins with a starter that is not the second part of any primary
composite. Nothing is ever moved or joined over a boundary. A byte that is no character (an ill-formed one under
`byte-alphabet`) is a boundary too: a starter that nothing composes with, and it stays as it is.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

from tokassay.oracles.bytepolicy import Scanned, prefixed
from tokassay.oracles.casing import Casing, casing
from tokassay.oracles.errors import OracleError, Unsupported

FORMS = {"nfc": False, "nfkc": True}  # whether compatibility mappings count
STEPS = (*FORMS, "lowercase-each", "metaspace", "prepend-metaspace")
METASPACE = "\u2581"

# A character, or a byte that is none and that nothing happens to.
Unit = tuple[str, bool]


@dataclass(frozen=True)
class Normalization:
    """What one version says of characters; what is not listed is a starter without a decomposition.

    `mapping` holds compatibility mappings too where it is of NFKC; `composite` never does.
    """

    version: str
    combining: dict[str, int]
    mapping: dict[str, str]
    composite: dict[tuple[str, str], str]
    words: frozenset[str]

    def decomposed(self, character: str) -> str:
        """The full decomposition."""
        hangul = ord(character) - 0xAC00
        if 0 <= hangul < 19 * 21 * 28:
            leading, rest = divmod(hangul, 21 * 28)
            vowel, trailing = divmod(rest, 28)
            tail = chr(0x11A7 + trailing) if trailing else ""
            return chr(0x1100 + leading) + chr(0x1161 + vowel) + tail
        if character not in self.mapping:
            return character
        return "".join(self.decomposed(part) for part in self.mapping[character])

    def composed(self, first: str, second: str) -> str | None:
        """The primary composite of two characters, or None."""
        leading, vowel = ord(first) - 0x1100, ord(second) - 0x1161
        if 0 <= leading < 19 and 0 <= vowel < 21:
            return chr(0xAC00 + (leading * 21 + vowel) * 28)
        syllable, trailing = ord(first) - 0xAC00, ord(second) - 0x11A7
        if 0 <= syllable < 19 * 21 * 28 and syllable % 28 == 0 and 0 < trailing < 28:
            return chr(ord(first) + trailing)
        return self.composite.get((first, second))

    def is_boundary(self, character: str) -> bool:
        """Whether text may be cut before the character without changing its normal form."""
        return character not in self.joining

    @cached_property
    def joining(self) -> frozenset[str]:
        """The characters that are no boundaries."""
        seconds = {chr(code) for code in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))}
        seconds |= {second for _, second in self.composite}
        asked = seconds | set(self.combining) | set(self.mapping)
        return frozenset(
            each
            for each in asked
            if (first := self.decomposed(each)[0]) in seconds or self.combining.get(first) or self.combining.get(each)
        )

    @cached_property
    def restless(self) -> re.Pattern[str]:
        """A character without which a chunk is its own normal form: no boundary, or changed even alone."""
        alone = {each for each in self.mapping if self.form([(each, False)]) != [(each, False)]}
        return re.compile("[" + "".join(map(re.escape, sorted(self.joining | alone))) + "]")

    def form(self, units: Sequence[Unit]) -> list[Unit]:
        """The normal form of characters and of bytes that are none."""
        parts: list[Unit] = []
        for character, is_byte in units:
            parts += [(character, True)] if is_byte else [(part, False) for part in self.decomposed(character)]
        return self._compose(self._order(parts))

    def _class(self, unit: Unit) -> int:
        return 0 if unit[1] else self.combining.get(unit[0], 0)

    def _order(self, units: list[Unit]) -> list[Unit]:
        ordered: list[Unit] = []
        marks: list[Unit] = []
        for unit in units:
            if self._class(unit):
                marks.append(unit)
            else:
                ordered += sorted(marks, key=self._class)  # a stable sort: equal classes keep their order
                ordered.append(unit)
                marks = []
        return ordered + sorted(marks, key=self._class)

    def _compose(self, units: list[Unit]) -> list[Unit]:
        """D117: each character joins the last starter unless something between them blocks it (D115)."""
        done: list[Unit] = []
        starter = None
        for unit in units:
            if starter is not None and not unit[1] and not done[starter][1]:
                # Of what stands between, the last has the greatest class: it is in order, and holds no starter.
                between = done[-1] if len(done) - 1 > starter else None
                blocked = between is not None and self._class(between) >= self._class(unit)
                joined = None if blocked else self.composed(done[starter][0], unit[0])
                if joined is not None:
                    done[starter] = (joined, False)
                    continue
            if self._class(unit) == 0:
                starter = len(done)
            done.append(unit)
        return done

    def edits(self, units: Sequence[Unit]) -> list[tuple[int, int, list[Unit]]]:
        """(start, end, normal form) of the chunks that change, in units."""
        text = "".join(character for character, _ in units)
        changed: list[tuple[int, int, list[Unit]]] = []
        end = 0
        for found in self.restless.finditer(text):
            start = found.start()
            if start < end or units[start][1]:
                continue
            while start > end and units[start][0] in self.joining and not units[start][1]:
                start -= 1
            end = found.end()
            while end < len(units) and units[end][0] in self.joining and not units[end][1]:
                end += 1
            made = self.form(units[start:end])
            if made != list(units[start:end]):
                changed.append((start, end, made))
        return changed


def parse(text: str, version: str, where: str) -> Normalization:
    """Read the table as a version has it; OracleError for a line that is none."""
    combining: dict[str, int] = {}
    mapping: dict[str, str] = {}
    excluded: set[str] = set()
    words: set[str] = set()
    compatibility: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            continue
        try:
            kind, since, points, *rest = line.split(";")
            if _ordered(since) > _ordered(version):
                continue
            first, _, last = points.partition("..")
            characters = [chr(code) for code in range(int(first, 16), int(last or first, 16) + 1)]
            if kind == "Ccc":
                combining.update(dict.fromkeys(characters, int(rest[0])))
            elif kind in ("Decomposition", "Compatibility"):
                table = mapping if kind == "Decomposition" else compatibility
                table[characters[0]] = "".join(chr(int(part, 16)) for part in rest[0].split())
            elif kind == "Exclusion":
                excluded.update(characters)
            elif kind == "Word":
                words.update(characters)
            else:
                raise ValueError(kind)
        except (ValueError, IndexError):
            raise OracleError(
                f"line {number} is no property",
                where=f"{where}:{number}",
                remedy="derive the table again: python fixtures/derive_normalization.py",
            ) from None
    # D114: no exclusion, no singleton, no decomposition that begins with or stands for a non-starter.
    composite = {
        (parts[0], parts[1]): character
        for character, parts in mapping.items()
        if len(parts) == 2 and character not in excluded
        and not combining.get(character) and not combining.get(parts[0])
    }
    return Normalization(version, combining, mapping | compatibility, composite, frozenset(words))


def _ordered(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


@cache
def normalization(version: str, *, compatible: bool = False) -> Normalization:
    """The table of a Unicode version up to 17.0 (read once a process): an earlier one is what a later one says of the
    characters that it has. `compatible`: that of NFKC."""
    folder = files("tokassay.fixtures") / "unicode"
    names = ["normalization.txt", "compatibility.txt"][: 1 + compatible]
    texts = [(folder / name).read_text(encoding="ascii") for name in names]
    return parse("".join(texts), version, str(folder / names[0]))


def steps(normalizer: str) -> tuple[str, ...]:
    """The steps of a normalizer, in order; Unsupported for an unknown one."""
    named = () if normalizer == "none" else tuple(normalizer.split("+"))
    for step in named:
        if step not in STEPS:
            raise Unsupported(f"normalizer {step!r} is not modelled", where="contract: normalizer")
    return named


def normalize(text: str, normalizer: str, version: str, cases: str = "") -> str:
    """The normalized text; Unsupported for an unknown normalizer."""
    return normalized(Scanned(text, text.encode("utf-8")), normalizer, version, cases)[0].text


def normalized(
    scanned: Scanned, normalizer: str, version: str, cases: str = ""
) -> tuple[Scanned, list[tuple[int, int]]]:
    """(a stretch after the normalizer, the spans of the document that it changed, in order of its steps).

    `version` is the Unicode version of normal forms, `cases` that of lower case, if it is another one.
    Behind each byte of a changed chunk stands the whole chunk of the document; behind a prepended character, nothing.
    """
    changed: list[tuple[int, int]] = []
    for step in steps(normalizer):
        if step in FORMS:
            scanned, spans = _formed(scanned, normalization(version, compatible=FORMS[step]))
        elif step == "lowercase-each":
            scanned, spans = _lowered(scanned, casing(cases or version))
        elif step == "metaspace":
            scanned, spans = _metaspaced(scanned)
        else:
            spans = []
            scanned = prefixed(scanned, METASPACE) if scanned.data else scanned
        changed += spans
    return scanned, changed


def composes(normalizer: str) -> bool:
    """Whether one of the steps can put a character in the place of others, so that spans are of chunks."""
    return any(step in FORMS or step == "lowercase-each" for step in steps(normalizer))


def _lowered(scanned: Scanned, table: Casing) -> tuple[Scanned, list[tuple[int, int]]]:
    starts = scanned.character_starts()
    edits = [
        (at, at + 1, [(part, False) for part in table.lower[each]])
        for at, each in enumerate(scanned.text)
        if each in table.lower and not _is_byte(starts, at, each)
    ]
    return _edited(scanned, starts, edits) if edits else (scanned, [])


def _is_byte(starts: Sequence[int], at: int, character: str) -> bool:
    """Whether what stands there is a byte that is no character, under `byte-alphabet`."""
    return starts[at + 1] - starts[at] == 1 and not character.isascii()


def _metaspaced(scanned: Scanned) -> tuple[Scanned, list[tuple[int, int]]]:
    starts = scanned.character_starts()
    edits = [(at, at + 1, [(METASPACE, False)]) for at, each in enumerate(scanned.text) if each == " "]
    return _edited(scanned, starts, edits) if edits else (scanned, [])


def _formed(scanned: Scanned, table: Normalization) -> tuple[Scanned, list[tuple[int, int]]]:
    if scanned.text.isascii():
        return scanned, []
    starts = scanned.character_starts()
    units = [(character, _is_byte(starts, at, character)) for at, character in enumerate(scanned.text)]
    edits = table.edits(units)
    return _edited(scanned, starts, edits) if edits else (scanned, [])


def _edited(
    scanned: Scanned, starts: Sequence[int], edits: Sequence[tuple[int, int, list[Unit]]]
) -> tuple[Scanned, list[tuple[int, int]]]:
    """(a stretch with units in the place of characters first..last, the spans of the document behind those)."""
    text: list[str] = []
    data: list[bytes] = []
    new_starts = array("Q")
    origin: list[tuple[int, int]] = []
    spans: list[tuple[int, int]] = []
    size = at = 0

    def take(character: str, raw: bytes, behind: Sequence[tuple[int, int]]) -> None:
        nonlocal size
        text.append(character)
        data.append(raw)
        new_starts.append(size)
        origin.extend(behind)
        size += len(raw)

    def keep(first: int, last: int) -> None:
        for number in range(first, last):
            low, high = starts[number], starts[number + 1]
            behind = [scanned.document_span(each, each + 1) for each in range(low, high)]
            take(scanned.text[number], scanned.data[low:high], behind)

    for start, end, made in edits:
        keep(at, start)
        span = scanned.document_span(starts[start], starts[end])
        spans.append(span)
        # Only a byte that is no character stays as it is; it is the first of its chunk, for it is a boundary.
        own = scanned.data[starts[start] : starts[start + 1]]
        for character, is_byte in made:
            raw = own if is_byte else character.encode("utf-8")
            take(character, raw, [span] * len(raw))
        at = end
    keep(at, len(starts) - 1)
    new_starts.append(size)
    plain = scanned.starts is None
    return Scanned("".join(text), b"".join(data), None if plain else new_starts, origin, scanned.base), spans
