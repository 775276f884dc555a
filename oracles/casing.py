"""Lower case of a stated Unicode version, from fixtures/unicode/casing.txt; what Python ships is never asked.

The full mapping is that of the Unicode Standard 3.13: a character may become several, and a capital sigma that ends a
word becomes U+03C2 (Table 3-17, Final_Sigma: a cased letter before it and none behind it, passing over what is
case-ignorable). Mapping each character by itself knows no end of a word: a capital sigma is then always U+03C3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tokassay.oracles.errors import OracleError

SIGMA, SMALL_SIGMA, FINAL_SIGMA = "\u03a3", "\u03c3", "\u03c2"


@dataclass(frozen=True)
class Casing:
    """What one version says of case; a character that `lower` does not list is its own lower case."""

    version: str
    lower: dict[str, str]
    cased: frozenset[str]
    ignorable: frozenset[str]

    def each(self, text: str) -> list[str]:
        """The lower case of each character by itself."""
        return [self.lower.get(character, character) for character in text]

    def whole(self, text: str) -> list[str]:
        """The lower case of each character of a text, by its neighbours where that matters."""
        made = self.each(text)
        at = text.find(SIGMA)
        while at >= 0:
            if self._ends_word(text, at):
                made[at] = FINAL_SIGMA
            at = text.find(SIGMA, at + 1)
        return made

    def _ends_word(self, text: str, at: int) -> bool:
        def cased(places: range) -> bool:
            for place in places:
                if text[place] not in self.ignorable:
                    return text[place] in self.cased
            return False

        return cased(range(at - 1, -1, -1)) and not cased(range(at + 1, len(text)))


def parse(text: str, version: str, where: str) -> Casing:
    """Read the table as a version has it; OracleError for a line that is none."""
    lower: dict[str, str] = {}
    points: dict[str, set[str]] = {"Cased": set(), "Case_Ignorable": set()}
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            continue
        try:
            kind, since, place, *rest = line.split(";")
            if _ordered(since) > _ordered(version):
                continue
            first, _, last = place.partition("..")
            characters = [chr(code) for code in range(int(first, 16), int(last or first, 16) + 1)]
            if kind == "Lower":
                lower[characters[0]] = "".join(chr(int(part, 16)) for part in rest[0].split())
            elif kind.startswith("-"):
                points[kind[1:]].difference_update(characters)
            else:
                points[kind].update(characters)
        except (ValueError, IndexError, KeyError):
            raise OracleError(
                f"line {number} is no property",
                where=f"{where}:{number}",
                remedy="derive the table again: python fixtures/derive_casing.py",
            ) from None
    return Casing(version, lower, frozenset(points["Cased"]), frozenset(points["Case_Ignorable"]))


def _ordered(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


@cache
def casing(version: str) -> Casing:
    """The table of a Unicode version up to 17.0 (read once a process). A version before 15.0 is what 15.0 says of the
    characters that it has."""
    path = files("tokassay.fixtures") / "unicode" / "casing.txt"
    return parse(path.read_text(encoding="ascii"), version, str(path))
