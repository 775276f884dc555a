"""What an encoder may be told about speed. Nothing here changes an id: tests hold every setting to the others."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from operator import index
from typing import Any

from tokassay.engines.dat_bpe import _core
from tokassay.engines.dat_bpe.errors import LoadError

# 2**17 entries of 32 bytes, 4 MB. Twice as many are 3 to 4 % better on Russian that comes after other Russian, and cost
# 17 to 21 % of a first pass over English and code; docs/CACHE.md has the sweep.
CACHE_BITS, CACHE_BITS_MOST = 17, 24
# 2**14 entries of 128 bytes, for pieces of up to 31 bytes and 23 ids: one in ten of Russian, one in a hundred of code.
WIDE_BITS = 14
BEST = "best"


def _several(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str)


def settings(cache_bits: int, level: str | None, without: Collection[str], where: str) -> dict[str, Any]:
    """The settings of `_core.Tables`; LoadError for a value that there is not."""
    whole = hasattr(cache_bits, "__index__") and not isinstance(cache_bits, bool)
    if not whole or not 0 <= cache_bits <= CACHE_BITS_MOST:
        raise LoadError(f"cache_bits {cache_bits!r}", where=where, remedy=f"use 0 to {CACHE_BITS_MOST}")
    best = _core.best_level()
    levels = _core.LEVELS[: best + 1]
    if level not in (None, BEST, *levels):
        raise LoadError(
            f"level {level!r}: this processor has {', '.join(levels)}", where=where, remedy="use one of them, or none"
        )
    # Nothing is left out as a rule, and asking for the abstract class takes 5 us, a fiftieth of opening a profile.
    names = [] if without == () else list(without) if _several(without) else [without]
    for name in names:
        if name not in tuple(_core.USES):
            raise LoadError(f"without {name!r}", where=where, remedy=f"use some of {', '.join(_core.USES)}")
    return {
        "cache_bits": index(cache_bits),
        "wide_bits": WIDE_BITS if cache_bits else 0,
        "level": best if level in (None, BEST) else levels.index(level),
        "uses": tuple(use for use in _core.USES if use not in names),
        # Not to be foreseen: whoever makes texts cannot make pieces that clash.
        "seed": int.from_bytes(os.urandom(8), "little"),
    }
