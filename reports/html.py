"""The report as one HTML file: inline style, no script, nothing fetched."""

from __future__ import annotations

from markupsafe import Markup
from tokassay.reports import view
from tokassay.reports.matrix import SIGNS as MATRIX_SIGNS
from tokassay.reports.matrix import tone_of
from tokassay.reports.page import environment, markup, text_markup
from tokassay.reports.tables import Tables, used_verdicts
from tokassay.reports.visible import Piece, hex_view, units
from tokassay.reports.words import FAILING, counted, number, tally

HEX_WIDTH = 16


def hex_rows(data: bytes) -> list[tuple[int, str, Markup]]:
    """(offset, hex, text) of 16 bytes a row; a character that a row border cuts is shown where it begins."""
    rows: list[list[Piece]] = [[] for _ in range(0, len(data), HEX_WIDTH)]
    for offset, piece in units(data):
        rows[offset // HEX_WIDTH].append(piece)
    return [
        (HEX_WIDTH * i, hex_view(data[HEX_WIDTH * i : HEX_WIDTH * (i + 1)]), markup(row)) for i, row in enumerate(rows)
    ]


def render_html(tables: Tables) -> str:
    """The page, as text. Strings from the store are escaped; documents appear as hex and as visible text only."""
    templates = environment()
    templates.filters.update(number=number, tally=tally, text_markup=text_markup, hex_view=hex_view)
    names = list(tables.matrix.vocabularies)
    templates.globals.update(
        view=view,
        matrix_signs=MATRIX_SIGNS,
        tone_of=tone_of,
        vocabulary_anchor=lambda name: f"#v{names.index(name)}",
        cell_link=lambda cell: view.cell_link(tables, cell),
        signs=view.SIGNS,
        failing_verdicts=FAILING,
        counted=counted,
        used=used_verdicts(tables),
        hex_rows=hex_rows,
    )
    return templates.get_template("audit.html.j2").render(t=tables)
