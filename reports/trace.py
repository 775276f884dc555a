"""One or two traces of a document as one HTML file: the bytes with what each side made of them, and every decision.

The page is made from the object of `tokassay trace --json` (docs/FORMATS.md) and from nothing else. It has inline
style, no script, and fetches nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from tokassay.reports.page import environment, markup
from tokassay.reports.visible import units

LINE = 16  # bytes of a line
WHOLE = 512  # the longest document that is shown whole
WINDOW = 256  # bytes that are shown of a longer one
ROWS = 600  # decisions that are shown
TRACKS = (("scan", ("scan",)), ("pieces", ("special", "pretokenize")), ("tokens", ("special", "lookup")))
KINDS = {
    "L": "letter", "N": "number", "S": "white space", "M": "mark", "P": "punctuation", "Y": "symbol", "Z": "separator",
    "C": "control or unassigned", "O": "other",
}  # fmt: skip


@dataclass
class Cell:
    """Some bytes of a line. `kind` is its style; `open` says on which sides (`l`, `r`) it goes on in other lines."""

    width: int
    text: str = ""
    kind: str = ""
    title: str = ""
    open: str = ""
    hot: bool = False
    inferred: bool = False


@dataclass
class Track:
    """What one side made of a line's bytes at one stage; `side` is its number."""

    side: int
    name: str
    cells: list[Cell]


@dataclass
class Line:
    """A line of bytes: (hex, text, whether it is where the sides part first) of each, and the tracks of both sides."""

    at: int
    bytes: list[tuple[str, Markup, bool]]
    tracks: list[Track]


@dataclass
class Span:
    """What a decision, or some that overlap, are about."""

    start: int
    end: int
    text: str
    kind: str
    title: str
    hot: bool
    inferred: bool


def render_trace(value: Mapping[str, Any]) -> str:
    """The page, as text, from the object of `tokassay trace --json`. Documents appear as hex and visible text only."""
    return environment().get_template("trace.html.j2").render(**picture(value))


def picture(value: Mapping[str, Any], most: int = ROWS) -> dict[str, Any]:
    """What templates/trace_body.html.j2 shows of such an object: lines of bytes, and at most `most` decisions, around
    the first difference."""
    document = bytes.fromhex(value["document"])
    low, high = window(len(document), _at(value))
    first = value["first"]
    whole = len(document) <= WHOLE
    chosen = [n for n, row in enumerate(value["rows"]) if whole or low <= row["at"] < high or n == first]
    if len(chosen) > most:
        start = max(0, min(chosen.index(first) - most // 4 if first is not None else 0, len(chosen) - most))
        chosen = chosen[start : start + most]
    return {
        "t": value,
        "size": len(document),
        "low": low,
        "high": high,
        "lines": lines(value, document, low, high),
        "rows": [(n, value["rows"][n]) for n in chosen],
        "left_out": len(value["rows"]) - len(chosen),
        "kinds": _used(value["rows"]),
    }


def window(size: int, at: int) -> tuple[int, int]:
    """The bytes [low, high) that are shown of a document: all, or WINDOW around `at`, in whole lines."""
    if size <= WHOLE:
        return 0, size
    low = max(0, min(at - WINDOW // 2, size - WINDOW)) // LINE * LINE
    return low, min(size, low + WINDOW)


def _at(value: Mapping[str, Any]) -> int:
    return 0 if value["first"] is None else int(value["rows"][value["first"]]["at"])


def lines(value: Mapping[str, Any], document: bytes, low: int, high: int) -> list[Line]:
    """The lines of [low, high), with a track for each side and stage that has something to show."""
    first = None if value["first"] is None else value["rows"][value["first"]]
    hot = [each["span"] for each in (first["decisions"] if first else ()) if each is not None]
    texts = dict(units(document))
    spans = {
        (side, name): _spans(value, side, stages)
        for side in range(len(value["sides"]))
        for name, stages in TRACKS
    }
    found = []
    for at in range(low, high, LINE):
        end = min(high, at + LINE)
        cells = [
            (
                f"{document[n]:02X}",
                markup([texts[n]]) if n in texts else Markup(""),
                any(start <= n < stop for start, stop in hot),
            )
            for n in range(at, end)
        ]
        tracks = [Track(side, name, _cells(spans[side, name], at, end)) for side, name in spans if spans[side, name]]
        found.append(Line(at, cells, tracks))
    return found


def _spans(value: Mapping[str, Any], side: int, stages: Sequence[str]) -> list[Span]:
    """The spans of a side's decisions at some stages, in order; those that overlap are one."""
    found: list[Span] = []
    told = [
        (row["decisions"][side]["span"], n, row["decisions"][side])
        for n, row in enumerate(value["rows"])
        if row["stage"] in stages and row["decisions"][side] is not None
    ]
    for (start, end), n, decision in sorted(told, key=lambda each: each[:2]):
        if end <= start:
            continue
        text, kind = _label(decision, len(found))
        hot, inferred = n == value["first"], "inferred" in decision
        if found and start < found[-1].end:
            last = found[-1]
            last.text, last.end = f"{last.text} {text}".strip(), max(last.end, end)
            last.title += f"; {decision['meaning']}"
            last.hot = last.hot or hot
        else:
            found.append(Span(start, end, text, kind, decision["meaning"], hot, inferred))
    return found


def _label(decision: Mapping[str, Any], number: int) -> tuple[str, str]:
    """(text, style) of a decision's cell."""
    stage = decision["stage"]
    if stage == "scan":
        name = str(decision.get("class", ""))
        ill = " ill" if "ill-formed" in str(decision.get("path")) else ""
        return name, f"k{kind_of(name)}{ill}"
    if stage == "special":
        return str(decision["id"]), "special"
    if stage == "lookup":
        return str(decision["id"]), "token" if number % 2 else "token odd"
    return "", "piece" if number % 2 else "piece odd"


def kind_of(name: str) -> str:
    """The letter of KINDS for a class: a general category, `S` for White_Space, or one of the four coarse letters."""
    if len(name) == 2 and name[0] == "S":
        return "Y"
    return name[:1] if name[:1] in KINDS else "O"


def _cells(spans: Sequence[Span], at: int, end: int) -> list[Cell]:
    """The cells of the bytes [at, end), with blanks where nothing was decided."""
    found: list[Cell] = []
    done = at
    for span in spans:
        start, stop = max(at, span.start), min(end, span.end)
        if start >= stop:
            continue
        if start > done:
            found.append(Cell(start - done))
        open_at = ("l" if span.start < at else "") + ("r" if span.end > end else "")
        text = span.text if span.start >= at else ""
        found.append(Cell(stop - start, text, span.kind, span.title, open_at, span.hot, span.inferred))
        done = stop
    if done < end:
        found.append(Cell(end - done))
    return found


def _used(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """(letter, word) of the classes that occur, in the order of KINDS."""
    told = (each for row in rows for each in row["decisions"] if each is not None and each.get("class"))
    seen = {kind_of(str(each["class"])) for each in told}
    return [(letter, word) for letter, word in KINDS.items() if letter in seen]
