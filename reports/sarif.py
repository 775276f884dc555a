"""The gate's judgement as SARIF 2.1.0, for code scanning: a result each divergence, worse cell, slow-down and so on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from tokassay.reports.visible import visible

VERSION = "2.1.0"
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
# rule -> what it says; a result's rule is one of these.
RULES = {
    "differ": "The ids are not those of the contract.",
    "flaky": "Asked again, the engine gave another answer.",
    "error": "The engine raised an exception that it does not declare.",
    "crash": "The engine's process died.",
    "timeout": "The engine gave no answer within the time limit.",
    "oom": "The engine went past the memory limit.",
    "self": "The engine gives other ids for the same documents asked in another way.",
    "worse": "Documents of a cell have a worse verdict than in the baseline.",
    "absent": "An engine that took part in the baseline takes no part.",
    "slower": "The engine is slower than in the baseline, by more than the tolerance.",
    "lost": "The engine was timed with right ids in the baseline and has none to time now.",
}


def sarif(gate: Mapping[str, Any], version: str) -> str:
    """The JSON text of a `tokassay.gate/1` object; `version` is tokassay's."""
    results = list(_results(gate))
    order = list(RULES)
    for result in results:
        result["ruleIndex"] = order.index(result["ruleId"])
    driver = {
        "name": "tokassay",
        "version": version,
        "rules": [{"id": rule, "shortDescription": {"text": text}} for rule, text in RULES.items()],
    }
    # `successful`: the tool ran to its end, whatever it found.
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True, "exitCode": gate["exit_code"]}],
        "results": results,
        "columnKind": "unicodeCodePoints",
    }
    return json.dumps({"$schema": SCHEMA, "version": VERSION, "runs": [run]}, ensure_ascii=True, indent=1) + "\n"


def _results(gate: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for state, rows in (
        ("new", gate["new"]), ("first", gate["first"]), ("unchanged", gate["known"]), ("absent", gate["healed"])
    ):  # fmt: skip
        for row in rows:
            text = f"{row['engine']} under {row['contract']}: {row['explanation']} ({row['signature']})"
            further = {"input": row["input"], "documents": row["documents"], "command": visible(row["command"])}
            named = (row["engine"], row["contract"], row["signature"])
            yield _result(row["verdict"], state, text, row["corpus"], named, further)
    own = gate["self"] or {}
    for state, key in (("new", "new"), ("first", "first"), ("unchanged", "known")):
        rows = own.get(key, ())
        for row in rows:
            text = f"{row['engine']} under {row['vocabulary']}, {row['way']}: {row['verdict']} {row.get('detail', '')}"
            way = (row["engine"], row["vocabulary"], row["corpus"], row["way"])
            yield _result("self", state, text.strip(), row["corpus"], way, {})
    for cell in gate["cells"]:
        if cell["worse"]:
            name = tuple(cell[key] for key in ("engine", "contract", "specials", "corpus", "domain", "operation"))
            changes = ", ".join(f"{change} {count}" for change, count in sorted(cell["changes"].items()))
            text = f"{cell['worse']} documents of {', '.join(name)} got worse: {changes}"
            yield _result("worse", "new", text, cell["corpus"], name, {})
    for row in gate["absent"]:
        text = f"{row['engine']} took part under {row['contract']} in the baseline and does not now"
        yield _result("absent", "new", text, row["engine"], (row["engine"], row["contract"]), {})
    for row in gate["speeds"]:
        if row["verdict"] in ("slower", "lost"):
            name = tuple(str(row[key]) for key in ("engine", "vocab", "text", "entry", "state", "threads"))
            said = row["why"] or f"{row['ratio']} times the speed of the baseline ({row['low']} to {row['high']})"
            yield _result(row["verdict"], "new", f"{', '.join(name)}: {said}", row["text"], name, {})


def message(text: str) -> str:
    """A message's text: hidden characters spelled out, braces doubled (single ones are placeholders, 3.11.5), and no
    embedded link (3.11.6)."""
    return visible(text).replace("{", "{{").replace("}", "}}").replace("](", "] (")


def _result(
    rule: str, state: str, text: str, place: str, name: tuple[str, ...], further: Mapping[str, Any]
) -> dict[str, Any]:
    """One result; one that is `first` is new, and no error.

    Its place is what was read: a corpus is no file of the repository, its name is a relative URI.
    """
    fingerprint = sha256("\n".join((rule, *name)).encode("utf-8", "surrogatepass")).hexdigest()
    uri = quote(visible(place).lstrip("/"), safe="/") or "."
    return {
        "ruleId": rule,
        "level": {"new": "error", "first": "note", "unchanged": "note", "absent": "none"}[state],
        "kind": "fail" if state != "absent" else "pass",
        "baselineState": "new" if state == "first" else state,
        "message": {"text": message(text)},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}}}],
        "partialFingerprints": {"tokassay/v1": fingerprint},
        **({"properties": dict(further)} if further else {}),
    }
