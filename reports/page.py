"""What every page is made with: one environment for the templates, and bytes as markup. Nothing hostile passes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from tokassay.reports.visible import Piece, joined, units, visible


def _safe(value: Any) -> Any:
    """Every plain string a template prints passes here: hidden characters are spelled out, then it is escaped."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def environment() -> Environment:
    """The templates of this package, with strict names and everything escaped."""
    return Environment(
        loader=PackageLoader("tokassay.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_safe,
    )


def markup(pieces: Iterable[Piece]) -> Markup:
    """Pieces of a text view as escaped text in spans: class `sp` a space, `by` an ill-formed byte, `es` a hidden
    character."""
    classes = {"space": "sp", "byte": "by", "escape": "es"}
    return Markup("").join(
        escape(p.text) if p.kind == "plain" else Markup('<i class="{}">{}</i>').format(classes[p.kind], p.text)
        for p in joined(pieces)
    )


def text_markup(data: bytes) -> Markup:
    """Bytes as `markup`."""
    return markup(piece for _, piece in units(data))
