"""Every view of a store as frames, and as files that other programs read: CSV, Parquet, JSON."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from tokassay.reports.errors import ReportError
from tokassay.reports.opening import open_store
from tokassay.reports.read import parse
from tokassay.reports.withheld import withheld

FORMATS = ("csv", "parquet", "json")


@dataclass(frozen=True)
class Download:
    """A view as files: `files` are (format, name, bytes)."""

    view: str
    rows: int
    files: tuple[tuple[str, str, int], ...]


def views(paths: Iterable[Path]) -> dict[str, pd.DataFrame]:
    """View -> its rows, of all stores one after the other. Raises ReportError with place and remedy."""
    parts: dict[str, list[pd.DataFrame]] = {}
    for path in paths:
        with closing(open_store(path)) as connection:
            try:
                names = [
                    str(row[0])
                    for row in connection.execute(
                        "SELECT name FROM sqlite_master WHERE type = 'view' AND name GLOB 'v_*' ORDER BY name"
                    )
                ]
                for name in names:
                    parts.setdefault(name, []).append(pd.read_sql_query(f'SELECT * FROM "{name}"', connection))
            except (sqlite3.Error, pd.errors.DatabaseError) as error:
                raise ReportError(
                    f"cannot be read ({error})",
                    where=str(path),
                    remedy="the store is damaged: run the audit again into a new store",
                ) from None
    for frame, reports in zip(parts.get("v_measurement", ()), parts.get("v_bench", ()), strict=False):
        only_proved(frame, reports)
    # A frame without rows has columns without types, which would make those of the others objects.
    return {
        name: pd.concat([each for each in found if len(each)] or found[:1], ignore_index=True)
        for name, found in parts.items()
    }


def only_proved(measurements: pd.DataFrame, benches: pd.DataFrame) -> None:
    """Take from rows of v_measurement the figures that `withheld` takes from the reports they are made of, in place."""
    verdicts = [
        (str(row["verdict"]), str(row.get("detail", "")))
        for text in benches["report"]
        for cell in withheld(parse(text, "v_bench.report")).get("cells") or ()
        for row in cell.get("engines") or ()
    ]
    if measurements.empty:
        return
    if len(verdicts) == len(measurements):  # the view has the rows of each report in their order
        measurements[["verdict", "detail"]] = verdicts
    figures = [name for name in measurements.columns if name in ("cpu_ns", "ns") or name.startswith("mb_s")]
    measurements.loc[measurements["verdict"] != "exact", figures] = None


def inert(value: Any) -> Any:
    """A spreadsheet takes a text that begins with one of these for a formula; a quote before it makes it text."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def write_downloads(frames: Mapping[str, pd.DataFrame], folder: Path) -> list[Download]:
    """Write each view in each of FORMATS into `folder`. The CSV alone is made harmless for spreadsheets.

    Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for view, frame in frames.items():
        name = view.removeprefix("v_")
        paths = {each: folder / f"{name}.{each}" for each in FORMATS}
        frame.map(inert).to_csv(paths["csv"], index=False, lineterminator="\n")
        plain(frame).to_parquet(paths["parquet"], index=False)
        frame.to_json(paths["json"], orient="records", force_ascii=True, date_unit="ns")
        made.append(Download(view, len(frame), tuple((e, path.name, path.stat().st_size) for e, path in paths.items())))
    return made


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with one type a column, as Parquet needs: a column of mixed values becomes text."""
    made = frame.copy()
    for name in made.columns:
        kinds = {type(value) for value in made[name].dropna()} if made[name].dtype == object else set()
        if len(kinds) > 1:
            made[name] = made[name].map(lambda value: None if value is None else str(value))
    return made
