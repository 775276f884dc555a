"""The gate's judgement as JUnit XML, in the form that Jenkins and its kin read: a suite an engine, a test a cell.

Documents and explanations under audit are hostile: XML 1.0 has no place for most control characters, not even escaped,
so everything is spelled out first (visible.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tokassay.reports.visible import visible

FAILING = ("differ", "flaky", "error", "crash", "timeout", "oom")
VERIFYING = ("match", "declared")
SLOW = ("slower", "lost")
SKIPPED = {"known": "known", "first": "asked for the first time"}
NO_TIME = "0"  # of a test: a gate measures none of its own
Test = tuple[str, str, str, str, str]  # class, name, `passed`, `failure` or `skipped`, one line, the whole text


def junit(gate: Mapping[str, Any]) -> str:
    """The XML text of a `tokassay.gate/1` object."""
    root = Element("testsuites", name="tokassay gate")
    totals = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    started = (gate["run"] or {}).get("started", "")
    for name, tests in _suites(gate):
        suite = SubElement(root, "testsuite", name=visible(name), time=NO_TIME)
        if started:
            suite.set("timestamp", visible(started))
        counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
        for where, what, outcome, line, text in tests:
            test = SubElement(suite, "testcase", classname=visible(where), name=visible(what), time=NO_TIME)
            counts["tests"] += 1
            if outcome == "failure":
                counts["failures"] += 1
                SubElement(test, "failure", message=visible(line), type=visible(where)).text = _lines(text)
            elif outcome == "skipped":
                counts["skipped"] += 1
                SubElement(test, "skipped", message=visible(line))
            elif text:
                SubElement(test, "system-out").text = _lines(text)
        for key, count in counts.items():
            suite.set(key, str(count))
            totals[key] += count
    for key in ("tests", "failures", "errors"):  # the root may have no other counts
        root.set(key, str(totals[key]))
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _lines(text: str) -> str:
    """Text of several lines with everything hidden spelled out but the line ends."""
    return "\n".join(visible(line) for line in text.split("\n"))


def _suites(gate: Mapping[str, Any]) -> Iterator[tuple[str, list[Test]]]:
    """Each suite's name and tests: divergences, self-differences, cells by engine, speeds, and the gate as a whole."""
    known = [(row, state) for state in ("new", "first", "known") for row in gate[state]]
    if known:
        yield "divergences", [_divergence(row, state) for row, state in known]
    own = [(row, state) for state in ("new", "first", "known") for row in (gate["self"] or {}).get(state, ())]
    if own:
        yield "self-differences", [_own(row, state) for row, state in own]
    for engine in dict.fromkeys(cell["engine"] for cell in gate["cells"]):
        yield engine, [_cell(cell) for cell in gate["cells"] if cell["engine"] == engine]
    if gate["absent"]:
        yield "absent", [_absent(row) for row in gate["absent"]]
    if gate["speeds"]:
        yield "speed", [_speed(row) for row in gate["speeds"]]
    failed = gate["exit_code"] != 0
    yield "gate", [
        ("tokassay.gate", "judgement", "failure" if failed else "passed", f"exit code {gate['exit_code']}",
         "\n".join(gate["sentences"]))
    ]  # fmt: skip


def _divergence(row: Mapping[str, Any], state: str) -> Test:
    where, what = f"divergence.{row['engine']}.{row['contract']}", f"{row['verdict']}: {row['signature']}"
    count = f"{row['documents']} documents, first {row['first']}"
    text = "\n".join((row["explanation"], f"input: {row['input']}", count, row["command"]))
    if state != "new":
        return where, what, "skipped", f"{SKIPPED[state]}: {row['explanation']}", ""
    return where, what, "failure", f"new: {row['explanation']}", text


def _own(row: Mapping[str, Any], state: str) -> Test:
    where = f"self.{row['engine']}.{row['vocabulary']}"
    line = f"{SKIPPED.get(state, state)}: {row['verdict']} {row.get('detail', '')}".strip()
    return where, f"{row['corpus']}, {row['way']}", "failure" if state == "new" else "skipped", line, line


def _cell(cell: Mapping[str, Any]) -> Test:
    where = f"{cell['engine']}.{cell['contract']}.specials-{cell['specials']}"
    what = f"{cell['corpus']}, {cell['domain']}, {cell['operation']}"
    counts = _counts(cell["verdicts"])
    if cell["worse"]:
        return where, what, "failure", f"{cell['worse']} documents got worse: {_counts(cell['changes'])}", counts
    if not any(cell["verdicts"].get(word) for word in (*VERIFYING, *FAILING)):
        return where, what, "skipped", counts, ""
    return where, what, "passed", "", counts


def _absent(row: Mapping[str, Any]) -> Test:
    line = "took part in the baseline and does not now"
    return f"absent.{row['contract']}", row["engine"], "failure", line, line


def _speed(row: Mapping[str, Any]) -> Test:
    where = f"speed.{row['engine']}.{row['vocab']}"
    what = ", ".join([row["text"], row["entry"], row["state"], f"threads {row['threads']}"])
    line = row["why"] or f"ratio {row['ratio']} ({row['low']} to {row['high']})"
    if row["verdict"] in ("new", "not resolvable"):
        return where, what, "skipped", f"{row['verdict']}: {line}", ""
    return where, what, "failure" if row["verdict"] in SLOW else "passed", f"{row['verdict']}: {line}", line


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{word} {count}" for word, count in sorted(counts.items()))
