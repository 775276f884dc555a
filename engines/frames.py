"""Bodies and digests of the host protocol, on numpy arrays: the client's side.

Written apart from host.py on purpose: a test holds the two equal, and both to a digest computed by hand. All
integers are little-endian. docs/FORMATS.md is the definition.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MAGIC = b"TKA1"
PROTOCOL = 1
MAX_HEAD = 1 << 20
MAX_BODY = 1 << 30
IDS, REJECT, OTHER = 0, 1, 2

U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]
Buffer = bytes | bytearray | memoryview


class FrameError(ValueError):
    """Bytes that are not what the protocol says; the message tells what was found."""


class Ids(NamedTuple):
    """Ids of n documents: `status` u8[n], `counts` u32[n], `ids` u32[sum of counts], in document order."""

    status: U8
    counts: U32
    ids: U32

    def rows(self) -> list[list[int]]:
        """One list of ids a document; empty where the status is not 0."""
        parts = np.split(self.ids, np.cumsum(self.counts, dtype=np.int64)[:-1])
        return [part.tolist() for part in parts[: len(self.counts)]]


class Spans(NamedTuple):
    """Spans of n documents: `status` u8[n], `counts` u32[n], `spans` u32[sum of counts, 2]: start, end."""

    status: U8
    counts: U32
    spans: U32

    def rows(self) -> list[list[tuple[int, int]]]:
        """One list of (start, end) a document; empty where the status is not 0."""
        parts = np.split(self.spans, np.cumsum(self.counts, dtype=np.int64)[:-1])[: len(self.counts)]
        return [[(start, end) for start, end in part.tolist()] for part in parts]


class Texts(NamedTuple):
    """Texts of n documents: `status` u8[n] and one bytes object each, empty where the status is not 0."""

    status: U8
    texts: list[bytes]


Output = Ids | Spans | Texts


# -- frames -----------------------------------------------------------------------------------------------


def frame(head: dict[str, Any], length: int) -> bytes:
    """Magic, head length and head of a frame with a body of `length` bytes; FrameError past a cap."""
    text = json.dumps({**head, "v": PROTOCOL, "len": length}).encode()
    if len(text) > MAX_HEAD or length > MAX_BODY:
        raise FrameError(f"frame of {len(text)} + {length} bytes; at most {MAX_HEAD} + {MAX_BODY}")
    return MAGIC + struct.pack("<I", len(text)) + text


def read_head(start: Buffer) -> tuple[dict[str, Any], int] | None:
    """Head of a frame and where its body begins, None where not all of it is here; FrameError on garbage."""
    seen = bytes(start[:8])
    if not MAGIC.startswith(seen[:4]):
        raise FrameError(f"expected a frame, found {bytes(start[:60])!r}")
    if len(seen) < 8:
        return None
    (size,) = struct.unpack("<I", seen[4:])
    if size > MAX_HEAD:
        raise FrameError(f"head of {size} bytes; at most {MAX_HEAD}")
    if len(start) < 8 + size:
        return None
    try:
        head = json.loads(bytes(start[8 : 8 + size]))
    except ValueError as error:
        raise FrameError(f"head is not JSON: {error}") from error
    length = head.get("len") if isinstance(head, dict) else None
    if not isinstance(length, int) or not 0 <= length <= MAX_BODY or head.get("v") != PROTOCOL:
        raise FrameError(f"head without a proper v and len: {str(head)[:200]}")
    return head, 8 + size


# -- bodies -----------------------------------------------------------------------------------------------


def pack_documents(documents: Sequence[bytes]) -> bytes:
    """Body of `documents`: u64 n, u64 offsets[n + 1], bytes."""
    offsets = np.zeros(len(documents) + 1, dtype="<u8")
    np.cumsum([len(document) for document in documents], out=offsets[1:])
    return pack_buffer(b"".join(documents), offsets)


def documents_in(body: Buffer) -> int:
    """How many documents a body of pack_documents holds."""
    return int(struct.unpack_from("<Q", body)[0])


def pack_buffer(buffer: Buffer, offsets: NDArray[Any]) -> bytes:
    """The same from one buffer and its n + 1 offsets, from 0 to its length."""
    return b"".join((struct.pack("<Q", len(offsets) - 1), np.asarray(offsets, dtype="<u8").tobytes(), buffer))


def pack_ids(ids: Ids) -> bytes:
    """Body of ids: u64 n, u8 status[n], u32 counts[n], u32 ids[sum]."""
    return b"".join((struct.pack("<Q", len(ids.status)), *_columns(ids.status, ids.counts, ids.ids)))


def ids_of(rows: Sequence[Sequence[int]]) -> Ids:
    """Columns of one list of ids a document, all with status 0."""
    counts = np.array([len(row) for row in rows], dtype=np.uint32)
    flat = np.array([one for row in rows for one in row], dtype=np.uint32)
    return Ids(np.zeros(len(rows), dtype=np.uint8), counts, flat)


def unpack(kind: str, body: Buffer) -> Output:
    """The body of a reply of `kind` "ids", "spans" or "texts"; raises FrameError."""
    if kind == "ids":
        return unpack_ids(body)
    if kind == "spans":
        return unpack_spans(body)
    if kind == "texts":
        return unpack_texts(body)
    raise FrameError(f"unknown kind of body {kind!r}")


def unpack_ids(body: Buffer) -> Ids:
    """Columns of a body of ids; raises FrameError."""
    status, counts, values = _status_counts(body, 1)
    return Ids(status, counts, values)


def unpack_spans(body: Buffer) -> Spans:
    """Columns of a body of spans; raises FrameError."""
    status, counts, values = _status_counts(body, 2)
    return Spans(status, counts, values.reshape(-1, 2))


def unpack_texts(body: Buffer) -> Texts:
    """Status and texts of a body: u64 n, u8 status[n], u64 offsets[n + 1], bytes; raises FrameError."""
    size = _size(body, 9)
    start = 8 + size + 8 * (size + 1)
    if start > len(body):
        raise FrameError(f"texts body of {len(body)} bytes cannot hold {size} texts")
    offsets = np.frombuffer(body, dtype="<u8", count=size + 1, offset=8 + size)
    rest = bytes(body[start:])
    if offsets[0] != 0 or offsets[-1] != len(rest) or np.any(offsets[1:] < offsets[:-1]):
        raise FrameError("text offsets do not rise from 0 to the body's end")
    ends = offsets.tolist()
    return Texts(_bytes(body, 8, size), [rest[ends[i] : ends[i + 1]] for i in range(size)])


def _size(body: Buffer, least: int) -> int:
    if len(body) < 8:
        raise FrameError(f"body of {len(body)} bytes has no count")
    (size,) = struct.unpack_from("<Q", body)
    if size * least > len(body):
        raise FrameError(f"body of {len(body)} bytes cannot hold {size} documents")
    return int(size)


def _bytes(body: Buffer, start: int, size: int) -> U8:
    return np.frombuffer(body, dtype=np.uint8, count=size, offset=start).copy()


def _status_counts(body: Buffer, width: int) -> tuple[U8, U32, U32]:
    size = _size(body, 5)
    if 8 + 5 * size > len(body):
        raise FrameError(f"body of {len(body)} bytes cannot hold {size} documents")
    counts = np.frombuffer(body, dtype="<u4", count=size, offset=8 + size).astype(np.uint32)
    values, rest = int(counts.sum(dtype=np.uint64)) * width, len(body) - 8 - 5 * size
    if 4 * values != rest:
        raise FrameError(f"body holds {rest} bytes of values, its counts say {4 * values}")
    column = np.frombuffer(body, dtype="<u4", offset=8 + 5 * size).astype(np.uint32)
    return _bytes(body, 8, size), counts, column


# -- digests ----------------------------------------------------------------------------------------------


def block_digest(lengths: Iterable[int], output: Output) -> str:
    """SHA-256 (hex) of a block: documents' byte lengths, statuses, counts, and ids, spans or texts."""
    sizes = np.fromiter(lengths, dtype="<u8")
    if isinstance(output, Texts):
        tag, parts = (
            b"TKAT\x01",
            [
                output.status.astype("u1").tobytes(),
                np.array([len(text) for text in output.texts], dtype="<u8").tobytes(),
                *output.texts,
            ],
        )
    elif isinstance(output, Spans):
        tag, parts = b"TKAO\x01", _columns(output.status, output.counts, output.spans)
    else:
        tag, parts = b"TKAB\x01", _columns(output.status, output.counts, output.ids)
    return hashlib.sha256(b"".join((tag, struct.pack("<Q", len(sizes)), sizes.tobytes(), *parts))).hexdigest()


def _columns(status: U8, counts: U32, values: U32) -> list[bytes]:
    return [status.astype("u1").tobytes(), counts.astype("<u4").tobytes(), values.astype("<u4").tobytes()]


def leaf(length: int, status: int, ids: Sequence[int] | U32) -> bytes:
    """SHA-256 (32 bytes) of one document: u64 its bytes, u8 status, u32 number of ids, the ids as u32."""
    column = np.asarray(ids, dtype="<u4")
    return hashlib.sha256(struct.pack("<QBI", length, status, len(column)) + column.tobytes()).digest()


def corpus_digest(block_digests: Iterable[str]) -> str:
    """SHA-256 (hex) over a corpus's block digests, in order, as 32 raw bytes each."""
    state = hashlib.sha256()
    for digest in block_digests:
        state.update(bytes.fromhex(digest))
    return state.hexdigest()
