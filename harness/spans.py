"""Spans that follow from ids where their bytes are the document: where each token lies, in bytes or in characters."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tokassay.harness.compare import Output


def summed(ids: Output, token_lengths: npt.NDArray[np.uint32]) -> Output:
    """Byte spans: each token begins where the one before it ends. `token_lengths[id]` is a token's number of bytes."""
    widths = token_lengths[ids.values.astype(np.int64)].astype(np.int64)
    ends = np.cumsum(widths)
    # Each document starts again at 0: subtract what was summed before it.
    counts = ids.counts.astype(np.int64)
    base = np.repeat(np.concatenate(([0], ends))[ids.ends - counts], counts)
    return _output(ids, ends - widths - base, ends - base)


def in_characters(spans: Output, buffer: bytes | memoryview, offsets: npt.NDArray[np.uint64]) -> Output:
    """Byte spans as character spans: from the first to past the last character that has a byte in the span.

    `buffer` holds the documents one after the other, the i-th from `offsets[i]` to `offsets[i + 1]`.
    """
    owner = np.repeat(np.arange(len(spans.counts)), spans.counts.astype(np.int64))
    starts, stops = spans.values.astype(np.int64).reshape(-1, 2).T
    raw = np.frombuffer(buffer, dtype=np.uint8)
    # Characters begun before each byte, and before the end.
    begun = np.concatenate(([0], np.cumsum((raw & 0xC0) != 0x80)))
    place = offsets.astype(np.int64)[owner]
    return _output(spans, begun[place + starts + 1] - 1 - begun[place], begun[place + stops] - begun[place])


def _output(like: Output, starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]) -> Output:
    return Output(like.status, like.counts, np.stack((starts, stops), 1).reshape(-1).astype(np.uint32), "spans")
