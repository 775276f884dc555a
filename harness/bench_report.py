"""A bench as one JSON object, and that object as tables: plain rows that a terminal or Markdown shows.

Tables are made from the object and from nothing else, so that a stored `--json` can be shown again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tokassay.harness.bench import Result
from tokassay.harness.bench_rank import KEY, key_of
from tokassay.harness.bench_sweep import knee, speeds
from tokassay.harness.rates import EXACT, geometric_mean, row_json
from tokassay.reports.thin import thin

SCHEMA = "tokassay.bench/2"
OURS = "◆"  # the mark of our own engine
SHORT = 256  # documents below so many bytes are shown as nanoseconds a call
MEAN_OF = ("english", "verses", "code", "mixed", "cjk")  # the kinds that a geometric mean is taken over
STATES = {
    "cold": "cold: first pass of a fresh process, load excluded",
    "first": "first: first pass after one small call",
    "warm": "warm: after other text of the same kind",
    "replay": "replay: the same bytes a second time",
}


@dataclass
class Table:
    """A table to be shown: `title` above it, `notes` below. Cells are plain words."""

    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def cell_json(result: Result) -> dict[str, Any]:
    """One cell in one state."""
    size, documents = len(result.half.data), result.documents
    return {
        "vocab": result.cell.loaded.name,
        "contract": result.cell.loaded.contract.digest,
        "text": result.cell.text.kind,
        "sha256": result.half.sha256,
        "domain": result.cell.text.domain,
        "entry": result.cell.entry,
        "state": result.state,
        "threads": result.cell.threads,
        "bytes": size,
        "documents": documents,
        "tokens": result.tokens,
        "bytes_token": round(size / result.tokens, 4) if result.tokens else None,
        "digest": result.digest,
        "reference": result.source,
        "engines": [row_json(row, size, documents) for row in result.rows],
    }


def means(cells: Sequence[dict[str, Any]], subject: str) -> list[dict[str, Any]]:
    """The subject's geometric mean ratio for each vocabulary, entry point and state, over the kinds of MEAN_OF."""
    found = []
    for key in _keys(cells):
        ratios = {
            cell["text"]: row["ratio"]["median"]
            for cell in _own(cells, key)
            if cell["text"] in MEAN_OF
            for row in cell["engines"]
            if row["engine"] == subject and row["ratio"]
        }
        mean = geometric_mean(ratios.values())
        if mean is not None:
            found.append({
                **dict(zip(KEY, key, strict=True)), "engine": subject, "ratio": float(f"{mean:.5g}"),
                "texts": list(ratios),
            })
    return found


def measured(report: dict[str, Any]) -> bool:
    """Whether there is any figure in it."""
    return (
        any(row["verdict"] == EXACT and row["cpu_ns"] for cell in report["cells"] for row in cell["engines"])
        or any(row["ms"] for row in report["load"])
        or any(size["ns_byte"] for row in report["growth"] for size in row["sizes"])
        or any(row["ratio"] for row in report["threads"])
    )


def voids(report: dict[str, Any]) -> list[str]:
    """Every row that has no figure, and why, in words."""
    found = []
    for cell in report["cells"]:
        place = f"{cell['vocab']}, {cell['text']}, {cell['entry']}, {cell['state']}{_threads(cell)}"
        found += [_why(place, row["engine"], row["verdict"], row["detail"], row["command"]) for row in cell["engines"]]
    for row in report["load"]:
        found.append(_why(f"{row['vocab']}, load, {row['state']}", row["engine"], row["verdict"], row["detail"]))
    for row in report["growth"]:
        for size in row["sizes"]:
            place = f"{row['vocab']}, {row['text']} of {size['bytes']:,} bytes"
            found.append(_why(place, row["engine"], size["verdict"], size["detail"]))
    for row in report["threads"]:
        found.append(_why(f"{row['vocab']}, two threads, {row['entry']}", row["engine"], row["verdict"], row["detail"]))
    return [one for one in found if one]


def _why(place: str, engine: str, verdict: str, detail: str, command: str = "") -> str:
    words = f": {detail}" * bool(detail) + f"; shown by: {command}" * bool(command)
    return "" if verdict == EXACT else f"{engine} ({place}): {verdict}{words}"


# -- tables -----------------------------------------------------------------------------------------------


def tables(report: dict[str, Any], *, tokens: bool = False) -> list[Table]:
    """All tables of a report, in order. `tokens`: millions of ids a second beside each speed."""
    if report["switches"]:
        return [switch_table(report), *_noted(ablation_tables(report), report)]
    if report.get("sweep"):
        return _noted(sweep_tables(report), report)
    made = [
        *speed_tables(report, tokens=tokens), *ranking_tables(report), *memory_tables(report), *load_tables(report),
        *growth_tables(report), *thread_tables(report),
    ]  # fmt: skip
    return [*_noted(made, report), *proof_tables(report)]


def _noted(made: list[Table], report: Mapping[str, Any]) -> list[Table]:
    """Tables of figures, each with the note on a suite that proves too little."""
    for table in made:
        table.notes += [words] if (words := thin(report)) else []
    return made


def speed_tables(report: dict[str, Any], *, tokens: bool = False) -> list[Table]:
    """One for each vocabulary, entry point and state: texts down, engines across, the subject's ratio last."""
    made, subject = [], report["subject"]
    for key in _keys(report["cells"]):
        own = _own(report["cells"], key)
        engines = [row["engine"] for row in own[0]["engines"]]
        ratio = f"{subject} / best rival"
        table = Table(_title(key), ["text", *engines, *([ratio] if subject in engines else []), "ids"])
        for cell in own:
            rows = {row["engine"]: row for row in cell["engines"]}
            shown = [_figure(cell, rows[engine]) + (_ids(cell, rows[engine]) if tokens else "") for engine in engines]
            last = [_ratio(rows[subject])] if subject in rows else []
            table.rows.append([cell["text"], *shown, *last, cell["digest"][:8]])
        for mean in report["means"]:
            if key_of(mean) == key and len(mean["texts"]) > 1:
                blanks = [""] * len(engines)
                table.rows.append([f"geometric mean of {len(mean['texts'])}", *blanks, f"{mean['ratio']:.2f}", ""])
        if own:
            table.notes.append(_forms(report, own[0]["entry"], engines))
        if own and own[0]["threads"] > 1:
            table.notes.append("Megabytes a second of wall time, and so the ratios.")
        if tokens:
            table.notes.append("M ids/s: millions of ids a second, at the median speed. Ids of two vocabularies are no "
                               "common unit; megabytes are.")
        made.append(table)
    return made


def ranking_tables(report: dict[str, Any]) -> list[Table]:
    """Who is first, where more than one engine is ranked: over which cells, and how many each verified."""
    made = []
    for one in report["ranking"]:
        if len(one["engines"]) < 2 and not one["apart"]:
            continue
        title = _title(tuple(one[name] for name in KEY))
        table = Table(
            f"Ranking{', apart' if one['apart'] else ''}: {title}",
            ["engine", "MB/s, geometric mean", "to the first", "cells verified"],
        )
        for row in one["engines"]:
            mark = f" {OURS}" if row["ours"] else ""
            ratio = _interval(row["ratio"]) if row["ratio"] else "–"
            covered = f"{row['verified']} of {row['asked']}"
            table.rows.append([f"{row['engine']}{mark}", _short(row["mb_s"]), ratio, covered])
        for row in one["unverified"]:
            mark = f" {OURS}" if row["ours"] else ""
            table.rows.append([f"{row['engine']}{mark}", "–", "–", f"0 of {row['asked']}"])
        table.notes.append(f"Over {', '.join(one['cells'])}. {OURS}: our own engine; it gets what the others get.")
        made.append(table)
    return made


def memory_tables(report: dict[str, Any]) -> list[Table]:
    """Resident memory of a pass of its own: the most, and what is left after the calls; in the last state asked for."""
    made = []
    for vocab in dict.fromkeys(cell["vocab"] for cell in report["cells"]):
        own = [cell for cell in report["cells"] if cell["vocab"] == vocab]
        last = {(cell["text"], cell["entry"], cell["threads"]): cell for cell in own}
        table = Table(f"{vocab}: memory", ["text", "entry", "engine", "peak, MB", "steady, MB", "Python blocks"])
        for cell in last.values():
            for row in cell["engines"]:
                if row["steady_bytes"]:
                    counted = "not countable" if row["allocations"] is None else f"{row['allocations']:,}"
                    sizes = [f"{row[name] / 1e6:.0f}" for name in ("peak_bytes", "steady_bytes")]
                    place = [cell["text"], cell["entry"] + _threads(cell), row["engine"]]
                    table.rows.append([*place, *sizes, counted])
        if table.rows:
            table.notes.append("Of a pass of its own. Python blocks: of its allocator, left by one call, which are the "
                               "ids; what native code allocates is not countable.")
            made.append(table)
    return made


def proof_tables(report: dict[str, Any]) -> list[Table]:
    """Which build passed the gate suite, by which entry point and in which domain."""
    if not report["proofs"]:
        return []
    table = Table("Proofs", ["engine", "vocabulary", "entry", "threads", "domain", "documents", "passed", "detail"])
    for one in report["proofs"]:
        passed = "yes" if one["passed"] else "no"
        words = [one["engine"], one["vocab"], one["entry"], str(one["threads"]), one["domain"]]
        table.rows.append([*words, f"{one['documents']:,}", passed, one["detail"]])
    return [table]


def load_tables(report: dict[str, Any]) -> list[Table]:
    """Milliseconds of load and first call, half and 95 % of them; how many times as long as the subject's."""
    made = []
    for vocab in dict.fromkeys(row["vocab"] for row in report["load"]):
        table = Table(
            f"{vocab}: load in a fresh process and encode 100 bytes",
            ["engine", "files", "wall ms, p50", "p95", "CPU ms, p50", "p95", "times the CPU p50 of the first"],
        )
        own = [row for row in report["load"] if row["vocab"] == vocab]
        for row in own:
            base = next(one for one in own if one["state"] == row["state"])["cpu_ms"]
            times = f"{row['cpu_ms']['median'] / base['median']:.2f}" if base and row["cpu_ms"] else "–"
            wall, cpu = ([_spread(row[name], row), _tail(row[f"{name}_p95"])] for name in ("ms", "cpu_ms"))
            table.rows.append([row["engine"], row["state"], *wall, *cpu, times])
        table.notes.append("cold: the vocabulary's files were dropped from the page cache before each load; warm: they "
                           "were in it.")
        made.append(table)
    return made


def growth_tables(report: dict[str, Any]) -> list[Table]:
    """Nanoseconds a byte at both sizes, what one is of the other, and the memory of the larger."""
    made = []
    for vocab in dict.fromkeys(row["vocab"] for row in report["growth"]):
        own = [row for row in report["growth"] if row["vocab"] == vocab]
        small = own[0]["sizes"][0]["bytes"]
        heads = [f"ns a byte, {small / 1e6:g} MB", "larger, MB", "ns a byte", "growth", "peak memory, MB"]
        table = Table(f"{vocab}: crafted texts, whole, cold", ["text", "engine", *heads])
        for row in own:
            least, larger = row["sizes"]
            table.rows.append([
                row["text"], row["engine"], _spread(least["ns_byte"], least), f"{larger['bytes'] / 1e6:g}",
                _spread(larger["ns_byte"], larger), f"{row['growth']:.2f}" if row["growth"] else "–",
                f"{larger['peak_bytes'] / 1e6:.0f}" if larger["peak_bytes"] else "–",
            ])
        made.append(table)
    return made


def thread_tables(report: dict[str, Any]) -> list[Table]:
    """What two threads and two processes gain over one, in wall time."""
    made = []
    for vocab in dict.fromkeys(row["vocab"] for row in report["threads"]):
        own = [row for row in report["threads"] if row["vocab"] == vocab]
        table = Table(
            f"{vocab}: two threads beside two processes, {own[0]['text']}, {own[0]['bytes'] / 1e6:.0f} MB, wall time",
            ["engine", "entry", "gain of two threads", "gain of two processes", "threads / processes"],
        )
        for row in own:
            gains = [_spread(row[name], row) for name in ("gain_threads", "gain_processes", "ratio")]
            table.rows.append([row["engine"], row["entry"], *gains])
        made.append(table)
    return made


def _keys(cells: Iterable[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return list(dict.fromkeys(map(key_of, cells)))


def _own(cells: Iterable[dict[str, Any]], key: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [cell for cell in cells if key_of(cell) == key]


def _title(key: tuple[Any, ...]) -> str:
    named = dict(zip(KEY, key, strict=True))
    domain = "" if named["domain"] == "neutral" else f"{named['domain']}, "
    return f"{named['vocab']}, {domain}{named['entry']}{_threads(named)}, {STATES[named['state']]}"


def _threads(cell: Mapping[str, Any]) -> str:
    return f", {cell['threads']} threads" if cell["threads"] > 1 else ""


def _figure(cell: dict[str, Any], row: dict[str, Any]) -> str:
    """Megabytes a second, or nanoseconds a call where documents are short; the verdict where there is no figure."""
    short = cell["documents"] > 1 and cell["bytes"] / cell["documents"] < SHORT
    figure = row["ns_call"] if short else row["wall_mb_s"] if cell["threads"] > 1 else row["mb_s"]
    return _spread(figure, row) + (" ns" if short and figure else "")


def _spread(figure: dict[str, float] | None, row: dict[str, Any]) -> str:
    if not figure:
        return str(row["verdict"])
    return f"{_short(figure['median'])} ({_short(figure['min'])}–{_short(figure['max'])})"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _ids(cell: dict[str, Any], row: dict[str, Any]) -> str:
    """Millions of ids a second; nothing where there is no speed."""
    return f"; {cell['tokens'] / cell['bytes'] * row['mb_s']['median']:.1f} M ids/s" if row["mb_s"] else ""


def _tail(value: float | None) -> str:
    return "–" if value is None else _short(value)


def _ratio(row: dict[str, Any]) -> str:
    if not row["ratio"]:
        return "–"
    return f"{_interval(row['ratio'])} {row['ratio_to']}"


def _interval(ratio: dict[str, Any]) -> str:
    """A ratio with its interval, and whether it tells the two apart."""
    unresolved = "" if ratio["resolved"] else ", not resolvable"
    return f"{ratio['median']:.2f} ({ratio['low']:.2f}–{ratio['high']:.2f}){unresolved}"


def _forms(report: dict[str, Any], entry: str, engines: Sequence[str]) -> str:
    """What each engine was asked for and gives."""
    told = {one["engine"]: one["entries"].get(entry, "") for one in report["engines"]}
    return "Entry points: " + "; ".join(f"{name}: {told[name]}" for name in engines if told.get(name)) + "."


def switch_table(report: dict[str, Any]) -> Table:
    """What is turned off, and how."""
    table = Table("Optimizations", ["optimization", "switched off by", "what it is"])
    for one in report["switches"]:
        table.rows.append([one["name"], f"{one['option']} = {one['off']}", one["what"]])
    return table


def ablation_tables(report: dict[str, Any]) -> list[Table]:
    """One for each vocabulary, entry point and state: switches down, texts across. A figure is the CPU time with the
    switch off over that with everything on, paired by repetition: above 1 it pays."""
    made = []
    for key in _keys(report["cells"]):
        own = _own(report["cells"], key)
        labels = [row["engine"] for row in own[0]["engines"]]
        table = Table(_title(key), ["", *(cell["text"] for cell in own)])
        for place, label in enumerate(labels):
            table.rows.append([label, *(_without(cell["engines"][0], cell["engines"][place]) for cell in own)])
        table.notes.append(
            "The first row is megabytes a second; the others are CPU time without it over CPU time with everything on, "
            "median (least–greatest)."
        )
        made.append(table)
    return made


def _without(on: dict[str, Any], off: dict[str, Any]) -> str:
    if not off["mb_s"]:
        return str(off["verdict"])
    if off is on:
        return f"{on['mb_s']['median']:.0f} MB/s"
    times = [b / max(a, 1) for a, b in zip(on["cpu_ns"], off["cpu_ns"], strict=False)]
    return f"{median(times):.2f} ({min(times):.2f}–{max(times):.2f})" if times else "–"


def sweep_tables(report: dict[str, Any]) -> list[Table]:
    """One for each vocabulary, entry point and state: sizes of the cache down, texts across, megabytes a second."""
    made = []
    for key in _keys(report["cells"]):
        own = _own(report["cells"], key)
        table = Table(_title(key), ["entries", "memory", *(f"{cell['text']}, MB/s" for cell in own)])
        for place, point in enumerate(report["sweep"]["points"]):
            shown = [_spread(speeds(cell)[place], cell["engines"][place]) for cell in own]
            table.rows.append([point["engine"], _memory(point["bytes"]), *shown])
        found = ((cell["text"], knee(cell, report["sweep"])) for cell in own)
        knees = ", ".join(f"{text} 2^{bits}" for text, bits in found if bits is not None)
        table.notes.append(f"The smallest cache with 95 % of the best median: {knees or 'none'}.")
        made.append(table)
    return made


def _memory(size: int) -> str:
    return "–" if not size else f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


# -- Markdown ---------------------------------------------------------------------------------------------

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def markdown(report: dict[str, Any], *, tokens: bool = False) -> str:
    """The report as a page: how it was made, then every table, then what has no figure and why."""
    machine = report["machine"]
    references = ", ".join(report["references"]) or "none"
    lines = [
        "# Ablation" if report["switches"] else "# Cache sweep" if report.get("sweep") else "# Benchmarks",
        "",
        f"Made by `{report['command']}` on {report['finished'][:10]}.",
        "",
        f"Machine: {machine['cpu']}, {machine['cores']} cores, {machine['memory'] / 2**30:.0f} GiB, "
        f"{machine['platform']}, Python {machine['python']}; load average {machine['load_average']} when it began. "
        f"One thread, kept on processor {report['cpu']}, unless a table says otherwise.",
        "",
        "Every figure is of a call whose own output has the SHA-256 digest of the reference's ids on the same text "
        f"({references}); the column *ids* begins it. Median (least–greatest) of {report['repeat']} rounds, each "
        f"engine once a round in a fresh process, in an order drawn with seed {report['order_seed']}. Megabytes (10^6 "
        "bytes) of input a second of CPU time. A ratio is that of CPU times of the same round, to the exact rival with "
        "the best median: median (95 % interval); where the interval contains 1, the two are *not resolvable*.",
        "",
        "| engine | version | options |",
        "|---|---|---|",
    ]
    for engine in report["engines"]:
        options = ", ".join(f"{name} = {value}" for name, value in engine["options"].items())
        lines.append(f"| {engine['engine']} | {engine['version'] or '–'} | {options or '–'} |")
    if report["texts"]:
        lines += ["", "| text | what | sources | bytes of both halves | SHA-256 begins |", "|---|---|---|---|---|"]
    for text in report["texts"]:
        sizes = f"{text['a']['bytes']:,} and {text['b']['bytes']:,}"
        digests = f"{text['a']['sha256'][:8]}, {text['b']['sha256'][:8]}"
        sources = ", ".join(text["sources"]) or "generated"
        lines.append(f"| {text['kind']} | {text['title']} | {sources} | {sizes} | {digests} |")
    if report["warnings"]:
        lines += ["", "What made the machine imprecise:", ""]
        lines += [f"- {one['what']}. To mend it, {one['remedy']}." for one in report["warnings"]]
    for table in tables(report, tokens=tokens):
        lines += ["", f"## {table.title}", "", *markdown_table(table)]
        lines += [line for note in table.notes for line in ("", note)]
    if absent := voids(report):
        lines += ["", "## Without a figure", "", *(f"- {one}" for one in absent)]
    return "\n".join(lines) + "\n"


def markdown_table(table: Table) -> list[str]:
    """Its lines; a bar in a word is written so that it ends no cell."""
    rows = [table.columns, ["---"] * len(table.columns), *table.rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]


def between_markers(page: str, made: str) -> str:
    """`made` in place of what stands between the markers of `page`; without markers it is the whole page."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        return made
    body = "\n".join(line for line in made.splitlines() if not line.startswith("# "))
    return f"{before}{BEGIN}\n{body.strip()}\n{END}{after}"
