"""Charts: plain rows in, one `Chart` out. What is drawn is said by the caller; nothing is measured or judged here.

One chart a module. matplotlib is imported by those modules, so that naming this package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokassay.reports.charts.chart import Chart, NoData
    from tokassay.reports.charts.powers import COLOURS, Line, Mark, lines

__all__ = ["COLOURS", "Chart", "Line", "Mark", "NoData", "lines"]
PLACES = dict.fromkeys(("COLOURS", "Line", "Mark", "lines"), "powers") | dict.fromkeys(("Chart", "NoData"), "chart")


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{PLACES[name]}"), name)
