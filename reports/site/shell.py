"""Pages as files: the shell around each, its templates, and names that are safe as parts of a path."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from jinja2 import Environment
from tokassay.reports import view
from tokassay.reports.html import hex_rows
from tokassay.reports.page import environment, text_markup
from tokassay.reports.site.parts import Code, Link, Tag
from tokassay.reports.visible import visible
from tokassay.reports.words import counted, number, tally

NAVIGATION = (
    ("Overview", "index.html"),
    ("Scoreboard", "scoreboard.html"),
    ("Matrix", "matrix/index.html"),
    ("Engines", "engines/index.html"),
    ("Corpora", "corpora/index.html"),
    ("Divergences", "divergences/index.html"),
    ("Claims", "claims/index.html"),
    ("Charts", "charts.html"),
    ("Runs", "runs/index.html"),
    ("Downloads", "downloads.html"),
)


@dataclass(frozen=True)
class Page:
    """A page: `path` relative to the site's root, `template` of templates/site, and what it shows."""

    path: str
    title: str
    template: str
    values: Mapping[str, Any] = field(default_factory=dict)


def slug(name: str) -> str:
    """A name as a part of a path: letters, digits, `-`, `_`, `.`; what had to be changed ends with a digest of all."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")[:80]
    if plain == name and name not in ("", "index"):
        return name
    return f"{plain or 'name'}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


@lru_cache(maxsize=1)
def templates() -> Environment:
    """The environment of all pages; everything printed is escaped, and hidden characters are spelled out."""
    made = environment()
    made.filters.update(number=number, tally=tally, text_markup=text_markup)
    made.globals.update(counted=counted, hex_rows=hex_rows, view=view)
    made.tests.update(
        link=lambda value: isinstance(value, Link),
        code=lambda value: isinstance(value, Code),
        tag=lambda value: isinstance(value, Tag),
        several=lambda value: isinstance(value, list | tuple),
        whole=lambda value: isinstance(value, int) and not isinstance(value, bool),
    )
    return made


def render(page: Page, version: str, made_of: str = "", more: Sequence[tuple[str, str]] = ()) -> str:
    """The page as text."""
    return (
        templates()
        .get_template(f"site/{page.template}")
        .render(
            page=page,
            root="../" * page.path.count("/"),
            navigation=(*NAVIGATION, *more),
            version=version,
            made_of=made_of,
            **{"banner": None, "lead": (), **page.values},
        )
    )


def inert(svg: str) -> str:
    """An SVG with hidden characters spelled out: names in it come from stores and claims."""
    return "".join(char if char in "\n\t" else visible(char) for char in svg)
