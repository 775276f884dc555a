"""The decompressed bytes of a file in chunks: plain, gzip or zstd by suffix, with errors that name the file.

Both decompressors are driven frame by frame here, because the usual readers end a cut zstd stream without a
word.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from tokassay.corpora.document import CorpusError

READ_BYTES = 1 << 20
AGAIN = "make or fetch the file again"


def inner_suffix(path: Path) -> str:
    """The suffix that says what the content is: `.jsonl` for both `x.jsonl` and `x.jsonl.gz`."""
    bare = path.with_suffix("") if path.suffix.lower() in FRAMES else path
    return bare.suffix.lower()


def chunks(path: Path) -> Iterator[bytes]:
    """The content in order, in non-empty chunks. Raises CorpusError: missing, unreadable, damaged or cut
    compression.

    Damage raises where it is noticed, after the chunks before it; a reader must not take that for an end.
    """
    try:
        with path.open("rb") as raw:
            frame = FRAMES.get(path.suffix.lower())
            if frame is None:
                while chunk := raw.read(READ_BYTES):
                    yield chunk
            else:
                yield from _frames(raw, frame(path), path)
    except FileNotFoundError:
        raise CorpusError("no such file", where=str(path), remedy="check the path") from None
    except OSError as error:
        raise CorpusError(
            error.strerror or str(error), where=str(path), remedy="check the file and its permissions"
        ) from None


def whole(path: Path) -> bytes:
    """The whole content. Raises as `chunks`."""
    return b"".join(chunks(path))


def _frames(raw: IO[bytes], new: Callable[[], Any], path: Path) -> Iterator[bytes]:
    """Concatenated frames of one format. Zero bytes after a frame are padding (as gzip's own reader has it).
    """
    state = None
    pending = b""
    while True:
        pending = pending or raw.read(READ_BYTES)
        if not pending:
            break
        if state is None:
            pending = pending.lstrip(b"\0")
            if not pending:
                continue
            state = new()
        try:
            out = state.decompress(pending)
        except (
            Exception
        ) as error:  # zlib.error or zstandard.ZstdError, which is not importable without zstandard
            raise CorpusError(f"damaged compressed data: {error}", where=str(path), remedy=AGAIN) from None
        pending = b""
        if state.eof:
            pending, state = state.unused_data, None
        if out:
            yield out
    if state is not None:
        raise CorpusError("the compressed data ends too early", where=str(path), remedy=AGAIN)


def _gzip(path: Path) -> Callable[[], Any]:
    return lambda: zlib.decompressobj(wbits=31)


def _zstd(path: Path) -> Callable[[], Any]:
    try:
        import zstandard
    except ImportError:
        raise CorpusError(
            "reading .zst needs zstandard", where=str(path), remedy="run: pip install zstandard"
        ) from None
    return zstandard.ZstdDecompressor().decompressobj


FRAMES: dict[str, Callable[[Path], Callable[[], Any]]] = {".gz": _gzip, ".zst": _zstd}
