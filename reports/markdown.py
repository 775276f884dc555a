"""The report as Markdown, for issues and pull requests."""

from __future__ import annotations

import re
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from tokassay.reports import view
from tokassay.reports.tables import Tables, used_verdicts
from tokassay.reports.visible import hex_view, text_view, visible
from tokassay.reports.words import FAILING, counted, number, tally

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&!])")


def plain(value: Any) -> Any:
    """A string as Markdown text: hidden characters spelled out, every mark that Markdown or HTML reads made literal."""
    return _SPECIAL.sub(r"\\\1", visible(value, escape_rtl=True)) if isinstance(value, str) else value


def _finalize(value: Any) -> Any:
    return value if isinstance(value, Markup) else plain(value)


def block(text: str, name: str = "sh") -> Markup:
    """A fenced code block; the fence is longer than any in the text."""
    shown = visible(text, escape_rtl=True)
    fence = view.fence(shown)
    return Markup(f"{fence}{name}\n{shown}\n{fence}")


def code(text: str) -> Markup:
    """Inline code that may stand in a table: a bar is escaped there, a backtick needs a longer fence."""
    shown = visible(text, escape_rtl=True).replace("|", "\\|")
    fence = view.fence(shown)[2:] if "`" not in shown else view.fence(shown)
    pad = " " if "`" in shown or not shown.strip() else ""
    return Markup(f"{fence}{pad}{shown or ' '}{pad}{fence}")


def ids(values: list[Any], split: int | None) -> Markup:
    """Ids around the first difference, which is bold."""
    words = []
    for kind, text in view.ids_around(values, split):
        words.append(f"**{plain(text)}**" if kind == "first" else str(plain(text)))
    return Markup(" ".join(words))


def render_markdown(tables: Tables) -> str:
    """The report as text. Documents appear as hex and as spelled-out text in code, and nowhere else."""
    environment = Environment(
        loader=PackageLoader("tokassay.reports", "templates"),
        autoescape=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finalize,
    )
    environment.filters.update(number=number, tally=tally, block=block, code=code, markup=Markup)
    environment.globals.update(
        view=view,
        signs=view.SIGNS,
        failing_verdicts=FAILING,
        counted=counted,
        used=used_verdicts(tables),
        ids=ids,
        hex_block=lambda data: block(f"{hex_view(data)}\n".rstrip("\n"), "text"),
        text_block=lambda data: block(text_view(data), "text"),
    )
    return environment.get_template("audit.md.j2").render(t=tables)
