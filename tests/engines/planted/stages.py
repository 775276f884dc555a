"""Engines around the oracle with one fault in one stage. None speaks of its decisions.

`options.fault` names a method or a scanner below, `options.contract` has fields of the contract that the engine gets
wrong. The roster beside this file has a table a fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tokassay.oracles import adapter, oracle
from tokassay.oracles.bytepolicy import ALPHABET, Scanned, scan
from tokassay.oracles.utf8 import proposed_width, sequence_width

Unsupported: type[Exception] = NotImplementedError  # a host puts its own here
Unit = tuple[int, str]  # width in bytes, and the character that it is taken for
LETTER, OTHER = "a", "\ufffd"


class Adapter(adapter.Adapter):
    """The oracle, but for what the options say."""

    name = "stages"
    operations = ("encode", "decode")

    def trace(self, document: bytes) -> Any:
        """It says no word of its decisions."""
        raise Unsupported("silent")

    def load(self, contract: Any, files: Any, threads: int, options: Any) -> None:
        super().load({**contract, **options.get("contract", {})}, files, threads, {})
        fault = options.get("fault", "none")
        if fault in SCANNERS:
            oracle.scan = faulty(SCANNERS[fault])
            fault = "none"
        self.fault: Callable[[bytes], list[int]] = getattr(self, fault)

    def encode(self, item: bytes) -> list[int]:
        return self.fault(item)

    def none(self, item: bytes) -> list[int]:
        return super().encode(item)

    def never_joins_he(self, item: bytes) -> list[int]:
        """A merge that is left out: "he" stays two tokens wherever it would be one. 71 and 68 are h and e in GPT-2."""
        return [one for number in self.none(item) for one in ((71, 68) if number == 258 else (number,))]

    def swaps_ids(self, item: bytes) -> list[int]:
        """The ids of "x" and "y" are exchanged: 87 and 88 in GPT-2."""
        return [{87: 88, 88: 87}.get(number, number) for number in self.none(item)]

    def unknown_id(self, item: bytes) -> list[int]:
        """"z", 89 in GPT-2, gets an id that no token has."""
        return [60_000 if number == 89 else number for number in self.none(item)]


# -- scanners: what stands at an offset, wrongly ------------------------------------------------------------------


def right(data: bytes, at: int) -> Unit:
    width = sequence_width(data, at)
    return (width, data[at : at + width].decode()) if width else (1, ALPHABET[data[at]])


def lead_alone(data: bytes, at: int) -> Unit:
    """The width is read off the lead byte; what follows is not looked at."""
    width = min(proposed_width(data[at]), len(data) - at)
    return (width, OTHER) if width > 1 and not sequence_width(data, at) else right(data, at)


def lead_alone_whole(data: bytes, at: int) -> Unit:
    """The same, where there are enough bytes; a letter."""
    width = proposed_width(data[at])
    return (width, LETTER) if 1 < width <= len(data) - at and not sequence_width(data, at) else right(data, at)


def continuation_leads(data: bytes, at: int) -> Unit:
    """A byte of 80..BF leads two bytes."""
    return (2, OTHER) if 0x80 <= data[at] < 0xC0 and at + 1 < len(data) else right(data, at)


def continuation_runs(data: bytes, at: int) -> Unit:
    """Bytes of 80..BF that stand together are one character."""
    end = at
    while end < len(data) and 0x80 <= data[end] < 0xC0:
        end += 1
    return (end - at, LETTER) if end - at > 1 else right(data, at)


def overlong(data: bytes, at: int) -> Unit:
    """C0 and C1 lead two bytes: white space, say, in two."""
    taken = data[at : at + 2]
    return (2, chr((taken[0] & 31) << 6 | taken[1] & 63)) if _fits(taken, (0xC0, 0xC1), 2) else right(data, at)


def overlong_three(data: bytes, at: int) -> Unit:
    """E0 leads three bytes, whatever the second is."""
    taken = data[at : at + 3]
    point = (taken[1] & 63) << 6 | taken[2] & 63 if len(taken) == 3 else 0
    return (3, chr(point)) if _fits(taken, (0xE0,), 3) else right(data, at)


def surrogates(data: bytes, at: int) -> Unit:
    """ED A0..BF: a surrogate is a character."""
    taken = data[at : at + 3]
    return (3, OTHER) if _fits(taken, (0xED,), 3) and taken[1] >= 0xA0 else right(data, at)


def above(data: bytes, at: int) -> Unit:
    """F5..F7 lead four bytes, above U+10FFFF."""
    return (4, LETTER) if _fits(data[at : at + 4], range(0xF5, 0xF8), 4) else right(data, at)


def all_letters(data: bytes, at: int) -> Unit:
    """Every ill-formed byte is a letter."""
    return right(data, at) if sequence_width(data, at) else (1, LETTER)


def swallows_end(data: bytes, at: int) -> Unit:
    """A sequence that the end cuts is one character."""
    rest = data[at:]
    cut = len(rest) < proposed_width(rest[0]) and all(0x80 <= byte < 0xC0 for byte in rest[1:])
    return (len(rest), LETTER) if cut else right(data, at)


def _fits(taken: bytes, leads: Any, width: int) -> bool:
    return len(taken) == width and taken[0] in leads and all(0x80 <= byte < 0xC0 for byte in taken[1:])


SCANNERS: dict[str, Callable[[bytes, int], Unit]] = {
    each.__name__: each
    for each in (
        lead_alone, lead_alone_whole, continuation_leads, continuation_runs, overlong, overlong_three, surrogates,
        above, all_letters, swallows_end,
    )
}  # fmt: skip


def faulty(unit: Callable[[bytes, int], Unit]) -> Callable[..., Scanned]:
    """A scanner in the place of the oracle's, under byte-alphabet."""

    def wrong(data: bytes, policy: str, *, base: int = 0) -> Scanned:
        if policy != "byte-alphabet":
            return scan(data, policy, base=base)
        text, starts, at = [], [], 0
        while at < len(data):
            width, character = unit(data, at)
            text.append(character)
            starts.append(at)
            at += width
        return Scanned("".join(text), data, [*starts, len(data)], base=base)

    return wrong
