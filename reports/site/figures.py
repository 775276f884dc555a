"""The charts of the overview: made from the frames, and shown with their caption, words and numbers."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from tokassay.reports.site.parts import Figure


def figures(frames: Mapping[str, pd.DataFrame]) -> list[Figure]:
    """The charts of these frames (view -> rows). None is drawn yet."""
    del frames
    return []
