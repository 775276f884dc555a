"""Charts: plain rows in, one `Chart` out. What is drawn is said by the caller; nothing is measured or judged here.

One chart a module. matplotlib is imported by those modules, so that naming this package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokassay.reports.charts.chart import Chart, NoData

__all__ = ["Chart", "NoData"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tokassay.reports.charts import chart

    return getattr(chart, name)
