"""Every chart that there are rows for, and of each other one why it is not drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pandas as pd
from tokassay.reports.charts.agreement import agreement
from tokassay.reports.charts.cache import cache
from tokassay.reports.charts.chart import Chart, NoData
from tokassay.reports.charts.coverage import coverage
from tokassay.reports.charts.documents import documents
from tokassay.reports.charts.ladder import ladder
from tokassay.reports.charts.load import load
from tokassay.reports.charts.pipeline import pipeline
from tokassay.reports.charts.sources import DOCS, OWN, Report, Sources, gains, loads, nights, speeds, sweep, switches
from tokassay.reports.charts.stages import stages
from tokassay.reports.charts.states import states
from tokassay.reports.charts.threads import threads
from tokassay.reports.charts.throughput import throughput
from tokassay.reports.charts.training import training
from tokassay.reports.charts.trend import trend, trend_verdicts
from tokassay.reports.charts.volumes import volumes
from tokassay.reports.errors import ReportError
from tokassay.reports.thin import thin

Draw = Callable[[], Chart]
NO_BENCH = "no bench is given (--bench FILE, or a store that has one)"
NO_RUN = "no audit is given (--store FILE)"


@dataclass
class Drawn:
    """Charts in order, and (name, reason) of those without data."""

    charts: list[Chart] = field(default_factory=list)
    absent: list[tuple[str, str]] = field(default_factory=list)


def draw(sources: Sources, only: Sequence[str] = ()) -> Drawn:
    """Draw all kinds, or those named. Raises ReportError for a name that is none."""
    unknown = [name for name in only if name not in KINDS]
    if unknown:
        raise ReportError(f"no chart is called {unknown[0]}", where="--only", remedy=f"known are {', '.join(KINDS)}")
    drawn = Drawn()
    for name, kind in KINDS.items():
        if only and name not in only:
            continue
        try:
            own = [partial(ROWS[name], sources.rows[name])] if name in sources.rows else list(kind(sources))
        except NoData as reason:
            drawn.absent.append((name, str(reason)))
            continue
        reasons = []
        for one in own:
            try:
                drawn.charts.append(one())
            except NoData as reason:
                reasons.append(str(reason))
        drawn.absent += [(name, reason) for reason in dict.fromkeys(reasons)]
    return drawn


def latest(sources: Sources, rows: Callable[[Report], pd.DataFrame], reason: str) -> tuple[Report, pd.DataFrame]:
    """The last bench that has such rows, and these. Raises NoData."""
    if not sources.benches:
        raise NoData(NO_BENCH)
    for report in reversed(sources.benches):
        found = rows(report)
        if len(found):
            return report, found
    raise NoData(reason)


def grouped(
    found: tuple[Report, pd.DataFrame], columns: list[str], chart: Callable[[pd.DataFrame], Chart]
) -> Iterator[Draw]:
    """A drawing for each group of a bench's rows; its caption says so if the bench's suite proves too little."""
    report, table = found

    def told(own: pd.DataFrame) -> Chart:
        made = chart(own)
        return replace(made, caption=f"{made.caption} {thin(report)}".rstrip())

    for _, own in table.groupby(columns, sort=False):
        yield partial(told, own)


def _cells(report: Report) -> pd.DataFrame:
    table = speeds(report)
    return table[[not DOCS.fullmatch(str(text)) for text in table["text"]]] if len(table) else table


def _sizes(report: Report) -> pd.DataFrame:
    table = speeds(report)
    return table[[bool(DOCS.fullmatch(str(text))) for text in table["text"]]] if len(table) else table


def _throughput(sources: Sources) -> Iterator[Draw]:
    return grouped(latest(sources, _cells, "no bench has cells"), ["vocab", "entry", "state", "threads"], throughput)


def _states(sources: Sources) -> Iterator[Draw]:
    return grouped(latest(sources, _cells, "no bench has cells"), ["vocab", "entry", "threads"], states)


def _threads(sources: Sources) -> Iterator[Draw]:
    found = latest(sources, gains, "no bench has more than one thread (bench --threads 1,2)")
    return grouped(found, ["vocab", "entry", "text"], threads)


def _cache(sources: Sources) -> Iterator[Draw]:
    report, table = latest(sources, sweep, "no bench has a sweep (bench --cache-sweep)")
    processor = report["sweep"].get("processor")
    return grouped((report, table), ["vocab", "entry"], lambda own: cache(own, processor=processor))


def _ladder(sources: Sources) -> Iterator[Draw]:
    found = latest(sources, switches, "no bench has switches (bench --ablation)")
    return grouped(found, ["vocab", "entry", "state"], ladder)


def _documents(sources: Sources) -> Iterator[Draw]:
    found = latest(sources, _sizes, "no bench has documents of several sizes (bench --text docs-16,docs-256,...)")
    return grouped(found, ["vocab", "entry", "state", "threads"], documents)


def _load(sources: Sources) -> Iterator[Draw]:
    return grouped(latest(sources, loads, "no bench has load times (bench --load)"), ["vocab"], load)


def _own(table: pd.DataFrame) -> pd.DataFrame:
    """With `ours`, where rows have the engine's requirement."""
    return table.assign(ours=table["requirement"].eq(OWN)) if "requirement" in table else table


def _run(sources: Sources) -> Any:
    if sources.run is None:
        raise NoData(NO_RUN)
    return sources.run


def _engines(sources: Sources) -> set[str]:
    cells = _run(sources).cells
    return set(cells.loc[cells["requirement"].eq(OWN), "engine"])


def _volumes(sources: Sources) -> Iterator[Draw]:
    # A block is in v_cell once an engine and operation; and its corpus may be asked for under several contracts.
    cells = _run(sources).cells.drop_duplicates(["corpus", "domain", "ordinal"])
    yield lambda: volumes(cells)


def _coverage(sources: Sources) -> Iterator[Draw]:
    table, own = _run(sources).verdicts, _engines(sources)
    table = table.assign(ours=table["engine"].isin(own))
    for vocab, rows in table.groupby("contract_name", sort=False):
        yield partial(coverage, rows, vocab=str(vocab))


def _stages(sources: Sources) -> Iterator[Draw]:
    table, own = _run(sources).divergences, _engines(sources)
    if table.empty:
        raise NoData("the run has no divergence")
    yield lambda: stages(table.assign(ours=table["engine"].isin(own)))


def _pipeline(sources: Sources) -> Iterator[Draw]:
    rows = [{"stage": stage, "source": "vectors", "count": 1} for stage in sources.vectors]
    if sources.run is not None:
        rows += [
            {"stage": stage, "source": "store", "count": 1}
            for stage in sources.run.divergences.loc[~sources.run.divergences["verdict"].eq("declared"), "stage"]
        ]
    yield lambda: pipeline(rows)


def _trend(sources: Sources) -> Iterator[Draw]:
    if not sources.benches:
        raise NoData(NO_BENCH)
    table = nights(sources.benches)
    yield lambda: trend(table)


def _verdicts(sources: Sources) -> Iterator[Draw]:
    if sources.run is None:
        raise NoData(NO_RUN)
    yield lambda: trend_verdicts(sources.verdicts)


def _given(name: str) -> Callable[[Sources], Iterator[Draw]]:
    """A chart that is drawn of given rows alone."""

    def none(_: Sources) -> Iterator[Draw]:
        raise NoData(f"no rows are given (--rows {name}=FILE)")

    return none


# In the order in which they are shown; where each gets its rows.
KINDS: dict[str, Callable[[Sources], Iterator[Draw]]] = {
    "pipeline": _pipeline, "coverage": _coverage, "stages": _stages, "throughput": _throughput, "states": _states,
    "documents": _documents, "threads": _threads, "load": _load, "ladder": _ladder, "cache": _cache,
    "agreement": _given("agreement"), "training": _given("training"), "volumes": _volumes, "trend": _trend,
    "trend-verdicts": _verdicts,
}
ROWS: dict[str, Callable[[pd.DataFrame], Chart]] = {
    "pipeline": pipeline, "coverage": coverage, "stages": stages, "throughput": throughput, "states": states,
    "documents": documents, "threads": threads, "load": load, "ladder": ladder, "cache": cache, "agreement": agreement,
    "training": training, "volumes": volumes, "trend": trend, "trend-verdicts": trend_verdicts,
}
