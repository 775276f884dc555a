"""What may be given as many documents."""

from __future__ import annotations

from contextlib import suppress
from typing import Any


def check_list(documents: Any, other: str) -> None:
    """TypeError for one document: text, or a buffer of numbers. An array of objects or strings is a list as any."""
    if isinstance(documents, (list, tuple)):
        return
    one = isinstance(documents, str)
    with suppress(TypeError, ValueError), memoryview(documents) as view:  # no buffer, or one of dates
        one = view.ndim < 2 and view.format[-1:] not in ("O", "s", "w")
    if one:
        raise TypeError(f"documents: one {type(documents).__name__}; give a list of documents, or use {other}")
