"""A drawn chart with what belongs to it: title, caption, alternative text and the same data as a table."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import matplotlib
import pandas as pd
from markupsafe import escape
from matplotlib.figure import Figure
from tokassay.reports.charts.style import DARK, RC
from tokassay.reports.downloads import inert
from tokassay.reports.errors import ReportError
from tokassay.reports.visible import visible

Theme = Literal["auto", "light", "dark"]
FORMATS = ("svg", "png")
DPI = 200
# Whoever has not the first, whose widths were measured, has one as wide or a narrower one.
FONTS = "'DejaVu Sans', Verdana, sans-serif"


@contextmanager
def styled() -> Iterator[None]:
    """matplotlib's own defaults with RC over them, whatever the user's settings are; for the time of a block, or of a
    function that it decorates."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(RC)
        yield


class NoData(ValueError):
    """There is nothing to draw; the message says why."""


@dataclass(frozen=True)
class Chart:
    """`caption` is sentences made of the data; `alt` says in one what is seen; `table` has what is drawn, row by row.
    `name` is that of its files: lower-case letters, digits, dots and hyphens."""

    name: str
    title: str
    caption: str
    alt: str
    table: pd.DataFrame
    figure: Figure

    def svg(self, theme: Theme = "auto") -> str:
        """The drawing as SVG text: the same data give the same bytes. `auto` follows the page's reader, light or dark;
        print is always light. Ids begin with the chart's name, so that several can stand in one page."""
        buffer = io.StringIO()
        with styled():
            matplotlib.rcParams["svg.hashsalt"] = f"tokassay-{self.name}"
            self.figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        # The element alone can stand in a page: without the declarations before it and who made it when.
        text = _small(buffer.getvalue())
        text = re.sub(r"<metadata>.*?</metadata>\n", "", text[text.index("<svg") :], flags=re.DOTALL)
        mine = f"#{self.name}-figure_1"
        text = text.replace("*{stroke-linejoin", f"{mine} text{{font-family: {FONTS}}}{mine} *{{stroke-linejoin")
        # Ids of shapes that are referred to are hashes that have the name in their salt; the others are of our choice.
        text = re.sub(r'\bid="(?![mph][0-9a-f]{10}")', f'id="{self.name}-', text)
        named = (
            f'<title id="{self.name}-title">{escape(self.title)}</title>\n'
            f' <desc id="{self.name}-alt">{escape(self.alt)}</desc>\n'
        )
        if theme == "dark":
            for light, dark in DARK.items():
                text = text.replace(light, dark)
        elif theme == "auto":
            named += f" <style>{_dark()}</style>\n"
        head = f'<svg role="img" aria-labelledby="{self.name}-title {self.name}-alt" '
        return re.sub(r"<svg ([^>]*)>", lambda found: f"{head}{found[1]}>\n {named}", text, count=1)

    def png(self) -> bytes:
        """The drawing as PNG, light."""
        buffer = io.BytesIO()
        with styled():
            self.figure.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
        return buffer.getvalue()

    def save(self, folder: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
        """Write NAME.svg, NAME.png and NAME.csv (the table) into a folder, made if need be. Raises ReportError."""
        made = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for kind in (*formats, "csv"):
                path = folder / f"{self.name}.{kind}"
                if kind == "svg":
                    path.write_text(self.svg(), encoding="utf-8", newline="\n")
                elif kind == "png":
                    path.write_bytes(self.png())
                else:
                    self.table.map(inert).to_csv(path, index=False, lineterminator="\n")
                made.append(path)
        except OSError as error:
            raise ReportError(
                f"cannot be written: {error.strerror}", where=str(error.filename or folder),
                remedy="give a folder that can be written",
            ) from error
        return made


def _small(text: str) -> str:
    """The same drawing in fewer bytes: no ids that nothing refers to, hundredths of a point, no line a point."""

    def shorter(found: re.Match[str]) -> str:
        places = re.sub(r"\d+\.\d{3,}", lambda one: f"{float(one[0]):.2f}".rstrip("0").rstrip("."), found[0])
        return re.sub(r" ?\n", "", places)

    text = re.sub(r' id="(?!figure_1")(?:[A-Za-z0-9]+|matplotlib\.axis)_\d+"', "", text)
    text = re.sub(r' transform="rotate\(-?0 [^)]*\)"', "", text)
    text = re.sub(r"font-family: [^;\"]*;? ?", "", text)
    text = re.sub(r' (?:d|x|y|width|height|transform)="[^"]*"', shorter, text)
    text = re.sub(r"\n\s+", "\n", text).replace("; stroke-linejoin: miter", "")
    # A group of one shape or text is that shape, with the group's id.
    text = re.sub(r"<g( id=\"[^\"]*\")>\n<(path|text) ([^\n]*)\n</g>", r"<\2\1 \3", text)
    return re.sub(r"<g>\n(<(?:path|text) [^\n]*)\n</g>", r"\1", text)


def _dark() -> str:
    """Rules that put dark colours in the place of light ones, on screens of readers who prefer them."""
    rules = "".join(
        f'[style*="{what}: {light}"],[{what}="{light}"]{{{what}:{dark}!important}}'
        for light, dark in DARK.items()
        for what in ("fill", "stroke")
    )
    return f"@media screen and (prefers-color-scheme:dark){{{rules}}}"


def gid(*words: object) -> str:
    """An id of a mark, from words: other words, another id. What no id may have stands as its code."""
    return "--".join(re.sub(r"[^A-Za-z0-9.-]", lambda one: f"_{ord(one[0]):x}", str(word)) for word in words)


def slug(*words: object) -> str:
    """A chart's name, from words."""
    return re.sub(r"[^a-z0-9.]+", "-", "-".join(str(word) for word in words).lower()).strip("-.")


def frame(rows: pd.DataFrame | Iterable[dict[str, Any]], chart: str, *needed: str, **optional: Any) -> pd.DataFrame:
    """Rows as a frame with the columns that are needed, and optional ones with their defaults where they are absent.
    Raises NoData without rows, ReportError where a needed column is missing."""
    table = rows.copy() if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows))
    if table.empty:
        raise NoData("there are no rows")
    absent = [column for column in needed if column not in table]
    if absent:
        raise ReportError(
            f"the rows have no column {', '.join(absent)}", where=f"chart {chart}",
            remedy=f"give rows with {', '.join(needed)}",
        )
    for column, default in optional.items():
        if column not in table:
            table[column] = default
        elif default is not None:
            table[column] = table[column].where(table[column].notna(), default)
    for named in table.select_dtypes(include=["object", "string"]):
        table[named] = [visible(value) if isinstance(value, str) else value for value in table[named]]
    return table.reset_index(drop=True)


def one(table: pd.DataFrame, column: str, chart: str) -> Any:
    """The one value of a column. Raises ReportError where there are more."""
    found = list(dict.fromkeys(table[column]))
    if len(found) != 1:
        raise ReportError(
            f"{column} has the values {', '.join(map(str, found))}", where=f"chart {chart}",
            remedy="give the rows of one of them",
        )
    return found[0]
