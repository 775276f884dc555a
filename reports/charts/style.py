"""How charts look: sizes, colours for light and dark pages, marks told apart without colour, figures in words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

# A chart is as wide as a phone's page (390 px) and legible there: 8 points are 9.8 px. In print it is 112 mm wide.
WIDTH = 4.4  # inches
TITLE, TEXT, SMALL = 10.5, 9.0, 8.0  # points
RC: dict[Any, Any] = {
    "svg.fonttype": "none", "text.parse_math": False, "font.size": TEXT, "font.family": ["DejaVu Sans"],
    "hatch.linewidth": 0.8, "axes.linewidth": 0.7, "path.simplify": False,
}

# Colours by what they are for; a dark page puts DARK in their places. Data colours are the same on both.
PAPER, INK, SOFT, GRID = "#ffffff", "#1d1f22", "#575d66", "#d9d6cf"
DARK = {PAPER: "#1c1f23", INK: "#e8e6e1", SOFT: "#a9afb7", GRID: "#3b4047"}
ON_FILL = "#010101"  # text on a light filling, the same on both pages
# Okabe and Ito's colours, yellow left out: it cannot be seen on white.
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"
SERIES = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = (
    "-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (5, 1.5, 1.2, 1.5)), (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1))
)
OURS = "†"  # stands behind the name of an engine of this project
SPAN = 30  # an axis is logarithmic where the greatest value is more than so many times the least

EXACT = "exact"
# What stands in the place of a speed: how its box is hatched. Words that are not here are hatched as `other`.
HATCHES = {"void": "xxxx", "unverified": "////", "unsupported": "----", "other": "\\\\\\\\"}


def hatch(verdict: str) -> str:
    """The hatching of a verdict that is not exact."""
    return HATCHES.get(verdict, HATCHES["other"])


def logarithmic(values: Iterable[float]) -> bool:
    """Whether an axis of these values is to be logarithmic: all above zero, the greatest over SPAN times the least."""
    found = [value for value in values if value is not None and not math.isnan(value)]
    return bool(found) and min(found) > 0 and max(found) / min(found) > SPAN


def figure(value: float) -> str:
    """Three significant digits, thousands separated: 0.234, 42.0, 421, 12,300."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 1e6:
        exponent = math.floor(math.log10(abs(value)))
        return f"{value / 10**exponent:.2f}·10{superscript(exponent)}"
    digits = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    digits = 2 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(digits, 0)}f}"


def interval(value: float, low: float, high: float) -> str:
    """`421 (401–461)`, or the value alone where it has no interval."""
    return figure(value) if math.isnan(low) or math.isnan(high) else f"{figure(value)} ({figure(low)}–{figure(high)})"


def superscript(value: int) -> str:
    """A whole number as small raised digits."""
    return str(value).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def tick(value: float) -> str:
    """A number at an axis: short, 10⁶ from a hundred thousand on and below a hundredth."""
    if value == 0:
        return "0"
    if abs(value) >= 1e5 or abs(value) < 1e-2:
        exponent = math.floor(math.log10(abs(value)) + 1e-9)
        factor = round(value / 10**exponent, 2)
        return f"10{superscript(exponent)}" if factor == 1 else f"{factor:g}·10{superscript(exponent)}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def size(value: float) -> str:
    """A number of bytes, short: 16 B, 4.1 kB, 8 MB (powers of ten)."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value:.3g} B"


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Places for labels of a logarithmic axis from `low` to `high`: 1, 2, 5 of each decade, or decades, or some."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for factors in ((1, 2, 5), (1, 3), (1,)):
        found = [f * 10.0**e for e in range(first, last + 1) for f in factors if low <= f * 10.0**e <= high]
        if len(found) <= most:
            if len(found) >= 2:
                return found
            break
    found = [10.0**e for e in range(first, last + 1) if low <= 10.0**e <= high]
    found = found[:: max(1, math.ceil(len(found) / most))]
    return found if len(found) >= 2 else [low, high]


def name_of(engine: str, ours: bool) -> str:
    """An engine's name, marked where it is this project's own."""
    return f"{engine} {OURS}" if ours else engine


@lru_cache(maxsize=4096)
def measure(text: str, points: float, bold: bool = False) -> tuple[float, float]:
    """Width and height of one line of text, in inches."""
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.font_manager import FontProperties

    renderer: Any = RendererAgg(8, 8, 72)  # type: ignore[no-untyped-call]
    font = FontProperties(family=["DejaVu Sans"], size=points, weight="bold" if bold else "normal")
    wide, high, _ = renderer.get_text_width_height_descent(text, font, False)
    return wide / 72, high / 72


def wrap(text: str, inches: float, points: float, *, bold: bool = False, most: int = 0) -> list[str]:
    """Lines of at most `inches`, cut at spaces, behind - _ , ] = /, in words; past `most` the middle is left out."""
    parts = re.findall(rf"(?:\s*[^\s\-_,\]=/\[]+[\-_,\]=/\[]*|\s*[\-_,\]=/\[]+)(?:\s?{OURS})?", text) or [text]
    lines: list[str] = [""]
    for part in parts:
        if measure((lines[-1] + part).strip(), points, bold)[0] <= inches:
            lines[-1] += part
            continue
        if lines[-1]:
            lines.append("")
        rest = part.lstrip()
        while measure(rest, points, bold)[0] > inches and len(rest) > 1:
            fit = len(rest) - 1
            while fit > 1 and measure(rest[:fit], points, bold)[0] > inches:
                fit -= 1
            lines[-1], rest = rest[:fit], rest[fit:]
            lines.append("")
        lines[-1] = rest
    lines = [line.strip() for line in lines]
    if most and len(lines) > most:
        # What tells names apart is mostly at their end: the middle is left out.
        tail = text
        while tail and measure("…" + tail, points, bold)[0] > inches:
            tail = tail[1:]
        lines = [*lines[: most - 1], "…" + tail]
    return lines


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb`, 0 to 1 (WCAG 2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast of two colours, 1 to 21 (WCAG 2)."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def shade(share: float, colour: str = SKY) -> str:
    """White at 0, `colour` at 1: the filling of a square."""
    parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    share = min(max(share, 0.0), 1.0)
    return "#" + "".join(f"{round(255 + (part - 255) * share):02x}" for part in parts)


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1] if words else ""
