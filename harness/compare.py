"""Columns of ids, spans or texts, and where two of them differ."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from tokassay.engines import frames

IDS, REJECT, OTHER = range(3)


@dataclass(frozen=True)
class Output:
    """What an engine gave for the documents of a block.

    `status` and `counts` have shape (n,); `values` holds the documents' ids (uint32), spans (uint32 pairs, flat) or
    text bytes (uint8) one after the other; a document in status REJECT or OTHER has count 0. `kind` is "ids", "spans"
    or "texts".
    """

    status: npt.NDArray[np.uint8]
    counts: npt.NDArray[np.uint64]
    values: npt.NDArray[np.uint32] | npt.NDArray[np.uint8]
    kind: str = "ids"

    @property
    def width(self) -> int:
        """How many values one count stands for."""
        return 2 if self.kind == "spans" else 1

    @classmethod
    def from_frames(cls, output: frames.Output) -> Output:
        """The output of a host, flat."""
        if isinstance(output, frames.Texts):
            counts = np.array([len(t) for t in output.texts], np.uint64)
            return cls(output.status, counts, np.frombuffer(b"".join(output.texts), np.uint8), "texts")
        if isinstance(output, frames.Spans):
            return cls(output.status, output.counts.astype(np.uint64), output.spans.reshape(-1), "spans")
        return cls(output.status, output.counts.astype(np.uint64), output.ids)

    def digest(self, lengths: npt.NDArray[np.uint64]) -> str:
        """The block digest (docs/FORMATS.md), hex; `lengths` are those of the documents in bytes."""
        counts = self.counts.astype(np.uint32)
        out: frames.Output
        if self.kind == "texts":
            out = frames.Texts(self.status, [self.of(i).tobytes() for i in range(len(self.status))])
        elif self.kind == "spans":
            out = frames.Spans(self.status, counts, self.values.astype(np.uint32).reshape(-1, 2))
        else:
            out = frames.Ids(self.status, counts, self.values.astype(np.uint32))
        return frames.block_digest(lengths.tolist(), out)

    @cached_property
    def ends(self) -> npt.NDArray[np.int64]:
        return np.cumsum(self.counts.astype(np.int64) * self.width)

    def of(self, i: int) -> npt.NDArray[np.uint32] | npt.NDArray[np.uint8]:
        """The values of the i-th document."""
        end = int(self.ends[i])
        return self.values[end - int(self.counts[i]) * self.width : end]


def differing(a: Output, b: Output) -> npt.NDArray[np.int64]:
    """Indices of the documents whose status or values are not the same in both. Linear in the values."""
    unlike = (a.status != b.status) | (a.counts != b.counts)
    same = np.flatnonzero(~unlike)
    if len(same) == 0:
        return np.flatnonzero(unlike)
    # Only documents of equal counts are compared value by value; np.repeat names each value's document.
    keep_a = np.repeat(~unlike, (a.counts * a.width).astype(np.int64))
    keep_b = np.repeat(~unlike, (b.counts * b.width).astype(np.int64))
    owner = np.repeat(same, (a.counts[same] * a.width).astype(np.int64))
    wrong = owner[a.values[keep_a] != b.values[keep_b]]
    unlike[wrong] = True
    return np.flatnonzero(unlike)


def joined(parts: list[Output]) -> Output:
    """One output from those of consecutive documents; at least one."""
    return Output(
        np.concatenate([p.status for p in parts]),
        np.concatenate([p.counts for p in parts]),
        np.concatenate([p.values for p in parts]),
        parts[0].kind,
    )


def leaves(lengths: npt.NDArray[np.uint64], output: Output) -> bytes:
    """The 32-byte leaves of a block's documents, one after the other (docs/FORMATS.md)."""
    made = []
    start = 0
    for length, status, count in zip(lengths, output.status, output.counts, strict=True):
        end = start + int(count) * output.width
        sha = hashlib.sha256(
            int(length).to_bytes(8, "little") + bytes((int(status),)) + int(count).to_bytes(4, "little")
        )
        sha.update(output.values[start:end].astype("<u4").tobytes())
        made.append(sha.digest())
        start = end
    return b"".join(made)
