"""Parquet: a document is a row's value in one string or binary column (default `text`). pyarrow is imported
here only.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tokassay.corpora.corpus import Columns, Problems, pack
from tokassay.corpora.document import CorpusError, Document

BATCH_ROWS = 4096


def read_parquet(path: Path, problems: Problems, shown: str, field: str = "text") -> Iterator[Columns]:
    """The rows of a Parquet file; names are "<shown>:<row from 1>"; a null is counted and named in
    `problems`.

    Raises CorpusError: no pyarrow, not a Parquet file, no such column, a column of another type.
    """
    return pack(_documents(path, problems, shown, field))


def _documents(path: Path, problems: Problems, shown: str, field: str) -> Iterator[Document]:
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ImportError:
        raise CorpusError(
            "reading Parquet needs pyarrow", where=str(path), remedy="run: pip install pyarrow"
        ) from None
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            if field not in names:
                raise CorpusError(
                    f"no column {field!r}",
                    where=str(path),
                    remedy=f"it has {', '.join(names)}: name one as path@parquet:COLUMN",
                )
            kind = file.schema_arrow.field(field).type
            if not (
                pa.types.is_string(kind)
                or pa.types.is_large_string(kind)
                or pa.types.is_binary(kind)
                or pa.types.is_large_binary(kind)
            ):
                raise CorpusError(
                    f"column {field!r} holds {kind}", where=str(path), remedy="name a string or binary column"
                )
            row = 0
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=[field]):
                for value in batch.column(0).to_pylist():
                    row += 1
                    if value is None:
                        problems.add("null", f"{shown}:{row}")
                    else:
                        yield Document(f"{shown}:{row}", value.encode() if isinstance(value, str) else value)
    except FileNotFoundError:
        raise CorpusError("no such file", where=str(path), remedy="check the path") from None
    except (pa.ArrowException, OSError) as error:
        raise CorpusError(
            f"not readable as Parquet: {error}", where=str(path), remedy="check the file"
        ) from None
