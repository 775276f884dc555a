"""The report as one HTML file: inline style, no script, nothing fetched."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from tokassay.reports import view
from tokassay.reports.tables import Tables, used_verdicts
from tokassay.reports.visible import Piece, hex_view, joined, units, visible
from tokassay.reports.words import FAILING, counted, number, tally

HEX_WIDTH = 16


def _safe(value: Any) -> Any:
    """Every plain string a template prints passes here: hidden characters are spelled out, then it is escaped."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _markup(pieces: Iterable[Piece]) -> Markup:
    classes = {"space": "sp", "byte": "by", "escape": "es"}
    return Markup("").join(
        escape(p.text) if p.kind == "plain" else Markup('<i class="{}">{}</i>').format(classes[p.kind], p.text)
        for p in joined(pieces)
    )


def text_markup(data: bytes) -> Markup:
    """Bytes as escaped text in spans: class `sp` a space, `by` an ill-formed byte, `es` a hidden character."""
    return _markup(piece for _, piece in units(data))


def hex_rows(data: bytes) -> list[tuple[int, str, Markup]]:
    """(offset, hex, text) of 16 bytes a row; a character that a row border cuts is shown where it begins."""
    rows: list[list[Piece]] = [[] for _ in range(0, len(data), HEX_WIDTH)]
    for offset, piece in units(data):
        rows[offset // HEX_WIDTH].append(piece)
    return [
        (HEX_WIDTH * i, hex_view(data[HEX_WIDTH * i : HEX_WIDTH * (i + 1)]), _markup(row)) for i, row in enumerate(rows)
    ]


def render_html(tables: Tables) -> str:
    """The page, as text. Strings from the store are escaped; documents appear as hex and as visible text only."""
    environment = Environment(
        loader=PackageLoader("tokassay.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_safe,
    )
    environment.filters.update(number=number, tally=tally, text_markup=text_markup, hex_view=hex_view)
    environment.globals.update(
        view=view,
        signs=view.SIGNS,
        failing_verdicts=FAILING,
        counted=counted,
        used=used_verdicts(tables),
        hex_rows=hex_rows,
    )
    return environment.get_template("audit.html.j2").render(t=tables)
