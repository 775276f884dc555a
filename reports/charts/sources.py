"""Rows for charts: from the object of `tokassay bench --json`, of schema 1 and 2, and from the views of a store."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd
from tokassay.reports.charts.style import EXACT
from tokassay.reports.errors import ReportError
from tokassay.reports.opening import open_store
from tokassay.reports.read import Frames, read_run
from tokassay.reports.withheld import withheld

OWN = "tokassay"  # the requirement of this project's engines
DOCS = re.compile(r"docs-\d+k?")  # kinds of text that differ in nothing but the size of their documents
MEASUREMENT = ("vocab", "text", "entry", "state", "threads", "bytes", "documents")
COLUMNS = (
    *MEASUREMENT, "engine", "verdict", "detail", "mb_s", "mb_s_low", "mb_s_high", "ratio", "ratio_low", "ratio_high",
    "ratio_to", "resolved", "ns", "ours",
)
Report = Mapping[str, Any]


@dataclass
class Sources:
    """What charts are drawn from. `run` is one audit of a store, `verdicts` those of all its runs (started, verdict,
    documents), `benches` the reports of benches by time, the latest last. `vectors` are stages of frozen vectors;
    `rows` are rows by the name of a chart, for what neither a store nor a bench has."""

    run: Frames | None = None
    verdicts: pd.DataFrame = field(default_factory=pd.DataFrame)
    benches: list[Report] = field(default_factory=list)
    vectors: list[str] = field(default_factory=list)
    rows: dict[str, pd.DataFrame] = field(default_factory=dict)


def from_store(path: Path, run: str | None = None) -> Sources:
    """One run of a store (the last if none is named), the verdicts of all, and its benches. Raises ReportError."""
    with closing(open_store(path)) as connection:
        views = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'")}
        runs = connection.execute("SELECT COUNT(*) FROM v_run").fetchone()[0]
        verdicts = pd.read_sql_query(
            "SELECT r.started, v.verdict, SUM(v.documents) AS documents FROM v_verdict v JOIN v_run r ON r.id = v.run "
            "GROUP BY r.id, v.verdict ORDER BY r.started",
            connection,
        )
        found = []
        if "v_bench" in views:
            found = [row[0] for row in connection.execute("SELECT report FROM v_bench ORDER BY started")]
    benches = [parse(text, f"{path}, v_bench.report") for text in found]
    return Sources(read_run(path, run) if runs or run else None, verdicts, benches)


def parse(text: str, where: str) -> Report:
    """The report of a bench from its JSON. Raises ReportError."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ReportError(
            f"not JSON ({error})", where=where, remedy="give what `tokassay bench --json` printed"
        ) from None
    if not isinstance(found, dict) or not str(found.get("schema", "")).startswith("tokassay.bench/"):
        raise ReportError("not the report of a bench", where=where, remedy="give what `tokassay bench --json` printed")
    return withheld(found)


def ours(report: Report) -> set[str]:
    """Names of this project's engines in a report."""
    found = {str(one["engine"]) for one in report.get("engines", ()) if one.get("requirement") == OWN}
    return found | {
        str(one["engine"])
        for group in report.get("ranking") or ()
        for one in group.get("engines", ())
        if one.get("ours")
    }


def is_ours(engine: str, known: Iterable[str]) -> bool:
    """Whether an engine, its options left out, is one of those."""
    return engine.partition("[")[0] in {name.partition("[")[0] for name in known}


def spread(figure: Mapping[str, Any] | None) -> tuple[float | None, float | None, float | None]:
    """Median, low and high: of the bootstrap interval, or the least and greatest where there is none."""
    if not figure:
        return None, None, None
    return figure["median"], figure.get("low", figure.get("min")), figure.get("high", figure.get("max"))


def measurements(report: Report) -> pd.DataFrame:
    """One row an engine, cell and state: the columns of v_measurement that charts use, and `ours`."""
    known, found = ours(report), []
    for cell in report.get("cells", ()):
        threads = cell.get("threads") or 1
        for row in cell["engines"]:
            exact = row["verdict"] == EXACT
            # One thread is measured by its CPU time; what several are for is wall time.
            speed = (row.get("wall_mb_s") if threads > 1 else None) or row.get("mb_s")
            figures = dict(zip(("mb_s", "mb_s_low", "mb_s_high"), spread(speed if exact else None), strict=True))
            ratio = dict(zip(("ratio", "ratio_low", "ratio_high"), spread(row.get("ratio")), strict=True))
            found.append({
                **{name: cell.get(name) for name in MEASUREMENT}, "threads": threads, "engine": row["engine"],
                "verdict": row["verdict"], "detail": row.get("detail", ""), **figures, **ratio,
                "ratio_to": row.get("ratio_to"), "resolved": (row.get("ratio") or {}).get("resolved"),
                "ns": row.get("ns") or [], "ours": is_ours(row["engine"], known),
            })  # fmt: skip
    return pd.DataFrame(found, columns=list(COLUMNS))


def speeds(report: Report) -> pd.DataFrame:
    """Measurements of engines: none of a report whose rows are points of a sweep or switches of an ablation."""
    return measurements({} if report.get("sweep") or report.get("switches") else report)


def loads(report: Report) -> pd.DataFrame:
    """Rows of `load`."""
    known = ours(report)
    return pd.DataFrame(
        [
            {
                "vocab": row["vocab"], "engine": row["engine"], "state": row["state"], "verdict": row["verdict"],
                "detail": row.get("detail", ""), "p50": spread(row.get("ms"))[0], "p95": row.get("ms_p95"),
                "ours": is_ours(row["engine"], known),
            }
            for row in report.get("load") or ()
        ]
    )


def gains(report: Report) -> pd.DataFrame:
    """Rows of `threads`: from cells measured with several numbers of threads, by wall time, round by round; and from
    the section `threads`, which has the gain of two."""
    table, found = speeds(report), []
    for key, own in table.groupby(["vocab", "text", "entry", "state", "engine"], sort=False):
        if own["threads"].nunique() < 2:
            continue
        alone = own[own["threads"].eq(1)]
        base = list(alone.iloc[0]["ns"]) if len(alone) else []
        for _, row in own[own["threads"] > 1].iterrows():
            values = [a / max(b, 1) for a, b in zip(base, row["ns"], strict=False)]
            exact = row["verdict"] == EXACT and bool(values)
            found.append(
                {
                    "vocab": key[0], "text": key[1], "entry": f"{key[2]}, {key[3]}", "engine": key[4],
                    "ours": row["ours"], "threads": int(row["threads"]),
                    "verdict": row["verdict"] if exact or row["verdict"] != EXACT else "no row of one thread",
                    "gain": median(values) if exact else None, "low": min(values, default=None),
                    "high": max(values, default=None),
                }
            )
    known = ours(report)
    for row in report.get("threads") or ():
        value, low, high = spread(row.get("gain_threads"))
        found.append(
            {
                "vocab": row["vocab"], "text": row["text"], "entry": row["entry"], "engine": row["engine"],
                "threads": 2, "verdict": row["verdict"], "gain": value, "low": low, "high": high,
                "ours": is_ours(row["engine"], known),
            }
        )
    return pd.DataFrame(found)


def switches(report: Report) -> pd.DataFrame:
    """Rows of `ladder`: the CPU time without a switch over that with everything on, round by round."""
    found = []
    for cell in report.get("cells", ()) if report.get("switches") else ():
        on, *others = cell["engines"]
        for row in others:
            exact = row["verdict"] == EXACT and on["verdict"] == EXACT
            values = [b / max(a, 1) for a, b in zip(on["cpu_ns"], row["cpu_ns"], strict=False)] if exact else []
            found.append(
                {
                    "vocab": cell["vocab"], "entry": cell["entry"], "state": cell["state"], "text": cell["text"],
                    "switch": str(row["engine"]).removeprefix("without "),
                    "verdict": row["verdict"] if row["verdict"] != EXACT else on["verdict"],
                    "gain": median(values) if values else None, "low": min(values, default=None),
                    "high": max(values, default=None),
                }
            )
    return pd.DataFrame(found)


def sweep(report: Report) -> pd.DataFrame:
    """Rows of `cache`."""
    points = (report.get("sweep") or {}).get("points", ())
    found = []
    for cell in report.get("cells", ()) if points else ():
        for point, row in zip(points, cell["engines"], strict=True):
            value, low, high = spread(row.get("mb_s"))
            found.append(
                {
                    "vocab": cell["vocab"], "entry": cell.get("entry", ""), "state": cell["state"],
                    "text": cell["text"], "bits": point["bits"], "memory": point["bytes"], "verdict": row["verdict"],
                    "mb_s": value, "mb_s_low": low, "mb_s_high": high,
                }
            )
    return pd.DataFrame(found)


def nights(reports: Sequence[Report]) -> pd.DataFrame:
    """Rows of `trend`: the speed of each engine and cell in each report."""
    found = []
    for report in reports:
        for _, row in speeds(report).iterrows():
            if row["verdict"] == EXACT:
                threads = f", {row['threads']} threads" if row["threads"] != 1 else ""
                found.append(
                    {
                        "started": report["started"], "engine": row["engine"], "value": row["mb_s"],
                        "low": row["mb_s_low"],
                        "cell": f"{row['vocab']}, {row['text']}, {row['entry']}, {row['state']}{threads}",
                        "high": row["mb_s_high"], "ours": row["ours"],
                    }
                )
    return pd.DataFrame(found)
