"""The words a report uses: verdicts, domains, operations, exit codes, in the order they are shown."""

from __future__ import annotations

import re

VERDICTS = (
    "match",
    "declared",
    "reject",
    "unsupported",
    "differ",
    "flaky",
    "error",
    "crash",
    "timeout",
    "oom",
)
# The ids were held to a contract and found right. A reject is honest but proves no id.
VERIFIED = ("match", "declared")
FAILING = ("differ", "flaky", "error", "crash", "timeout", "oom")
DOMAINS = ("neutral", "unicode", "bytes")
OPERATIONS = ("encode", "encode_batch", "decode", "offsets")
VARIANTS = ("unicode", "byte_policy", "normalization")
EXIT_CODES = {
    0: "all agreed",
    1: "a mismatch",
    2: "wrong use",
    3: "a speed regression",
    4: "nothing was verified",
    5: "infrastructure failed",
}
MEANING = {
    "match": "the engine's output is the contract's",
    "declared": "it differs from the audit's contract, and equals the oracle under the variants the engine declares",
    "reject": "the engine refuses the document, as it declares it will",
    "unsupported": "the engine does not offer this operation or option",
    "differ": "the output is wrong under the engine's own contract",
    "flaky": "asked again, the engine gave another answer",
    "error": "an exception that is not a declared reject",
    "crash": "the engine's process died",
    "timeout": "no answer within the time limit",
    "oom": "past the memory limit",
}
NOUNS = {
    "differ": ("difference", "differences"),
    "flaky": ("flaky answer", "flaky answers"),
    "error": ("error", "errors"),
    "crash": ("crash", "crashes"),
    "timeout": ("timeout", "timeouts"),
    "oom": ("memory overrun", "memory overruns"),
}


def exit_meaning(code: int | None) -> str:
    """What an exit code means, in words; None is a run that did not finish."""
    return "not finished" if code is None else EXIT_CODES.get(code, f"unknown exit code {code}")


def number(value: int) -> str:
    """A count with thousands separated."""
    return f"{value:,}"


def short(value: float) -> str:
    """Three significant digits, with separators from a thousand on."""
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 else f"{value:.3g}"


def exactly(value: float) -> str:
    """A stated number as it was stated, with separators from a thousand on."""
    return f"{value:,.10g}"


def counted(value: int, one: str, many: str | None = None) -> str:
    """A count and its noun: `1 engine`, `2 engines`."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def listed(words: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1] if words else ""


def tally(verdicts: dict[str, int]) -> str:
    """`12 match, 3 declared`, in the order of VERDICTS, zeros left out; `none` when all are zero."""
    return ", ".join(f"{verdicts[v]:,} {v}" for v in VERDICTS if verdicts.get(v)) or "none"


def failures(verdicts: dict[str, int]) -> str:
    """`2 differences, 1 crash`: the failing verdicts alone, as nouns."""
    return ", ".join(counted(verdicts[v], *NOUNS[v]) for v in FAILING if verdicts.get(v))


def moment(when: str) -> str:
    """A time of the store, ISO 8601 in UTC, to the minute: `2026-03-01 09:00 UTC`; another text as it is."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?(?:Z|\+00:00)", when)
    return f"{found[1]} {found[2]} UTC" if found else when
