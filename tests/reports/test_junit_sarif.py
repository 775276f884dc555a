"""The gate's judgement as JUnit XML, SARIF and workflow commands: valid, whole, and inert whatever a document holds."""

from __future__ import annotations

import copy
import json
import re
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import pytest
from tokassay.reports.annotations import workflow_commands
from tokassay.reports.junit import junit
from tokassay.reports.sarif import RULES, sarif

# What a document or an engine may put into an explanation, a name, a command: markup, commands, what hides or reorders.
HOSTILE = "]]></failure><x a='\"&\x00\x1b[31m\u202eabc\u2066\ud800\ufffe\r\n::error::owned%0A{0} [link](1)"


def divergence(**changes: Any) -> dict[str, Any]:
    return {
        "engine": "tok,ie", "contract": "gpt2", "signature": "traced merge", "verdict": "differ", "against": "oracle",
        "operation": "encode", "corpus": "docs/a b.jsonl@jsonl", "domain": "neutral", "documents": 3, "first": "row 1",
        "stage": "merge", "explanation": "merges 1 before 2", "input": "20 31",
        "command": "tokassay diff a b --hex 2031", **changes,
    }  # fmt: skip


def cell(**changes: Any) -> dict[str, Any]:
    return {
        "engine": "tok,ie", "contract": "gpt2", "specials": "off", "corpus": "fuzz:300", "domain": "bytes",
        "operation": "encode", "documents": 10, "common": 10, "worse": 0, "better": 0, "for_time": 0,
        "verdicts": {"match": 10}, "before": {"match": 10}, "changes": {}, **changes,
    }  # fmt: skip


def speed(**changes: Any) -> dict[str, Any]:
    return {
        "engine": "tok,ie", "vocab": "gpt2", "text": "english", "entry": "whole", "state": "warm", "threads": "1",
        "verdict": "same", "before": 10.0, "now": 10.0, "ratio": 1.0, "low": 0.99, "high": 1.01, "why": "", **changes,
    }  # fmt: skip


def gate(**changes: Any) -> dict[str, Any]:
    """A gate that found nothing; `changes` replace its fields."""
    run = {"id": "b" * 12, "started": "2026-11-30T02:00:00+00:00", "finished": "2026-11-30T03:00:00+00:00"}
    return {
        "schema": "tokassay.gate/1", "exit_code": 0, "run": run, "baseline": {**run, "id": "a" * 12}, "new": [],
        "first": [], "known": [], "healed": [], "absent": [], "cells": [cell()], "asked": {}, "self": {}, "bench": None,
        "bench_baseline": None, "tolerance": 0.05, "not_comparable": [], "speeds": [],
        "sentences": ["all is as it was"], **copy.deepcopy(changes),
    }  # fmt: skip


def everything() -> dict[str, Any]:
    """One of each thing that a gate can find, with hostile text wherever text is."""
    own = {"engine": HOSTILE, "vocabulary": "gpt2", "corpus": HOSTILE, "way": HOSTILE, "verdict": "differ",
           "detail": HOSTILE}  # fmt: skip
    hostile = dict.fromkeys(("signature", "explanation", "first", "command", "corpus", "engine", "contract"), HOSTILE)
    return gate(
        exit_code=1,
        new=[divergence(), divergence(**hostile)],
        first=[divergence(signature="first", verdict="oom")],
        known=[divergence(signature="known", verdict="crash")],
        healed=[divergence(signature="healed", **{"explanation": HOSTILE})],
        absent=[{"engine": HOSTILE, "contract": "gpt2"}],
        cells=[
            cell(),
            cell(operation="decode", verdicts={"unsupported": 10}),
            cell(corpus=HOSTILE, worse=2, verdicts={"match": 8, "differ": 2}, changes={"match -> differ": 2}),
        ],
        self={"new": [own], "known": [{**own, "way": "threads"}], "healed": []},
        speeds=[
            speed(),
            speed(state="cold", verdict="slower", ratio=0.8, low=0.79, high=0.81),
            speed(text=HOSTILE, verdict="lost", ratio=None, low=None, high=None, why=HOSTILE),
            speed(entry="batch", verdict="new", why="the baseline has no speed here"),
        ],
        not_comparable=[HOSTILE],
        sentences=[HOSTILE, "two"],
    )


# ---- JUnit XML

# Of Jenkins' junit-10.xsd, written down by hand: element -> attributes required, further ones, elements within.
STRUCTURE: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"time", "skipped", "timestamp", "hostname", "id", "package", "group", "file", "log", "url"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "testcase": ({"name"}, {"time", "classname", "group"}, {"skipped", "error", "failure", "system-out", "system-err"}),
    "failure": (set(), {"type", "message"}, set()),
    "skipped": (set(), {"type", "message"}, set()),
    "system-out": (set(), set(), set()),
}


def unfit(element: Element) -> list[str]:
    """What of an element and those within is not as the schema has it."""
    required, further, within = STRUCTURE[element.tag]
    wrong = [f"{element.tag} lacks {name}" for name in required - set(element.attrib)]
    wrong += [f"{element.tag} has {name}" for name in set(element.attrib) - required - further]
    wrong += [f"{element.tag} holds {child.tag}" for child in element if child.tag not in within]
    return wrong + [each for child in element for each in unfit(child)]


def test_structure_and_counts() -> None:
    root = fromstring(junit(everything()))
    assert root.tag == "testsuites" and unfit(root) == []
    for suite in root:
        tests = list(suite)
        for key, tag in (("failures", "failure"), ("skipped", "skipped")):
            assert int(suite.attrib[key]) == sum(test.find(tag) is not None for test in tests)
        assert int(suite.attrib["tests"]) == len(tests) > 0
        assert suite.attrib["errors"] == "0"
    for key in ("tests", "failures", "errors"):
        assert int(root.attrib[key]) == sum(int(suite.attrib[key]) for suite in root)


def test_a_wrong_structure_is_seen() -> None:
    """The check itself can fail."""
    assert unfit(fromstring('<testsuites><testsuite name="a" tests="1" failures="0"/></testsuites>'))
    assert unfit(fromstring("<testsuites><testcase name='a'/></testsuites>"))


def test_what_fails_and_what_does_not() -> None:
    found = everything()
    root = fromstring(junit(found))
    states = {
        (suite.attrib["name"], test.attrib["classname"], test.attrib["name"]): (
            test.find("failure") is not None,
            test.find("skipped") is not None,
        )
        for suite in root
        for test in suite
    }
    place = "divergence.tok,ie.gpt2"
    assert states["divergences", place, "differ: traced merge"] == (True, False)
    assert states["divergences", place, "crash: known"] == (False, True)
    assert states["divergences", place, "oom: first"] == (False, True)
    place = "tok,ie.gpt2.specials-off"
    assert states["tok,ie", place, "fuzz:300, bytes, encode"] == (False, False)
    assert states["tok,ie", place, "fuzz:300, bytes, decode"] == (False, True)
    place = "speed.tok,ie.gpt2"
    assert states["speed", place, "english, whole, warm, threads 1"] == (False, False)
    assert states["speed", place, "english, whole, cold, threads 1"] == (True, False)
    assert states["speed", place, "english, batch, warm, threads 1"] == (False, True)
    assert states["gate", "tokassay.gate", "judgement"] == (True, False)
    # 2 new divergences, 1 self-difference, 1 worse cell, 1 absent, 2 speeds, and the gate itself
    assert sum(failed for failed, _ in states.values()) == 8


def test_nothing_new_has_no_failure() -> None:
    root = fromstring(junit(gate()))
    assert root.attrib["failures"] == "0" and root.attrib["tests"] == "2"


def test_a_gate_without_a_run() -> None:
    root = fromstring(junit(gate(run=None, baseline=None, cells=[], speeds=[speed()])))
    assert unfit(root) == [] and [suite.attrib["name"] for suite in root] == ["speed", "gate"]


@pytest.mark.parametrize("char", ["\x00", "\x08", "\x1b", "\x7f", "\u202e", "\u2066", "\ufffe", "\ud800", "\u200b"])
def test_hostile_characters_are_spelled_out(char: str) -> None:
    text = junit(gate(new=[divergence(explanation=f"a{char}b", signature=char)]))
    assert char not in text
    assert f"a\\u{{{ord(char):X}}}b" in text
    fromstring(text)


def test_markup_stays_text() -> None:
    root = fromstring(junit(gate(new=[divergence(explanation="]]></failure><boom/>")])))
    assert root.find(".//boom") is None
    (failure,) = root.iterfind(".//failure")
    assert "]]></failure><boom/>" in (failure.text or "") and "]]></failure><boom/>" in failure.attrib["message"]


# ---- SARIF 2.1.0


def log_of(found: dict[str, Any]) -> dict[str, Any]:
    """The log, which must have what the specification requires (the section is beside each)."""
    log: dict[str, Any] = json.loads(sarif(found, "0.1.0"))
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-schema-2.1.0.json")  # 3.13.2, 3.13.3
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]  # 3.14.6, 3.18.2
    assert run["tool"]["driver"]["name"] == "tokassay"
    assert len({rule["id"] for rule in rules}) == len(rules)
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is True  # 3.20.14: required
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]  # 3.27.6
        assert result["message"]["text"]  # 3.27.11
        assert result["kind"] == "fail" or result["level"] == "none"  # 3.27.9
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["baselineState"] in ("new", "unchanged", "updated", "absent")  # 3.27.24
        (location,) = result["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", uri) and not uri.startswith("/")  # RFC 3986, relative
        assert set(map(type, result["partialFingerprints"].values())) == {str}  # 3.27.17
    return log


def test_sarif_has_a_result_for_each_thing_found() -> None:
    (run,) = log_of(everything())["runs"]
    counts: dict[tuple[str, str], int] = {}
    for result in run["results"]:
        key = result["ruleId"], result["baselineState"]
        counts[key] = counts.get(key, 0) + 1
    assert counts == {
        ("differ", "new"): 2, ("oom", "new"): 1, ("crash", "unchanged"): 1, ("differ", "absent"): 1, ("self", "new"): 1,
        ("self", "unchanged"): 1, ("worse", "new"): 1, ("absent", "new"): 1, ("slower", "new"): 1, ("lost", "new"): 1,
    }  # fmt: skip
    assert run["invocations"][0]["exitCode"] == 1


def test_sarif_without_anything_new_has_no_result() -> None:
    assert log_of(gate())["runs"][0]["results"] == []
    assert log_of(gate(run=None, baseline=None, cells=[], speeds=[speed()]))["runs"][0]["results"] == []


def test_every_failing_verdict_has_a_rule() -> None:
    assert {"differ", "flaky", "error", "crash", "timeout", "oom"} <= set(RULES)


def test_sarif_keeps_one_fingerprint_for_one_thing_and_two_for_two() -> None:
    (run,) = log_of(gate(new=[divergence(), divergence(signature="another")]))["runs"]
    first, second = (result["partialFingerprints"] for result in run["results"])
    (again,) = log_of(gate(known=[divergence(documents=99, input="ff")]))["runs"][0]["results"]
    assert first != second and again["partialFingerprints"] == first


def test_sarif_messages_are_inert() -> None:
    """No placeholder (3.11.5), no embedded link (3.11.6), nothing hidden."""
    (run,) = log_of(everything())["runs"]
    text = "\n".join(result["message"]["text"] for result in run["results"])
    assert not re.search(r"(?<!\{)\{\d+\}(?!\})", text) and "{{0}}" in text
    assert "](" not in text
    assert "\u202e" not in text and "\x1b" not in text and "\x00" not in text
    assert "\\u{{202E}}" in text


# ---- workflow commands


def undone(line: str) -> tuple[str, dict[str, str], str]:
    """What the runner makes of a line: kind, properties and message; written from its documentation."""
    match = re.fullmatch(r"::([a-z]+)(?: ([^\n]*?))?::([^\n\r]*)", line)
    assert match, line
    kind, told, message = match.groups()

    def plain(text: str) -> str:
        for written, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
            text = text.replace(written, char)
        return text

    properties = dict(each.split("=", 1) for each in told.split(",")) if told else {}
    return kind, {key: plain(value) for key, value in properties.items()}, plain(message)


def test_a_line_for_each_thing_found() -> None:
    lines = [undone(line) for line in workflow_commands(everything())]
    # 2 new, 1 self, 1 worse, 1 absent, 2 speeds; 1 healed; 1 not comparable
    assert [kind for kind, _, _ in lines] == ["error"] * 7 + ["notice", "warning"]
    _, properties, message = lines[0]
    assert properties == {"file": "docs/a b.jsonl", "title": "tok,ie under gpt2: new divergence (differ)"}
    assert message == "merges 1 before 2\ntraced merge, 3 documents\ntokassay diff a b --hex 2031"


def test_commands_are_escaped() -> None:
    (line,) = workflow_commands(gate(new=[divergence(explanation="50% of a:b, c", contract="x:y,z%")]))
    assert line == (
        "::error file=docs/a b.jsonl,title=tok%2Cie under x%3Ay%2Cz%25%3A new divergence (differ)::"
        "50%25 of a:b, c%0Atraced merge, 3 documents%0Atokassay diff a b --hex 2031"
    )


def test_no_document_begins_a_command_of_its_own() -> None:
    lines = workflow_commands(everything())
    assert all(line.startswith("::") and "\n" not in line and "\r" not in line for line in lines)
    text = "".join(lines)
    assert "\x1b" not in text and "\u202e" not in text and "\x00" not in text
    for line in lines:
        undone(line)


def test_a_file_is_named_only_where_the_corpus_is_one() -> None:
    for corpus, file in (
        ("fuzz:300", None),
        ("/home/me/x@files", None),
        ("tests/data@lines", "tests/data"),
        ("kjv", None),
    ):
        (line,) = workflow_commands(gate(new=[divergence(corpus=corpus)]))
        assert undone(line)[1].get("file") == file


def test_nothing_verified_is_an_error() -> None:
    ((kind, _, message),) = [undone(line) for line in workflow_commands(gate(exit_code=4, sentences=["nothing"]))]
    assert (kind, message) == ("error", "nothing")


def test_nothing_new_says_nothing() -> None:
    assert workflow_commands(gate(known=[divergence()])) == []
