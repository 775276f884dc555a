"""The playground's page: a form, and what two engines did with a document, from the object of `trace --against`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tokassay.reports.site.model import DECISIONS
from tokassay.reports.site.parts import Cell, Code, Table, Tag, table
from tokassay.reports.site.shell import Page, render
from tokassay.reports.trace import picture
from tokassay.reports.visible import text_view

NAME = "playground.html"
LINK = ("Playground", NAME)
HEADLINES = {None: ("Nothing was compared", "warn"), True: ("The same ids", "good"), False: ("They differ", "bad")}


@dataclass(frozen=True)
class Form:
    """What was asked, as typed."""

    kind: str = "text"
    document: str = ""
    vocab: str = ""
    left: str = ""
    right: str = ""


def render_playground(
    version: str,
    form: Form,
    vocabularies: Sequence[str],
    engines: Sequence[str],
    most: int,
    value: Mapping[str, Any] | None = None,
    error: str = "",
) -> str:
    """The page as text. `most` is the greatest document in bytes, `value` the object of `trace --against --json`."""
    page = Page(NAME, "Playground", "playground.html.j2", {
        "asked": form, "vocabularies": vocabularies, "engines": engines, "most": most, "error": error,
        "result": None if value is None else result(value),
        "trace": None if value is None or not value["document"] else picture(value, DECISIONS),
    })  # fmt: skip
    return render(page, version, more=(LINK,))


def result(value: Mapping[str, Any]) -> dict[str, Any]:
    """The answer: a headline, sentences, both sides' tokens by where they begin."""
    headline, kind = HEADLINES[value["same"]]
    ended = [f"{side['engine']}: {side['outcome']}" + (f", {side['detail']}" if side["detail"] else "")
             for side in value["sides"] if side["outcome"] != "ids"]  # fmt: skip
    return {
        "headline": headline,
        "kind": kind,
        "sentences": [*(each for each in value["sentences"] if each not in ("same", "same ids")), *ended],
        "document": bytes.fromhex(value["document"]),
        "table": tokens(value["sides"]),
        "command": value.get("command", ""),
    }


def tokens(sides: Sequence[Mapping[str, Any]]) -> Table:
    """A row for the tokens that begin at one byte; without spans, by their number."""
    found: list[dict[tuple[int, int], tuple[Cell, ...]]] = []
    for side in sides:
        rows: dict[tuple[int, int], tuple[Cell, ...]] = {}
        for n, (number, token) in enumerate(zip(side["ids"], side["tokens"], strict=True)):
            span = side["spans"][n] if side["spans"] is not None else None
            place = (n, 0) if span is None else (span[0], sum(one[0] == span[0] for one in side["spans"][:n]))
            shown = "?" if token is None else text_view(bytes.fromhex(token))
            rows[place] = (str(number), "–" if span is None else f"{span[0]}..{span[1]}", Code(shown))
        found.append(rows)
    left, right = found
    empty: tuple[Cell, ...] = (None, None, None)
    names = [f"{side['engine']}: {what}" for side in sides for what in ("id", "bytes", "token")]
    rows_of = []
    for place in sorted({*left, *right}):
        one, other = left.get(place, empty), right.get(place, empty)
        rows_of.append((str(place[0]), *one, Tag("same", "good") if one == other else Tag("differs", "bad"), *other))
    columns = ("at", *names[:3], "ids", *names[3:])
    return table("Tokens of both sides, by the byte at which they begin", columns, rows_of)
